package deals_test

import (
	"context"
	"testing"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
)

func freeBid() m {
	b := dealtest.BidOf(0, dealtest.Step("Find the place", "APPROVE", 0), dealtest.Step("Book it", "APPROVE", 0))
	return b
}

func TestAFreeBidNeedsNoCheckout(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(freeBid())
	res := d.Accept().Want(201)
	if res.Str("status") != "picked" || res.Str("deal_id") == "" || res.At("checkout_id") != nil {
		t.Fatalf("%s", res.Body)
	}
	if len(w.Bank.Effects()) != 0 && dealtest.Has([]string{string(w.Bank.Effects()[0].Kind)}, "charge") {
		t.Fatal("a free deal was charged")
	}
}

func TestAcceptanceRefusesInOrder(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	other, _ := w.Agent("Other")
	_ = other
	call := func(body m) optest.Res {
		return d.Do(deals.Accept, optest.Req{Token: d.Person, Path: d.Paths(), Body: body})
	}
	call(m{}).Refused(422, "accept_rules must be true")
	call(m{"accept_rules": false, "plan_revised_at": "soon"}).Refused(422, "accept_rules must be true")
	call(m{"accept_rules": true, "plan_revised_at": "soon"}).Refused(422, "invalid_field")
	call(m{"accept_rules": true, "tip": 5}).Refused(422, "unknown_field")

	_, stranger := w.Person("stranger@example.test")
	d.Do(deals.Accept, optest.Req{Token: stranger, Path: d.Paths(), Body: m{"accept_rules": true}}).Refused(404, "not found")
	bad := d.Paths()
	bad["proposal_id"] = bad["target_id"]
	d.Do(deals.Accept, optest.Req{Token: d.Person, Path: bad, Body: m{"accept_rules": true}}).Refused(404, "not found")
	bad["proposal_id"] = "x"
	d.Do(deals.Accept, optest.Req{Token: d.Person, Path: bad, Body: m{"accept_rules": true}}).Refused(404, "not found")

	call(m{"accept_rules": true, "plan_revised_at": "2020-01-01T00:00:00Z"}).Refused(409, "plan_changed")
	change := func(fn func(a *registry.Agent)) {
		w.Run("bench", func(c *op.Call) error {
			a, err := registry.Load(c, d.AgentID)
			fn(&a)
			c.Put(registry.AgentKey(a.ID), a)
			return err
		})
	}
	change(func(a *registry.Agent) { a.ReachableAt, a.Payout.Ready = time.Time{}, false })
	call(m{"accept_rules": true, "plan_revised_at": "2020-01-01T00:00:00Z"}).Refused(409, "plan_changed")
	call(m{"accept_rules": true}).Refused(422, "agent_not_reachable")
	change(func(a *registry.Agent) { a.ReachableAt = w.Now() })
	res := call(m{"accept_rules": true}).Refused(409, "payout_not_ready")
	if res.Str("onboarding_link_call") == "" || res.Str("next_step") == "" {
		t.Fatalf("%s", res.Body)
	}
	change(func(a *registry.Agent) { a.Payout.Ready = true })

	plan := d.Do(bids.Mine, optest.Req{Token: d.Agent}).Want(200).Str("proposals.0.plan_revised_at")
	call(m{"accept_rules": true, "plan_revised_at": plan}).Want(201)
}

func TestOnlyAFinalistWithAPlanIsAccepted(t *testing.T) {
	w := newWorld(t)
	d := w.posted(dealtest.Easy())
	d.Target = d.Want(dealtest.Easy())
	d.Bid = d.Do(bids.FileProposal, optest.Req{Token: d.Agent, Path: d.Paths(), Body: dealtest.Easy()}).Want(201).Str("proposal_id")
	d.Accept().Refused(409, "not_finalist")
	d.Do(bids.Name, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"proposal_id": d.Bid}}).Want(201)
	d.Accept().Refused(409, "plan_not_yet_informed")
	d.Do(bids.Answer, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"answers": []m{}, "send": true}}).Want(200)
	w.Advance(bids.PlanDeadline + time.Minute)
	d.Accept().Refused(409, "not_filed")
}

