package peer

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"guildhall/pkg/op/optest"
)

func found(res optest.Res) (ids []string) {
	for _, key := range []string{"topics", "offers"} {
		list, _ := res.At(key).([]any)
		for _, t := range list {
			ids = append(ids, t.(map[string]any)["topic_id"].(string))
		}
	}
	return ids
}

func TestATermIsALiteralInAnyCase(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	id := v.publish(share(object{"title": `100% of _all_ "GRÜSSE" (a*b) \d`, "text": "Kelvin sign \u212a, final sigma Σς."}))
	for q, want := range map[string]int{"100%": 1, "0% o": 1, "%": 1, "_all_": 1, "grüsse": 1, `"gr`: 1, "a*b": 1, "a.b": 0, `\D`: 1, "sign k": 1, "σσ": 1, "grusse": 0, "  Kelvin\t": 1, "   ": 1, "gra": 0} {
		res := w.Do(Search, optest.Req{Query: url.Values{"q": {q}}}).Want(200)
		if len(found(res)) != want {
			t.Errorf("%q finds %d, want %d", q, len(found(res)), want)
		}
	}
	res := w.Do(Search, optest.Req{Query: url.Values{"q": {"S"}}}).Want(200)
	if res.Str("topics.0.topic_id") != id || fmt.Sprint(res.At("topics.0.matched_in")) != "[title text]" {
		t.Errorf("%s", res.Body)
	}
}

func TestFoldingPutsAllOfOneOrbitTogether(t *testing.T) {
	for r := rune(1); r < unicode.MaxRune; r++ {
		if least(r) != least(unicode.SimpleFold(r)) {
			t.Fatalf("%q and %q", r, unicode.SimpleFold(r))
		}
	}
}

func TestPagesCoverEveryTopicOnce(t *testing.T) {
	w := newWorld(t)
	w.crowd(1700)
	v := w.visitor()
	for _, q := range []string{"", "tag=all", "kind=ask", "q=tapes", "kind=share&confidence=claimed"} {
		seen, cursor, pages := map[string]bool{}, "", 0
		order := ""
		for {
			query := q + "&limit=50&view=compact"
			if cursor != "" {
				query += "&cursor=" + cursor
			}
			res := w.Do(Search, optest.Req{Query: values(t, query), Address: fmt.Sprint(q, pages)}).Want(200)
			for i, id := range found(res) {
				if seen[id] {
					t.Fatalf("%q: %s comes twice", q, id)
				}
				seen[id] = true
				at := res.Str(fmt.Sprintf("topics.%d.created_at", i))
				if order != "" && at > order {
					t.Fatalf("%q: %s behind %s", q, at, order)
				}
				order = at
			}
			if pages++; pages == 3 {
				v.publish(ask(object{"tags": []any{"all"}})) // arrives later and shifts nothing
				w.pass(time.Millisecond)
			}
			if cursor = res.Str("next_cursor"); cursor == "" {
				break
			}
		}
		want := map[string]int{"kind=ask": 567, "kind=share&confidence=claimed": 567}[q]
		if want == 0 {
			want = 1700
		}
		if len(seen) < want || len(seen) > want+4 { // what this test published meanwhile
			t.Errorf("%q: %d topics on %d pages, want %d", q, len(seen), pages, want)
		}
	}
}

