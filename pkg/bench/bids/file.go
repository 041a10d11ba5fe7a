package bids

import (
	"encoding/json"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Refusals of filing.
var (
	BiddingClosed = fault.New(fault.Conflict, "bidding_closed", "This target takes no more bids: three finalists are named or a bid is accepted.")
	AlreadyFiled  = fault.New(fault.Conflict, "already_filed", "You already have a live bid on this target in this round. Withdraw it before you file another.")
	Suspended     = fault.New(fault.Conflict, "new_work_suspended", "You cannot take new work right now. Work that is running goes on.")
)

// Skill is where a refused agent reads the rules of a bid.
const Skill = "/static/agent-skill.md"

// FileIn is a sealed bid: the whole body is the proposal object (bench.md 5.2).
type FileIn struct {
	TargetID string          `path:"target_id"`
	Proposal json.RawMessage `body:"raw"`
}

// Rows implements op.Prefetcher.
func (in FileIn) Rows(account string) []table.Key {
	return []table.Key{registry.AgentKey(account), wants.Key(in.TargetID), LiveKey(in.TargetID, account), wants.NewsKey(in.TargetID),
		record.HeadKey(account)}
}

// FileOut answers a filing.
type FileOut struct {
	ProposalID string     `json:"proposal_id"`
	FiledAt    wants.Time `json:"filed_at"`
}

// FileProposal files a sealed bid (bench.md 5.1): validated, timestamped and final, or
// refused without a row or a mark.
var FileProposal = op.Declare(op.Meta{
	ID: "bench.proposal.file", Method: "POST", Path: "/api/bench/targets/{target_id}/proposals", Status: 201,
	Tool: "submit_proposal", ToolArg: "proposal", Auth: op.Maker, Scope: "proposals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes,
	Summary: "File a sealed bid on an open target.", LooseBody: true, BodySchema: proposal.Schema,
	Faults:   append([]string{"target not found or not open", "bidding_closed", "already_filed", "new_work_suspended"}, rejections...),
	Contract: "bench.md 5.1",
}, fileProposal)

// rejections are the codes a bid can be refused with (bench.md 5.12).
var rejections = []string{"REJ-01", "REJ-02", "REJ-03", "REJ-04", "REJ-05", "REJ-06", "REJ-07", "REJ-08", "REJ-11", "REJ-12",
	"REJ-13", "REJ-14", "REJ-15", "REJ-16", "REJ-19", "REJ-21", "REJ-22", "REJ-23", "REJ-24", "REJ-25", "REJ-26"}

func fileProposal(c *op.Call, in FileIn) (FileOut, error) {
	o, err := biddable(c, in.TargetID)
	if err != nil {
		return FileOut{}, err
	}
	p, rej := proposal.Validate(in.Proposal, measure(&o.want), proposal.Bid)
	if rej != nil {
		return FileOut{}, Refusal(rej)
	}
	b := Bid{ID: c.NewID(), TargetID: o.want.ID, PersonID: o.want.PersonID, AgentID: o.agent.ID, Round: o.want.Round, Status: Filed, FiledAt: c.Now,
		Handle: o.agent.Handle, RegistryNo: o.agent.No(), ModelDeclared: p.ModelDeclared, SystemVersion: o.agent.System.Label,
		TotalCents: p.TotalAskCents, FinishCents: p.FinishLineCents, Days: p.TimelineDays, Title: p.PitchTitle,
		Grants: proposal.CountGrants(p.Steps), StepCount: len(p.Steps)}
	if err := o.file(c, &b, p); err != nil {
		return FileOut{}, err
	}
	return FileOut{b.ID, wants.Time(b.FiledAt)}, nil
}

// opening is a target an agent may bid on.
type opening struct {
	want    wants.Want
	agent   registry.Agent
	old     Live // the agent's latest bid on the target, zero without one
	settled bool // slots whose time was up were freed; they are staged
}

// biddable reads the target and the agent and refuses what no bid can be filed on: in
// this order a target that is not open, suspended work, a live bid, closed bidding.
func biddable(c *op.Call, target string) (o opening, err error) {
	w, found, err := wants.Load(c, target)
	if err != nil {
		return o, err
	}
	if !found || w.Status != wants.Open {
		return o, wants.NotOpen
	}
	o.want = w
	if o.agent, err = registry.Load(c, c.Caller.ID); err != nil {
		return o, err
	}
	if o.agent.SuspendedNewWork() {
		return o, Suspended
	}
	old, found, err := op.Load[Live](c, LiveKey(w.ID, o.agent.ID))
	if err != nil {
		return o, err
	}
	if o.old = old; found {
		if err := c.Fetch(Key(old.BidID), OnKey(o.agent.ID, old.ListedAt, w.ID), OnKey(o.agent.ID, w.ListTime(), w.ID)); err != nil {
			return o, err
		}
		b, err := Effective(c, old.BidID)
		if err != nil {
			return o, err
		}
		if b.LiveIn(w.Round) {
			return o, AlreadyFiled.With("proposal_id", b.ID)
		}
	}
	return o, o.reopen(c)
}

// reopen refuses a target that takes no bids. A finalist whose time is up holds no slot,
// whether or not the sweep has come to it.
func (o *opening) reopen(c *op.Call) (err error) {
	if !o.want.TakesBids() && o.want.BidID == "" {
		if o.settled, err = settleSlots(c, &o.want); err != nil {
			return err
		}
	}
	if !o.want.TakesBids() {
		return BiddingClosed
	}
	return nil
}

// file stages everything a filed bid is.
func (o *opening) file(c *op.Call, b *Bid, p *proposal.Proposal) error {
	body, err := p.Encode()
	if err != nil {
		return err
	}
	w := &o.want
	c.Create(Key(b.ID), b)
	c.Create(BodyKey(b.ID), json.RawMessage(body))
	c.Create(OnTargetKey(b), ref{BidID: b.ID})
	c.Create(OfAgentKey(b), ref{b.ID, b.TargetID})
	o.point(c, b)
	c.Add(wants.CountKey(w.ID), wants.RoundField(w.Round), 1)
	if !w.Practice {
		registry.Count(c, b.AgentID, registry.ProposalsFiled, 1)
	}
	if err := w.NewBid(c); err != nil {
		return err
	}
	switch {
	case !w.HasBids:
		w.HasBids = true
		err = w.Save(c)
	case !o.settled:
		c.Check(wants.Key(w.ID))
	}
	if err != nil {
		return err
	}
	if err := record.Event(c, b.AgentID, record.E{Type: "bid.filed", TargetID: b.TargetID, ProposalID: b.ID}); err != nil {
		return err
	}
	return b.ledger(c, w, record.BidFiled, c.Now)
}

// point makes the bid the agent's latest on the target.
func (o *opening) point(c *op.Call, b *Bid) {
	live := Live{b.ID, b.Round, o.want.ListTime()}
	c.Put(LiveKey(b.TargetID, b.AgentID), live)
	on := OnKey(b.AgentID, live.ListedAt, b.TargetID)
	if o.old.BidID == "" {
		c.Create(on, live)
		return
	}
	if old := OnKey(b.AgentID, o.old.ListedAt, b.TargetID); old != on {
		c.Delete(old)
	}
	c.Put(on, live)
}

// ref is an index row that names a bid, and its target where the list needs that too.
type ref struct {
	BidID    string `json:"bid_id"`
	TargetID string `json:"target_id,omitempty"`
}

// measure is what the validator holds a bid against.
func measure(w *wants.Want) proposal.Target {
	return proposal.Target{LaneKind: w.Lane.Kind, CeilingCents: w.Ceiling(), TimelineDays: w.Timeline,
		FrozenProbability: w.Frozen, FinishLine: w.FinishText()}
}

// Refusal words a rejection: the code stands in error and in rej, since clients take
// whichever they know (bench.md 2.5).
func Refusal(r *proposal.Rejection) *fault.Fault {
	return fault.New(fault.Invalid, r.Code, r.Message).With("rej", r.Code).With("detail", r.Detail).With("docs", Skill)
}
