package proposal

import (
	"encoding/json"
	"strconv"
)

// Mode is how much of the order of checks runs.
type Mode int

const (
	// Bid runs stages 1 to 10 of bench contract 5.11.
	Bid Mode = iota
	// DryRun runs stages 1 to 9: a bid that passes may still be refused for its pitch, goal or questions.
	DryRun
)

// NotChecked are the codes a dry run cannot see.
func NotChecked() []string { return []string{RejGoal, RejQuestions, RejPitch} }

// Validate judges a bid against a target. It answers the proposal to store, its texts trimmed and composed, unknown keys left
// out; or the first refusal in the order of bench contract 5.11. In a dry run a legal bid answers a proposal whose pitch, goal
// and questions are only what could be read of them.
func Validate(raw []byte, t Target, mode Mode) (*Proposal, *Rejection) {
	d, rej := newDraft(raw, t)
	if rej != nil {
		return nil, rej
	}
	if p := d.run(checks...); p != nil {
		return nil, p.rejection()
	}
	if mode == Bid {
		if p := d.pitchStage(); p != nil {
			return nil, p.rejection()
		}
	}
	return d.proposal(), nil
}

// newDraft parses a body that must be an object.
func newDraft(raw []byte, t Target) (*draft, *Rejection) {
	v, err := parse(raw)
	if err != nil {
		return nil, Reject(RejSchema, err.Error())
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, Reject(RejSchema, "the body must be a JSON object")
	}
	return &draft{top: top, target: t}, nil
}

// ValidatePlan judges an informed plan: the steps as JSON, and its finish-line amount in cents, nil to keep the one in force.
// The total, the allocation, the timeline and the finish line are frozen from the accepted bid; the answer is that bid with
// the plan's steps and amount. Stages 1 to 9 run; CheckGrants comes after them (bench contract 6.7).
func ValidatePlan(stepsRaw []byte, finishLineCents *int64, accepted *Proposal, t Target) (*Proposal, *Rejection) {
	steps, err := parse(stepsRaw)
	if err != nil {
		return nil, Reject(RejSchema, err.Error())
	}
	finish := accepted.FinishLineCents
	if finishLineCents != nil {
		finish = *finishLineCents
	}
	if finish < 0 || finish > MaxCents {
		_, p := cents.check(json.Number(strconv.FormatInt(finish, 10)))
		return nil, p.in("finish_line_cents").coded(RejSchema).rejection()
	}
	d := &draft{top: map[string]any{"steps": steps, "finish_line_cents": finish}, target: t, plan: accepted}
	if p := d.run(checks...); p != nil {
		return nil, p.rejection()
	}
	out := *accepted
	out.Steps, out.FinishLineCents = d.done, finish
	return &out, nil
}
