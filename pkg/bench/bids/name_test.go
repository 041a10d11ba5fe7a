package bids_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestNamingTakesTheLowestFreeSlot(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	target := w.Easy(p)
	var filed []string
	for i := range 4 {
		filed = append(filed, w.File(w.Maker(fmt.Sprint("Maker", i)), target))
	}
	for i, b := range filed[:3] {
		if r := w.tryName(p, target, b).Want(201); r.Num("finalist_ordinal") != float64(i+1) || len(r.JSON) != 2 {
			t.Errorf("%s", r.Body)
		}
	}
	w.tryName(p, target, filed[3]).Refused(409, "slots_full")
	w.reject(p, target, filed[1], "Too dear.").Want(200)
	if r := w.tryName(p, target, filed[3]).Want(201); r.Num("finalist_ordinal") != 2 {
		t.Errorf("%s", r.Body)
	}
	if s := w.Do(wants.Read, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Str("state"); s != "choosing" {
		t.Error(s)
	}
}

func TestParallelNamingsFillThreeSlots(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		p := w.Poster("ada")
		target := w.Easy(p)
		filed := make([]string, 8)
		for i := range filed {
			filed[i] = w.File(w.Maker("Maker"), target)
		}
		var named, full atomic.Int32
		parallel(16, func(i int) {
			switch r := w.tryName(p, target, filed[i/2]); {
			case r.Status == 201:
				named.Add(1)
			case r.Status == 409 && (r.Str("error") == "slots_full" || r.Str("error") == "already_named"):
				full.Add(1)
			default:
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
		v := w.Want(target)
		if named.Load() != 3 || full.Load() != 13 || v.FreeSlot() != 0 {
			t.Errorf("%d named, %d refused: %v", named.Load(), full.Load(), v.Finalists)
		}
		seen := map[int]bool{}
		for _, id := range v.Finalists {
			b := w.stored(id)
			if seen[b.Ordinal] || !b.Finalist() {
				t.Errorf("%+v", b)
			}
			seen[b.Ordinal] = true
		}
	}
}

func TestRefusalsOfANaming(t *testing.T) {
	w := newWorld(t)
	p, other, m := w.Poster("ada"), w.Poster("bob"), w.Maker("Maker")
	target, second := w.Easy(p), w.Easy(p)
	bid := w.File(m, target)
	const none = `{"ok":false,"error":"not found"}`
	for _, r := range []optest.Res{w.tryName(p, second, bid), w.tryName(p, target, "x"), w.tryName(other, target, bid), w.tryName(p, "x", bid)} {
		if r.Status != 404 || string(r.Body) != none {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	w.Do(bids.Name, optest.Req{Token: p.Token, Path: benchtest.On(target), Body: obj{}}).Refused(422, "missing_field")
	w.Do(bids.Name, optest.Req{Token: m.Token, Path: benchtest.On(target), Body: obj{"proposal_id": bid}}).Refused(401, "unauthorized")
	w.Change(m, func(a *registry.Agent) { a.ReachableAt = time.Time{} })
	w.tryName(p, target, bid).Refused(422, "agent_not_reachable")
	w.withdraw(m, bid).Want(200)
	w.tryName(p, target, bid).Refused(409, "not_filed") // state comes before the agent's readiness
	w.Change(m, func(a *registry.Agent) { a.ReachableAt = w.Now() })
	again := w.File(m, target)
	w.Name(p, target, again)
	w.tryName(p, target, again).Refused(409, "already_named")
	w.Edit(target, func(_ *op.Call, v *wants.Want) error { v.BidID, v.DealID = "b", "d"; return nil })
	w.tryName(p, target, again).Refused(409, "already_accepted")
	w.Edit(target, func(_ *op.Call, v *wants.Want) error { v.BidID, v.DealID = "", ""; return nil })
	w.close(p, target)
	w.tryName(p, target, again).Refused(409, "not_filed")
	w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
	w.tryName(p, target, again).Refused(409, "bid_superseded")
}

func TestANamingCountsOnce(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	for range 3 {
		w.Name(p, target, bid)
		w.Do(bids.Unname, optest.Req{Token: p.Token, Path: benchtest.On(target, bid)}).Want(200)
	}
	w.Name(p, target, bid)
	w.Run("bench", func(c *op.Call) error {
		r, err := c.Get(registry.CountKey(m.ID))
		if r.Counters[registry.FinalistNamings] != 1 {
			t.Errorf("%v", r.Counters)
		}
		return err
	})
	if got := w.events(m, bid)[:3]; !slices.Equal(got, []string{"bid.filed", "finalist.named", "finalist.unnamed"}) {
		t.Error(got)
	}
}

func TestUnnaming(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	un := func() optest.Res {
		return w.Do(bids.Unname, optest.Req{Token: p.Token, Path: benchtest.On(target, bid)})
	}
	un().Refused(409, "not_finalist")
	w.Name(p, target, bid)
	w.Do(bids.Answer, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"answers": []obj{{"ordinal": 2, "answer": "Quiet."}}, "send": false}}).Want(200)
	un().Want(200)
	if b := w.mine(m, bid); b.At("finalist_ordinal") != nil || b.At("your_move") != nil || b.At("finalist_answers") != nil || b.Str("status") != "filed" {
		t.Errorf("%v", b.JSON)
	}
	un().Refused(409, "not_finalist")
	w.Name(p, target, bid)
	r := w.Do(bids.ReadDrafts, optest.Req{Token: p.Token, Path: benchtest.On(target, bid)}).Want(200)
	if r.Str("answers.1.answer") != "Quiet." {
		t.Errorf("the drafts are kept: %s", r.Body)
	}
	w.Hand(p, target, bid)
	un().Refused(409, "already_handed_off")
	w.reject(p, target, bid, "No.").Want(200)
	un().Refused(409, "already_handed_off")
	w.Do(bids.Unname, optest.Req{Token: p.Token, Key: "-", Path: benchtest.On(target, bid)}).Refused(400, "idempotency_key_required")
	w.Do(bids.Unname, optest.Req{Token: w.Poster("bob").Token, Path: benchtest.On(target, bid)}).Refused(404, "not found")
}

func TestRejecting(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Nine-Doors")
	target := w.Easy(p)
	bid := w.File(m, target)
	w.reject(p, target, bid, "").Refused(422, "invalid_field")
	w.reject(p, target, bid, "   ").Refused(422, "invalid_field")
	w.reject(p, target, bid, strings.Repeat("x", 501)).Refused(422, "invalid_field")
	w.reject(p, target, bid, "bell\u0007").Refused(422, "invalid_field")
	w.reject(p, target, "x", "No.").Refused(404, "not found")
	w.reject(w.Poster("bob"), target, bid, "No.").Refused(404, "not found")
	w.Name(p, target, bid)
	w.Advance(time.Second)
	w.reject(p, target, bid, "  "+strings.Repeat("é", 500)).Want(200)
	w.reject(p, target, bid, "Again.").Refused(409, "not_filed")
	if b := w.mine(m, bid); b.Str("status") != "declined" || b.At("finalist_health") != nil || b.At("your_move") != nil {
		t.Errorf("%v", b.JSON)
	}
	if v := w.Want(target); len(v.Rejected) != 1 || v.Finalists[0] != "" || v.Rejected[0].Round != 1 {
		t.Errorf("%+v", v)
	}
	var reason struct {
		Reason string `json:"reason"`
	}
	last := w.feed(m)[len(w.feed(m))-1]
	if err := op.Decode(last.Data, &reason); err != nil || last.Type != "bid.declined" || len([]rune(reason.Reason)) != 500 {
		t.Errorf("the agent reads the person's own reason: %+v", last)
	}
	if got := w.ledger(target); !slices.Equal(got, []string{"target.posted", "bid.filed", "finalist.named", "bid.declined"}) {
		t.Error(got)
	}
	next := w.File(m, target)
	w.close(p, target)
	w.reject(p, target, next, "Late.").Refused(409, "not_filed")
	w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
	w.reject(p, target, next, "Later.").Refused(409, "bid_superseded")
}

func TestWithdrawing(t *testing.T) {
	w := newWorld(t)
	p, m, other := w.Poster("ada"), w.Maker("Maker"), w.Maker("Other")
	target := w.Easy(p)
	bid := w.File(m, target)
	const none = `{"ok":false,"error":"proposal not found"}`
	for _, r := range []optest.Res{w.withdraw(other, bid), w.withdraw(m, "x"), w.withdraw(m, "00000000-0000-4000-8000-000000000000")} {
		if r.Status != 404 || string(r.Body) != none {
			t.Errorf("%s", r.Body)
		}
	}
	w.withdraw(m, "x").Refused(404, "proposal not found")
	w.Name(p, target, bid)
	w.Advance(time.Second)
	r := w.Do(bids.Withdraw, optest.Req{Token: m.Token, Path: benchtest.On(target, bid), Body: "{}"}).Want(200)
	if string(r.Body) != fmt.Sprintf(`{"ok":true,"proposal_id":"%s","status":"withdrawn"}`, bid) {
		t.Errorf("%s", r.Body)
	}
	if v := w.Want(target); v.Finalists[0] != "" {
		t.Error("withdrawing as a finalist frees the slot at once")
	}
	w.withdraw(m, bid).Refused(409, "cannot withdraw a withdrawn bid")
	for status, code := range map[string]string{bids.Accepted: "cannot withdraw a accepted bid", bids.Declined: "cannot withdraw a declined bid",
		bids.Expired: "cannot withdraw a expired bid", bids.DeclinedByAgent: "cannot withdraw a declined_by_agent bid"} {
		w.Run("bench", func(c *op.Call) error {
			b, _, err := bids.Load(c, bid)
			b.Status = status
			b.Save(c)
			return err
		})
		w.withdraw(m, bid).Refused(409, code)
	}
	w.Run("bench", func(c *op.Call) error {
		b, _, err := bids.Load(c, bid)
		b.Status = bids.Withdrawn
		b.Save(c)
		return err
	})
	w.Advance(time.Second)
	second := w.File(m, target)
	w.close(p, target)
	w.withdraw(m, second).Refused(409, "cannot withdraw a expired bid")
	w.Advance(30 * 24 * time.Hour)
	if got := w.ledger(target); !slices.Equal(got[:4], []string{"target.posted", "bid.filed", "finalist.named", "bid.withdrawn"}) {
		t.Error(got)
	}
	w.Do(bids.Withdraw, optest.Req{Token: m.Token, Key: "-", Path: benchtest.On(target, bid)}).Refused(400, "idempotency_key_required")
	w.Do(bids.Withdraw, optest.Req{Token: m.Token, Path: benchtest.On(target, bid), Body: obj{"reason": "x"}}).Refused(422, "unknown_field")
}

func TestANamedBidIsWithdrawnOrNamedNeverBoth(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	for range 10 {
		m := w.Maker("Maker")
		target := w.Easy(p)
		bid := w.File(m, target)
		var named, withdrawn optest.Res
		parallel(2, func(i int) {
			if i == 0 {
				named = w.tryName(p, target, bid)
			} else {
				withdrawn = w.withdraw(m, bid)
			}
		})
		v, b := w.Want(target), w.stored(bid)
		if withdrawn.Status != 200 || b.Status != bids.Withdrawn || slices.Contains(v.Finalists[:], bid) {
			t.Errorf("%d %d: %+v %v", named.Status, withdrawn.Status, b, v.Finalists)
		}
		if named.Status != 201 && named.Str("error") != "not_filed" {
			t.Errorf("%s", named.Body)
		}
	}
}

func TestAFinalistIsSentAnswersOrTakenBackNeverBoth(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	for range 10 {
		m := w.Maker("Maker")
		target := w.Easy(p)
		bid := w.File(m, target)
		w.Name(p, target, bid)
		res := make([]optest.Res, 3)
		parallel(3, func(i int) {
			switch i {
			case 0:
				res[0] = w.Do(bids.Unname, optest.Req{Token: p.Token, Path: benchtest.On(target, bid)})
			default:
				res[i] = w.answer(p, target, bid, true, obj{"ordinal": i, "answer": "Yes."})
			}
		})
		b, v := w.stored(bid), w.Want(target)
		sent := 0
		for _, r := range res[1:] {
			if r.Status == 200 {
				sent++
			}
		}
		if taken := res[0].Status == 200; taken == (sent == 1) || sent > 1 || (b.HandedAt != nil) != (sent == 1) || (v.Finalists[0] == bid) != (sent == 1) {
			t.Errorf("%d %d %d: %+v %v", res[0].Status, res[1].Status, res[2].Status, b, v.Finalists)
		}
	}
}
