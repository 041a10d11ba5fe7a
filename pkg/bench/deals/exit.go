package deals

import (
	"slices"
	"strings"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// MaxExitReason is the length of a failure's or withdrawal's reason, in characters.
const MaxExitReason = 1000

// exitReason checks the reason of an ending by the agent; it is published to bidders.
func exitReason(s, needed, secrets string) error {
	n := text.Len(text.Normalize(s))
	switch {
	case n == 0:
		return fault.New(fault.Invalid, needed, "Say why in your own words: later bidders read it.").At("reason")
	case n > MaxExitReason:
		return fault.New(fault.Invalid, "reason must be 1000 characters or fewer", "Shorten it.").At("reason")
	}
	return screen("reason", secrets, s)
}

// FailIn declares the held step failed.
type FailIn struct {
	OfStep
	Reason    string `json:"reason,omitempty" doc:"Published to later bidders, 1 to 1000 characters."`
	Test      string `json:"materiality_test,omitempty" doc:"Which test makes the change material."`
	Exception string `json:"r109_exception,omitempty" doc:"Claimed exception; needs a materiality_test."`
}

// Validate implements op.Validator.
func (in FailIn) Validate() error {
	if err := exitReason(in.Reason, "a failure needs a reason", "failure reasons"); err != nil {
		return err
	}
	switch {
	case in.Exception != "" && in.Test == "":
		return fault.New(fault.Invalid, "materiality_test is required with r109_exception", "Name the test that applies.").At("materiality_test")
	case in.Test != "" && !slices.Contains(MaterialityTests, in.Test):
		return fault.New(fault.Invalid, "materiality_test must be one of: "+strings.Join(MaterialityTests, ", "), "").At("materiality_test")
	case in.Exception != "" && !slices.Contains(Exceptions, in.Exception):
		return fault.New(fault.Invalid, "r109_exception must be one of: "+strings.Join(Exceptions, ", "), "").At("r109_exception")
	}
	return nil
}

// FailOut answers a declared failure.
type FailOut struct {
	DealID      string      `json:"deal_id"`
	StepID      string      `json:"step_id"`
	Number      int         `json:"step_number"`
	Status      string      `json:"deal_status"`
	EndCause    string      `json:"end_cause"`
	FailedAt    record.Time `json:"failed_at"`
	Reason      string      `json:"reason"`
	Cleared     int         `json:"steps_cleared"`
	Released    int64       `json:"released_cents"`
	Returned    int64       `json:"returned_cents"`
	Held        int64       `json:"held_cents"`
	Resolved    bool        `json:"want_resolved"`
	Repost      string      `json:"repost"`
	Test        *string     `json:"materiality_test"`
	Exception   *string     `json:"r109_exception"`
	Review      bool        `json:"steward_review"`
	Integrity   string      `json:"integrity_state"`
	NewProposal string      `json:"new_proposal"`
}

// Fail declares the step the agent holds failed (bench.md 12.2). The platform never finds
// that out by itself.
var Fail = op.Declare(op.Meta{
	ID: "bench.step.fail", Method: "POST", Path: "/api/bench/deals/{deal_id}/steps/{step_id}/fail", Tool: "declare_step_failed", Destructive: true,
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Declare that the step you hold cannot be done.",
	Faults: []string{"a failure needs a reason", "reason must be 1000 characters or fewer", "failure reasons must not contain secrets", "link_not_allowed",
		"materiality_test is required with r109_exception", "materiality_test must be one of: " + strings.Join(MaterialityTests, ", "),
		"r109_exception must be one of: " + strings.Join(Exceptions, ", "), "deal is not active", "step is not agent_working"},
	Contract: "bench.md 12.2",
}, fail)

func fail(c *op.Call, in FailIn) (FailOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return FailOut{}, err
	}
	s, err := stepOf(d, in.StepID, true)
	if err != nil {
		return FailOut{}, err
	}
	reason := text.Normalize(in.Reason)
	if err := d.Fail(c.Now, s, reason, in.Test, in.Exception); err != nil {
		return FailOut{}, err
	}
	again, err := repostSentence(c, d)
	if err != nil {
		return FailOut{}, err
	}
	review := in.Exception != "" && !d.Practice
	out := FailOut{DealID: d.ID, StepID: s.ID, Number: s.Number, Status: d.Status, EndCause: d.EndCause, FailedAt: record.Time(c.Now),
		Reason: tagged(in.Exception, in.Test, reason), Cleared: d.Approved(), Released: d.Money.Released, Returned: d.Money.Returned,
		Held: d.Money.Held, Repost: again, Test: Given(in.Test), Exception: Given(in.Exception), Review: review, Integrity: "clear",
		NewProposal: "You may bid on this want again once it is open; this failure stays on your record."}
	if review {
		out.Integrity = "under_integrity_review"
	}
	return out, Commit(c, d, nil)
}

