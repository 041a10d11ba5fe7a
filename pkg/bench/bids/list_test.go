package bids_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestOwnBidsNewestFirst(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	p := w.Poster("ada")
	var filed []string
	for range 7 {
		filed = append(filed, w.File(m, w.Easy(p)))
		w.Advance(time.Second)
	}
	w.File(w.Maker("Other"), w.Easy(p))
	var got []string
	after := ""
	for {
		r := w.Do(bids.Mine, optest.Req{Token: m.Token, Query: query("limit", "3", "after", after)}).Want(200)
		for _, b := range r.At("proposals").([]any) {
			got = append(got, b.(obj)["proposal_id"].(string))
		}
		if int(r.Num("count")) != len(r.At("proposals").([]any)) {
			t.Errorf("%s", r.Body)
		}
		if after = r.Str("next_cursor"); after == "" {
			break
		}
	}
	if len(got) != 7 || got[0] != filed[6] || got[6] != filed[0] {
		t.Errorf("%v of %v", got, filed)
	}
	w.Do(bids.Mine, optest.Req{Token: m.Token, Query: query("after", "x")}).Refused(422, "cursor_invalid")
	first := w.Do(bids.Mine, optest.Req{Token: m.Token, Query: query("limit", "3")})
	w.Do(bids.Mine, optest.Req{Token: w.Maker("Third").Token, Query: query("after", first.Str("next_cursor"))}).Refused(422, "cursor_invalid")
	w.Do(bids.Mine, optest.Req{Token: m.Token, Query: query("limit", "101")}).Refused(422, "invalid_field")
	w.Do(bids.Mine, optest.Req{}).Refused(401, "unauthorized")
	if r := w.Do(bids.Mine, optest.Req{Token: w.Maker("Nobody").Token}).Want(200); string(r.Body) != `{"ok":true,"count":0,"proposals":[],"next_cursor":null}` {
		t.Errorf("%s", r.Body)
	}
}

func TestEveryOwnBidHasEveryField(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	w.File(m, w.Easy(w.Poster("ada")))
	b := w.Do(bids.Mine, optest.Req{Token: m.Token}).Want(200).At("proposals.0").(obj)
	for _, f := range []string{"proposal_id", "target_id", "round", "status", "filed_at", "total_ask_cents", "timeline_days", "finalist_ordinal", "plan_revised_at",
		"superseded_at", "deal_id", "finalist_answers", "your_move", "finalist_health", "person_questions"} {
		if _, ok := b[f]; !ok {
			t.Errorf("%s is missing", f)
		}
	}
	if len(b) != 15 {
		t.Errorf("%v", b)
	}
}

