package simulated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/pay"
	"guildhall/pkg/pay/paytest"
)

const secret = "whsec_simulated"

// fakeClock moves only when told to.
type fakeClock struct{ millis atomic.Int64 }

func newClock() *fakeClock {
	c := &fakeClock{}
	c.millis.Store(time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *fakeClock) Now() time.Time          { return time.UnixMilli(c.millis.Load()).UTC() }
func (c *fakeClock) Advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }

func open(t *testing.T, c *fakeClock, store Storage) *Processor {
	t.Helper()
	p, err := New(Options{Clock: c.Now, BaseURL: "http://localhost:8080", WebhookSecret: secret, Storage: store})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// inbox is the exchange's side of the webhooks: it verifies and reads what arrives.
type inbox struct {
	clock  *fakeClock
	events []pay.Event
	refuse bool
}

func (in *inbox) take(_ context.Context, w Webhook) error {
	if in.refuse {
		return errors.New("down")
	}
	e, err := pay.ReceiveWebhook([]string{secret}, w.Signature, w.Body, in.clock.Now())
	if err == nil {
		in.events = append(in.events, e)
	}
	return err
}

func subject(t *testing.T, store Storage) paytest.Subject {
	c := newClock()
	p := open(t, c, store)
	return paytest.Subject{Processor: p, Now: c.Now, Control: &paytest.Control{
		Advance: c.Advance, Complete: p.Complete, SetReady: p.SetReady,
		Fail: func(n int, afterEffect bool) error {
			if afterEffect {
				return p.SetMode(ModeTimeout, n)
			}
			return p.SetMode(ModeFail, n)
		},
		Events: func(t *testing.T) []pay.Event {
			in := &inbox{clock: c}
			if _, err := p.Deliver(t.Context(), in.take); err != nil {
				t.Fatal(err)
			}
			return in.events
		},
	}}
}

func TestSuite(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		paytest.Run(t, func(t *testing.T) paytest.Subject { return subject(t, nil) })
	})
	t.Run("file", func(t *testing.T) {
		paytest.Run(t, func(t *testing.T) paytest.Subject {
			return subject(t, File{filepath.Join(t.TempDir(), "payments.json")})
		})
	})
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func checkoutOf(t *testing.T, p *Processor, key string, cents int64) pay.Checkout {
	t.Helper()
	c, err := p.CreateCheckout(t.Context(), pay.CheckoutRequest{Key: key, AmountCents: cents, Description: "d",
		SuccessURL: "http://x/s", CancelURL: "http://x/c", Refs: pay.Refs{DealID: "deal-1"}})
	ok(t, err)
	return c
}

// funded returns a paid payment and a ready account.
func funded(t *testing.T, p *Processor, cents int64) (payment, account string) {
	t.Helper()
	c := checkoutOf(t, p, "checkout/1", cents)
	ok(t, p.Complete(c.ID, pay.Paid))
	c, err := p.GetCheckout(t.Context(), c.ID)
	ok(t, err)
	a, err := p.CreateAccount(t.Context(), pay.AccountRequest{Key: "account/m1", MakerID: "m1"})
	ok(t, err)
	ok(t, p.SetReady("m1", true))
	return c.PaymentID, a.ID
}

func TestCallsAreRecordedInOrderWithTheShapeOfTheLocalControls(t *testing.T) {
	c := newClock()
	p := open(t, c, nil)
	payment, account := funded(t, p, 1000)
	_, err := p.AccountLink(t.Context(), pay.LinkRequest{Key: "link/1", AccountID: account, ReturnURL: "http://x/r", RefreshURL: "http://x/f"})
	ok(t, err)
	r := pay.TransferRequest{Key: "release/1", AccountID: account, AmountCents: 300, DealID: "deal-1", PaymentID: payment}
	ok(t, p.SetMode(ModeFail, 1))
	for range 3 { // dropped, done, replayed
		p.Transfer(t.Context(), r)
	}
	ok(t, p.SetMode(ModeTimeout, 1))
	p.Refund(t.Context(), pay.RefundRequest{Key: "return/1", PaymentID: payment, AmountCents: 700, DealID: "deal-1"})
	var got []string
	for _, c := range p.Calls() {
		got = append(got, fmt.Sprint(c.Kind, " ", c.Key, " ", c.AmountCents, " ", c.Outcome))
	}
	want := []string{"charge checkout/1 1000 done", "account account/m1 0 done", "link link/1 0 done", "transfer release/1 300 dropped",
		"transfer release/1 300 done", "transfer release/1 300 replayed", "refund return/1 700 lost_answer"}
	if !slices.Equal(got, want) {
		t.Errorf("calls\n%q\nwant\n%q", got, want)
	}
	if n := len(p.Effects()); n != 5 {
		t.Errorf("%d effects, want 5", n)
	}
	shown, err := json.Marshal(p.Calls()[:2])
	ok(t, err)
	if s := `[{"kind":"charge","key":"checkout/1","amount_cents":1000,"deal_id":"deal-1","at":"2026-03-08T10:59:00.000Z","outcome":"done"},` +
		`{"kind":"account","key":"account/m1","amount_cents":0,"deal_id":null,"at":"2026-03-08T10:59:00.000Z","outcome":"done"}]`; string(shown) != s {
		t.Errorf("shown %s\nwant  %s", shown, s)
	}
}

