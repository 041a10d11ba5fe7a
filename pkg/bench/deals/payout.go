package deals

import (
	"errors"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/table"
)

// handoffLife is how long a single-use payout handoff lives (bench.md 15.3).
const handoffLife = 10 * time.Minute

// handoffPurpose marks the single-use link of a payout handoff.
const handoffPurpose = "payout.handoff"

type noBody struct{}

// Rows implements op.Prefetcher.
func (noBody) Rows(account string) []table.Key {
	if account == "" {
		return nil
	}
	return []table.Key{registry.AgentKey(account), registry.PartyKey(account)}
}

// LinkIn asks for an onboarding link.
type LinkIn struct{ noBody }

// LinkOut is a fresh onboarding address; the responsible party opens it in a browser.
type LinkOut struct {
	URL       string      `json:"url"`
	ExpiresAt record.Time `json:"expires_at"`
	Connected bool        `json:"connected"`
}

// OnboardingLink opens the agent's payout account once and mints a fresh link every call
// (bench.md 15.3). The agent never sees bank data.
var OnboardingLink = op.Declare(op.Meta{
	ID: "bench.payout.link", Method: "POST", Path: "/api/bench/me/payout-account/onboarding-link", Tool: "get_payout_onboarding_link",
	Auth: op.Maker, Scope: "payouts:write", Touches: op.Payments, Limit: &registry.Writes, Summary: "Get a fresh payout onboarding link.",
	Faults: []string{"stripe_unavailable"}, Contract: "bench.md 15.3",
}, onboardingLink)

func onboardingLink(c *op.Call, _ LinkIn) (LinkOut, error) {
	a, err := connected(c, "")
	if err != nil {
		return LinkOut{}, err
	}
	l, err := freshLink(c, a)
	return LinkOut{l.URL, record.Time(l.ExpiresAt), a.PayoutReady()}, err
}

// freshLink mints an onboarding address. Each call makes a new one: old ones are used up.
func freshLink(c *op.Call, a registry.Agent) (pay.Link, error) {
	l, err := pay.From(c).AccountLink(c, pay.LinkRequest{Key: "link:" + c.NewID(), AccountID: a.Payout.AccountID,
		ReturnURL: c.BaseURL + "/payout/return", RefreshURL: c.BaseURL + "/payout/refresh"})
	return l, unavailable(err)
}

// connected reads the calling agent and opens its payout account when it has none, under
// a key that is the agent's for ever: a call that lost its answer finds the same account.
func connected(c *op.Call, email string) (registry.Agent, error) {
	a, err := registry.Load(c, c.Caller.ID)
	if err != nil || a.Payout.AccountID != "" {
		return a, err
	}
	if email == "" {
		p, err := registry.LoadParty(c, a.ID)
		if err != nil {
			return a, err
		}
		email = p.Email
	}
	got, err := pay.From(c).CreateAccount(c, pay.AccountRequest{Key: "account:" + a.ID, MakerID: a.ID, Email: email})
	if err != nil {
		return a, unavailable(err)
	}
	a.Payout = registry.Payout{AccountID: got.ID, Ready: got.Ready(), SyncedAt: c.Now}
	return a, registry.SetPayout(c, a.ID, a.Payout)
}

// unavailable words what a processor can answer to a call it was needed for.
func unavailable(err error) error {
	if errors.Is(err, pay.ErrUnavailable) || errors.Is(err, pay.ErrRefused) {
		return money.StripeUnavailable
	}
	return err
}

// SessionIn asks for a single-use handoff.
type SessionIn struct {
	noBody
	Email string `json:"email,omitempty" rule:"max=254" doc:"Prefills the form; ignored once the account exists."`
}

// Validate implements op.Validator.
func (in SessionIn) Validate() error {
	if in.Email != "" && !account.ValidEmail(in.Email) {
		return invalidEmail
	}
	return nil
}

// SessionOut is a single-use address that lives ten minutes.
type SessionOut struct {
	URL       string      `json:"url" secret:"true"`
	ExpiresAt record.Time `json:"expires_at"`
}

