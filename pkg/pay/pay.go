// Package pay is the port to the payment processor: checkouts that fund deals and tips,
// refunds, transfers to agents' payout accounts, and the webhooks that tell about them.
//
// Every effect has a permanent key of ours. The processor answers a repeated key with the
// first result, but forgets keys after KeyLife; and an answer may be lost after the effect.
// So whoever retries after KeySafe, or after ErrUnavailable, looks first (FindTransfer,
// FindRefund). Money is integer cents of US dollars.
//
// Adapters: simulated (misbehaves like the worst real one), Stripe. Both pass paytest.
package pay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limits and times of a processor.
const (
	MaxAmountCents   = int64(99_999_999) // cents of one call
	MinCheckoutCents = int64(50)         // cents of the least checkout a card network takes
	MaxKeyBytes      = 200               // bytes of a key; the processor's own limit is 255
	MaxTextBytes     = 500               // bytes of an id, description or address
	KeyLife          = 24 * time.Hour    // after which a processor may have forgotten a key
	KeySafe          = 23 * time.Hour    // until which a repeated key is safe without a look
	CheckoutLife     = 24 * time.Hour    // of a checkout that names no end
	MinCheckoutLife  = 30 * time.Minute  // the nearest end a checkout may name
)

// Errors of a processor. Anything else is an internal error.
var (
	// ErrUnavailable: no answer. The effect may or may not have happened: look first.
	ErrUnavailable = errors.New("pay: the processor did not answer")
	// ErrRefused: a definite no, nothing happened; errors.As gives the *Refusal.
	ErrRefused = errors.New("pay: the processor refused")
	// ErrInvalid: the call itself is wrong; nothing was sent.
	ErrInvalid = errors.New("pay: invalid call")
)

// Code says why a processor refused.
type Code string

// The codes.
const (
	NotFound        Code = "not_found"         // no such checkout, payment or account
	KeyReused       Code = "key_reused"        // the key was used with other parameters
	AccountNotReady Code = "account_not_ready" // the account cannot take transfers
	NoFunds         Code = "no_funds"          // more than the payment still covers
	OtherRefusal    Code = "refused"
)

// Refusal is a definite no. A processor may remember it under the key for KeyLife: a later
// try raises Attempt, which is safe exactly because nothing happened.
type Refusal struct {
	Code    Code
	Message string // the processor's words, for a log
}

func (r *Refusal) Error() string { return fmt.Sprintf("pay: refused: %s: %s", r.Code, r.Message) }

// Unwrap makes every refusal an ErrRefused.
func (r *Refusal) Unwrap() error { return ErrRefused }

// RefusedWith tells whether err is a refusal with that code.
func RefusedWith(err error, code Code) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Code == code
}

// Refs say what a payment is for; they come back in its events. Empty ones do not apply.
type Refs struct {
	WantID     string `json:"want_id,omitempty"`
	ProposalID string `json:"proposal_id,omitempty"`
	DealID     string `json:"deal_id,omitempty"`
	StepID     string `json:"step_id,omitempty"`
	TipID      string `json:"tip_id,omitempty"`
}

// CheckoutStatus is the state of a checkout.
type CheckoutStatus string

// The states. Only Open changes; Processing ends as Paid or Failed.
const (
	Open       CheckoutStatus = "open"
	Processing CheckoutStatus = "processing" // completed, the money is still on its way
	Paid       CheckoutStatus = "paid"
	Failed     CheckoutStatus = "failed"
	Expired    CheckoutStatus = "expired"
)

// CheckoutRequest asks for a page on which a person pays.
type CheckoutRequest struct {
	Key           string
	AmountCents   int64
	Description   string // shown to the person
	CustomerEmail string // may be empty
	SuccessURL    string // where the person goes after paying
	CancelURL     string // and after giving up
	Refs          Refs
	ExpiresAt     time.Time // zero: CheckoutLife from now
}

// Checkout is a page on which a person pays.
type Checkout struct {
	ID          string
	URL         string
	Status      CheckoutStatus
	PaymentID   string // what Refund and Transfer name; set once paid
	AmountCents int64
	Refs        Refs
	ExpiresAt   time.Time
}

// RefundRequest returns money of a payment to whoever paid.
type RefundRequest struct {
	Key         string
	Attempt     int // raised by one after each Refusal, never after ErrUnavailable
	PaymentID   string
	AmountCents int64
	DealID      string
}

// Refund is money returned.
type Refund struct {
	ID          string
	Key         string
	PaymentID   string
	AmountCents int64
}

// TransferRequest sends money to an agent's payout account.
type TransferRequest struct {
	Key         string
	Attempt     int // raised by one after each Refusal, never after ErrUnavailable
	AccountID   string
	AmountCents int64
	DealID      string
	// PaymentID is the payment the money comes from: the transfer then waits for it to
	// settle by itself.
	PaymentID string
}

// Transfer is money sent.
type Transfer struct {
	ID          string
	Key         string
	AccountID   string
	AmountCents int64
	DealID      string
	Reversed    bool
}

// AccountRequest opens an agent's payout account.
type AccountRequest struct {
	Key     string
	MakerID string
	Email   string // of the responsible party; may be empty
}

// Account is an agent's payout account.
type Account struct {
	ID              string
	MakerID         string
	PayoutsEnabled  bool
	TransfersActive bool
	// Due names what the processor still wants to know; it is for a log, not for agents.
	Due []string
}

