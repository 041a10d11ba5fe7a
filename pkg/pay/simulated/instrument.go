package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"guildhall/pkg/pay"
)

// Cards and bank accounts have names here. A person's card is named after the address it
// pays under, an operator's bank account after the agent, so each has its own and always the
// same; whoever gives two things one name has made them one instrument.

func cardOf(email, checkout string) string {
	if email == "" {
		return "card of " + checkout
	}
	return "card of " + strings.ToLower(email)
}

// bankOr is where payouts go: as before, or the operator's own once the account is ready.
func (a account) bankOr(ready bool) string {
	if a.Bank == "" && ready {
		return "bank of " + a.MakerID
	}
	return a.Bank
}

// instrument makes the fingerprint of a name; no name, none.
func instrument(name string) pay.Instrument {
	if name == "" {
		return pay.Instrument{}
	}
	sum := sha256.Sum256([]byte("instrument " + name))
	return pay.InstrumentOf("fp_sim_" + hex.EncodeToString(sum[:8]))
}

// PaidWith implements pay.Processor.
func (p *Processor) PaidWith(ctx context.Context, paymentID string) (out pay.Instrument, err error) {
	err = p.plain(ctx, func(time.Time) error {
		from, ok := p.s.Payments[paymentID]
		if !ok {
			return notFound("payment", paymentID)
		}
		out = instrument(from.Card)
		return nil
	})
	return found(out, err)
}

// PaidOutTo implements pay.Processor.
func (p *Processor) PaidOutTo(ctx context.Context, accountID string) (out []pay.Instrument, err error) {
	err = p.plain(ctx, func(time.Time) error {
		a, ok := p.s.Accounts[accountID]
		if !ok {
			return notFound("account", accountID)
		}
		if a.Bank != "" {
			out = []pay.Instrument{instrument(a.Bank)}
		}
		return nil
	})
	return found(out, err)
}
