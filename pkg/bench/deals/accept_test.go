package deals_test

import (
	"context"
	"testing"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
)

func freeBid() m {
	b := bidOf(0, step("Find the place", "APPROVE", 0), step("Book it", "APPROVE", 0))
	return b
}

func TestAFreeBidNeedsNoCheckout(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(freeBid())
	res := d.accept().Want(201)
	if res.Str("status") != "picked" || res.Str("deal_id") == "" || res.At("checkout_id") != nil {
		t.Fatalf("%s", res.Body)
	}
	if len(w.bank.Effects()) != 0 && has([]string{string(w.bank.Effects()[0].Kind)}, "charge") {
		t.Fatal("a free deal was charged")
	}
}

func TestAcceptanceRefusesInOrder(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(easy())
	other, _ := w.agent("Other")
	_ = other
	call := func(body m) optest.Res {
		return d.Do(deals.Accept, optest.Req{Token: d.person, Path: d.paths(), Body: body})
	}
	call(m{}).Refused(422, "accept_rules must be true")
	call(m{"accept_rules": false, "plan_revised_at": "soon"}).Refused(422, "accept_rules must be true")
	call(m{"accept_rules": true, "plan_revised_at": "soon"}).Refused(422, "invalid_field")
	call(m{"accept_rules": true, "tip": 5}).Refused(422, "unknown_field")

	_, stranger := w.Person("stranger@example.test")
	d.Do(deals.Accept, optest.Req{Token: stranger, Path: d.paths(), Body: m{"accept_rules": true}}).Refused(404, "not found")
	bad := d.paths()
	bad["proposal_id"] = bad["target_id"]
	d.Do(deals.Accept, optest.Req{Token: d.person, Path: bad, Body: m{"accept_rules": true}}).Refused(404, "not found")
	bad["proposal_id"] = "x"
	d.Do(deals.Accept, optest.Req{Token: d.person, Path: bad, Body: m{"accept_rules": true}}).Refused(404, "not found")

	call(m{"accept_rules": true, "plan_revised_at": "2020-01-01T00:00:00Z"}).Refused(409, "plan_changed")
	change := func(fn func(a *registry.Agent)) {
		w.Run("bench", func(c *op.Call) error {
			a, err := registry.Load(c, d.agentID)
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

	plan := d.Do(bids.Mine, optest.Req{Token: d.agent}).Want(200).Str("proposals.0.plan_revised_at")
	call(m{"accept_rules": true, "plan_revised_at": plan}).Want(201)
}

func TestOnlyAFinalistWithAPlanIsAccepted(t *testing.T) {
	w := newWorld(t)
	d := w.posted(easy())
	d.target = d.want(easy())
	d.bid = d.Do(bids.FileProposal, optest.Req{Token: d.agent, Path: d.paths(), Body: easy()}).Want(201).Str("proposal_id")
	d.accept().Refused(409, "not_finalist")
	d.Do(bids.Name, optest.Req{Token: d.person, Path: d.paths(), Body: m{"proposal_id": d.bid}}).Want(201)
	d.accept().Refused(409, "plan_not_yet_informed")
	d.Do(bids.Answer, optest.Req{Token: d.person, Path: d.paths(), Body: m{"answers": []m{}, "send": true}}).Want(200)
	w.Advance(bids.PlanDeadline + time.Minute)
	d.accept().Refused(409, "not_filed")
}

func TestALegacyBidIsAcceptedStraightFromItsFiling(t *testing.T) {
	w := newWorld(t)
	d := w.posted(easy())
	d.target = d.want(easy())
	d.bid = d.Do(bids.FileProposal, optest.Req{Token: d.agent, Path: d.paths(), Body: easy()}).Want(201).Str("proposal_id")
	w.Run("bench", func(c *op.Call) error { // as bids were before the four questions
		p, err := bids.LoadProposal(c, d.bid)
		if err != nil {
			return err
		}
		p.FinalistQuestions = nil
		c.Put(bids.BodyKey(d.bid), p)
		return nil
	})
	d.pick()
	d.sign().Refused(422, "accept_rules must be true")
	d.Do(deals.Sign, optest.Req{Token: d.agent, Path: d.paths(), Body: m{"accept_rules": true}}).Want(200)
	if got := d.stored(); !got.AgentSignedAt.Equal(w.Now()) {
		t.Fatal(got.AgentSignedAt)
	}
}

func TestAnAmountNoCardTakesIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(bidOf(0, step("One", "APPROVE", 20), step("Two", "APPROVE", 20)))
	d.accept().Refused(422, "amount_not_chargeable")
}

func TestOneCheckoutPerWantTheNewerCancelsTheOlder(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(easy())
	first := d.accept().Want(201).Str("checkout_id")
	d.Do(bids.FilePlan, optest.Req{Token: d.agent, Path: d.paths(), Body: m{"steps": easy()["steps"]}}).
		Refused(409, "this target is already signed, the plan is frozen")
	second := d.accept().Want(201).Str("checkout_id")
	if first == second {
		t.Fatal("the same checkout again")
	}
	if err := w.bank.Complete(first, pay.Paid); err != nil {
		t.Fatal(err) // the person was quicker than the cancellation
	}
	w.Settle()
	w.hooks()
	w.Settle()
	if list := d.Do(deals.ListDeals, optest.Req{Token: d.person}).Want(200); list.At("deals.0") != nil {
		t.Fatalf("a cancelled checkout made a deal: %s", list.Body)
	}
	if refunds(w) != 9000 {
		t.Fatalf("returned %d", refunds(w))
	}
	if !has(w.subjects(), "Your payment goes back to you") {
		t.Fatalf("%v", w.subjects())
	}
	if err := w.bank.Complete(second, pay.Paid); err != nil {
		t.Fatal(err)
	}
	w.hooks()
	if list := d.Do(deals.ListDeals, optest.Req{Token: d.person}).Want(200); list.Str("deals.0.status") != "picked" {
		t.Fatalf("%s", list.Body)
	}
	d.accept().Refused(409, "already_accepted")
}

func refunds(w *world) (cents int64) {
	for _, c := range w.bank.Effects() {
		if c.Kind == simulated.Refund {
			cents += c.AmountCents
		}
	}
	return cents
}

func TestAFailedOrExpiredCheckoutThawsThePlan(t *testing.T) {
	for _, how := range []pay.CheckoutStatus{pay.Failed, pay.Expired} {
		w := newWorld(t)
		d := w.finalist(easy())
		id := d.accept().Want(201).Str("checkout_id")
		if err := w.bank.Complete(id, how); err != nil {
			t.Fatal(err)
		}
		w.hooks()
		d.Do(bids.FilePlan, optest.Req{Token: d.agent, Path: d.paths(), Body: m{"steps": easy()["steps"]}}).Want(200)
		d.pick()
		if a := d.money(); a.Held != 9000 {
			t.Fatal(a)
		}
	}
}

func TestALostNoticeOnlyCostsTime(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(easy())
	id := d.accept().Want(201).Str("checkout_id")
	if err := w.bank.Complete(id, pay.Paid); err != nil {
		t.Fatal(err)
	}
	w.Advance(11 * time.Minute) // no hook was delivered
	if list := d.Do(deals.ListDeals, optest.Req{Token: d.person}).Want(200); list.Str("deals.0.status") != "picked" {
		t.Fatalf("%s", list.Body)
	}
	w.hooks() // late, and harmless
	if n := len(d.Do(deals.ListDeals, optest.Req{Token: d.person}).Want(200).At("deals").([]any)); n != 1 {
		t.Fatalf("%d deals", n)
	}
	// An open checkout nobody pays ends by itself.
	e := w.finalist(easy())
	e.accept().Want(201)
	w.Advance(26 * time.Hour)
	if e.theBid().CheckoutID != "" {
		t.Fatal("an expired checkout still freezes the plan")
	}
}

func TestARepeatedNoticeDoesNothing(t *testing.T) {
	w := newWorld(t)
	d := w.picked(easy())
	n := w.bank.Repeat(context.Background(), func(_ context.Context, h simulated.Webhook) error {
		w.Do(deals.Hook, optest.Req{Body: h.Body, Header: map[string]string{"Stripe-Signature": h.Signature}}).Want(200)
		return nil
	})
	if n == 0 {
		t.Fatal("nothing was repeated")
	}
	if a := d.money(); a.Funded != 9000 {
		t.Fatal(a)
	}
}

func TestAPaymentForABidThatIsGoneComesBack(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(easy())
	id := d.accept().Want(201).Str("checkout_id")
	d.Do(bids.Withdraw, optest.Req{Token: d.agent, Path: d.paths()}).Want(200)
	if err := w.bank.Complete(id, pay.Paid); err != nil {
		t.Fatal(err)
	}
	w.hooks()
	w.Settle()
	if refunds(w) != 9000 || d.theWant().DealID != "" {
		t.Fatalf("returned %d", refunds(w))
	}
	w.Settle()
	w.hooks()
	if refunds(w) != 9000 {
		t.Fatal("returned twice")
	}
}

func TestTheProcessorIsAskedUnderOneKeyHoweverOftenTheCallIsRetried(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(easy())
	if err := w.bank.SetMode(simulated.ModeTimeout, 1); err != nil {
		t.Fatal(err)
	}
	d.accept().Refused(502, "stripe_unavailable")
	if d.theBid().CheckoutID != "" {
		t.Fatal("a refused call wrote something")
	}
	d.accept().Want(201)
	charges := 0
	for _, c := range w.bank.Effects() {
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
	good := pay.SignWebhook(hookSecret, body, w.Now())
	w.Do(deals.Hook, optest.Req{Body: append(body, ' '), Header: map[string]string{"Stripe-Signature": good}}).Refused(400, "bad_signature")
	old := pay.SignWebhook(hookSecret, body, w.Now().Add(-time.Hour))
	w.Do(deals.Hook, optest.Req{Body: body, Header: map[string]string{"Stripe-Signature": old}}).Refused(400, "bad_signature")
	w.Do(deals.Hook, optest.Req{Body: body, Header: map[string]string{"Stripe-Signature": good}}).Want(200)
	broken := []byte(`{"id":"evt_2","type":"account.updated","data":{"object":{}}}`)
	w.Do(deals.Hook, optest.Req{Body: broken, Header: map[string]string{"Stripe-Signature": pay.SignWebhook(hookSecret, broken, w.Now())}}).
		Refused(400, "bad_event")
}

func TestThePracticeDealMovesNoMoney(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(easy())
	w.Run("bench", func(c *op.Call) error {
		x, _, err := wants.Load(c, d.target)
		x.Practice = true
		if err != nil {
			return err
		}
		return x.Save(c)
	})
	if err := w.bank.SetReady(d.agentID, false); err != nil {
		t.Fatal(err)
	}
	w.hooks()
	res := d.accept().Want(201)
	d.id = res.Str("deal_id")
	d.sign().Want(200)
	d.deliver()
	d.yes()
	d.deliver()
	d.yes()
	d.yes()
	w.Settle()
	if a := d.money(); a.Released != 9000 {
		t.Fatalf("the figures are shown: %+v", a)
	}
	for _, c := range w.bank.Effects() {
		if c.Kind != simulated.Account {
			t.Fatalf("a practice deal called the processor: %+v", c)
		}
	}
	if p := d.Do(deals.Wallet, optest.Req{Token: d.agent}).Want(200); p.Num("balance.released_cents") != 0 {
		t.Fatalf("%s", p.Body)
	}
}
