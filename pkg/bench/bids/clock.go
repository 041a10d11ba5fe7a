package bids

import (
	"errors"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
)

// The finalist's clocks (bench.md 6.2, 6.6), each from the naming or the handoff.
const (
	HandoffReminder = 24 * time.Hour // the person is reminded to send the answers
	AutoHandoff     = 72 * time.Hour // the platform sends what is saved
	QuietReminder   = 12 * time.Hour // an agent that gave no sign of life is reminded
	QuietExpiry     = 24 * time.Hour // and loses the slot
	PlanDeadline    = 48 * time.Hour // for the informed plan
)

// Deadline is one moment in the life of a finalist.
type Deadline string

// The deadlines.
const (
	PersonReminded Deadline = "person.reminded"
	HandedOver     Deadline = "finalist.handoff"
	AgentReminded  Deadline = "finalist.reminded"
	StayedQuiet    Deadline = "finalist.quiet"
	NoPlan         Deadline = "finalist.no-plan"
)

// Passed is a deadline that has passed, at the moment it was due.
type Passed struct {
	What Deadline
	At   time.Time
}

// next is the nearest deadline of a live finalist whose plan is not filed.
func (b *Bid) next() (Passed, bool) {
	switch {
	case !b.Finalist() || b.PlanAt != nil:
		return Passed{}, false
	case b.HandedAt == nil && !b.Nudged:
		return Passed{PersonReminded, b.NamedAt.Add(HandoffReminder)}, true
	case b.HandedAt == nil:
		return Passed{HandedOver, b.NamedAt.Add(AutoHandoff)}, true
	case !b.Reminded:
		return Passed{AgentReminded, b.HandedAt.Add(QuietReminder)}, true
	case !b.Heard:
		return Passed{StayedQuiet, b.HandedAt.Add(QuietExpiry)}, true
	}
	return Passed{NoPlan, b.HandedAt.Add(PlanDeadline)}, true
}

// Settle passes every deadline that is due at now, in order, and returns those that had an
// effect. seen tells whether the agent gave a sign of life in a span of time.
func (b *Bid) Settle(now time.Time, seen func(from, to time.Time) bool) []Passed {
	var out []Passed
	for {
		p, ok := b.next()
		if !ok || p.At.After(now) {
			return out
		}
		if b.pass(p, seen) {
			out = append(out, p)
		}
	}
}

// pass applies one deadline; false when it had no effect, because the agent was heard.
func (b *Bid) pass(p Passed, seen func(from, to time.Time) bool) bool {
	at := p.At
	switch p.What {
	case PersonReminded:
		b.Nudged = true
	case HandedOver:
		b.HandedAt = &at
	case AgentReminded:
		b.Reminded = true
		return !seen(*b.HandedAt, at)
	case StayedQuiet:
		if seen(*b.HandedAt, at) {
			b.Heard = true
			return false
		}
		b.end(Expired, at)
	case NoPlan:
		b.end(Expired, at)
	}
	return true
}

func (b *Bid) end(status string, at time.Time) {
	b.Status, b.EndedAt = status, &at
}

// Settled reads an agent's signs of life and settles the bid in memory: what any read or
// write must see at now. The caller stages Apply when it writes.
func (b *Bid) Settled(c *op.Call) ([]Passed, error) {
	if p, ok := b.next(); !ok || p.At.After(c.Now) {
		return nil, nil
	}
	cred, _, err := op.Load[account.Credential](c, account.AgentToken.Row(b.AgentID, ""))
	if err != nil {
		return nil, err
	}
	return b.Settle(c.Now, cred.SeenBetween), nil
}

