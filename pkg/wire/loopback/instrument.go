package loopback

import (
	"context"
	"net/http"

	"guildhall/pkg/pay"
)

// An instrument has no JSON form, so its fingerprint goes by itself.

// PaidWith implements pay.Processor.
func (c processor) PaidWith(ctx context.Context, paymentID string) (pay.Instrument, error) {
	f, err := call[string](ctx, c.Client, "pay/paid-with", paymentID)
	return pay.InstrumentOf(f), err
}

// PaidOutTo implements pay.Processor.
func (c processor) PaidOutTo(ctx context.Context, accountID string) (out []pay.Instrument, err error) {
	list, err := call[[]string](ctx, c.Client, "pay/paid-out-to", accountID)
	for _, f := range list {
		out = append(out, pay.InstrumentOf(f))
	}
	return out, err
}

// instruments serves the calls about cards and bank accounts.
func (p Ports) instruments(mux *http.ServeMux) {
	free(mux, p, "paid-with", func(ctx context.Context, paymentID string) (string, error) {
		i, err := p.Payments.PaidWith(ctx, paymentID)
		return i.Fingerprint(), err
	})
	free(mux, p, "paid-out-to", func(ctx context.Context, accountID string) (out []string, err error) {
		list, err := p.Payments.PaidOutTo(ctx, accountID)
		for _, i := range list {
			out = append(out, i.Fingerprint())
		}
		return out, err
	})
}
