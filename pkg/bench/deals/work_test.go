package deals_test

import (
	"fmt"
	"guildhall/pkg/audit"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func TestPulsesRefuseAndAnswer(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	call := func(body m) optest.Res {
		return d.Do(deals.CheckIn, optest.Req{Token: d.Agent, Path: d.Paths(), Body: body})
	}
	good := func() m {
		return m{"changed": "no change", "now": "Calling.", "next": "Calling on.", "progress_percent": 0}
	}
	for _, c := range []struct {
		field  string
		value  any
		status int
		code   string
	}{
		{"changed", strings.Repeat("x", 281), 422, "invalid_field"}, {"changed", "", 422, "invalid_field"}, {"changed", nil, 422, "missing_field"},
		{"now", strings.Repeat("é", 281), 422, "invalid_field"}, {"next", 5, 422, "invalid_field"}, {"blocker", strings.Repeat("x", 281), 422, "invalid_field"},
		{"progress_percent", 30, 422, "progress_not_a_checkpoint"}, {"progress_percent", 50, 422, "progress_skipped"},
		{"progress_percent", 25.5, 422, "invalid_field"}, {"progress_percent", nil, 422, "missing_field"}, {"mood", "fine", 422, "unknown_field"},
		{"now", "key AKIAIOSFODNN7EXAMPLE", 422, "pulses must not contain secrets"}, {"next", "see www.example.com/list", 422, "link_not_allowed"},
	} {
		body := good()
		if body[c.field] = c.value; c.value == nil {
			delete(body, c.field)
		}
		call(body).Refused(c.status, c.code)
	}
	body := good()
	body["blocker"] = nil
	body["changed"] = strings.Repeat("é", 280)
	res := call(body).Want(201)
	for _, key := range []string{"work_pulse", "step_thread", "pulse_cadence", "har_blocks", "har_responses", "current_step", "next_due_at"} {
		if res.At(key) == nil {
			t.Errorf("the receipt lacks %s", key)
		}
	}
	if res.Str("next_due_at") != w.Now().Add(30*time.Minute).Format(time.RFC3339) || res.Num("step_thread.count") != 1 ||
		res.Str("step_thread.messages.0.who") != "platform" || res.Num("har_blocks.0.block_number") != 1 || res.Str("har_blocks.0.id") != "place" {
		t.Fatalf("%s", res.Body)
	}
	d.Pulse(25).Want(201)
	d.Pulse(0).Refused(422, "progress_backward")
	d.Pulse(25).Want(201)
	for _, p := range []int{50, 75, 100} {
		d.Pulse(p).Want(201)
	}
	d.Outcome(dealtest.Note).Want(201)
	d.Pulse(100).Refused(409, "step is not agent_working")
	if got := d.Current(); len(got.At("pulses").([]any)) != 6 || got.At("next_due_at") != nil {
		t.Fatalf("%s", got.Body)
	}
}

func TestASilentAgentIsToldAndReviewed(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	w.Advance(5*time.Minute - time.Second)
	if dealtest.Has(d.Events(), "overdue") {
		t.Fatal("a second early")
	}
	w.Advance(time.Second)
	if n := count(d.Events(), "agent.checkin.overdue"); n != 1 {
		t.Fatalf("%d events", n)
	}
	if !d.Current().At("pulse_overdue").(bool) {
		t.Fatal("not shown as overdue")
	}
	w.Advance(30 * time.Minute)
	if !dealtest.Has(w.Subjects(), "An update is overdue") || count(w.Subjects(), "An update is overdue") != 1 {
		t.Fatalf("%v", w.Subjects())
	}
	w.Advance(29 * time.Minute)
	if n := count(d.Events(), "agent.checkin.overdue"); n != 2 {
		t.Fatalf("%d events", n)
	}
	w.Advance(time.Minute)
	if !dealtest.Has(d.Events(), "liveness.opened") || w.cases() != 1 {
		t.Fatalf("%v", d.Events())
	}
	if !suspended(d) {
		t.Fatal("new work goes on")
	}
	// A day of good pulses lifts it.
	for range 50 {
		d.Pulse(0).Want(201)
		w.Advance(29 * time.Minute)
	}
	if suspended(d) {
		t.Fatal("a clean day does not lift the suspension")
	}
	w.Advance(5 * time.Hour)
	if w.cases() != 2 {
		t.Fatalf("%d cases", w.cases())
	}
}

func count(list []string, word string) int {
	n := 0
	for _, s := range list {
		if s == word {
			n++
		}
	}
	return n
}

// cases counts the stewards' cases.
func (w *world) cases() int {
	n := 0
	w.Run("bench", func(c *op.Call) error {
		for s := range deals.CaseShards {
			p, err := c.Query(table.Query{PK: deals.CasePartition(s)})
			if err != nil {
				return err
			}
			n += len(p.Rows)
		}
		return nil
	})
	return n
}

func TestThreadsOverTheWire(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	say := func(step, words string) optest.Res {
		p := d.Paths()
		p["step_id"] = step
		return d.Do(deals.Write, optest.Req{Token: d.Person, Path: p, Body: m{"body": words}})
	}
	say("2", "").Want(422)
	say("2", strings.Repeat("x", 2001)).Want(422)
	say("9", "Hello").Refused(404, "not found")
	said := say("2", strings.Repeat("x", 2000)).Want(201)
	say("4", "And the end?").Want(201)
	got := d.Current()
	if got.Num("step_thread.unread_from_person") != 1 || got.Num("step_thread.unanswered_elsewhere.0.step_number") != 4 || got.Str("step_thread.latest_person_message_at") == "" {
		t.Fatalf("%s", got.Body)
	}
	if got.Str("your_move") != "answer_message" || !strings.HasSuffix(got.Str("next_call"), "/messages") {
		t.Errorf("while a message waits, the move and its call are %s, %s", got.Str("your_move"), got.Str("next_call"))
	}
	if !dealtest.Has(d.Events(), "step.message") {
		t.Fatal("the agent is not woken")
	}
	d.OnStep(deals.Reply, "2", m{"reply": strings.Repeat("x", 4001)}).Want(422)
	d.OnStep(deals.Reply, "2", m{}).Refused(422, "missing_field")
	d.OnStep(deals.Reply, "2", m{"reply": "Pay at http://example.com"}).Refused(422, "link_not_allowed")
	d.OnStep(deals.Reply, "2", m{"reply": "password: correcthorsebattery"}).Refused(422, "messages must not contain secrets")
	d.OnStep(deals.Reply, "9", m{"reply": "Yes."}).Refused(404, "not found")
	res := d.OnStep(deals.Reply, d.Steps[1], m{"reply": strings.Repeat("x", 4000)}).Want(200)
	if res.Str("message.id") == "" || res.At("late_answer") != nil {
		t.Fatalf("%s", res.Body)
	}
	if !dealtest.Has(w.subjectsAfter(), "A message from") {
		t.Fatalf("%v", w.Subjects())
	}
	read := d.OnStep(deals.ReadMessages, "2", nil).Want(200)
	if read.Num("count") != 2 || read.Str("messages.0.id") != said.Str("message.id") || read.Str("messages.1.id") != res.Str("message.id") || read.Str("messages.0.who") != "person" {
		t.Fatalf("%s", read.Body)
	}
	w.Advance(2 * time.Second)
	after := w.Now().Format(time.RFC3339)
	say("2", "One more").Want(201)
	p := d.Paths()
	p["step_id"] = "2"
	for q, n := range map[string]float64{after: 1, "2020-01-01T00:00:00+00:00": 3, "2090-01-01T00:00:00Z": 0} {
		got := d.Do(deals.ReadMessages, optest.Req{Token: d.Agent, Path: p, Query: map[string][]string{"after": {q}}}).Want(200)
		if got.Num("count") != n && !(q == after && got.Num("count") == 0) {
			t.Errorf("after %s: %s", q, got.Body)
		}
	}
	d.Do(deals.ReadMessages, optest.Req{Token: d.Agent, Path: p, Query: map[string][]string{"after": {"yesterday"}}}).Refused(422, "invalid_field")
	d.Deliver()
	d.Yes()
	late := d.OnStep(deals.Reply, "2", m{"reply": "Sorry, here is your answer."}).Want(200)
	if late.At("late_answer") != true {
		t.Fatalf("%s", late.Body)
	}
	d.OnStep(deals.Reply, "2", m{"reply": "And more."}).Refused(409, "this step is closed and owes no reply")
	d.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "Enough."}}).Want(200)
	say("4", "Thank you all the same.").Want(201)
	w.Advance(path.PersonWindow)
	say("4", "Still there?").Refused(409, "this deal ended too long ago")
	q := w.picked(dealtest.Easy())
	q.OnStep(deals.Reply, "2", m{"reply": "Hello"}).Refused(409, "this step is closed and owes no reply")
	p = q.Paths()
	p["step_id"] = "2"
	q.Do(deals.Write, optest.Req{Token: q.Person, Path: p, Body: m{"body": "Hi"}}).Refused(409, "deal is not active")
}

