package wants_test

import (
	"fmt"
	"strings"
	"testing"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op/optest"
)

func TestAPostingAnswersWhatIsFrozen(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	w.steward().set("booking_on_calendar", "paid", 0.6)
	r := w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.Posting()}).Want(201)
	for path, want := range map[string]any{"round": 1.0, "status": "open", "frozen_probability": 0.6, "posted_at": "2026-11-30T18:20:00Z"} {
		if got := r.At(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if free := w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.With(benchtest.Posting(), "lane", obj{"kind": "free"})}).Want(201); free.At("frozen_probability") != nil {
		t.Errorf("a class without an estimate is unbanded: %s", free.Body)
	}
	w.steward().set("booking_on_calendar", "paid", 0.1)
	if got := w.Do(wants.Read, optest.Req{Token: p.Token, Path: benchtest.On(r.Str("target_id"))}).At("frozen_probability"); got != 0.6 {
		t.Errorf("a frozen estimate moved to %v", got)
	}
}

func TestDefaultsOfAPosting(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	m := w.Do(wants.Read, optest.Req{Token: p.Token, Path: benchtest.On(w.Post(p, benchtest.Posting()))}).Want(200)
	for path, want := range map[string]any{"publish_answers": true, "auto_repost": true, "strategy.polish": 50.0, "strategy.risk": 50.0,
		"strategy.novelty": 50.0, "timeline_days": nil, "tip_invited": false, "location": "", "state": "open", "editable": true, "bid_count": 0.0,
		"finalist_count": 0.0, "deal_id": nil, "target_usage_bytes": 0.0, "target_budget_bytes": float64(100 << 20)} {
		if got := m.At(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for _, list := range []string{"notes", "baseline", "attachments", "deal_ids", "prior_attempts", "past_attempts"} {
		if l, ok := m.At(list).([]any); !ok || len(l) != 0 {
			t.Errorf("%s is %v, want an empty list", list, m.At(list))
		}
	}
	skipped := w.Do(wants.Read, optest.Req{Token: p.Token, Path: benchtest.On(w.Post(p, benchtest.With(benchtest.Posting(), "baseline", []obj{{"question": "Who?", "answer": "  "}, {"question": "Where?", "answer": "Here"}})))})
	if skipped.Str("baseline.0.answer") != "Skipped" || skipped.Str("baseline.1.answer") != "Here" {
		t.Errorf("baseline: %v", skipped.At("baseline"))
	}
	off := w.Do(wants.Read, optest.Req{Token: p.Token, Path: benchtest.On(w.Post(p, benchtest.With(benchtest.With(benchtest.With(benchtest.Posting(), "publish_answers", false), "auto_repost", false), "strategy", obj{"polish": 0, "risk": 100, "novelty": 7})))})
	if off.At("publish_answers") != false || off.At("auto_repost") != false || off.Num("strategy.risk") != 100 {
		t.Errorf("%s", off.Body)
	}
}

func TestRefusalsOfAPosting(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	long := func(n int) string { return strings.Repeat("é", n) }
	cards := func(n int) []obj {
		var out []obj
		for i := range n {
			out = append(out, obj{"question": fmt.Sprint("Question ", i), "answer": "yes"})
		}
		return out
	}
	cases := []struct {
		name, path string
		value      any
		code       string // "" is taken
	}{
		{"9 characters", "want", "  " + long(9) + "  ", "want_too_short"},
		{"10 characters", "want", long(10), ""},
		{"10 composed of 20", "want", strings.Repeat("e\u0301", 10), ""},
		{"9 composed of 18", "want", strings.Repeat("e\u0301", 9), "want_too_short"},
		{"500 emoji", "want", strings.Repeat("🍽", 500), ""},
		{"501", "want", long(501), "want_too_long"},
		{"a NUL", "want", "A table for\u0000 nine people", "want_has_control_characters"},
		{"newline and tab", "want", "A table\n\tfor nine people", ""},
		{"right to left", "want", "שולחן לתשעה אנשים ביום שישי", ""},
		{"a key in it", "want", "Use my key AKIAIOSFODNN7EXAMPLE for it", "wants must not contain secrets"},
		{"a password in it", "want", "Book it, password: hunter2hunter2", "wants must not contain secrets"},
		{"no want", "want", nil, "want_too_short"},
		{"want is a number", "want", 12345678901, "invalid_field"},
		{"no finish line", "finish_line", nil, "missing_field"},
		{"an unknown tile", "finish_line", obj{"tile": "a_castle", "sentence": "x"}, "invalid_field"},
		{"200 of a sentence", "finish_line.sentence", long(200), ""},
		{"201 of a sentence", "finish_line.sentence", long(201), "invalid_field"},
		{"something else without a sentence", "finish_line", obj{"tile": "something_else", "sentence": " "}, "finish_line_sentence_required"},
		{"something else", "finish_line", obj{"tile": "something_else", "sentence": "A letter"}, ""},
		{"no lane", "lane", nil, "missing_field"},
		{"an unknown lane", "lane", obj{"kind": "gift"}, "invalid_field"},
		{"free with 0", "lane", obj{"kind": "free", "ceiling_cents": 0}, ""},
		{"free with money", "lane", obj{"kind": "free", "ceiling_cents": 100}, "lane_invalid"},
		{"paid without", "lane", obj{"kind": "paid"}, "lane_invalid"},
		{"paid 99 cents", "lane", obj{"kind": "paid", "ceiling_cents": 99}, "lane_invalid"},
		{"paid 1 dollar", "lane", obj{"kind": "paid", "ceiling_cents": 100}, ""},
		{"paid half dollars", "lane", obj{"kind": "paid", "ceiling_cents": 150}, "lane_invalid"},
		{"paid 50,000", "lane", obj{"kind": "paid", "ceiling_cents": 5_000_000}, ""},
		{"paid 50,001", "lane", obj{"kind": "paid", "ceiling_cents": 5_000_100}, "lane_invalid"},
		{"paid minus", "lane", obj{"kind": "paid", "ceiling_cents": -100}, "lane_invalid"},
		{"paid in floats", "lane", `{"kind":"paid","ceiling_cents":100.0}`, "invalid_field"},
		{"open with a ceiling", "lane", obj{"kind": "open", "ceiling_cents": 100}, "lane_invalid"},
		{"open", "lane", obj{"kind": "open", "ceiling_cents": nil}, ""},
		{"0 days", "timeline_days", 0, "invalid_field"},
		{"1 day", "timeline_days", 1, ""},
		{"365 days", "timeline_days", 365, ""},
		{"366 days", "timeline_days", 366, "invalid_field"},
		{"5 cards", "baseline", cards(5), ""},
		{"6 cards", "baseline", cards(6), "invalid_field"},
		{"500 of an answer", "baseline", []obj{{"question": "q", "answer": long(500)}}, ""},
		{"501 of an answer", "baseline", []obj{{"question": "q", "answer": long(501)}}, "invalid_field"},
		{"a bell in an answer", "baseline", []obj{{"question": "q", "answer": "a\u0007"}}, "invalid_field"},
		{"120 of a location", "location", long(120), ""},
		{"121 of a location", "location", long(121), "invalid_field"},
		{"control in a location", "location", "Here\u0001", "invalid_field"},
		{"500 of a note", "strategy_note", long(500), ""},
		{"501 of a note", "strategy_note", long(501), "invalid_field"},
		{"a slider of 100", "strategy", obj{"polish": 100, "risk": 0, "novelty": 0}, ""},
		{"a slider of 101", "strategy", obj{"polish": 101, "risk": 0, "novelty": 0}, "invalid_field"},
		{"a slider of -1", "strategy", obj{"polish": 0, "risk": -1, "novelty": 0}, "invalid_field"},
		{"two sliders", "strategy", obj{"polish": 0, "risk": 1}, "missing_field"},
		{"no sliders", "strategy", nil, ""},
		{"a secret elsewhere is the person's", "strategy_note", "password: hunter2hunter2", ""},
		{"an unknown field", "odds", 1, "unknown_field"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := c.value
			if s, ok := v.(string); ok && strings.HasPrefix(s, "{") {
				v = jsonRaw(s)
			}
			r := w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.With(benchtest.Posting(), c.path, v)})
			if c.code == "" {
				r.Want(201)
				return
			}
			r.Refused(422, c.code)
		})
	}
}

