package pay

import (
	"encoding/json"
	"fmt"
	"time"
)

// The events the exchange acts on, in the processor's words (bench 15.4). Others are
// received, and do nothing.
const (
	AccountUpdated    = "account.updated"
	CheckoutCompleted = "checkout.session.completed"
	CheckoutSucceeded = "checkout.session.async_payment_succeeded" // after Processing
	CheckoutFailed    = "checkout.session.async_payment_failed"
	CheckoutExpired   = "checkout.session.expired"
	DisputeCreated    = "charge.dispute.created"
	TransferCreated   = "transfer.created"
	TransferUpdated   = "transfer.updated"
	TransferReversed  = "transfer.reversed"
)

// Dispute is a chargeback: the bank of whoever paid takes the money back.
type Dispute struct {
	ID          string
	PaymentID   string
	AmountCents int64
	Reason      string
}

// Event is one notice of the processor. Notices come at least once, in no order, up to days
// late, and two may tell of one change: act on the ID once, and on what the processor says
// now rather than on the notice where the order matters.
type Event struct {
	ID        string
	Type      string
	CreatedAt time.Time
	// One of these is set when Type is one of the constants above.
	Account  *Account
	Checkout *Checkout
	Dispute  *Dispute
	Transfer *Transfer
}

// The processor's JSON, the fields the exchange reads. Unknown fields are its right.
type wireEvent struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Created int64  `json:"created"`
	Data    struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

// Metadata is what the adapters attach to the processor's objects.
type Metadata struct {
	Key     string `json:"key,omitempty"`
	MakerID string `json:"maker_id,omitempty"`
	Refs
}

type wireAccount struct {
	ID             string `json:"id"`
	PayoutsEnabled bool   `json:"payouts_enabled"`
	Capabilities   struct {
		Transfers string `json:"transfers"`
	} `json:"capabilities"`
	Requirements struct {
		CurrentlyDue []string `json:"currently_due"`
	} `json:"requirements"`
	Metadata Metadata `json:"metadata"`
}

type wireCheckout struct {
	ID            string   `json:"id"`
	URL           string   `json:"url"`
	Status        string   `json:"status"`         // open, complete, expired
	PaymentStatus string   `json:"payment_status"` // paid, unpaid, no_payment_required
	PaymentIntent string   `json:"payment_intent"`
	AmountTotal   int64    `json:"amount_total"`
	ExpiresAt     int64    `json:"expires_at"`
	Metadata      Metadata `json:"metadata"`
}

type wireDispute struct {
	ID            string `json:"id"`
	PaymentIntent string `json:"payment_intent"`
	Amount        int64  `json:"amount"`
	Reason        string `json:"reason"`
}

type wireTransfer struct {
	ID          string   `json:"id"`
	Destination string   `json:"destination"`
	Amount      int64    `json:"amount"`
	Reversed    bool     `json:"reversed"`
	Metadata    Metadata `json:"metadata"`
}

// ParseEvent reads a webhook body. A type the exchange does not act on gives an Event of id,
// type and time; one it does act on must be complete: else ErrInvalid.
func ParseEvent(body []byte) (Event, error) {
	if len(body) > MaxWebhookBytes {
		return Event{}, fmt.Errorf("%w: webhook of %d bytes, at most %d", ErrInvalid, len(body), MaxWebhookBytes)
	}
	var w wireEvent
	if err := json.Unmarshal(body, &w); err != nil {
		return Event{}, fmt.Errorf("%w: webhook: %v", ErrInvalid, err)
	}
	e := Event{ID: w.ID, Type: w.Type, CreatedAt: time.Unix(w.Created, 0).UTC()}
	if err := validTexts(e.ID, e.Type); err != nil {
		return Event{}, err
	}
	if err := e.read(w.Data.Object); err != nil {
		return Event{}, fmt.Errorf("%w: webhook %s of type %s: %v", ErrInvalid, e.ID, e.Type, err)
	}
	return e, nil
}

func (e *Event) read(object json.RawMessage) error {
	switch e.Type {
	case AccountUpdated:
		var w wireAccount
		if err := unmarshal(object, &w, &w.ID); err != nil {
			return err
		}
		e.Account = &Account{ID: w.ID, MakerID: w.Metadata.MakerID, PayoutsEnabled: w.PayoutsEnabled,
			TransfersActive: w.Capabilities.Transfers == "active", Due: w.Requirements.CurrentlyDue}
	case CheckoutCompleted, CheckoutSucceeded, CheckoutFailed, CheckoutExpired:
		var w wireCheckout
		if err := unmarshal(object, &w, &w.ID); err != nil {
			return err
		}
		c := w.checkout(e.Type)
		if c.AmountCents < 0 || (c.Status == Paid && c.PaymentID == "") {
			return fmt.Errorf("a paid checkout without a payment")
		}
		e.Checkout = &c
	case DisputeCreated:
		var w wireDispute
		if err := unmarshal(object, &w, &w.ID); err != nil {
			return err
		}
		e.Dispute = &Dispute{ID: w.ID, PaymentID: w.PaymentIntent, AmountCents: w.Amount, Reason: w.Reason}
	case TransferCreated, TransferUpdated, TransferReversed:
		var w wireTransfer
		if err := unmarshal(object, &w, &w.ID); err != nil {
			return err
		}
		e.Transfer = &Transfer{ID: w.ID, Key: w.Metadata.Key, AccountID: w.Destination, AmountCents: w.Amount,
			DealID: w.Metadata.DealID, Reversed: w.Reversed || e.Type == TransferReversed}
	}
	return nil
}

// unmarshal reads an object of which the given fields must not be empty.
func unmarshal(object json.RawMessage, into any, required ...*string) error {
	if err := json.Unmarshal(object, into); err != nil {
		return err
	}
	for _, field := range required {
		if *field == "" || len(*field) > MaxTextBytes {
			return fmt.Errorf("an id is missing or too long")
		}
	}
	return nil
}

// checkout reads the state of a checkout. The event's type says less than the object: a
// completed session is paid only when its payment is.
func (w wireCheckout) checkout(event string) Checkout {
	c := Checkout{ID: w.ID, URL: w.URL, PaymentID: w.PaymentIntent, AmountCents: w.AmountTotal, Refs: w.Metadata.Refs,
		ExpiresAt: time.Unix(w.ExpiresAt, 0).UTC()}
	switch {
	case w.PaymentStatus == "paid":
		c.Status = Paid
	case event == CheckoutFailed:
		c.Status = Failed
	case event == CheckoutExpired || w.Status == "expired":
		c.Status = Expired
	case w.Status == "complete":
		c.Status = Processing
	default:
		c.Status = Open
	}
	return c
}
