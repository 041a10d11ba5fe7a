// Package bids has the sealed offers: filing, withdrawing, finalists, informed plans.
//
// Rows:
//
//	bench.BID#<id> / ROOT                          a bid: its status and its numbers
//	bench.BID#<id> / BODY                          the proposal as filed, sealed
//	bench.BID#<id> / PLAN                          the informed plan in force
//	bench.BID#<id> / TALK                          the finalist's questions and the person's answers, both ways
//	bench.TARGET#<target id> / BID#<round>#<time>#<id>   the bids on a target
//	bench.TARGET#<target id> / LIVE#<agent id>     the agent's latest bid on the target: one live bid a round
//	bench.AGENT#<agent id> / BID#<time>#<id>       an agent's bids
//	bench.AGENT#<agent id> / ON#<time>#<target id>   its latest bid on a target, in the order of the open list
//	bench.AGENT#<agent id> / MOVE#<kind>#<id>      what an agent may owe something on: finalist bids, deals (attention reads it)
package bids

import (
	"fmt"
	"time"

	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Statuses of a bid (bench.md 5.13).
const (
	Filed           = "filed"
	Accepted        = "accepted"
	Withdrawn       = "withdrawn"
	Expired         = "expired"
	Declined        = "declined"
	DeclinedByAgent = "declined_by_agent"
)

// Bid is the stored head of a proposal. The proposal itself is in rows of its own.
type Bid struct {
	ID       string    `json:"id"`
	TargetID string    `json:"target_id"`
	PersonID string    `json:"person_id"`
	AgentID  string    `json:"agent_id"`
	Round    int       `json:"round"`
	Status   string    `json:"status"`
	FiledAt  time.Time `json:"filed_at"`

	// What was true of the agent when it filed.
	Handle        string `json:"handle"`
	RegistryNo    string `json:"registry_no"`
	ModelDeclared string `json:"model_declared"`
	SystemVersion string `json:"system_version,omitempty"`

	TotalCents  int64  `json:"total_ask_cents"`
	FinishCents int64  `json:"finish_line_cents"` // of the plan in force
	Days        int    `json:"timeline_days"`
	Title       string `json:"pitch_title"`
	Grants      int    `json:"grants"` // GRANT steps of the bid as filed
	StepCount   int    `json:"step_count"`

	// Finalist.
	Ordinal  int        `json:"ordinal,omitempty"` // slot 1..3; kept on the record
	NamedAt  *time.Time `json:"named_at,omitempty"`
	HandedAt *time.Time `json:"answered_at,omitempty"` // the handoff
	// WatchedAt is since when the agent's signs of life are noted: the handoff, or when a
	// late sweep came to it.
	WatchedAt *time.Time `json:"watched_at,omitempty"`
	Counted   bool       `json:"counted,omitempty"`  // as a naming, once
	Nudged    bool       `json:"nudged,omitempty"`   // the person was reminded to send the answers
	Reminded  bool       `json:"reminded,omitempty"` // the agent was quiet for 12 h and reminded
	Heard     bool       `json:"heard,omitempty"`    // a sign of life came after the handoff: the quiet clock is over
	Warned    bool       `json:"warned,omitempty"`   // of the plan's deadline
	Lapsed    bool       `json:"lapsed,omitempty"`   // the slot expired by its clock
	// PlanAt is when the informed plan in force was filed.
	PlanAt    *time.Time `json:"plan_revised_at,omitempty"`
	Revisions int        `json:"revisions,omitempty"`
	// CheckoutID is the open checkout that freezes the plan.
	CheckoutID string `json:"checkout_id,omitempty"`
	DealID     string `json:"deal_id,omitempty"`
	// EndedAt and Reason: when and why the bid stopped being live.
	EndedAt *time.Time `json:"ended_at,omitempty"`
	Reason  string     `json:"reason,omitempty"`

	// Timer is the finalist's next deadline; zero when none waits.
	Timer clock.Timer `json:"timer,omitzero"`
}

// partition is that of a bid's rows; a string that is no id stands for a bid that never
// exists.
func partition(bid string) string {
	if !id.Valid(bid) {
		bid = "none"
	}
	return "bench.BID#" + bid
}

// Key is the row of a bid.
func Key(id string) table.Key { return table.Key{PK: partition(id), SK: "ROOT"} }

// BodyKey is the row of the proposal as filed.
func BodyKey(id string) table.Key { return table.Key{PK: partition(id), SK: "BODY"} }

// PlanKey is the row of the informed plan in force.
func PlanKey(id string) table.Key { return table.Key{PK: partition(id), SK: "PLAN"} }

// TalkKey is the row of the questions and answers.
func TalkKey(id string) table.Key { return table.Key{PK: partition(id), SK: "TALK"} }

// OnTargetKey is a bid's row in its target's list.
func OnTargetKey(b *Bid) table.Key {
	return table.Key{PK: wants.Partition(b.TargetID), SK: fmt.Sprintf("BID#%04d#%s#%s", b.Round, clock.Stamp(b.FiledAt), b.ID)}
}

// LiveKey is the row of an agent's latest bid on a target.
func LiveKey(target, agent string) table.Key {
	return table.Key{PK: wants.Partition(target), SK: "LIVE#" + agent}
}

// OfAgentKey is a bid's row in its agent's list.
func OfAgentKey(b *Bid) table.Key {
	return table.Key{PK: "bench.AGENT#" + b.AgentID, SK: "BID#" + clock.Stamp(b.FiledAt) + "#" + b.ID}
}

// MoveKey is the row that tells the attention list to look at an object of an agent.
func MoveKey(agent, kind, id string) table.Key {
	return table.Key{PK: "bench.AGENT#" + agent, SK: "MOVE#" + kind + "#" + id}
}

// MoveTarget is the target of a bid's row among the moves, "" of another row's.
func MoveTarget(r table.Row) string {
	var x ref
	if op.Decode(r.Data, &x) != nil {
		return ""
	}
	return x.TargetID
}

// onPrefix begins the rows of an agent's latest bids by target.
const onPrefix = "ON#"

// OnKey is the row of an agent's latest bid on a target; at is the target's time in the
// open list.
func OnKey(agent string, at time.Time, target string) table.Key {
	return table.Key{PK: "bench.AGENT#" + agent, SK: onPrefix + clock.Stamp(at) + "#" + target}
}

// Live is what the target and the agent remember of the agent's latest bid on the target.
// ListedAt is the time in its ON row.
type Live struct {
	BidID    string    `json:"bid_id"`
	Round    int       `json:"round"`
	ListedAt time.Time `json:"listed_at,omitzero"`
}

// Load reads a bid.
func Load(c *op.Call, id string) (Bid, bool, error) { return op.Load[Bid](c, Key(id)) }

// LiveIn tells whether the bid blocks another of the same agent in a round.
func (b *Bid) LiveIn(round int) bool {
	return b.Round == round && (b.Status == Filed || b.Status == Accepted)
}

// Finalist tells whether the bid is a live finalist.
func (b *Bid) Finalist() bool { return b.Status == Filed && b.Ordinal > 0 && b.NamedAt != nil }

// Save stages a changed bid that this call has loaded.
func (b *Bid) Save(c *op.Call) { c.Put(Key(b.ID), b) }