func TestOrderOfTwoFaultsInAPosting(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	both := benchtest.With(benchtest.With(benchtest.Posting(), "want", "short"), "lane", obj{"kind": "paid"})
	w.Do(wants.Post, optest.Req{Token: p.Token, Body: both}).Refused(422, "want_too_short")
	w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.With(both, "odds", 1)}).Refused(422, "unknown_field")
	w.Do(wants.Post, optest.Req{Token: p.Token, Key: "-", Body: both}).Refused(400, "idempotency_key_required")
	w.Do(wants.Post, optest.Req{Token: "gh_person_nobody", Key: "-", Body: both}).Refused(401, "unauthorized")
	w.Do(wants.Post, optest.Req{Token: p.Token, Body: `{"want":`}).Refused(400, "invalid_json")
	w.Do(wants.Post, optest.Req{Token: p.Token, Body: `{"want":"x","want":"y"}`}).Refused(400, "invalid_json")
	w.Do(wants.Post, optest.Req{Token: p.Token, Type: "text/plain", Body: both}).Refused(415, "unsupported_media_type")
}

func TestAPostingWarnsOfWhatSaysWhoOneIs(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	r := w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.With(benchtest.With(benchtest.Posting(), "want", "A table, write to ada@example.com or call (415) 555-0100"), "location", "12 Long Street")}).Want(201)
	if got := fmt.Sprint(r.At("warnings")); got != "[email address street address]" {
		t.Errorf("warnings: %s", got)
	}
	if got := w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.Posting()}).Want(201); fmt.Sprint(got.At("warnings")) != "[]" {
		t.Errorf("%s", got.Body)
	}
}

func TestAPostingCostsOneReadAndOneCommit(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	before := w.Store.Stats()
	w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.Posting()}).Want(201)
	if s := w.Store.Stats().Since(before); s.Gets != 1 || s.Queries != 0 || s.Commits != 1 {
		t.Errorf("%+v", s)
	}
}

