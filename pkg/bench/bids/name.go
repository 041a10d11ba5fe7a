package bids

import (
	"slices"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Refusals on the person's side (surface.md 3).
var (
	NotReachable    = fault.New(fault.Invalid, "agent_not_reachable", "This agent has not shown yet that it listens, so it cannot be picked.")
	SlotsFull       = fault.New(fault.Conflict, "slots_full", "You already have three finalists. Reject one, or take one back, to pick another.")
	NotFiled        = fault.New(fault.Conflict, "not_filed", "This bid is no longer on the table.")
	Superseded      = fault.New(fault.Conflict, "bid_superseded", "This bid belongs to an earlier round of your want.")
	AlreadyAccepted = fault.New(fault.Conflict, "already_accepted", "You have already accepted a bid on this want.")
	HandedAlready   = fault.New(fault.Conflict, "already_handed_off", "Your answers are with the agent already. You can reject the bid with a reason.")
	NotFinalist     = fault.New(fault.Conflict, "not_finalist", "This bid is not one of your finalists.")
)

// MaxQuestions is how many questions a person may put to one finalist.
const MaxQuestions = 5

// onWant names a want and one of its bids in the path.
type onWant struct {
	TargetID   string `path:"target_id"`
	ProposalID string `path:"proposal_id"`
}

// Rows implements op.Prefetcher.
func (in onWant) Rows(string) []table.Key {
	return []table.Key{wants.Key(in.TargetID), Key(in.ProposalID), TalkKey(in.ProposalID)}
}

// pair reads a want of this person and a bid on it, settled to now.
func pair(c *op.Call, target, bid string) (w wants.Want, b Bid, passed []Passed, err error) {
	if w, err = wants.Own(c, c.Caller.ID, target); err != nil {
		return w, b, nil, err
	}
	b, found, err := Load(c, bid)
	if err != nil {
		return w, b, nil, err
	}
	if !found || b.TargetID != w.ID {
		return w, b, nil, fault.BareNotFound
	}
	passed, err = b.SettledOn(c, &w)
	return w, b, passed, err
}

// touched is pair for a call that changes the bid: what its commit will need is read in one
// batch.
func touched(c *op.Call, in onWant) (w wants.Want, b Bid, passed []Passed, err error) {
	b, found, err := Load(c, in.ProposalID)
	if err == nil && found {
		err = c.Fetch(record.HeadKey(b.AgentID), account.AgentToken.Row(b.AgentID, ""), MoveKey(b.AgentID, "bid", b.ID), wants.BriefKey(b.TargetID),
			account.PersonKey(b.PersonID))
	}
	if err != nil {
		return w, b, nil, err
	}
	return pair(c, in.TargetID, in.ProposalID)
}

// NameIn names a finalist.
type NameIn struct {
	TargetID   string `path:"target_id"`
	ProposalID string `json:"proposal_id" rule:"required,max=64"`
}

// Rows implements op.Prefetcher.
func (in NameIn) Rows(string) []table.Key {
	return []table.Key{wants.Key(in.TargetID), wants.BriefKey(in.TargetID), Key(in.ProposalID), BodyKey(in.ProposalID), TalkKey(in.ProposalID)}
}

// NameOut answers a naming.
type NameOut struct {
	FinalistOrdinal int `json:"finalist_ordinal"`
}

// Name names a finalist: a closer look at one of up to three bids (bench.md 6.1).
var Name = op.Declare(op.Meta{
	ID: "person.finalist.name", Method: "POST", Path: "/api/person/wants/{target_id}/finalists", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Pick a bid for a closer look.",
	Faults:   []string{"agent_not_reachable", "slots_full", "not_filed", "bid_superseded", "already_accepted", "already_named"},
	Contract: "bench.md 6.1, surface.md 3",
}, name)

func name(c *op.Call, in NameIn) (NameOut, error) {
	w, b, _, err := pair(c, in.TargetID, in.ProposalID)
	if err != nil {
		return NameOut{}, err
	}
	if err := c.Fetch(nameRows(&w, &b)...); err != nil {
		return NameOut{}, err
	}
	if _, err := settleSlots(c, &w); err != nil {
		return NameOut{}, err
	}
	agent, err := registry.Load(c, b.AgentID)
	if err != nil {
		return NameOut{}, err
	}
	if err := nameable(&w, &b, agent.Reachable()); err != nil {
		return NameOut{}, err
	}
	if err := b.name(c, &w); err != nil {
		return NameOut{}, err
	}
	return NameOut{b.Ordinal}, nil
}

// nameRows are the rows a naming needs beyond those its input names.
func nameRows(w *wants.Want, b *Bid) []table.Key {
	keys := []table.Key{registry.AgentKey(b.AgentID), record.HeadKey(b.AgentID), MoveKey(b.AgentID, "bid", b.ID)}
	for _, id := range w.Finalists {
		if id != "" {
			keys = append(keys, Key(id))
		}
	}
	if w.Listed != nil {
		keys = append(keys, wants.OpenKey(*w.Listed, w.ID))
	}
	return keys
}

// nameable decides whether a bid can be named. The agent's own readiness comes last: it is
// no state of the want.
func nameable(w *wants.Want, b *Bid, reachable bool) error {
	switch {
	case b.Round != w.Round:
		return Superseded
	case w.BidID != "":
		return AlreadyAccepted
	case b.Status != Filed:
		return NotFiled
	case slices.Contains(w.Finalists[:], b.ID):
		return fault.New(fault.Conflict, "already_named", "This bid is one of your finalists already.")
	case w.FreeSlot() == 0:
		return SlotsFull
	case !reachable:
		return NotReachable
	}
	return nil
}

func (b *Bid) name(c *op.Call, w *wants.Want) error {
	t, found, err := op.Load[Talk](c, TalkKey(b.ID))
	if err != nil {
		return err
	}
	if !found {
		p, err := LoadProposal(c, b.ID)
		if err != nil {
			return err
		}
		t = talkOf(p)
	}
	b.Ordinal, b.NamedAt = w.FreeSlot(), &c.Now
	w.Finalists[b.Ordinal-1] = b.ID
	c.Put(TalkKey(b.ID), t)
	if err := c.Fetch(MoveKey(b.AgentID, "bid", b.ID)); err != nil {
		return err
	}
	c.Put(MoveKey(b.AgentID, "bid", b.ID), ref{b.ID, b.TargetID})
	if !b.Counted && !w.Practice {
		registry.Count(c, b.AgentID, registry.FinalistNamings, 1) // once a bid, whatever comes of it
	}
	b.Counted = true
	if err := b.event(c, string(record.FinalistNamed), c.Now, map[string]any{"finalist_ordinal": b.Ordinal}); err != nil {
		return err
	}
	if err := b.ledger(c, w, record.FinalistNamed, c.Now); err != nil {
		return err
	}
	return b.Commit(c, w, nil)
}

// talkOf begins the conversation with a finalist: its goal and its questions as filed.
func talkOf(p *proposal.Proposal) Talk {
	t := Talk{}
	if len(p.SmartGoals) > 0 {
		t.Goal = p.SmartGoals[0]
	}
	for _, list := range p.FinalistQuestions {
		for i, q := range list {
			t.Questions = append(t.Questions, Question{Ordinal: i + 1, Question: q})
		}
	}
	return t
}

// LoadProposal reads a bid as it was filed.
func LoadProposal(c *op.Call, id string) (*proposal.Proposal, error) {
	r, err := c.Get(BodyKey(id))
	if err != nil {
		return nil, err
	}
	var raw op.RawValue
	if err := op.Decode(r.Data, &raw); err != nil {
		return nil, err
	}
	return proposal.Decode(raw)
}

// settleSlots settles every finalist of a want, so that a slot whose time is up is free. It
// tells whether anything changed; that is staged, the want included.
func settleSlots(c *op.Call, w *wants.Want) (changed bool, err error) {
	var keys []table.Key
	for _, id := range w.Finalists {
		if id != "" {
			keys = append(keys, Key(id))
		}
	}
	if err := c.Fetch(keys...); err != nil {
		return false, err
	}
	for _, id := range w.Finalists {
		if id == "" {
			continue
		}
		b, found, err := Load(c, id)
		if err != nil || !found {
			return changed, err
		}
		passed, err := b.SettledOn(c, w)
		if err != nil {
			return changed, err
		}
		if len(passed) > 0 {
			changed = true
			if err := b.Commit(c, w, passed); err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}

// dropMove stages that the bid asks nothing more of its agent.
func dropMove(c *op.Call, b *Bid) error {
	key := MoveKey(b.AgentID, "bid", b.ID)
	if err := c.Fetch(key); err != nil {
		return err
	}
	c.Delete(key)
	return nil
}

// Empty is the answer of calls that have nothing to say.
type Empty struct{}

// Unname takes a finalist back before the handoff (surface.md 3).
var Unname = op.Declare(op.Meta{
	ID: "person.finalist.unname", Method: "DELETE", Path: "/api/person/wants/{target_id}/finalists/{proposal_id}",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Take a finalist back before you send your answers.",
	Faults: []string{"not_finalist", "already_handed_off"}, Contract: "surface.md 3",
}, unname)

func unname(c *op.Call, in onWant) (Empty, error) {
	w, b, passed, err := touched(c, in)
	if err != nil {
		return Empty{}, err
	}
	switch {
	case b.HandedAt != nil && b.Ordinal > 0:
		return Empty{}, HandedAlready
	case !b.Finalist():
		return Empty{}, NotFinalist
	}
	if err := b.Apply(c, &w, passed); err != nil {
		return Empty{}, err
	}
	w.Free(b.ID)
	b.Ordinal, b.NamedAt, b.Nudged = 0, nil, false
	if err := dropMove(c, &b); err != nil {
		return Empty{}, err
	}
	if err := b.event(c, "finalist.unnamed", c.Now, nil); err != nil {
		return Empty{}, err
	}
	return Empty{}, b.Commit(c, &w, nil)
}
