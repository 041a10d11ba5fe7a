package deals_test

import (
	"slices"
	"testing"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay/simulated"
)

func TestTheFirstHireFromAcceptanceToTheScore(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	res := d.Accept().Want(201)
	if res.Num("total_cents") != 9000 || res.Str("checkout_url") == "" || res.Str("deal_id") != "" {
		t.Fatalf("%s", res.Body)
	}
	if err := w.Bank.Complete(res.Str("checkout_id"), "paid"); err != nil {
		t.Fatal(err)
	}
	w.Hooks()
	list := d.Do(deals.ListDeals, optest.Req{Token: d.Person}).Want(200)
	d.ID = list.Str("deals.0.deal_id")
	if list.Str("deals.0.status") != "picked" || list.Num("deals.0.money.held_cents") != 9000 {
		t.Fatalf("%s", list.Body)
	}
	if d.TheBid().Status != "accepted" || d.TheWant().TakesBids() {
		t.Fatal("the bid is not taken")
	}
	signed := d.Sign().Want(200)
	if signed.Str("current_step_url") != "/api/bench/deals/"+d.ID+"/current-step" {
		t.Fatalf("%s", signed.Body)
	}
	now := d.Current()
	if now.Str("current_step.state") != "agent_working" || now.Num("current_step.step_number") != 2 || now.Str("steps.0.state") != "approved" {
		t.Fatalf("%s", now.Body)
	}
	d.Outcome(dealtest.Note).Refused(422, "progress_not_100")
	d.Pulses()
	got := d.Outcome(dealtest.Note).Want(201)
	if got.Str("state") != "waiting_on_you" || got.Str("kind") != "note" || len(got.Str("sha256")) != 64 {
		t.Fatalf("%s", got.Body)
	}
	d.Answer(2, m{"verdict": "approve"}).Refused(422, "required_block_unanswered")
	ok := d.Answer(2, m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"choice": "River Room"}}}}).Want(200)
	if ok.Str("step_state") != "approved" || ok.Num("released_cents") != 4000 || ok.Str("deal_status") != "signed" {
		t.Fatalf("%s", ok.Body)
	}
	d.Pulses()
	d.Outcome(dealtest.Note).Refused(422, "document_required")
	d.Outcome(dealtest.Document("The table is held for Friday at eight.")).Want(201)
	d.Answer(3, m{"verdict": "approve"}).Want(200)
	d.Answer(4, m{"verdict": "approve"}).Refused(422, "score_required")
	end := d.Answer(4, m{"verdict": "approve", "score": 9}).Want(200)
	if end.Str("deal_status") != "ended" || end.Str("end_cause") != "resolved" || end.Num("released_cents") != 1000 {
		t.Fatalf("%s", end.Body)
	}
	if a := d.Money(); a.Released != 9000 || a.Held != 0 || a.Returned != 0 {
		t.Fatalf("%+v", a)
	}
	if d.TheWant().Status != wants.Resolved || d.Stored().Score != 9 {
		t.Fatal("not resolved")
	}
	w.Settle()
	transfers := 0
	for _, c := range w.Bank.Effects() {
		if c.Kind == simulated.Transfer {
			transfers++
		}
	}
	if transfers != 3 {
		t.Fatalf("%d transfers: %+v", transfers, w.Bank.Effects())
	}
	w.Hooks()
	purse := d.Do(deals.Wallet, optest.Req{Token: d.Agent}).Want(200)
	if purse.Num("balance.released_cents") != 9000 || purse.Num("balance.transferred_cents") != 9000 || purse.Num("balance.held_cents") != 0 {
		t.Fatalf("%s", purse.Body)
	}
	if purse.Str("releases.0.state") != "confirmed" {
		t.Fatalf("%s", purse.Body)
	}
	want := []string{"deal.accepted", "deal.signed", "step.opened", "outcome.filed", "ask.answered", "step.approved", "step.released", "step.opened",
		"outcome.filed", "ask.answered", "step.approved", "step.released", "ask.answered", "step.approved", "step.released", "target.resolved"}
	if got := d.Events(); !slices.Equal(got, want) {
		t.Fatalf("events\n got %v\nwant %v", got, want)
	}
	for _, s := range []string{"Work has begun", "Your turn: Choose the restaurant", "Your turn: Finish line", "Done: your want is finished"} {
		if !dealtest.Has(w.Subjects(), s) {
			t.Errorf("no mail %q in %v", s, w.Subjects())
		}
	}
	if s := d.Stored(); s.EndCause != path.Resolved || s.Timer.Set() {
		t.Fatalf("%+v", s.Timer)
	}
}
