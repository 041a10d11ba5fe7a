package site

import (
	"net/url"
	"strings"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/op"
)

// deal is a deal as its person sees it (person.deal.read).
type deal struct {
	DealID   string     `json:"deal_id"`
	TargetID string     `json:"target_id"`
	Status   string     `json:"status"`
	EndCause *string    `json:"end_cause"`
	Header   string     `json:"header"`
	Agent    agent      `json:"agent"`
	PickedAt time.Time  `json:"picked_at"`
	EndedAt  *time.Time `json:"ended_at"`
	Current  *stepLine  `json:"current_step"`
	Money    purse      `json:"money"`

	FinishLine   string     `json:"finish_line"`
	Days         int        `json:"timeline_days"`
	Reason       *string    `json:"end_reason"`
	SignBy       *time.Time `json:"sign_by"`
	DropsAt      *time.Time `json:"drops_at"`
	AgentSeconds int64      `json:"agent_time_seconds"`
	AgentLimit   int64      `json:"agent_time_limit_seconds"`
	YourSeconds  int64      `json:"your_time_seconds"`
	Progress     int        `json:"progress_percent"`
	Overdue      bool       `json:"update_overdue"`
	LastPulse    *time.Time `json:"last_pulse_at"`
	Score        *int       `json:"score"`
	Steps        []dealStep `json:"steps"`
	Grants       []grant    `json:"grants"`
	Schedule     *schedule  `json:"schedule"`
	CanEnd       bool       `json:"can_end"`
}

// purse is the money of a deal.
type purse struct {
	Funded   int64 `json:"funded_cents"`
	Held     int64 `json:"held_cents"`
	Released int64 `json:"released_cents"`
	Returned int64 `json:"returned_cents"`
}

// stepLine is a step in one line.
type stepLine struct {
	ID     string `json:"step_id"`
	Number int    `json:"step_number"`
	Title  string `json:"title"`
	State  string `json:"state"`
}

// dealStep is a step of the Path.
type dealStep struct {
	ID         string     `json:"step_id"`
	Number     int        `json:"step_number"`
	Title      string     `json:"title"`
	State      string     `json:"state"`
	Kind       string     `json:"kind"`
	Ask        string     `json:"ask"`
	SelfReport bool       `json:"acknowledge_only"`
	Cents      int64      `json:"line_item_amount"`
	RoundsLeft int        `json:"rounds_left"`
	LapseAt    *time.Time `json:"lapse_at"`
	ApprovedAt *time.Time `json:"approved_at"`
	Cause      *string    `json:"cause"`
	Messages   int        `json:"message_count"`
}

