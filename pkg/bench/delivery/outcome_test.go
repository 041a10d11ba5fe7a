package delivery_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

// choosing is a step with two tiles.
func choosing(title string) fields {
	s := asking(title, "CHOOSE", "single_choice")
	s["har_blocks"].([]fields)[0]["config"] = fields{"options": []fields{{"id": "a", "label": "North Hall"}, {"id": "b", "label": "River Room"}}}
	return s
}

// reviewed is a plan of three steps, the first of which is reviewed twice at most.
func reviewed() []fields {
	s := asking("Draft the album", "APPROVE", "review_approve")
	s["rounds"] = 2
	return []fields{s, asking("See the album", "APPROVE", "review_approve"), asking("Keep the album", "APPROVE", "review_approve")}
}

// pulses goes through every checkpoint.
func (d *parties) pulses() {
	d.t.Helper()
	for _, p := range path.Checkpoints {
		d.Do(deals.CheckIn, optest.Req{Token: d.agent, Path: d.at(""), Body: fields{"changed": "no change", "now": "Working.", "next": "More.", "progress_percent": p}}).Want(201)
	}
}

// outcome files JSON.
func (d *parties) outcome(body fields, key ...string) optest.Res {
	d.t.Helper()
	r := optest.Req{Token: d.agent, Path: d.at(""), Body: body}
	if len(key) > 0 {
		r.Key = key[0]
	}
	return d.declared(d.Do(delivery.File, r))
}

// declared holds a refusal against the declaration of the outcome door.
func (d *parties) declared(res optest.Res) optest.Res {
	d.t.Helper()
	common := []string{"not found", "unauthorized", "invalid_json", "unsupported_media_type", "idempotency_key_required", "idempotency_conflict", "unknown_field",
		"invalid_field", "missing_field", "body_too_large", "rate_limited", "busy", "unavailable"}
	if code := res.Str("error"); res.Status >= 400 && !slices.Contains(common, code) && !slices.Contains(delivery.File.Faults, code) {
		d.t.Errorf("the outcome door answers %q, which it does not declare", code)
	}
	return res
}

func doc(blocks ...fields) fields { return fields{"title": "The album", "blocks": blocks} }

func para(s string) fields { return fields{"type": "paragraph", "text": s} }

func sumOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// TestTheDoorRefusesInItsOrder: each filing has the fault it is named after and every later
// one that fits beside it.
func TestTheDoorRefusesInItsOrder(t *testing.T) {
	long, secret := strings.Repeat("x", delivery.MaxNote+1), "password: hunter2hunter2"
	d := newShelf(t).deal(reviewed()...)
	stranger, token := d.maker()
	_ = stranger
	res := d.Do(delivery.File, optest.Req{Token: token, Path: d.at(""), Body: fields{"note": long, "text": "x", "step_ref": "9"}})
	res.Refused(404, "not found")
	unfinished := []struct {
		code string
		body fields
	}{
		{"one_ball_violation", fields{"step_ref": "3", "note": long, "url": "http://x"}},
		{"progress_not_100", fields{"note": long, "text": "x", "url": "http://x"}},
	}
	for _, c := range unfinished {
		d.outcome(c.body).Refused(422, c.code)
	}
	d.pulses()
	for _, c := range []struct {
		code string
		body fields
	}{
		{"one_ball_violation", fields{"step_ref": "3", "note": ""}},
		{"note_required", fields{"note": "  ", "text": "x", "url": "http://x"}},
		{"note_too_long", fields{"note": long, "text": "x", "url": "http://x"}},
		{"one_form_only", fields{"note": secret, "text": "https://x.example/a", "document": fields{}}},
		{"hold_not_taken", fields{"hold": true, "text": "x"}},
		{"note_not_taken", fields{"hold": true, "note": "x", "text": "x"}},
		{"document_required", fields{"note": secret, "text": strings.Repeat("x", 3001)}},
		{"document_required", fields{"note": secret}},
		{"link_in_outcome_text", fields{"note": secret, "document": doc(para("see https://x.example/a"), fields{"type": "poem"})}},
		{"document_invalid", fields{"note": secret, "document": doc(fields{"type": "poem"})}},
		{"document_invalid", fields{"note": secret, "document": "x"}},
		{"options_are_the_delivery", fields{"note": secret, "blocks": []fields{{"type": "NOTE"}}}},
		{"options_invalid", fields{"note": secret, "document": doc(para("x")), "options": []fields{}}},
		{"outcome_secret", fields{"note": secret, "url": "http://x"}},
		{"outcome_off_platform_payment", fields{"note": "Pay me directly by Venmo.", "url": "http://x"}},
		{"outcome_credential_request", fields{"note": "Please send me your password now.", "url": "http://x"}},
		{"link_in_outcome_text", fields{"note": "See https://x.example/a", "url": "http://x"}},
		{"link_rejected", fields{"note": "Here.", "url": "http://example.com/a"}},
		{"invalid_field", fields{"note": long, "url": "http://x", "kind": "page"}},
	} {
		d.outcome(c.body).Refused(422, c.code)
	}
	if s := d.current(); s.At("current_step.outcomes.0") != nil || s.Str("current_step.state") != path.Working {
		t.Errorf("a refusal left something behind: %s", s.Body)
	}
	d.outcome(fields{"note": "Here.", "document": doc(para("It is done."))}).Want(201)
	d.outcome(fields{"note": long, "text": "x", "step_ref": "9"}).Refused(422, "out_of_turn_filing")
}

