package site

import (
	"context"
	"net/url"
	"strings"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Till is the counter of the simulated payment processor: where a person pays and an
// operator gets its payout account ready. A real processor has pages of its own.
type Till interface {
	// Checkout finds a checkout; fault.BareNotFound where there is none.
	Checkout(ctx context.Context, id string) (Checkout, error)
	// Pay ends an open checkout, as paid or as declined by the card. One that is not open
	// any more is a fault.Conflict.
	Pay(ctx context.Context, id string, paid bool) error
	// Onboarding finds the form behind an onboarding address.
	Onboarding(ctx context.Context, link string) (Onboarding, error)
	// Finish completes it: the payout account becomes ready.
	Finish(ctx context.Context, link string) error
}

// Checkout is a page on which a person pays.
type Checkout struct {
	ID        string
	Cents     int64
	What      string
	Status    string // open, processing, paid, failed or expired
	Success   string // address after paying
	Cancel    string // address after giving up
	ExpiresAt time.Time
}

// Onboarding is an operator's form for a payout account.
type Onboarding struct {
	Link    string
	MakerID string
	Ready   bool
	Expired bool
	Return  string
	Refresh string
}

// tillPages: the simulated processor's pages, and where operators come back from a real one.
func (s *site) tillPages() []*page.Page {
	says := func(title, text string) func(*page.Visit) (*page.Answer, error) {
		return func(*page.Visit) (*page.Answer, error) { return done(title, text), nil }
	}
	pages := []*page.Page{
		{ID: "payout.return", Path: "/payout/return", Auth: op.Public,
			Get: says("Thank you", "You can close this and tell your agent. It sees within a minute whether its payout account is ready.")},
		{ID: "payout.refresh", Path: "/payout/refresh", Auth: op.Public,
			Get: says("This address is no longer good", "An address for the payout form works once, for a few minutes. Ask your agent for a new one.")},
		{ID: "payout.handoff", Path: "/payout/handoff", Auth: op.Public, Calls: []string{"bench.payout.attest"}, Get: handoffPage, Forms: forms{"attest": s.attest}},
	}
	if s.Till == nil {
		return pages
	}
	pay := forms{"pay": s.pay, "decline": s.refusePayment}
	return append(pages,
		&page.Page{ID: "checkout.pay", Path: "/pay/{id}", Auth: op.Public, Get: s.checkoutPage, Forms: pay},
		&page.Page{ID: "simulated.checkout", Path: "/simulated/checkout/{id}", Auth: op.Public, Get: s.checkoutPage, Forms: pay},
		&page.Page{ID: "simulated.onboarding", Path: "/simulated/onboarding/{link}", Auth: op.Public, Get: s.onboardingPage, Forms: forms{"ready": s.finishOnboarding}})
}

// local turns an address of ours into a path; "" for another site's.
func (s *site) local(address string) string {
	path, ours := strings.CutPrefix(address, s.BaseURL)
	if !ours || !strings.HasPrefix(path, "/") {
		return ""
	}
	return page.Local(path)
}

// checkoutView is the page of a checkout.
type checkoutView struct {
	Checkout Checkout
	Open     bool
	Back     string
}

func (s *site) checkoutPage(v *page.Visit) (*page.Answer, error) {
	c, err := s.Till.Checkout(v, v.Path["id"])
	if err != nil {
		return nil, err
	}
	back := s.local(c.Cancel)
	if c.Status == "paid" {
		back = s.local(c.Success)
	}
	return &page.Answer{View: "pay", Title: "Pay " + dollars(c.Cents), Data: checkoutView{c, c.Status == "open", back}}, nil
}

func (s *site) pay(v *page.Visit) (*page.Answer, error) {
	c, err := s.finishCheckout(v, true)
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: begun(s.local(c.Success), "paid")}, nil
}

// refusePayment is the card being declined: nothing is written, and the person is told.
func (s *site) refusePayment(v *page.Visit) (*page.Answer, error) {
	c, err := s.finishCheckout(v, false)
	if err != nil {
		return nil, err
	}
	return &page.Answer{Status: fault.PaymentFailed.Status(), View: "done", Title: "The card was declined",
		Data: finished{"Nothing was paid and nothing was written. The bid is still there.", s.local(c.Cancel), "Back to the bid"}}, nil
}

// finishCheckout ends a checkout. Pressed twice, the second press finds it ended the same
// way and changes nothing.
func (s *site) finishCheckout(v *page.Visit, paid bool) (Checkout, error) {
	c, err := s.Till.Checkout(v, v.Path["id"])
	if err != nil {
		return c, err
	}
	if paid && c.Status == "paid" || !paid && c.Status == "failed" {
		return c, nil
	}
	return c, s.Till.Pay(v, c.ID, paid)
}

// begun adds the sentence a page begins with to its path.
func begun(path, sentence string) string {
	u, err := url.Parse(path)
	if err != nil || path == "" {
		return "/"
	}
	q := u.Query()
	q.Set("said", sentence)
	u.RawQuery = q.Encode()
	return u.String()
}

func (s *site) onboardingPage(v *page.Visit) (*page.Answer, error) {
	o, err := s.Till.Onboarding(v, v.Path["link"])
	if err != nil {
		return nil, err
	}
	if o.Expired && !o.Ready {
		return &page.Answer{To: s.local(o.Refresh)}, nil
	}
	return &page.Answer{View: "onboarding", Title: "Payout account", Data: o}, nil
}

func (s *site) finishOnboarding(v *page.Visit) (*page.Answer, error) {
	o, err := s.Till.Onboarding(v, v.Path["link"])
	if err != nil {
		return nil, err
	}
	if err := s.Till.Finish(v, o.Link); err != nil {
		return nil, err
	}
	return &page.Answer{To: s.local(o.Return)}, nil
}

func handoffPage(v *page.Visit) (*page.Answer, error) {
	l := link{}
	if v.Form != nil {
		l.Link = v.Form.Get("link")
	}
	return &page.Answer{View: "handoff", Title: "Before the payout form", Data: l}, nil
}

// attest takes the operator's word and shows the way to the form.
func (s *site) attest(v *page.Visit) (*page.Answer, error) {
	var out struct {
		URL string `json:"url"`
	}
	err := v.Do("bench.payout.attest", page.Call{Into: &out, Body: map[string]any{
		"token": strings.TrimSpace(v.Form.Get("link")), "attested": v.Form.Get("attested") != ""}})
	if err != nil {
		return nil, err
	}
	if path := s.local(out.URL); path != "" {
		return &page.Answer{To: path}, nil
	}
	return &page.Answer{View: "done", Title: "Thank you", Data: finished{"The payout form is at our payment processor. We never see your bank details.", out.URL, "Open the payout form"}}, nil
}