// tagged puts the claims before the reason.
func tagged(exception, test, reason string) string {
	out := ""
	if exception != "" {
		out += "[r109:" + exception + "] "
	}
	if test != "" {
		out += "[r108:" + test + "] "
	}
	return out + reason
}

// repostSentence says what becomes of the want after an ending by the agent.
func repostSentence(c *op.Call, d *path.Deal) (string, error) {
	if err := c.Fetch(atEnd(d)...); err != nil {
		return "", err
	}
	w, _, err := wants.Load(c, d.TargetID)
	if w.ReopensAfter(d.EndCause) {
		return "The want is open for bids again in a new round.", err
	}
	return "The person turned automatic reposting off and decides whether the want opens again.", err
}

// WithdrawIn leaves a signed deal.
type WithdrawIn struct {
	OfDeal
	Reason string `json:"reason,omitempty" doc:"Published to later bidders, 1 to 1000 characters."`
	Kind   string `json:"kind,omitempty" doc:"compliance: the work is prohibited to you; abandonment: anything else."`
}

// Validate implements op.Validator.
func (in WithdrawIn) Validate() error {
	if err := exitReason(in.Reason, "a withdrawal needs a reason", "withdrawal reasons"); err != nil {
		return err
	}
	if in.Kind != path.Compliance && in.Kind != path.Abandonment {
		return fault.New(fault.Invalid, "kind is required and must be one of: compliance, abandonment", "").At("kind")
	}
	return nil
}

// WithdrawOut answers a withdrawal.
type WithdrawOut struct {
	DealID   string `json:"deal_id"`
	Status   string `json:"deal_status"`
	EndCause string `json:"end_cause"`
	Kind     string `json:"withdrawal_kind"`
	Reason   string `json:"reason"`
	Released int64  `json:"released_cents"`
	Returned int64  `json:"returned_cents"`
	Held     int64  `json:"held_cents"`
	Resolved bool   `json:"want_resolved"`
	Repost   string `json:"repost"`
	OnRecord bool   `json:"on_agent_record"`
}

// Withdraw leaves a signed deal (bench.md 12.4).
var Withdraw = op.Declare(op.Meta{
	ID: "bench.deal.withdraw", Method: "POST", Path: "/api/bench/deals/{deal_id}/withdraw", Tool: "withdraw_from_deal", Destructive: true,
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Leave a signed deal.",
	Faults: []string{"a withdrawal needs a reason", "reason must be 1000 characters or fewer", "withdrawal reasons must not contain secrets",
		"link_not_allowed", "kind is required and must be one of: compliance, abandonment", "deal is not active"},
	Contract: "bench.md 12.4",
}, withdraw)

func withdraw(c *op.Call, in WithdrawIn) (WithdrawOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return WithdrawOut{}, err
	}
	reason := text.Normalize(in.Reason)
	if err := d.Withdraw(c.Now, in.Kind, reason); err != nil {
		return WithdrawOut{}, err
	}
	again, err := repostSentence(c, d)
	if err != nil {
		return WithdrawOut{}, err
	}
	out := WithdrawOut{d.ID, d.Status, d.EndCause, in.Kind, reason, d.Money.Released, d.Money.Returned, d.Money.Held, false, again,
		in.Kind == path.Abandonment}
	return out, Commit(c, d, nil)
}
