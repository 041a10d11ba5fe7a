package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"guildhall/pkg/catalog"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
	"guildhall/pkg/site"
)

// pages serves the web pages, those of the simulated payment processor included.
func (x *Exchange) pages() http.Handler {
	return site.Handler(site.Config{Caller: x.Engine, Find: catalog.Find, BaseURL: x.BaseURL, Till: till{x}, Now: x.Clock.Now, Log: x.Log,
		FormKey: id.Keyring{Current: x.Keys.Uploads[0], Previous: x.Keys.Uploads[1:]},
		NewID: func() string {
			s, err := id.New(rand.Reader)
			if err != nil {
				panic("wire: no randomness")
			}
			return s
		}})
}

// till serves the simulated processor's pages.
type till struct{ x *Exchange }

// settleTime bounds how long a page waits for what a payment causes to happen. It happens
// without the wait too.
const settleTime = 5 * time.Second

// tell lets the exchange hear of a payment before the page goes on.
func (t till) tell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if _, err := t.x.Runner.Settle(ctx); err != nil {
		t.x.Log.Warn("payment told later", "operation", "page.till", "cause", err.Error())
	}
}

// Checkout implements site.Till.
func (t till) Checkout(_ context.Context, id string) (site.Checkout, error) {
	c, err := t.x.Payments.CheckoutPage(id)
	if err != nil {
		return site.Checkout{}, tillFault(err)
	}
	return site.Checkout{ID: c.ID, Cents: c.AmountCents, What: c.Description, Status: string(c.Status), Success: c.SuccessURL, Cancel: c.CancelURL,
		ExpiresAt: c.ExpiresAt}, nil
}

// Pay implements site.Till.
func (t till) Pay(ctx context.Context, id string, paid bool) error {
	result := pay.Failed
	if paid {
		result = pay.Paid
	}
	if err := t.x.Payments.Complete(id, result); err != nil {
		return tillFault(err)
	}
	t.tell(ctx)
	return nil
}

// Onboarding implements site.Till.
func (t till) Onboarding(_ context.Context, link string) (site.Onboarding, error) {
	o, err := t.x.Payments.OnboardingPage(link)
	if err != nil {
		return site.Onboarding{}, tillFault(err)
	}
	return site.Onboarding{Link: link, MakerID: o.MakerID, Ready: o.Ready, Expired: o.Expired, Return: o.ReturnURL, Refresh: o.RefreshURL}, nil
}

// Finish implements site.Till.
func (t till) Finish(ctx context.Context, link string) error {
	if err := t.x.Payments.FinishOnboarding(link); err != nil {
		return tillFault(err)
	}
	t.tell(ctx)
	return nil
}

func tillFault(err error) error {
	switch {
	case pay.RefusedWith(err, pay.NotFound):
		return fault.BareNotFound
	case errors.Is(err, simulated.ErrClosed):
		return fault.New(fault.Conflict, "checkout_closed", "This page is not open any more: it was used, or its time is over.")
	}
	return err
}
