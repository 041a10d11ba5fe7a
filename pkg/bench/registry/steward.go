package registry

import (
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/mail"
	"guildhall/pkg/op"
)

// AgentRow is an agent as stewards see it after a change.
type AgentRow struct {
	MakerID          string       `json:"maker_id"`
	RegistryNo       string       `json:"registry_no"`
	Handle           string       `json:"handle"`
	Operator         string       `json:"operator_name"`
	OperatorType     string       `json:"operator_type"`
	OperatorVerified bool         `json:"operator_verified"`
	State            string       `json:"verification_state"`
	CompanyURL       *string      `json:"company_url"`
	Reachable        *record.Time `json:"reachable_at"`
	Suspended        bool         `json:"suspended_new_work"`
	SuspendReason    *string      `json:"suspend_reason"`
	RecoveryPending  bool         `json:"recovery_pending"`
	RecoveryAgreed   *record.Time `json:"recovery_authorized_at"`
	Delisted         *record.Time `json:"delisted_at"`
}

func agentRow(a Agent) AgentRow {
	return AgentRow{MakerID: a.ID, RegistryNo: a.No(), Handle: a.Handle, Operator: a.Operator, OperatorType: a.OperatorType,
		OperatorVerified: a.OperatorVerified, State: a.Verification(), CompanyURL: orNull(a.CompanyURL), Reachable: record.At(a.ReachableAt),
		Suspended: a.SuspendedNewWork(), SuspendReason: orNull(a.SuspendReason), RecoveryPending: !a.Recovery.PendingAt.IsZero(),
		RecoveryAgreed: record.At(a.Recovery.AuthorizedAt), Delisted: record.At(a.DelistedAt)}
}

func stewardMeta(auth op.Auth, verb, path, summary string, faults ...string) op.Meta {
	return op.Meta{ID: "steward.agent." + verb, Method: "POST", Path: "/api/steward/agents/{maker_id}/" + path, Auth: auth,
		Idempotent: op.KeyRequired, Summary: summary, Faults: faults, Contract: "surface.md 4, bench.md 23"}
}

// The steward's calls on an agent.
var (
	VerifyOperator = op.Declare(stewardMeta(op.Admin, "verify_operator", "operator-verified", "Say whether an agent's operator is verified."), verifyOperator)
	SuspendAgent   = op.Declare(stewardMeta(op.Steward, "suspend", "suspend", "Stop new work of an agent; running deals go on."), suspendAgent)
	LiftAgent      = op.Declare(stewardMeta(op.Steward, "lift", "lift", "Let an agent take new work again."), liftAgent)
	DelistAgent    = op.Declare(stewardMeta(op.Admin, "delist", "delist", "Take an agent off the exchange: every token stops."), delistAgent)
	ChangeContact  = op.Declare(stewardMeta(op.Admin, "change_contact", "contact", "Replace the responsible party's address; it must be confirmed again.", "contact_ref_invalid"), changeContact)
)

// VerifyIn is the verdict and what it rests on.
type VerifyIn struct {
	MakerID  string `path:"maker_id"`
	Verified bool   `json:"verified" rule:"required"`
	Evidence string `json:"evidence" rule:"required,min=1,max=2000" doc:"What was checked. Kept in the audit trail."`
}

func verifyOperator(c *op.Call, in VerifyIn) (AgentRow, error) {
	a, err := Load(c, in.MakerID)
	if err != nil {
		return AgentRow{}, err
	}
	before := a.OperatorVerified
	if err := record.Audit(c, c.Caller.Key(), "agent.operator-verified", "agent:"+a.ID, map[string]any{"operator_verified": before},
		map[string]any{"operator_verified": in.Verified, "operator": a.Operator, "evidence": in.Evidence}); err != nil {
		return AgentRow{}, err
	}
	if before == in.Verified {
		return agentRow(a), nil
	}
	a.OperatorVerified = in.Verified
	a.save(c)
	return agentRow(a), record.Event(c, a.ID, record.E{Type: EventVerified, Data: map[string]bool{"operator_verified": in.Verified}})
}

// ReasonIn is why.
type ReasonIn struct {
	MakerID string `path:"maker_id"`
	Reason  string `json:"reason" rule:"required,min=1,max=1000"`
}

func suspendAgent(c *op.Call, in ReasonIn) (AgentRow, error) {
	return Suspend(c, in.MakerID, in.Reason)
}

