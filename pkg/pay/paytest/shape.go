package paytest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/pay"
)

func checkoutShape(t *testing.T, s Subject) {
	c := must[pay.Checkout](t)(s.Processor.CreateCheckout(t.Context(), checkoutRequest("checkout/1", 12_000)))
	if c.ID == "" || !strings.HasPrefix(c.URL, "http") || c.ExpiresAt.IsZero() {
		t.Errorf("checkout %+v", c)
	}
}

func accountShape(t *testing.T, s Subject) {
	a := must[pay.Account](t)(s.Processor.CreateAccount(t.Context(), pay.AccountRequest{Key: "account/1", MakerID: "m1", Email: "op@example.org"}))
	if a.ID == "" {
		t.Fatalf("account %+v", a)
	}
	l := must[pay.Link](t)(s.Processor.AccountLink(t.Context(), pay.LinkRequest{Key: "link/1", AccountID: a.ID,
		ReturnURL: "https://example.com/done", RefreshURL: "https://example.com/again"}))
	if !strings.HasPrefix(l.URL, "http") || l.ExpiresAt.IsZero() {
		t.Errorf("link %+v", l)
	}
	must[pay.Account](t)(s.Processor.AccountStatus(t.Context(), a.ID))
}

func invalid(t *testing.T, s Subject) {
	ctx, p := t.Context(), s.Processor
	for what, change := range map[string]func(*pay.CheckoutRequest){
		"no key":           func(r *pay.CheckoutRequest) { r.Key = "" },
		"a long key":       func(r *pay.CheckoutRequest) { r.Key = strings.Repeat("k", pay.MaxKeyBytes+1) },
		"a blank in a key": func(r *pay.CheckoutRequest) { r.Key = "a b" },
		"no money":         func(r *pay.CheckoutRequest) { r.AmountCents = 0 },
		"too little":       func(r *pay.CheckoutRequest) { r.AmountCents = pay.MinCheckoutCents - 1 },
		"too much":         func(r *pay.CheckoutRequest) { r.AmountCents = pay.MaxAmountCents + 1 },
		"negative money":   func(r *pay.CheckoutRequest) { r.AmountCents = -100 },
		"no description":   func(r *pay.CheckoutRequest) { r.Description = "" },
		"no way back":      func(r *pay.CheckoutRequest) { r.SuccessURL = "" },
		"a line in a ref":  func(r *pay.CheckoutRequest) { r.Refs.DealID = "a\nb" },
		"too near an end":  func(r *pay.CheckoutRequest) { r.ExpiresAt = s.Now().Add(pay.MinCheckoutLife - time.Minute) },
		"too far an end":   func(r *pay.CheckoutRequest) { r.ExpiresAt = s.Now().Add(pay.CheckoutLife + time.Minute) },
	} {
		r := checkoutRequest("checkout/1", 12_000)
		change(&r)
		if _, err := p.CreateCheckout(ctx, r); !errors.Is(err, pay.ErrInvalid) {
			t.Errorf("checkout with %s: %v, want ErrInvalid", what, err)
		}
	}
	good := transferRequest("t", "acct", "pi", 1)
	for what, change := range map[string]func(*pay.TransferRequest){
		"no key": func(r *pay.TransferRequest) { r.Key = "" }, "no account": func(r *pay.TransferRequest) { r.AccountID = "" },
		"no money": func(r *pay.TransferRequest) { r.AmountCents = 0 }, "no deal": func(r *pay.TransferRequest) { r.DealID = "" },
		"a negative attempt": func(r *pay.TransferRequest) { r.Attempt = -1 },
	} {
		r := good
		change(&r)
		if _, err := p.Transfer(ctx, r); !errors.Is(err, pay.ErrInvalid) {
			t.Errorf("transfer with %s: %v, want ErrInvalid", what, err)
		}
	}
	if _, err := p.Refund(ctx, pay.RefundRequest{Key: "r", PaymentID: "pi"}); !errors.Is(err, pay.ErrInvalid) {
		t.Errorf("refund of nothing: %v, want ErrInvalid", err)
	}
	if _, err := p.CreateAccount(ctx, pay.AccountRequest{Key: "a"}); !errors.Is(err, pay.ErrInvalid) {
		t.Errorf("account of nobody: %v, want ErrInvalid", err)
	}
	if _, err := p.AccountLink(ctx, pay.LinkRequest{Key: "l", AccountID: "acct"}); !errors.Is(err, pay.ErrInvalid) {
		t.Errorf("link without a way back: %v, want ErrInvalid", err)
	}
}

func ended(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Processor.CreateCheckout(ctx, checkoutRequest("checkout/1", 12_000)); err == nil {
		t.Error("CreateCheckout with an ended context succeeded")
	}
	if _, err := s.Processor.AccountStatus(ctx, "acct"); err == nil {
		t.Error("AccountStatus with an ended context succeeded")
	}
}