func TestALegacyBidIsAcceptedStraightFromItsFiling(t *testing.T) {
	w := newWorld(t)
	d := w.posted(dealtest.Easy())
	d.Target = d.Want(dealtest.Easy())
	d.Bid = d.Do(bids.FileProposal, optest.Req{Token: d.Agent, Path: d.Paths(), Body: dealtest.Easy()}).Want(201).Str("proposal_id")
	w.Run("bench", func(c *op.Call) error { // as bids were before the four questions
		p, err := bids.LoadProposal(c, d.Bid)
		if err != nil {
			return err
		}
		p.FinalistQuestions = nil
		c.Put(bids.BodyKey(d.Bid), p)
		return nil
	})
	d.Pick()
	d.Sign().Refused(422, "accept_rules must be true")
	d.Do(deals.Sign, optest.Req{Token: d.Agent, Path: d.Paths(), Body: m{"accept_rules": true}}).Want(200)
	if got := d.Stored(); !got.AgentSignedAt.Equal(w.Now()) {
		t.Fatal(got.AgentSignedAt)
	}
}

func TestAnAmountNoCardTakesIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.BidOf(0, dealtest.Step("One", "APPROVE", 20), dealtest.Step("Two", "APPROVE", 20)))
	d.Accept().Refused(422, "amount_not_chargeable")
}

func TestOneCheckoutPerWantTheNewerCancelsTheOlder(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	first := d.Accept().Want(201).Str("checkout_id")
	d.Do(bids.FilePlan, optest.Req{Token: d.Agent, Path: d.Paths(), Body: m{"steps": dealtest.Easy()["steps"]}}).
		Refused(409, "this target is already signed, the plan is frozen")
	second := d.Accept().Want(201).Str("checkout_id")
	if first == second {
		t.Fatal("the same checkout again")
	}
	if err := w.Bank.Complete(first, pay.Paid); err != nil {
		t.Fatal(err) // the person was quicker than the cancellation
	}
	w.Settle()
	w.Hooks()
	w.Settle()
	if list := d.Do(deals.ListDeals, optest.Req{Token: d.Person}).Want(200); list.At("deals.0") != nil {
		t.Fatalf("a cancelled checkout made a deal: %s", list.Body)
	}
	if refunds(w) != 9000 {
		t.Fatalf("returned %d", refunds(w))
	}
	if !dealtest.Has(w.Subjects(), "Your payment goes back to you") {
		t.Fatalf("%v", w.Subjects())
	}
	if err := w.Bank.Complete(second, pay.Paid); err != nil {
		t.Fatal(err)
	}
	w.Hooks()
	if list := d.Do(deals.ListDeals, optest.Req{Token: d.Person}).Want(200); list.Str("deals.0.status") != "picked" {
		t.Fatalf("%s", list.Body)
	}
	d.Accept().Refused(409, "already_accepted")
}

func TestACancelledCheckoutThatWasPaidGoesBackWithoutItsNotice(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	first := d.Accept().Want(201).Str("checkout_id")
	d.Accept().Want(201)
	if err := w.Bank.Complete(first, pay.Paid); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute) // the cancellation finds it paid; no notice was delivered
	if refunds(w) != 9000 {
		t.Fatalf("returned %d", refunds(w))
	}
	w.Hooks() // late, and harmless
	w.Advance(time.Minute)
	if refunds(w) != 9000 || !dealtest.Has(w.Subjects(), "Your payment goes back to you") {
		t.Fatalf("returned %d, told %v", refunds(w), w.Subjects())
	}
}

func refunds(w *world) (cents int64) {
	for _, c := range w.Bank.Effects() {
		if c.Kind == simulated.Refund {
			cents += c.AmountCents
		}
	}
	return cents
}

func TestAFailedOrExpiredCheckoutThawsThePlan(t *testing.T) {
	for _, how := range []pay.CheckoutStatus{pay.Failed, pay.Expired} {
		w := newWorld(t)
		d := w.finalist(dealtest.Easy())
		id := d.Accept().Want(201).Str("checkout_id")
		if err := w.Bank.Complete(id, how); err != nil {
			t.Fatal(err)
		}
		w.Hooks()
		d.Do(bids.FilePlan, optest.Req{Token: d.Agent, Path: d.Paths(), Body: m{"steps": dealtest.Easy()["steps"]}}).Want(200)
		d.Pick()
		if a := d.Money(); a.Held != 9000 {
			t.Fatal(a)
		}
	}
}

func TestALostNoticeOnlyCostsTime(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	id := d.Accept().Want(201).Str("checkout_id")
	if err := w.Bank.Complete(id, pay.Paid); err != nil {
		t.Fatal(err)
	}
	w.Advance(11 * time.Minute) // no hook was delivered
	if list := d.Do(deals.ListDeals, optest.Req{Token: d.Person}).Want(200); list.Str("deals.0.status") != "picked" {
		t.Fatalf("%s", list.Body)
	}
	w.Hooks() // late, and harmless
	if n := len(d.Do(deals.ListDeals, optest.Req{Token: d.Person}).Want(200).At("deals").([]any)); n != 1 {
		t.Fatalf("%d deals", n)
	}
	// An open checkout nobody pays ends by itself.
	e := w.finalist(dealtest.Easy())
	e.Accept().Want(201)
	w.Advance(26 * time.Hour)
	if e.TheBid().CheckoutID != "" {
		t.Fatal("an expired checkout still freezes the plan")
	}
}

