package desk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/desk"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestABriefInFull(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	w.Do(account.Update, optest.Req{Token: p.Token, Body: obj{"house": obj{"house": "Willow", "value": "care", "value_description": "We look after each other."}}}).Want(200)
	body := benchtest.Posting()
	benchtest.With(benchtest.With(benchtest.With(body, "timeline_days", 9), "location", "Porto"), "baseline", []obj{{"question": "Who eats?", "answer": ""}})
	benchtest.With(benchtest.With(benchtest.With(body, "strategy", obj{"polish": 10, "risk": 20, "novelty": 30}), "strategy_note", "Quiet places."), "tip_invited", true)
	benchtest.With(body, "finish_line.sentence", "Nine chairs.")
	target := w.Post(p, body, 0.55)
	r := w.brief(m, target).Want(200)
	for path, want := range map[string]any{
		"target_id": target, "want": "A dinner table for nine people on Friday.", "baseline": nil, "finish_line": "A booking on the calendar: Nine chairs.",
		"lane.kind": "paid", "lane.ceiling_cents": 20000.0, "timeline_days": 9.0, "posted_at": "2026-11-30T18:20:00Z", "frozen_probability": 0.55,
		"person_facts.answer_speed": "—", "person_facts.finish_rate": "—", "poster_house.house": "Willow", "poster_house.value_description": "We look after each other.",
		"practice": false, "world_file_url": nil, "world_file_missing": false, "person_context.location": "Porto", "person_context.budget": 20000.0,
		"person_context.timeline": "9 days", "person_context.baseline.0.answer": "Skipped", "person_context.strategy.sliders.novelty": 30.0,
		"person_context.strategy.axes.polish.1": "Polished", "person_context.strategy.axes.risk.0": "Careful", "person_context.strategy.axes.novelty.0": "Proven path",
		"tip_invited": true, "round": 1.0, "reposted_at": nil, "your_bid": nil, "pulse_cadence.first_pulse_minutes": 5.0} {
		equal(t, path, r.At("brief."+path), want)
	}
	for _, list := range []string{"prior_attempts", "past_attempts", "rejected_bids", "public_answers", "person_context.attachments"} {
		if l, ok := r.At("brief." + list).([]any); !ok || len(l) != 0 {
			t.Errorf("%s is %v", list, r.At("brief."+list))
		}
	}
	w.Engine.Tips = false
	equal(t, "tip_invited with the flag off", w.brief(m, target).At("brief.tip_invited"), any(false))
}

func TestWordsOfABrief(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	for _, c := range []struct {
		body          obj
		finish, lane  string
		ceiling, days any
	}{
		{benchtest.Posting(), "A booking on the calendar", "paid", 20000.0, nil},
		{benchtest.With(benchtest.Posting(), "finish_line", obj{"tile": "object_at_door", "sentence": "A cake."}), "An object at the door: A cake.", "paid", 20000.0, nil},
		{benchtest.With(benchtest.Posting(), "finish_line", obj{"tile": "money_in_account", "sentence": ""}), "Money in the account", "paid", 20000.0, nil},
		{benchtest.With(benchtest.Posting(), "finish_line", obj{"tile": "something_else", "sentence": "A letter."}), "A letter.", "paid", 20000.0, nil},
		{benchtest.With(benchtest.Posting(), "lane", obj{"kind": "free"}), "A booking on the calendar", "free", 0.0, nil},
		{benchtest.With(benchtest.With(benchtest.Posting(), "lane", obj{"kind": "open"}), "timeline_days", 1), "A booking on the calendar", "open", nil, 1.0},
	} {
		b := w.brief(m, w.Post(p, c.body)).Want(200)
		equal(t, "finish_line", b.Str("brief.finish_line"), c.finish)
		equal(t, "lane", b.Str("brief.lane.kind"), c.lane)
		equal(t, "ceiling", b.At("brief.lane.ceiling_cents"), c.ceiling)
		equal(t, "budget", b.At("brief.person_context.budget"), c.ceiling)
		equal(t, "days", b.At("brief.timeline_days"), c.days)
	}
}

func TestFactsAreCountedNeverGuessed(t *testing.T) {
	for _, c := range []struct {
		facts         account.Facts
		speed, finish string
	}{
		{account.Facts{}, "—", "—"}, {account.Facts{Answers: 1, AnswerSeconds: 30}, "1m", "—"}, {account.Facts{Answers: 2, AnswerSeconds: 2 * 4 * 3600}, "4h", "—"},
		{account.Facts{Answers: 1, AnswerSeconds: 47 * 3600}, "47h", "—"}, {account.Facts{Answers: 1, AnswerSeconds: 48 * 3600}, "2d", "—"},
		{account.Facts{Ended: 3}, "—", "0%"}, {account.Facts{Ended: 3, Finished: 2}, "—", "67%"}, {account.Facts{Ended: 1, Finished: 1}, "—", "100%"},
	} {
		got := wants.FactsOf(c.facts)
		if got.AnswerSpeed != c.speed || got.FinishRate != c.finish {
			t.Errorf("%+v is %+v", c.facts, got)
		}
	}
}

