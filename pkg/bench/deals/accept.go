package deals

import (
	"errors"
	"fmt"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/table"
)

// Refusals of an acceptance, in their order (bench.md 7.1, surface.md 3).
var (
	AlreadyAccepted = fault.New(fault.Conflict, "already_accepted", "You have accepted a bid on this want already.")
	NotFiled        = fault.New(fault.Conflict, "not_filed", "This bid is no longer open, so it cannot be accepted.")
	NotFinalist     = fault.New(fault.Conflict, "not_finalist", "Only a finalist's bid can be accepted. Name it first.")
	PlanNotInformed = fault.New(fault.Conflict, "plan_not_yet_informed", "The agent has not filed its full plan yet.")
	PlanChanged     = fault.New(fault.Conflict, "plan_changed", "The agent has filed another plan since you read it. Please read it again.")
	NotReachable    = fault.New(fault.Invalid, "agent_not_reachable", "This agent cannot be reached right now.")
	PayoutNotReady  = fault.New(fault.Conflict, "payout_not_ready", "The agent cannot be paid yet: its payout account is not set up.").
			With("onboarding_link_call", onboardingCall).With("next_step", "Open the onboarding link once, finish the form, then call again.")
	NotChargeable = fault.New(fault.Invalid, "amount_not_chargeable", "No card payment can be made over this amount.")
	RulesRefused  = fault.New(fault.Invalid, "accept_rules must be true", "Tick the rules to accept.").At("accept_rules")
)

const onboardingCall = "POST /api/bench/me/payout-account/onboarding-link"

// AcceptIn accepts a finalist's bid.
type AcceptIn struct {
	TargetID    string  `path:"target_id"`
	ProposalID  string  `path:"proposal_id"`
	AcceptRules bool    `json:"accept_rules" doc:"Must be true."`
	PlanAt      *string `json:"plan_revised_at,omitempty" doc:"When the plan that was read was filed; another one in force is refused."`
}

// Validate implements op.Validator.
func (in AcceptIn) Validate() error {
	if !in.AcceptRules {
		return RulesRefused
	}
	if in.PlanAt != nil {
		if _, err := clock.Parse(*in.PlanAt); err != nil {
			return fault.InvalidField.At("plan_revised_at").Say("plan_revised_at must be a time such as 2026-11-30T18:20:00Z.")
		}
	}
	return nil
}

// Rows implements op.Prefetcher.
func (in AcceptIn) Rows(string) []table.Key {
	if !id.Valid(in.TargetID) || !id.Valid(in.ProposalID) {
		return nil
	}
	return []table.Key{wants.Key(in.TargetID), wants.BriefKey(in.TargetID), openCheckoutKey(in.TargetID),
		bids.Key(in.ProposalID), bids.PlanKey(in.ProposalID), bids.BodyKey(in.ProposalID)}
}

// AcceptOut answers an acceptance: the deal of a free bid, the checkout of a paid one.
type AcceptOut struct {
	DealID      string `json:"deal_id,omitempty"`
	Status      string `json:"status,omitempty"`
	CheckoutID  string `json:"checkout_id,omitempty"`
	CheckoutURL string `json:"checkout_url,omitempty"`
	TotalCents  *int64 `json:"total_cents,omitempty"`
}

// Accept accepts a bid (surface.md 3, bench.md 6.8, 7.1). A bid with money in it gets a
// checkout; its deal appears when the payment succeeds.
var Accept = op.Declare(op.Meta{
	ID: "person.bid.accept", Method: "POST", Path: "/api/person/wants/{target_id}/finalists/{proposal_id}/accept", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Touches: op.Payments, Summary: "Accept a finalist's bid and fund it.",
	Faults: []string{"accept_rules must be true", "already_accepted", "not_filed", "not_finalist", "plan_not_yet_informed", "plan_changed",
		"agent_not_reachable", "payout_not_ready", "amount_not_chargeable", "stripe_unavailable"},
	Contract: "surface.md 3, bench.md 7.1",
}, accept)

