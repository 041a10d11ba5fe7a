package bids

import (
	"slices"
	"strconv"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
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
	passed, err = b.Settled(c)
	return w, b, passed, err
}

// NameIn names a finalist.
type NameIn struct {
	TargetID   string `path:"target_id"`
	ProposalID string `json:"proposal_id" rule:"required,max=64"`
}

// Rows implements op.Prefetcher.
func (in NameIn) Rows(string) []table.Key {
	return []table.Key{wants.Key(in.TargetID), Key(in.ProposalID)}
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
	if err := settleSlots(c, &w); err != nil {
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

// nameable decides whether a bid can be named.
func nameable(w *wants.Want, b *Bid, reachable bool) error {
	switch {
	case w.BidID != "" || w.Status != wants.Open:
		return AlreadyAccepted
	case b.Round != w.Round:
		return Superseded
	case b.Status != Filed:
		return NotFiled
	case slices.Contains(w.Finalists[:], b.ID):
		return fault.New(fault.Conflict, "already_named", "This bid is one of your finalists already.")
	case !reachable:
		return NotReachable
	case w.FreeSlot() == 0:
		return SlotsFull
	}
	return nil
}

func (b *Bid) name(c *op.Call, w *wants.Want) error {
	if err := c.Fetch(BodyKey(b.ID), TalkKey(b.ID), MoveKey(b.AgentID, "bid", b.ID), record.HeadKey(b.AgentID)); err != nil {
		return err
	}
	p, err := LoadProposal(c, b.ID)
	if err != nil {
		return err
	}
	b.Ordinal, b.NamedAt = w.FreeSlot(), &c.Now
	w.Finalists[b.Ordinal-1] = b.ID
	t := Talk{Goal: p.SmartGoals[0]}
	for i, q := range p.FinalistQuestions[0] {
		t.Questions = append(t.Questions, Question{Ordinal: i + 1, Question: q})
	}
	c.Put(TalkKey(b.ID), t)
	c.Put(MoveKey(b.AgentID, "bid", b.ID), ref{b.ID})
	registry.Count(c, b.AgentID, "finalist_namings", 1)
	if err := b.event(c, "finalist.named", c.Now, map[string]any{"finalist_ordinal": b.Ordinal}); err != nil {
		return err
	}
	if err := b.ledger(c, w, record.FinalistNamed, c.Now); err != nil {
		return err
	}
	return b.commit(c, w, nil)
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

// settleSlots settles every finalist of a want, so that a slot whose time is up is free.
func settleSlots(c *op.Call, w *wants.Want) error {
	for _, id := range w.Finalists {
		if id == "" {
			continue
		}
		b, found, err := Load(c, id)
		if err != nil || !found {
			return err
		}
		passed, err := b.Settled(c)
		if err != nil {
			return err
		}
		if len(passed) > 0 {
			if err := b.commit(c, w, passed); err != nil {
				return err
			}
		}
	}
	return nil
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
	w, b, _, err := pair(c, in.TargetID, in.ProposalID)
	if err != nil {
		return Empty{}, err
	}
	switch {
	case !b.Finalist():
		return Empty{}, NotFinalist
	case b.HandedAt != nil:
		return Empty{}, HandedAlready
	}
	w.Free(b.ID)
	b.Ordinal, b.NamedAt, b.Nudged = 0, nil, false
	if err := dropMove(c, &b); err != nil {
		return Empty{}, err
	}
	if err := b.event(c, "finalist.unnamed", c.Now, nil); err != nil {
		return Empty{}, err
	}
	return Empty{}, b.commit(c, &w, nil)
}

// RejectIn rejects a bid with a reason, which later bidders read.
type RejectIn struct {
	onWant
	Reason string `json:"reason" rule:"required,min=1,max=500"`
}

// Reject declines a filed bid (bench.md 6.1).
var Reject = op.Declare(op.Meta{
	ID: "person.bid.reject", Method: "POST", Path: "/api/person/wants/{target_id}/bids/{proposal_id}/reject",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Reject a bid and say why.",
	Faults: []string{"not_filed", "bid_superseded"}, Contract: "bench.md 6.1, surface.md 3",
}, reject)

func reject(c *op.Call, in RejectIn) (Empty, error) {
	w, b, passed, err := pair(c, in.TargetID, in.ProposalID)
	if err != nil {
		return Empty{}, err
	}
	switch {
	case b.Round != w.Round:
		return Empty{}, Superseded
	case b.Status != Filed || b.CheckoutID != "":
		return Empty{}, NotFiled
	}
	if err := b.Apply(c, &w, passed); err != nil {
		return Empty{}, err
	}
	b.end(Declined, c.Now)
	b.Reason = text.Normalize(in.Reason)
	w.Free(b.ID)
	w.Rejected = append([]wants.RejectedBid{{RejectedAt: c.Now, Round: b.Round, Reason: b.Reason}}, w.Rejected...)
	w.Rejected = w.Rejected[:min(len(w.Rejected), wants.MaxRejected)]
	if err := dropMove(c, &b); err != nil {
		return Empty{}, err
	}
	if err := b.event(c, "bid.declined", c.Now, map[string]any{"reason": b.Reason}); err != nil {
		return Empty{}, err
	}
	if err := b.ledger(c, &w, record.BidDeclined, c.Now); err != nil {
		return Empty{}, err
	}
	return Empty{}, b.commit(c, &w, nil)
}

// AskIn is a question of the person to a finalist.
type AskIn struct {
	onWant
	Question string `json:"question" rule:"required,min=1,max=500"`
}

// AskOut names the question.
type AskOut struct {
	QuestionRef string `json:"question_ref"`
}

// Ask puts a question to a live finalist (bench.md 6.5).
var Ask = op.Declare(op.Meta{
	ID: "person.finalist.ask", Method: "POST", Path: "/api/person/wants/{target_id}/bids/{proposal_id}/questions", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Ask a finalist something about its bid.",
	Faults: []string{"not_finalist", "too_many_questions"}, Contract: "bench.md 6.5, surface.md 3",
}, ask)

func ask(c *op.Call, in AskIn) (AskOut, error) {
	_, b, passed, err := pair(c, in.TargetID, in.ProposalID)
	if err != nil {
		return AskOut{}, err
	}
	if !b.Finalist() || len(passed) > 0 {
		return AskOut{}, NotFinalist
	}
	t, err := LoadTalk(c, b.ID)
	if err != nil {
		return AskOut{}, err
	}
	if len(t.Asked) >= MaxQuestions {
		return AskOut{}, fault.New(fault.Conflict, "too_many_questions", "You can put five questions to one finalist.")
	}
	q := Asked{Ref: "q" + strconv.Itoa(len(t.Asked)+1), Question: text.Normalize(in.Question), At: c.Now}
	t.Asked = append(t.Asked, q)
	c.Put(TalkKey(b.ID), t)
	return AskOut{q.Ref}, b.event(c, "finalist.question", c.Now, map[string]any{"question_ref": q.Ref, "question": q.Question})
}