func TestWhoReadsABrief(t *testing.T) {
	w := newWorld(t)
	p, m, other := w.Poster("ada"), w.Maker("Maker"), w.Maker("Other")
	const gone = `{"ok":false,"error":"target not found or not open"}`
	target := w.Easy(p)
	notFound := func(m maker) {
		t.Helper()
		if r := w.brief(m, target); r.Status != 404 || string(r.Body) != gone {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	if r := w.brief(m, "x"); r.Status != 404 || string(r.Body) != gone {
		t.Errorf("%s", r.Body)
	}
	w.brief(other, target).Want(200)
	bid := w.File(m, target)
	var filed []string
	for range 3 {
		filed = append(filed, w.File(w.Maker("Finalist"), target))
	}
	for _, b := range filed {
		w.Name(p, target, b)
	}
	notFound(other)              // three finalists: bidding is closed
	w.brief(m, target).Want(200) // a live bid keeps it readable
	w.withdraw(m, bid)           // and a dead one does not
	notFound(m)
	w.Advance(97 * time.Hour) // the finalists ran out of time
	w.brief(other, target).Want(200)
	equal(t, "your_bid after a withdrawal", w.brief(m, target).Str("brief.your_bid.status"), "withdrawn")
	w.close(p, target)
	notFound(other)
	notFound(m)
	w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
	equal(t, "your_bid after a repost", w.brief(m, target).Want(200).At("brief.your_bid"), any(nil))
	w.Do(desk.Brief, optest.Req{Path: benchtest.On(target)}).Refused(401, "unauthorized")
	w.Do(desk.Brief, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Refused(401, "unauthorized")
}

func TestABriefIsReadableTheMomentAFinalistRanOutOfTime(t *testing.T) {
	w := newWorld(t)
	p, other := w.Poster("ada"), w.Maker("Other")
	target := w.Easy(p)
	for i := range 3 {
		m := w.Maker(fmt.Sprint("Finalist", i))
		b := w.File(m, target)
		w.Name(p, target, b)
		w.Hand(p, target, b)
	}
	end := w.late(24*time.Hour - time.Second)
	w.brief(other, target).Want(404)
	end()
	end = w.late(24 * time.Hour) // no sweep came
	w.brief(other, target).Want(200)
	end()
}

func TestASignedDealKeepsTheBriefReadableForItsAgent(t *testing.T) {
	w := newWorld(t)
	p, m, loser := w.Poster("ada"), w.Maker("Maker"), w.Maker("Loser")
	target := w.Easy(p)
	bid := w.File(m, target)
	w.File(loser, target)
	w.Edit(target, func(c *op.Call, v *wants.Want) error {
		v.BidID, v.DealID, v.Signed, v.UpdatedAt = bid, "d", true, c.Now
		b, _, err := bids.Load(c, bid)
		b.Status, b.DealID = bids.Accepted, "d"
		b.Save(c)
		return err
	})
	equal(t, "status", w.brief(m, target).Want(200).Str("brief.your_bid.status"), "accepted")
	w.brief(loser, target).Want(404)
	if r := w.open(m).Want(200); r.Num("count") != 1 {
		t.Errorf("%s", r.Body)
	}
	if r := w.open(loser).Want(200); r.Num("count") != 0 {
		t.Errorf("%s", r.Body)
	}
}

func TestYourBidAsAFinalist(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	y := w.brief(m, target).At("brief.your_bid").(obj)
	if len(y) != 8 || y["proposal_id"] != bid || y["status"] != "filed" || y["finalist_ordinal"] != nil || y["finalist_answers"] != nil || y["your_move"] != nil ||
		y["finalist_health"] != nil || y["plan_revised_at"] != nil || len(y["person_questions"].([]any)) != 0 {
		t.Errorf("%v", y)
	}
	w.Name(p, target, bid)
	w.Hand(p, target, bid)
	r := w.brief(m, target)
	equal(t, "move", r.Str("brief.your_bid.your_move.action"), "file_informed_plan")
	equal(t, "expires", r.Str("brief.your_bid.finalist_health.expires_at"), "2026-12-01T18:20:00Z")
	mine := w.Do(bids.Mine, optest.Req{Token: m.Token}).At("proposals.0").(obj)
	for k, v := range r.At("brief.your_bid").(obj) {
		if text(mine[k]) != text(v) {
			t.Errorf("%s differs between brief and list: %v and %v", k, v, mine[k])
		}
	}
}

func TestBriefsCostWhatTheyMust(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	cost := func(what string, most int64) {
		t.Helper()
		before := w.Store.Stats()
		w.brief(m, target).Want(200)
		if s := w.Store.Stats().Since(before); s.Gets+s.Queries > most || s.Commits > 0 {
			t.Errorf("%s: %+v", what, s)
		}
	}
	cost("a stranger's", 2)
	b := w.File(m, target)
	cost("a bidder's", 2)
	w.Name(p, target, b)
	w.Hand(p, target, b)
	w.brief(m, target).Want(200) // notes the sign of life
	cost("a finalist's", 2)
}

func TestFilesOfATarget(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target, second := w.Easy(p), w.Easy(p)
	name := w.attach(p, target, 100)
	get := func(m maker, target, file string) optest.Res {
		return w.Do(desk.Attachment, optest.Req{Token: m.Token, Path: map[string]string{"target_id": target, "filename": file}})
	}
	r := get(m, target, name).Want(200)
	if r.Raw == nil || r.Raw.ContentType != "image/png" || r.Raw.Filename != name || r.Raw.Size != 108 {
		t.Errorf("%+v", r.Raw)
	}
	if strings.Contains(text(w.brief(m, target).JSON), "Lovelace") {
		t.Error("a file's own name reached the brief")
	}
	const none = `{"ok":false,"error":"not found"}`
	for _, r := range []optest.Res{get(m, second, name), get(m, target, "x"), get(m, target, "../"+name), get(m, target, name+"/"), get(m, "x", name),
		get(m, target, strings.TrimSuffix(name, ".png"))} {
		if r.Status != 404 || string(r.Body) != none || r.Raw != nil {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	w.Do(desk.Attachment, optest.Req{Path: map[string]string{"target_id": target, "filename": name}}).Refused(401, "unauthorized")
	b := w.File(m, target)
	w.close(p, target)
	if r := get(m, target, name); string(r.Body) != none {
		t.Errorf("%s", r.Body)
	}
	_ = b
	page, _ := w.Blobs.List(t.Context(), "attachments/", "", 10)
	third := w.Easy(p)
	name = w.attach(p, third, 5<<20)
	if r := get(m, third, name).Want(200); r.Raw.Location != "" || r.Raw.Size != 5<<20+8 { // this store gives no links: it serves the bytes itself
		t.Errorf("%+v", r.Raw)
	}
	if err := w.Blobs.Delete(t.Context(), "attachments/"+third+"/"+strings.TrimSuffix(name, ".png")); err != nil || len(page.Entries) != 1 {
		t.Fatal(err)
	}
	get(m, third, name).Refused(404, "not found")
	name = w.attach(p, third, 10)
	get(m, third, name).Want(200)
	w.Do(account.CloseAccount, optest.Req{Token: p.Token, Body: obj{}}).Want(200)
	if r := get(m, third, name); string(r.Body) != none {
		t.Errorf("a file of a closed account: %s", r.Body)
	}
}

func TestAWorldFile(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	target := w.practice(benchtest.With(benchtest.Posting(), "world_file", obj{"counterparties": []obj{{"name": "Host", "script": "Says yes."}}}), 0.55)
	get := func(m maker, target string) optest.Res {
		return w.Do(desk.World, optest.Req{Token: m.Token, Path: benchtest.On(target)})
	}
	r := get(m, target).Want(200)
	b := make([]byte, r.Raw.Size)
	if _, err := r.Raw.Body.Read(b); err != nil || string(b) != `{"counterparties":[{"name":"Host","script":"Says yes."}]}` || r.Raw.ContentType != "application/json" {
		t.Errorf("%s %+v", b, r.Raw)
	}
	equal(t, "url", w.brief(m, target).Str("brief.world_file_url"), "/api/bench/targets/"+target+"/world-file")
	bare := w.practice(benchtest.Posting(), 0.55)
	equal(t, "missing", w.brief(m, bare).At("brief.world_file_missing"), any(true))
	for _, id := range []string{bare, "x", w.Easy(w.Poster("ada"))} {
		get(m, id).Refused(404, "not found")
	}
	if r := w.open(m).Want(200); !slices.Contains(ids(r, "targets", "target_id"), target) {
		t.Errorf("practice targets are in the open list: %s", r.Body)
	}
}