func TestCardsShowThePersonEverything(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Nine-Doors")
	target := w.Easy(p)
	id := w.File(m, target)
	r := w.Do(bids.Cards, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
	for path, want := range map[string]any{"bids.0.proposal_id": id, "bids.0.status": "filed", "bids.0.round": 1.0, "bids.0.proposal.pitch_title": "A table your whole family can agree on",
		"bids.0.proposal.steps.0.declared_odds": 0.7, "bids.0.plan": nil, "bids.0.finalist_ordinal": nil, "bids.0.agent.handle": "Nine-Doors", "bids.0.agent.registry_no": m.No,
		"bids.0.agent.model_declared": "Example Model 1", "bids.0.agent.operator_name": "Nine Doors Labs", "bids.0.agent.reachable": true, "bids.0.agent.payout_ready": false,
		"bids.0.person_costs": "about $200 to $400", "bids.0.deal_id": nil, "next_cursor": nil} {
		if got := r.At(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	w.Name(p, target, id)
	w.Hand(p, target, id)
	if c := w.Do(bids.ReadCard, optest.Req{Token: p.Token, Path: benchtest.On(target, id)}).Want(200); c.Str("bid.plan_deadline_at") != "2026-12-02T18:20:00Z" || c.Num("bid.finalist_ordinal") != 1 {
		t.Errorf("%s", c.Body)
	}
	w.reject(p, target, id, "Too dear.").Want(200)
	if c := w.Do(bids.ReadCard, optest.Req{Token: p.Token, Path: benchtest.On(target, id)}).Want(200); c.Str("bid.reject_reason") != "Too dear." || c.At("bid.plan_deadline_at") != nil {
		t.Errorf("%s", c.Body)
	}
	other := w.Poster("bob")
	for _, r := range []optest.Res{w.Do(bids.Cards, optest.Req{Token: other.Token, Path: benchtest.On(target)}), w.Do(bids.ReadCard, optest.Req{Token: other.Token, Path: benchtest.On(target, id)}),
		w.Do(bids.ReadCard, optest.Req{Token: p.Token, Path: benchtest.On(target, "x")}), w.Do(bids.Cards, optest.Req{Token: p.Token, Path: benchtest.On("x")})} {
		if r.Status != 404 || string(r.Body) != `{"ok":false,"error":"not found"}` {
			t.Errorf("%s", r.Body)
		}
	}
	w.Do(bids.Cards, optest.Req{Token: m.Token, Path: benchtest.On(target)}).Refused(401, "unauthorized")
}

func TestCostsInWords(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		lane     obj
		estimate any
		want     string
	}{
		{obj{"kind": "open"}, obj{"low_cents": 20050, "high_cents": 40000, "note": "x"}, "about $200.50 to $400"},
		{obj{"kind": "open"}, obj{"low_cents": 20000, "note": "x"}, "from $200"},
		{obj{"kind": "open"}, obj{"high_cents": 5, "note": "x"}, "up to $0.05"},
		{obj{"kind": "open"}, obj{"note": "Nothing."}, ""},
		{obj{"kind": "open"}, nil, "No estimate of your own costs was given."},
	} {
		p := w.Poster("ada")
		target := w.Post(p, benchtest.With(benchtest.Posting(), "lane", c.lane), 0.55)
		w.try(w.Maker("Maker"), target, benchtest.With(benchtest.Bid(), "person_cost_estimate", c.estimate)).Want(201)
		if got := w.Do(bids.Cards, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200).Str("bids.0.person_costs"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestCardsPageAndHideBlockedAgents(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	target := w.Easy(p)
	var agents []maker
	for i := range 25 {
		agents = append(agents, w.Maker(fmt.Sprint("Maker", i)))
		w.File(agents[i], target)
		w.Advance(time.Second)
	}
	w.Do(account.Block, optest.Req{Token: p.Token, Path: map[string]string{"maker_id": agents[24].ID}, Body: obj{"blocked": true}}).Want(200)
	var got []string
	after := ""
	for {
		r := w.Do(bids.Cards, optest.Req{Token: p.Token, Path: benchtest.On(target), Query: query("limit", "7", "after", after)}).Want(200)
		for _, b := range r.At("bids").([]any) {
			got = append(got, b.(obj)["agent"].(obj)["handle"].(string))
		}
		if after = r.Str("next_cursor"); after == "" {
			break
		}
	}
	if len(got) != 24 || got[0] != "Maker23" || got[23] != "Maker0" {
		t.Errorf("%v", got)
	}
	w.Do(bids.Cards, optest.Req{Token: p.Token, Path: benchtest.On(target), Query: query("after", "x")}).Refused(422, "cursor_invalid")
}

func TestALargePageOfCardsEndsEarly(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	target := w.Post(p, benchtest.With(benchtest.Posting(), "lane", obj{"kind": "open"}), 0.55)
	big := benchtest.Bid()
	var items []obj
	for i := range 60 {
		items = append(items, obj{"label": fmt.Sprintf("Item %d", i), "why": strings.Repeat("because ", 200)})
	}
	big["steps"].([]any)[1] = obj{"title": "Provide it", "ask": "PROVIDE", "outcome_promise": "I will use what you give.", "agent_court_estimate": 1, "person_minutes": 5,
		"line_item_amount": 4000, "declared_odds": 0.5, "provide": obj{"items": items}, "har_blocks": []obj{{"id": "x", "title": "Yours", "format": "written_response"}}}
	for i := range 60 {
		w.try(w.Maker(fmt.Sprint("Maker", i)), target, big).Want(201)
	}
	seen, pages, after := 0, 0, ""
	for {
		r := w.Do(bids.Cards, optest.Req{Token: p.Token, Path: benchtest.On(target), Query: query("after", after)}).Want(200)
		seen, pages = seen+len(r.At("bids").([]any)), pages+1
		if len(r.Body) > 5<<20 {
			t.Errorf("a page of %d bytes", len(r.Body))
		}
		if after = r.Str("next_cursor"); after == "" {
			break
		}
	}
	if seen != 60 || pages < 2 {
		t.Errorf("%d cards on %d pages", seen, pages)
	}
}

func TestALateSweepOfAClosedWant(t *testing.T) {
	w := newWorld(t)
	p, m, target, id := w.finalist()
	w.Advance(time.Hour)
	w.close(p, target)
	end := w.late(100 * time.Hour)
	b := w.mine(m, id)
	if b.Str("status") != "expired" || b.At("finalist_health") != nil || b.At("your_move") != nil {
		t.Errorf("the clocks of a closed want stand still: %v", b.JSON)
	}
	end()
	w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
	end = w.late(100 * time.Hour)
	if b := w.mine(m, id); b.Str("status") != "expired" || b.Str("superseded_at") != "2026-11-30T19:20:00Z" {
		t.Errorf("%v", b.JSON)
	}
	end()
	w.Run("bench", func(c *op.Call) error {
		b, err := bids.Effective(c, id)
		if b.EndedAt == nil || !b.EndedAt.Equal(optest.Start.Add(time.Hour)) {
			t.Errorf("%+v", b)
		}
		if none, err2 := bids.Effective(c, "nobody"); none.ID != "" || err2 != nil {
			t.Errorf("%+v %v", none, err2)
		}
		return err
	})
}
