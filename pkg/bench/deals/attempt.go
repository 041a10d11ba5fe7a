package deals

import (
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
)

// States of a step in the history of a want (bench.md 4.6).
const (
	attemptDone       = "completed"
	attemptBroken     = "in_progress_at_failure"
	attemptNotReached = "not_reached"
)

// remembered adds the ended deal to the history that rides the brief: what was done, what
// the agent said, the finalist's questions with the person's answers, and nothing else that
// the person gave.
func (x *change) remembered(w *wants.Want, e *path.Event) error {
	d := x.d
	no := registry.Number(d.AgentNo)
	prior := wants.PriorAttempt{AgentRegistryNo: &no, AgentHandle: d.Handle, EndCause: e.Cause, EndedAt: e.At}
	hours := 0.0
	for _, s := range d.Steps {
		hours += s.CourtHours
		state := attemptNotReached
		if s.State == path.Approved {
			state = attemptDone
		} else if s.Number == e.Step {
			state = attemptBroken
		}
		prior.Steps = append(prior.Steps, wants.AttemptStep{Ordinal: s.Number, Title: s.Title, State: state, Tipped: s.Tipped})
	}
	if hours > 0 {
		prior.EstimateHours = &hours
	}
	answers, err := x.answers()
	w.Remember(wants.Attempt{Prior: prior, Past: past(d, e, no), Answers: answers})
	return err
}

// answers are the questions of the deal's bid that the person answered.
func (x *change) answers() ([]wants.PublicAnswer, error) {
	t, err := bids.LoadTalk(x.c, x.d.ProposalID)
	if err != nil {
		return nil, err
	}
	b, _, err := bids.Load(x.c, x.d.ProposalID)
	if err != nil || b.HandedAt == nil {
		return nil, err
	}
	var out []wants.PublicAnswer
	for _, q := range t.Questions {
		if q.Answer != nil {
			out = append(out, wants.PublicAnswer{Round: x.d.Round, Question: q.Question, Answer: *q.Answer, AnsweredAt: *b.HandedAt})
		}
	}
	return out, nil
}

// past is what the agent said of the ending, and its odds on the step that broke.
func past(d *path.Deal, e *path.Event, no string) wants.PastAttempt {
	p := wants.PastAttempt{AgentRegistryNo: &no, AgentHandle: d.Handle, EndCause: e.Cause, EndedAt: e.At,
		WithdrawalKind: Given(e.Kind), Reason: Given(e.Reason), MaterialityTest: Given(e.Test), R109Exception: Given(e.Exception), Finding: Given(d.Finding)}
	if s := d.Step(e.Step); s != nil && s.State != path.Approved {
		p.BrokenStep, p.OddsAtBid, p.OddsLatest = &s.Number, s.AtBid, s.AtBid
		if s.Restated != nil {
			p.OddsLatest = s.Restated
		}
	}
	return p
}

// found shows the stewards' finding beside the attempt it is about. One that voided the
// scores stays, whatever is found after it.
func (x *change) found(e *path.Event) error {
	d := x.d
	if d.EndedAt.IsZero() || d.SignedAt.IsZero() || e.Word == record.IntegrityDecided && d.Voided {
		return nil // not remembered yet, never, or with the event behind this one
	}
	w := x.want
	if w == nil {
		stored, _, err := wants.Load(x.c, d.TargetID)
		if err != nil {
			return err
		}
		w = &stored
	}
	if w.Found(registry.Number(d.AgentNo), d.EndedAt, e.Kind) {
		x.want, x.dirty.want = w, true
	}
	return nil
}

// Given is nil for "".
func Given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
