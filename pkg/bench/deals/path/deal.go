// Package path is the Target Path: what a deal is, which steps it has, who holds the ball,
// and which clocks run. It is pure. Every change is an event: a decider looks at the deal,
// refuses or emits events, and fold is the only code that changes a deal, so that the
// events of a deal rebuild it. Time is passed in; nothing here reads a row.
package path

import (
	"time"

	"guildhall/pkg/bench/money"
	"guildhall/pkg/clock"
)

// Statuses of a deal (bench.md 7.1).
const (
	Picked = "picked" // the person signed, the agent has not
	Signed = "signed"
	Ended  = "ended"
)

// End causes (bench.md 12.1, 12.5).
const (
	Resolved        = "resolved"
	AgentFailed     = "agent_failed"
	AgentWithdrew   = "agent_withdrew"
	Declined        = "declined"
	Lapsed          = "lapsed"
	Expired         = "expired"
	DeclinedByAgent = "declined_by_agent" // never signed
	PickLapsed      = "pick_lapsed"       // never signed
)

// Kinds of a withdrawal (bench.md 12.4).
const (
	Compliance  = "compliance"
	Abandonment = "abandonment"
)

// Causes of an approval and of its release.
const (
	ByPerson = "person"
	ByStale  = "stale"
)

// Deal is an accepted proposal: the stored row, lean enough to be rewritten by every pulse.
// Plans, texts, files and answers are in rows of their own.
type Deal struct {
	ID         string `json:"id"`
	TargetID   string `json:"target_id"`
	ProposalID string `json:"proposal_id"`
	PersonID   string `json:"person_id"`
	AgentID    string `json:"agent_id"`
	Round      int    `json:"round"`
	Zone       string `json:"zone,omitempty"` // the person's time zone when it last acted here

	// The agent as it was when it was picked; Model and System are frozen at the signing.
	Handle  string `json:"handle"`
	AgentNo int    `json:"agent_no"`
	Model   string `json:"model"`
	System  string `json:"system,omitempty"`
	House   bool   `json:"house,omitempty"` // the agent is run by the house

	// The want as it was when the bid was accepted.
	Finish     string   `json:"finish_line"`
	Frozen     *float64 `json:"frozen,omitempty"`
	Practice   bool     `json:"practice,omitempty"`
	TipInvited bool     `json:"tip_invited,omitempty"`
	World      bool     `json:"world,omitempty"` // a practice want with a world file

	// B, D and the plan in force, frozen.
	TotalCents int64     `json:"total_cents"`
	Days       int       `json:"days"`
	Informed   bool      `json:"informed"` // the bid has an informed plan
	PlanAt     time.Time `json:"plan_at"`  // when the plan in force was filed
	Charge     string    `json:"charge,omitempty"`
	Payout     string    `json:"payout,omitempty"` // the agent's payout account at the processor

	Status   string    `json:"status"`
	PickedAt time.Time `json:"picked_at"`
	SignedAt time.Time `json:"signed_at,omitzero"`
	// AgentSignedAt is when the agent's signature counts from: its informed plan's time.
	AgentSignedAt time.Time `json:"agent_signed_at,omitzero"`
	EndedAt       time.Time `json:"ended_at,omitzero"`
	EndCause      string    `json:"end_cause,omitempty"`
	Withdrawal    string    `json:"withdrawal_kind,omitempty"`
	Reason        string    `json:"reason,omitempty"` // of the agent's ending, public
	Test          string    `json:"materiality_test,omitempty"`
	Exception     string    `json:"r109_exception,omitempty"`
	Broken        int       `json:"broken_step,omitempty"` // the step held at the end

	Steps []Step        `json:"steps"`
	Money money.Account `json:"money"`

	// The two clocks, summed over the stretches that are over.
	AgentTime Millis `json:"agent_ms,omitempty"`
	YourTime  Millis `json:"your_ms,omitempty"`
	// Restored is time given back by a steward after a platform fault.
	Restored Millis `json:"restored_ms,omitempty"`
	Warned   int    `json:"warned,omitempty"`   // percent of D the agent was warned of
	Reminded int    `json:"reminded,omitempty"` // of the clock that runs: hours or days
	Pulse    Pulse  `json:"pulse,omitzero"`
	Review   Review `json:"review,omitzero"`

	StaleInRow int  `json:"stale_in_row,omitempty"`
	Stale      bool `json:"stale,omitempty"` // some approval of the deal was silence
	Score      int  `json:"score,omitempty"` // 1..10; 0 is none

	// Events counts everything that happened: it keeps the order of what happens in one
	// moment.
	Events int `json:"events,omitempty"`

	// Finding is what the stewards found last; Voided tells that the run counts for nothing.
	Finding string `json:"finding,omitempty"`
	Voided  bool   `json:"voided,omitempty"`

	// Timer is the one armed timer: at or before the next deadline.
	Timer clock.Timer `json:"timer,omitzero"`

	events []Event
	broken error
}