// Apply stages what follows from deadlines that passed: the want's slot, the events, the
// notices. The bid itself is saved by the caller.
func (b *Bid) Apply(c *op.Call, w *wants.Want, passed []Passed) error {
	for _, p := range passed {
		var err error
		switch p.What {
		case PersonReminded:
			err = b.tellPerson(c, p, "An agent is waiting for your answers",
				"You picked \""+b.Title+"\" for a closer look. Answer its four questions, or skip them, and send. On "+
					date(b.NamedAt.Add(AutoHandoff))+" we send what you saved by ourselves.")
		case HandedOver:
			err = b.handedOver(c, w, p.At, "platform")
		case AgentReminded:
			err = b.event(c, "finalist.reminder", p.At, map[string]any{"expires_at": record.Time(b.HandedAt.Add(QuietExpiry))})
			if err == nil {
				err = b.remindParty(c)
			}
		case StayedQuiet, NoPlan:
			err = b.expired(c, w, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Bid) expired(c *op.Call, w *wants.Want, p Passed) error {
	w.Free(b.ID)
	if err := b.event(c, "finalist.expired", p.At, map[string]any{"cause": string(p.What)}); err != nil {
		return err
	}
	if err := b.ledger(c, w, record.FinalistExpired, p.At); err != nil {
		return err
	}
	if err := dropMove(c, b); err != nil {
		return err
	}
	return b.tellPerson(c, p, "A finalist ran out of time",
		"The agent behind \""+b.Title+"\" did not file its full plan in time. Its place is free again; this costs you nothing and is not on your record.")
}

// rearm stages the timer of the next deadline in place of the old one.
func (b *Bid) rearm(c *op.Call) {
	c.Disarm(b.Timer)
	b.Timer = clock.Timer{}
	if p, ok := b.next(); ok {
		b.Timer = c.Arm(finalistTimer, b.ID, p.At)
	}
}

const finalistTimer = "bid.finalist"

// Timers of bids.
var Timers = []op.TimerKind{{Context: "bench", Kind: finalistTimer, Fire: fireFinalist}}

func fireFinalist(c *op.Call, t op.Fired) error {
	b, found, err := Load(c, t.Subject)
	if err != nil || !found {
		return err
	}
	w, found, err := wants.Load(c, b.TargetID)
	if err != nil || !found {
		return err
	}
	passed, err := b.Settled(c)
	if err != nil {
		return err
	}
	return b.commit(c, &w, passed)
}

// commit stages a settled bid, its want and its next timer.
func (b *Bid) commit(c *op.Call, w *wants.Want, passed []Passed) error {
	if err := b.Apply(c, w, passed); err != nil {
		return err
	}
	b.rearm(c)
	b.Save(c)
	return w.Save(c)
}

func (b *Bid) event(c *op.Call, kind string, at time.Time, data any) error {
	return record.Event(c, b.AgentID, record.E{Type: kind, TargetID: b.TargetID, ProposalID: b.ID, At: at, Data: data})
}

func (b *Bid) ledger(c *op.Call, w *wants.Want, word record.Word, at time.Time) error {
	if w.Practice {
		return nil
	}
	return record.Ledger(c, word, record.Refs{TargetID: b.TargetID, AgentNo: number(b.RegistryNo), At: at}, nil)
}

func (b *Bid) tellPerson(c *op.Call, p Passed, subject, body string) error {
	person, found, err := op.Load[account.Person](c, account.PersonKey(b.PersonID))
	if err != nil || !found || person.Quiet {
		return err
	}
	outbox.Send(c, outbox.Letter(person.Email, "bid/"+b.ID+"/"+string(p.What), subject, body, "Open the bid",
		c.BaseURL+"/wants/"+b.TargetID+"/finalists/"+b.ID))
	return nil
}

// remindParty mails the responsible party of an agent that stays quiet.
func (b *Bid) remindParty(c *op.Call) error {
	party, err := registry.LoadParty(c, b.AgentID)
	if errors.Is(err, registry.ErrSealed) {
		return nil // a clock never stands still for want of a mail
	}
	if err != nil {
		return err
	}
	outbox.Send(c, outbox.Letter(party.Email, "bid/"+b.ID+"/quiet", "Your agent "+b.Handle+" is a finalist and silent",
		"A person picked a bid of "+b.Handle+" for a closer look. The agent has not called for 12 hours. Unless it calls by "+
			date(b.HandedAt.Add(QuietExpiry))+", the place goes to somebody else.", "", ""))
	return nil
}

// date prints a moment for a mail.
func date(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04") + " UTC" }
