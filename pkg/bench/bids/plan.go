package bids

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Plan is the informed plan in force: steps in the proposal's form.
type Plan struct {
	Steps       []proposal.Step `json:"steps"`
	FinishCents int64           `json:"finish_line_cents"`
}

// PlanIn is an informed plan (bench.md 6.7). Steps is held to the full validator, so it is
// taken as it comes.
type PlanIn struct {
	ownBid
	Steps       json.RawMessage `json:"steps" doc:"The steps, in the form get_proposal_schema returns."`
	AcceptRules *bool           `json:"accept_rules,omitempty" doc:"True on the first filing: it is your signature."`
	FinishCents json.RawMessage `json:"finish_line_cents,omitempty" doc:"Cents; the value in force when left out."`
	FinishOdds  json.RawMessage `json:"finish_line_odds,omitempty" doc:"Ignored."`
}

// Rows implements op.Prefetcher.
func (in PlanIn) Rows(account string) []table.Key {
	return []table.Key{Key(in.ProposalID), BodyKey(in.ProposalID), PlanKey(in.ProposalID), wants.Key(in.TargetID),
		registry.AgentKey(account), record.HeadKey(account)}
}

// PlanOut answers a filed plan.
type PlanOut struct {
	PlanRevisedAt wants.Time `json:"plan_revised_at"`
	StepsCount    int        `json:"steps_count"`
	WasFirst      bool       `json:"was_first_revision"`
}

// Refusals of a plan (bench.md 6.7).
var (
	PlanNotFinalist = fault.New(fault.Conflict, "this bid has not been named a finalist yet - only a finalist revises its plan", "")
	PlanFrozen      = fault.New(fault.Conflict, "this target is already signed, the plan is frozen", "")
	PayoutNotReady  = fault.New(fault.Conflict, "payout_not_ready", "Money can only be promised to you once your payout account is ready.").
			FixedBy("POST /api/bench/me/payout-account/onboarding-link").
			With("onboarding_link_call", "POST /api/bench/me/payout-account/onboarding-link").
			With("next_step", "Ask for the onboarding link and have your responsible party open it in a browser.")
)

// FilePlan files or revises the informed plan: the agent's signature (bench.md 6.7).
var FilePlan = op.Declare(op.Meta{
	ID: "bench.proposal.plan", Method: "POST", Path: "/api/bench/targets/{target_id}/proposals/{proposal_id}/plan",
	Tool: "file_informed_plan", Auth: op.Maker, Scope: "proposals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes,
	Summary: "File the full plan of a finalist.",
	Faults: append([]string{PlanNotFinalist.Code, PlanFrozen.Code, "payout_not_ready", "steps must be a non-empty array", "REJ-18",
		"finish_line_cents must be a whole number of cents", "plans must not contain secrets", "accept_rules must be true"}, append(notFiled("revise"), rejections...)...),
	Contract: "bench.md 6.7",
}, filePlan)

func filePlan(c *op.Call, in PlanIn) (PlanOut, error) {
	b, err := own(c, in.TargetID, in.ProposalID)
	if err != nil {
		return PlanOut{}, err
	}
	w, _, err := wants.Load(c, b.TargetID)
	if err != nil {
		return PlanOut{}, err
	}
	passed, err := b.SettledOn(c, &w)
	if err != nil {
		return PlanOut{}, err
	}
	agent, err := registry.Load(c, b.AgentID)
	if err != nil {
		return PlanOut{}, err
	}
	if err := plannable(&w, &b, agent.PayoutReady()); err != nil {
		return PlanOut{}, err
	}
	finish, err := in.check(b.PlanAt == nil)
	if err != nil {
		return PlanOut{}, err
	}
	plan, err := b.checkPlan(c, in.Steps, finish, &w)
	if err != nil {
		return PlanOut{}, err
	}
	if err := b.Apply(c, &w, passed); err != nil {
		return PlanOut{}, err
	}
	return b.takePlan(c, &w, plan)
}

// plannable decides, in the order of bench.md 6.7, whether a plan may be filed at all.
func plannable(w *wants.Want, b *Bid, payoutReady bool) error {
	switch {
	case b.Ordinal == 0:
		return PlanNotFinalist
	case b.Status != Filed:
		return fault.New(fault.Conflict, "cannot revise a "+b.Status+" bid", "")
	case b.CheckoutID != "" || w.Signed:
		return PlanFrozen
	case b.TotalCents > 0 && !w.Practice && !payoutReady:
		return PayoutNotReady
	}
	return nil
}

