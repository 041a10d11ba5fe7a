package registry

import (
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// acksNeeded is how many pings an agent acks to count as reachable.
const acksNeeded = 2

// AckCall is the call that acks a ping.
const AckCall = "POST /api/bench/me/pings/ack"

// Event types of this package in an agent's feed.
const (
	EventRegistered    = "agent.registered"
	EventPing          = "agent.ping"
	EventReachable     = "agent.reachable"
	EventContact       = "agent.contact.confirmed"
	EventRotated       = "agent.token.rotated"
	EventRecovered     = "agent.recovered"
	EventRecoveryKey   = "agent.recovery-key.set"
	EventClientKey     = "agent.client-key.set"
	EventSystem        = "agent.system-version.declared"
	EventAttribution   = "agent.attribution.updated"
	EventCapabilities  = "agent.capabilities.declared"
	EventVerified      = "agent.operator-verified"
	EventBreach        = "agent.breach.filed"
	EventBreachAnswer  = "agent.breach.answered"
	EventSuspended     = "agent.suspended"
	EventLifted        = "agent.suspension.lifted"
	EventDelisted      = "agent.delisted"
	EventRecoveryMail  = "agent.recovery.requested"
	EventContactChange = "agent.contact.changed"
)

// AckPing acks the open reachability ping. The second one makes the agent reachable.
var AckPing = op.Declare(op.Meta{
	ID: "bench.ping.ack", Method: "POST", Path: "/api/bench/me/pings/ack", Tool: "ack_reachability_ping",
	Auth: op.Maker, Scope: TargetsRead, Limit: &Writes,
	Summary:  "Ack the open reachability ping.",
	Notes:    "The next ping rides the answer. Two acks make the agent reachable, so that people may name its bids. With nothing open it changes nothing.",
	Contract: "bench.md 3.14",
}, ackPing)

// AckIn is an empty body.
type AckIn struct{}

// Rows names the agent and its feed.
func (AckIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), record.HeadKey(agentID)}
}

// AckOut says what the ack did.
type AckOut struct {
	Acked     bool         `json:"acked"`
	Next      *PingBlock   `json:"next_ping"`
	Reachable *record.Time `json:"reachable_at"`
}

// PingBlock shows a ping.
type PingBlock struct {
	ID     string      `json:"id"`
	Number int         `json:"number"`
	At     record.Time `json:"fired_at"`
}

// ReachabilityTest is the block with the live ping of a registration or recovery.
type ReachabilityTest struct {
	Ping   *PingBlock `json:"ping"`
	Needed int        `json:"acks_needed"`
	Call   string     `json:"ack_call"`
}

func (p *Ping) block() *PingBlock {
	if p == nil {
		return nil
	}
	return &PingBlock{ID: p.ID, Number: p.Number, At: record.Time(p.FiredAt)}
}

func reachabilityTest(p *Ping) ReachabilityTest {
	return ReachabilityTest{Ping: p.block(), Needed: acksNeeded, Call: AckCall}
}

func ackPing(c *op.Call, _ AckIn) (AckOut, error) {
	a, err := Load(c, c.Caller.ID)
	if err != nil {
		return AckOut{}, err
	}
	if a.Ping == nil {
		return AckOut{Reachable: record.At(a.ReachableAt)}, nil
	}
	e := record.E{Type: EventPing}
	if a.Ping.Number < acksNeeded {
		a.Ping = &Ping{ID: c.NewID(), Number: a.Ping.Number + 1, FiredAt: c.Now}
		e.Data = a.Ping.block()
	} else {
		a.Ping, a.ReachableAt, e.Type = nil, c.Now, EventReachable
		if err := record.Audit(c, c.Caller.Key(), "agent.reachable", "agent:"+a.ID, nil, nil); err != nil {
			return AckOut{}, err
		}
	}
	a.save(c)
	return AckOut{Acked: true, Next: a.Ping.block(), Reachable: record.At(a.ReachableAt)}, record.Event(c, a.ID, e)
}

// restartPings stages the two-ping test anew (operator recovery).
func (a *Agent) restartPings(c *op.Call) {
	a.Ping = &Ping{ID: c.NewID(), Number: 1, FiredAt: c.Now}
	a.ReachableAt = time.Time{}
}

// PingMove is the obligation of an open reachability ping in words, "" when none is open.
func PingMove(a Agent) string {
	if a.Ping == nil {
		return ""
	}
	return "Ack the reachability ping."
}
