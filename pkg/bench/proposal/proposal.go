// Package proposal is the sealed bid of the bench: its types, the validator that decides whether one may be filed, the
// schema it is described by, and the rules by which a person's answers to its action blocks are read (bench contract 5, 6.7,
// 7.5). It is pure: bytes in, a value or a rejection out.
//
// The limits are declared once, in the tables of fields.go and har.go. The validator walks those tables stage by stage and
// Schema prints them, so the served file cannot promise what the door refuses.
package proposal

import "encoding/json"

// Asks, the four things a step can put to a person.
const (
	Approve = "APPROVE"
	Choose  = "CHOOSE"
	Provide = "PROVIDE"
	Grant   = "GRANT"
)

// Actors of a step.
const (
	Agent  = "agent"
	Person = "person"
)

// Lane kinds of a target.
const (
	LaneFree = "free"
	LanePaid = "paid"
	LaneOpen = "open"
)

// Target is what a bid is measured against (bench contract 4.2).
type Target struct {
	LaneKind          string   // free, paid or open
	CeilingCents      *int64   // nil constrains nothing
	TimelineDays      *int     // nil is as soon as possible and constrains nothing
	FrozenProbability *float64 // nil is unbanded
	FinishLine        string   // the person's own words; a bid that restates them is not screened for them
}

// Proposal is a bid that passed, with its texts trimmed and composed. The JSON names are the contract's and are the stored
// form too; they never change.
type Proposal struct {
	ModelDeclared      string        `json:"model_declared"`
	TotalAskCents      int64         `json:"total_ask_cents"`
	Allocation         Allocation    `json:"allocation"`
	TimelineDays       int           `json:"timeline_days"`
	FinishLine         string        `json:"finish_line"`
	FinishLineCents    int64         `json:"finish_line_cents"`
	SubsidyDeclared    string        `json:"subsidy_declared"`
	OperatorDisclosure *string       `json:"operator_relationship_disclosure"`
	PitchTitle         string        `json:"pitch_title"`
	PitchBody          string        `json:"pitch_body"`
	SmartGoals         []string      `json:"smart_goals"`
	FinalistQuestions  [][]string    `json:"finalist_questions"`
	Steps              []Step        `json:"steps"`
	PersonCostEstimate *CostEstimate `json:"person_cost_estimate,omitempty"`
	Campaign           *Campaign     `json:"campaign,omitempty"`
}

// Allocation says where the total goes, in cents.
type Allocation struct {
	AdSpend   int64 `json:"ad_spend"`
	Tools     int64 `json:"tools"`
	AgentWork int64 `json:"agent_work"`
}

// Step is one execution step. AgentCourtEstimate is in hours, LineItemAmount in cents, Rounds how often the person may ask
// for changes (1 when the bid does not say).
type Step struct {
	Title              string          `json:"title"`
	MinorDetail        string          `json:"minor_detail,omitempty"`
	Ask                string          `json:"ask"`
	Actor              string          `json:"actor,omitempty"`
	Rounds             int             `json:"rounds"`
	OutcomePromise     string          `json:"outcome_promise"`
	AgentCourtEstimate float64         `json:"agent_court_estimate"`
	PersonMinutes      int             `json:"person_minutes"`
	LineItemAmount     int64           `json:"line_item_amount"`
	DeclaredOdds       float64         `json:"declared_odds"`
	DeclaredOddsReason string          `json:"declared_odds_reason,omitempty"`
	Choose             *ChoosePayload  `json:"choose,omitempty"`
	Provide            *ProvidePayload `json:"provide,omitempty"`
	GrantRequest       *GrantRequest   `json:"grant_request,omitempty"`
	HARBlocks          []Block         `json:"har_blocks"`
}

// ChoosePayload is the decision of a CHOOSE step (bench contract 5.8).
type ChoosePayload struct {
	Prompt        string   `json:"prompt,omitempty"`
	SelectionMode string   `json:"selection_mode"`
	MaxSelections int      `json:"max_selections,omitempty"`
	Options       []Option `json:"options"`
}

// Selection modes of a CHOOSE step.
const (
	SelectSingle = "single"
	SelectUpToK  = "up_to_k"
)

// Option is one thing to choose. Value is text, a number or a boolean, kept as it came.
type Option struct {
	ID           string `json:"id,omitempty"`
	Label        string `json:"label"`
	Detail       string `json:"detail,omitempty"`
	Value        any    `json:"value,omitempty"`
	ThumbnailURL string `json:"thumbnail_url,omitempty"`
	ThumbnailAlt string `json:"thumbnail_alt,omitempty"`
}