// check applies the plan's own sentences and reads the finish line's cents.
func (in PlanIn) check(first bool) (*int64, error) {
	var steps []json.RawMessage
	if json.Unmarshal(in.Steps, &steps) != nil || len(steps) == 0 {
		return nil, fault.New(fault.Invalid, "steps must be a non-empty array", "").At("steps")
	}
	var finish *int64
	if len(in.FinishCents) > 0 && string(in.FinishCents) != "null" {
		var f float64
		if json.Unmarshal(in.FinishCents, &f) != nil || f != math.Trunc(f) || f < 0 || f > 1e15 {
			return nil, fault.New(fault.Invalid, "finish_line_cents must be a whole number of cents", "").At("finish_line_cents")
		}
		n := int64(f)
		finish = &n
	}
	if holdsSecret(in.Steps) {
		return nil, fault.New(fault.Invalid, "plans must not contain secrets", "").At("steps")
	}
	if first && (in.AcceptRules == nil || !*in.AcceptRules) {
		return nil, fault.New(fault.Invalid, "accept_rules must be true", "Filing the plan is your signature under the rules.").At("accept_rules")
	}
	return finish, nil
}

// holdsSecret looks into every text of a JSON value, names of members included.
func holdsSecret(raw json.RawMessage) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	return anyText(v, func(s string) bool { _, found := text.Secret(s); return found })
}

func anyText(v any, is func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return is(v)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return anyText(e, is) })
	case map[string]any:
		for k, e := range v {
			if is(k) || anyText(e, is) {
				return true
			}
		}
	}
	return false
}

// checkPlan runs the validator's stages 1 to 9 and the GRANT count.
func (b *Bid) checkPlan(c *op.Call, steps json.RawMessage, finish *int64, w *wants.Want) (Plan, error) {
	filed, err := LoadProposal(c, b.ID)
	if err != nil {
		return Plan{}, err
	}
	blind := filed.Steps
	filed.FinishLineCents = b.FinishCents
	p, rej := proposal.ValidatePlan(steps, finish, filed, measure(w))
	if rej == nil {
		if g := proposal.CheckGrants(p.Steps, blind); g != nil {
			rej = g
		}
	}
	if rej != nil {
		return Plan{}, Refusal(rej)
	}
	return Plan{p.Steps, p.FinishLineCents}, nil
}

func (b *Bid) takePlan(c *op.Call, w *wants.Want, plan Plan) (PlanOut, error) {
	first := b.PlanAt == nil
	at := c.Now
	if !first && !at.Truncate(time.Second).After(b.PlanAt.Truncate(time.Second)) {
		at = b.PlanAt.Truncate(time.Second).Add(time.Second) // people tell plans apart by the second
	}
	b.PlanAt, b.FinishCents, b.StepCount = &at, plan.FinishCents, len(plan.Steps)
	b.Revisions++
	c.Put(PlanKey(b.ID), plan)
	word := record.PlanRevised
	if first {
		word = record.PlanFiled
		if err := b.tellPlan(c); err != nil {
			return PlanOut{}, err
		}
	}
	if err := b.event(c, string(word), c.Now, map[string]any{"steps_count": len(plan.Steps)}); err != nil {
		return PlanOut{}, err
	}
	if err := b.ledger(c, w, word, c.Now); err != nil {
		return PlanOut{}, err
	}
	return PlanOut{wants.Time(at), len(plan.Steps), first}, b.commitOn(c, w, nil)
}

func (b *Bid) tellPlan(c *op.Call) error {
	return b.tellPerson(c, Passed{"plan.filed", c.Now}, "A full plan is ready for you",
		"The agent behind \""+b.Title+"\" has filed its full plan. You can read it beside its first bid and accept it.")
}

// LoadPlan reads the plan in force: the informed one, or the bid's own steps before it.
func LoadPlan(c *op.Call, b *Bid) (Plan, error) {
	if b.PlanAt != nil {
		p, _, err := op.Load[Plan](c, PlanKey(b.ID))
		return p, err
	}
	p, err := LoadProposal(c, b.ID)
	if err != nil {
		return Plan{}, err
	}
	return Plan{p.Steps, p.FinishLineCents}, nil
}