func accept(c *op.Call, in AcceptIn) (AcceptOut, error) {
	o, err := offered(c, in)
	if err != nil {
		return AcceptOut{}, err
	}
	if o.bid.TotalCents == 0 || o.want.Practice {
		d, err := o.deal(c, "")
		if err != nil {
			return AcceptOut{}, err
		}
		return AcceptOut{DealID: d.ID, Status: d.Status}, Commit(c, d, nil)
	}
	return o.checkout(c)
}

// offer is a bid somebody wants to accept.
type offer struct {
	want  wants.Want
	bid   bids.Bid
	agent registry.Agent
	body  *proposal.Proposal // as filed
	plan  bids.Plan          // in force
}

// offered reads a bid and refuses what cannot be accepted, in the contract's order.
func offered(c *op.Call, in AcceptIn) (*offer, error) {
	if !id.Valid(in.TargetID) || !id.Valid(in.ProposalID) {
		return nil, fault.BareNotFound
	}
	o := &offer{}
	var err error
	if o.want, err = wants.Own(c, c.Caller.ID, in.TargetID); err != nil {
		return nil, err
	}
	if err = o.read(c, in.ProposalID); err != nil {
		return nil, err
	}
	return o, o.refuse(in.PlanAt)
}

// read loads the bid with its plan and its agent.
func (o *offer) read(c *op.Call, bid string) error {
	b, found, err := bids.Load(c, bid)
	if err != nil {
		return err
	}
	if !found || b.TargetID != o.want.ID {
		return fault.BareNotFound
	}
	o.bid = b
	if _, err := o.bid.Settled(c); err != nil {
		return err
	}
	if o.agent, err = registry.Load(c, b.AgentID); err != nil {
		return err
	}
	if o.body, err = bids.LoadProposal(c, bid); err != nil {
		return err
	}
	o.plan, err = bids.LoadPlan(c, &o.bid)
	return err
}

// legacy tells whether the bid is from before the finalist's questions: it needs neither a
// naming nor an informed plan.
func (o *offer) legacy() bool {
	return o.bid.PlanAt == nil && (len(o.body.FinalistQuestions) == 0 || len(o.body.FinalistQuestions[0]) == 0)
}

// live refuses a bid that has been overtaken by what happened to its want.
func (o *offer) live() error {
	switch {
	case o.want.BidID != "":
		return AlreadyAccepted
	case o.bid.Status != bids.Filed, o.want.Status != wants.Open, o.bid.Round != o.want.Round:
		return NotFiled
	}
	return nil
}

func (o *offer) refuse(planAt *string) error {
	if err := o.live(); err != nil {
		return err
	}
	switch {
	case o.legacy():
	case !o.bid.Finalist():
		return NotFinalist
	case o.bid.PlanAt == nil:
		return PlanNotInformed
	}
	if planAt != nil && !samePlan(*planAt, o.bid.PlanAt) {
		return PlanChanged
	}
	if !o.agent.Reachable() || !o.agent.DelistedAt.IsZero() {
		return NotReachable
	}
	if o.bid.TotalCents == 0 || o.want.Practice {
		return nil
	}
	if !o.agent.PayoutReady() {
		return PayoutNotReady
	}
	if o.bid.TotalCents < pay.MinCheckoutCents || o.bid.TotalCents > pay.MaxAmountCents {
		return NotChargeable
	}
	return nil
}

// samePlan compares the time a person was shown, whole seconds, with the plan in force.
func samePlan(shown string, inForce *time.Time) bool {
	t, err := clock.Parse(shown)
	return err == nil && inForce != nil && clock.Seconds(t) == clock.Seconds(*inForce)
}

