package bids_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestAnInformedPlan(t *testing.T) {
	w := newWorld(t)
	p, m, target, bid := w.finalist()
	w.ready(m)
	w.Advance(time.Hour)
	plan := goodPlan()
	steps := plan["steps"].([]any)
	steps[0].(obj)["line_item_amount"], steps[1].(obj)["line_item_amount"] = 3000, 4500
	plan["finish_line_cents"] = 1500
	r := w.plan(m, target, bid, plan).Want(200)
	if r.Str("plan_revised_at") != "2026-11-30T19:20:00Z" || r.Num("steps_count") != 2 || r.At("was_first_revision") != true || len(r.JSON) != 4 {
		t.Errorf("%s", r.Body)
	}
	card := w.Do(bids.ReadCard, optest.Req{Token: p.Token, Path: benchtest.On(target, bid)}).Want(200)
	if card.Num("bid.proposal.steps.0.line_item_amount") != 4000 || card.Num("bid.plan.steps.0.line_item_amount") != 3000 || card.Num("bid.plan.finish_line_cents") != 1500 || card.Num("bid.proposal.finish_line_cents") != 1000 {
		t.Errorf("blind and informed plan side by side: %s", card.Body)
	}
	delete(plan, "accept_rules")
	delete(plan, "finish_line_cents")
	second := w.plan(m, target, bid, plan).Want(200) // the finish line keeps the value in force
	if second.At("was_first_revision") != false || second.Str("plan_revised_at") != "2026-11-30T19:20:01Z" {
		t.Errorf("two plans of one second can be told apart: %s", second.Body)
	}
	w.plan(m, target, bid, benchtest.With(goodPlan(), "finish_line_cents", 1000)).Want(200)
	w.plan(m, target, bid, goodPlan()).Want(200)
	if got := w.events(m, bid); !slices.Equal(got[3:], []string{"plan.filed", "plan.revised", "plan.revised", "plan.revised"}) {
		t.Error(got)
	}
	if got := w.ledger(target); !slices.Contains(got, "plan.filed") || !slices.Contains(got, "plan.revised") {
		t.Error(got)
	}
	w.Settle()
	n := 0
	for _, mail := range w.Mails.To(p.Email) {
		if mail.Subject == "A full plan is ready for you" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d mails about the plan", n)
	}
}

