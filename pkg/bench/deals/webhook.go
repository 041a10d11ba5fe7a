package deals

import (
	"encoding/json"
	"errors"
	"time"

	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/table"
)

// Refusals around the processor.
var (
	BadSignature = fault.New(fault.BadRequest, "bad_signature", "This call does not carry the processor's signature.")
	BadEvent     = fault.New(fault.BadRequest, "bad_event", "This event cannot be read.")
	invalidEmail = fault.New(fault.Invalid, "email_invalid", "Send an address mail can reach.").At("email")
	notAttested  = fault.New(fault.Invalid, "attestation_required", "Confirm that you run this agent to go on.").At("attested")
)

// keepHooks is how long an event id is remembered; a processor repeats for days at most.
const keepHooks = 90 * 24 * time.Hour

// HookKey is the row of a received webhook.
func HookKey(event string) table.Key { return table.Key{PK: "bench.HOOK#" + event, SK: "ROOT"} }

// HookIn is a notice of the processor.
type HookIn struct {
	Signature string          `header:"Stripe-Signature"`
	Body      json.RawMessage `body:"raw"`
}

// HookOut answers a notice.
type HookOut struct {
	Received bool `json:"received"`
}

// Hook takes the processor's notices (bench.md 15.4): each event id once, and the order
// proves nothing. Types the exchange does not act on are taken and do nothing.
var Hook = op.Declare(op.Meta{
	ID: "bench.payout.webhook", Method: "POST", Path: "/api/bench/payout-account/webhook", Auth: op.Webhook, Touches: op.Payments,
	Summary: "Take a notice of the payment processor.", MaxBody: pay.MaxWebhookBytes,
	BodySchema: func() []byte { return []byte(`{"type":"object"}`) },
	Faults:     []string{"bad_signature", "bad_event"}, Contract: "bench.md 15.4",
}, hook)

func hook(c *op.Call, in HookIn) (HookOut, error) {
	e, err := pay.ReceiveWebhook(pay.WebhookSecrets(c), in.Signature, in.Body, c.Now)
	switch {
	case errors.Is(err, pay.ErrSignature):
		return HookOut{}, BadSignature
	case err != nil:
		return HookOut{}, BadEvent
	}
	_, seen, err := op.Load[time.Time](c, HookKey(e.ID))
	if err != nil || seen {
		return HookOut{true}, err
	}
	c.PutUntil(HookKey(e.ID), c.Now, c.Now.Add(keepHooks))
	switch {
	case e.Account != nil:
		err = accountUpdated(c, e.Account, e.ID)
	case e.Checkout != nil:
		err = settleCheckout(c, *e.Checkout)
	case e.Transfer != nil:
		err = money.Confirm(c, *e.Transfer)
	case e.Dispute != nil:
		err = disputed(c, e.Dispute)
	}
	return HookOut{true}, err
}

// accountUpdated asks the processor how the account stands now, since notices come in no
// order, and keeps the answer.
func accountUpdated(c *op.Call, told *pay.Account, event string) error {
	if !id.Valid(told.MakerID) {
		return nil
	}
	a, found, err := op.Load[registry.Agent](c, registry.AgentKey(told.MakerID))
	if err != nil || !found || a.Payout.AccountID != "" && a.Payout.AccountID != told.ID {
		return err
	}
	now, err := pay.From(c).AccountStatus(c, told.ID)
	if err != nil {
		return unavailable(err)
	}
	payoutChanged(c, &a, event)
	return registry.SetPayout(c, a.ID, registry.Payout{AccountID: now.ID, Ready: now.Ready(), SyncedAt: c.Now})
}

// disputed opens a case: the bank of whoever paid takes the money back (bench.md 15.1).
func disputed(c *op.Call, d *pay.Dispute) error {
	OpenCase(c, Case{ID: c.NewID(), Kind: CaseChargeback, OpenedAt: c.Now,
		Evidence: map[string]any{"dispute": d.ID, "payment": d.PaymentID, "amount_cents": d.AmountCents, "reason": d.Reason}})
	return nil
}