func values(t testing.TB, query string) url.Values {
	v, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A page of a rare word may be empty and go on.
func TestAPageLooksAtFiveHundredTopics(t *testing.T) {
	w := newWorld(t)
	needle := w.visitor().publish(ask(object{"title": "Needle"}))
	w.pass(time.Minute)
	for i := range 100 {
		v := w.visitor()
		for n := range 6 {
			v.publish(share(object{"title": fmt.Sprint("Hay ", i, n)}))
		}
	}
	cursor, pages := "", 0
	for pages < 10 {
		res := w.anyone().get(Search, nil, "q=needle&cursor="+cursor)
		if cursor == "" {
			res = w.anyone().get(Search, nil, "q=needle")
		}
		res.Want(200)
		pages++
		if ids := found(res); len(ids) == 1 && ids[0] == needle {
			break
		}
		if cursor = res.Str("next_cursor"); cursor == "" {
			t.Fatal("the needle is not found")
		}
	}
	if pages != 2 {
		t.Errorf("found on page %d, want 2", pages)
	}
}

func TestFiltersIntersect(t *testing.T) {
	w := newWorld(t)
	a, b := w.visitor(), w.visitor()
	open, answered := a.publish(ask(object{"tags": []any{"x"}})), a.publish(ask(object{"tags": []any{"x", "y"}}))
	r := b.reply(answered, object{"text": "the marmot"}).Want(201).Str("reply_id")
	a.do(SelectAnswer, topicOf(answered), object{"selected_reply_id": r}).Want(200)
	f, note := a.publish(finding(object{"tags": []any{"x"}})), b.publish(share(object{"tags": []any{"x"}}))
	b.reply(f, repro(FailedRepro)).Want(201)
	b.reply(open, object{"text": "a Marmot, and another marmot"}).Want(201)
	o := b.publish(offer(w.details(time.Hour, "rust/linux", "go/macos"), object{"tags": []any{"x"}}))
	plain := b.publish(offer())
	for query, want := range map[string][]string{
		"tag=x": {open, answered, f, note, o}, "tag=y": {answered}, "tag=z": nil, "kind=ask": {open, answered}, "kind=offer": {o, plain}, "kind=share": {f, note},
		"kind=ask&status=open": {open}, "kind=ask&status=answered": {answered}, "kind=ask&unanswered=true": {open}, "kind=ask&unanswered=false": {open, answered},
		"kind=ask&unanswered=true&status=open": {open}, "finding=true": {f}, "finding=false&kind=share": {f, note}, "kind=share&finding=true": {f},
		"confidence=contradicted": {f}, "confidence=claimed": nil, "finding=true&confidence=contradicted&tag=x": {f},
		"kind=offer&capability=rust": {o}, "kind=offer&environment=macos": {o}, "kind=offer&capability=rust&environment=linux": {o},
		"kind=offer&capability=rust&environment=macos": nil, "kind=offer&available=true": {o}, "kind=offer&available=true&tag=x&capability=go": {o},
		"q=marmot": nil, "q=marmot&replies=true&kind=ask&unanswered=true": {open}, "q=tape&tag=x&kind=ask&status=answered": {answered},
		"q=tried&replies=true&confidence=contradicted": {f}, "q=tried&replies=true&finding=true": {f},
	} {
		got := found(w.anyone().get(Search, nil, query).Want(200))
		if strings.Join(sorted(got), " ") != strings.Join(sorted(want), " ") {
			t.Errorf("%s finds %v, want %v", query, got, want)
		}
	}
	res := w.anyone().get(Search, nil, "q=MARMOT&replies=true&kind=ask&unanswered=true").Want(200)
	if fmt.Sprint(res.At("topics.0.matched_in")) != "[reply]" || len(res.At("topics.0.matched_reply_ids").([]any)) != 1 {
		t.Errorf("%s", res.Body)
	}
}

func sorted(list []string) []string {
	out := append([]string(nil), list...)
	for i := range out {
		for j := i; j > 0 && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

func TestFiltersThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for query, code := range map[string]string{
		"status=open": "filter_requires_kind", "status=open&kind=share": "filter_requires_kind", "unanswered=true": "filter_requires_kind", "unanswered=true&kind=offer": "filter_requires_kind",
		"capability=go": "filter_requires_kind", "environment=linux&kind=ask": "filter_requires_kind", "available=true": "filter_requires_kind", "available=true&kind=share": "filter_requires_kind",
		"finding=true&kind=ask": "incompatible_filters", "confidence=claimed&kind=offer": "incompatible_filters", "kind=ask&unanswered=true&status=answered": "incompatible_filters",
		"replies=true": "replies_needs_filter", "replies=true&q=a": "replies_needs_filter", "replies=true&q=a&kind=ask&status=open": "replies_needs_filter",
		"replies=true&confidence=claimed": "replies_needs_filter", "replies=true&q=+&finding=true": "replies_needs_filter",
		"kind=poll": "invalid_field", "status=closed&kind=ask": "invalid_field", "confidence=sure": "invalid_field", "view=wide": "invalid_field", "limit=0": "invalid_field",
		"limit=51": "invalid_field", "limit=x": "invalid_field", "available=false&kind=offer": "invalid_field", "tag=Rust": "field_pattern", "capability=a_b&kind=offer": "field_pattern",
		"colour=red": "unknown_field", "tag=a&tag=b": "invalid_field", "q=" + long(129): "q_too_long", "cursor=x": "invalid_cursor", "cursor=" + long(513): "field_bytes",
	} {
		if res := w.anyone().get(Search, nil, query); res.Status != 422 || res.Str("error") != code {
			t.Errorf("%s: %d %s, want %s", query, res.Status, res.Body, code)
		}
	}
	res := w.Do(Search, optest.Req{Query: url.Values{}})
	res.Want(200)
}

func TestReplySearchReadsTwentyTopicsAPage(t *testing.T) {
	w := newWorld(t)
	a, b := w.visitor(), w.visitor()
	for i := range 24 {
		f := a.publish(finding(object{"title": fmt.Sprint("F ", i)}))
		b.reply(f, object{"text": "the marmot"}).Want(201)
		if i%5 == 4 {
			w.pass(6 * time.Hour)
		}
	}
	one := w.anyone().get(Search, nil, "q=marmot&replies=true&finding=true&limit=50").Want(200)
	if len(found(one)) != 20 || one.Str("next_cursor") == "" {
		t.Errorf("%d found", len(found(one)))
	}
	two := w.anyone().get(Search, nil, "q=marmot&replies=true&finding=true&limit=50&cursor="+one.Str("next_cursor")).Want(200)
	if len(found(two)) != 4 || two.Str("next_cursor") != "" {
		t.Errorf("%d found", len(found(two)))
	}
}

func TestTheShortlist(t *testing.T) {
	w := newWorld(t)
	a, b := w.visitor(), w.visitor()
	tag := object{"tags": []any{"x"}}
	short := func(query string) optest.Res { return w.anyone().get(FindUnfinished, nil, query).Want(200) }
	open := a.publish(ask(tag))
	claimed := a.publish(finding(tag))
	wish := a.publish(share(tag, object{"help_request": "Somebody look."}))
	a.publish(share(tag))
	b.publish(offer(tag))
	for query, want := range map[string][]string{"tag=x": {open, claimed, wish}, "tag=x&need=answer": {open}, "tag=x&need=reproduce": {claimed}, "tag=x&need=investigate": {wish},
		"tag=x&q=nothing": nil, "q=tape&tag=x&need=any": {open, claimed, wish}, "tag=x&limit=1&need=answer": {open}} {
		if got := found(short(query)); strings.Join(sorted(got), " ") != strings.Join(sorted(want), " ") {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	b.reply(claimed, repro(FailedRepro)).Want(201)
	if got := short("tag=x&need=investigate"); len(found(got)) != 2 || len(found(short("tag=x&need=reproduce"))) != 0 {
		t.Errorf("%s", got.Body)
	}
	r := b.reply(open, object{"text": "t"}).Want(201).Str("reply_id")
	a.do(SelectAnswer, topicOf(open), object{"selected_reply_id": r}).Want(200)
	if len(found(short("tag=x&need=answer"))) != 0 {
		t.Error("an answered ask is unfinished")
	}
	w.pass(time.Hour)
	_, helper, topic, _ := w.working(time.Hour)
	_ = helper
	if len(found(short("q=tape&need=answer"))) != 1 {
		t.Error("a handoff that goes on is not unfinished")
	}
	w.pass(time.Hour) // its deadline ends it
	if got := short("q=tape&need=answer"); len(found(got)) != 0 {
		t.Errorf("%s lists %s", got.Body, topic)
	}
	late := a.publish(ask(tag))
	w.pass(TopicLife - minLife)
	if len(found(short("tag=x&need=answer"))) != 1 {
		t.Errorf("%s has an hour left", late)
	}
	w.pass(time.Millisecond)
	if got := short("tag=x&need=answer"); len(found(got)) != 0 || got.At("selection_limited") != false {
		t.Errorf("%s", got.Body)
	}
}

func TestAScopeOfMoreThanAThousandLimitsTheSelection(t *testing.T) {
	w := newWorld(t)
	w.crowd(1000)
	if res := w.anyone().get(FindUnfinished, nil, "tag=all&q=nowhere").Want(200); res.At("selection_limited") != false {
		t.Errorf("%s", res.Body)
	}
	w.visitor().publish(ask(object{"tags": []any{"all"}}))
	if res := w.anyone().get(FindUnfinished, nil, "tag=all&q=nowhere").Want(200); res.At("selection_limited") != true {
		t.Errorf("%s", res.Body)
	}
	if res := w.anyone().get(FindUnfinished, nil, "tag=some&q=nowhere").Want(200); res.At("selection_limited") != false {
		t.Errorf("%s", res.Body)
	}
}

func TestExcerptsAreCutBetweenCharacters(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	v.publish(ask(object{"text": strings.Repeat("世", 200), "tags": []any{"x"}}))
	got := w.anyone().get(FindUnfinished, nil, "tag=x").Want(200).Str("topics.0.excerpt")
	if got != strings.Repeat("世", 93) {
		t.Errorf("%d bytes", len(got))
	}
}
