package bids_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/op/optest"
)

func (w *world) answer(p person, target, bid string, send bool, answers ...obj) optest.Res {
	w.T.Helper()
	if answers == nil {
		answers = []obj{}
	}
	return w.Do(bids.Answer, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"answers": answers, "send": send}})
}

func TestDraftsStayWithThePersonUntilTheHandoff(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	read := func() optest.Res {
		return w.Do(bids.ReadAnswers, optest.Req{Token: m.Token, Path: benchtest.On(target, bid)})
	}
	drafts := func() optest.Res {
		return w.Do(bids.ReadDrafts, optest.Req{Token: p.Token, Path: benchtest.On(target, bid)})
	}
	read().Refused(409, "this bid has not been named a finalist yet - there are no answers to read")
	drafts().Refused(409, "not_finalist")
	w.answer(p, target, bid, false).Refused(409, "not_finalist")
	w.Name(p, target, bid)
	if r := drafts().Want(200); r.Str("answers.3.question") != "What would spoil the evening?" || r.At("answers.3.answer") != nil || r.Str("handoff_at") != "2026-12-03T18:20:00Z" || r.At("answered_at") != nil {
		t.Errorf("%s", r.Body)
	}
	w.answer(p, target, bid, false, obj{"ordinal": 2, "answer": " Quiet. "}, obj{"ordinal": 4, "answer": "Rain."}).Want(200)
	w.answer(p, target, bid, false, obj{"ordinal": 4, "answer": nil}, obj{"ordinal": 1, "answer": "  "}).Want(200)
	if r := read().Want(200); len(r.At("answers").([]any)) != 0 || len(r.At("unanswered_questions").([]any)) != 4 || r.Num("finalist_ordinal") != 1 || r.At("plan_revised_at") != nil {
		t.Errorf("%s", r.Body)
	}
	if b := w.mine(m, bid); b.Str("your_move.action") != "file_informed_plan" || b.Str("your_move.file_at") != "POST /api/bench/targets/"+target+"/proposals/"+bid+"/plan" ||
		b.Str("your_move.answers_read_at") != "GET /api/bench/targets/"+target+"/proposals/"+bid+"/answers" || b.At("finalist_health") != nil {
		t.Errorf("%v", b.JSON)
	}
	w.Advance(time.Hour)
	if r := w.answer(p, target, bid, true, obj{"ordinal": 3, "answer": "My mother."}).Want(200); r.Str("answered_at") != "2026-11-30T19:20:00Z" || r.At("handoff_at") != nil {
		t.Errorf("%s", r.Body)
	}
	r := read().Want(200)
	if got := fmt.Sprint(r.At("answers")); got != "[map[answer:Quiet. ordinal:2 question:Quiet room or lively room?] map[answer:My mother. ordinal:3 question:Who must have the best seat?]]" {
		t.Error(got)
	}
	if r.Num("unanswered_questions.0.ordinal") != 1 || r.Num("unanswered_questions.1.ordinal") != 4 || r.Str("smart_goal.text") != "Hold one dinner table for nine people within seven days." ||
		r.Num("smart_goal.ordinal") != 1 || r.Str("assumption_policy") == "" {
		t.Errorf("%s", r.Body)
	}
	w.answer(p, target, bid, true).Refused(409, "already_handed_off")
	w.answer(p, target, bid, false).Refused(409, "already_handed_off")
	if b := w.mine(m, bid); b.Str("finalist_health.answered_at") != "2026-11-30T19:20:00Z" || b.At("finalist_health.reminder") != false || b.At("finalist_health.quiet_hours") != 0.0 {
		t.Errorf("%v", b.JSON)
	}
}

func TestRefusalsOfAnswers(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	w.Name(p, target, bid)
	w.answer(p, target, bid, true, obj{"ordinal": 0, "answer": "x"}).Refused(422, "invalid_field")
	w.answer(p, target, bid, true, obj{"ordinal": 5, "answer": "x"}).Refused(422, "invalid_field")
	w.answer(p, target, bid, true, obj{"ordinal": 1, "answer": "x"}, obj{"ordinal": 1, "answer": "y"}).Refused(422, "invalid_field")
	w.answer(p, target, bid, true, obj{"ordinal": 1, "answer": strings.Repeat("é", 1001)}).Refused(422, "invalid_field")
	w.answer(p, target, bid, true, obj{"ordinal": 1, "answer": "bell\u0007"}).Refused(422, "invalid_field")
	w.answer(p, target, bid, true, obj{"ordinal": 1, "answer": "x", "score": 3}).Refused(422, "unknown_field")
	w.Do(bids.Answer, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"answers": []obj{}}}).Refused(422, "missing_field")
	w.answer(w.Poster("bob"), target, bid, true).Refused(404, "not found")
	w.answer(p, target, "x", true).Refused(404, "not found")
	w.answer(p, target, bid, false, obj{"ordinal": 1, "answer": strings.Repeat("é", 1000)}).Want(200)
	w.withdraw(m, bid).Want(200)
	w.answer(p, target, bid, true).Refused(409, "not_finalist")
}