// subjectsAfter lets the mails go out first.
func (w *world) subjectsAfter() []string { w.Settle(); return w.Subjects() }

func TestOddsAreRestatedWithTheWholeLine(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	step2, step3 := d.Steps[1], d.Steps[2]
	for _, c := range []struct {
		body   m
		status int
		code   string
	}{
		{m{}, 422, "declared_odds is required"},
		{m{"declared_odds": "0.5"}, 422, "declared_odds must be a number strictly between 0 and 1"},
		{m{"declared_odds": 0}, 422, "declared_odds must be a number strictly between 0 and 1"},
		{m{"declared_odds": 1}, 422, "declared_odds must be a number strictly between 0 and 1"},
		{m{"declared_odds": 55}, 422, "declared_odds must be a number strictly between 0 and 1"},
		{m{"declared_odds": true}, 422, "declared_odds must be a number strictly between 0 and 1"},
		{m{"declared_odds": nil}, 422, "declared_odds must be a number strictly between 0 and 1"},
		{m{"declared_odds": 0.5, "reason": strings.Repeat("x", 281)}, 422, "invalid_field"},
		{m{"declared_odds": 0.5, "reason": "token: ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"}, 422, "restatement reasons must not contain secrets"},
		{m{"declared_odds": 0.5, "reason": "http://example.com"}, 422, "link_not_allowed"},
		{m{"declared_odds": 0.5, "step": 2}, 422, "unknown_field"},
	} {
		d.OnStep(deals.Restate, step3, c.body).Refused(c.status, c.code)
	}
	if msg := d.OnStep(deals.Restate, step3, m{"declared_odds": 55}).Str("message"); !strings.Contains(msg, "0.55") {
		t.Errorf("no hint at the fraction: %q", msg)
	}
	d.OnStep(deals.Restate, "3", m{"declared_odds": 0.5}).Refused(404, "not found")
	d.OnStep(deals.Restate, d.Steps[0], m{"declared_odds": 0.5}).Refused(409, "this step is built by the platform - it has no odds")
	d.OnStep(deals.Restate, d.Steps[3], m{"declared_odds": 0.5}).Refused(409, "this step is built by the platform - it has no odds")
	first := d.OnStep(deals.Restate, step2, m{"declared_odds": 0.6, "reason": "One place closed."}).Want(200)
	if first.At("moved_by") != nil || first.Num("drift") != -0.1 || first.Num("restatement_count") != 1 || first.Num("declared_odds_log.0.odds") != 0.7 ||
		first.Str("declared_odds_log.0.reason") != "A table for nine is scarce." || first.Num("declared_odds_at_bid") != 0.7 {
		t.Fatalf("%s", first.Body)
	}
	second := d.OnStep(deals.Restate, step2, m{"declared_odds": 0.999999}).Want(200)
	if second.Num("moved_by") != 0.399999 || second.Num("restatement_count") != 2 || len(second.At("declared_odds_log").([]any)) != 3 || second.Str("state") != "agent_working" {
		t.Fatalf("%s", second.Body)
	}
	d.Deliver()
	d.OnStep(deals.Restate, step2, m{"declared_odds": 0.5}).Refused(409, "this step is waiting_on_you - there is nothing left to forecast")
	d.Yes()
	d.OnStep(deals.Restate, step2, m{"declared_odds": 0.5}).Refused(409, "this step is approved - there is nothing left to forecast")
	d.Deliver()
	d.Answer(3, m{"verdict": "request_changes", "reason": "Later, please."}).Want(200)
	d.OnStep(deals.Restate, step3, m{"declared_odds": 0.5}).Refused(409, "an outcome is already filed on this step")
	d.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "Enough."}}).Want(200)
	d.OnStep(deals.Restate, step3, m{"declared_odds": 0.5}).Refused(409, "this step is ended - there is nothing left to forecast")
}

