package simulated

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/pay"
)

// Mode is how calls behave (surface 2, POST /_dev/payments/mode).
type Mode string

// The modes.
const (
	ModeOK      Mode = "ok"
	ModeFail    Mode = "fail"                 // no effect and no answer
	ModeTimeout Mode = "timeout_after_effect" // the effect, and no answer
)

// Kind is the kind of a recorded call.
type Kind string

// The kinds.
const (
	Charge   Kind = "charge" // CreateCheckout
	Transfer Kind = "transfer"
	Refund   Kind = "refund"
	Account  Kind = "account"
	Link     Kind = "link"
)

// Outcome is what became of a recorded call.
type Outcome string

// The outcomes. Done and LostAnswer are the calls that had an effect.
const (
	Done       Outcome = "done"
	LostAnswer Outcome = "lost_answer" // had its effect, the caller does not know
	Replayed   Outcome = "replayed"    // answered from its key
	Refused    Outcome = "refused"
	Dropped    Outcome = "dropped" // no effect, no answer
)

// Call is a recorded call as GET /_dev/payments shows it, and what became of it.
type Call struct {
	Kind        Kind    `json:"kind"`
	Key         string  `json:"key"`
	AmountCents int64   `json:"amount_cents"`
	DealID      *string `json:"deal_id"`
	At          string  `json:"at"` // UTC, milliseconds
	Outcome     Outcome `json:"outcome"`
}

// Errors of the controls.
var (
	// ErrControl: the control call is wrong.
	ErrControl = errors.New("simulated: invalid control")
	// ErrClosed: the checkout is not open any more.
	ErrClosed = errors.New("simulated: the checkout is not open")
)

func (p *Processor) record(c call) {
	p.dirty = true
	p.s.Calls = append(p.s.Calls, c)
	if n := len(p.s.Calls) - maxCalls; n > 0 {
		p.s.Calls = slices.Delete(p.s.Calls, 0, n)
	}
}

// Calls returns every call so far, oldest first.
func (p *Processor) Calls() []Call {
	return p.calls(func(Outcome) bool { return true })
}

// Effects returns the calls that had an effect, oldest first: each thing that happened,
// once, however often it was asked for.
func (p *Processor) Effects() []Call {
	return p.calls(func(o Outcome) bool { return o == Done || o == LostAnswer })
}

func (p *Processor) calls(want func(Outcome) bool) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []Call{}
	for _, c := range p.s.Calls {
		if !want(c.Outcome) {
			continue
		}
		shown := Call{Kind: c.Kind, Key: c.Key, AmountCents: c.Amount, At: clock.Stamp(c.At), Outcome: c.Outcome}
		if c.DealID != "" {
			shown.DealID = &c.DealID
		}
		out = append(out, shown)
	}
	return out
}

// SetMode makes the next count calls behave so, reads included; 0 ends a mode.
func (p *Processor) SetMode(next Mode, count int) error {
	if next != ModeOK && next != ModeFail && next != ModeTimeout {
		return fmt.Errorf("%w: mode %q: ok, fail or timeout_after_effect", ErrControl, next)
	}
	if count < 0 || count > maxCount {
		return fmt.Errorf("%w: %d calls: 0 to %d", ErrControl, count, maxCount)
	}
	return p.control(func(time.Time) error {
		p.s.Mode = mode{Next: next, Left: count}
		p.dirty = true
		return nil
	})
}

// control runs a change that comes from outside the exchange.
func (p *Processor) control(do func(now time.Time) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Clock().UTC()
	p.expire(now)
	if err := do(now); err != nil {
		return err
	}
	return p.save()
}

// Complete ends an open checkout as Paid, Failed or Expired, as a person or time would. It is
// paid with the person's own card.
func (p *Processor) Complete(checkoutID string, result pay.CheckoutStatus) error {
	return p.CompleteWith(checkoutID, result, "")
}

// CompleteWith is Complete with a card by its name, "" for the person's own. What has one
// name has one fingerprint, be it a card or a bank account.
func (p *Processor) CompleteWith(checkoutID string, result pay.CheckoutStatus, card string) error {
	return p.control(func(now time.Time) error {
		c, ok := p.s.Checkouts[checkoutID]
		if !ok {
			return notFound("checkout", checkoutID)
		}
		if c.Status != pay.Open {
			return fmt.Errorf("%w: %s is %s", ErrClosed, checkoutID, c.Status)
		}
		switch result {
		case pay.Paid:
			c.PaymentID = p.id("pi")
			p.s.Payments[c.PaymentID] = payment{Amount: c.Amount, Card: cmp.Or(card, c.Card)}
			p.s.Balance += c.Amount
			p.end(c, pay.Paid, pay.CheckoutCompleted, now)
		case pay.Failed:
			p.end(c, pay.Failed, pay.CheckoutFailed, now)
		case pay.Expired:
			p.end(c, pay.Expired, pay.CheckoutExpired, now)
		default:
			return fmt.Errorf("%w: result %q: paid, failed or expired", ErrControl, result)
		}
		return nil
	})
}

// SetReady reports the agent's payout account ready or not. An agent without an account
// gets one, as if its operator had come by another door.
func (p *Processor) SetReady(makerID string, ready bool) error {
	return p.SetReadyWith(makerID, ready, "")
}

// SetReadyWith is SetReady with the bank account that payouts go to from now on, by its name;
// "" leaves it, or is the operator's own where there was none.
func (p *Processor) SetReadyWith(makerID string, ready bool, bank string) error {
	if makerID == "" {
		return fmt.Errorf("%w: no agent is named", ErrControl)
	}
	return p.control(func(now time.Time) error {
		a, ok := p.s.Accounts[p.s.Makers[makerID]]
		if !ok {
			a = p.open(makerID)
		}
		a.Ready = ready
		a.Bank = cmp.Or(bank, a.bankOr(ready))
		p.s.Accounts[a.ID] = a
		told := a.port()
		p.tell(pay.Event{Type: pay.AccountUpdated, CreatedAt: now, Account: &told})
		return nil
	})
}

// Dispute has the payer's bank take a payment back.
func (p *Processor) Dispute(paymentID, reason string) error {
	return p.control(func(now time.Time) error {
		from, ok := p.s.Payments[paymentID]
		if !ok {
			return notFound("payment", paymentID)
		}
		p.tell(pay.Event{Type: pay.DisputeCreated, CreatedAt: now,
			Dispute: &pay.Dispute{ID: p.id("dp"), PaymentID: paymentID, AmountCents: from.Amount, Reason: reason}})
		return nil
	})
}

// Reverse takes a transfer back from the account.
func (p *Processor) Reverse(transferID string) error {
	return p.control(func(now time.Time) error {
		t, ok := p.s.Transfers[transferID]
		if !ok || t.Reversed {
			return notFound("transfer to reverse", transferID)
		}
		t.Reversed = true
		p.s.Transfers[transferID] = t
		p.s.Balance += t.Amount
		if from, ok := p.s.Payments[t.PaymentID]; ok {
			from.Transferred -= t.Amount
			p.s.Payments[t.PaymentID] = from
		}
		told := t.port()
		p.tell(pay.Event{Type: pay.TransferReversed, CreatedAt: now, Transfer: &told})
		return nil
	})
}
