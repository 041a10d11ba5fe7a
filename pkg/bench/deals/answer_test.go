package deals_test

import (
	"fmt"
	"strings"
	"testing"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op/optest"
)

func TestAnswersRefuse(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	yes := m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"choice": "a"}}}}
	d.Answer(2, yes).Refused(409, "step_not_waiting")
	d.Answer(9, yes).Refused(404, "not found")
	for _, c := range []struct {
		body   m
		status int
		code   string
	}{
		{m{}, 422, "missing_field"}, {m{"verdict": "maybe"}, 422, "invalid_field"}, {m{"verdict": "approve", "mood": 1}, 422, "unknown_field"},
		{m{"verdict": "approve", "score": 0}, 422, "score_invalid"}, {m{"verdict": "approve", "score": 11}, 422, "score_invalid"}, {m{"verdict": "approve", "score": 7.5}, 422, "invalid_field"},
		{m{"verdict": "request_changes"}, 422, "reason_required"}, {m{"verdict": "request_changes", "reason": " "}, 422, "reason_required"},
		{m{"verdict": "request_changes", "reason": strings.Repeat("x", 501)}, 422, "invalid_field"},
		{m{"verdict": "approve", "cards": []m{{"card": "block:1", "verdict": "request_changes", "comment": "No."}}}, 422, "verdict_mismatch"},
		{m{"verdict": "request_changes", "cards": []m{{"card": "block:1", "verdict": "request_changes"}}}, 422, "comment_required"},
		{m{"verdict": "approve", "channels": []string{"pigeon"}}, 422, "invalid_field"},
	} {
		d.Answer(2, c.body).Refused(c.status, c.code)
	}
	d.Deliver()
	for _, c := range []struct {
		body m
		code string
	}{
		{m{"verdict": "approve"}, "required_block_unanswered"},
		{m{"verdict": "approve", "responses": []m{{"block_number": 2, "value": "x"}}}, "response_invalid"},
		{m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"choice": "z"}}}}, "response_invalid"},
		{m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"choice": "other"}}}}, "response_invalid"},
		{m{"verdict": "approve", "cards": []m{{"card": "item:none", "verdict": "approve"}}}, "card_unknown"},
		{m{"verdict": "approve", "cards": []m{{"card": "block:2", "verdict": "approve"}}}, "card_unknown"},
		{m{"verdict": "approve", "cards": []m{{"card": "block:1", "verdict": "approve"}, {"card": "block:1", "verdict": "approve"}}}, "card_repeated"},
	} {
		d.Answer(2, c.body).Refused(422, c.code)
	}
	if a := d.Money(); a.Released != 0 {
		t.Fatal("a refused answer moved money")
	}
	d.Answer(2, yes).Want(200)
	d.Answer(2, yes).Refused(409, "step_not_waiting")
	d.Answer(3, m{"verdict": "approve"}).Refused(409, "step_not_waiting")
}

func TestCardsReachTheAgentAsOneBundle(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.BidOf(1000, dealtest.Step("Hold it", "APPROVE", 1000, m{"har_blocks": []m{
		{"id": "ok", "title": "Is this right?", "format": "review_approve", "required": true},
		{"id": "why", "title": "Anything else?", "format": "short_answer", "required": false},
		{"id": "sure", "title": "I agree", "format": "agreement", "required": true}}}), dealtest.Step("Again", "APPROVE", 1000)))
	receipt := d.Deliver().Str("receipt_id")
	draft := func(body m) optest.Res {
		p := d.Paths()
		p["step_id"] = "2"
		return d.Do(deals.SaveDraft, optest.Req{Token: d.Person, Path: p, Body: body})
	}
	draft(m{"responses": []m{{"block_number": 4, "value": "x"}}}).Refused(422, "response_invalid")
	draft(m{"responses": []m{{"block_number": 2, "value": 5}}}).Refused(422, "response_invalid")
	draft(m{"responses": []m{{"block_number": 2, "value": "A window seat"}, {"block_number": 1, "value": m{"verdict": "request_changes"}}}}).Want(200)
	got := d.Current()
	if n := len(got.At("har_responses").([]any)); n != 1 || got.Num("har_responses.0.block_number") != 2 || got.At("har_responses.0.is_submitted") != false {
		t.Fatalf("a verdict leaks before the answer: %s", got.Body)
	}
	if dealtest.Has(d.Events(), "ask.answered") {
		t.Fatal("a draft is no event")
	}
	d.Answer(2, m{"verdict": "approve"}).Refused(422, "verdict_mismatch")
	res := d.Answer(2, m{"verdict": "request_changes", "reason": "Nearly.", "cards": []m{
		{"card": "item:" + receipt, "verdict": "approve"}, {"card": "block:3", "verdict": "request_changes", "comment": "Say until when."}}}).Want(200)
	if res.Str("step_state") != "agent_working" || res.Num("released_cents") != 0 {
		t.Fatalf("%s", res.Body)
	}
	got = d.Current()
	if got.Str("answers_bundle.result") != "changes_requested" || got.Num("answers_bundle.round") != 1 || len(got.At("answers_bundle.cards").([]any)) != 4 ||
		got.Str("answers_bundle.cards.0.verdict") != "approve" || got.Str("answers_bundle.cards.1.verdict") != "request_changes" {
		t.Fatalf("%s", got.Body)
	}
	thread := got.At("step_thread.messages").([]any)
	if last := thread[len(thread)-1].(map[string]any); last["body"] != "Nearly.\nSay until when." || last["who"] != "person" {
		t.Fatalf("%v", last)
	}
	if got.Num("current_step.round") != 1 || got.Num("current_step.progress_percent") != 0 {
		t.Fatalf("%s", got.Body)
	}
	d.Deliver()
	d.Answer(2, m{"verdict": "request_changes", "reason": "Again."}).Refused(409, "rounds_used_up")
	if c := d.person2("steps/2").At("controls"); fmt.Sprint(c) != "[approve decline]" {
		t.Fatalf("%v", c)
	}
	d.Answer(2, m{"verdict": "approve"}).Refused(422, "required_block_unanswered") // the agreement
	d.Answer(2, m{"verdict": "approve", "responses": []m{{"block_number": 3, "value": m{"agreed": false}}}}).Refused(422, "required_block_unanswered")
	ok := d.Answer(2, m{"verdict": "approve", "responses": []m{{"block_number": 3, "value": m{"agreed": true}}}}).Want(200)
	if ok.Num("released_cents") != 1000 {
		t.Fatalf("%s", ok.Body)
	}
	if got := d.Current(); got.Str("answers_bundle.result") != "approved" || got.Num("answers_bundle.round") != 2 || got.Num("current_step.step_number") != 3 {
		t.Fatalf("%s", got.Body)
	}
	draft(m{"responses": []m{{"block_number": 2, "value": "late"}}}).Refused(409, "step_not_waiting")
}