// Key is what an answer names the option by: its id, or its label when it has none.
func (o Option) Key() string {
	if o.ID != "" {
		return o.ID
	}
	return o.Label
}

// ProvidePayload says what a PROVIDE step asks for. Everything in it is optional.
type ProvidePayload struct {
	Intro           string        `json:"intro,omitempty"`
	Items           []ProvideItem `json:"items,omitempty"`
	What            string        `json:"what,omitempty"`
	Why             string        `json:"why,omitempty"`
	AcceptedFormats []string      `json:"accepted_formats,omitempty"`
}

// ProvideItem is one thing asked for. Required is a visual mark and blocks nothing.
type ProvideItem struct {
	Label    string `json:"label,omitempty"`
	Why      string `json:"why,omitempty"`
	Required bool   `json:"required,omitempty"`
}

// GrantRequest is the access a GRANT step asks for.
type GrantRequest struct {
	Kind       string     `json:"kind,omitempty"`
	What       string     `json:"what"`
	Why        string     `json:"why"`
	Scope      string     `json:"scope"`
	Until      string     `json:"until"`
	Exposure   string     `json:"exposure,omitempty"`
	Connector  *Connector `json:"connector,omitempty"`
	Capability string     `json:"capability,omitempty"`
}

// Connector is a connected grant in catalog names: provider, actions and resources are exact, OperationLimit bounds the calls.
type Connector struct {
	Provider       string   `json:"provider"`
	Actions        []string `json:"actions"`
	Resources      []string `json:"resources"`
	OperationLimit int      `json:"operation_limit"`
}

// CostEstimate is what the want may cost the person outside the deal, in cents; nil is unknown.
type CostEstimate struct {
	LowCents  *int64 `json:"low_cents"`
	HighCents *int64 `json:"high_cents"`
	Note      string `json:"note"`
}

// Campaign lists what could come after this target. Estimates, never commitments.
type Campaign struct {
	LaterTargets []LaterTarget `json:"later_targets"`
}

// LaterTarget is one such overview.
type LaterTarget struct {
	Goal        string `json:"goal"`
	Band        string `json:"band"`
	EstAskRange string `json:"est_ask_range"`
	EstTimeline string `json:"est_timeline"`
}

// Encode writes the stored form: the same proposal always gives the same bytes.
func (p *Proposal) Encode() ([]byte, error) { return json.Marshal(p) }

// Decode reads what Encode wrote. It trusts the store and checks nothing.
func Decode(stored []byte) (*Proposal, error) {
	p := &Proposal{}
	if err := json.Unmarshal(stored, p); err != nil {
		return nil, err
	}
	return p, nil
}

// Easy says whether the target's band is Easy: the platform's frozen odds are at least one half (bench contract 4.12).
func (t Target) Easy() bool {
	return t.FrozenProbability != nil && *t.FrozenProbability >= EasyProbability
}

// StepBounds is the least and the most execution steps a plan for the target may have.
func (t Target) StepBounds() (least, most int) {
	if t.Easy() {
		return EasySteps, EasySteps
	}
	return MinSteps, MaxSteps
}

// HoldsSteps says whether n execution steps fit the target's band.
func (t Target) HoldsSteps(n int) bool {
	least, most := t.StepBounds()
	return n >= least && n <= most
}

// PersonHeld says whether the person acts on the step. Only an APPROVE with actor "agent" is the agent's own report, which
// the person merely acknowledges (bench contract 5.6).
func PersonHeld(s Step) bool { return !acknowledged(s.Ask, s.Actor) }

func acknowledged(ask, actor string) bool { return ask == Approve && actor == Agent }

// CountGrants counts the GRANT steps: an informed plan may not have more than its bid (rule 106).
func CountGrants(steps []Step) int {
	n := 0
	for _, s := range steps {
		if s.Ask == Grant {
			n++
		}
	}
	return n
}

// CheckGrants refuses a plan with more GRANT steps than the bid, REJ-18. It runs after ValidatePlan (bench contract 6.7).
func CheckGrants(plan, bid []Step) *Rejection {
	if asked, had := CountGrants(plan), CountGrants(bid); asked > had {
		return wrong("steps hold %d GRANT steps and the bid had %d (rule 106)", asked, had).coded(RejMoreGrants).rejection()
	}
	return nil
}