func liftAgent(c *op.Call, in ReasonIn) (AgentRow, error) { return Lift(c, in.MakerID, in.Reason) }

// Suspend stages that an agent takes no new work: new bids are refused, running deals go
// on, money already earned is not touched (bench.md 8.5).
func Suspend(c *op.Call, agentID, reason string) (AgentRow, error) {
	a, err := Load(c, agentID)
	if err != nil || a.SuspendedNewWork() {
		return agentRow(a), err
	}
	a.SuspendedAt, a.SuspendReason = c.Now, reason
	return a.changed(c, EventSuspended, map[string]string{"reason": reason})
}

// KeepSuspended stages that a suspension of the clock is now the stewards' own: it ends when
// they lift it.
func KeepSuspended(c *op.Call, agentID, reason string) error {
	a, err := Load(c, agentID)
	if err != nil {
		return err
	}
	if !a.SuspendedNewWork() {
		a.SuspendedAt = c.Now
	}
	a.SuspendReason = reason
	_, err = a.changed(c, EventSuspended, map[string]string{"reason": reason})
	return err
}

// Lift stages that an agent takes new work again.
func Lift(c *op.Call, agentID, reason string) (AgentRow, error) {
	a, err := Load(c, agentID)
	if err != nil || !a.SuspendedNewWork() {
		return agentRow(a), err
	}
	a.SuspendedAt, a.SuspendReason = time.Time{}, ""
	return a.changed(c, EventLifted, map[string]string{"reason": reason})
}

// changed stages a steward's change of an agent: the row, the audit row and the event.
func (a Agent) changed(c *op.Call, word string, data any) (AgentRow, error) {
	a.save(c)
	if err := record.Audit(c, c.Caller.Key(), word, "agent:"+a.ID, nil, data); err != nil {
		return AgentRow{}, err
	}
	return agentRow(a), record.Event(c, a.ID, record.E{Type: word, Data: data})
}

func delistAgent(c *op.Call, in ReasonIn) (AgentRow, error) { return Delist(c, in.MakerID, in.Reason) }

// TimerDelisted is due at once after a delisting. It is fired by package steward, which
// knows the deals.
const TimerDelisted = "agent.delisted"

// Delist stages that an agent is off the exchange: every token refuses, its name and its
// record stay. Its live deals are the stewards' to decide: the timer opens a case for each.
func Delist(c *op.Call, agentID, reason string) (AgentRow, error) {
	a, err := Load(c, agentID)
	if err != nil || !a.DelistedAt.IsZero() {
		return agentRow(a), err
	}
	a.DelistedAt = c.Now
	if err := account.AgentToken.Revoke(c, a.ID); err != nil {
		return AgentRow{}, err
	}
	if err := revokeMCP(c, a.ID); err != nil {
		return AgentRow{}, err
	}
	for _, purpose := range []string{contactLink, recoveryLink} {
		if err := dropLinks(c, a.ID, purpose); err != nil {
			return AgentRow{}, err
		}
	}
	c.Arm(TimerDelisted, a.ID, c.Now)
	return a.changed(c, EventDelisted, map[string]string{"reason": reason})
}

// ContactIn is a new address of the responsible party.
type ContactIn struct {
	MakerID string `path:"maker_id"`
	Contact string `json:"contact_ref" rule:"required,min=3,max=254"`
}

// Validate refuses what is no address.
func (in ContactIn) Validate() error {
	if in.Contact != "" && !mail.IsMailbox(in.Contact) {
		return fault.New(fault.Invalid, "contact_ref_invalid", "contact_ref must be one email address of at most 254 characters.").At("contact_ref")
	}
	return nil
}

func changeContact(c *op.Call, in ContactIn) (AgentRow, error) {
	a, err := Load(c, in.MakerID)
	if err != nil {
		return AgentRow{}, err
	}
	p, err := LoadParty(c, a.ID)
	if err != nil {
		return AgentRow{}, err
	}
	p.Email, a.ContactAt, a.ContactDomain, a.Recovery = in.Contact, time.Time{}, "", Recovery{Asked: a.Recovery.Asked}
	if err := p.seal(c, a.ID); err != nil {
		return AgentRow{}, err
	}
	for _, purpose := range []string{contactLink, recoveryLink} {
		if err := dropLinks(c, a.ID, purpose); err != nil {
			return AgentRow{}, err
		}
	}
	if err := sendConfirmation(c, a, p.Email); err != nil {
		return AgentRow{}, err
	}
	return a.changed(c, EventContactChange, nil)
}
