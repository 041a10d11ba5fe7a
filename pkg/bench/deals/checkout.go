package deals

import (
	"errors"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/table"
)

// States of a checkout.
const (
	checkoutOpen      = "open"
	checkoutPaid      = "paid"      // and its deal exists
	checkoutFailed    = "failed"    // the payment was refused
	checkoutExpired   = "expired"   // nobody paid in time
	checkoutCancelled = "cancelled" // a newer one took its place
	checkoutReturned  = "returned"  // paid too late: everything goes back
)

// Checkout is a page on which a person pays for a deal. Its id is the processor's.
type Checkout struct {
	ID         string      `json:"id"`
	TargetID   string      `json:"target_id"`
	ProposalID string      `json:"proposal_id"`
	PersonID   string      `json:"person_id"`
	Cents      int64       `json:"cents"`
	URL        string      `json:"url"`
	State      string      `json:"state"`
	OpenedAt   time.Time   `json:"opened_at"`
	ExpiresAt  time.Time   `json:"expires_at"`
	Payment    string      `json:"payment,omitempty"`
	DealID     string      `json:"deal_id,omitempty"`
	ClosedAt   time.Time   `json:"closed_at,omitzero"`
	Timer      clock.Timer `json:"timer,omitzero"`
}

// openCheckout is a want's pointer to its open checkout. N counts the checkouts the want
// ever had.
type openCheckout struct {
	ID string `json:"id,omitempty"`
	N  int    `json:"n"`
}

// CheckoutKey is the row of a checkout.
func CheckoutKey(id string) table.Key { return table.Key{PK: "bench.CHECKOUT#" + id, SK: "ROOT"} }

func openCheckoutKey(target string) table.Key {
	return table.Key{PK: "bench.TARGET#" + target, SK: "CHECKOUT"}
}

// Looks at an open checkout, in case the processor's notice got lost.
const (
	firstLook  = 10 * time.Minute
	laterLooks = time.Hour
	lastLook   = time.Minute // after the checkout's own end

	TimerCheckout = "checkout.look"
	EffectLook    = "checkout.look-up"
	EffectCancel  = "checkout.cancel"
)

// replaceCheckout cancels the want's open checkout: here at once, at the processor after
// the commit. Should it be paid all the same, the payment goes back.
func replaceCheckout(c *op.Call, next *bids.Bid, old string) error {
	if old == "" {
		return nil
	}
	k, found, err := op.Load[Checkout](c, CheckoutKey(old))
	if err != nil || !found || k.State != checkoutOpen {
		return err
	}
	k.close(c, checkoutCancelled)
	c.Effect(EffectCancel, "cancel:"+k.ID, k.ID)
	if k.ProposalID == next.ID {
		return nil // its bid is written with the new checkout
	}
	return thaw(c, &k)
}

// close stages the end of an open checkout.
func (k *Checkout) close(c *op.Call, state string) {
	c.Disarm(k.Timer)
	k.State, k.ClosedAt, k.Timer = state, c.Now, clock.Timer{}
	c.Put(CheckoutKey(k.ID), k)
}

// thaw lets the bid of a closed checkout be revised again.
func thaw(c *op.Call, k *Checkout) error {
	b, found, err := bids.Load(c, k.ProposalID)
	if err != nil || !found || b.CheckoutID != k.ID {
		return err
	}
	b.CheckoutID = ""
	b.Save(c)
	return nil
}

// fireCheckout looks an open checkout up.
func fireCheckout(c *op.Call, t op.Fired) error {
	k, found, err := op.Load[Checkout](c, CheckoutKey(t.Subject))
	if err != nil || !found || k.State != checkoutOpen || !k.Timer.Due.Equal(t.Due) {
		return err
	}
	next := c.Now.Add(laterLooks)
	if end := k.ExpiresAt.Add(lastLook); c.Now.Before(end) && next.After(end) {
		next = end
	}
	k.Timer = c.Arm(TimerCheckout, k.ID, next)
	c.Put(CheckoutKey(k.ID), k)
	c.Effect(EffectLook, "look:"+k.ID, k.ID)
	return nil
}

func checkoutID(t op.Fired) (id string, err error) {
	err = op.Decode(t.Payload, &id)
	return id, err
}