func TestTextsAreForStepsThatAreNoReview(t *testing.T) {
	d := newShelf(t).deal(usual()...)
	d.pulses()
	for _, c := range []struct {
		status int
		code   string
		body   fields
	}{
		{413, "body_too_large", fields{"note": "x", "text": strings.Repeat("é", delivery.MaxOutcomeBytes/2+1)}},
		{422, "outcome_text_too_long", fields{"note": "x", "text": strings.Repeat("https://x.example/a ", 151)}},
		{422, "outcome_text_too_long", fields{"note": "x", "text": strings.Repeat("x", delivery.MaxOutcomeText+1)}},
		{422, "link_in_outcome_text", fields{"note": "x", "text": "password: hunter2hunter2 at https://x.example/a"}},
		{422, "outcome_secret", fields{"note": "x", "text": "password: hunter2hunter2"}},
		{422, "invalid_field", fields{"note": "x", "text": " \n "}},
		{422, "options_are_the_delivery", fields{"note": "x", "blocks": []fields{{"type": "NOTE", "text": "x"}}}},
	} {
		d.outcome(c.body).Refused(c.status, c.code)
	}
	words := strings.Repeat("x", delivery.MaxOutcomeText)
	r := d.outcome(fields{"note": "Send these.", "text": words, "step_ref": "Send photos"}).Want(201)
	if r.Str("kind") != deals.KindText || r.Str("sha256") != sumOf(words) || r.Num("size_bytes") != float64(len(words)) || r.Num("version") != 1 || r.Str("state") != path.Waiting {
		t.Errorf("%s", r.Body)
	}
	if s := d.step("2"); s.Str("cards.0.outcome.text") != words || s.Str("note") != "Send these." {
		t.Errorf("%s", s.Body)
	}
}

// TestANoteAloneHandsOver on every ask, a review only when the step carries items.
func TestANoteAloneHandsOver(t *testing.T) {
	d := newShelf(t).deal(choosing("Pick a hall"), asking("Send photos", "PROVIDE", "file_upload"), asking("See the album", "APPROVE", "review_approve"))
	for _, verdict := range []any{[]any{"responses", []fields{{"block_number": 1, "value": fields{"choice": "a"}}}}, []any{}} {
		d.pulses()
		r := d.outcome(fields{"note": "Your turn."}).Want(201)
		if r.Str("kind") != deals.KindNote || r.Str("sha256") != sumOf("Your turn.") || r.Num("size_bytes") != 10 {
			t.Errorf("%s", r.Body)
		}
		d.answer(fmt.Sprint(d.stepNumber()), "approve", verdict.([]any)...).Want(200)
	}
	d.pulses()
	d.outcome(fields{"note": "Look at it."}).Refused(422, "document_required")
	d.outcome(fields{"hold": true, "url": "https://example.com/album"}).Want(201)
	d.outcome(fields{"note": "Look at it."}).Want(201)
}

