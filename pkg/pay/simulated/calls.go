package simulated

import (
	"context"
	"fmt"
	"slices"
	"time"

	"guildhall/pkg/pay"
)

// CreateCheckout implements pay.Processor.
func (p *Processor) CreateCheckout(ctx context.Context, r pay.CheckoutRequest) (pay.Checkout, error) {
	if err := r.Valid(p.opts.Clock()); err != nil {
		return pay.Checkout{}, err
	}
	c := call{Kind: Charge, Key: r.Key, Amount: r.AmountCents, DealID: r.Refs.DealID}
	made, err := keyed(ctx, p, c, r.Key, r, func(now time.Time) (checkout, error) {
		if err := room(len(p.s.Checkouts)); err != nil {
			return checkout{}, err
		}
		id := p.id("cs")
		ends := r.ExpiresAt.UTC()
		if r.ExpiresAt.IsZero() {
			ends = now.Add(pay.CheckoutLife)
		}
		c := checkout{ID: id, URL: p.opts.BaseURL + CheckoutPath + id, Status: pay.Open, Amount: r.AmountCents, Refs: r.Refs, ExpiresAt: ends,
			What: r.Description, Success: r.SuccessURL, Cancel: r.CancelURL, Card: cardOf(r.CustomerEmail, id)}
		p.s.Checkouts[id] = c
		p.s.Open = append(p.s.Open, id)
		return c, nil
	})
	return made.port(), err
}

// ExpireCheckout implements pay.Processor.
func (p *Processor) ExpireCheckout(ctx context.Context, id string) (pay.Checkout, error) {
	var out checkout
	err := p.plain(ctx, func(now time.Time) error {
		c, ok := p.s.Checkouts[id]
		if !ok {
			return notFound("checkout", id)
		}
		if c.Status == pay.Open {
			c = p.end(c, pay.Expired, pay.CheckoutExpired, now)
		}
		out = c
		return nil
	})
	return found(out.port(), err)
}