// Millis is a length of time stored in milliseconds.
type Millis int64

// Of cuts a duration to milliseconds.
func Of(d time.Duration) Millis { return Millis(d / time.Millisecond) }

// Span is the length as a duration.
func (m Millis) Span() time.Duration { return time.Duration(m) * time.Millisecond }

// Pulse is the liveness of the present working stretch.
type Pulse struct {
	At      time.Time `json:"at,omitzero"`     // of the latest pulse of the stretch
	DueAt   time.Time `json:"due_at,omitzero"` // first deadline that is not met
	Percent int       `json:"percent,omitempty"`
	Count   int       `json:"count,omitempty"`  // pulses in the stretch
	Misses  int       `json:"misses,omitempty"` // missed deadlines in a row
}

// Review is the liveness review a silence opened: until a steward closes it, or a day has
// passed without another miss, the agent takes no new work (bench.md 8.5).
type Review struct {
	Open      bool      `json:"open,omitempty"`
	OpenedAt  time.Time `json:"opened_at,omitzero"`
	CleanFrom time.Time `json:"clean_from,omitzero"` // since when nothing was missed
}

// Live tells whether the deal still runs.
func (d *Deal) Live() bool { return d.Status == Picked || d.Status == Signed }

// Free tells whether no money is in the deal.
func (d *Deal) Free() bool { return d.TotalCents == 0 }

// Open is the step somebody holds, nil when none does.
func (d *Deal) Open() *Step {
	if d.Status != Signed {
		return nil
	}
	for i := range d.Steps {
		if s := &d.Steps[i]; s.State == Working || s.State == Waiting {
			return s
		}
	}
	return nil
}

// Find returns the step with this id, or with this number where numbers are taken; nil for
// any other string.
func (d *Deal) Find(ref string, numbers bool) *Step {
	for i := range d.Steps {
		if s := &d.Steps[i]; s.ID == ref || numbers && s.number() == ref {
			return s
		}
	}
	return nil
}

// Step returns the step with this number, nil when there is none.
func (d *Deal) Step(number int) *Step {
	if number < 1 || number > len(d.Steps) {
		return nil
	}
	return &d.Steps[number-1]
}

// Committed is m, the number of execution steps.
func (d *Deal) Committed() int { return len(d.Steps) - 2 }

// Approved is k, the number of approved execution steps.
func (d *Deal) Approved() int {
	n := 0
	for _, s := range d.Steps {
		if s.Kind == Execution && s.State == Approved {
			n++
		}
	}
	return n
}

// Reached is the number of execution steps that were opened.
func (d *Deal) Reached() int {
	n := 0
	for _, s := range d.Steps {
		if s.Kind == Execution && !s.StartedAt.IsZero() {
			n++
		}
	}
	return n
}

// Limit is D as a length of Agent time.
func (d *Deal) Limit() time.Duration { return time.Duration(d.Days)*Day + d.Restored.Span() }

// AgentUsed is the Agent time used up to now.
func (d *Deal) AgentUsed(now time.Time) time.Duration {
	used := d.AgentTime.Span()
	if s := d.Open(); s != nil && s.State == Working {
		used += max(0, now.Sub(s.StartedAt))
	}
	return used
}

// YourUsed is the person's time up to now.
func (d *Deal) YourUsed(now time.Time) time.Duration {
	used := d.YourTime.Span()
	if s := d.Open(); s != nil && s.State == Waiting {
		used += max(0, now.Sub(s.WaitingSince))
	}
	return used
}

// Header is the deal's one word for the person (bench.md 7.4).
func (d *Deal) Header(now time.Time) string {
	if d.Status == Ended {
		return "ended"
	}
	if d.Status == Picked {
		return "on schedule"
	}
	used, court := d.AgentUsed(now), 0.0
	for _, s := range d.Steps {
		if s.Kind == Execution && !s.StartedAt.IsZero() {
			court += s.CourtHours
		}
	}
	share := float64(d.Limit()) * float64(d.Approved()+1) / float64(max(1, d.Committed()))
	if used > time.Duration(court*float64(time.Hour)) || float64(used) > share {
		return "behind"
	}
	return "on schedule"
}
