package registry

import (
	"fmt"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Affiliations (bench.md 3.12).
const (
	House       = "house"       // run by the platform's own company or circle
	Independent = "independent" // everybody else; the default
)

// Operator types.
const (
	OperatorCompany = "company"
	OperatorPerson  = "person"
)

// Agent is a registered agent: everything about it that is not private to its responsible
// party. It is stored as it is and never served as it is.
type Agent struct {
	ID       string `json:"id"`
	Number   int    `json:"number"` // the A-number, permanent
	Handle   string `json:"handle"` // as the agent spelled it
	Initials string `json:"initials"`
	Skills   string `json:"skills"`
	Intro    string `json:"intro,omitempty"`

	Model         Model  `json:"model"`
	Operator      string `json:"operator"` // who runs the agent, never the maker of its model
	OperatorType  string `json:"operator_type"`
	CompanyURL    string `json:"company_url,omitempty"`
	CompanyDomain string `json:"company_domain,omitempty"` // registrable domain of CompanyURL
	// OperatorVerified is set by a platform administrator and lost when the operator changes.
	OperatorVerified bool      `json:"operator_verified,omitempty"`
	Affiliation      string    `json:"affiliation"`
	AttributedAt     time.Time `json:"attributed_at"` // last change of operator, model or affiliation

	// System is the active system version; bids and deals store a copy.
	System System `json:"system"`

	// Ping is the reachability ping that waits for an ack, ReachableAt when the second one
	// was acked.
	Ping        *Ping     `json:"ping,omitempty"`
	ReachableAt time.Time `json:"reachable_at,omitzero"`

	// ContactAt is when the responsible party confirmed its address. ContactDomain is the
	// registrable domain of that address when it is the company's own, and "" otherwise:
	// nothing else of the address is kept in clear.
	ContactAt     time.Time `json:"contact_at,omitzero"`
	ContactDomain string    `json:"contact_domain,omitempty"`

	RecoveryKey []byte `json:"recovery_key,omitempty"` // Ed25519, 32 bytes
	ClientKey   []byte `json:"client_key,omitempty"`   // Ed25519, 32 bytes

	Payout Payout `json:"payout,omitzero"`
	// PaidWork is set once the agent signed a deal with money in it.
	PaidWork bool `json:"paid_work,omitempty"`

	// SuspendedAt is when stewards or the liveness review stopped new work; zero when not.
	SuspendedAt   time.Time `json:"suspended_at,omitzero"`
	SuspendReason string    `json:"suspend_reason,omitempty"`
	DelistedAt    time.Time `json:"delisted_at,omitzero"`

	Recovery Recovery  `json:"recovery,omitzero"`
	Receipt  Receipt   `json:"receipt"`
	At       time.Time `json:"at"` // registration
}

// Model is a declared model: the canonical spelling of its family when we know it, the
// declared one otherwise. Nothing here is verified, ever.
type Model struct {
	Name       string `json:"name"`
	Raw        string `json:"raw"`
	Recognized bool   `json:"recognized,omitempty"`
	// Undisclosed models are left out of every by-model view.
	Undisclosed bool `json:"undisclosed,omitempty"`
}

// Ping is a reachability ping.
type Ping struct {
	ID      string    `json:"id"`
	Number  int       `json:"number"` // 1 or 2
	FiredAt time.Time `json:"fired_at"`
}

// Payout is what the money package knows about the agent's payout account. Only readiness
// and identifiers are kept.
type Payout struct {
	AccountID string    `json:"account_id,omitempty"`
	Ready     bool      `json:"ready,omitempty"`
	SyncedAt  time.Time `json:"synced_at,omitzero"`
}

// Receipt is the proof that the agent accepted the rules at registration.
type Receipt struct {
	ID         string            `json:"id"`
	Hash       string            `json:"hash"`
	AcceptedAt time.Time         `json:"accepted_at"`
	Artifacts  map[string]string `json:"artifacts"`
}

// No is the public A-number: "A-0001".
func (a Agent) No() string { return Number(a.Number) }

// Number prints an A-number.
func Number(n int) string { return fmt.Sprintf("A-%04d", n) }

// Reachable tells whether people may name the agent's bids.
func (a Agent) Reachable() bool { return !a.ReachableAt.IsZero() }

// ContactConfirmed tells whether the responsible party confirmed its address.
func (a Agent) ContactConfirmed() bool { return !a.ContactAt.IsZero() }

// SuspendedNewWork tells whether new bids are refused (running deals go on).
func (a Agent) SuspendedNewWork() bool { return !a.SuspendedAt.IsZero() }

// PayoutReady tells whether paid plans and signatures are open to the agent.
func (a Agent) PayoutReady() bool { return a.Payout.Ready }

// HouseRun tells whether receipts of this agent wear the house mark.
func (a Agent) HouseRun() bool { return a.Affiliation == House }

// AgentKey is the row of an agent.
func AgentKey(agentID string) table.Key { return child(agentID, "ROOT") }

func child(agentID, sk string) table.Key { return table.Key{PK: "bench.AGENT#" + agentID, SK: sk} }

// Load reads an agent. One that does not exist, or an id that cannot be one, is the bare 404.
func Load(c *op.Call, agentID string) (Agent, error) {
	if !id.Valid(agentID) {
		return Agent{}, fault.BareNotFound
	}
	a, found, err := op.Load[Agent](c, AgentKey(agentID))
	if err == nil && !found {
		err = fault.BareNotFound
	}
	return a, err
}

// save stages a changed agent that this call has loaded.
func (a Agent) save(c *op.Call) { c.Put(AgentKey(a.ID), a) }

// SetPayout stages what the money package learned about an agent's payout account.
func SetPayout(c *op.Call, agentID string, p Payout) error {
	a, err := Load(c, agentID)
	if err != nil || a.Payout == p {
		return err
	}
	a.Payout = p
	a.save(c)
	return nil
}

// SetPaidWork stages that the agent has signed a deal with money in it: its operator
// recovery needs an administrator from then on.
func SetPaidWork(c *op.Call, agentID string) error {
	a, err := Load(c, agentID)
	if err != nil || a.PaidWork {
		return err
	}
	a.PaidWork = true
	a.save(c)
	return nil
}

// Counts are the figures of an agent's own status. They guard no decision.
type Counts struct {
	ProposalsFiled  int64 `json:"proposals_filed"`
	FinalistNamings int64 `json:"finalist_namings"`
	DealsActive     int64 `json:"deals_active"`
	DealsEnded      int64 `json:"deals_ended"`
}

// Fields of Counts, for Count.
const (
	ProposalsFiled  = "proposals_filed"
	FinalistNamings = "finalist_namings"
	DealsActive     = "deals_active"
	DealsEnded      = "deals_ended"
)

// CountKey is the row of an agent's counters.
func CountKey(agentID string) table.Key { return child(agentID, "COUNT") }

// Count stages an addition to one of an agent's counters.
func Count(c *op.Call, agentID, field string, n int64) { c.Add(CountKey(agentID), field, n) }

func counts(c *op.Call, agentID string) (Counts, error) {
	r, err := c.Get(CountKey(agentID))
	n := r.Counters
	return Counts{n[ProposalsFiled], n[FinalistNamings], n[DealsActive], n[DealsEnded]}, err
}

// Verification states (bench.md 3.3).
const (
	Unconfirmed    = "unconfirmed"
	Confirmed      = "contact_confirmed"
	DomainVerified = "domain_verified"
)

// Verification is how far the agent's contact is verified. DomainVerified needs a company
// whose confirmed address stands under the domain of its web site.
func (a Agent) Verification() string {
	switch {
	case !a.ContactConfirmed():
		return Unconfirmed
	case a.OperatorType == OperatorCompany && sameDomain(a.CompanyDomain, a.ContactDomain):
		return DomainVerified
	}
	return Confirmed
}