func TestAReplayedPostingIsTheSameWant(t *testing.T) {
	w := newWorld(t)
	p, other := w.Poster("ada"), w.Poster("bob")
	first := w.Do(wants.Post, optest.Req{Token: p.Token, Key: "k", Body: benchtest.Posting()}).Want(201)
	again := w.Do(wants.Post, optest.Req{Token: p.Token, Key: "k", Body: benchtest.Posting()}).Want(201)
	if !again.Replayed || string(first.Body) != string(again.Body) {
		t.Errorf("%s and %s", first.Body, again.Body)
	}
	w.Do(wants.Post, optest.Req{Token: p.Token, Key: "k", Body: benchtest.With(benchtest.Posting(), "tip_invited", true)}).Refused(409, "idempotency_conflict")
	if r := w.Do(wants.Post, optest.Req{Token: other.Token, Key: "k", Body: benchtest.Posting()}).Want(201); r.Str("target_id") == first.Str("target_id") {
		t.Error("a key is its caller's own")
	}
}

func TestAWantIsItsPersonsAlone(t *testing.T) {
	w := newWorld(t)
	p, other := w.Poster("ada"), w.Poster("bob")
	id := w.Post(p, benchtest.Posting())
	calls := map[string]func(path map[string]string) optest.Res{
		"read": func(at map[string]string) optest.Res {
			return w.Do(wants.Read, optest.Req{Token: other.Token, Path: at})
		},
		"edit": func(at map[string]string) optest.Res {
			return w.Do(wants.Edit, optest.Req{Token: other.Token, Path: at, Body: obj{"location": "x"}})
		},
		"note": func(at map[string]string) optest.Res {
			return w.Do(wants.AddNote, optest.Req{Token: other.Token, Path: at, Body: obj{"note": "x"}})
		},
		"close": func(at map[string]string) optest.Res {
			return w.Do(wants.Close, optest.Req{Token: other.Token, Path: at})
		},
		"repost": func(at map[string]string) optest.Res {
			return w.Do(wants.Repost, optest.Req{Token: other.Token, Path: at})
		},
		"attach": func(at map[string]string) optest.Res { return w.attach(other, at["target_id"], "a.png", png(10)) },
	}
	for name, call := range calls {
		mine, none := call(benchtest.On(id)), call(benchtest.On("00000000-0000-4000-8000-000000000000"))
		if string(mine.Body) != `{"ok":false,"error":"not found"}` || string(mine.Body) != string(none.Body) || mine.Status != 404 || none.Status != 404 {
			t.Errorf("%s: %s and %s", name, mine.Body, none.Body)
		}
	}
	if l := w.Do(wants.List, optest.Req{Token: other.Token}).Want(200); len(l.At("wants").([]any)) != 0 {
		t.Errorf("%s", l.Body)
	}
}

func TestTheListOfWantsPages(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	var ids []string
	for i := range 7 {
		ids = append(ids, w.Post(p, benchtest.With(benchtest.Posting(), "want", fmt.Sprintf("Want number %d, please.", i))))
		w.Advance(1e9)
	}
	var got []string
	after := ""
	for page := 0; ; page++ {
		r := w.Do(wants.List, optest.Req{Token: p.Token, Query: query("limit", "3", "after", after)}).Want(200)
		for _, m := range r.At("wants").([]any) {
			got = append(got, m.(obj)["target_id"].(string))
		}
		if after = r.Str("next_cursor"); after == "" {
			break
		}
	}
	if len(got) != 7 || got[0] != ids[6] || got[6] != ids[0] {
		t.Errorf("%v, posted %v", got, ids)
	}
	w.Do(wants.List, optest.Req{Token: p.Token, Query: query("after", "nonsense")}).Refused(422, "cursor_invalid")
	first := w.Do(wants.List, optest.Req{Token: p.Token, Query: query("limit", "3")})
	w.Do(wants.List, optest.Req{Token: w.Poster("bob").Token, Query: query("after", first.Str("next_cursor"))}).Refused(422, "cursor_invalid")
	w.Do(wants.List, optest.Req{Token: p.Token, Query: query("limit", "101")}).Refused(422, "invalid_field")
}

func TestTheHouseRidesThePosting(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	w.Do(account.Update, optest.Req{Token: p.Token, Body: obj{"house": obj{"house": "Willow", "value": "care", "value_description": "We look after each other."}}}).Want(200)
	id := w.Post(p, benchtest.Posting())
	w.Do(account.Update, optest.Req{Token: p.Token, Body: obj{"house": nil}}).Want(200)
	if h := w.Want(id).House; h == nil || h.House != "Willow" {
		t.Errorf("%+v", h)
	}
}

func TestSixHundredWritesAnHour(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	for range 600 {
		w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.Posting()}).Want(201)
	}
	w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.Posting()}).Refused(429, "rate_limited")
	w.Advance(3600 * 1e9)
	w.Do(wants.Post, optest.Req{Token: p.Token, Body: benchtest.Posting()}).Want(201)
}