func TestARepeatedNoticeDoesNothing(t *testing.T) {
	w := newWorld(t)
	d := w.picked(dealtest.Easy())
	n := w.Bank.Repeat(context.Background(), func(_ context.Context, h simulated.Webhook) error {
		w.Do(deals.Hook, optest.Req{Body: h.Body, Header: map[string]string{"Stripe-Signature": h.Signature}}).Want(200)
		return nil
	})
	if n == 0 {
		t.Fatal("nothing was repeated")
	}
	if a := d.Money(); a.Funded != 9000 {
		t.Fatal(a)
	}
}

func TestAPaymentForABidThatIsGoneComesBack(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	id := d.Accept().Want(201).Str("checkout_id")
	d.Do(bids.Withdraw, optest.Req{Token: d.Agent, Path: d.Paths()}).Want(200)
	if err := w.Bank.Complete(id, pay.Paid); err != nil {
		t.Fatal(err)
	}
	w.Hooks()
	w.Settle()
	if refunds(w) != 9000 || d.TheWant().DealID != "" {
		t.Fatalf("returned %d", refunds(w))
	}
	w.Settle()
	w.Hooks()
	if refunds(w) != 9000 {
		t.Fatal("returned twice")
	}
}

func TestTheProcessorIsAskedUnderOneKeyHoweverOftenTheCallIsRetried(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	if err := w.Bank.SetMode(simulated.ModeTimeout, 1); err != nil {
		t.Fatal(err)
	}
	d.Accept().Refused(502, "stripe_unavailable")
	if d.TheBid().CheckoutID != "" {
		t.Fatal("a refused call wrote something")
	}
	d.Accept().Want(201)
	charges := 0
	for _, c := range w.Bank.Effects() {
		if c.Kind == simulated.Charge {
			charges++
		}
	}
	if charges != 1 {
		t.Fatalf("%d checkouts at the processor", charges)
	}
}

func TestAWebhookIsTakenOnlyWithItsSignature(t *testing.T) {
	w := newWorld(t)
	body := []byte(`{"id":"evt_1","type":"ping","created":1}`)
	w.Do(deals.Hook, optest.Req{Body: body}).Refused(400, "bad_signature")
	good := pay.SignWebhook(dealtest.HookSecret, body, w.Now())
	w.Do(deals.Hook, optest.Req{Body: append(body, ' '), Header: map[string]string{"Stripe-Signature": good}}).Refused(400, "bad_signature")
	old := pay.SignWebhook(dealtest.HookSecret, body, w.Now().Add(-time.Hour))
	w.Do(deals.Hook, optest.Req{Body: body, Header: map[string]string{"Stripe-Signature": old}}).Refused(400, "bad_signature")
	w.Do(deals.Hook, optest.Req{Body: body, Header: map[string]string{"Stripe-Signature": good}}).Want(200)
	broken := []byte(`{"id":"evt_2","type":"account.updated","data":{"object":{}}}`)
	w.Do(deals.Hook, optest.Req{Body: broken, Header: map[string]string{"Stripe-Signature": pay.SignWebhook(dealtest.HookSecret, broken, w.Now())}}).
		Refused(400, "bad_event")
}

func TestThePracticeDealMovesNoMoney(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	w.Run("bench", func(c *op.Call) error {
		x, _, err := wants.Load(c, d.Target)
		x.Practice = true
		if err != nil {
			return err
		}
		return x.Save(c)
	})
	if err := w.Bank.SetReady(d.AgentID, false); err != nil {
		t.Fatal(err)
	}
	w.Hooks()
	res := d.Accept().Want(201)
	d.ID = res.Str("deal_id")
	d.Sign().Want(200)
	d.Deliver()
	d.Yes()
	d.Deliver()
	d.Yes()
	d.Yes()
	w.Settle()
	if a := d.Money(); a.Released != 9000 {
		t.Fatalf("the figures are shown: %+v", a)
	}
	for _, c := range w.Bank.Effects() {
		if c.Kind != simulated.Account {
			t.Fatalf("a practice deal called the processor: %+v", c)
		}
	}
	if p := d.Do(deals.Wallet, optest.Req{Token: d.Agent}).Want(200); p.Num("balance.released_cents") != 0 {
		t.Fatalf("%s", p.Body)
	}
}
