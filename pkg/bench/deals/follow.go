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
	case path.ReviewOpened:
		return x.silent(e)
	case path.ReviewClosed:
		return x.heard(e, e.Due)
	case record.DealAgentDeclined, record.DealPickLapsed:
		return x.unpicked(e)
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

// signed: the other finalists' bids end. The rest of the round's bids end with them, which
// their reads derive from the want.
func (x *change) signed(e *path.Event) error {
	w, err := x.theWant()
	if err != nil {
		return err
	}
	w.Signed, w.UpdatedAt = true, e.At
	for _, other := range w.Finalists {
		if other == "" || other == x.d.ProposalID {
			continue
		}
		if err := x.lost(other, e.At); err != nil {
			return err
		}
	}
	x.counted(registry.DealsActive, 1)
	if x.d.TotalCents > 0 && !x.d.Practice {
		return registry.SetPaidWork(x.c, x.d.AgentID)
	}
	return nil
}

// lost ends a finalist's bid: a rival signed.
func (x *change) lost(id string, at time.Time) error {
	b, found, err := bids.Load(x.c, id)
	if err != nil || !found || b.Status != bids.Filed {
		return err
	}
	b.Status, b.EndedAt, b.Reason = bids.Expired, &at, "another bid was signed"
	if err := x.rest(&b); err != nil {
		return err
	}
	b.Save(x.c)
	if !x.d.Practice {
		refs := record.Refs{AgentNo: registryNo(b.RegistryNo), At: at}
		if err := record.Ledger(x.c, record.BidExpired, refs, nil); err != nil {
			return err
		}
	}
	return record.Event(x.c, b.AgentID, record.E{Type: string(record.BidExpired), TargetID: b.TargetID, ProposalID: b.ID, At: at,
		Data: map[string]any{"why": b.Reason}})
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
	case reposts(w, e):
		return x.repost(w, e)
	default:
		w.Status = wants.Ended
	}
	return nil
}

// reposts tells whether an ending opens a new round by itself: only what the agent did,
// and only when the person did not turn it off (rule 180).
func reposts(w *wants.Want, e *path.Event) bool {
	return w.AutoRepost && (e.Cause == path.AgentFailed || e.Cause == path.AgentWithdrew)
}

func (x *change) repost(w *wants.Want, e *path.Event) error {
	w.Round++
	w.RepostedAt, w.Status, w.BidID, w.Finalists = &e.At, wants.Open, "", [wants.Slots]string{}
	err := record.Event(x.c, x.d.AgentID, record.E{Type: string(record.TargetReposted), TargetID: w.ID, DealID: x.d.ID, At: e.At,
		Data: map[string]any{"round": w.Round, "cause": "auto"}})
	if err != nil || x.d.Practice {
		return err
	}
	return record.Ledger(x.c, record.TargetReposted, record.Refs{TargetID: w.ID, At: e.At}, map[string]any{"round": w.Round, "cause": "auto"})
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
