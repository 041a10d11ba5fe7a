package simulated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"guildhall/pkg/pay"
)

const (
	maxPending   = 10_000             // webhooks waiting; the oldest are given up first
	maxRecent    = 200                // delivered webhooks kept for Repeat
	firstRetry   = time.Minute        // after a failed delivery, doubled each time
	longestRetry = 8 * time.Hour      //
	giveUpAfter  = 3 * 24 * time.Hour // since the event
)

// Webhook is one call to the exchange's webhook address.
type Webhook struct {
	EventID   string
	Signature string // the Stripe-Signature header
	Body      []byte
}

// Sink takes a webhook; nil means it was accepted.
type Sink func(ctx context.Context, w Webhook) error

// tell queues an event for delivery. p.mu is held.
func (p *Processor) tell(e pay.Event) {
	p.dirty = true
	e.ID = p.id("evt")
	body, err := pay.EncodeEvent(e)
	if err != nil {
		// Every caller sets one object; an event that cannot be encoded is a fault of this
		// package, and a webhook that never comes is what the exchange must live with anyway.
		return
	}
	p.s.Pending = append(p.s.Pending, notice{ID: e.ID, Body: string(body), Since: e.CreatedAt, Due: e.CreatedAt})
	if n := len(p.s.Pending) - maxPending; n > 0 {
		p.s.Pending = slices.Delete(p.s.Pending, 0, n)
	}
}

// NextDue is when the next webhook is due or the next checkout expires; false when neither
// waits.
func (p *Processor) NextDue() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next time.Time
	found := false
	look := func(t time.Time) {
		if !found || t.Before(next) {
			next, found = t, true
		}
	}
	for _, n := range p.s.Pending {
		look(n.Due)
	}
	for _, id := range p.s.Open {
		look(p.s.Checkouts[id].ExpiresAt)
	}
	return next, found
}

// Deliver hands the webhooks that are due to the sink, signed at the present time, and
// returns how many were accepted. One that was not comes again, later each time, for three
// days. Events a sink causes are delivered by the next call.
func (p *Processor) Deliver(ctx context.Context, sink Sink) (int, error) {
	batch, err := p.due()
	if err != nil {
		return 0, err
	}
	accepted := 0
	for _, i := range p.order(len(batch)) {
		if err := ctx.Err(); err != nil {
			return accepted, err
		}
		if err := p.deliver(ctx, sink, batch[i]); err == nil {
			accepted++
		} else if errors.Is(err, pay.ErrUnavailable) {
			return accepted, err
		}
	}
	return accepted, nil
}

// due returns the webhooks to deliver now, having ended what ends by itself.
func (p *Processor) due() ([]notice, error) {
	var batch []notice
	err := p.control(func(now time.Time) error {
		for _, n := range p.s.Pending {
			if !n.Due.After(now) {
				batch = append(batch, n)
			}
		}
		return nil
	})
	return batch, err
}

// order asks Options.Order; what it returns outside 0..n-1 is passed over.
func (p *Processor) order(n int) []int {
	var order []int
	if p.opts.Order == nil {
		for i := range n {
			order = append(order, i)
		}
		return order
	}
	for _, i := range p.opts.Order(n) {
		if i >= 0 && i < n {
			order = append(order, i)
		}
	}
	return order
}

var errNotAccepted = errors.New("simulated: the webhook was not accepted")

// deliver calls the sink without holding the lock: a sink may well call the processor.
func (p *Processor) deliver(ctx context.Context, sink Sink, n notice) error {
	refused := sink(ctx, p.sign(n))
	bad := p.control(func(now time.Time) error {
		i := slices.IndexFunc(p.s.Pending, func(o notice) bool { return o.ID == n.ID })
		if i < 0 {
			return nil // delivered twice, and taken the first time
		}
		p.dirty = true
		if refused == nil {
			p.s.Recent = append(p.s.Recent, p.s.Pending[i])
			p.s.Recent = p.s.Recent[max(0, len(p.s.Recent)-maxRecent):]
		}
		if refused == nil || now.Sub(n.Since) > giveUpAfter {
			p.s.Pending = slices.Delete(p.s.Pending, i, i+1)
			return nil
		}
		wait := min(firstRetry<<min(p.s.Pending[i].Attempts, 16), longestRetry)
		p.s.Pending[i].Attempts++
		p.s.Pending[i].Due = now.Add(wait)
		return nil
	})
	if bad != nil {
		return bad
	}
	if refused != nil {
		return fmt.Errorf("%w: %w", errNotAccepted, refused)
	}
	return nil
}

func (p *Processor) sign(n notice) Webhook {
	body := []byte(n.Body)
	return Webhook{EventID: n.ID, Body: body, Signature: pay.SignWebhook(p.opts.WebhookSecret, body, p.opts.Clock())}
}

// Repeat delivers the recent webhooks again, newest first, freshly signed: duplicates, out
// of order. It returns how many were accepted.
func (p *Processor) Repeat(ctx context.Context, sink Sink) int {
	p.mu.Lock()
	again := slices.Clone(p.s.Recent)
	p.mu.Unlock()
	slices.Reverse(again)
	accepted := 0
	for _, n := range again {
		if sink(ctx, p.sign(n)) == nil {
			accepted++
		}
	}
	return accepted
}
