package wants_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func (w *world) close(p person, target string) optest.Res {
	w.T.Helper()
	return w.Do(wants.Close, optest.Req{Token: p.Token, Path: benchtest.On(target)})
}

func (w *world) repost(p person, target string, body any) optest.Res {
	w.T.Helper()
	return w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(target), Body: body})
}

// feed are the types of an agent's events about a target.
func (w *world) feed(m maker, target string) (types []string) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) error {
		events, _, err := record.Feed(c, m.ID, 0, record.MaxFeedPage)
		for _, e := range events {
			if e.TargetID == target {
				types = append(types, e.Type)
			}
		}
		return err
	})
	return types
}

// ledger are the public events about a target, by time.
func (w *world) ledger(target string) (words []string) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) error {
		var all []record.Pending
		for n := range record.Shards {
			events, _, err := record.PendingPage(c, fmt.Sprint(n), table.MaxPageRows)
			if err != nil {
				return err
			}
			all = append(all, events...)
		}
		slices.SortStableFunc(all, func(a, b record.Pending) int { return a.At.Compare(b.At) })
		for _, e := range all {
			if e.Refs.TargetID == target {
				words = append(words, string(e.Event))
			}
		}
		return nil
	})
	return words
}

func (w *world) bidOf(m maker, target string) obj {
	w.T.Helper()
	for _, b := range w.Do(bids.Mine, optest.Req{Token: m.Token}).Want(200).At("proposals").([]any) {
		if b.(obj)["target_id"] == target {
			return b.(obj)
		}
	}
	return nil
}

func TestClosingEndsEveryBid(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Easy(p)
	var agents []maker
	for i := range 10 {
		m := w.Maker(fmt.Sprint("Agent", i))
		agents = append(agents, m)
		w.File(m, id)
	}
	w.Name(p, id, w.bidOf(agents[0], id)["proposal_id"].(string))
	w.Advance(time.Hour)
	r := w.close(p, id).Want(200)
	if r.Str("state") != "closed" || r.Num("finalist_count") != 0 || r.Str("ended_at") != "2026-11-30T19:20:00Z" {
		t.Errorf("%s", r.Body)
	}
	for _, m := range agents {
		if b := w.bidOf(m, id); b["status"] != "expired" || b["superseded_at"] != nil || b["your_move"] != nil {
			t.Errorf("before any sweep a bid is %v", b)
		}
	}
	w.Advance(30 * 24 * time.Hour) // no clock of the dead finalist does anything any more
	for i, m := range agents {
		want := []string{"bid.filed", "bid.expired"}
		if i == 0 {
			want = []string{"bid.filed", "finalist.named", "bid.expired"}
		}
		if got := w.feed(m, id); !slices.Equal(got, want) {
			t.Errorf("agent %d was told %v", i, got)
		}
		if b := w.bidOf(m, id); b["status"] != "expired" {
			t.Errorf("%v", b)
		}
	}
	words := w.ledger(id)
	if n := len(slices.DeleteFunc(slices.Clone(words), func(s string) bool { return s != "bid.expired" })); n != 10 {
		t.Errorf("%d bids expired in %v", n, words)
	}
	if len(w.Mails.To(p.Email)) != 1 { // the digest of new bids
		t.Errorf("the person got %+v", w.Mails.To(p.Email))
	}
	w.close(p, id).Refused(409, "not_open")
}

func TestAnAcceptedWantIsNotClosed(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Easy(p)
	w.Edit(id, func(_ *op.Call, v *wants.Want) error { v.BidID, v.DealID = "b", "d"; return nil })
	w.close(p, id).Refused(409, "already_accepted")
	w.repost(p, id, nil).Refused(409, "still_running")
	if s := w.Do(wants.Read, optest.Req{Token: p.Token, Path: benchtest.On(id)}).Str("state"); s != "active" {
		t.Error(s)
	}
	// the deal ended, its bid stays on the record: the person may repost
	w.Edit(id, func(_ *op.Call, v *wants.Want) error { v.DealID, v.Status = "", wants.Ended; return nil })
	if r := w.repost(p, id, nil).Want(200); r.Str("state") != "open" || r.Num("round") != 2 {
		t.Errorf("%s", r.Body)
	}
}

