package site

import (
	"time"
)

// bid is a bid as its person reads it (person.want.bids).
type bid struct {
	ProposalID string     `json:"proposal_id"`
	Status     string     `json:"status"`
	Round      int        `json:"round"`
	FiledAt    time.Time  `json:"filed_at"`
	Superseded *time.Time `json:"superseded_at"`
	Ordinal    *int       `json:"finalist_ordinal"`
	AnsweredAt *time.Time `json:"answered_at"`
	PlanAt     *time.Time `json:"plan_revised_at"`
	PlanBy     *time.Time `json:"plan_deadline_at"`
	DealID     *string    `json:"deal_id"`
	Proposal   proposal   `json:"proposal"`
	Plan       *plan      `json:"plan"`
	Questions  []asked    `json:"person_questions"`
	Agent      agent      `json:"agent"`

	WantPath string `json:"-"`
}

type agent struct {
	MakerID     string `json:"maker_id"`
	RegistryNo  string `json:"registry_no"`
	Handle      string `json:"handle"`
	Model       string `json:"model_declared"`
	Operator    string `json:"operator"`
	Affiliation string `json:"affiliation"`
	Reachable   bool   `json:"reachable"`
	PayoutReady bool   `json:"payout_ready"`
}

// House tells whether the agent is run by the house.
func (a agent) House() bool { return a.Affiliation == "house" }

type asked struct {
	Question string     `json:"question"`
	AskedAt  time.Time  `json:"asked_at"`
	Answered *time.Time `json:"answered_at"`
	Answers  []string   `json:"answers"`
}

type proposal struct {
	Total      int64      `json:"total_ask_cents"`
	Allocation allocation `json:"allocation"`
	Days       int        `json:"timeline_days"`
	FinishLine string     `json:"finish_line"`
	Finish     int64      `json:"finish_line_cents"`
	Disclosure *string    `json:"operator_relationship_disclosure"`
	Title      string     `json:"pitch_title"`
	Body       string     `json:"pitch_body"`
	Goals      []string   `json:"smart_goals"`
	Steps      []planStep `json:"steps"`
	Costs      *costs     `json:"person_cost_estimate"`
}

type allocation struct {
	AdSpend   int64 `json:"ad_spend"`
	Tools     int64 `json:"tools"`
	AgentWork int64 `json:"agent_work"`
}

// costs are what a want may cost the person outside the deal.
type costs struct {
	Low  *int64 `json:"low_cents"`
	High *int64 `json:"high_cents"`
	Note string `json:"note"`
}

// Words prints the range.
func (c costs) Words() string {
	switch {
	case c.Low != nil && c.High != nil && *c.Low == *c.High:
		return dollars(*c.Low)
	case c.Low != nil && c.High != nil:
		return dollars(*c.Low) + " to " + dollars(*c.High)
	case c.Low != nil:
		return "from " + dollars(*c.Low)
	case c.High != nil:
		return "up to " + dollars(*c.High)
	}
	return "not known"
}

// planStep is a step of a plan.
type planStep struct {
	Title   string  `json:"title"`
	Minor   string  `json:"minor_detail"`
	Ask     string  `json:"ask"`
	Actor   string  `json:"actor"`
	Promise string  `json:"outcome_promise"`
	Hours   float64 `json:"agent_court_estimate"`
	Minutes int     `json:"person_minutes"`
	Cents   int64   `json:"line_item_amount"`
	Odds    float64 `json:"declared_odds"`
	OddsWhy string  `json:"declared_odds_reason"`
}

// Asks says what the step will ask of the person.
func (s planStep) Asks() string {
	if s.Ask == "APPROVE" && s.Actor == "agent" {
		return "You acknowledge it"
	}
	return askWords[s.Ask]
}

var askWords = map[string]string{"APPROVE": "You approve it", "CHOOSE": "You choose", "PROVIDE": "You provide something", "GRANT": "You give access"}

type plan struct {
	Steps  []planStep `json:"steps"`
	Finish int64      `json:"finish_line_cents"`
}

// IsFinalist tells whether the bid is picked for a closer look right now.
func (b bid) IsFinalist() bool { return b.Status == "filed" && b.Ordinal != nil && b.Superseded == nil }

// Path is the finalist's page.
func (b bid) Path() string { return b.WantPath + "/finalists/" + b.ProposalID }

// Price is the whole price in words.
func (b bid) Price() string {
	if b.Proposal.Total == 0 {
		return "Free"
	}
	return dollars(b.Proposal.Total)
}

// Odds are the chance at the first step: that the person ends up with the thing.
func (b bid) Odds() string {
	if len(b.Proposal.Steps) == 0 || b.Proposal.Steps[0].Odds == 0 {
		return ""
	}
	return percent(b.Proposal.Steps[0].Odds)
}

// Next says what a finalist waits for.
func (b bid) Next() string {
	switch {
	case b.PlanAt != nil:
		return "The full plan is here: read it and accept, or not."
	case b.AnsweredAt != nil:
		return "Waiting for the agent's full plan."
	}
	return "Waiting for your answers to its four questions."
}

// Word is what became of a bid.
func (b bid) Word() string {
	switch {
	case b.Status == "filed" && b.Superseded != nil:
		return "From an earlier round"
	case b.Status == "accepted":
		return "Accepted"
	case b.Status == "withdrawn":
		return "Withdrawn by the agent"
	case b.Status == "expired":
		return "Ran out of time"
	case b.Status == "declined":
		return "Rejected by you"
	case b.Status == "declined_by_agent":
		return "The agent declined to sign"
	}
	return "Open"
}

// PlanStamp is the time of the plan that is read, for the acceptance to name.
func (b bid) PlanStamp() string {
	if b.PlanAt == nil {
		return ""
	}
	return b.PlanAt.UTC().Format(time.RFC3339)
}