func lookCheckout(c *op.Call, t op.Fired) (any, error) {
	id, err := checkoutID(t)
	if err != nil {
		return nil, err
	}
	got, err := pay.From(c).GetCheckout(c, id)
	if errors.Is(err, pay.ErrRefused) {
		return pay.Checkout{ID: id, Status: pay.Expired}, nil // the processor knows no such page
	}
	return got, err
}

func lookedCheckout(c *op.Call, _ op.Fired, result any) error {
	return settleCheckout(c, result.(pay.Checkout))
}

// cancelCheckout ends a replaced checkout at the processor. One that was paid meanwhile
// stays paid there, and the money goes back, whether or not its notice ever comes.
func cancelCheckout(c *op.Call, t op.Fired) (any, error) {
	id, err := checkoutID(t)
	if err != nil {
		return nil, err
	}
	got, err := pay.From(c).ExpireCheckout(c, id)
	if errors.Is(err, pay.ErrRefused) {
		return lookCheckout(c, t)
	}
	return got, err
}

// settleCheckout takes the processor's word on a checkout. It is safe to say twice.
func settleCheckout(c *op.Call, got pay.Checkout) error {
	k, found, err := op.Load[Checkout](c, CheckoutKey(got.ID))
	if err != nil {
		return err
	}
	switch {
	case !found && got.Status == pay.Paid && got.Refs.ProposalID != "" && got.Refs.TipID == "":
		return money.ReturnPayment(c, got.PaymentID, got.AmountCents, "no checkout of ours")
	case !found || k.State == checkoutPaid || k.State == checkoutReturned:
		return nil
	case got.Status == pay.Paid:
		return k.paid(c, got)
	case k.State != checkoutOpen:
		return nil
	case got.Status == pay.Failed:
		k.close(c, checkoutFailed)
	case got.Status == pay.Expired:
		k.close(c, checkoutExpired)
	default:
		return nil
	}
	if err := k.forget(c); err != nil {
		return err
	}
	return thaw(c, &k)
}

// forget clears the want's pointer while it still names this checkout.
func (k *Checkout) forget(c *op.Call) error {
	open, _, err := op.Load[openCheckout](c, openCheckoutKey(k.TargetID))
	if err == nil && open.ID == k.ID {
		open.ID = ""
		c.Put(openCheckoutKey(k.TargetID), open)
	}
	return err
}

// gone tells whether one of the parties left while the person was paying.
func (k *Checkout) gone(c *op.Call, o *offer) (bool, error) {
	p, found, err := op.Load[account.Person](c, account.PersonKey(k.PersonID))
	return !found || !p.ClosedAt.IsZero() || !o.agent.DelistedAt.IsZero(), err
}

// paid makes the deal of a paid checkout, or returns the payment when its bid can no
// longer be accepted, and says so.
func (k *Checkout) paid(c *op.Call, got pay.Checkout) error {
	o := &offer{}
	w, _, err := wants.Load(c, k.TargetID)
	if err != nil {
		return err
	}
	o.want = w
	if err := o.read(c, k.ProposalID); err != nil {
		return err
	}
	wasOpen := k.State == checkoutOpen
	k.Payment = got.PaymentID
	if err := k.forget(c); err != nil {
		return err
	}
	gone, err := k.gone(c, o)
	if err != nil {
		return err
	}
	if gone || o.live() != nil || !wasOpen || got.AmountCents != k.Cents {
		k.close(c, checkoutReturned)
		if err := thaw(c, k); err != nil {
			return err
		}
		Tell(c, k.PersonID, Notice{Kind: "checkout.returned", WantID: k.TargetID,
			Subject: "Your payment goes back to you", At: c.Now, Link: "/wants/" + k.TargetID,
			Body: "Your payment of " + dollars(got.AmountCents) + " arrived when the bid could no longer be accepted. All of it goes back to you by itself, within 5 to 10 days."}, true, true)
		return money.ReturnPayment(c, got.PaymentID, got.AmountCents, "the bid could not be accepted any more")
	}
	d, err := o.deal(c, got.PaymentID)
	if err != nil {
		return err
	}
	k.DealID = d.ID
	k.close(c, checkoutPaid)
	return Commit(c, d, nil)
}