func TestAForgottenKeyMakesASecondTransfer(t *testing.T) {
	c := newClock()
	p := open(t, c, nil)
	payment, account := funded(t, p, 1000)
	r := pay.TransferRequest{Key: "release/1", AccountID: account, AmountCents: 300, DealID: "deal-1", PaymentID: payment}
	first, err := p.Transfer(t.Context(), r)
	ok(t, err)
	c.Advance(pay.KeyLife)
	second, err := p.Transfer(t.Context(), r)
	ok(t, err)
	if first.ID == second.ID {
		t.Error("the key was still known after a day: the worst real processor forgets it")
	}
	found, there, err := p.FindTransfer(t.Context(), "release/1", "deal-1")
	if err != nil || !there || found.ID != first.ID {
		t.Errorf("found %+v, want the first", found)
	}
}

func TestModesEndAfterTheirCount(t *testing.T) {
	p := open(t, newClock(), nil)
	ok(t, p.SetMode(ModeFail, 2))
	for i, want := range []bool{false, false, true} {
		_, err := p.AccountStatus(t.Context(), "acct_x")
		if errors.Is(err, pay.ErrUnavailable) == want {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	ok(t, p.SetMode(ModeFail, 5))
	ok(t, p.SetMode(ModeOK, 0))
	checkoutOf(t, p, "k", 100)
	for _, bad := range []struct {
		mode  Mode
		count int
	}{{"", 1}, {"slow", 1}, {ModeFail, -1}, {ModeFail, maxCount + 1}} {
		if err := p.SetMode(bad.mode, bad.count); !errors.Is(err, ErrControl) {
			t.Errorf("SetMode(%q, %d): %v, want ErrControl", bad.mode, bad.count, err)
		}
	}
}

func TestControlsRefuseWhatCannotHappen(t *testing.T) {
	p := open(t, newClock(), nil)
	c := checkoutOf(t, p, "k", 100)
	if err := p.Complete(c.ID, "lost"); !errors.Is(err, ErrControl) {
		t.Errorf("an unknown result: %v, want ErrControl", err)
	}
	if err := p.Complete("cs_x", pay.Paid); !pay.RefusedWith(err, pay.NotFound) {
		t.Errorf("an unknown checkout: %v, want not found", err)
	}
	ok(t, p.Complete(c.ID, pay.Paid))
	for _, again := range []pay.CheckoutStatus{pay.Paid, pay.Failed, pay.Expired} {
		if err := p.Complete(c.ID, again); !errors.Is(err, ErrClosed) {
			t.Errorf("a paid checkout ended %s: %v, want ErrClosed", again, err)
		}
	}
	if err := p.SetReady("", true); !errors.Is(err, ErrControl) {
		t.Errorf("nobody is ready: %v, want ErrControl", err)
	}
	if p.Dispute("pi_x", "fraudulent") == nil || p.Reverse("tr_x") == nil {
		t.Error("something unknown was disputed or reversed")
	}
}

func TestAnAgentWithoutAnAccountGetsOneWhenItIsReportedReady(t *testing.T) {
	c := newClock()
	p := open(t, c, nil)
	ok(t, p.SetReady("m9", true))
	in := &inbox{clock: c}
	if _, err := p.Deliver(t.Context(), in.take); err != nil || len(in.events) != 1 {
		t.Fatalf("events %+v, %v", in.events, err)
	}
	if a := in.events[0].Account; a.MakerID != "m9" || !a.Ready() || a.ID == "" {
		t.Errorf("account %+v", a)
	}
}

func TestDisputesAndReversalsAreTold(t *testing.T) {
	c := newClock()
	p := open(t, c, nil)
	payment, account := funded(t, p, 1000)
	tr, err := p.Transfer(t.Context(), pay.TransferRequest{Key: "r", AccountID: account, AmountCents: 1000, DealID: "deal-1", PaymentID: payment})
	ok(t, err)
	ok(t, p.Reverse(tr.ID))
	ok(t, p.Dispute(payment, "fraudulent"))
	if p.Reverse(tr.ID) == nil {
		t.Error("a transfer was reversed twice")
	}
	in := &inbox{clock: c}
	_, err = p.Deliver(t.Context(), in.take)
	ok(t, err)
	last := in.events[len(in.events)-2:]
	if last[0].Type != pay.TransferReversed || !last[0].Transfer.Reversed || last[1].Dispute.AmountCents != 1000 || last[1].Dispute.PaymentID != payment {
		t.Errorf("events %+v", last)
	}
	if _, err := p.Refund(t.Context(), pay.RefundRequest{Key: "b", PaymentID: payment, AmountCents: 1000}); err != nil {
		t.Errorf("reversed money cannot be returned: %v", err)
	}
}

func TestWebhooksComeAgainUntilAcceptedAndAreGivenUpAfterThreeDays(t *testing.T) {
	c := newClock()
	p := open(t, c, nil)
	ok(t, p.SetReady("m1", true))
	in := &inbox{clock: c, refuse: true}
	tries := 0
	for start := c.Now(); ; tries++ {
		due, waits := p.NextDue()
		if !waits {
			if age := c.Now().Sub(start); age < giveUpAfter || age > giveUpAfter+longestRetry {
				t.Errorf("given up after %v", age)
			}
			break
		}
		c.Advance(due.Sub(c.Now()))
		if n, err := p.Deliver(t.Context(), in.take); err != nil || n != 0 {
			t.Fatalf("Deliver: %d, %v", n, err)
		}
	}
	if tries < 10 || tries > 30 {
		t.Errorf("%d tries", tries)
	}
	ok(t, p.SetReady("m1", false))
	p.Deliver(t.Context(), in.take)
	in.refuse = false
	if n, err := p.Deliver(t.Context(), in.take); err != nil || n != 0 {
		t.Errorf("delivered again before it was due: %d, %v", n, err)
	}
	c.Advance(firstRetry)
	if n, err := p.Deliver(t.Context(), in.take); err != nil || n != 1 || len(in.events) != 1 {
		t.Errorf("delivered %d, %v; want 1", n, err)
	}
}

func TestWebhooksMayComeTwiceAndOutOfOrder(t *testing.T) {
	c := newClock()
	p, err := New(Options{Clock: c.Now, WebhookSecret: secret, Order: func(n int) []int {
		order := []int{-1, n} // passed over
		for i := n - 1; i > 0; i-- {
			order = append(order, i, i)
		}
		return order
	}})
	ok(t, err)
	for i := range 3 {
		ok(t, p.SetReady(fmt.Sprint("m", i), true))
	}
	in := &inbox{clock: c}
	makers := func() string {
		var out string
		for _, e := range in.events {
			out += e.Account.MakerID + " "
		}
		in.events = nil
		return out
	}
	_, err = p.Deliver(t.Context(), in.take)
	ok(t, err)
	if got := makers(); got != "m2 m2 m1 m1 " {
		t.Errorf("delivered %s", got)
	}
	p.opts.Order = nil
	_, err = p.Deliver(t.Context(), in.take)
	ok(t, err)
	if got := makers(); got != "m0 " {
		t.Errorf("delivered %s, want the one left out", got)
	}
	if n := p.Repeat(t.Context(), in.take); n != 3 || makers() != "m0 m1 m2 " {
		t.Errorf("repeated %d", n)
	}
}

func TestASinkMayCallTheProcessor(t *testing.T) {
	c := newClock()
	p := open(t, c, nil)
	ok(t, p.SetReady("m1", true))
	n, err := p.Deliver(t.Context(), func(ctx context.Context, w Webhook) error {
		e, err := pay.ReceiveWebhook([]string{secret}, w.Signature, w.Body, c.Now())
		if err != nil {
			return err
		}
		_, err = p.AccountStatus(ctx, e.Account.ID)
		return err
	})
	if n != 1 || err != nil {
		t.Errorf("delivered %d, %v", n, err)
	}
}

func TestNextDueIsTheEndOfACheckoutOrTheNextWebhook(t *testing.T) {
	c := newClock()
	p := open(t, c, nil)
	if due, waits := p.NextDue(); waits {
		t.Errorf("something is due at %v", due)
	}
	made := checkoutOf(t, p, "k", 100)
	if due, _ := p.NextDue(); !due.Equal(made.ExpiresAt) {
		t.Errorf("due at %v, want %v", due, made.ExpiresAt)
	}
	c.Advance(25 * time.Hour)
	in := &inbox{clock: c}
	if n, err := p.Deliver(t.Context(), in.take); err != nil || n != 1 || !in.events[0].CreatedAt.Equal(made.ExpiresAt) {
		t.Errorf("delivered %+v, %v; want the expiry at its own time", in.events, err)
	}
}

func TestEverythingIsThereAfterARestart(t *testing.T) {
	c := newClock()
	store := File{filepath.Join(t.TempDir(), "payments.json")}
	p := open(t, c, store)
	payment, account := funded(t, p, 1000)
	ok(t, p.SetMode(ModeTimeout, 2))
	r := pay.TransferRequest{Key: "release/1", AccountID: account, AmountCents: 300, DealID: "deal-1", PaymentID: payment}
	if _, err := p.Transfer(t.Context(), r); !errors.Is(err, pay.ErrUnavailable) {
		t.Fatal(err)
	}
	again := open(t, c, store)
	if !reflect.DeepEqual(again.Calls(), p.Calls()) {
		t.Errorf("calls %+v, want %+v", again.Calls(), p.Calls())
	}
	if _, err := again.AccountStatus(t.Context(), account); !errors.Is(err, pay.ErrUnavailable) {
		t.Errorf("the mode is gone: %v", err)
	}
	tr, err := again.Transfer(t.Context(), r)
	ok(t, err)
	if found, there, err := again.FindTransfer(t.Context(), "release/1", "deal-1"); err != nil || !there || found.ID != tr.ID {
		t.Errorf("found %+v %v %v", found, there, err)
	}
	if n := len(again.Effects()); n != 3 {
		t.Errorf("%d effects, want 3: %+v", n, again.Effects())
	}
	in := &inbox{clock: c}
	if _, err := again.Deliver(t.Context(), in.take); err != nil || len(in.events) != 3 {
		t.Errorf("%d webhooks, %v; want the three that waited", len(in.events), err)
	}
	if info, err := os.Stat(store.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// breaking is a Storage whose next saves fail.
type breaking struct {
	File
	broken bool
}

func (b *breaking) Save(data []byte) error {
	if b.broken {
		return errors.New("disk full")
	}
	return b.File.Save(data)
}

func TestACallThatCannotBeSavedHasNotHappened(t *testing.T) {
	store := &breaking{File: File{filepath.Join(t.TempDir(), "payments.json")}}
	c := newClock()
	p := open(t, c, store)
	store.broken = true
	if _, err := p.CreateAccount(t.Context(), pay.AccountRequest{Key: "a", MakerID: "m"}); !errors.Is(err, pay.ErrUnavailable) {
		t.Errorf("the first call: %v, want ErrUnavailable", err)
	}
	store.broken = false
	payment, account := funded(t, p, 1000)
	store.broken = true
	r := pay.TransferRequest{Key: "release/1", AccountID: account, AmountCents: 1000, DealID: "deal-1", PaymentID: payment}
	if _, err := p.Transfer(t.Context(), r); !errors.Is(err, pay.ErrUnavailable) {
		t.Errorf("Transfer: %v, want ErrUnavailable", err)
	}
	if _, there, err := p.FindTransfer(t.Context(), "release/1", "deal-1"); err != nil || there {
		t.Errorf("a transfer that was not saved is there: %v %v", there, err)
	}
	store.broken = false
	if _, err := p.Transfer(t.Context(), r); err != nil {
		t.Errorf("Transfer again: %v", err)
	}
	if n := len(open(t, c, store).Effects()); n != 3 {
		t.Errorf("%d effects, want 3", n)
	}
}

func TestReadsDoNotWrite(t *testing.T) {
	store := &breaking{File: File{filepath.Join(t.TempDir(), "payments.json")}}
	p := open(t, newClock(), store)
	c := checkoutOf(t, p, "k", 100)
	store.broken = true
	if _, err := p.GetCheckout(t.Context(), c.ID); err != nil {
		t.Errorf("a read wrote: %v", err)
	}
	if _, err := p.Deliver(t.Context(), nil); err != nil {
		t.Errorf("a delivery of nothing wrote: %v", err)
	}
}

func TestADamagedStateIsNotOverwritten(t *testing.T) {
	store := File{filepath.Join(t.TempDir(), "payments.json")}
	ok(t, os.WriteFile(store.Path, []byte("{"), 0o600))
	if _, err := New(Options{Clock: newClock().Now, Storage: store}); err == nil {
		t.Error("a damaged state was opened")
	}
}