// grant is a permission the person gave.
type grant struct {
	ID        string     `json:"grant_id"`
	What      string     `json:"what"`
	Scope     string     `json:"scope"`
	Until     string     `json:"until"`
	Status    string     `json:"status"`
	GrantedAt time.Time  `json:"granted_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// Word is the step's state in words.
func (s dealStep) Word() string { return stepWords[s.State] }

// Is compares the step's state.
func (s dealStep) Is(state string) bool { return s.State == state }

// Yours tells whether the step waits for the person.
func (s dealStep) Yours() bool { return s.State == "waiting_on_you" }

// Silent tells whether silence approved the step.
func (s dealStep) Silent() bool { return s.Cause != nil && *s.Cause == "stale" }

var stepWords = map[string]string{"queued": "Later", "agent_working": "Agent working", "waiting_on_you": "Waiting on you", "approved": "Approved", "ended": "Not reached"}

// Path is the deal's page.
func (d deal) Path() string { return "/deals/" + d.DealID }

// Yours is the step that waits for the person, nil when none does.
func (d deal) Yours() *dealStep {
	for i := range d.Steps {
		if d.Steps[i].Yours() {
			return &d.Steps[i]
		}
	}
	return nil
}

// AtStake is what the answer that waits releases: with a timed delivery, which is the last
// answer of its deal, the finish line too.
func (d deal) AtStake() int64 {
	yours := d.Yours()
	if yours == nil {
		return 0
	}
	cents := yours.Cents
	if d.Schedule != nil && d.Schedule.Status == "filed" {
		for _, s := range d.Steps {
			if s.Kind == "finish" {
				cents += s.Cents
			}
		}
	}
	return cents
}

// Free tells whether no money is in the deal.
func (d deal) Free() bool { return d.Money.Funded == 0 }

// Word is the deal's state in a word or two.
func (d deal) Word() string {
	switch d.Status {
	case "picked":
		return "Waiting for the agent to sign"
	case "ended":
		return "Ended"
	}
	if d.Header == "behind" {
		return "Behind"
	}
	return "On schedule"
}

// Ending says how the deal ended.
func (d deal) Ending() string {
	if d.EndCause == nil {
		return ""
	}
	return endWords[*d.EndCause]
}

var endWords = map[string]string{
	"resolved":          "Your want is done: the finish line is approved.",
	"agent_failed":      "The agent could not finish.",
	"agent_withdrew":    "The agent left the deal.",
	"declined":          "You ended the deal.",
	"lapsed":            "An answer of yours was missing for too long, so the deal ended. Nobody is at fault.",
	"expired":           "The agent ran out of time.",
	"declined_by_agent": "The agent declined to sign.",
	"pick_lapsed":       "The agent did not sign in time.",
}

// dealPages: the Path, and each of its steps.
func (s *site) dealPages() []*page.Page {
	return []*page.Page{
		{ID: "deal.list", Path: "/deals", Auth: op.Person, Calls: []string{"person.deal.list"}, Get: dealsPage},
		{ID: "deal.read", Path: "/deals/{id}", Auth: op.Person, Calls: []string{"person.deal.read", "person.deal.end", "person.grant.revoke"},
			Get: dealPage, Forms: forms{"end": endDeal, "revoke": revokeGrant}},
		{ID: "step.read", Path: "/deals/{id}/steps/{step}", Auth: op.Person,
			Calls: []string{"person.deal.read", "person.step.read", "person.schedule.read", "person.step.answer", "person.step.save-draft", "person.message.post",
				"person.step.upload", "person.file.delete"}, MaxFile: maxFile,
			Get: stepPage, Forms: forms{"answer": s.answerStep, "decline": declineStep, "message": writeMessage, "upload": uploadFile, "remove": deleteFile}},
	}
}

func dealsPage(v *page.Visit) (*page.Answer, error) {
	var out struct {
		Deals []deal  `json:"deals"`
		Next  *string `json:"next_cursor"`
	}
	q := url.Values{}
	if after := v.Query.Get("after"); after != "" {
		q.Set("after", after)
	}
	if err := v.Do("person.deal.list", page.Call{Query: q, Into: &out}); err != nil {
		return nil, err
	}
	return &page.Answer{View: "deals", Title: "Your deals", Data: out}, nil
}

func readDeal(v *page.Visit) (d deal, err error) {
	err = v.Do("person.deal.read", page.Call{Path: map[string]string{"deal_id": v.Path["id"]}, Into: &d})
	return d, err
}

func dealPage(v *page.Visit) (*page.Answer, error) {
	d, err := readDeal(v)
	if err != nil {
		return nil, err
	}
	return &page.Answer{View: "deal", Title: "Your deal with " + d.Agent.Handle, Data: d}, nil
}

func endDeal(v *page.Visit) (*page.Answer, error) {
	err := v.Do("person.deal.end", page.Call{Path: map[string]string{"deal_id": v.Path["id"]},
		Body: map[string]string{"reason": strings.TrimSpace(v.Form.Get("reason"))}})
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: v.At + "?said=ended"}, nil
}

func revokeGrant(v *page.Visit) (*page.Answer, error) {
	err := v.Do("person.grant.revoke", page.Call{Path: map[string]string{"deal_id": v.Path["id"], "grant_id": v.Form.Get("grant")}, Body: struct{}{}})
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: v.At + "?said=saved"}, nil
}
