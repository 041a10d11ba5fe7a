package wants_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func (w *world) patch(p person, target string, body any) optest.Res {
	w.T.Helper()
	return w.Do(wants.Edit, optest.Req{Token: p.Token, Path: benchtest.On(target), Body: body})
}

func TestAnEditChangesWhatIsSent(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.With(benchtest.With(benchtest.Posting(), "timeline_days", 9), "location", "Porto"))
	w.Advance(time.Minute)
	r := w.patch(p, id, obj{"want": " A table for ten people on Friday. ", "tip_invited": true, "timeline_days": nil, "strategy": obj{"polish": 1, "risk": 2, "novelty": 3},
		"lane": obj{"kind": "open"}, "baseline": []obj{{"question": "Who?", "answer": ""}}}).Want(200)
	for path, want := range map[string]any{"want": "A table for ten people on Friday.", "tip_invited": true, "timeline_days": nil, "strategy.risk": 2.0,
		"lane.kind": "open", "lane.ceiling_cents": nil, "location": "Porto", "baseline.0.answer": "Skipped", "updated_at": "2026-11-30T18:21:00Z",
		"posted_at": "2026-11-30T18:20:00Z", "finish_line.tile": "booking_on_calendar"} {
		if got := r.At(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if r := w.patch(p, id, obj{"strategy": nil}).Want(200); r.Num("strategy.polish") != 50 {
		t.Errorf("no sliders are all 50: %s", r.Body)
	}
}

func TestRefusalsOfAnEdit(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	w.patch(p, id, obj{"want": "short"}).Refused(422, "want_too_short")
	w.patch(p, id, obj{"want": strings.Repeat("x", 501)}).Refused(422, "want_too_long")
	w.patch(p, id, obj{"lane": obj{"kind": "paid"}}).Refused(422, "lane_invalid")
	w.patch(p, id, obj{"finish_line": obj{"tile": "something_else", "sentence": ""}}).Refused(422, "finish_line_sentence_required")
	w.patch(p, id, obj{"location": strings.Repeat("x", 121)}).Refused(422, "invalid_field")
	w.patch(p, id, obj{"strategy_note": "bell\u0007"}).Refused(422, "invalid_field")
	w.patch(p, id, obj{"timeline_days": 0}).Refused(422, "invalid_field")
	w.patch(p, id, obj{"frozen_probability": 1}).Refused(422, "unknown_field")
	w.patch(p, "unknown", obj{"want": "short"}).Refused(422, "want_too_short") // values come before existence
	w.patch(p, "unknown", obj{"want": "A want that is long enough."}).Refused(404, "not found")
}

func TestAfterTheFirstBidOnlyTheSwitchesMove(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Easy(p)
	m := w.Maker("Maker")
	bid := w.File(m, id)
	for field, v := range map[string]any{"want": "Another text that is long enough.", "lane": obj{"kind": "open"}, "timeline_days": 5, "tip_invited": true,
		"baseline": []obj{}, "location": "x", "strategy": nil, "strategy_note": "x", "finish_line": obj{"tile": "object_at_door", "sentence": ""}} {
		w.patch(p, id, obj{field: v}).Refused(409, "has_bids")
	}
	w.patch(p, id, obj{"publish_answers": false, "location": "x"}).Refused(409, "has_bids")
	if r := w.patch(p, id, obj{"publish_answers": false, "auto_repost": false}).Want(200); r.At("publish_answers") != false || r.At("auto_repost") != false || r.At("editable") != false {
		t.Errorf("%s", r.Body)
	}
	w.Do(bids.Withdraw, optest.Req{Token: m.Token, Path: benchtest.On(id, bid)}).Want(200)
	w.patch(p, id, obj{"location": "x"}).Refused(409, "has_bids")
	w.Do(wants.Close, optest.Req{Token: p.Token, Path: benchtest.On(id)}).Want(200)
	w.patch(p, id, obj{"location": "x"}).Refused(409, "not_open") // the first of two reasons
	w.patch(p, id, obj{"auto_repost": true}).Want(200)
}

func TestAnEditFreezesAnewOnlyForAnotherClass(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting(), 0.9) // as the local controls set it
	w.steward().set("booking_on_calendar", "paid", 0.2)
	w.steward().set("booking_on_calendar", "open", 0.3)
	for _, body := range []obj{{"want": "A table for ten people on Friday."}, {"lane": obj{"kind": "paid", "ceiling_cents": 30000}},
		{"finish_line": obj{"tile": "booking_on_calendar", "sentence": "Ten chairs."}}} {
		if got := w.patch(p, id, body).Want(200).At("frozen_probability"); got != 0.9 {
			t.Errorf("%v moved a frozen estimate to %v", body, got)
		}
	}
	if got := w.patch(p, id, obj{"lane": obj{"kind": "open"}}).Want(200).At("frozen_probability"); got != 0.3 {
		t.Errorf("another class froze %v", got)
	}
}