func TestRefusalsOfAPlanInTheirOrder(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	bad := obj{"steps": []obj{}} // would be refused for itself at every stage
	w.plan(m, target, bid, bad).Refused(409, "this bid has not been named a finalist yet - only a finalist revises its plan")
	w.Name(p, target, bid)
	w.plan(m, target, bid, bad).Refused(409, "payout_not_ready")
	r := w.plan(m, target, bid, goodPlan()).Refused(409, "payout_not_ready")
	if r.Str("onboarding_link_call") != "POST /api/bench/me/payout-account/onboarding-link" || r.Str("next_step") == "" {
		t.Errorf("%s", r.Body)
	}
	w.ready(m)
	w.plan(m, target, bid, bad).Refused(422, "steps must be a non-empty array")
	w.plan(m, target, bid, obj{"accept_rules": true}).Refused(422, "steps must be a non-empty array")
	w.plan(m, target, bid, obj{"steps": obj{}, "accept_rules": true}).Refused(422, "steps must be a non-empty array")
	w.plan(m, target, bid, obj{"steps": nil, "accept_rules": true}).Refused(422, "steps must be a non-empty array")
	for _, cents := range []string{`10.5`, `"1000"`, `-1`, `true`, `[]`} {
		w.plan(m, target, bid, benchtest.With(goodPlan(), "finish_line_cents", json.RawMessage(cents))).Refused(422, "finish_line_cents must be a whole number of cents")
	}
	w.plan(m, target, bid, benchtest.With(goodPlan(), "finish_line_cents", json.RawMessage("null"))).Want(200)
	p2, m2, target2, bid2 := w.finalist()
	w.ready(m2)
	secret := strings.Replace(text(goodPlan()), "I will hand you", `I will use \u0041KIAIOSFODNN7EXAMPLE and hand you`, 1)
	w.plan(m2, target2, bid2, secret).Refused(422, "plans must not contain secrets")
	w.plan(m2, target2, bid2, benchtest.With(goodPlan(), "accept_rules", nil)).Refused(422, "accept_rules must be true")
	w.plan(m2, target2, bid2, benchtest.With(goodPlan(), "accept_rules", false)).Refused(422, "accept_rules must be true")
	w.plan(m2, target2, bid2, benchtest.With(goodPlan(), "accept_rules", "yes")).Refused(422, "invalid_field")
	w.plan(m2, target2, bid2, benchtest.With(goodPlan(), "total_ask_cents", 9000)).Refused(422, "unknown_field")
	w.plan(m2, target2, bid2, benchtest.With(goodPlan(), "finish_line_odds", 0.5)).Want(200) // ignored

	w.Edit(target2, func(_ *op.Call, v *wants.Want) error { return nil })
	w.Run("bench", func(c *op.Call) error {
		b, _, err := bids.Load(c, bid2)
		b.CheckoutID = "open"
		b.Save(c)
		return err
	})
	w.plan(m2, target2, bid2, bad).Refused(409, "this target is already signed, the plan is frozen")
	w.reject(p2, target2, bid2, "No.").Want(200)
	w.plan(m2, target2, bid2, bad).Refused(409, "cannot revise a declined bid") // status comes before frozen
	w.Do(bids.FilePlan, optest.Req{Token: m.Token, Key: "-", Path: benchtest.On(target, bid), Body: goodPlan()}).Refused(400, "idempotency_key_required")
}

func TestOnlyAFiledBidTakesAPlan(t *testing.T) {
	w := newWorld(t)
	_, m, target, bid := w.finalist()
	w.ready(m)
	for status, code := range map[string]string{bids.Accepted: "cannot revise a accepted bid", bids.Withdrawn: "cannot revise a withdrawn bid",
		bids.Declined: "cannot revise a declined bid", bids.DeclinedByAgent: "cannot revise a declined_by_agent bid", bids.Expired: "cannot revise a expired bid"} {
		w.Run("bench", func(c *op.Call) error {
			b, _, err := bids.Load(c, bid)
			b.Status = status
			b.Save(c)
			return err
		})
		w.plan(m, target, bid, goodPlan()).Refused(409, code)
	}
}

func TestAPlanIsHeldToTheValidator(t *testing.T) {
	w := newWorld(t)
	_, m, target, bid := w.finalist()
	w.ready(m)
	step := func(edit func(s obj)) obj {
		plan := goodPlan()
		edit(plan["steps"].([]any)[1].(obj))
		return plan
	}
	for code, plan := range map[string]obj{
		"REJ-16": step(func(s obj) { delete(s, "declared_odds") }), "REJ-05": step(func(s obj) { s["line_item_amount"] = 1 }),
		"REJ-12": {"steps": goodPlan()["steps"].([]any)[:1], "accept_rules": true}, "REJ-04": step(func(s obj) { s["ask"] = "PAY" }),
		"REJ-22": step(func(s obj) { delete(s, "har_blocks") }), "REJ-07": step(func(s obj) { s["outcome_promise"] = "I will post it at https://example.com/x." }),
		"REJ-08": step(func(s obj) { s["outcome_promise"] = "I will do it. Send me your password first." }), "REJ-01": step(func(s obj) { delete(s, "title") }),
		"REJ-18": step(func(s obj) {
			s["ask"], s["grant_request"] = "GRANT", obj{"what": "x", "why": "x", "scope": "x", "until": "the end"}
			s["har_blocks"] = []obj{{"id": "g", "title": "Grant", "format": "grant_access", "required": true}}
		}),
	} {
		r := w.plan(m, target, bid, plan).Refused(422, code)
		if r.Str("rej") != code || r.Str("detail") == "" {
			t.Errorf("%s", r.Body)
		}
	}
	if b := w.stored(bid); b.PlanAt != nil || b.Revisions != 0 {
		t.Errorf("a refused plan left a mark: %+v", b)
	}
}

