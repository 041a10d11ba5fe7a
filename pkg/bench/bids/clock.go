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
	PlanReminder    = 36 * time.Hour // the agent is warned of the plan's deadline
	PlanDeadline    = 48 * time.Hour // for the informed plan

	// blindFor is how late the watch for signs of life may begin without the agent getting
	// the benefit of the doubt: silence that nobody listened to ends no slot.
	blindFor = 15 * time.Minute
)

// Deadline is one moment in the life of a bid.
type Deadline string

// The deadlines.
const (
	PersonReminded Deadline = "person.reminded"
	HandedOver     Deadline = "finalist.handoff"
	AgentReminded  Deadline = "finalist.reminded"
	StayedQuiet    Deadline = "finalist.quiet"
	PlanWarned     Deadline = "finalist.plan-due"
	NoPlan         Deadline = "finalist.no-plan"
	RoundEnded     Deadline = "bid.expired" // the want closed, a rival signed, or a new round began
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
	case !b.Heard && !b.Reminded:
		return Passed{AgentReminded, b.HandedAt.Add(QuietReminder)}, true
	case !b.Heard:
		return Passed{StayedQuiet, b.HandedAt.Add(QuietExpiry)}, true
	case !b.Warned:
		return Passed{PlanWarned, b.HandedAt.Add(PlanReminder)}, true
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

// pass applies one deadline; false when it had no effect, because the agent was heard. Any
// authenticated call after the handoff ends the quiet clock for good.
func (b *Bid) pass(p Passed, seen func(from, to time.Time) bool) bool {
	at := p.At
	switch p.What {
	case PersonReminded:
		b.Nudged = true
	case HandedOver:
		b.HandedAt = &at
	case AgentReminded, StayedQuiet:
		if b.unwatched() || seen(*b.HandedAt, at) {
			b.Heard = true
			return false
		}
		b.Reminded = true
		if p.What == StayedQuiet {
			b.lapse(at)
		}
	case PlanWarned:
		b.Warned = true
	case NoPlan:
		b.lapse(at)
	}
	return true
}

// unwatched tells whether nobody noted the agent's signs of life from the handoff on.
func (b *Bid) unwatched() bool {
	return b.WatchedAt == nil || b.WatchedAt.After(b.HandedAt.Add(blindFor))
}

func (b *Bid) lapse(at time.Time) {
	b.end(Expired, at)
	b.Lapsed = true
}

func (b *Bid) end(status string, at time.Time) {
	b.Status, b.EndedAt = status, &at
}

// Effective reads a bid as it is at c.Now. A bid that is not there is the zero Bid.
func Effective(c *op.Call, id string) (Bid, error) {
	b, found, err := Load(c, id)
	if err != nil || !found {
		return Bid{}, err
	}
	_, err = b.Settled(c)
	return b, err
}

// Settled settles the bid in memory to what any read or write must see at c.Now: its
// finalist's deadlines, and the end of its round. A caller that writes hands what passed
// to Commit.
func (b *Bid) Settled(c *op.Call) ([]Passed, error) {
	if b.Status != Filed {
		return nil, nil
	}
	w, found, err := wants.Load(c, b.TargetID)
	if err != nil || !found {
		return nil, err
	}
	return b.SettledOn(c, &w)
}

// SettledOn is Settled for a caller that has the want.
func (b *Bid) SettledOn(c *op.Call, w *wants.Want) ([]Passed, error) {
	if b.Status != Filed {
		return nil, nil
	}
	until := c.Now
	over, ended := w.OverAt(b.Round)
	if ended && over.Before(until) {
		until = over
	}
	var passed []Passed
	if p, ok := b.next(); ok && !p.At.After(until) {
		cred, _, err := op.Load[account.Credential](c, account.AgentToken.Row(b.AgentID, ""))
		if err != nil {
			return nil, err
		}
		passed = b.Settle(until, cred.SeenBetween)
	}
	if ended && b.Status == Filed {
		if over.IsZero() { // so long ago that nobody knows: when the next round began, at the latest
			over = *w.SupersededAt(b.Round)
		}
		b.end(Expired, over)
		passed = append(passed, Passed{RoundEnded, over})
	}
	return passed, nil
}

// Apply stages what follows from deadlines that passed: the want's slot, the events, the
// notices. The bid and the want themselves are saved by the caller.
func (b *Bid) Apply(c *op.Call, w *wants.Want, passed []Passed) error {
	for _, p := range passed {
		var err error
		switch p.What {
		case PersonReminded:
			err = b.remindPerson(c, p)
		case HandedOver:
			err = b.handedOver(c, w, p.At, "platform")
		case AgentReminded:
			err = b.event(c, "finalist.reminder", p.At, map[string]any{"expires_at": record.Time(b.HandedAt.Add(QuietExpiry))})
			if err == nil {
				err = b.remindParty(c)
			}
		case PlanWarned:
			err = b.event(c, "finalist.plan-due", p.At, map[string]any{"plan_deadline_at": record.Time(b.HandedAt.Add(PlanDeadline))})
		case StayedQuiet, NoPlan:
			err = b.expired(c, w, p)
		case RoundEnded:
			err = b.roundEnded(c, w, p)
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

// roundEnded tells the agent that its bid is over, and why.
func (b *Bid) roundEnded(c *op.Call, w *wants.Want, p Passed) error {
	why := "another bid was signed"
	switch {
	case b.Round < w.Round:
		why = "the round is over"
	case w.Status == wants.Closed:
		why = "the person closed the want"
	}
	if b.Ordinal > 0 {
		w.Free(b.ID)
		if err := dropMove(c, b); err != nil {
			return err
		}
	}
	if err := b.event(c, string(record.BidExpired), p.At, map[string]any{"why": why}); err != nil {
		return err
	}
	return b.ledger(c, w, record.BidExpired, p.At)
}

// rearm stages the timer of the next deadline in place of the old one.
func (b *Bid) rearm(c *op.Call) {
	p, ok := b.next()
	if ok && b.Timer.Set() && b.Timer.Due.Equal(clock.Cut(p.At)) && p.At.After(c.Now) {
		return // it stands where it should
	}
	c.Disarm(b.Timer)
	b.Timer = clock.Timer{}
	if ok {
		b.Timer = c.Arm(finalistTimer, b.ID, p.At)
	}
}

const finalistTimer = "bid.finalist"

// Timers of bids.
var Timers = []op.TimerKind{
	{Context: "bench", Kind: finalistTimer, Fire: fireFinalist},
	{Context: "bench", Kind: wants.TimerBids, Fire: fireTold},
	{Context: "bench", Kind: wants.TimerNews, Fire: wants.FireNews},
	{Context: "bench", Kind: wants.TimerDigest, Fire: wants.FireDigest},
}

func fireFinalist(c *op.Call, t op.Fired) error {
	b, found, err := Load(c, t.Subject)
	if err != nil || !found || !b.Timer.Due.Equal(t.Due) {
		return err
	}
	w, found, err := wants.Load(c, b.TargetID)
	if err != nil || !found {
		return err
	}
	passed, err := b.SettledOn(c, &w)
	if err != nil {
		return err
	}
	b.Timer = clock.Timer{} // fired: its row goes with this commit
	return b.commitOn(c, &w, passed)
}

// Commit stages a bid that was settled and changed, with what passed, its want and its next
// timer.
func (b *Bid) Commit(c *op.Call, w *wants.Want, passed []Passed) error {
	if err := b.stage(c, w, passed); err != nil {
		return err
	}
	return w.Save(c)
}

// commitOn is Commit where the want changes only if a slot became free: it is checked
// otherwise.
func (b *Bid) commitOn(c *op.Call, w *wants.Want, passed []Passed) error {
	slots := w.Finalists
	if err := b.stage(c, w, passed); err != nil {
		return err
	}
	if w.Finalists != slots {
		return w.Save(c)
	}
	c.Check(wants.Key(w.ID))
	return nil
}

func (b *Bid) stage(c *op.Call, w *wants.Want, passed []Passed) error {
	if err := b.Apply(c, w, passed); err != nil {
		return err
	}
	b.rearm(c)
	b.Save(c)
	return nil
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

// tellPerson stages a notice about the bid; what names it once.
func (b *Bid) tellPerson(c *op.Call, p Passed, subject, body string) error {
	return wants.Tell(c, b.PersonID, "bid/"+b.ID+"/"+string(p.What)+"/"+clock.Stamp(p.At), wants.Notice{Kind: string(p.What),
		TargetID: b.TargetID, Subject: subject, Body: body, Link: "/wants/" + b.TargetID + "/finalists/" + b.ID, At: p.At})
}

// remindPerson asks for the answers a finalist waits for, and says when they go out by
// themselves, in the person's own time.
func (b *Bid) remindPerson(c *op.Call, p Passed) error {
	who, _, err := op.Load[account.Person](c, account.PersonKey(b.PersonID))
	if err != nil {
		return err
	}
	return b.tellPerson(c, p, "An agent is waiting for your answers",
		"You picked \""+b.Title+"\" for a closer look. Answer its four questions, or skip them, and send. On "+
			b.NamedAt.Add(AutoHandoff).In(who.Zone()).Format(dateForm)+" we send what you saved by ourselves.")
}

// remindParty mails the responsible party of an agent that stays quiet, unless it wants no
// such mail. A party that cannot be read is not mailed: the clock runs all the same.
func (b *Bid) remindParty(c *op.Call) error {
	party, err := registry.LoadParty(c, b.AgentID)
	if errors.Is(err, registry.ErrSealed) {
		return nil
	}
	if err != nil {
		return err
	}
	if quiet, err := registry.Suppressed(c, party.Email, registry.Everything); err != nil || quiet {
		return err
	}
	outbox.Send(c, outbox.Letter(party.Email, "bid/"+b.ID+"/quiet/"+clock.Stamp(*b.HandedAt), "Your agent "+b.Handle+" is a finalist and silent",
		"A person picked a bid of "+b.Handle+" for a closer look. The agent has not called for 12 hours. Unless it calls by "+
			b.HandedAt.Add(QuietExpiry).UTC().Format(dateForm)+", the place goes to somebody else.", "", ""))
	return nil
}

// dateForm is how mails print a moment.
const dateForm = "2 January 2006, 15:04 MST"