func TestNoBidIsFiledOnAnEditedWant(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	agents := []maker{w.Maker("One"), w.Maker("Two"), w.Maker("Three")}
	for round := range 12 {
		id := w.Easy(p)
		var wg sync.WaitGroup
		statuses := make([]int, len(agents)+1)
		for i, m := range agents {
			wg.Go(func() {
				statuses[i] = w.Do(bids.FileProposal, optest.Req{Token: m.Token, Path: benchtest.On(id), Body: benchtest.GoodBid}).Status
			})
		}
		wg.Go(func() { statuses[3] = w.patch(p, id, obj{"lane": obj{"kind": "paid", "ceiling_cents": 1000}}).Status })
		wg.Wait()
		filed := 0
		for _, s := range statuses[:3] {
			if s == 201 {
				filed++
			} else if s != 422 { // over the ceiling: it came after the edit
				t.Fatalf("round %d: %v", round, statuses)
			}
		}
		want := w.Want(id)
		if edited := *want.Lane.CeilingCents == 1000; edited != (statuses[3] == 200) || edited && filed > 0 || !edited && (filed != 3 || statuses[3] != 409) {
			t.Fatalf("round %d: %v, ceiling %d", round, statuses, *want.Lane.CeilingCents)
		}
	}
}

func TestNoBidIsFiledOnAClosedWant(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	agents := []maker{w.Maker("One"), w.Maker("Two"), w.Maker("Three")}
	for range 12 {
		w.Advance(time.Second)
		id := w.Easy(p)
		var wg sync.WaitGroup
		statuses := make([]int, len(agents))
		for i, m := range agents {
			wg.Go(func() {
				statuses[i] = w.Do(bids.FileProposal, optest.Req{Token: m.Token, Path: benchtest.On(id), Body: benchtest.GoodBid}).Status
			})
		}
		wg.Go(func() { w.Do(wants.Close, optest.Req{Token: p.Token, Path: benchtest.On(id)}).Want(200) })
		wg.Wait()
		w.Settle()
		for i, m := range agents {
			mine := w.Do(bids.Mine, optest.Req{Token: m.Token, Query: query("limit", "1")}).Want(200)
			switch statuses[i] {
			case 201:
				if mine.Str("proposals.0.target_id") != id || mine.Str("proposals.0.status") != "expired" {
					t.Errorf("a bid on a closed want: %s", mine.Body)
				}
			case 404:
				if mine.Str("proposals.0.target_id") == id {
					t.Errorf("a refused bid is there: %s", mine.Body)
				}
			default:
				t.Errorf("status %d", statuses[i])
			}
		}
	}
}

func TestNotes(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Easy(p)
	m := w.Maker("Maker")
	w.File(m, id)
	note := func(s string) optest.Res {
		return w.Do(wants.AddNote, optest.Req{Token: p.Token, Path: benchtest.On(id), Body: obj{"note": s}})
	}
	w.Advance(24 * time.Hour)
	r := note(" We are ten now. ").Want(200)
	if r.Str("notes.0.text") != "We are ten now." || r.Str("notes.0.at") != "2026-12-01T18:20:00Z" || r.Str("updated_at") != "2026-12-01T18:20:00Z" {
		t.Errorf("%s", r.Body)
	}
	note("").Refused(422, "invalid_field")
	note(strings.Repeat("x", 501)).Refused(422, "invalid_field")
	note("token = abcdefgh12345678").Refused(422, "wants must not contain secrets")
	note("bell\u0007").Refused(422, "invalid_field")
	note(strings.Repeat("x", 500)).Want(200)
	for range wants.MaxNotes - 2 {
		note("And another thing.").Want(200)
	}
	note("One more.").Refused(409, "too_many_notes")
	w.Run("bench", func(c *op.Call) error {
		b, _, err := wants.LoadBrief(c, id)
		if s := b.Show(wants.PersonFacts{}, true, nil).Want; !strings.HasPrefix(s, "A dinner table for nine people on Friday.\n\n[2026-12-01] We are ten now.\n\n[2026-12-01] xxx") {
			t.Errorf("the brief says %q", s)
		}
		return err
	})
	w.Do(wants.Close, optest.Req{Token: p.Token, Path: benchtest.On(id)}).Want(200)
	note("Too late.").Refused(409, "not_open")
}
