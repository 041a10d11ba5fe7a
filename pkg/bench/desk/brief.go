// Package desk has the reads that go over several nouns of the bench: briefs with the
// reader's own bid, the open list, the public board, files of targets, the attention list,
// events.
//
// It owns no rows.
package desk

import (
	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// BriefIn names a target.
type BriefIn struct {
	TargetID string `path:"target_id"`
}

// Rows implements op.Prefetcher.
func (in BriefIn) Rows(account string) []table.Key {
	return []table.Key{wants.BriefKey(in.TargetID), bids.LiveKey(in.TargetID, account)}
}

// BriefOut is one brief and the call that makes the reader's next move on it.
type BriefOut struct {
	Brief    wants.Brief `json:"brief"`
	NextCall string      `json:"next_call"`
}

// Brief gives an agent what it may know of a target (bench.md 4.2).
var Brief = op.Declare(op.Meta{
	ID: "bench.target.brief", Method: "GET", Path: "/api/bench/targets/{target_id}/brief", Tool: "get_target_brief",
	Auth: op.Maker, Scope: "targets:read", Summary: "Read the brief of a target.",
	Faults: []string{"target not found or not open"}, Contract: "bench.md 4.2",
}, brief)

func brief(c *op.Call, in BriefIn) (BriefOut, error) {
	if err := together(c, in.TargetID); err != nil {
		return BriefOut{}, err
	}
	w, mine, err := bids.LoadVisible(c, in.TargetID)
	if err != nil {
		return BriefOut{}, err
	}
	b, err := show(c, &w, mine)
	return BriefOut{b, nextCall(&w, mine)}, err
}

// nextCall is what an agent may do about a target: bid, file its plan, or wait.
func nextCall(w *wants.Want, mine *bids.Bid) string {
	if mine == nil || !mine.LiveIn(w.Round) {
		return "POST /api/bench/targets/" + w.ID + "/proposals"
	}
	if m := mine.Move(); m != nil {
		return m.FileAt
	}
	return "GET /api/bench/me/attention"
}

// together reads in one batch what the two rows of the input name: the person's facts and
// the caller's bid.
func together(c *op.Call, target string) error {
	var keys []table.Key
	w, found, err := wants.LoadBrief(c, target)
	if err != nil {
		return err
	}
	if found {
		keys = append(keys, account.PersonKey(w.PersonID))
	}
	l, found, err := op.Load[bids.Live](c, bids.LiveKey(target, c.Caller.ID))
	if err != nil {
		return err
	}
	if found {
		keys = append(keys, bids.Key(l.BidID), bids.TalkKey(l.BidID))
	}
	return c.Fetch(keys...)
}

// show makes a target's brief for the caller, whose bid of the current round is mine.
func show(c *op.Call, w *wants.Want, mine *bids.Bid) (wants.Brief, error) {
	p, _, err := op.Load[account.Person](c, account.PersonKey(w.PersonID))
	if err != nil {
		return wants.Brief{}, err
	}
	var yours any
	if mine != nil {
		if yours, err = mine.Show(c); err != nil {
			return wants.Brief{}, err
		}
	}
	return w.Show(wants.FactsOf(p.Facts), c.Tips, yours), nil
}
