package bids

import (
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
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
	w, b, passed, err := pair(c, in.TargetID, in.ProposalID)
	if err != nil {
		return AnswersOut{}, err
	}
	switch {
	case b.HandedAt != nil:
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
	if in.Send {
		b.HandedAt = &c.Now
		if err := b.handedOver(c, &w, c.Now, "person"); err != nil {
			return AnswersOut{}, err
		}
	}
	return b.drafts(t), b.commit(c, &w, passed)
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

// handedOver stages what the handoff causes: the agent is told and its clock starts.
func (b *Bid) handedOver(c *op.Call, w *wants.Want, at time.Time, cause string) error {
	if err := b.event(c, "finalist.handoff", at, map[string]any{"cause": cause, "plan_deadline_at": record.Time(at.Add(PlanDeadline))}); err != nil {
		return err
	}
	if err := watch(c, b.AgentID); err != nil {
		return err
	}
	return b.ledger(c, w, record.FinalistHandoff, at)
}

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

// ReplyIn answers a question the person asked about the bid (bench.md 6.5).
type ReplyIn struct {
	ProposalID  string `path:"proposal_id"`
	QuestionRef string `json:"question_ref" rule:"required,min=1,max=120" doc:"The reference, the number or the text of the question."`
	Answer      string `json:"answer" rule:"required,min=1,max=1000"`
}

// Rows implements op.Prefetcher.
func (in ReplyIn) Rows(string) []table.Key {
	return []table.Key{Key(in.ProposalID), TalkKey(in.ProposalID)}
}

// Validate implements op.Validator.
func (in ReplyIn) Validate() error {
	switch _, secret := text.Secret(in.Answer); {
	case secret:
		return fault.New(fault.Invalid, "answers must not contain secrets", "Take the secret out: the person sees this text.").At("answer")
	case text.CredentialRequest(in.Answer):
		return fault.New(fault.Invalid, "answers must not ask for credentials", "Never ask a person for a password, a code or a login.").At("answer")
	case text.BareURL(in.Answer):
		return fault.New(fault.Invalid, "answers must not contain links", "Say it without a web address.").At("answer")
	}
	return nil
}

// ReplyOut answers a reply.
type ReplyOut struct {
	AnswerID    string     `json:"answer_id"`
	QuestionRef string     `json:"question_ref"`
	AnsweredAt  wants.Time `json:"answered_at"`
}

// Reply answers the person's question about the bid (bench.md 6.5).
var Reply = op.Declare(op.Meta{
	ID: "bench.finalist.answer", Method: "POST", Path: "/api/bench/finalists/{proposal_id}/answers", Status: 201,
	Tool: "answer_finalist_question", Auth: op.Maker, Scope: "proposals:write", Idempotent: op.KeyRequired, Limit: &writes,
	Summary: "Answer a question the person asked about your bid.",
	Faults: []string{"not_finalist", "question_unknown", "too_many_answers", "answers must not contain secrets",
		"answers must not ask for credentials", "answers must not contain links"},
	Contract: "bench.md 6.5",
}, reply)

// maxReplies bounds the answers to one question.
const maxReplies = 20

func reply(c *op.Call, in ReplyIn) (ReplyOut, error) {
	b, err := own(c, "", in.ProposalID)
	if err != nil {
		return ReplyOut{}, err
	}
	if _, err := b.Settled(c); err != nil {
		return ReplyOut{}, err
	}
	if !b.Finalist() {
		return ReplyOut{}, fault.New(fault.Conflict, "not_finalist", "Only a live finalist answers the person's questions.")
	}
	t, err := LoadTalk(c, b.ID)
	if err != nil {
		return ReplyOut{}, err
	}
	i := t.find(in.QuestionRef)
	if i < 0 {
		return ReplyOut{}, fault.New(fault.Invalid, "question_unknown", "The person asked no such question.").At("question_ref")
	}
	if len(t.Asked[i].Answers) >= maxReplies {
		return ReplyOut{}, fault.New(fault.Conflict, "too_many_answers", "This question has twenty answers already.")
	}
	said := Said{ID: c.NewID(), Text: text.Normalize(in.Answer), At: c.Now}
	t.Asked[i].Answers = append(t.Asked[i].Answers, said)
	c.Put(TalkKey(b.ID), t)
	c.Check(Key(b.ID))
	return ReplyOut{said.ID, t.Asked[i].Ref, wants.Time(c.Now)}, nil
}

// find looks a question up by its reference, its number or its text; -1 when there is none.
func (t Talk) find(ref string) int {
	ref = strings.TrimSpace(ref)
	for i, a := range t.Asked {
		if ref == a.Ref || ref == strconv.Itoa(i+1) || ref == a.Question {
			return i
		}
	}
	return -1
}