// PayoutSession mints a single-use handoff to the page on which the operator attests who
// it is before it goes on to the processor (bench.md 15.3).
var PayoutSession = op.Declare(op.Meta{
	ID: "bench.payout.session", Method: "POST", Path: "/api/bench/payout-account/session", Status: 201,
	Auth: op.Maker, Scope: "payouts:write", Idempotent: op.KeyRequired, Touches: op.Payments, Limit: &registry.Writes,
	Summary: "Get a single-use payout handoff.", Faults: []string{"stripe_unavailable", "email_invalid"}, Contract: "bench.md 15.3",
}, payoutSession)

func payoutSession(c *op.Call, in SessionIn) (SessionOut, error) {
	a, err := connected(c, in.Email)
	if err != nil {
		return SessionOut{}, err
	}
	secret := account.NewLink(c, "bench", handoffPurpose, a.ID, handoffLife)
	return SessionOut{c.BaseURL + "/payout/handoff#" + secret, record.Time(c.Now.Add(handoffLife))}, nil
}

// AttestIn redeems a handoff.
type AttestIn struct {
	Token    string `json:"token" rule:"required,max=200"`
	Attested bool   `json:"attested" doc:"I run this agent and may receive its money."`
}

// Validate implements op.Validator.
func (in AttestIn) Validate() error {
	if !in.Attested {
		return notAttested
	}
	return nil
}

// AttestOut sends the operator on.
type AttestOut struct {
	URL string `json:"url"`
}

// Attest is the operator's attestation behind a handoff (bench.md 15.3): it uses the link
// up and answers where the form is.
var Attest = op.Declare(op.Meta{
	ID: "bench.payout.attest", Method: "POST", Path: "/api/bench/payout-account/attest", Auth: op.Public, Touches: op.Payments,
	Summary: "Attest that you run the agent and go on to its payout form.", Hidden: true,
	Faults: []string{"link_expired", "attestation_required", "stripe_unavailable"}, Contract: "bench.md 15.3",
}, attest)

func attest(c *op.Call, in AttestIn) (AttestOut, error) {
	var agent string
	if err := account.UseLink(c, "bench", handoffPurpose, in.Token, &agent); err != nil {
		return AttestOut{}, err
	}
	a, err := registry.Load(c, agent)
	if err != nil {
		return AttestOut{}, err
	}
	l, err := freshLink(c, a)
	if err != nil {
		return AttestOut{}, err
	}
	return AttestOut{l.URL}, record.Audit(c, "nobody", "payout.attested", "agent:"+agent, nil, nil)
}

// SyncIn re-reads the payout account.
type SyncIn struct{ noBody }

// SyncOut is the payout block after a re-read.
type SyncOut struct {
	Payout registry.PayoutBlock `json:"payout"`
}

// SyncPayout re-reads the agent's payout account (bench.md 15.3).
var SyncPayout = op.Declare(op.Meta{
	ID: "bench.payout.sync", Method: "POST", Path: "/api/bench/payout-account/sync",
	Auth: op.Maker, Scope: "payouts:write", Idempotent: op.KeyRequired, Touches: op.Payments, Limit: &registry.Writes,
	Summary: "Read your payout account's state again.", Faults: []string{"stripe_unavailable"}, Contract: "bench.md 15.3",
}, syncPayout)

func syncPayout(c *op.Call, _ SyncIn) (SyncOut, error) {
	a, err := registry.Load(c, c.Caller.ID)
	if err != nil {
		return SyncOut{}, err
	}
	if a.Payout.AccountID == "" {
		return SyncOut{registry.PayoutOf(a)}, nil
	}
	got, err := pay.From(c).AccountStatus(c, a.Payout.AccountID)
	if err != nil {
		return SyncOut{}, unavailable(err)
	}
	a.Payout.Ready, a.Payout.SyncedAt = got.Ready(), c.Now
	if err := registry.SetPayout(c, a.ID, a.Payout); err != nil {
		return SyncOut{}, err
	}
	return SyncOut{registry.PayoutOf(a)}, record.Audit(c, c.Caller.Key(), "payout.synced", "agent:"+a.ID, nil, map[string]any{"ready": a.Payout.Ready})
}

// WalletIn pages through the wallet.
type WalletIn struct {
	After string `query:"after" doc:"Continues the releases and returns behind next_cursor."`
}

// Rows implements op.Prefetcher.
func (WalletIn) Rows(account string) []table.Key {
	if account == "" {
		return nil
	}
	return []table.Key{registry.AgentKey(account), money.WalletKey(account)}
}
