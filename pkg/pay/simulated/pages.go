package simulated

import (
	"fmt"
	"time"

	"guildhall/pkg/pay"
)

// A real processor shows pages of its own under the addresses it hands out. What the pages
// under this one's addresses need is here; who serves them is not its business.

// CheckoutPage is what the page under a checkout's address shows.
type CheckoutPage struct {
	pay.Checkout
	Description string
	SuccessURL  string // where a person goes after paying
	CancelURL   string // and after giving up
}

// CheckoutPage looks an address's checkout up by the end of its path, the checkout's id.
func (p *Processor) CheckoutPage(id string) (CheckoutPage, error) {
	var out CheckoutPage
	err := p.control(func(time.Time) error {
		c, ok := p.s.Checkouts[id]
		if !ok {
			return notFound("checkout", id)
		}
		out = CheckoutPage{c.port(), c.What, c.Success, c.Cancel}
		return nil
	})
	return found(out, err)
}

// OnboardingPage is what the page under an onboarding address shows.
type OnboardingPage struct {
	AccountID  string
	MakerID    string
	Ready      bool
	Expired    bool   // the address was used or is too old
	ReturnURL  string // where an operator ends up
	RefreshURL string // and where when the address is no longer good
}

// OnboardingPage looks an onboarding address up by the end of its path.
func (p *Processor) OnboardingPage(link string) (OnboardingPage, error) {
	var out OnboardingPage
	err := p.control(func(now time.Time) error {
		d, ok := p.s.Links[link]
		if !ok {
			return notFound("onboarding address", link)
		}
		a := p.s.Accounts[d.Account]
		out = OnboardingPage{AccountID: a.ID, MakerID: a.MakerID, Ready: a.Ready, Expired: !now.Before(d.Expires), ReturnURL: d.Return, RefreshURL: d.Refresh}
		return nil
	})
	return found(out, err)
}

// FinishOnboarding completes the form under an onboarding address: the account becomes
// ready, and the address is used up. A second call changes nothing.
func (p *Processor) FinishOnboarding(link string) error {
	return p.control(func(now time.Time) error {
		d, ok := p.s.Links[link]
		if !ok {
			return notFound("onboarding address", link)
		}
		a := p.s.Accounts[d.Account]
		switch {
		case a.Ready:
			return nil
		case !now.Before(d.Expires):
			return fmt.Errorf("%w: the address was used or is too old", ErrClosed)
		}
		a.Ready = true
		a.Bank = a.bankOr(true)
		p.s.Accounts[a.ID] = a
		d.Expires = now
		p.s.Links[link] = d
		told := a.port()
		p.tell(pay.Event{Type: pay.AccountUpdated, CreatedAt: now, Account: &told})
		return nil
	})
}

// doorKept is how long an address that is no longer good still leads to its refresh address.
const doorKept = 7 * 24 * time.Hour

// openDoor makes an onboarding address, and forgets those that nobody asks for any more.
func (p *Processor) openDoor(r pay.LinkRequest, now time.Time) link {
	for id, d := range p.s.Links {
		if now.Sub(d.Expires) > doorKept {
			delete(p.s.Links, id)
		}
	}
	id, ends := p.id("link"), now.Add(linkLife)
	p.s.Links[id] = door{Account: r.AccountID, Return: r.ReturnURL, Refresh: r.RefreshURL, Expires: ends}
	return link{URL: p.opts.BaseURL + LinkPath + id, ExpiresAt: ends}
}
