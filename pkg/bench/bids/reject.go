package bids

import (
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// RejectIn rejects a bid with a reason, which later bidders read.
type RejectIn struct {
	onWant
	Reason string `json:"reason" rule:"required,min=1,max=500"`
}

// Validate implements op.Validator.
func (in RejectIn) Validate() error { return plain("reason", in.Reason) }

// Reject declines a filed bid (bench.md 6.1).
var Reject = op.Declare(op.Meta{
	ID: "person.bid.reject", Method: "POST", Path: "/api/person/wants/{target_id}/bids/{proposal_id}/reject",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Reject a bid and say why.",
	Faults: []string{"not_filed", "bid_superseded"}, Contract: "bench.md 6.1, surface.md 3",
}, reject)

func reject(c *op.Call, in RejectIn) (Empty, error) {
	w, b, passed, err := touched(c, in.onWant)
	if err != nil {
		return Empty{}, err
	}
	switch {
	case b.Round != w.Round:
		return Empty{}, Superseded
	case b.Status != Filed:
		return Empty{}, NotFiled
	}
	if err := b.Apply(c, &w, passed); err != nil {
		return Empty{}, err
	}
	b.end(Declined, c.Now)
	b.Reason = text.Normalize(in.Reason)
	w.Free(b.ID)
	w.Reject(c.Now, b.Round, b.Reason, b.Handle, b.RegistryNo)
	if err := dropMove(c, &b); err != nil {
		return Empty{}, err
	}
	if err := b.event(c, string(record.BidDeclined), c.Now, map[string]any{"reason": wants.Reason(b.Reason)}); err != nil {
		return Empty{}, err
	}
	if err := b.ledger(c, &w, record.BidDeclined, c.Now); err != nil {
		return Empty{}, err
	}
	return Empty{}, b.Commit(c, &w, nil)
}

// plain refuses control characters in a person's text.
func plain(field, s string) error {
	if text.HasControl(text.Normalize(s)) {
		return fault.InvalidField.At(field).Say(field + " must be plain text without control characters.")
	}
	return nil
}
