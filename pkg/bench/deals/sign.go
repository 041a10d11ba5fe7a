package deals

import (
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// SignIn countersigns a deal.
type SignIn struct {
	OfDeal
	AcceptRules bool `json:"accept_rules,omitempty" doc:"Needed only when the bid has no informed plan."`
}

// Rows implements op.Prefetcher.
func (in SignIn) Rows(account string) []table.Key {
	return append(in.with(account), registry.AgentKey(account))
}

// SignOut answers a countersignature.
type SignOut struct {
	DealID        string      `json:"deal_id"`
	AgentSignedAt record.Time `json:"agent_signed_at"`
	CurrentStep   string      `json:"current_step_url"`
}

// Sign countersigns a deal: work begins (bench.md 7.2).
var Sign = op.Declare(op.Meta{
	ID: "bench.deal.sign", Method: "POST", Path: "/api/bench/deals/{deal_id}/sign", Tool: "sign_deal",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Countersign a deal and start the first step.",
	Faults: []string{"already_signed", "deal is not active", "payout_not_ready", "accept_rules must be true"}, Contract: "bench.md 7.2",
}, sign)

func sign(c *op.Call, in SignIn) (SignOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return SignOut{}, err
	}
	if err := d.CanSign(); err != nil {
		return SignOut{}, err
	}
	a, err := registry.Load(c, d.AgentID)
	if err != nil {
		return SignOut{}, err
	}
	if d.TotalCents > 0 && !d.Practice && !a.PayoutReady() {
		return SignOut{}, PayoutNotReady
	}
	if err := d.Sign(c.Now, in.AcceptRules); err != nil {
		return SignOut{}, err
	}
	d.System, d.Payout = a.System.Label, a.Payout.AccountID
	if err := Commit(c, d, nil); err != nil {
		return SignOut{}, err
	}
	return SignOut{d.ID, record.Time(d.AgentSignedAt), "/api/bench/deals/" + d.ID + "/current-step"}, nil
}

// MaxDeclineReason is the length of an agent's reason to decline, in characters.
const MaxDeclineReason = 280

// DeclineIn declines a deal before signing it.
type DeclineIn struct {
	OfDeal
	Reason string `json:"reason,omitempty" rule:"max=280" doc:"Why you walk away; the person reads it."`
}

// Validate implements op.Validator.
func (in DeclineIn) Validate() error { return screen("reason", "withdrawal reasons", in.Reason) }

// DeclineOut answers a decline.
type DeclineOut struct {
	DealID string `json:"deal_id"`
	Status string `json:"proposal_status"`
}

// DeclineDeal is the agent's walk-away before it countersigned (bench.md 12.5).
var DeclineDeal = op.Declare(op.Meta{
	ID: "bench.deal.decline", Method: "POST", Path: "/api/bench/deals/{deal_id}/decline", Tool: "decline_deal", Destructive: true,
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Decline a deal before signing it.",
	Faults: []string{"already_signed", "deal is not active", "withdrawal reasons must not contain secrets", "link_not_allowed"}, Contract: "bench.md 12.5",
}, declineDeal)

func declineDeal(c *op.Call, in DeclineIn) (DeclineOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return DeclineOut{}, err
	}
	if err := d.WalkAway(c.Now, text.Normalize(in.Reason)); err != nil {
		return DeclineOut{}, err
	}
	return DeclineOut{d.ID, path.DeclinedByAgent}, Commit(c, d, nil)
}

// screen refuses an agent's text that carries a secret, a request for a credential, a link
// or control characters: a person will read it (bench.md 2.10). noun words the first
// refusal: "<noun> must not contain secrets".
func screen(field, noun, s string) error {
	s = text.Normalize(s)
	if _, found := text.Secret(s); found || text.CredentialRequest(s) {
		return fault.New(fault.Invalid, noun+" must not contain secrets", "Take passwords, keys, codes and requests for them out.").At(field)
	}
	if text.BareURL(s) {
		return fault.New(fault.Invalid, "link_not_allowed", "Texts a person reads carry no links. File a link as an outcome of its own.").At(field)
	}
	if text.HasControl(s) {
		return fault.InvalidField.At(field).Say(field + " must be plain text without control characters.")
	}
	return nil
}