// deal makes the picked deal of an offer: parties, frozen numbers, steps. payment names
// the person's payment, "" where nothing is paid.
func (o *offer) deal(c *op.Call, payment string) (*path.Deal, error) {
	ids := make([]string, len(o.plan.Steps)+2)
	for i := range ids {
		ids[i] = c.NewID()
	}
	b, w, a := &o.bid, &o.want, &o.agent
	p, _, err := op.Load[account.Person](c, account.PersonKey(w.PersonID))
	if err != nil {
		return nil, err
	}
	head := path.Deal{ID: c.NewID(), TargetID: w.ID, ProposalID: b.ID, PersonID: w.PersonID, AgentID: a.ID, Round: w.Round, Zone: p.Timezone,
		Handle: a.Handle, AgentNo: a.Number, Model: b.ModelDeclared, System: a.System.Label, House: a.HouseRun(),
		Finish: w.FinishText(), Frozen: w.Frozen, Practice: w.Practice, TipInvited: w.TipInvited, World: w.WorldFile != "",
		TotalCents: b.TotalCents, Days: b.Days, PlanAt: b.FiledAt, Charge: payment, Payout: a.Payout.AccountID}
	if b.PlanAt != nil {
		head.Informed, head.PlanAt = true, *b.PlanAt
	}
	d := path.Pick(head, o.plan.Steps, o.plan.FinishCents, ids, c.Now)
	c.Create(PlanKey(d.ID), Plan{Steps: o.plan.Steps, Costs: o.body.PersonCostEstimate})
	if err := o.suspect(c, d, &p); err != nil {
		return nil, err
	}
	return d, c.Fetch(Key(d.ID), record.HeadKey(a.ID))
}

// checkout opens the page on which the person pays. The processor is asked before the
// commit, under a key that the bid and the number of its checkout give: a call that lost
// its race, or its answer, finds the same page again. The older open checkout of the want
// ends with this commit.
func (o *offer) checkout(c *op.Call) (AcceptOut, error) {
	open, _, err := op.Load[openCheckout](c, openCheckoutKey(o.want.ID))
	if err != nil {
		return AcceptOut{}, err
	}
	if err := replaceCheckout(c, &o.bid, open.ID); err != nil {
		return AcceptOut{}, err
	}
	key := fmt.Sprintf("checkout:%s:%d:%s", o.bid.ID, open.N, c.Keys.MAC("checkout", c.Caller.Email)[:8])
	got, err := pay.From(c).CreateCheckout(c, pay.CheckoutRequest{Key: key, AmountCents: o.bid.TotalCents,
		Description: "The whole price of the deal, held until you approve each step", CustomerEmail: c.Caller.Email,
		SuccessURL: c.BaseURL + "/wants/" + o.want.ID, CancelURL: c.BaseURL + "/wants/" + o.want.ID + "/accept/" + o.bid.ID,
		Refs: pay.Refs{WantID: o.want.ID, ProposalID: o.bid.ID}})
	if errors.Is(err, pay.ErrUnavailable) || errors.Is(err, pay.ErrRefused) {
		return AcceptOut{}, money.StripeUnavailable
	}
	if err != nil {
		return AcceptOut{}, err
	}
	k := Checkout{ID: got.ID, TargetID: o.want.ID, ProposalID: o.bid.ID, PersonID: o.want.PersonID, Cents: o.bid.TotalCents,
		URL: got.URL, State: checkoutOpen, OpenedAt: c.Now, ExpiresAt: got.ExpiresAt}
	k.Timer = c.Arm(TimerCheckout, k.ID, c.Now.Add(firstLook))
	o.bid.CheckoutID = k.ID
	o.bid.Save(c)
	c.Check(wants.Key(o.want.ID))
	c.Create(CheckoutKey(k.ID), k)
	c.Put(openCheckoutKey(o.want.ID), openCheckout{ID: k.ID, N: open.N + 1})
	return AcceptOut{CheckoutID: k.ID, CheckoutURL: k.URL, TotalCents: &k.Cents}, nil
}