// found keeps an answer from leaving beside an error.
func found[T any](v T, err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// GetCheckout implements pay.Processor.
func (p *Processor) GetCheckout(ctx context.Context, id string) (pay.Checkout, error) {
	var out checkout
	err := p.plain(ctx, func(time.Time) error {
		c, ok := p.s.Checkouts[id]
		if !ok {
			return notFound("checkout", id)
		}
		out = c
		return nil
	})
	return found(out.port(), err)
}

// end closes an open checkout and tells about it.
func (p *Processor) end(c checkout, status pay.CheckoutStatus, event string, at time.Time) checkout {
	c.Status = status
	p.s.Checkouts[c.ID] = c
	p.s.Open = slices.DeleteFunc(p.s.Open, func(id string) bool { return id == c.ID })
	told := c.port()
	p.tell(pay.Event{Type: event, CreatedAt: at, Checkout: &told})
	return c
}

// expire ends the checkouts whose time is over, in order, each at its own time.
func (p *Processor) expire(now time.Time) {
	for _, id := range slices.Clone(p.s.Open) {
		if c := p.s.Checkouts[id]; !now.Before(c.ExpiresAt) {
			p.end(c, pay.Expired, pay.CheckoutExpired, c.ExpiresAt)
		}
	}
}

// Refund implements pay.Processor.
func (p *Processor) Refund(ctx context.Context, r pay.RefundRequest) (pay.Refund, error) {
	if err := r.Valid(); err != nil {
		return pay.Refund{}, err
	}
	c := call{Kind: Refund, Key: r.Key, Amount: r.AmountCents, DealID: r.DealID}
	made, err := keyed(ctx, p, c, pay.AttemptKey(r.Key, r.Attempt), r, func(time.Time) (refund, error) {
		from, ok := p.s.Payments[r.PaymentID]
		if !ok {
			return refund{}, notFound("payment", r.PaymentID)
		}
		if r.AmountCents > from.left() {
			return refund{}, noFunds(r.AmountCents, from.left())
		}
		from.Refunded += r.AmountCents
		p.s.Payments[r.PaymentID] = from
		p.s.Balance -= r.AmountCents
		made := refund{ID: p.id("re"), Key: r.Key, PaymentID: r.PaymentID, Amount: r.AmountCents}
		if _, twice := p.s.Refunds[r.Key]; !twice {
			p.s.Refunds[r.Key] = made
		}
		return made, nil
	})
	return made.port(), err
}

func noFunds(asked, left int64) error {
	return &pay.Refusal{Code: pay.NoFunds, Message: fmt.Sprintf("%d cents asked, %d there", asked, left)}
}

// FindRefund implements pay.Processor.
func (p *Processor) FindRefund(ctx context.Context, key, paymentID string) (pay.Refund, bool, error) {
	var out refund
	var ok bool
	err := p.plain(ctx, func(time.Time) error {
		out, ok = p.s.Refunds[key]
		return nil
	})
	if err != nil || !ok || out.PaymentID != paymentID {
		return pay.Refund{}, false, err
	}
	return out.port(), true, nil
}

// Transfer implements pay.Processor.
func (p *Processor) Transfer(ctx context.Context, r pay.TransferRequest) (pay.Transfer, error) {
	if err := r.Valid(); err != nil {
		return pay.Transfer{}, err
	}
	c := call{Kind: Transfer, Key: r.Key, Amount: r.AmountCents, DealID: r.DealID}
	made, err := keyed(ctx, p, c, pay.AttemptKey(r.Key, r.Attempt), r, func(now time.Time) (transfer, error) {
		if err := p.cover(r); err != nil {
			return transfer{}, err
		}
		t := transfer{ID: p.id("tr"), Key: r.Key, AccountID: r.AccountID, Amount: r.AmountCents, DealID: r.DealID, PaymentID: r.PaymentID}
		p.s.Transfers[t.ID] = t
		if p.s.Sent[r.Key] == "" {
			p.s.Sent[r.Key] = t.ID
		}
		told := t.port()
		p.tell(pay.Event{Type: pay.TransferCreated, CreatedAt: now, Transfer: &told})
		return t, nil
	})
	return made.port(), err
}

// cover takes the money of a transfer from where it is to come from.
func (p *Processor) cover(r pay.TransferRequest) error {
	if err := room(len(p.s.Transfers)); err != nil {
		return err
	}
	to, ok := p.s.Accounts[r.AccountID]
	if !ok {
		return notFound("account", r.AccountID)
	}
	if !to.Ready {
		return &pay.Refusal{Code: pay.AccountNotReady, Message: "the account cannot take transfers"}
	}
	if r.AmountCents > p.s.Balance {
		return noFunds(r.AmountCents, p.s.Balance)
	}
	if r.PaymentID != "" {
		from, ok := p.s.Payments[r.PaymentID]
		if !ok {
			return notFound("payment", r.PaymentID)
		}
		if r.AmountCents > from.left() {
			return noFunds(r.AmountCents, from.left())
		}
		from.Transferred += r.AmountCents
		p.s.Payments[r.PaymentID] = from
	}
	p.s.Balance -= r.AmountCents
	return nil
}

// FindTransfer implements pay.Processor.
func (p *Processor) FindTransfer(ctx context.Context, key, dealID string) (pay.Transfer, bool, error) {
	var out transfer
	var ok bool
	err := p.plain(ctx, func(time.Time) error {
		out, ok = p.s.Transfers[p.s.Sent[key]]
		return nil
	})
	if err != nil || !ok || out.DealID != dealID {
		return pay.Transfer{}, false, err
	}
	return out.port(), true, nil
}

// CreateAccount implements pay.Processor.
func (p *Processor) CreateAccount(ctx context.Context, r pay.AccountRequest) (pay.Account, error) {
	if err := r.Valid(); err != nil {
		return pay.Account{}, err
	}
	made, err := keyed(ctx, p, call{Kind: Account, Key: r.Key}, r.Key, r, func(time.Time) (account, error) {
		if err := room(len(p.s.Accounts)); err != nil {
			return account{}, err
		}
		return p.open(r.MakerID), nil
	})
	return found(made.port(), err)
}

func (p *Processor) open(makerID string) account {
	a := account{ID: p.id("acct"), MakerID: makerID}
	p.s.Accounts[a.ID] = a
	p.s.Makers[makerID] = a.ID
	return a
}

// AccountLink implements pay.Processor.
func (p *Processor) AccountLink(ctx context.Context, r pay.LinkRequest) (pay.Link, error) {
	if err := r.Valid(); err != nil {
		return pay.Link{}, err
	}
	made, err := keyed(ctx, p, call{Kind: Link, Key: r.Key}, r.Key, r, func(now time.Time) (link, error) {
		if _, ok := p.s.Accounts[r.AccountID]; !ok {
			return link{}, notFound("account", r.AccountID)
		}
		return p.openDoor(r, now), nil
	})
	return pay.Link(made), err
}

// AccountStatus implements pay.Processor.
func (p *Processor) AccountStatus(ctx context.Context, id string) (pay.Account, error) {
	var out account
	err := p.plain(ctx, func(time.Time) error {
		a, ok := p.s.Accounts[id]
		if !ok {
			return notFound("account", id)
		}
		out = a
		return nil
	})
	return found(out.port(), err)
}