func (d *parties) stepNumber() int {
	d.t.Helper()
	return int(d.current().Num("current_step.step_number"))
}

func TestTheTilesAreTheDelivery(t *testing.T) {
	w := newShelf(t)
	file := func(body fields) optest.Res {
		t.Helper()
		d := w.deal(append([]fields{choosing("Pick a hall")}, reviewed()[1:]...)...)
		d.pulses()
		body["note"] = "Three halls."
		r := d.outcome(body)
		if r.Status == 201 {
			r.JSON["step"] = d.step("2").JSON
		}
		return r
	}
	tile := func(label string) fields { return fields{"label": label, "detail": "Seats nine."} }
	for name, body := range map[string]fields{
		"two blocks":          {"blocks": []fields{{"type": "NOTE", "text": "a"}, {"type": "NOTE", "text": "b"}}},
		"no block":            {"blocks": []fields{}},
		"a table of facts":    {"blocks": []fields{{"type": "KEY_FACTS"}}},
		"a restated document": {"document": doc(para("NORTH  hall is large, the river\nroom is small."))},
	} {
		if r := file(body).Refused(422, "options_are_the_delivery"); r.Str("rej") != "REJ-27" {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	file(fields{"document": doc(para("North Hall has a stage."))}).Want(201) // names one option
	file(fields{"text": "North Hall and River Room."}).Want(201)             // only documents restate
	file(fields{"url": "https://example.com/halls"}).Want(201)
	r := file(fields{"blocks": []fields{{"type": "NOTE", "text": "The first is free on Friday."}}}).Want(201)
	if r.Str("kind") != deals.KindNote || r.Str("sha256") != sumOf("The first is free on Friday.") || r.Str("step.cards.0.outcome.text") != "The first is free on Friday." {
		t.Errorf("%s", r.Body)
	}
	for name, body := range map[string]fields{
		"one option":        {"options": []fields{tile("A")}},
		"ten options":       {"options": slices.Repeat([]fields{tile("A")}, 10)},
		"a label twice":     {"options": []fields{tile("A"), tile("A")}},
		"no label":          {"options": []fields{tile("A"), tile(" ")}},
		"no list":           {"options": fields{}},
		"a field misnamed":  {"options": []fields{tile("A"), {"label": "B", "details": "110 dollars"}}},
		"with a document":   {"options": []fields{tile("A"), tile("B")}, "document": doc(para("x"))},
		"with a link":       {"options": []fields{tile("A"), tile("B")}, "url": "https://example.com/"},
		"a thumbnail":       {"options": []fields{tile("A"), {"label": "B", "thumbnail_url": "http://example.com/a.png"}}},
		"a short thumbnail": {"options": []fields{tile("A"), {"label": "B", "thumbnail_url": "https://bit.ly/a"}}},
	} {
		r := file(body)
		if r.Status != 422 || r.Str("error") != "options_invalid" {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	file(fields{"options": []fields{tile("A"), tile("password: hunter2hunter2")}}).Refused(422, "outcome_secret")
	r = file(fields{"options": []fields{tile("Old Mill"), tile("New Mill"), {"label": "Third", "thumbnail_url": "https://example.com/a.png"}}}).Want(201)
	if r.Str("step.har_blocks.0.config.options.0.label") != "Old Mill" || r.Str("step.cards.0.outcome.options.2.label") != "Third" {
		t.Errorf("the tiles of this round: %s", r.Body)
	}
}

// TestAControlForSeveralNeedsAsManyTiles as its bid did (REJ-25).
func TestAControlForSeveralNeedsAsManyTiles(t *testing.T) {
	many := asking("Pick halls", "CHOOSE", "multiple_choice")
	many["har_blocks"].([]fields)[0]["config"] = fields{"options": []fields{{"label": "A"}, {"label": "B"}, {"label": "C"}}}
	d := newShelf(t).deal(append([]fields{many}, reviewed()[1:]...)...)
	d.pulses()
	tiles := []fields{{"label": "One"}, {"label": "Two"}, {"label": "Three"}}
	d.outcome(fields{"note": "x", "options": tiles[:2]}).Refused(422, "options_invalid")
	d.outcome(fields{"note": "x", "options": tiles}).Want(201)
}

// TestAFilingThatIsNotCommittedLeavesNothing: the store fails at the commit.
func TestAFilingThatIsNotCommittedLeavesNothing(t *testing.T) {
	var f *faulty.Store
	w := newShelf(t, optest.WithStore(func(s table.Store) table.Store { f = faulty.Wrap(s); return f }))
	d := w.deal(reviewed()...)
	body, typ := form("a.png", png(9))
	conflict := func() {
		t.Helper()
		if _, err := f.Inject(faulty.Fault{Mode: faulty.Conflict, Times: 6}); err != nil { // as often as the engine tries
			t.Fatal(err)
		}
	}
	conflict()
	if r := d.bring(delivery.FileArtifact, body, typ); r.Status != 503 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	conflict()
	if r := d.outcome(fields{"hold": true, "url": tunnel}); r.Status != 503 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if q := w.cases(w.desk()); q.At("cases.0") != nil {
		t.Errorf("%s", q.Body)
	}
	if c := d.current(); c.At("current_step.outcomes.0") != nil || d.used() != 0 {
		t.Errorf("%d bytes are used: %s", d.used(), c.Body)
	}
	d.outcome(fields{"hold": true, "url": tunnel}).Refused(422, "link_held")
}

// TestEachRoundIsAVersion: what was filed stays, and the newest hand-over says what changed.
func TestEachRoundIsAVersion(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	d.pulses()
	d.outcome(fields{"hold": true, "url": "https://example.com/a"}).Want(201)
	d.outcome(fields{"note": "First.", "document": doc(para("One."))}).Want(201)
	d.answer("2", "request_changes", "reason", "Brighter.").Want(200)
	d.pulses()
	d.outcome(fields{"hold": true, "url": "https://example.com/b"}).Want(201)
	if r := d.outcome(fields{"note": "Brighter now."}).Want(201); r.Num("version") != 2 {
		t.Errorf("%s", r.Body)
	}
	s := d.step("2")
	var got []string
	for i := range 4 {
		o := fmt.Sprintf("cards.%d.outcome.", i)
		got = append(got, fmt.Sprintf("%s %v %v", s.Str(o+"kind"), s.Num(o+"version"), s.At(o+"item")))
	}
	want := []string{"link 1 true", "document 1 false", "link 2 true", "note 2 false"}
	if !slices.Equal(got, want) || s.Str("note") != "Brighter now." {
		t.Errorf("the cards are %v: %s", got, s.Body)
	}
	if c := d.current(); c.Num("current_step.outcomes.3.version") != 2 {
		t.Errorf("%s", c.Body)
	}
}

func TestItemsOfAStepAreBounded(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	before := d.current().Num("agent_time_seconds")
	for i := range delivery.MaxItems {
		r := d.outcome(fields{"hold": true, "url": fmt.Sprint("https://example.com/", i)}).Want(201)
		if r.Str("state") != path.Working || r.At("held") != true {
			t.Fatalf("%s", r.Body)
		}
	}
	d.outcome(fields{"hold": true, "url": "https://example.com/x"}).Refused(422, "too_many_items")
	d.attach("a.png", png(9)).Refused(422, "too_many_items")
	if c := d.current(); c.Num("agent_time_seconds") < before || c.Str("current_step.state") != path.Working || c.At("current_step.waiting_since") != nil {
		t.Errorf("an item opens nothing: %s", c.Body)
	}
	d.pulses()
	d.outcome(fields{"note": "All of them."}).Want(201)
	d.answer("2", "request_changes", "reason", "More.").Want(200)
	d.outcome(fields{"hold": true, "url": "https://example.com/y"}).Want(201) // each hand-over counts for itself
}

func TestDocumentsOfEveryBlock(t *testing.T) {
	w := newShelf(t)
	d, other := w.deal(reviewed()...), w.deal(reviewed()...)
	d.pulses()
	image := d.image("a.png", png(20)).Want(201).Str("file_id")
	foreign := other.image("a.png", png(20)).Want(201).Str("file_id")
	bad := func(b ...fields) {
		t.Helper()
		d.outcome(fields{"note": "x", "document": doc(b...)}).Refused(422, "document_invalid")
	}
	bad()
	bad(slices.Repeat([]fields{para("x")}, delivery.MaxDocumentBlocks+1)...)
	bad(para(""))
	// what would be dropped is refused, so that nothing is lost in silence
	bad(fields{"type": "paragraph", "text": "x", "caption": "y"})
	bad(fields{"type": "bullets", "items": []string{"x"}, "text": "y"})
	bad(fields{"type": "paragraph", "text": "x", "title": "y"})
	d.outcome(fields{"note": "x", "document": fields{"blocks": []fields{para("x")}, "subtitle": "y"}}).Refused(422, "document_invalid")
	bad(para(strings.Repeat("x", delivery.MaxDocumentText+1)))
	bad(fields{"type": "bullets", "items": slices.Repeat([]string{"x"}, delivery.MaxBullets+1)})
	bad(fields{"type": "bullets", "items": []string{strings.Repeat("x", delivery.MaxBullet+1)}})
	bad(fields{"type": "image", "file_id": foreign})
	bad(fields{"type": "image", "file_id": "x"})
	bad(fields{"type": "image", "file_id": image, "alt": strings.Repeat("x", delivery.MaxAlt+1)})
	bad(slices.Repeat([]fields{{"type": "image", "file_id": image}}, delivery.MaxImages+1)...)
	bad(fields{"type": "video", "youtube_id": "short"})
	bad(fields{"type": "day", "ordinal": 0})
	bad(fields{"type": "day", "ordinal": 1, "date": "2026-02-30"})
	d.outcome(fields{"note": "x", "document": doc(fields{"type": "image", "file_id": image, "alt": "www.example.com/x"})}).Refused(422, "link_in_outcome_text")
	blocks := []fields{{"type": "heading", "text": "Summer"}, para("It was warm."), {"type": "bullets", "items": []string{"sand", "sea"}},
		{"type": "image", "file_id": strings.ToUpper(image), "alt": "The beach"}, {"type": "video", "youtube_id": "dQw4w9WgXcQ", "title": "Waves"},
		{"type": "day", "ordinal": 1, "title": "Monday", "date": "2026-12-07"}}
	r := d.outcome(fields{"note": "The album.", "document": doc(blocks...)}).Want(201)
	if r.Str("kind") != deals.KindDocument || len(r.Str("sha256")) != 64 || r.Num("size_bytes") == 0 {
		t.Errorf("%s", r.Body)
	}
	s := d.step("2")
	for i, b := range blocks {
		if got := s.Str(fmt.Sprintf("cards.0.outcome.document.blocks.%d.type", i)); got != b["type"] {
			t.Errorf("block %d is %q", i, got)
		}
	}
	if url := s.Str("cards.0.outcome.document.blocks.3.image_url"); url != "/api/person/deals/"+d.id+"/images/"+image {
		t.Errorf("the image is at %q", url)
	}
}
