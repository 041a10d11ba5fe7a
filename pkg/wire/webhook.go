package wire

import (
	"context"
	"fmt"

	"guildhall/pkg/catalog"
	"guildhall/pkg/op"
	"guildhall/pkg/pay/simulated"
)

// webhookOperation takes what the payment processor reports (bench.md 15.4).
const webhookOperation = "bench.payout.webhook"

// deliverWebhooks hands the simulated processor's webhooks to the very operation a real
// processor calls, signature and all.
func (x *Exchange) deliverWebhooks(ctx context.Context) (int, error) {
	o := catalog.Find(webhookOperation)
	if o == nil {
		return 0, nil
	}
	return x.Payments.Deliver(ctx, func(ctx context.Context, w simulated.Webhook) error {
		res := x.Engine.Do(ctx, o, &op.Request{ID: "webhook", Transport: "rest", ContentType: "application/json", Body: w.Body,
			Header: func(name string) string {
				if name == "Stripe-Signature" {
					return w.Signature
				}
				return ""
			}})
		if res.Status >= 300 {
			return fmt.Errorf("wire: webhook answered %d", res.Status)
		}
		return nil
	})
}