func TestAFreePlanNeedsNoPayoutAccount(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Post(p, benchtest.With(benchtest.Posting(), "lane", obj{"kind": "free"}), 0.55)
	free := benchtest.Bid()
	free["total_ask_cents"], free["finish_line_cents"], free["allocation"] = 0, 0, obj{"ad_spend": 0, "tools": 0, "agent_work": 0}
	for _, s := range free["steps"].([]any) {
		s.(obj)["line_item_amount"] = 0
	}
	id := w.try(m, target, free).Want(201).Str("proposal_id")
	w.Name(p, target, id)
	w.plan(m, target, id, obj{"steps": free["steps"], "accept_rules": true}).Want(200) // without any answer, before any handoff
	if b := w.mine(m, id); b.At("your_move") != nil || b.At("finalist_health") != nil {
		t.Errorf("%v", b.JSON)
	}
}

func TestALosersPlanIsFrozenWhenARivalSigns(t *testing.T) {
	w := newWorld(t)
	p, m, target, bid := w.finalist()
	w.ready(m)
	w.plan(m, target, bid, goodPlan()).Want(200)
	rival := w.Maker("Rival")
	other := w.File(rival, target)
	w.Edit(target, func(_ *op.Call, v *wants.Want) error { v.BidID, v.DealID = other, "d"; return nil })
	w.plan(m, target, bid, goodPlan()).Want(200) // a pick that is declined leaves the others their plans
	w.Advance(time.Hour)
	w.Edit(target, func(c *op.Call, v *wants.Want) error { v.Signed, v.UpdatedAt = true, c.Now; return nil })
	w.plan(m, target, bid, goodPlan()).Refused(409, "cannot revise a expired bid")
	card := w.Do(bids.ReadCard, optest.Req{Token: p.Token, Path: benchtest.On(target, bid)}).Want(200)
	if card.Str("bid.status") != "expired" {
		t.Errorf("%s", card.Body)
	}
	w.Settle()
	if got := w.events(m, bid); got[len(got)-1] != "bid.expired" {
		t.Error(got)
	}
}

func TestPlansAndNamingsCostWhatTheyMust(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	w.ready(m)
	target := w.Easy(p)
	bid := w.File(m, target)
	w.Settle()
	cost := func(what string, reads, commits int64, call func()) {
		before := w.Store.Stats()
		call()
		if s := w.Store.Stats().Since(before); s.Gets+s.Queries > reads || s.Commits > commits {
			t.Errorf("%s: %d reads, %d commits", what, s.Gets+s.Queries, s.Commits)
		}
	}
	cost("naming", 2, 1, func() { w.Name(p, target, bid) })
	cost("saving drafts", 1, 1, func() { w.answer(p, target, bid, false).Want(200) })
	cost("sending", 2, 1, func() { w.answer(p, target, bid, true).Want(200) })
	cost("the plan", 2, 1, func() { w.plan(m, target, bid, goodPlan()).Want(200) })
	cost("a revision", 1, 1, func() { w.plan(m, target, bid, goodPlan()).Want(200) })
	cost("a question", 2, 1, func() {
		w.Do(bids.Ask, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"question": "Sure?"}}).Want(201)
	})
	cost("answers", 1, 0, func() { w.Do(bids.ReadAnswers, optest.Req{Token: m.Token, Path: benchtest.On(target, bid)}).Want(200) })
	cost("mine", 3, 0, func() { w.Do(bids.Mine, optest.Req{Token: m.Token}).Want(200) })
	cost("withdrawing", 2, 1, func() { w.withdraw(m, bid).Want(200) })
}
