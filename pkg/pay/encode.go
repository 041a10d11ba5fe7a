package pay

import (
	"encoding/json"
	"fmt"
)

// EncodeEvent is the webhook body that ParseEvent reads as e: what a simulated processor
// sends and what tests of webhooks start from.
func EncodeEvent(e Event) ([]byte, error) {
	object, err := e.object()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	w := wireEvent{ID: e.ID, Type: e.Type, Created: e.CreatedAt.Unix()}
	w.Data.Object = raw
	return json.Marshal(struct {
		Object string `json:"object"`
		wireEvent
	}{"event", w})
}

func (e Event) object() (any, error) {
	switch {
	case e.Account != nil:
		return e.Account.wire(), nil
	case e.Checkout != nil:
		return e.Checkout.wire(), nil
	case e.Dispute != nil:
		d := e.Dispute
		return wireDispute{ID: d.ID, PaymentIntent: d.PaymentID, Amount: d.AmountCents, Reason: d.Reason}, nil
	case e.Transfer != nil:
		t := e.Transfer
		return wireTransfer{ID: t.ID, Destination: t.AccountID, Amount: t.AmountCents, Reversed: t.Reversed,
			Metadata: Metadata{Key: t.Key, Refs: Refs{DealID: t.DealID}}}, nil
	}
	return nil, fmt.Errorf("%w: event %s of type %s tells of nothing", ErrInvalid, e.ID, e.Type)
}

func (a Account) wire() wireAccount {
	w := wireAccount{ID: a.ID, PayoutsEnabled: a.PayoutsEnabled, Metadata: Metadata{MakerID: a.MakerID}}
	w.Capabilities.Transfers = "inactive"
	if a.TransfersActive {
		w.Capabilities.Transfers = "active"
	}
	w.Requirements.CurrentlyDue = a.Due
	return w
}

func (c Checkout) wire() wireCheckout {
	w := wireCheckout{ID: c.ID, URL: c.URL, Status: "complete", PaymentStatus: "unpaid", PaymentIntent: c.PaymentID,
		AmountTotal: c.AmountCents, ExpiresAt: c.ExpiresAt.Unix(), Metadata: Metadata{Refs: c.Refs}}
	switch c.Status {
	case Paid:
		w.PaymentStatus = "paid"
	case Expired:
		w.Status = "expired"
	case Open:
		w.Status = "open"
	}
	return w
}