func TestADocumentHasToBeReadBeforeApproval(t *testing.T) {
	w := newWorld(t)
	read := m{"har_blocks": []m{{"id": "ok", "title": "Read this", "format": "review_approve", "required": true,
		"config": m{"document": m{"title": "Terms", "blocks": []m{{"type": "paragraph", "text": "We agree on Friday."}}}}}}}
	d := w.signed(dealtest.BidOf(1000, dealtest.Step("Hold it", "APPROVE", 1000, read), dealtest.Step("Again", "APPROVE", 1000)))
	d.Deliver()
	d.Answer(2, m{"verdict": "approve"}).Refused(422, "required_block_unanswered")
	d.Answer(2, m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"verdict": "approve"}}}}).Refused(422, "response_invalid")
	d.Answer(2, m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"verdict": "request_changes", "comment": "No."}}}}).Refused(422, "verdict_mismatch")
	d.Answer(2, m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"verdict": "approve", "read_confirmed": true}}}}).Want(200)
}

func TestEveryAskWithItsControls(t *testing.T) {
	w := newWorld(t)
	own := dealtest.Step("Report", "APPROVE", 500, m{"actor": "agent", "har_blocks": []m{}})
	d := w.signed(dealtest.BidOf(1000, dealtest.Step("Send the list", "PROVIDE", 1000), dealtest.Step("Give access", "GRANT", 1500), own, dealtest.Step("Choose", "CHOOSE", 2000)))
	d.Deliver() // PROVIDE: nothing is required, no changes are offered
	d.Answer(2, m{"verdict": "request_changes", "reason": "x"}).Refused(422, "verdict_not_offered")
	d.Answer(2, m{"verdict": "approve", "reason": "The list is on the fridge."}).Want(200)
	got := d.Current()
	if got.Num("released_materials_count") != 0 || got.At("released_materials") == nil || got.Num("step_thread.unanswered_elsewhere.0.step_number") != 2 {
		t.Fatalf("%s", got.Body)
	}
	d.Deliver() // GRANT
	d.Answer(3, m{"verdict": "request_changes", "reason": "x"}).Refused(422, "verdict_not_offered")
	d.Answer(3, m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"granted": false}}}}).Refused(422, "verdict_mismatch")
	d.Answer(3, m{"verdict": "approve"}).Want(200)
	got = d.Current()
	if got.Num("access.grants_count") != 1 || got.Str("access.grants.0.capability") != "email.send_as" || got.Str("access.grants.0.status") != "active" ||
		len(got.At("access.material_change.materiality_tests").([]any)) != 9 || len(got.At("access.material_change.exceptions").([]any)) != 4 {
		t.Fatalf("%s", got.Body)
	}
	grant := got.Str("access.grants.0.grant_id")
	d.Pulses() // the agent's own report
	d.Outcome(dealtest.Document("I reported.")).Want(201)
	if c := d.person2("steps/4"); fmt.Sprint(c.At("controls")) != "[approve decline]" || c.At("step.acknowledge_only") != true {
		t.Fatalf("%s", c.Body)
	}
	d.Answer(4, m{"verdict": "request_changes", "reason": "x"}).Refused(422, "verdict_not_offered")
	d.Answer(4, m{"verdict": "approve"}).Want(200)
	p := d.Paths()
	p["grant_id"] = grant
	swap := func(body m) optest.Res {
		return d.Do(deals.RecordSwap, optest.Req{Token: d.Agent, Path: p, Body: body})
	}
	swap(m{"to": "b", "why": "c"}).Refused(422, "from is required")
	swap(m{"from": "a", "why": "c"}).Refused(422, "to is required")
	swap(m{"from": "a", "to": "b"}).Refused(422, "why is required")
	swap(m{"from": "a", "to": strings.Repeat("x", 281), "why": "c"}).Refused(422, "invalid_field")
	swap(m{"from": "a", "to": "b", "why": strings.Repeat("x", 501)}).Refused(422, "invalid_field")
	swap(m{"from": "a", "to": "b", "why": "password: hunter2hunter2"}).Refused(422, "swaps must not contain secrets")
	swap(m{"from": "a", "to": "b", "why": "https://example.com"}).Refused(422, "link_not_allowed")
	swap(m{"from": "a", "to": "b", "why": "c", "x": 1}).Refused(422, "unknown_field")
	if res := swap(m{"from": "Mail A", "to": "Mail B", "why": "A is down."}).Want(200); res.Num("swap_count") != 1 || res.At("clock_moved") != false || res.Str("swap_entry.to") != "Mail B" || res.Str("swap_entry.when") == "" {
		t.Fatalf("%s", res.Body)
	}
	for range deals.MaxSwaps - 1 {
		swap(m{"from": "a", "to": "b", "why": "c"}).Want(200)
	}
	swap(m{"from": "a", "to": "b", "why": "c"}).Refused(409, "too_many_swaps")
	if got := d.Current(); got.Str("access.grants.0.swaps.0.from") != "Mail A" || got.Str("current_step.grant.id") != grant {
		t.Fatalf("%s", got.Body)
	}
	revoke := func(token string) optest.Res {
		return d.Do(deals.RevokeGrant, optest.Req{Token: token, Path: p, Body: m{}})
	}
	_, stranger := w.Person("stranger@example.test")
	revoke(stranger).Refused(404, "not found")
	if res := revoke(d.Person).Want(200); res.Str("grant.status") != "revoked" {
		t.Fatalf("%s", res.Body)
	}
	revoke(d.Person).Refused(409, "grant_not_active")
	p["grant_id"] = "none"
	revoke(d.Person).Refused(404, "not found")
	if !dealtest.Has(d.Events(), "grant.revoked") {
		t.Fatal("the agent is not told")
	}
	d.Deliver()
	d.Yes()
	d.Yes()
	if a := d.Money(); a.Released != 6000 || a.Held != 0 {
		t.Fatal(a)
	}
	p["grant_id"] = grant
	swap(m{"from": "a", "to": "b", "why": "c"}).Refused(409, "deal is not active")
}

