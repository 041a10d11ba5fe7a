package simulated

import (
	"encoding/json"
	"time"

	"guildhall/pkg/pay"
)

// state is everything the processor remembers. It is stored whole; stored names stay.
type state struct {
	Seq       uint64              `json:"seq"` // of the last id given
	Mode      mode                `json:"mode"`
	Balance   int64               `json:"balance_cents"`
	Checkouts map[string]checkout `json:"checkouts"`
	Open      []string            `json:"open"` // checkouts that may still expire, in order
	Payments  map[string]payment  `json:"payments"`
	Refunds   map[string]refund   `json:"refunds"` // the first of each key
	Transfers map[string]transfer `json:"transfers"`
	Sent      map[string]string   `json:"sent"` // key -> first transfer under it
	Accounts  map[string]account  `json:"accounts"`
	Makers    map[string]string   `json:"makers"` // maker id -> newest account
	Keys      map[string]answer   `json:"keys"`
	Links     map[string]door     `json:"links,omitempty"` // onboarding addresses, by the end of their path
	Calls     []call              `json:"calls"`
	Pending   []notice            `json:"pending"` // webhooks to deliver, oldest first
	Recent    []notice            `json:"recent"`  // delivered ones, oldest first
}

func newState() *state {
	return &state{
		Checkouts: map[string]checkout{}, Payments: map[string]payment{}, Refunds: map[string]refund{},
		Transfers: map[string]transfer{}, Sent: map[string]string{}, Accounts: map[string]account{},
		Makers: map[string]string{}, Keys: map[string]answer{}, Links: map[string]door{},
	}
}

func decodeState(data []byte) (*state, error) {
	s := newState()
	return s, json.Unmarshal(data, s)
}

type mode struct {
	Next Mode `json:"next"`
	Left int  `json:"left"`
}

type checkout struct {
	ID        string             `json:"id"`
	URL       string             `json:"url"`
	Status    pay.CheckoutStatus `json:"status"`
	PaymentID string             `json:"payment_id,omitempty"`
	Amount    int64              `json:"amount_cents"`
	Refs      pay.Refs           `json:"refs"`
	ExpiresAt time.Time          `json:"expires_at"`
	What      string             `json:"what,omitempty"`
	Success   string             `json:"success_url,omitempty"`
	Cancel    string             `json:"cancel_url,omitempty"`
	// Card is the instrument that pays unless another is named.
	Card string `json:"card,omitempty"`
}

func (c checkout) port() pay.Checkout {
	return pay.Checkout{ID: c.ID, URL: c.URL, Status: c.Status, PaymentID: c.PaymentID, AmountCents: c.Amount,
		Refs: c.Refs, ExpiresAt: c.ExpiresAt}
}

// payment is the money of a paid checkout: amount is never less than what left of it.
type payment struct {
	Amount      int64  `json:"amount_cents"`
	Refunded    int64  `json:"refunded_cents"`
	Transferred int64  `json:"transferred_cents"`
	Card        string `json:"card,omitempty"`
}

func (p payment) left() int64 { return p.Amount - p.Refunded - p.Transferred }

type refund struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	PaymentID string `json:"payment_id"`
	Amount    int64  `json:"amount_cents"`
}

func (r refund) port() pay.Refund {
	return pay.Refund{ID: r.ID, Key: r.Key, PaymentID: r.PaymentID, AmountCents: r.Amount}
}

type transfer struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	AccountID string `json:"account_id"`
	Amount    int64  `json:"amount_cents"`
	DealID    string `json:"deal_id"`
	PaymentID string `json:"payment_id,omitempty"`
	Reversed  bool   `json:"reversed,omitempty"`
}

func (t transfer) port() pay.Transfer {
	return pay.Transfer{ID: t.ID, Key: t.Key, AccountID: t.AccountID, AmountCents: t.Amount, DealID: t.DealID, Reversed: t.Reversed}
}

type account struct {
	ID      string `json:"id"`
	MakerID string `json:"maker_id"`
	Ready   bool   `json:"ready"`
	Bank    string `json:"bank,omitempty"` // where payouts go; "" until it was first ready
}

func (a account) port() pay.Account {
	out := pay.Account{ID: a.ID, MakerID: a.MakerID, PayoutsEnabled: a.Ready, TransfersActive: a.Ready}
	if !a.Ready {
		out.Due = []string{"external_account"}
	}
	return out
}

type link struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// door is where an onboarding address leads.
type door struct {
	Account string    `json:"account"`
	Return  string    `json:"return_url"`
	Refresh string    `json:"refresh_url"`
	Expires time.Time `json:"expires_at"`
}

// answer is what the processor remembers under an idempotency key: the first result, a
// refusal included.
type answer struct {
	Hash    string          `json:"hash"`
	At      time.Time       `json:"at"`
	Result  json.RawMessage `json:"result,omitempty"`
	Refused *refusal        `json:"refused,omitempty"`
}

type refusal struct {
	Code    pay.Code `json:"code"`
	Message string   `json:"message"`
}

// call is one recorded call.
type call struct {
	Kind    Kind      `json:"kind"`
	Key     string    `json:"key"`
	Amount  int64     `json:"amount_cents"`
	DealID  string    `json:"deal_id,omitempty"`
	At      time.Time `json:"at"`
	Outcome Outcome   `json:"outcome"`
}

// notice is a webhook on its way.
type notice struct {
	ID       string    `json:"id"`
	Body     string    `json:"body"`
	Since    time.Time `json:"since"`    // when the event happened
	Due      time.Time `json:"due"`      // next try
	Attempts int       `json:"attempts"` // tries that failed
}