func TestFlagsAreRecordedAndChangeNothing(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	long := strings.Repeat("x", 501)
	for _, c := range []struct {
		blocked, assuming string
		code              string
	}{
		{"", "b", "blocked is required"}, {" ", "b", "blocked is required"}, {"a", "", "assuming is required"},
		{long, "b", "blocked must be 500 characters or fewer"}, {"a", long, "assuming must be 500 characters or fewer"},
		{"sk_live_4eC39HqLyjWDarjtT1zdp7dc", "b", "flags must not contain secrets"}, {"a", "see https://example.com", "link_not_allowed"},
	} {
		d.OnStep(deals.Flag, d.Steps[1], m{"blocked": c.blocked, "assuming": c.assuming}).Refused(422, c.code)
	}
	d.OnStep(deals.Flag, "2", m{"blocked": "a", "assuming": "b"}).Refused(404, "not found")
	before := d.Stored()
	res := d.OnStep(deals.Flag, d.Steps[1], m{"blocked": "  No calendar.  ", "assuming": strings.Repeat("x", 500)}).Want(200)
	if res.At("carry_on") != true || res.Str("blocked") != "No calendar." || res.Str("state") != "agent_working" {
		t.Fatalf("%s", res.Body)
	}
	after := d.Stored()
	if after.Money != before.Money || after.Status != before.Status || after.Pulse != before.Pulse {
		t.Fatal("a flag moved something")
	}
	if !dealtest.Has(d.Events(), "step.flag.filed") {
		t.Fatalf("%v", d.Events())
	}
	audited := 0
	w.Run("bench", func(c *op.Call) error {
		rows, _, err := audit.Read(c, []string{"bench"}, audit.Place{}, 100)
		for _, r := range rows {
			if r.Action == "step.flag.filed" && r.Subject == d.Steps[1] {
				audited++
			}
		}
		return err
	})
	if audited != 1 {
		t.Fatalf("%d audit rows", audited)
	}
	d.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "Enough."}}).Want(200)
	d.OnStep(deals.Flag, d.Steps[1], m{"blocked": "a", "assuming": "b"}).Refused(409, "deal is not active")
}

