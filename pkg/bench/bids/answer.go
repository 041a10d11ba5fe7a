package bids

import (
	"strconv"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// AnswerIn is one answer of the person; null leaves the question open.
type AnswerIn struct {
	Ordinal int     `json:"ordinal" rule:"required,min=1,max=4"`
	Answer  *string `json:"answer" rule:"max=1000"`
}

// AnswersIn saves or sends the person's answers.
type AnswersIn struct {
	onWant
	Answers []AnswerIn `json:"answers" rule:"required,max=4"`
	Send    bool       `json:"send" rule:"required"`
}

// Validate implements op.Validator.
func (in AnswersIn) Validate() error {
	for i, a := range in.Answers {
		if a.Answer != nil {
			if err := plain("answers["+strconv.Itoa(i)+"].answer", *a.Answer); err != nil {
				return err
			}
		}
		for _, other := range in.Answers[:i] {
			if other.Ordinal == a.Ordinal {
				return fault.InvalidField.At("answers[" + strconv.Itoa(i) + "].ordinal").Say("Answer each question once.")
			}
		}
	}
	return nil
}

// AnswersOut is what is saved, and when it was sent.
type AnswersOut struct {
	AnsweredAt *wants.Time `json:"answered_at"`
	Answers    []Question  `json:"answers"`
	Handoff    *wants.Time `json:"handoff_at"` // when the platform sends what is saved; null once sent
}

// ReadDrafts shows the person the four questions and what is saved of the answers.
var ReadDrafts = op.Declare(op.Meta{
	ID: "person.finalist.answers-read", Method: "GET", Path: "/api/person/wants/{target_id}/finalists/{proposal_id}/answers",
	Auth: op.Person, Summary: "Read a finalist's questions and your saved answers.", Faults: []string{"not_finalist"},
	Contract: "bench.md 6.2, surface.md 3",
}, readDrafts)

func readDrafts(c *op.Call, in onWant) (AnswersOut, error) {
	_, b, _, err := pair(c, in.TargetID, in.ProposalID)
	if err != nil {
		return AnswersOut{}, err
	}
	if b.Ordinal == 0 {
		return AnswersOut{}, NotFinalist
	}
	t, err := LoadTalk(c, b.ID)
	return b.drafts(t), err
}

func (b *Bid) drafts(t Talk) AnswersOut {
	out := AnswersOut{AnsweredAt: wants.At(b.HandedAt), Answers: t.Questions}
	if b.HandedAt == nil && b.NamedAt != nil {
		at := b.NamedAt.Add(AutoHandoff)
		out.Handoff = wants.At(&at)
	}
	return out
}

// Answer saves the person's answers, or sends them: the handoff, once (bench.md 6.2).
var Answer = op.Declare(op.Meta{
	ID: "person.finalist.answers-save", Method: "PUT", Path: "/api/person/wants/{target_id}/finalists/{proposal_id}/answers",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Save your answers to a finalist, or send them.",
	Faults: []string{"not_finalist", "already_handed_off"}, Contract: "bench.md 6.2, surface.md 3",
}, answer)

func answer(c *op.Call, in AnswersIn) (AnswersOut, error) {
	read := touched
	if !in.Send {
		read = func(c *op.Call, in onWant) (wants.Want, Bid, []Passed, error) {
			return pair(c, in.TargetID, in.ProposalID)
		}
	}
	w, b, passed, err := read(c, in.onWant)
	if err != nil {
		return AnswersOut{}, err
	}
	switch {
	case b.HandedAt != nil && b.Ordinal > 0:
		return AnswersOut{}, HandedAlready
	case !b.Finalist():
		return AnswersOut{}, NotFinalist
	}
	t, err := LoadTalk(c, b.ID)
	if err != nil {
		return AnswersOut{}, err
	}
	t.save(in.Answers)
	c.Put(TalkKey(b.ID), t)
	if err := b.Apply(c, &w, passed); err != nil {
		return AnswersOut{}, err
	}
	if in.Send {
		b.HandedAt = &c.Now
		if err := b.handedOver(c, &w, c.Now, "person"); err != nil {
			return AnswersOut{}, err
		}
	}
	return b.drafts(t), b.commitOn(c, &w, nil)
}

func (t *Talk) save(answers []AnswerIn) {
	for _, a := range answers {
		for i := range t.Questions {
			if t.Questions[i].Ordinal != a.Ordinal {
				continue
			}
			t.Questions[i].Answer = nil
			if a.Answer == nil {
				continue
			}
			if s := text.Normalize(*a.Answer); s != "" {
				t.Questions[i].Answer = &s
			}
		}
	}
}

// handedOver stages what the handoff causes: the agent is told, its clock starts, and its
// signs of life are watched from now on.
func (b *Bid) handedOver(c *op.Call, w *wants.Want, at time.Time, cause string) error {
	if err := b.event(c, string(record.FinalistHandoff), at, map[string]any{"cause": cause, "plan_deadline_at": record.Time(at.Add(PlanDeadline))}); err != nil {
		return err
	}
	b.WatchedAt = &c.Now
	if err := account.AgentToken.Wait(c, b.AgentID); err != nil {
		return err
	}
	return b.ledger(c, w, record.FinalistHandoff, at)
}