// Ready tells whether money can be sent to the account and paid out (bench 15.3).
func (a Account) Ready() bool { return a.PayoutsEnabled && a.TransfersActive && len(a.Due) == 0 }

// LinkRequest asks for a fresh onboarding address.
type LinkRequest struct {
	Key        string
	AccountID  string
	ReturnURL  string // where the operator ends up
	RefreshURL string // and where when the address was used or old
}

// Link is an onboarding address for one use.
type Link struct {
	URL       string
	ExpiresAt time.Time
}

// Processor is the port.
type Processor interface {
	CreateCheckout(ctx context.Context, r CheckoutRequest) (Checkout, error)
	// ExpireCheckout ends an open checkout and returns it as it then is. One that was paid
	// or ended before comes back as it is, without an error: look at the status.
	ExpireCheckout(ctx context.Context, id string) (Checkout, error)
	GetCheckout(ctx context.Context, id string) (Checkout, error)
	Refund(ctx context.Context, r RefundRequest) (Refund, error)
	// FindRefund looks a refund of a payment up by our key; false when there is none.
	FindRefund(ctx context.Context, key, paymentID string) (Refund, bool, error)
	Transfer(ctx context.Context, r TransferRequest) (Transfer, error)
	// FindTransfer looks a transfer of a deal up by our key; false when there is none.
	FindTransfer(ctx context.Context, key, dealID string) (Transfer, bool, error)
	CreateAccount(ctx context.Context, r AccountRequest) (Account, error)
	AccountLink(ctx context.Context, r LinkRequest) (Link, error)
	AccountStatus(ctx context.Context, id string) (Account, error)
	// PaidWith is the instrument that paid; unknown where the processor has no fingerprint
	// of it (a wallet, a voucher).
	PaidWith(ctx context.Context, paymentID string) (Instrument, error)
	// PaidOutTo are the instruments a payout account is paid out to; none before its
	// operator named one.
	PaidOutTo(ctx context.Context, accountID string) ([]Instrument, error)
}

// AttemptKey is the idempotency key a processor gets: the permanent key, marked by the
// number of refused attempts before.
func AttemptKey(key string, attempt int) string {
	if attempt == 0 {
		return key
	}
	return fmt.Sprintf("%s~%d", key, attempt)
}

// Valid checks a request; adapters call it first.
func (r CheckoutRequest) Valid(now time.Time) error {
	if !r.ExpiresAt.IsZero() && (r.ExpiresAt.Before(now.Add(MinCheckoutLife)) || r.ExpiresAt.After(now.Add(CheckoutLife))) {
		return fmt.Errorf("%w: a checkout ends %v to %v from now", ErrInvalid, MinCheckoutLife, CheckoutLife)
	}
	return errors.Join(validKey(r.Key), validAmount(r.AmountCents, MinCheckoutCents),
		validTexts(r.Description, r.SuccessURL, r.CancelURL), validOptional(r.CustomerEmail,
			r.Refs.WantID, r.Refs.ProposalID, r.Refs.DealID, r.Refs.StepID, r.Refs.TipID))
}

// Valid checks a request; adapters call it first.
func (r RefundRequest) Valid() error {
	return errors.Join(validKey(r.Key), validAttempt(r.Attempt), validAmount(r.AmountCents, 1), validTexts(r.PaymentID), validOptional(r.DealID))
}

// Valid checks a request; adapters call it first.
func (r TransferRequest) Valid() error {
	return errors.Join(validKey(r.Key), validAttempt(r.Attempt), validAmount(r.AmountCents, 1),
		validTexts(r.AccountID, r.DealID), validOptional(r.PaymentID))
}

// Valid checks a request; adapters call it first.
func (r AccountRequest) Valid() error {
	return errors.Join(validKey(r.Key), validTexts(r.MakerID), validOptional(r.Email))
}

// Valid checks a request; adapters call it first.
func (r LinkRequest) Valid() error {
	return errors.Join(validKey(r.Key), validTexts(r.AccountID, r.ReturnURL, r.RefreshURL))
}

const maxAttempts = 1000 // refused attempts of one effect

func validAttempt(n int) error {
	if n < 0 || n > maxAttempts {
		return fmt.Errorf("%w: attempt %d, 0 to %d", ErrInvalid, n, maxAttempts)
	}
	return nil
}

func validKey(key string) error {
	bad := func(r rune) bool { return r <= ' ' || r >= '~' } // no "~": AttemptKey must stay unambiguous
	if key == "" || len(key) > MaxKeyBytes || strings.IndexFunc(key, bad) >= 0 {
		return fmt.Errorf("%w: key %q: 1 to %d printable ASCII bytes without ~", ErrInvalid, key, MaxKeyBytes)
	}
	return nil
}

func validAmount(cents, least int64) error {
	if cents < least || cents > MaxAmountCents {
		return fmt.Errorf("%w: %d cents, %d to %d", ErrInvalid, cents, least, MaxAmountCents)
	}
	return nil
}

func validTexts(texts ...string) error {
	for _, s := range texts {
		if s == "" {
			return fmt.Errorf("%w: a required text is empty", ErrInvalid)
		}
	}
	return validOptional(texts...)
}

func validOptional(texts ...string) error {
	for _, s := range texts {
		if len(s) > MaxTextBytes || strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
			return fmt.Errorf("%w: a text of %d bytes: at most %d in one line", ErrInvalid, len(s), MaxTextBytes)
		}
	}
	return nil
}
