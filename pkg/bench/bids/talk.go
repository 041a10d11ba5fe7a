package bids

import (
	"time"

	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
)

// assumptionPolicy tells a finalist what to do about what the person left open.
const assumptionPolicy = "Where the person gave no answer, take the strongest reasonable default and say in your plan which one you took."

// Question is one of the four questions as the agent asked it, with the person's answer.
type Question struct {
	Ordinal  int     `json:"ordinal"` // 1..4
	Question string  `json:"question"`
	Answer   *string `json:"answer"` // nil: not answered (yet)
}

// Asked is a question the person put to the finalist, and the agent's answers in order.
type Asked struct {
	Ref      string    `json:"ref"`
	Question string    `json:"question"`
	At       time.Time `json:"at"`
	Answers  []Said    `json:"answers,omitempty"`
}

// Said is one answer of the agent.
type Said struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// Talk is the stored conversation around a finalist. The person's answers are drafts until
// the handoff.
type Talk struct {
	Goal      string     `json:"goal"`
	Questions []Question `json:"questions"`
	Asked     []Asked    `json:"asked,omitempty"`
}

// LoadTalk reads the conversation of a finalist.
func LoadTalk(c *op.Call, id string) (Talk, error) {
	t, _, err := op.Load[Talk](c, TalkKey(id))
	return t, err
}

// Goal is the agent's one goal, as the finalist block repeats it.
type Goal struct {
	Ordinal int    `json:"ordinal"`
	Text    string `json:"text"`
}

// Answered is an answered question on the wire.
type Answered struct {
	Ordinal  int    `json:"ordinal"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Open is an unanswered question on the wire.
type Open struct {
	Ordinal  int    `json:"ordinal"`
	Question string `json:"question"`
}

// FinalistAnswers is what a finalist reads of the person's answers (bench.md 6.3).
type FinalistAnswers struct {
	SmartGoal  *Goal      `json:"smart_goal"`
	Answers    []Answered `json:"answers"`
	Unanswered []Open     `json:"unanswered_questions"`
	Policy     string     `json:"assumption_policy"`
}

// answers shows the talk to the agent: drafts stay with the person until the handoff.
func (t Talk) answers(b *Bid) *FinalistAnswers {
	out := &FinalistAnswers{SmartGoal: &Goal{1, t.Goal}, Answers: []Answered{}, Unanswered: []Open{}, Policy: assumptionPolicy}
	for _, q := range t.Questions {
		if b.HandedAt != nil && q.Answer != nil {
			out.Answers = append(out.Answers, Answered{q.Ordinal, q.Question, *q.Answer})
		} else {
			out.Unanswered = append(out.Unanswered, Open{q.Ordinal, q.Question})
		}
	}
	return out
}

// PersonQuestion is a question of the person on the wire (bench.md 6.5).
type PersonQuestion struct {
	Ref        string      `json:"question_ref"`
	Question   string      `json:"question"`
	AskedAt    wants.Time  `json:"asked_at"`
	AnsweredAt *wants.Time `json:"answered_at"`
}

func (t Talk) asked() []PersonQuestion {
	out := []PersonQuestion{}
	for _, a := range t.Asked {
		q := PersonQuestion{Ref: a.Ref, Question: a.Question, AskedAt: wants.Time(a.At)}
		if n := len(a.Answers); n > 0 {
			q.AnsweredAt = wants.At(&a.Answers[n-1].At)
		}
		out = append(out, q)
	}
	return out
}

// Unanswered lists the questions of the person that wait for the agent.
func (t Talk) Unanswered() []Asked {
	var out []Asked
	for _, a := range t.Asked {
		if len(a.Answers) == 0 {
			out = append(out, a)
		}
	}
	return out
}

// Health is the finalist's clock as the agent sees it (bench.md 6.6).
type Health struct {
	AnsweredAt wants.Time `json:"answered_at"`
	QuietHours *float64   `json:"quiet_hours"`
	Reminder   bool       `json:"reminder"`
	ExpiresAt  wants.Time `json:"expires_at"`
	PlanBy     wants.Time `json:"plan_deadline_at"`
	Expired    bool       `json:"expired"`
}

// Move is what a finalist owes.
type Move struct {
	Action      string `json:"action"`
	Why         string `json:"why"`
	FileAt      string `json:"file_at"`
	AnswersRead string `json:"answers_read_at"`
}

// Yours is an agent's own bid as the brief shows it (bench.md 4.8).
type Yours struct {
	ProposalID      string           `json:"proposal_id"`
	Status          string           `json:"status"`
	FinalistOrdinal *int             `json:"finalist_ordinal"`
	PlanRevisedAt   *wants.Time      `json:"plan_revised_at"`
	FinalistAnswers *FinalistAnswers `json:"finalist_answers"`
	YourMove        *Move            `json:"your_move"`
	FinalistHealth  *Health          `json:"finalist_health"`
	PersonQuestions []PersonQuestion `json:"person_questions"`
}

// Show makes the block of an agent's own bid, which is settled. The agent is calling right
// now, so it has been quiet for no time at all.
func (b *Bid) Show(c *op.Call) (Yours, error) {
	y := Yours{ProposalID: b.ID, Status: b.Status, PlanRevisedAt: wants.At(b.PlanAt), PersonQuestions: []PersonQuestion{}}
	if b.Ordinal == 0 {
		return y, nil
	}
	t, err := LoadTalk(c, b.ID)
	if err != nil {
		return y, err
	}
	y.FinalistOrdinal, y.FinalistAnswers, y.PersonQuestions = &b.Ordinal, t.answers(b), t.asked()
	y.YourMove, y.FinalistHealth = b.Move(), b.health()
	return y, nil
}

// Move is what the finalist owes, nil when nothing.
func (b *Bid) Move() *Move {
	if !b.Finalist() || b.PlanAt != nil {
		return nil
	}
	base := "/api/bench/targets/" + b.TargetID + "/proposals/" + b.ID
	return &Move{"file_informed_plan", "You are a finalist. The person can accept your bid once your full plan is filed; answers you did not get are yours to assume.",
		"POST " + base + "/plan", "GET " + base + "/answers"}
}

func (b *Bid) health() *Health {
	if b.HandedAt == nil || !b.Finalist() && !b.Lapsed {
		return nil
	}
	quiet := 0.0
	return &Health{wants.Time(*b.HandedAt), &quiet, b.Reminded, wants.Time(b.HandedAt.Add(QuietExpiry)),
		wants.Time(b.HandedAt.Add(PlanDeadline)), b.Lapsed}
}
