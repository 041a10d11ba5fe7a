package path

import (
	"errors"
	"fmt"
	"time"

	"guildhall/pkg/bench/record"
)

// Words of events that are no ledger events: they change the deal, and the parties are
// told, but the public ledger has no word for them.
const (
	SignReminded  record.Word = "deal.sign-reminded" // N hours after the pick
	PulseFiled    record.Word = "agent.checked-in"   // N percent
	TimeWarned    record.Word = "deal.time-warned"   // N percent of D
	ReviewOpened  record.Word = "liveness.opened"    // the third miss in a row
	ReviewClosed  record.Word = "liveness.closed"    // a day without a miss, or a steward
	MessagePosted record.Word = "step.message"       // Who wrote it
	ItemAttached  record.Word = "step.item-attached" // an outcome that hands nothing over
	TimeRestored  record.Word = "deal.time-restored" // Span was given back
	FlagFiled     record.Word = "step.flag.filed"    // audit only (bench.md 11)
)

// Event is one thing that happened to a deal. What is stored of it elsewhere (texts, files)
// is not here; what the deal itself remembers is all here.
type Event struct {
	Word record.Word `json:"word"`
	At   time.Time   `json:"at"`
	Step int         `json:"step,omitempty"` // number
	// N counts: hours or days of a reminder, misses in a row, percent, score, version, round.
	N     int       `json:"n,omitempty"`
	Cents int64     `json:"cents,omitempty"`
	Cause string    `json:"cause,omitempty"` // person or stale; the end cause of an ending
	Who   string    `json:"who,omitempty"`   // of a message
	Due   time.Time `json:"due,omitzero"`    // the deadline that follows; of a closed review: when it opened
	Odds  float64   `json:"odds,omitempty"`
	Span  Millis    `json:"span_ms,omitempty"`
	// Of an ending by the agent.
	Kind      string `json:"kind,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Test      string `json:"test,omitempty"`
	Exception string `json:"exception,omitempty"`
	// Schedule is the timed delivery that was handed over.
	Schedule string `json:"schedule,omitempty"`
	// Overtaken reminders are recorded, not mailed: a later one came due before anybody
	// could send them.
	Overtaken bool `json:"overtaken,omitempty"`
}

// emit folds an event into the deal and keeps it for the caller.
func (d *Deal) emit(e Event) {
	if err := d.fold(e); err != nil && d.broken == nil {
		d.broken = fmt.Errorf("path: %s on deal %s: %w", e.Word, d.ID, err)
	}
	d.events = append(d.events, e)
}

// Pending tells whether something happened to the deal since the last drain.
func (d *Deal) Pending() bool { return len(d.events) > 0 }

// Drain returns the events since the last drain, in order. An error means that an invariant
// of the deal is broken: nothing of it may be written.
func (d *Deal) Drain() ([]Event, error) {
	out := d.events
	d.events = nil
	if d.broken != nil {
		return nil, d.broken
	}
	return out, d.Check()
}

// Replay folds recorded events into a deal that has none of them yet.
func (d *Deal) Replay(events []Event) error {
	for _, e := range events {
		if err := d.fold(e); err != nil {
			return err
		}
	}
	return nil
}

var errState = errors.New("the event does not fit the state")

// fold is the only code that changes a deal. It refuses edges the Path does not have.
func (d *Deal) fold(e Event) error {
	d.Events++
	switch e.Word {
	case record.DealAccepted:
		d.Status, d.PickedAt = Picked, e.At
	case record.DealFunded:
		return d.Money.Fund(e.Cents)
	case SignReminded, record.AskReminded:
		d.Reminded = e.N
	case record.DealSigned:
		return d.foldSigned(e)
	case record.StepReleased:
		return d.Money.Release(e.Cents)
	case record.DealReturned:
		return d.Money.Return(e.Cents)
	case PulseFiled:
		d.Pulse = Pulse{At: e.At, DueAt: e.Due, Percent: e.N, Count: d.Pulse.Count + 1}
		d.clean(e.At)
	case record.AgentCheckinOverdue:
		d.Pulse.Misses, d.Pulse.DueAt = e.N, e.Due
		d.Review.CleanFrom = time.Time{}
	case ReviewOpened:
		d.Review = Review{Open: true, OpenedAt: e.At}
	case ReviewClosed:
		d.Review = Review{}
	case TimeWarned:
		d.Warned = e.N
	case TimeRestored:
		return d.foldRestored(e)
	case record.AskAnswered:
		d.StaleInRow = 0
	case record.IntegrityDecided:
		d.Finding = e.Kind
	case record.ScoresVoided:
		d.Voided = true
	case record.DealAgentDeclined, record.DealPickLapsed, record.TargetResolved, record.TargetAgentFailed,
		record.DealAgentWithdrew, record.DealAgentAbandoned, record.DealDeclined, record.DealLapsed, record.DealExpired:
		return d.foldEnd(e)
	default:
		return d.foldStep(e)
	}
	return nil
}

// clean starts the day without a miss that closes an open review.
func (d *Deal) clean(at time.Time) {
	if d.Review.Open && d.Review.CleanFrom.IsZero() {
		d.Review.CleanFrom = at
	}
}

// foldRestored gives time back: to the agent as a longer D, to the person as a later lapse.
func (d *Deal) foldRestored(e Event) error {
	if e.Who == WhoAgent {
		d.Restored += e.Span
		return nil
	}
	s := d.Step(e.Step)
	if s == nil || s.State != Waiting {
		return errState
	}
	s.WaitingSince = s.WaitingSince.Add(e.Span.Span())
	return nil
}

func (d *Deal) foldSigned(e Event) error {
	if d.Status != Picked {
		return errState
	}
	d.Status, d.SignedAt, d.AgentSignedAt, d.Reminded = Signed, e.At, e.At, 0
	if d.Informed {
		d.AgentSignedAt = d.PlanAt
	}
	first := &d.Steps[0]
	first.State, first.ApprovedAt, first.Cause = Approved, e.At, ByPerson
	return nil
}

func (d *Deal) foldEnd(e Event) error {
	if !d.Live() {
		return errState
	}
	d.leave(e.At)
	d.Status, d.EndedAt, d.EndCause = Ended, e.At, e.Cause
	d.Withdrawal, d.Reason, d.Test, d.Exception, d.Broken = e.Kind, e.Reason, e.Test, e.Exception, e.Step
	if e.N > 0 {
		d.Score = e.N
	}
	d.clean(e.At)
	for i := range d.Steps {
		if s := &d.Steps[i]; s.State != Approved {
			s.State, s.WaitingSince = Over, time.Time{}
		}
	}
	return nil
}

// leave stops the clock that runs.
func (d *Deal) leave(at time.Time) {
	s := d.Open()
	switch {
	case s == nil:
	case s.State == Working:
		d.AgentTime += Of(at.Sub(s.StartedAt))
		d.Pulse = Pulse{}
	default:
		d.YourTime += Of(max(0, at.Sub(s.WaitingSince))) // time given back may reach beyond now
		d.Reminded = 0
	}
}

// foldStep folds the events of one step.
func (d *Deal) foldStep(e Event) error {
	s := d.Step(e.Step)
	if s == nil {
		return fmt.Errorf("%w: no step %d", errState, e.Step)
	}
	switch e.Word {
	case record.StepOpened:
		return d.foldOpened(s, e, Queued)
	case record.AskChangesRequested:
		if s.State != Waiting {
			return errState
		}
		d.leave(e.At)
		s.Round, s.Schedule = e.N, ""
		return d.foldOpened(s, e, Waiting)
	case record.AskOpened:
		if s.State != Working && (s.State != Queued || s.Kind != Finish) || s.State == Queued && d.Open() != nil {
			return errState
		}
		d.leave(e.At)
		s.State, s.WaitingSince, d.Reminded = Waiting, e.At, 0
	case record.OutcomeFiled:
		s.Version, s.Items = e.N, 0
	case record.ScheduleFiled:
		s.Version, s.Items, s.Schedule = e.N, 0, e.Schedule
	case ItemAttached, record.ArtifactFiled:
		s.Items++
	case record.StepApproved:
		return d.foldApproved(s, e)
	case record.OddsRestated:
		odds := e.Odds
		s.Before, s.Restated, s.OddsAt, s.OddsN = s.Restated, &odds, e.At, s.OddsN+1
	case MessagePosted:
		s.fold(e)
	case FlagFiled, record.MaterialsReleased, record.GrantMinted, record.GrantRevoked, record.GrantSwapped, record.ScheduleApproved:
	default:
		return fmt.Errorf("path: unknown event %q", e.Word)
	}
	return nil
}

func (d *Deal) foldOpened(s *Step, e Event, from string) error {
	if s.State != from || from == Queued && d.Open() != nil {
		return errState
	}
	s.State, s.StartedAt, s.WaitingSince = Working, e.At, time.Time{}
	d.Pulse = Pulse{DueAt: e.At.Add(FirstPulse)}
	return nil
}

func (d *Deal) foldApproved(s *Step, e Event) error {
	if s.State != Waiting && !d.packaged(s) {
		return errState
	}
	d.leave(e.At)
	s.State, s.ApprovedAt, s.Cause, s.WaitingSince = Approved, e.At, e.Cause, time.Time{}
	if e.Cause == ByStale {
		d.Stale, d.StaleInRow = true, d.StaleInRow+1
	}
	return nil
}

// fold counts a message of the thread. Entries of the platform are nobody's word.
func (s *Step) fold(e Event) {
	s.Messages++
	switch e.Who {
	case WhoPerson:
		s.Unread++
		s.PersonAt = e.At
	case WhoAgent:
		s.Unread = 0
	}
}

// Check holds the invariants every stored deal has (bench.md 7.4, 12.1, 15.2).
func (d *Deal) Check() error {
	if err := d.Money.Check(); err != nil {
		return err
	}
	open := 0
	for _, s := range d.Steps {
		if s.State == Working || s.State == Waiting {
			open++
		}
	}
	switch {
	case open > 1:
		return fmt.Errorf("path: deal %s has %d balls", d.ID, open)
	case d.Status == Signed && open != 1:
		return fmt.Errorf("path: nobody holds the ball of deal %s", d.ID)
	case d.Status != Signed && open != 0:
		return fmt.Errorf("path: deal %s is %s and has a ball", d.ID, d.Status)
	case d.Status == Ended && d.Money.Held != 0:
		return fmt.Errorf("path: deal %s ended holding %d cents", d.ID, d.Money.Held)
	}
	return nil
}
