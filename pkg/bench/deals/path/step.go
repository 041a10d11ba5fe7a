package path

import (
	"strconv"
	"time"

	"guildhall/pkg/bench/proposal"
)

// Kinds of steps (bench.md 7.3).
const (
	Receipt   = "receipt"   // step 1, built by the platform
	Execution = "execution" // written by the agent
	Finish    = "finish"    // the last step, built by the platform
)

// States of a step (bench.md 7.4).
const (
	Queued   = "queued"
	Working  = "agent_working"
	Waiting  = "waiting_on_you"
	Approved = "approved"
	Over     = "ended" // the deal ended before the step was approved
)

// States lists the states in the order of a step's life.
var States = []string{Queued, Working, Waiting, Approved, Over}

// Step is one stored step of a deal.
type Step struct {
	ID         string  `json:"id"`
	Number     int     `json:"number"` // from 1
	Kind       string  `json:"kind"`
	Title      string  `json:"title"`
	Ask        string  `json:"ask"` // of FINISH: APPROVE
	Actor      string  `json:"actor,omitempty"`
	Rounds     int     `json:"rounds"`
	CourtHours float64 `json:"court_hours,omitempty"`
	Cents      int64   `json:"cents"`

	State string `json:"state"`
	// Round counts the changes asked for so far.
	Round int `json:"round,omitempty"`
	// StartedAt is when the present or latest working stretch began; zero while the agent
	// never held the step.
	StartedAt time.Time `json:"started_at,omitzero"`
	// WaitingSince is when the open ask was put; zero when none is open.
	WaitingSince time.Time `json:"waiting_since,omitzero"`
	ApprovedAt   time.Time `json:"approved_at,omitzero"`
	Cause        string    `json:"cause,omitempty"` // person or stale
	// Version numbers the outcomes that handed the step over, Items the ones attached
	// without handing over since the last hand-over.
	Version int `json:"version,omitempty"`
	Items   int `json:"items,omitempty"`
	// Schedule is the timed delivery that was handed over last, "" when it was anything else.
	Schedule string `json:"schedule,omitempty"`

	// Odds: at the bid, the latest restatement, the one before, and how many there are.
	AtBid    *float64  `json:"at_bid,omitempty"`
	BidWhy   string    `json:"bid_why,omitempty"`
	Restated *float64  `json:"restated,omitempty"`
	Before   *float64  `json:"before,omitempty"`
	OddsAt   time.Time `json:"odds_at,omitzero"`
	OddsN    int       `json:"odds_n,omitempty"`

	// The thread: how many messages, how many of the person's since the agent last spoke.
	Messages int       `json:"messages,omitempty"`
	Unread   int       `json:"unread,omitempty"`
	PersonAt time.Time `json:"person_at,omitzero"`

	Tipped bool `json:"tipped,omitempty"`
}

func (s *Step) number() string { return strconv.Itoa(s.Number) }

// SelfReport tells whether the step is the agent's own report, which the person merely
// acknowledges (bench.md 5.6).
func (s *Step) SelfReport() bool {
	return s.Kind == Execution && s.Ask == proposal.Approve && s.Actor == proposal.Agent
}

// Reviewable tells whether the person may ask for changes on this kind of ask at all.
func (s *Step) Reviewable() bool {
	return !s.SelfReport() && (s.Ask == proposal.Approve || s.Ask == proposal.Choose)
}

// Final tells whether approving the step as it stands ends the deal: FINISH, or the timed
// delivery that stands for it.
func (s *Step) Final() bool { return s.Kind == Finish || s.Schedule != "" }

// AtStake is what the approval of a step as it stands releases: with a timed delivery, the
// finish line's money too.
func (d *Deal) AtStake(s *Step) int64 {
	if s.Schedule != "" {
		return s.Cents + d.Step(s.Number+1).Cents
	}
	return s.Cents
}

// RoundsLeft is how many more times the person may ask for changes.
func (s *Step) RoundsLeft() int {
	if !s.Reviewable() {
		return 0
	}
	return max(0, s.Rounds-s.Round)
}

// LapseAt is when silence counts as approval; zero when no ask is open.
func (s *Step) LapseAt() time.Time {
	if s.State != Waiting {
		return time.Time{}
	}
	return s.WaitingSince.Add(LapseAfter)
}

// stepsOf builds the step list of a deal from the plan in force: the receipt, the agent's
// steps, FINISH (bench.md 7.3). ids are used in order, one per step.
func stepsOf(plan []proposal.Step, finishCents int64, ids []string) []Step {
	steps := []Step{{ID: ids[0], Number: 1, Kind: Receipt, Title: "Deal signed", Ask: proposal.Approve, State: Queued}}
	rounds := 1
	for i, p := range plan {
		odds := p.DeclaredOdds
		rounds = max(1, p.Rounds)
		steps = append(steps, Step{ID: ids[i+1], Number: i + 2, Kind: Execution, Title: p.Title, Ask: p.Ask, Actor: p.Actor,
			Rounds: rounds, CourtHours: p.AgentCourtEstimate, Cents: p.LineItemAmount, State: Queued, AtBid: &odds, BidWhy: p.DeclaredOddsReason})
		if odds == 0 { // a bid from before odds were declared
			steps[len(steps)-1].AtBid = nil
		}
	}
	return append(steps, Step{ID: ids[len(plan)+1], Number: len(plan) + 2, Kind: Finish, Title: "Finish line", Ask: proposal.Approve,
		Rounds: rounds, Cents: finishCents, State: Queued})
}