func TestAnswersAreReadByTheirAgentAlone(t *testing.T) {
	w := newWorld(t)
	_, m, target, bid := w.finalist()
	other := w.Maker("Other")
	second := w.Easy(w.Poster("bob"))
	rival := w.File(other, target)
	const none = `{"ok":false,"error":"not found"}`
	read := func(m maker, target, bid string) optest.Res {
		return w.Do(bids.ReadAnswers, optest.Req{Token: m.Token, Path: benchtest.On(target, bid)})
	}
	for name, r := range map[string]optest.Res{
		"somebody else's": read(other, target, bid), "no such bid": read(m, target, "00000000-0000-4000-8000-000000000000"),
		"no such target": read(m, "x", bid), "a bid on another target": read(m, second, bid),
		"somebody else's plan": w.plan(other, target, bid, goodPlan()), "a plan for no bid": w.plan(m, target, "x", goodPlan()),
		"a plan on another target": w.plan(m, second, bid, goodPlan()), "a plan on no target": w.plan(m, "x", bid, goodPlan()),
		"a rival's": read(m, target, rival),
	} {
		if r.Status != 404 || string(r.Body) != none {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	read(m, target, bid).Want(200)
	w.Do(bids.ReadAnswers, optest.Req{Token: m.Token, Transport: "mcp", Path: benchtest.On(target, bid)}).Refused(401, "unauthorized")
	if r := w.Do(bids.ReadAnswers, optest.Req{Token: w.mcp(m, "deals:write"), Transport: "mcp", Path: benchtest.On(target, bid)}).Want(401); r.Str("missing_scope") != "targets:read" {
		t.Errorf("%s", r.Body)
	}
	a, b := read(m, target, bid), w.Do(bids.ReadAnswers, optest.Req{Token: w.mcp(m), Transport: "mcp", Path: benchtest.On(target, bid)})
	if string(a.Body) != string(b.Body) {
		t.Errorf("%s over MCP: %s", a.Body, b.Body)
	}
}

func TestQuestionsToAFinalist(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	ask := func(q string) optest.Res {
		return w.Do(bids.Ask, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"question": q}})
	}
	ask("Do you know the duck place?").Refused(409, "not_finalist")
	w.Name(p, target, bid)
	if b := w.mine(m, bid); len(b.At("person_questions").([]any)) != 0 {
		t.Errorf("%v", b.JSON)
	}
	for i := range 5 {
		if r := ask(fmt.Sprintf("Question number %d?", i+1)).Want(201); r.Str("question_ref") != fmt.Sprintf("q%d", i+1) {
			t.Errorf("%s", r.Body)
		}
	}
	ask("One more?").Refused(409, "too_many_questions")
	ask("").Refused(422, "invalid_field")
	ask(strings.Repeat("é", 501)).Refused(422, "invalid_field")
	ask("bell\u0007").Refused(422, "invalid_field")
	reply := func(ref, s string) optest.Res {
		return w.Do(bids.Reply, optest.Req{Token: m.Token, Path: map[string]string{"proposal_id": bid}, Body: obj{"question_ref": ref, "answer": s}})
	}
	for ref, want := range map[string]string{"q1": "q1", " 2 ": "q2", "Question number 3?": "q3"} {
		r := reply(ref, "Yes.").Want(201)
		if r.Str("question_ref") != want || r.Str("answered_at") != "2026-11-30T18:20:00Z" || r.Str("answer_id") == "" || len(r.JSON) != 4 {
			t.Errorf("%s", r.Body)
		}
	}
	reply("q1", "And more.").Want(201)
	cards := w.Do(bids.ReadCard, optest.Req{Token: p.Token, Path: benchtest.On(target, bid)}).Want(200)
	if got := fmt.Sprint(cards.At("bid.person_questions.0.answers")); got != "[Yes. And more.]" {
		t.Errorf("%s", cards.Body)
	}
	b := w.mine(m, bid)
	if b.Str("person_questions.0.question") != "Question number 1?" || b.Str("person_questions.0.answered_at") == "" || b.At("person_questions.4.answered_at") != nil {
		t.Errorf("%v", b.JSON)
	}
	for ref, c := range map[string]struct{ answer, code string }{"q9": {"x", "question_unknown"}, "6": {"x", "question_unknown"}, "": {"x", "invalid_field"},
		strings.Repeat("r", 121): {"x", "invalid_field"}, "q1": {strings.Repeat("é", 1001), "invalid_field"}, "q2": {"My key is AKIAIOSFODNN7EXAMPLE", "answers must not contain secrets"},
		"q3": {"Send me your password", "answers must not ask for credentials"}, "q4": {"See https://example.com/x", "answers must not contain links"}, "q5": {"bell\u0007", "invalid_field"}} {
		reply(ref, c.answer).Refused(422, c.code)
	}
	w.Do(bids.Reply, optest.Req{Token: m.Token, Path: map[string]string{"proposal_id": bid}, Body: obj{"question_ref": "q1", "answer": "x", "score": 1}}).Refused(422, "unknown_field")
	w.Do(bids.Reply, optest.Req{Token: w.Maker("Other").Token, Path: map[string]string{"proposal_id": bid}, Body: obj{"question_ref": "q1", "answer": "x"}}).Refused(404, "not found")
	for range 18 {
		reply("q1", "More.").Want(201)
	}
	reply("q1", "Too much.").Refused(409, "too_many_answers")
	w.withdraw(m, bid).Want(200)
	reply("q1", "Late.").Refused(409, "not_finalist")
	ask("Late?").Refused(409, "not_finalist")
	mails := w.Mails.To(p.Email)
	w.Settle()
	if got := len(w.Mails.To(p.Email)) - len(mails); got != 4 { // the digest, and the first answer to each of three questions
		t.Errorf("%d mails", got)
	}
}