func TestADeclineReturnsWhatIsHeldAndIsNoRepost(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	d.Deliver()
	d.Yes()
	d.Deliver()
	res := d.Answer(3, m{"verdict": "decline", "reason": "I changed my mind."}).Want(200)
	if res.Str("deal_status") != "ended" || res.Str("end_cause") != "declined" || res.Str("step_state") != "ended" {
		t.Fatalf("%s", res.Body)
	}
	if a := d.Money(); a.Released != 4000 || a.Returned != 5000 {
		t.Fatal(a)
	}
	want := d.TheWant()
	if want.Status != wants.Ended || want.Round != 1 || len(want.Prior) != 1 || want.Prior[0].Steps[2].State != "in_progress_at_failure" ||
		want.Prior[0].Steps[1].State != "completed" || want.Prior[0].Steps[3].State != "not_reached" {
		t.Fatalf("%+v", want.Prior)
	}
	w.Settle()
	if refunds(w) != 5000 {
		t.Fatal(refunds(w))
	}
	if got := d.Current(); got.At("current_step") != nil || got.Str("end_cause") != "declined" {
		t.Fatalf("%s", got.Body)
	}
}

func TestTheScoreAndThePersonsRecord(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	d.Deliver()
	w.Advance(4 * 60 * 60 * 1e9)
	d.Yes()
	d.Deliver()
	d.Yes()
	d.Answer(4, m{"verdict": "approve", "score": 11}).Refused(422, "score_invalid")
	d.Answer(4, m{"verdict": "approve", "score": 10}).Want(200)
	got := d.person2("")
	if got.Num("score") != 10 || got.Str("header") != "ended" || got.At("can_end") != false {
		t.Fatalf("%s", got.Body)
	}
	want := d.TheWant()
	if len(want.Answers) != 1 || want.Answers[0].Answer != "The one with the duck." {
		t.Fatalf("%+v", want.Answers)
	}
	if s := d.Stored(); s.Score != 10 || s.Header(w.Now()) != "ended" || s.Open() != nil || s.Status != path.Ended {
		t.Fatal(s.Score)
	}
}