func TestOutcomesRefuseInOrder(t *testing.T) {
	w := newWorld(t)
	d := w.picked(dealtest.BidOf(1000, dealtest.Step("Choose the place", "CHOOSE", 1000), dealtest.Step("Hold it", "APPROVE", 1000), dealtest.Step("Send me the list", "PROVIDE", 1000), dealtest.Step("Give access", "GRANT", 0)))
	d.Outcome(dealtest.Note).Refused(404, "not found") // picked, not signed
	d.Sign().Want(200)
	d.Outcome(m{"note": "", "step_ref": "5"}).Refused(422, "one_ball_violation")
	d.Outcome(m{"step_ref": "Hold it", "note": "x"}).Refused(422, "one_ball_violation")
	d.Outcome(m{}).Refused(422, "progress_not_100")
	d.Pulses()
	d.Outcome(m{"color": "red"}).Refused(422, "unknown_field")
	d.Outcome(m{}).Refused(422, "note_required")
	d.Outcome(m{"note": strings.Repeat("x", 281), "text": strings.Repeat("x", 3001)}).Refused(422, "note_too_long")
	d.Outcome(m{"note": "x", "text": "a", "document": m{"blocks": []m{}}}).Refused(422, "one_form_only")
	d.Outcome(m{"note": "x", "text": strings.Repeat("é", 3001)}).Refused(422, "outcome_text_too_long")
	d.Outcome(m{"note": "x", "text": strings.Repeat("é", 60000)}).Want(413)
	d.Outcome(m{"note": "x", "text": "Look at https://example.com"}).Refused(422, "link_in_outcome_text")
	d.Outcome(m{"note": "Look at https://example.com"}).Refused(422, "link_in_outcome_text")
	d.Outcome(m{"note": "x", "text": "AKIAIOSFODNN7EXAMPLE"}).Refused(422, "outcome_secret")
	d.Outcome(m{"note": "Pay me directly with Venmo @crow"}).Refused(422, "outcome_off_platform_payment")
	d.Outcome(m{"note": "Please send me your password."}).Refused(422, "outcome_credential_request")
	d.Outcome(m{"note": "x", "blocks": []m{{"type": "NOTE", "text": "a"}, {"type": "NOTE", "text": "b"}}}).Refused(422, "options_are_the_delivery")
	d.Outcome(m{"note": "x", "blocks": []m{{"type": "KEY_FACTS"}}}).Refused(422, "options_are_the_delivery")
	over := d.Outcome(m{"note": "x", "document": m{"blocks": []m{{"type": "paragraph", "text": "North  hall is big and RIVER room is small."}}}}).Refused(422, "options_are_the_delivery")
	if over.Str("rej") != "REJ-27" {
		t.Fatalf("%s", over.Body)
	}
	d.Outcome(m{"note": "x", "options": []m{{"label": "Only one"}}}).Refused(422, "options_invalid")
	d.Outcome(m{"note": "x", "options": []m{{"label": "Same"}, {"label": "Same"}}}).Refused(422, "options_invalid")
	d.Outcome(m{"note": "x", "options": []m{{"label": "A"}, {"label": "B", "thumbnail_url": "http://example.com/x.png"}}}).Refused(422, "options_invalid")
	d.Outcome(m{"note": "x", "text": "t", "options": []m{{"label": "A"}, {"label": "B"}}}).Refused(422, "options_invalid")
	d.Outcome(m{"note": "x", "step_ref": "2", "options": []m{{"id": "n", "label": "Noon House"}, {"id": "e", "label": "Evening House"}}}).Want(201)
	d.Outcome(dealtest.Note).Refused(422, "out_of_turn_filing")
	if got := d.person2("steps/2"); got.Str("har_blocks.0.config.options.0.label") != "Noon House" {
		t.Fatalf("the tiles did not change: %s", got.Body)
	}
	d.Answer(2, m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"choice": "a"}}}}).Refused(422, "response_invalid")
	d.Answer(2, m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"choice": "e"}}}}).Want(200)

	d.Pulses() // APPROVE
	d.Outcome(m{"note": "x", "text": "plain"}).Refused(422, "document_required")
	d.Outcome(dealtest.Note).Refused(422, "document_required")
	d.Outcome(m{"note": "x", "blocks": []m{{"type": "NOTE", "text": "a"}}}).Refused(422, "options_are_the_delivery")
	d.Outcome(m{"note": "x", "options": []m{{"label": "A"}, {"label": "B"}}, "document": m{"blocks": []m{{"type": "paragraph", "text": "a"}}}}).Refused(422, "options_invalid")
	d.Outcome(dealtest.Document("Held.")).Want(201)
	d.Answer(3, m{"verdict": "request_changes", "reason": "Later."}).Want(200)
	d.Pulses()
	v2 := d.Outcome(m{"note": "Half past eight now."}).Want(201) // a revision by note: the document stands
	if v2.Num("version") != 2 || v2.Str("kind") != "note" {
		t.Fatalf("%s", v2.Body)
	}
	d.Yes()
	d.Pulses() // PROVIDE
	d.Outcome(m{"note": "x", "text": "Send me the guest list."}).Want(201)
	d.Yes()
	d.Pulses() // GRANT
	d.Outcome(dealtest.Note).Want(201)
}

