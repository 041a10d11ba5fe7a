package bids

import (
	"strconv"
	"strings"

	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// AskIn is a question of the person to a finalist.
type AskIn struct {
	onWant
	Question string `json:"question" rule:"required,min=1,max=500"`
}

// AskOut names the question.
type AskOut struct {
	QuestionRef string `json:"question_ref"`
}

// Validate implements op.Validator.
func (in AskIn) Validate() error { return plain("question", in.Question) }

// Ask puts a question to a live finalist (bench.md 6.5).
var Ask = op.Declare(op.Meta{
	ID: "person.finalist.ask", Method: "POST", Path: "/api/person/wants/{target_id}/bids/{proposal_id}/questions", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Ask a finalist something about its bid.",
	Faults: []string{"not_finalist", "too_many_questions"}, Contract: "bench.md 6.5, surface.md 3",
}, ask)

func ask(c *op.Call, in AskIn) (AskOut, error) {
	w, b, passed, err := touched(c, in.onWant)
	if err != nil {
		return AskOut{}, err
	}
	if !b.Finalist() {
		return AskOut{}, NotFinalist
	}
	t, err := LoadTalk(c, b.ID)
	if err != nil {
		return AskOut{}, err
	}
	if len(t.Asked) >= MaxQuestions {
		return AskOut{}, fault.New(fault.Conflict, "too_many_questions", "You can put five questions to one finalist.")
	}
	q := Asked{Ref: "q" + strconv.Itoa(len(t.Asked)+1), Question: text.Normalize(in.Question), At: c.Now}
	t.Asked = append(t.Asked, q)
	c.Put(TalkKey(b.ID), t)
	if err := b.event(c, "finalist.question", c.Now, map[string]any{"question_ref": q.Ref, "question": q.Question}); err != nil {
		return AskOut{}, err
	}
	return AskOut{q.Ref}, b.commitOn(c, &w, passed)
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
	return plain("answer", in.Answer)
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
	Tool: "answer_finalist_question", Auth: op.Maker, Scope: "proposals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes,
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
		return ReplyOut{}, NotLive
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
	first := len(t.Asked[i].Answers) == 0
	t.Asked[i].Answers = append(t.Asked[i].Answers, said)
	c.Put(TalkKey(b.ID), t)
	c.Check(Key(b.ID))
	if first {
		err = b.tellPerson(c, Passed{Deadline("finalist.answer/" + t.Asked[i].Ref), c.Now}, "An agent answered your question",
			"The agent behind \""+b.Title+"\" answered what you asked about its bid.")
	}
	return ReplyOut{said.ID, t.Asked[i].Ref, wants.Time(c.Now)}, err
}

// NotLive is the refusal of an answer by an agent that is no live finalist.
var NotLive = fault.New(fault.Conflict, "not_finalist", "Only a live finalist answers the person's questions.")

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
