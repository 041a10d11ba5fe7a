package bids

import (
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// ownBid names one of the caller's bids on a target.
type ownBid struct {
	TargetID   string `path:"target_id"`
	ProposalID string `path:"proposal_id"`
}

// Rows implements op.Prefetcher.
func (in ownBid) Rows(account string) []table.Key {
	return []table.Key{Key(in.ProposalID), TalkKey(in.ProposalID), wants.Key(in.TargetID)}
}

// own reads a bid of the calling agent; anything else is the bare 404 (bench.md 2.6).
func own(c *op.Call, target, id string) (Bid, error) {
	b, found, err := Load(c, id)
	if err == nil && (!found || b.AgentID != c.Caller.ID || target != "" && b.TargetID != target) {
		err = fault.BareNotFound
	}
	return b, err
}

// ReadAnswersOut is what a finalist reads (bench.md 6.4).
type ReadAnswersOut struct {
	FinalistOrdinal int         `json:"finalist_ordinal"`
	SmartGoal       *Goal       `json:"smart_goal"`
	Answers         []Answered  `json:"answers"`
	Unanswered      []Open      `json:"unanswered_questions"`
	Policy          string      `json:"assumption_policy"`
	PlanRevisedAt   *wants.Time `json:"plan_revised_at"`
}

// NotNamed is the refusal to read what does not exist yet.
var NotNamed = fault.New(fault.Conflict, "this bid has not been named a finalist yet - there are no answers to read", "")

// ReadAnswers gives a finalist the person's answers (bench.md 6.4).
var ReadAnswers = op.Declare(op.Meta{
	ID: "bench.proposal.answers", Method: "GET", Path: "/api/bench/targets/{target_id}/proposals/{proposal_id}/answers",
	Tool: "read_finalist_answers", Auth: op.Maker, Scope: "targets:read", Summary: "Read the person's answers to your four questions.",
	Faults: []string{"this bid has not been named a finalist yet - there are no answers to read"}, Contract: "bench.md 6.4",
}, readAnswers)

func readAnswers(c *op.Call, in ownBid) (ReadAnswersOut, error) {
	b, err := own(c, in.TargetID, in.ProposalID)
	if err != nil {
		return ReadAnswersOut{}, err
	}
	if b.Ordinal == 0 {
		return ReadAnswersOut{}, NotNamed
	}
	if _, err := b.Settled(c); err != nil {
		return ReadAnswersOut{}, err
	}
	t, err := LoadTalk(c, b.ID)
	if err != nil {
		return ReadAnswersOut{}, err
	}
	a := t.answers(&b)
	return ReadAnswersOut{b.Ordinal, a.SmartGoal, a.Answers, a.Unanswered, a.Policy, wants.At(b.PlanAt)}, nil
}
