package deals

import (
	"strconv"
	"strings"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/text"
)

// States of a step in the history of a want (bench.md 4.6).
const (
	attemptDone       = "completed"
	attemptBroken     = "in_progress_at_failure"
	attemptNotReached = "not_reached"
)

// maxAttempts bounds the attempts a brief carries; the oldest leave first.
const maxAttempts = 50

// remembered adds the ended deal to the history that rides the brief: what was done and
// what the agent said, and nothing the person gave.
func (x *change) remembered(w *wants.Want, e *path.Event) error {
	d := x.d
	no := registry.Number(d.AgentNo)
	prior := wants.PriorAttempt{AgentRegistryNo: &no, AgentHandle: d.Handle, EndCause: e.Cause, EndedAt: e.At, StepCount: len(d.Steps)}
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
	w.Prior = newest(append(w.Prior, prior))
	w.Past = newest(append(w.Past, past(d, e, no)))
	return x.published(w)
}

// maxPublished bounds the public answers a brief carries.
const maxPublished = 200

// published adds the finalist's questions and the person's answers, unless the person
// keeps them private. An answer that could carry a secret or an identity stays out
// (bench.md 4.7).
func (x *change) published(w *wants.Want) error {
	if !w.Publish {
		return nil
	}
	t, err := bids.LoadTalk(x.c, x.d.ProposalID)
	if err != nil {
		return err
	}
	b, err := x.theBid()
	if err != nil {
		return err
	}
	for _, q := range t.Questions {
		if q.Answer == nil || b.HandedAt == nil {
			continue
		}
		_, secret := text.Secret(*q.Answer)
		if _, named := text.PersonIdentity(*q.Answer); secret || named {
			continue
		}
		w.Answers = append(w.Answers, wants.PublicAnswer{Round: x.d.Round, Question: q.Question, Answer: *q.Answer, AnsweredAt: *b.HandedAt})
	}
	w.Answers = w.Answers[max(0, len(w.Answers)-maxPublished):]
	return nil
}

func newest[T any](list []T) []T { return list[max(0, len(list)-maxAttempts):] }

// past is what the agent said of the ending, and its odds on the step that broke.
func past(d *path.Deal, e *path.Event, no string) wants.PastAttempt {
	p := wants.PastAttempt{AgentRegistryNo: &no, AgentHandle: d.Handle, EndCause: e.Cause, EndedAt: e.At,
		WithdrawalKind: given(e.Kind), Reason: given(e.Reason), MaterialityTest: given(e.Test), R109Exception: given(e.Exception)}
	if s := d.Step(e.Step); s != nil && s.State != path.Approved {
		p.BrokenStep, p.OddsAtBid, p.OddsLatest = &s.Number, s.AtBid, s.AtBid
		if s.Restated != nil {
			p.OddsLatest = s.Restated
		}
	}
	return p
}

// given is nil for "".
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// registryNo reads the integer of an A-number, 0 for anything else.
func registryNo(no string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(no, "A-"))
	if err != nil {
		return 0
	}
	return n
}
