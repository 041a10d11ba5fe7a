// Package paytest is the contract of pkg/pay as a test suite: every adapter passes it.
package paytest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/pay"
)

// Subject is one fresh processor under test.
type Subject struct {
	Processor pay.Processor
	Now       func() time.Time
	// Control plays the world around the processor; nil where nothing can (a server that
	// only knows shapes): then only what needs no memory is checked.
	Control *Control
}

// Control plays the people and the network.
type Control struct {
	Advance  func(time.Duration)
	Complete func(checkoutID string, result pay.CheckoutStatus) error
	SetReady func(makerID string, ready bool) error
	// Fail makes the next n calls fail, after their effect or before it.
	Fail func(n int, afterEffect bool) error
	// Events returns the notices sent since it was last called, verified and read.
	Events func(t *testing.T) []pay.Event
}

// Run runs the suite; open is called once for each test.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	stateless := []test{
		{"a checkout has an address, an amount and an end", checkoutShape},
		{"an account has an id and a fresh link", accountShape},
		{"invalid calls are refused before they are sent", invalid},
		{"an ended context calls nothing", ended},
	}
	stateful := []test{
		{"a paid checkout becomes a payment and says what it was for", paid},
		{"a checkout ends failed, expired, by us or by time", endings},
		{"a paid checkout cannot be expired", expirePaid},
		{"the same key gives the same result, together too", sameKey},
		{"a key with other parameters is refused", otherParameters},
		{"a lost answer is found by our key and not done twice", lostAnswer},
		{"a failed call had no effect", failed},
		{"a forgotten key does it again, so one looks first", forgotten},
		{"a refusal is remembered and a new attempt is free", refusals},
		{"no more leaves a payment than came in", conserved},
		{"an account is ready when it is reported so", ready},
		{"an instrument has one fingerprint, and two have two", instruments},
	}
	for _, c := range stateless {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
	if open(t).Control == nil {
		t.Log("behaviour is not checked here: the processor remembers nothing")
		return
	}
	for _, c := range stateful {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

type test struct {
	name string
	run  func(*testing.T, Subject)
}

func checkoutRequest(key string, cents int64) pay.CheckoutRequest {
	return pay.CheckoutRequest{Key: key, AmountCents: cents, Description: "Fund: a garden plan", CustomerEmail: "ada@example.org",
		SuccessURL: "https://example.com/paid", CancelURL: "https://example.com/want",
		Refs: pay.Refs{WantID: "want-1", ProposalID: "proposal-1"}}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fund makes a checkout, pays it and returns the payment's id.
func fund(t *testing.T, s Subject, key string, cents int64) string {
	t.Helper()
	c := must[pay.Checkout](t)(s.Processor.CreateCheckout(t.Context(), checkoutRequest(key, cents)))
	ok(t, s.Control.Complete(c.ID, pay.Paid))
	c = must[pay.Checkout](t)(s.Processor.GetCheckout(t.Context(), c.ID))
	if c.Status != pay.Paid || c.PaymentID == "" {
		t.Fatalf("paid checkout: %+v", c)
	}
	return c.PaymentID
}

// onboard makes an account that is ready.
func onboard(t *testing.T, s Subject, maker string) string {
	t.Helper()
	a := must[pay.Account](t)(s.Processor.CreateAccount(t.Context(), pay.AccountRequest{Key: "account/" + maker, MakerID: maker}))
	ok(t, s.Control.SetReady(maker, true))
	return a.ID
}

func transferRequest(key, account, payment string, cents int64) pay.TransferRequest {
	return pay.TransferRequest{Key: key, AccountID: account, AmountCents: cents, DealID: "deal-1", PaymentID: payment}
}

func refusedWith(t *testing.T, err error, code pay.Code) {
	t.Helper()
	if !pay.RefusedWith(err, code) || !errors.Is(err, pay.ErrRefused) {
		t.Errorf("%v, want a refusal %s", err, code)
	}
}

func paid(t *testing.T, s Subject) {
	r := checkoutRequest("checkout/1", 12_000)
	c := must[pay.Checkout](t)(s.Processor.CreateCheckout(t.Context(), r))
	if c.Status != pay.Open || c.AmountCents != 12_000 || c.PaymentID != "" || !c.ExpiresAt.Equal(s.Now().Add(pay.CheckoutLife)) {
		t.Errorf("new checkout %+v", c)
	}
	ok(t, s.Control.Complete(c.ID, pay.Paid))
	events := s.Control.Events(t)
	if len(events) != 1 || events[0].Type != pay.CheckoutCompleted || events[0].Checkout == nil {
		t.Fatalf("events %+v, want one completed checkout", events)
	}
	e := events[0].Checkout
	if e.ID != c.ID || e.Status != pay.Paid || e.AmountCents != 12_000 || e.PaymentID == "" || e.Refs != r.Refs {
		t.Errorf("event %+v", e)
	}
	if now := must[pay.Checkout](t)(s.Processor.GetCheckout(t.Context(), c.ID)); now.PaymentID != e.PaymentID || now.Status != pay.Paid {
		t.Errorf("the checkout is %+v, its event said %+v", now, e)
	}
	_, err := s.Processor.GetCheckout(t.Context(), "cs_unknown")
	refusedWith(t, err, pay.NotFound)
}

func endings(t *testing.T, s Subject) {
	open := func(key string) string {
		r := checkoutRequest(key, 500)
		r.ExpiresAt = s.Now().Add(time.Hour)
		return must[pay.Checkout](t)(s.Processor.CreateCheckout(t.Context(), r)).ID
	}
	failing, expiring, ours, late := open("1"), open("2"), open("3"), open("4")
	ok(t, s.Control.Complete(failing, pay.Failed))
	ok(t, s.Control.Complete(expiring, pay.Expired))
	for range 2 {
		if c := must[pay.Checkout](t)(s.Processor.ExpireCheckout(t.Context(), ours)); c.Status != pay.Expired {
			t.Errorf("expired by us: %+v", c)
		}
	}
	s.Control.Advance(time.Hour)
	if c := must[pay.Checkout](t)(s.Processor.GetCheckout(t.Context(), late)); c.Status != pay.Expired {
		t.Errorf("expired by time: %+v", c)
	}
	if s.Control.Complete(late, pay.Paid) == nil {
		t.Error("an expired checkout was paid")
	}
	want := map[string]pay.CheckoutStatus{failing: pay.Failed, expiring: pay.Expired, ours: pay.Expired, late: pay.Expired}
	for _, e := range s.Control.Events(t) {
		if e.Checkout == nil || e.Checkout.Status != want[e.Checkout.ID] {
			t.Errorf("event %+v, want %v", e, want)
			continue
		}
		delete(want, e.Checkout.ID)
	}
	if len(want) > 0 {
		t.Errorf("no event for %v", want)
	}
}

func expirePaid(t *testing.T, s Subject) {
	c := must[pay.Checkout](t)(s.Processor.CreateCheckout(t.Context(), checkoutRequest("1", 500)))
	ok(t, s.Control.Complete(c.ID, pay.Paid))
	if c = must[pay.Checkout](t)(s.Processor.ExpireCheckout(t.Context(), c.ID)); c.Status != pay.Paid || c.PaymentID == "" {
		t.Errorf("a paid checkout expired: %+v", c)
	}
	_, err := s.Processor.ExpireCheckout(t.Context(), "cs_unknown")
	refusedWith(t, err, pay.NotFound)
}

func sameKey(t *testing.T, s Subject) {
	payment, account := fund(t, s, "checkout/1", 1000), onboard(t, s, "m1")
	s.Control.Events(t)
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			tr, err := s.Processor.Transfer(t.Context(), transferRequest("release/1", account, payment, 300))
			if err != nil {
				t.Errorf("Transfer: %v", err)
			}
			ids[i] = tr.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("transfers %v, want one", ids)
			break
		}
	}
	if events := s.Control.Events(t); len(events) != 1 || events[0].Transfer == nil || events[0].Transfer.Key != "release/1" {
		t.Errorf("events %+v, want one transfer", events)
	}
	a := must[pay.Refund](t)(s.Processor.Refund(t.Context(), pay.RefundRequest{Key: "return/1", PaymentID: payment, AmountCents: 700}))
	b := must[pay.Refund](t)(s.Processor.Refund(t.Context(), pay.RefundRequest{Key: "return/1", PaymentID: payment, AmountCents: 700}))
	if a != b {
		t.Errorf("refunds %+v and %+v under one key", a, b)
	}
	again := must[pay.Checkout](t)(s.Processor.CreateCheckout(t.Context(), checkoutRequest("checkout/1", 1000)))
	if again.PaymentID != "" || again.Status != pay.Open {
		t.Errorf("the first answer came back as %+v", again)
	}
}

func otherParameters(t *testing.T, s Subject) {
	payment, account := fund(t, s, "checkout/1", 1000), onboard(t, s, "m1")
	must[pay.Transfer](t)(s.Processor.Transfer(t.Context(), transferRequest("release/1", account, payment, 300)))
	_, err := s.Processor.Transfer(t.Context(), transferRequest("release/1", account, payment, 301))
	refusedWith(t, err, pay.KeyReused)
	_, err = s.Processor.CreateCheckout(t.Context(), checkoutRequest("checkout/1", 1001))
	refusedWith(t, err, pay.KeyReused)
}

func lostAnswer(t *testing.T, s Subject) {
	payment, account := fund(t, s, "checkout/1", 1000), onboard(t, s, "m1")
	ok(t, s.Control.Fail(1, true))
	r := transferRequest("release/1", account, payment, 600)
	if _, err := s.Processor.Transfer(t.Context(), r); !errors.Is(err, pay.ErrUnavailable) {
		t.Fatalf("a lost answer: %v, want ErrUnavailable", err)
	}
	seen, there, err := s.Processor.FindTransfer(t.Context(), "release/1", "deal-1")
	if err != nil || !there || seen.AmountCents != 600 || seen.AccountID != account || seen.Key != "release/1" {
		t.Fatalf("FindTransfer: %+v %v %v", seen, there, err)
	}
	if tr := must[pay.Transfer](t)(s.Processor.Transfer(t.Context(), r)); tr.ID != seen.ID {
		t.Errorf("the retry made %+v beside %+v", tr, seen)
	}
	ok(t, s.Control.Fail(1, true))
	back := pay.RefundRequest{Key: "return/1", PaymentID: payment, AmountCents: 400}
	if _, err := s.Processor.Refund(t.Context(), back); !errors.Is(err, pay.ErrUnavailable) {
		t.Fatalf("a lost answer: %v, want ErrUnavailable", err)
	}
	if re, there, err := s.Processor.FindRefund(t.Context(), "return/1", payment); err != nil || !there || re.AmountCents != 400 {
		t.Errorf("FindRefund: %+v %v %v", re, there, err)
	}
}

func failed(t *testing.T, s Subject) {
	payment, account := fund(t, s, "checkout/1", 1000), onboard(t, s, "m1")
	ok(t, s.Control.Fail(1, false))
	r := transferRequest("release/1", account, payment, 600)
	if _, err := s.Processor.Transfer(t.Context(), r); !errors.Is(err, pay.ErrUnavailable) {
		t.Fatalf("a failed call: %v, want ErrUnavailable", err)
	}
	if tr, there, err := s.Processor.FindTransfer(t.Context(), "release/1", "deal-1"); err != nil || there {
		t.Errorf("FindTransfer: %+v %v %v; want none", tr, there, err)
	}
	if re, there, err := s.Processor.FindRefund(t.Context(), "return/1", payment); err != nil || there {
		t.Errorf("FindRefund: %+v %v %v; want none", re, there, err)
	}
	must[pay.Transfer](t)(s.Processor.Transfer(t.Context(), r))
	ok(t, s.Control.Fail(1, false))
	if _, err := s.Processor.AccountStatus(t.Context(), account); !errors.Is(err, pay.ErrUnavailable) {
		t.Errorf("a failed read: %v, want ErrUnavailable", err)
	}
}

func forgotten(t *testing.T, s Subject) {
	payment, account := fund(t, s, "checkout/1", 1000), onboard(t, s, "m1")
	r := transferRequest("release/1", account, payment, 300)
	first := must[pay.Transfer](t)(s.Processor.Transfer(t.Context(), r))
	s.Control.Advance(pay.KeySafe)
	if tr := must[pay.Transfer](t)(s.Processor.Transfer(t.Context(), r)); tr.ID != first.ID {
		t.Errorf("after %v the key made %+v beside %+v", pay.KeySafe, tr, first)
	}
	s.Control.Advance(pay.KeyLife)
	seen, there, err := s.Processor.FindTransfer(t.Context(), "release/1", "deal-1")
	if err != nil || !there || seen.ID != first.ID {
		t.Errorf("FindTransfer after the key is forgotten: %+v %v %v", seen, there, err)
	}
	if _, there, err := s.Processor.FindTransfer(t.Context(), "release/1", "deal-2"); err != nil || there {
		t.Errorf("found under another deal: %v %v", there, err)
	}
}

func refusals(t *testing.T, s Subject) {
	payment := fund(t, s, "checkout/1", 1000)
	a := must[pay.Account](t)(s.Processor.CreateAccount(t.Context(), pay.AccountRequest{Key: "account/m1", MakerID: "m1"}))
	r := transferRequest("release/1", a.ID, payment, 300)
	_, err := s.Processor.Transfer(t.Context(), r)
	refusedWith(t, err, pay.AccountNotReady)
	ok(t, s.Control.SetReady("m1", true))
	_, err = s.Processor.Transfer(t.Context(), r)
	refusedWith(t, err, pay.AccountNotReady)
	r.Attempt = 1
	tr := must[pay.Transfer](t)(s.Processor.Transfer(t.Context(), r))
	if seen, there, err := s.Processor.FindTransfer(t.Context(), "release/1", "deal-1"); err != nil || !there || seen.ID != tr.ID {
		t.Errorf("FindTransfer: %+v %v %v, want %+v", seen, there, err, tr)
	}
	_, err = s.Processor.Transfer(t.Context(), transferRequest("release/2", "acct_unknown", payment, 1))
	refusedWith(t, err, pay.NotFound)
	_, err = s.Processor.Refund(t.Context(), pay.RefundRequest{Key: "return/1", PaymentID: "pi_unknown", AmountCents: 1})
	refusedWith(t, err, pay.NotFound)
	_, err = s.Processor.AccountStatus(t.Context(), "acct_unknown")
	refusedWith(t, err, pay.NotFound)
}

func conserved(t *testing.T, s Subject) {
	payment, account := fund(t, s, "checkout/1", 1000), onboard(t, s, "m1")
	other := fund(t, s, "checkout/2", 500)
	must[pay.Transfer](t)(s.Processor.Transfer(t.Context(), transferRequest("release/1", account, payment, 600)))
	_, err := s.Processor.Transfer(t.Context(), transferRequest("release/2", account, payment, 401))
	refusedWith(t, err, pay.NoFunds)
	_, err = s.Processor.Refund(t.Context(), pay.RefundRequest{Key: "return/1", PaymentID: payment, AmountCents: 401})
	refusedWith(t, err, pay.NoFunds)
	must[pay.Refund](t)(s.Processor.Refund(t.Context(), pay.RefundRequest{Key: "return/2", PaymentID: payment, AmountCents: 400}))
	_, err = s.Processor.Refund(t.Context(), pay.RefundRequest{Key: "return/3", PaymentID: payment, AmountCents: 1})
	refusedWith(t, err, pay.NoFunds)
	must[pay.Transfer](t)(s.Processor.Transfer(t.Context(), transferRequest("release/3", account, other, 500)))
	_, err = s.Processor.Transfer(t.Context(), transferRequest("release/4", account, "", 1))
	refusedWith(t, err, pay.NoFunds)
}

func ready(t *testing.T, s Subject) {
	a := must[pay.Account](t)(s.Processor.CreateAccount(t.Context(), pay.AccountRequest{Key: "account/m1", MakerID: "m1"}))
	for _, want := range []bool{false, true, false} {
		ok(t, s.Control.SetReady("m1", want))
		events := s.Control.Events(t)
		if len(events) != 1 || events[0].Account == nil || events[0].Account.Ready() != want || events[0].Account.ID != a.ID {
			t.Errorf("events %+v, want one account that is ready: %v", events, want)
		}
		if got := must[pay.Account](t)(s.Processor.AccountStatus(t.Context(), a.ID)); got.Ready() != want || got.MakerID != "m1" {
			t.Errorf("status %+v, want ready: %v", got, want)
		}
	}
}

func instruments(t *testing.T, s Subject) {
	one, again := fund(t, s, "checkout/1", 1000), fund(t, s, "checkout/2", 500)
	account := onboard(t, s, "m1")
	card := must[pay.Instrument](t)(s.Processor.PaidWith(t.Context(), one))
	if !card.Known() || card != must[pay.Instrument](t)(s.Processor.PaidWith(t.Context(), again)) {
		t.Error("one person's card has two fingerprints")
	}
	banks := must[[]pay.Instrument](t)(s.Processor.PaidOutTo(t.Context(), account))
	if len(banks) != 1 || !banks[0].Known() || banks[0] == card {
		t.Errorf("%d instruments of an account, one is a stranger's card: %v", len(banks), len(banks) > 0 && banks[0] == card)
	}
	other := onboard(t, s, "m2")
	if b := must[[]pay.Instrument](t)(s.Processor.PaidOutTo(t.Context(), other)); len(b) != 1 || b[0] == banks[0] {
		t.Error("two agents are paid out to one account")
	}
	empty := must[pay.Account](t)(s.Processor.CreateAccount(t.Context(), pay.AccountRequest{Key: "account/m3", MakerID: "m3"}))
	if b := must[[]pay.Instrument](t)(s.Processor.PaidOutTo(t.Context(), empty.ID)); len(b) != 0 {
		t.Errorf("an account nobody filled in is paid out to %d", len(b))
	}
	_, err := s.Processor.PaidWith(t.Context(), "pi_unknown")
	refusedWith(t, err, pay.NotFound)
	_, err = s.Processor.PaidOutTo(t.Context(), "acct_unknown")
	refusedWith(t, err, pay.NotFound)
	ok(t, s.Control.Fail(2, false))
	if _, err := s.Processor.PaidWith(t.Context(), one); !errors.Is(err, pay.ErrUnavailable) {
		t.Errorf("a failed read: %v", err)
	}
	if _, err := s.Processor.PaidOutTo(t.Context(), account); !errors.Is(err, pay.ErrUnavailable) {
		t.Errorf("a failed read: %v", err)
	}
}
