package registry

import (
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/limit"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Operator recovery replaces everything when token and private key are both lost. The mail
// goes only to the address the responsible party confirmed (bench.md 3.8).

// Recovery is what an agent's row remembers of operator recovery.
type Recovery struct {
	// PendingAt is when somebody asked while an administrator still had to agree.
	PendingAt time.Time `json:"pending_at,omitzero"`
	// AuthorizedAt is when an administrator agreed to the next mail.
	AuthorizedAt time.Time   `json:"authorized_at,omitzero"`
	Asked        limit.State `json:"asked,omitzero"`
}

// authorizationLife is how long an administrator's consent waits for the request.
const authorizationLife = 24 * time.Hour

// pendingLife is how long a request waits for an administrator.
const pendingLife = 14 * 24 * time.Hour

var (
	askRule      = limit.Rule{Name: "bench.operator-recovery.agent", N: 3, Per: 24 * time.Hour, Exact: true}
	requestLimit = limit.Rule{Name: "bench.operator-recovery", N: 10, Per: time.Hour, By: limit.ByAddress, Exact: true}
)

// moneyExposed tells whether an administrator must agree first: any payout record or paid work.
func (a Agent) moneyExposed() bool { return a.Payout.AccountID != "" || a.PaidWork }

func (a Agent) authorized(now time.Time) bool {
	return !a.Recovery.AuthorizedAt.IsZero() && now.Before(a.Recovery.AuthorizedAt.Add(authorizationLife))
}

// RequestRecovery is the operator recovery control of the Passport.
var RequestRecovery = op.Declare(op.Meta{
	ID: "bench.recovery.request", Method: "POST", Path: "/api/bench/agents/{maker_id}/recovery/request", Status: 202,
	Auth: op.Public, Limit: &requestLimit, Summary: "Ask for the operator recovery mail of an agent.",
	Notes:    "The answer is the same for every agent and state. An agent with payout records or paid work needs an administrator's consent first.",
	Contract: "bench.md 3.8, surface.md 5",
}, requestRecovery)

// RequestRecoveryIn names the agent.
type RequestRecoveryIn struct {
	MakerID string `path:"maker_id"`
}

// RequestRecoveryOut is the same for all.
type RequestRecoveryOut struct {
	Notice string `json:"notice"`
}

const requestNotice = "If this agent can be recovered by its operator, a mail went to the address its responsible party confirmed, or goes there once an administrator has agreed."

func requestRecovery(c *op.Call, in RequestRecoveryIn) (RequestRecoveryOut, error) {
	out := RequestRecoveryOut{Notice: requestNotice}
	if !id.Valid(in.MakerID) {
		return out, nil
	}
	if err := c.Fetch(AgentKey(in.MakerID), PartyKey(in.MakerID), linkKey(in.MakerID, recoveryLink), record.HeadKey(in.MakerID)); err != nil {
		return out, err
	}
	a, found, err := op.Load[Agent](c, AgentKey(in.MakerID))
	if err != nil || !found || !a.DelistedAt.IsZero() || !a.ContactConfirmed() {
		return out, err
	}
	next, v := askRule.Take(a.Recovery.Asked, c.Now)
	if !v.OK {
		return out, nil
	}
	a.Recovery.Asked = next
	if err := record.Audit(c, c.Caller.Key(), EventRecoveryMail, "agent:"+a.ID, nil, nil); err != nil {
		return out, err
	}
	if err := record.Event(c, a.ID, record.E{Type: EventRecoveryMail}); err != nil {
		return out, err
	}
	if a.moneyExposed() && !a.authorized(c.Now) {
		a.Recovery.PendingAt = c.Now
		a.save(c)
		return out, nil
	}
	a.Recovery.PendingAt, a.Recovery.AuthorizedAt = time.Time{}, time.Time{}
	a.save(c)
	return out, sendRecovery(c, a)
}

// sendRecovery stages the mail with the recovery link.
func sendRecovery(c *op.Call, a Agent) error {
	p, err := LoadParty(c, a.ID)
	if err != nil {
		return err
	}
	token, err := makeLink(c, a.ID, recoveryLink, recoveryLife)
	if err != nil {
		return err
	}
	body := "Somebody asked to recover the AI agent " + a.Handle + " (" + a.No() + "), for which you are the responsible party.\n\n" +
		"If it was you: have your agent make a new Ed25519 recovery key, open the page below, paste the public key and press the button. You then see a new token once; give it to your agent. " +
		"Every earlier credential stops, and the agent must answer two pings before people can pick its bids again. Approved steps and money do not move.\n\n" +
		"The link works once, for 60 minutes. If it was not you, do nothing: without the link nothing changes."
	outbox.Send(c, outbox.Letter(p.Email, "recovery."+c.NewID(), "Recover the agent "+a.Handle, body, "Recover the agent",
		c.BaseURL+"/confirm/recovery?token="+token))
	return nil
}

// RedeemRecovery is the button behind the recovery link.
var RedeemRecovery = op.Declare(op.Meta{
	ID: "bench.recovery.redeem", Method: "POST", Path: "/api/bench/recovery/redeem", Auth: op.Public, Limit: &doorLimit,
	Summary: "Recover an agent with the mailed link and a new recovery key.",
	Faults:  []string{"link_expired", "private_key_detected", "public_key_invalid"}, Contract: "bench.md 3.8, surface.md 5",
}, redeemRecovery)

// RedeemIn is the link's token and the new recovery key.
type RedeemIn struct {
	Token string `json:"token" rule:"required,min=1,max=256"`
	Key   string `json:"recovery_public_key" rule:"required,min=1,max=2048" doc:"Ed25519 public key in any accepted form."`
}

// Validate refuses private material and keys that are none.
func (in RedeemIn) Validate() error { return checkKey(in.Key, "recovery_public_key") }

// Rows names the agent and its links.
func (in RedeemIn) Rows(string) []table.Key { return linkRows(in.Token, recoveryLink) }

// RedeemedOut is a recovery with the two-ping test begun anew.
type RedeemedOut struct {
	RecoveredOut
	Reach ReachabilityTest `json:"reachability_test"`
}

func redeemRecovery(c *op.Call, in RedeemIn) (out RedeemedOut, err error) {
	a, err := useLink(c, in.Token, recoveryLink)
	if err != nil {
		return out, err
	}
	key, err := ParseKey(in.Key)
	if err != nil {
		return out, err
	}
	a.RecoveryKey, a.ClientKey, a.Recovery = key, nil, Recovery{Asked: a.Recovery.Asked}
	a.restartPings(c)
	a.save(c)
	if out.RecoveredOut, err = recovered(c, a, map[string]string{"by": "operator"}); err != nil {
		return out, err
	}
	if err := record.Audit(c, "maker:"+a.ID, "agent.recovery.redeemed", "agent:"+a.ID, nil, nil); err != nil {
		return out, err
	}
	out.Reach = reachabilityTest(a.Ping)
	return out, record.Event(c, a.ID, record.E{Type: EventPing, Data: a.Ping.block()})
}

// AuthorizeRecovery is a platform administrator's consent to the recovery mail.
var AuthorizeRecovery = op.Declare(op.Meta{
	ID: "steward.agent.authorize_recovery", Method: "POST", Path: "/api/steward/agents/{maker_id}/recovery/authorize",
	Auth: op.Admin, Idempotent: op.KeyRequired, Summary: "Agree to the operator recovery mail of an agent with money.",
	Notes:  "A request that waits is answered at once; without one the consent waits a day for it.",
	Faults: []string{"contact_unconfirmed"}, Contract: "bench.md 3.8, surface.md 4",
}, authorizeRecovery)

// AgentIn names an agent.
type AgentIn struct {
	MakerID string `path:"maker_id"`
}

func authorizeRecovery(c *op.Call, in AgentIn) (AgentRow, error) {
	a, err := Load(c, in.MakerID)
	if err != nil {
		return AgentRow{}, err
	}
	if !a.ContactConfirmed() {
		return AgentRow{}, fault.New(fault.Conflict, "contact_unconfirmed", "The responsible party never confirmed its address, so there is nowhere to send the mail.")
	}
	pending := !a.Recovery.PendingAt.IsZero() && c.Now.Before(a.Recovery.PendingAt.Add(pendingLife))
	a.Recovery.PendingAt, a.Recovery.AuthorizedAt = time.Time{}, c.Now
	if pending {
		a.Recovery.AuthorizedAt = time.Time{}
		if err := sendRecovery(c, a); err != nil {
			return AgentRow{}, err
		}
	}
	a.save(c)
	return agentRow(a), record.Audit(c, c.Caller.Key(), "agent.recovery.authorized", "agent:"+a.ID, nil, map[string]bool{"mailed": pending})
}
