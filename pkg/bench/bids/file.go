package bids

import (
	"encoding/json"
	"time"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// writes is the limit of an agent's writes (bench.md 2.9).
var writes = limit.Rule{Name: "bench.write", N: 600, Per: time.Hour}

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
	return []table.Key{registry.AgentKey(account), wants.Key(in.TargetID), LiveKey(in.TargetID, account), record.HeadKey(account)}
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
	Tool: "submit_proposal", ToolArg: "proposal", Auth: op.Maker, Scope: "proposals:write", Idempotent: op.KeyRequired, Limit: &writes,
	Summary: "File a sealed bid on an open target.", LooseBody: true, BodySchema: proposal.Schema,
	Faults:   append([]string{"target not found or not open", "bidding_closed", "already_filed", "new_work_suspended"}, rejections...),
	Contract: "bench.md 5.1",
}, fileProposal)

// rejections are the codes a bid can be refused with (bench.md 5.12).
var rejections = []string{"REJ-01", "REJ-02", "REJ-03", "REJ-04", "REJ-05", "REJ-06", "REJ-07", "REJ-08", "REJ-11", "REJ-12",
	"REJ-13", "REJ-14", "REJ-15", "REJ-16", "REJ-19", "REJ-21", "REJ-22", "REJ-23", "REJ-24", "REJ-25", "REJ-26"}

func fileProposal(c *op.Call, in FileIn) (FileOut, error) {
	w, agent, err := biddable(c, in.TargetID)
	if err != nil {
		return FileOut{}, err
	}
	p, rej := proposal.Validate(in.Proposal, measure(&w), proposal.Bid)
	if rej != nil {
		return FileOut{}, Refusal(rej)
	}
	b := Bid{ID: c.NewID(), TargetID: w.ID, PersonID: w.PersonID, AgentID: agent.ID, Round: w.Round, Status: Filed, FiledAt: c.Now,
		Handle: agent.Handle, RegistryNo: agent.No(), ModelDeclared: p.ModelDeclared, SystemVersion: agent.System.Label,
		TotalCents: p.TotalAskCents, FinishCents: p.FinishLineCents, Days: p.TimelineDays, Title: p.PitchTitle,
		Grants: proposal.CountGrants(p.Steps), StepCount: len(p.Steps)}
	if err := b.write(c, &w, p); err != nil {
		return FileOut{}, err
	}
	return FileOut{b.ID, wants.Time(b.FiledAt)}, nil
}

// biddable reads the target and the agent and refuses what no bid can be filed on: in
// this order a target that is not open, suspended work, a live bid, closed bidding.
func biddable(c *op.Call, target string) (w wants.Want, a registry.Agent, err error) {
	w, found, err := wants.Load(c, target)
	if err != nil {
		return w, a, err
	}
	if !found || w.Status != wants.Open {
		return w, a, wants.NotOpen
	}
	if a, err = registry.Load(c, c.Caller.ID); err != nil {
		return w, a, err
	}
	if a.SuspendedNewWork() {
		return w, a, Suspended
	}
	live, err := liveBid(c, w.ID, a.ID)
	if err != nil {
		return w, a, err
	}
	switch {
	case live != nil && live.LiveIn(w.Round):
		err = AlreadyFiled.With("proposal_id", live.ID)
	case !w.TakesBids():
		err = BiddingClosed
	}
	return w, a, err
}

// liveBid is the agent's latest bid on a target, nil without one.
func liveBid(c *op.Call, target, agent string) (*Bid, error) {
	l, found, err := op.Load[Live](c, LiveKey(target, agent))
	if err != nil || !found {
		return nil, err
	}
	b, found, err := Load(c, l.BidID)
	if err != nil || !found {
		return nil, err
	}
	return &b, nil
}

// write stages everything a filed bid is.
func (b *Bid) write(c *op.Call, w *wants.Want, p *proposal.Proposal) error {
	body, err := p.Encode()
	if err != nil {
		return err
	}
	c.Create(Key(b.ID), b)
	c.Create(BodyKey(b.ID), json.RawMessage(body))
	c.Create(OnTargetKey(b), ref{b.ID})
	c.Create(OfAgentKey(b), ref{b.ID})
	c.Put(LiveKey(b.TargetID, b.AgentID), Live{b.ID, b.Round})
	c.Add(wants.CountKey(w.ID), wants.RoundField(w.Round), 1)
	registry.Count(c, b.AgentID, "proposals_filed", 1)
	if w.HasBids {
		c.Check(wants.Key(w.ID))
	} else {
		w.HasBids = true
		if err := w.Save(c); err != nil {
			return err
		}
	}
	if err := record.Event(c, b.AgentID, record.E{Type: "bid.filed", TargetID: b.TargetID, ProposalID: b.ID}); err != nil {
		return err
	}
	if w.Practice {
		return nil
	}
	return record.Ledger(c, record.BidFiled, record.Refs{TargetID: b.TargetID, AgentNo: number(b.RegistryNo)}, nil)
}

// ref is an index row that names a bid.
type ref struct {
	BidID string `json:"bid_id"`
}

// measure is what the validator holds a bid against.
func measure(w *wants.Want) proposal.Target {
	return proposal.Target{LaneKind: w.Lane.Kind, CeilingCents: w.Ceiling(), TimelineDays: w.Timeline,
		FrozenProbability: w.Frozen, FinishLine: w.FinishText()}
}

// Refusal words a rejection: the code stands in error and in rej, since clients take
// whichever they know (bench.md 2.5).
func Refusal(r *proposal.Rejection) error {
	return fault.New(fault.Invalid, r.Code, r.Message).With("rej", r.Code).With("detail", r.Detail).With("docs", Skill)
}
