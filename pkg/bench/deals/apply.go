package deals

import (
	"guildhall/pkg/account"
	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// change is what one commit makes of a deal's events. The rows around the deal are read
// when an event needs them, and written once, at the end.
type change struct {
	c *op.Call
	d *path.Deal
	n int // number of the event that is being applied, of all of the deal's
	// data completes an event for the agent's feed with what the deal does not store.
	data map[record.Word]map[string]any
	// channels are where the pieces of a timed delivery are announced that is approved here.
	channels []string

	want   *wants.Want
	bid    *bids.Bid
	person *account.Person
	grants *access.Grants
	dirty  struct{ want, bid, person, grants bool }
}

// Commit stages a changed deal: its row, its timer, and for each of its events the lines
// of money, the public and the private record, the notices, and what follows for the want,
// the bid, the grants and the person. data completes feed events, and may be nil.
func Commit(c *op.Call, d *path.Deal, data map[record.Word]map[string]any) error {
	return (&change{c: c, d: d, data: data}).commit()
}

func (x *change) commit() error {
	events, err := x.d.Drain()
	if err != nil {
		return err
	}
	if err := x.c.Fetch(x.touched(events)...); err != nil {
		return err
	}
	for i := range events {
		x.n = x.d.Events - len(events) + i + 1
		if err := x.apply(&events[i]); err != nil {
			return err
		}
	}
	if err := x.remember(); err != nil {
		return err
	}
	x.arm()
	return x.save()
}

// touched are the rows around the deal that its events will need, read in one batch.
func (x *change) touched(events []path.Event) []table.Key {
	d := x.d
	keys := around(d)
	for _, e := range events {
		switch {
		case e.Word == record.DealAccepted:
			keys = append(keys, wants.Key(d.TargetID), wants.BriefKey(d.TargetID), bids.Key(d.ProposalID), OnTargetKey(d.TargetID, d.AgentID),
				bids.MoveKey(d.AgentID, "bid", d.ProposalID), account.LiveDeals(d.PersonID))
		case e.Word == record.DealSigned, e.Word == record.IntegrityDecided && !d.EndedAt.IsZero():
			keys = append(keys, wants.Key(d.TargetID), wants.BriefKey(d.TargetID))
		case e.Word == record.ScheduleApproved, e.Word == record.AskChangesRequested && e.Schedule != "":
			keys = append(keys, drip.Key(e.Schedule))
		case e.Word == path.ReviewOpened, e.Word == path.ReviewClosed:
			keys = append(keys, registry.AgentKey(d.AgentID))
		case e.Word == record.TargetResolved:
			keys = append(append(keys, atEnd(d)...), streakKey(d.AgentID, ""), streakKey(d.AgentID, d.PersonID))
		case ending(e.Word):
			keys = append(keys, atEnd(d)...)
		}
	}
	return keys
}

// apply turns one event into rows.
func (x *change) apply(e *path.Event) error {
	for _, do := range []func(*path.Event) error{x.money, x.ledger, x.follow, x.tell, x.notify} {
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

// money books the lines.
func (x *change) money(e *path.Event) error {
	d := x.d
	l := money.Line{DealID: d.ID, TargetID: d.TargetID, AgentID: d.AgentID, Cents: e.Cents, Cause: e.Cause, At: e.At,
		Payment: d.Charge, Account: d.Payout}
	switch e.Word {
	case record.DealFunded:
		l.Kind = money.Fund
	case record.StepReleased:
		l.Kind, l.StepID = money.Release, d.Step(e.Step).ID
	case record.DealReturned:
		l.Kind = money.Return
	default:
		return nil
	}
	money.Book(x.c, l, !d.Practice)
	return nil
}

// arm keeps the deal's one timer at or before its next deadline. A timer that is early is
// left alone: it fires, finds nothing due and arms the next one, so that a pulse costs no
// timer writes.
func (x *change) arm() {
	due, kind, runs := x.d.Next()
	t := x.d.Timer
	if runs && t.Set() && !t.Due.After(due) {
		return
	}
	x.c.Disarm(t)
	x.d.Timer = t
	x.d.Timer.Version = ""
	if runs {
		x.d.Timer = x.c.Arm(kind, x.d.ID, due)
	}
}

// remember keeps the rows by which the agent's worklist finds the deal: it stays while the
// deal runs or a reply is owed.
func (x *change) remember() error {
	key := bids.MoveKey(x.d.AgentID, MoveKind, x.d.ID)
	r, err := x.c.Get(key)
	if err != nil {
		return err
	}
	want := x.d.Live() || len(x.d.Owed()) > 0
	switch {
	case want && !r.Found():
		x.c.Put(key, Ref{x.d.ID})
	case !want && r.Found():
		x.c.Delete(key)
	}
	return nil
}

// save stages the rows that changed.
func (x *change) save() error {
	x.c.Put(Key(x.d.ID), x.d)
	if x.dirty.bid {
		x.bid.Save(x.c)
	}
	if x.dirty.person {
		x.person.Save(x.c)
	}
	if x.dirty.grants {
		x.grants.Save(x.c, x.d.ID)
	}
	if x.dirty.want {
		return x.want.Save(x.c)
	}
	return nil
}

func (x *change) theWant() (*wants.Want, error) {
	if x.want == nil {
		w, _, err := wants.Load(x.c, x.d.TargetID)
		if err != nil {
			return nil, err
		}
		x.want = &w
	}
	x.dirty.want = true
	return x.want, nil
}

func (x *change) theBid() (*bids.Bid, error) {
	if x.bid == nil {
		b, _, err := bids.Load(x.c, x.d.ProposalID)
		if err != nil {
			return nil, err
		}
		x.bid = &b
	}
	x.dirty.bid = true
	return x.bid, nil
}

func (x *change) thePerson() (*account.Person, error) {
	if x.person == nil {
		p, _, err := op.Load[account.Person](x.c, account.PersonKey(x.d.PersonID))
		if err != nil {
			return nil, err
		}
		x.person = &p
	}
	x.dirty.person = true
	return x.person, nil
}

func (x *change) theGrants() (*access.Grants, error) {
	if x.grants == nil {
		g, err := access.Load(x.c, x.d.ID)
		if err != nil {
			return nil, err
		}
		x.grants = &g
	}
	x.dirty.grants = true
	return x.grants, nil
}

// Fire is the one thing every timer of a deal does: settle what is due and commit it.
func Fire(c *op.Call, t op.Fired) error {
	d, found, err := op.Load[path.Deal](c, Key(t.Subject))
	if err != nil || !found || d.Timer.Kind != t.Kind || !d.Timer.Due.Equal(t.Due) {
		return err
	}
	d.Settle(c.Now)
	d.Timer.Version = "" // fired: its row goes with this commit
	return Commit(c, &d, nil)
}

// Timers are the clocks of deals and checkouts.
var Timers = func() []op.TimerKind {
	out := []op.TimerKind{{Context: "bench", Kind: TimerCheckout, Fire: fireCheckout}}
	for _, k := range path.TimerKinds {
		out = append(out, op.TimerKind{Context: "bench", Kind: k, Fire: Fire})
	}
	return out
}()

// counted adds to one of the agent's figures; practice counts nothing.
func (x *change) counted(field string, n int64) {
	if !x.d.Practice {
		registry.Count(x.c, x.d.AgentID, field, n)
	}
}