// person2 reads below the deal as its person.
func (d *deal) person2(rest string) optest.Res {
	p := d.Paths()
	if step, ok := strings.CutPrefix(rest, "steps/"); ok {
		p["step_id"] = step
		return d.Do(deals.ReadStep, optest.Req{Token: d.Person, Path: p}).Want(200)
	}
	return d.Do(deals.ReadDeal, optest.Req{Token: d.Person, Path: p}).Want(200)
}

func TestDocuments(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.BidOf(1000, dealtest.Step("Hold it", "APPROVE", 1000), dealtest.Step("Hold it again", "APPROVE", 1000), dealtest.Step("And again", "APPROVE", 0)))
	d.Pulses()
	many := func(n int, b m) []m {
		var out []m
		for range n {
			out = append(out, b)
		}
		return out
	}
	items := func(n, l int) []string {
		var out []string
		for range n {
			out = append(out, strings.Repeat("x", l))
		}
		return out
	}
	p := m{"type": "paragraph", "text": "x"}
	for i, doc := range []any{
		"words", []m{p}, m{}, m{"blocks": []m{}}, m{"blocks": many(41, p)}, m{"title": strings.Repeat("x", 201), "blocks": []m{p}},
		m{"blocks": []m{{"type": "table"}}}, m{"blocks": []m{{"type": "paragraph"}}}, m{"blocks": []m{{"type": "heading", "text": strings.Repeat("x", 1001)}}},
		m{"blocks": []m{{"type": "bullets", "items": []string{}}}}, m{"blocks": []m{{"type": "bullets", "items": items(13, 1)}}},
		m{"blocks": []m{{"type": "bullets", "items": items(1, 201)}}}, m{"blocks": []m{{"type": "image", "file_id": "11111111-1111-4111-8111-111111111111"}}},
		m{"blocks": []m{{"type": "video", "youtube_id": "short"}}}, m{"blocks": []m{{"type": "day", "ordinal": 0}}}, m{"blocks": []m{{"type": "day", "ordinal": 1, "date": "2026-02-30"}}},
	} {
		if res := d.Outcome(m{"note": "x", "document": doc}); res.Status != 422 || res.Str("error") != "document_invalid" {
			t.Errorf("document %d: %d %s", i, res.Status, res.Body)
		}
	}
	d.Outcome(dealtest.Document("See http://example.com for more.")).Refused(422, "link_in_outcome_text")
	d.Outcome(m{"note": "x", "document": m{"title": strings.Repeat("x", 200), "blocks": append(many(36, p), m{"type": "heading", "text": strings.Repeat("x", 1000)},
		m{"type": "bullets", "items": items(12, 200)}, m{"type": "video", "youtube_id": "dQw4w9WgXcQ", "title": "How"}, m{"type": "day", "ordinal": 1, "title": "First", "date": "2026-12-01"})}}).Want(201)
	got := d.person2("steps/2")
	if got.Str("cards.0.outcome.document.blocks.0.text") != "x" || got.Str("note") != "x" || got.Num("dollars_at_stake_cents") != 1000 || got.Str("lapse_at") != w.Now().Add(14*24*time.Hour).Format(time.RFC3339) {
		t.Fatalf("%s", got.Body)
	}
	if fmt.Sprint(got.At("controls")) != "[approve request_changes decline]" {
		t.Fatalf("%v", got.At("controls"))
	}
}

// suspended tells whether the deal's agent takes no new work.
func suspended(d *deal) bool {
	var out bool
	d.Load(func(c *op.Call) error {
		a, err := registry.Load(c, d.AgentID)
		out = a.SuspendedNewWork()
		return err
	})
	return out
}
