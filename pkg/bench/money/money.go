// Package money keeps the held money of deals: one append-only line per movement under a
// permanent key, the sums of each agent, and the processor calls that follow from the
// lines. It imports no other package of the bench.
//
// Rows:
//
//	bench.DEAL#<id> / MONEY#FUND                      the person's one payment
//	bench.DEAL#<id> / MONEY#RELEASE#<step id>         the release of a step, put only if absent
//	bench.DEAL#<id> / MONEY#RETURN                    what went back at the end, put only if absent
//	bench.AGENT#<agent id> / LINE#<time>#<deal id>#<kind and step>   copies of an agent's releases and returns, for its wallet
//	bench.AGENT#<agent id> / WALLET                   an agent's sums: counters
//	bench.ORPHAN#<payment id> / ROOT                  a payment no deal came of, and its return
package money

import (
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Kinds of lines.
const (
	Fund    = "FUND"
	Release = "RELEASE"
	Return  = "RETURN"
)

// States of a line's processor call. Fundings are confirmed when they are written.
const (
	Intended  = "intended"  // committed here; the processor may or may not know yet
	Sent      = "sent"      // the processor answered with its id
	Confirmed = "confirmed" // the processor told of it by itself
	Shown     = "shown"     // practice and free deals: a figure, no money
)

// Line is one movement of a deal's money.
type Line struct {
	Kind     string    `json:"kind"`
	DealID   string    `json:"deal_id"`
	TargetID string    `json:"target_id"`
	AgentID  string    `json:"agent_id"`
	StepID   string    `json:"step_id,omitempty"`
	Cents    int64     `json:"cents"`
	Cause    string    `json:"cause"` // person or stale; the end cause of a return
	At       time.Time `json:"at"`
	// Payment is the person's payment at the processor, Account the agent's payout account.
	Payment string `json:"payment,omitempty"`
	Account string `json:"account,omitempty"`

	State       string    `json:"state"`
	Ref         string    `json:"ref,omitempty"`     // the processor's id of the transfer or refund
	Attempt     int       `json:"attempt,omitempty"` // definite refusals so far
	Refused     string    `json:"refused,omitempty"` // code of the latest one
	SentAt      time.Time `json:"sent_at,omitzero"`
	ConfirmedAt time.Time `json:"confirmed_at,omitzero"`
}

// Key is the permanent key of a line: there is no second release of a step, and no second
// return of a deal.
func (l *Line) Key() table.Key { return LineKey(l.DealID, l.Kind, l.StepID) }

// LineKey is the row of a line.
func LineKey(deal, kind, step string) table.Key {
	sk := "MONEY#" + kind
	if step != "" {
		sk += "#" + step
	}
	return table.Key{PK: "bench.DEAL#" + deal, SK: sk}
}

// effectKey is the line's permanent key at the processor and in the outbox.
func (l *Line) effectKey() string {
	if l.StepID == "" {
		return "return:" + l.DealID
	}
	return "release:" + l.DealID + ":" + l.StepID
}

func (l *Line) listKey() table.Key {
	return table.Key{PK: "bench.AGENT#" + l.AgentID, SK: linePrefix + clock.Stamp(l.At) + "#" + l.DealID + "#" + l.Kind + l.StepID}
}

const linePrefix = "LINE#"

// WalletKey is the row of an agent's sums.
func WalletKey(agent string) table.Key { return table.Key{PK: "bench.AGENT#" + agent, SK: "WALLET"} }

// Counters of a wallet, in cents.
const (
	heldField        = "held"
	releasedField    = "released"
	transferredField = "transferred"
)

// save stages a changed line with its copy in the agent's list. Both have been read.
func (l *Line) save(c *op.Call) {
	c.Put(l.Key(), l)
	c.Put(l.listKey(), l)
}

// loadLine reads a line that has a copy in its agent's list, with the copy.
func loadLine(c *op.Call, r ref) (Line, bool, error) {
	l, found, err := op.Load[Line](c, LineKey(r.DealID, r.Kind, r.StepID))
	if err == nil && found {
		err = c.Fetch(l.listKey())
	}
	return l, found, err
}

// ref names a line.
type ref struct {
	DealID string `json:"deal_id"`
	Kind   string `json:"kind"`
	StepID string `json:"step_id,omitempty"`
}

// Book stages a line: the row under its permanent key, the agent's sums, and the processor
// call. It belongs into the commit that decides the movement. moves is false for deals
// whose money is only a figure (practice).
func Book(c *op.Call, l Line, moves bool) {
	l.State = Shown
	if moves && l.Cents > 0 {
		l.State = Intended
	}
	if moves && l.Kind == Fund {
		l.State, l.ConfirmedAt = Confirmed, l.At
	}
	c.Create(l.Key(), l)
	if l.State == Shown {
		return
	}
	switch l.Kind {
	case Fund:
		c.Add(WalletKey(l.AgentID), heldField, l.Cents)
		return
	case Release:
		c.Add(WalletKey(l.AgentID), heldField, -l.Cents)
		c.Add(WalletKey(l.AgentID), releasedField, l.Cents)
	case Return:
		c.Add(WalletKey(l.AgentID), heldField, -l.Cents)
	}
	c.Create(l.listKey(), l)
	c.Effect(l.effect(), l.effectKey(), ref{l.DealID, l.Kind, l.StepID})
}

func (l *Line) effect() string {
	if l.Kind == Return {
		return EffectReturn
	}
	return EffectRelease
}

// Lines reads every line of a deal: one funding, one return and a release per step at most.
func Lines(c *op.Call, deal string) ([]Line, error) {
	p, err := c.Query(table.Query{PK: "bench.DEAL#" + deal, Limit: maxLines}.Prefix("MONEY#"))
	if err != nil {
		return nil, err
	}
	out := make([]Line, len(p.Rows))
	for i, r := range p.Rows {
		if err := op.Decode(r.Data, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxLines is more lines than a deal can have.
const maxLines = 40
