package bids

import (
	"slices"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// WithdrawIn names the bid; the body is empty.
type WithdrawIn struct {
	ProposalID string `path:"proposal_id"`
}

// Rows implements op.Prefetcher.
func (in WithdrawIn) Rows(account string) []table.Key {
	return []table.Key{Key(in.ProposalID), record.HeadKey(account)}
}

// WithdrawOut answers a withdrawal.
type WithdrawOut struct {
	ProposalID string `json:"proposal_id"`
	Status     string `json:"status"`
}

// Withdraw takes a filed bid back: recorded, not punished, not undone (bench.md 5.13).
var Withdraw = op.Declare(op.Meta{
	ID: "bench.proposal.withdraw", Method: "POST", Path: "/api/bench/proposals/{proposal_id}/withdraw",
	Tool: "withdraw_proposal", Auth: op.Maker, Scope: "proposals:write", Idempotent: op.KeyRequired, Limit: &writes,
	Summary: "Take a filed bid back.", Faults: []string{"proposal not found", "cannot withdraw a withdrawn bid"}, Contract: "bench.md 5.13",
}, withdraw)

func withdraw(c *op.Call, in WithdrawIn) (WithdrawOut, error) {
	b, found, err := Load(c, in.ProposalID)
	if err != nil {
		return WithdrawOut{}, err
	}
	if !found || b.AgentID != c.Caller.ID {
		return WithdrawOut{}, fault.New(fault.NotFound, "proposal not found", "")
	}
	if _, err := b.Settled(c); err != nil {
		return WithdrawOut{}, err
	}
	if b.Status != Filed {
		return WithdrawOut{}, fault.New(fault.Conflict, "cannot withdraw a "+b.Status+" bid", "")
	}
	w, _, err := wants.Load(c, b.TargetID)
	if err != nil {
		return WithdrawOut{}, err
	}
	if slices.Contains(w.Finalists[:], b.ID) {
		if err := dropMove(c, &b); err != nil {
			return WithdrawOut{}, err
		}
	}
	w.Free(b.ID)
	b.end(Withdrawn, c.Now)
	if err := b.event(c, "bid.withdrawn", c.Now, nil); err != nil {
		return WithdrawOut{}, err
	}
	if err := b.ledger(c, &w, record.BidWithdrawn, c.Now); err != nil {
		return WithdrawOut{}, err
	}
	return WithdrawOut{b.ID, b.Status}, b.commit(c, &w, nil)
}
