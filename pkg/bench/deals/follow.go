package deals

import (
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/op"
)

// follow does what an event means for the rows around the deal.
func (x *change) follow(e *path.Event) error {
	switch e.Word {
	case record.DealAccepted:
		return x.accepted(e)
	case record.DealSigned:
		return x.signed(e)
	case record.AskAnswered:
		return x.answered(e)
	case record.ScheduleApproved:
		return x.scheduled(e)
	case record.AskChangesRequested:
		if e.Schedule != "" {
			return x.scheduled(e)
		}
	case path.ReviewOpened:
		return x.silent(e)
	case path.ReviewClosed:
		return x.heard(e, e.Due)
	case record.DealAgentDeclined, record.DealPickLapsed:
		return x.unpicked(e)
	case record.IntegrityDecided, record.ScoresVoided:
		return x.found(e)
	}
	if ending(e.Word) {
		return x.ended(e)
	}
	return nil
}

// accepted: the bid is taken, bidding closes, the deal stands in everybody's lists.
func (x *change) accepted(e *path.Event) error {
	w, err := x.theWant()
	if err != nil {
		return err
	}
	b, err := x.theBid()
	if err != nil {
		return err
	}
	d := x.d
	b.Status, b.DealID, b.CheckoutID = bids.Accepted, d.ID, ""
	w.BidID, w.DealID, w.DealIDs, w.UpdatedAt = b.ID, d.ID, append(w.DealIDs, d.ID), e.At
	x.c.Create(OfPersonKey(d), Ref{d.ID})
	x.c.Put(OnTargetKey(d.TargetID, d.AgentID), Ref{d.ID})
	if err := x.live(true); err != nil {
		return err
	}
	return x.rest(b)
}

// live keeps the row that holds the person's account open while a deal runs.
func (x *change) live(runs bool) error {
	key := account.LiveDeals(x.d.PersonID)
	l, _, err := op.Load[account.Live](x.c, key)
	if err != nil {
		return err
	}
	if delete(l.Deals, x.d.ID); runs {
		if l.Deals == nil {
			l.Deals = map[string]bool{}
		}
		l.Deals[x.d.ID] = true
	}
	x.c.Put(key, l)
	return nil
}

// rest ends what a finalist's bid still waits for: its clock and its place in the agent's
// list of possible moves.
func (x *change) rest(b *bids.Bid) error {
	x.c.Disarm(b.Timer)
	b.Timer = clock.Timer{}
	key := bids.MoveKey(b.AgentID, "bid", b.ID)
	if err := x.c.Fetch(key); err != nil {
		return err
	}
	x.c.Delete(key)
	return nil
}

// signed: the plans of the round are frozen, and its other bids end, which the want tells
// them.
func (x *change) signed(e *path.Event) error {
	w, err := x.theWant()
	if err != nil {
		return err
	}
	w.Signed, w.UpdatedAt = true, e.At
	x.counted(registry.DealsActive, 1)
	if x.d.TotalCents > 0 && !x.d.Practice {
		return registry.SetPaidWork(x.c, x.d.AgentID)
	}
	return nil
}

// unpicked: a pick that was never signed. The slot is free, the other finalists stay, and
// bidding is open again.
func (x *change) unpicked(e *path.Event) error {
	w, err := x.theWant()
	if err != nil {
		return err
	}
	b, err := x.theBid()
	if err != nil {
		return err
	}
	b.Status, b.EndedAt = bids.Expired, &e.At
	if e.Word == record.DealAgentDeclined {
		b.Status, b.Reason = bids.DeclinedByAgent, e.Reason
	}
	w.Free(b.ID)
	w.BidID, w.DealID, w.UpdatedAt = "", "", e.At
	return x.live(false)
}

// ended: what the end of a signed deal means for the want, the person and the grants.
func (x *change) ended(e *path.Event) error {
	p, err := x.thePerson()
	if err != nil {
		return err
	}
	p.Facts.Ended++
	if e.Word == record.TargetResolved {
		p.Facts.Finished++
		if err := x.pattern(e); err != nil {
			return err
		}
	}
	if err := x.live(false); err != nil {
		return err
	}
	x.counted(registry.DealsActive, -1)
	x.counted(registry.DealsEnded, 1)
	if err := x.revokeAll(e); err != nil {
		return err
	}
	if e.Exception != "" {
		if err := x.openCase(e, CaseException, map[string]any{"exception": e.Exception, "test": e.Test, "step": e.Step}); err != nil {
			return err
		}
	}
	w, err := x.theWant()
	if err != nil {
		return err
	}
	w.DealID, w.Signed, w.UpdatedAt = "", false, e.At
	if err := x.remembered(w, e); err != nil {
		return err
	}
	switch {
	case e.Word == record.TargetResolved:
		w.Status = wants.Resolved
	case w.ReopensAfter(e.Cause):
		return x.repost(w, e)
	default:
		w.Status, w.EndedAt = wants.Ended, &e.At
	}
	return nil
}

// repost opens the next round. The other bidders are told by the want; the agent of the
// deal is told here, with the deal it ended.
func (x *change) repost(w *wants.Want, e *path.Event) error {
	if err := w.NextRound(x.c, e.At, wants.ByItself); err != nil {
		return err
	}
	return record.Event(x.c, x.d.AgentID, record.E{Type: string(record.TargetReposted), TargetID: w.ID, DealID: x.d.ID, At: e.At,
		Data: map[string]any{"round": w.Round, "cause": wants.ByItself}})
}

// answered counts the person's answering speed.
func (x *change) answered(e *path.Event) error {
	p, err := x.thePerson()
	if err != nil {
		return err
	}
	p.Facts.Answers++
	p.Facts.AnswerSeconds += int64(e.Span.Span() / time.Second)
	return nil
}