func TestARepostOpensARoundForEverybody(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Easy(p)
	a, b := w.Maker("First"), w.Maker("Second")
	first := w.File(a, id)
	w.File(b, id)
	w.Advance(time.Hour)
	w.close(p, id).Want(200)
	w.Advance(time.Hour)
	r := w.repost(p, id, obj{"want": "A table for eleven people on Friday.", "lane": obj{"kind": "paid", "ceiling_cents": 30000}}).Want(200)
	for path, want := range map[string]any{"round": 2.0, "state": "open", "want": "A table for eleven people on Friday.", "lane.ceiling_cents": 30000.0,
		"bid_count": 0.0, "reposted_at": "2026-11-30T20:20:00Z", "posted_at": "2026-11-30T18:20:00Z", "ended_at": nil, "target_id": id} {
		if got := r.At(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	old := w.bidOf(a, id)
	if old["superseded_at"] != "2026-11-30T20:20:00Z" || old["status"] != "expired" || old["round"] != 1.0 {
		t.Errorf("the bid of the round before: %v", old)
	}
	w.Settle()
	if got := w.feed(a, id); !slices.Equal(got, []string{"bid.filed", "bid.expired", "target.reposted"}) {
		t.Errorf("told: %v", got)
	}
	w.Edit(id, func(_ *op.Call, v *wants.Want) error { odds := 0.55; v.Frozen = &odds; return nil })
	again := w.File(a, id)
	if again == first || w.bidOf(a, id)["round"] != 2.0 {
		t.Error("a new filing is a new row of the new round")
	}
	w.Advance(time.Hour)
	w.repost(p, id, nil).Want(200) // over live bids: they are put aside
	w.Settle()
	if got := w.feed(a, id); !slices.Equal(got[3:], []string{"bid.filed", "bid.expired", "target.reposted"}) {
		t.Errorf("told: %v", got)
	}
	list := w.Do(bids.Mine, optest.Req{Token: a.Token}).Want(200)
	if list.Str("proposals.0.superseded_at") != "2026-11-30T21:20:00Z" || list.Str("proposals.1.superseded_at") != "2026-11-30T20:20:00Z" {
		t.Errorf("each bid keeps the time of its own repost: %s", list.Body)
	}
}

func TestRefusalsOfARepost(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	w.repost(p, id, obj{"want": "short"}).Refused(422, "want_too_short")
	w.repost(p, id, obj{"lane": obj{"kind": "paid"}}).Refused(422, "lane_invalid")
	w.repost(p, id, obj{"location": "x"}).Refused(422, "unknown_field")
	w.repost(p, "unknown", nil).Refused(404, "not found")
	if r := w.repost(p, id, nil).Want(200); r.Num("round") != 2 {
		t.Errorf("a want without a deal can be reposted: %s", r.Body)
	}
}

func TestAManualRepostFreezesAnew(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting(), 0.9)
	s := w.steward()
	s.set("booking_on_calendar", "paid", 0.3)
	odds := func(p any) optest.Res {
		return w.Do(wants.SetTargetOdds, optest.Req{Token: s.token, Path: benchtest.On(id), Body: obj{"frozen_probability": p}})
	}
	if r := odds(0.7).Want(200); r.Num("frozen_probability") != 0.9 || r.Num("next_frozen_probability") != 0.7 {
		t.Errorf("the value in force is not touched: %s", r.Body)
	}
	if r := w.repost(p, id, nil).Want(200); r.Num("frozen_probability") != 0.7 {
		t.Errorf("%s", r.Body)
	}
	if r := w.repost(p, id, nil).Want(200); r.Num("frozen_probability") != 0.3 {
		t.Errorf("the steward's value is used once: %s", r.Body)
	}
	odds(nil).Want(200)
	if r := w.repost(p, id, nil).Want(200); r.At("frozen_probability") != nil {
		t.Errorf("null is unbanded: %s", r.Body)
	}
	odds(1.01).Refused(422, "invalid_field")
	odds(-0.01).Refused(422, "invalid_field")
	w.Do(wants.SetTargetOdds, optest.Req{Token: s.token, Path: benchtest.On(id), Body: obj{}}).Refused(422, "missing_field")
	w.Do(wants.SetTargetOdds, optest.Req{Token: s.token, Path: benchtest.On("unknown"), Body: obj{"frozen_probability": 0.5}}).Refused(404, "not found")
	w.Do(wants.SetTargetOdds, optest.Req{Token: p.Token, Path: benchtest.On(id), Body: obj{"frozen_probability": 0.5}}).Refused(404, "not found")
}

func TestAnAutomaticRoundKeepsTheEstimateAndTellsTheOthers(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting(), 0.55)
	failed, other := w.Maker("Failed"), w.Maker("Other")
	mine := w.File(failed, id)
	w.File(other, id)
	at := w.Now()
	w.Edit(id, func(c *op.Call, v *wants.Want) error { // signed, as a deal does it
		v.BidID, v.DealID, v.Signed, v.UpdatedAt = mine, "d", true, c.Now
		b, _, err := bids.Load(c, mine)
		b.Status = bids.Accepted
		b.Save(c)
		return err
	})
	w.Settle()
	if got := w.feed(other, id); !slices.Equal(got, []string{"bid.filed", "bid.expired"}) {
		t.Errorf("a rival signed: %v", got)
	}
	w.Advance(time.Hour)
	w.Edit(id, func(c *op.Call, v *wants.Want) error { // ended and reposted by the deal itself
		now := c.Now
		v.Round++
		v.RepostedAt, v.Status, v.BidID, v.DealID, v.Signed = &now, wants.Open, "", "", false
		return nil
	})
	w.Settle()
	if got := w.feed(other, id); !slices.Equal(got, []string{"bid.filed", "bid.expired", "target.reposted"}) {
		t.Errorf("everybody may bid again: %v", got)
	}
	if got := w.feed(failed, id); !slices.Equal(got, []string{"bid.filed"}) {
		t.Errorf("the agent of the deal is told by the deal: %v", got)
	}
	if v := w.Want(id); v.Frozen == nil || *v.Frozen != 0.55 || v.SupersededAt(1) == nil || !v.SupersededAt(1).Equal(at.Add(time.Hour)) {
		t.Errorf("%+v", v)
	}
	if b := w.bidOf(failed, id); b["status"] != "accepted" || b["superseded_at"] == nil {
		t.Errorf("%v", b)
	}
}

func TestTheLedgerOfAWant(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	w.Advance(time.Minute)
	w.close(p, id).Want(200)
	w.Advance(time.Minute)
	w.repost(p, id, nil).Want(200)
	if got := w.ledger(id); !slices.Equal(got, []string{"target.posted", "target.closed", "target.reposted"}) {
		t.Error(got)
	}
}
