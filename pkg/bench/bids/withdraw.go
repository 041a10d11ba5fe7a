package bids

import (
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
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

// notFiled are the refusals of a call that only a filed bid takes.
func notFiled(verb string) []string {
	var out []string
	for _, s := range []string{Accepted, Withdrawn, Expired, Declined, DeclinedByAgent} {
		out = append(out, "cannot "+verb+" a "+s+" bid")
	}
	return out
}

// Withdraw takes a filed bid back: recorded, not punished, not undone (bench.md 5.13).
var Withdraw = op.Declare(op.Meta{
	ID: "bench.proposal.withdraw", Method: "POST", Path: "/api/bench/proposals/{proposal_id}/withdraw",
	Tool: "withdraw_proposal", Destructive: true, Auth: op.Maker, Scope: "proposals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes,
	Summary: "Take a filed bid back.", Faults: append([]string{"proposal not found"}, notFiled("withdraw")...), Contract: "bench.md 5.13",
}, withdraw)

func withdraw(c *op.Call, in WithdrawIn) (WithdrawOut, error) {
	b, found, err := Load(c, in.ProposalID)
	if err != nil {
		return WithdrawOut{}, err
	}
	if !found || b.AgentID != c.Caller.ID {
		return WithdrawOut{}, fault.New(fault.NotFound, "proposal not found", "")
	}
	if err := c.Fetch(wants.Key(b.TargetID), wants.BriefKey(b.TargetID), MoveKey(b.AgentID, "bid", b.ID)); err != nil {
		return WithdrawOut{}, err
	}
	w, _, err := wants.Load(c, b.TargetID)
	if err != nil {
		return WithdrawOut{}, err
	}
	passed, err := b.SettledOn(c, &w)
	if err != nil {
		return WithdrawOut{}, err
	}
	if b.Status != Filed {
		return WithdrawOut{}, fault.New(fault.Conflict, "cannot withdraw a "+b.Status+" bid", "")
	}
	if err := b.Apply(c, &w, passed); err != nil {
		return WithdrawOut{}, err
	}
	if b.Ordinal > 0 {
		if err := dropMove(c, &b); err != nil {
			return WithdrawOut{}, err
		}
	}
	slots := w.Finalists
	w.Free(b.ID)
	b.end(Withdrawn, c.Now)
	if err := b.event(c, string(record.BidWithdrawn), c.Now, nil); err != nil {
		return WithdrawOut{}, err
	}
	if err := b.ledger(c, &w, record.BidWithdrawn, c.Now); err != nil {
		return WithdrawOut{}, err
	}
	out := WithdrawOut{b.ID, b.Status}
	if w.Finalists != slots {
		return out, b.Commit(c, &w, nil)
	}
	return out, b.commitOn(c, &w, nil)
}
