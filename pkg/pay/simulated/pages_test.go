package simulated_test

import (
	"context"
	"errors"
	"path"
	"testing"
	"time"

	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
)

func pagesOf(t *testing.T) (*simulated.Processor, *time.Time) {
	t.Helper()
	now := time.Date(2026, 11, 30, 18, 20, 0, 0, time.UTC)
	p, err := simulated.New(simulated.Options{Clock: func() time.Time { return now }, BaseURL: "http://guildhall.test", WebhookSecret: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return p, &now
}

func TestACheckoutsPageSaysWhatItIsForAndWhereToGo(t *testing.T) {
	p, _ := pagesOf(t)
	c, err := p.CreateCheckout(context.Background(), pay.CheckoutRequest{Key: "k", AmountCents: 12_00, Description: "A chair",
		SuccessURL: "http://guildhall.test/wants/1", CancelURL: "http://guildhall.test/wants/1/accept/2"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.CheckoutPage(path.Base(c.URL))
	if err != nil || got.ID != c.ID || got.Status != pay.Open || got.AmountCents != 12_00 || got.Description != "A chair" ||
		got.SuccessURL != "http://guildhall.test/wants/1" || got.CancelURL != "http://guildhall.test/wants/1/accept/2" {
		t.Errorf("page %+v, %v", got, err)
	}
	if _, err := p.CheckoutPage("cs_sim_none"); !pay.RefusedWith(err, pay.NotFound) {
		t.Errorf("an unknown checkout: %v", err)
	}
}

func TestAnOnboardingAddressMakesItsAccountReadyOnce(t *testing.T) {
	p, now := pagesOf(t)
	ctx := context.Background()
	a, err := p.CreateAccount(ctx, pay.AccountRequest{Key: "a", MakerID: "maker"})
	if err != nil {
		t.Fatal(err)
	}
	open := func(key string) string {
		l, err := p.AccountLink(ctx, pay.LinkRequest{Key: key, AccountID: a.ID, ReturnURL: "http://guildhall.test/payout/return", RefreshURL: "http://guildhall.test/payout/refresh"})
		if err != nil {
			t.Fatal(err)
		}
		return path.Base(l.URL)
	}
	old := open("l1")
	*now = now.Add(5 * time.Minute)
	if err := p.FinishOnboarding(old); !errors.Is(err, simulated.ErrClosed) {
		t.Errorf("an address five minutes old: %v", err)
	}
	fresh := open("l2")
	got, err := p.OnboardingPage(fresh)
	if err != nil || got.MakerID != "maker" || got.Ready || got.Expired || got.ReturnURL != "http://guildhall.test/payout/return" {
		t.Errorf("page %+v, %v", got, err)
	}
	for range 2 {
		if err := p.FinishOnboarding(fresh); err != nil {
			t.Errorf("finishing: %v", err)
		}
	}
	if s, err := p.AccountStatus(ctx, a.ID); err != nil || !s.Ready() {
		t.Errorf("account %+v, %v", s, err)
	}
	if got, err := p.OnboardingPage(fresh); err != nil || !got.Ready || !got.Expired {
		t.Errorf("page afterwards %+v, %v", got, err)
	}
	if err := p.FinishOnboarding("link_sim_none"); !pay.RefusedWith(err, pay.NotFound) {
		t.Errorf("an unknown address: %v", err)
	}
}
