package bids

import (
	"encoding/json"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// DryIn is a proposal to be looked at, not filed.
type DryIn struct {
	TargetID string          `path:"target_id"`
	Proposal json.RawMessage `body:"raw"`
}

// Rows implements op.Prefetcher.
func (in DryIn) Rows(account string) []table.Key {
	return []table.Key{wants.BriefKey(in.TargetID), LiveKey(in.TargetID, account)}
}

// DryOut says that the stages a dry run sees are passed; filing looks at more.
type DryOut struct {
	NotChecked []string `json:"not_checked"`
}

// CheckProposal is the dry run of a bid: stages 1 to 9, nothing written, a pass promises no
// filing. It is a tool only: the contract has no REST dry run (bench.md 2.3, 5.11).
var CheckProposal = op.Declare(op.Meta{
	ID: "bench.proposal.check", Method: "POST", Path: "/mcp/tools/validate_proposal/{target_id}", ToolOnly: true,
	Tool: "validate_proposal", ToolArg: "proposal", Auth: op.Maker, Scope: "proposals:write", LooseBody: true, BodySchema: proposal.Schema,
	Summary: "Check a proposal against a target without filing it.",
	Notes:   "The pitch, the goal and the four questions are not looked at: not_checked lists their codes.",
	Faults:  append([]string{"target not found or not open"}, rejections...), Contract: "bench.md 5.11",
}, checkProposal)

func checkProposal(c *op.Call, in DryIn) (DryOut, error) {
	w, _, err := LoadVisible(c, in.TargetID)
	if err != nil {
		return DryOut{}, err
	}
	if _, rej := proposal.Validate(in.Proposal, measure(&w), proposal.DryRun); rej != nil {
		return DryOut{}, Refusal(rej).With("not_checked", proposal.NotChecked())
	}
	return DryOut{proposal.NotChecked()}, nil
}

// LoadVisible reads the brief of a target the calling agent may read, and the agent's bid
// of the current round on it, nil without one. Any other target is NotOpen (bench.md 4.4).
func LoadVisible(c *op.Call, target string) (w wants.Want, mine *Bid, err error) {
	w, found, err := wants.LoadBrief(c, target)
	if err != nil {
		return w, nil, err
	}
	if !found {
		return w, nil, wants.NotOpen
	}
	if mine, err = OnTarget(c, &w, c.Caller.ID); err != nil {
		return w, nil, err
	}
	ok, err := Visible(c, &w, mine)
	if err == nil && !ok {
		err = wants.NotOpen
	}
	return w, mine, err
}

// OnTarget is an agent's bid of the current round on a target, settled to now; nil without
// one.
func OnTarget(c *op.Call, w *wants.Want, agent string) (*Bid, error) {
	l, found, err := op.Load[Live](c, LiveKey(w.ID, agent))
	if err != nil || !found || l.Round != w.Round {
		return nil, err
	}
	if err := c.Fetch(Key(l.BidID), TalkKey(l.BidID)); err != nil {
		return nil, err
	}
	b, found, err := Load(c, l.BidID)
	if err != nil || !found {
		return nil, err
	}
	_, err = b.SettledOn(c, w)
	return &b, err
}

// Visible tells whether an agent may read a target: it takes bids, or the agent holds a
// live bid or the running deal on it (bench.md 4.4). A finalist whose time is up closes
// nothing, whether or not the sweep has come to it.
func Visible(c *op.Call, w *wants.Want, mine *Bid) (bool, error) {
	switch {
	case w.TakesBids():
		return true, nil
	case w.Status != wants.Open:
		return false, nil
	case mine != nil && mine.LiveIn(w.Round):
		return true, nil
	case w.BidID != "":
		return false, nil
	}
	var keys []table.Key
	for _, id := range w.Finalists {
		keys = append(keys, Key(id)) // all slots are taken, or the target would take bids
	}
	if err := c.Fetch(keys...); err != nil {
		return false, err
	}
	for _, id := range w.Finalists {
		b, found, err := Load(c, id)
		if err != nil {
			return false, err
		}
		if _, err := b.SettledOn(c, w); err != nil || !found || b.Status != Filed {
			return err == nil, err
		}
	}
	return false, nil
}

// EstimateIn is a proposal object, legal or not yet.
type EstimateIn struct {
	Proposal json.RawMessage `body:"raw"`
}

// EstimateReleases shows what each approval of a proposal would release (bench.md 5.14).
var EstimateReleases = op.Declare(op.Meta{
	ID: "bench.proposal.estimate", Method: "POST", Path: "/mcp/tools/estimate_release_map", ToolOnly: true,
	Tool: "estimate_release_map", ToolArg: "proposal", Auth: op.Maker, Scope: "proposals:write", LooseBody: true, BodySchema: proposal.Schema,
	Summary: "Show the step-by-step releases a proposal would bring.", Faults: []string{"REJ-01"}, Contract: "bench.md 5.14",
}, estimateReleases)

func estimateReleases(_ *op.Call, in EstimateIn) (proposal.Releases, error) {
	m, rej := proposal.EstimateReleases(in.Proposal)
	if rej != nil {
		return m, Refusal(rej)
	}
	return m, nil
}

// SchemaIn is empty.
type SchemaIn struct{}

// SchemaOut is the JSON schema of a proposal, as the served file has it.
type SchemaOut struct{}

// MarshalJSON implements json.Marshaler.
func (SchemaOut) MarshalJSON() ([]byte, error) { return proposal.Schema(), nil }

// ReadSchema gives the JSON schema of a proposal.
var ReadSchema = op.Declare(op.Meta{
	ID: "bench.proposal.schema", Method: "GET", Path: "/mcp/tools/get_proposal_schema", ToolOnly: true,
	Tool: "get_proposal_schema", Auth: op.Maker, Scope: "targets:read", Summary: "Read the JSON schema of a proposal.", Contract: "bench.md 5.14",
}, func(*op.Call, SchemaIn) (SchemaOut, error) { return SchemaOut{}, nil })
