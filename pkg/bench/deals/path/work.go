package path

import (
	"slices"
	"time"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
)

// Checkpoints are the values progress_percent takes (bench.md 8.4).
var Checkpoints = []int{0, 25, 50, 75, 100}

// Refusals of the working agent's calls.
var (
	NotWorking    = fault.New(fault.Conflict, "step is not agent_working", "The step is not yours to work on right now.")
	Backward      = fault.New(fault.Invalid, "progress_backward", "Progress on a step never goes back.").At("progress_percent")
	Skipped       = fault.New(fault.Invalid, "progress_skipped", "Progress moves one checkpoint at a time: 0, 25, 50, 75, 100.").At("progress_percent")
	NotCheckpoint = fault.New(fault.Invalid, "progress_not_a_checkpoint", "Send exactly 0, 25, 50, 75 or 100.").At("progress_percent")
	OutOfTurn     = fault.New(fault.Invalid, "out_of_turn_filing", "No step of this deal is yours to work on, so nothing can be filed.")
	OneBall       = fault.New(fault.Invalid, "one_ball_violation", "Only the step you hold takes an outcome.").At("step_ref")
	NotPackage    = fault.New(fault.Invalid, "schedule_invalid", "A timed delivery is filed on the last step you wrote, and only when that step asks for an approval.")
	Unfinished    = fault.New(fault.Invalid, "progress_not_100", "File a 100 percent pulse for this step first (rule 100).")
)

// Work is the step the agent holds, or NotWorking.
func (d *Deal) Work() (*Step, error) {
	if s := d.Open(); s != nil && s.State == Working {
		return s, nil
	}
	return nil, NotWorking.FixedBy(d.currentStep())
}

// currentStep is the call that tells whose turn it is.
func (d *Deal) currentStep() string { return "GET /api/bench/deals/" + d.ID + "/current-step" }

// CheckIn records a pulse (bench.md 8.2). It moves no clock but the next pulse's.
func (d *Deal) CheckIn(at time.Time, percent int) error {
	s, err := d.Work()
	if err != nil {
		return err
	}
	to := slices.Index(Checkpoints, percent)
	from := slices.Index(Checkpoints, d.Pulse.Percent)
	switch {
	case to < 0:
		return NotCheckpoint
	case to < from:
		return Backward.With("progress_percent", d.Pulse.Percent)
	case to > from+1:
		return Skipped.With("progress_percent", d.Pulse.Percent)
	}
	d.emit(Event{Word: PulseFiled, At: at, Step: s.Number, N: percent, Due: at.Add(PulseEvery)})
	d.emit(Event{Word: MessagePosted, At: at, Step: s.Number, Who: WhoPlatform})
	return nil
}

// CanFile is the step an outcome would be filed on. ref is the step's number, id or title,
// "" for the one the agent holds; hold asks to attach an item only, which needs no pulse.
func (d *Deal) CanFile(ref string, hold bool) (*Step, error) {
	s, err := d.Work()
	if err != nil {
		return nil, OutOfTurn.FixedBy(d.currentStep())
	}
	if ref != "" && ref != s.ID && ref != s.number() && ref != s.Title {
		return nil, OneBall
	}
	if !hold && d.Pulse.Percent != 100 {
		return nil, Unfinished.FixedBy("POST /api/bench/deals/" + d.ID + "/check-ins")
	}
	return s, nil
}

// File hands the step over: the ask opens, Agent time pauses (bench.md 13.2). CanFile has
// been asked before.
func (d *Deal) File(at time.Time, kind string) (*Step, error) {
	s, err := d.CanFile("", false)
	if err != nil {
		return nil, err
	}
	d.emit(Event{Word: record.OutcomeFiled, At: at, Step: s.Number, N: s.Version + 1, Kind: kind})
	d.emit(Event{Word: record.AskOpened, At: at, Step: s.Number, Due: at.Add(LapseAfter)})
	return s, nil
}

// CanSchedule is the step a timed delivery would be filed on: the last one the agent wrote,
// when it asks for an approval (bench.md 14).
func (d *Deal) CanSchedule() (*Step, error) {
	s, err := d.CanFile("", false)
	if err != nil {
		return nil, err
	}
	if s.Kind != Execution || d.Step(s.Number+1).Kind != Finish || s.Ask != proposal.Approve {
		return nil, NotPackage
	}
	return s, nil
}

// FileSchedule hands the step over as a timed delivery: its approval ends the deal.
func (d *Deal) FileSchedule(at time.Time, schedule string) (*Step, error) {
	s, err := d.CanSchedule()
	if err != nil {
		return nil, err
	}
	d.emit(Event{Word: record.ScheduleFiled, At: at, Step: s.Number, N: s.Version + 1, Schedule: schedule})
	d.emit(Event{Word: record.AskOpened, At: at, Step: s.Number, Due: at.Add(LapseAfter)})
	return s, nil
}

// Attach adds an item to the step without handing it over.
func (d *Deal) Attach(at time.Time, word record.Word) (*Step, error) {
	s, err := d.CanFile("", true)
	if err != nil {
		return nil, err
	}
	d.emit(Event{Word: word, At: at, Step: s.Number})
	return s, nil
}

// Restate refuses or records a new odds number for a step that still lies ahead
// (bench.md 10).
func (d *Deal) Restate(at time.Time, s *Step, odds float64) error {
	switch {
	case s.Kind != Execution:
		return fault.New(fault.Conflict, "this step is built by the platform - it has no odds", "Only steps you wrote carry odds.")
	case s.State == Approved, s.State == Over, s.State == Waiting:
		return fault.New(fault.Conflict, "this step is "+s.State+" - there is nothing left to forecast", "Odds can be restated while a step is queued or being worked on.")
	case !d.Live():
		return NotActive
	case s.Version > 0:
		return fault.New(fault.Conflict, "an outcome is already filed on this step", "Odds can be restated until the step's first outcome is filed.")
	}
	d.emit(Event{Word: record.OddsRestated, At: at, Step: s.Number, Odds: odds})
	return nil
}

// Flag records a platform gap and the assumption taken (bench.md 11). It changes nothing.
func (d *Deal) Flag(at time.Time, s *Step) error {
	if d.Status != Signed {
		return NotActive
	}
	d.emit(Event{Word: FlagFiled, At: at, Step: s.Number})
	d.emit(Event{Word: MessagePosted, At: at, Step: s.Number, Who: WhoPlatform})
	return nil
}

// Swap records that the agent moved to an equivalent tool behind the grant of a step
// (bench.md 16.4). It changes nothing on the Path.
func (d *Deal) Swap(at time.Time, s *Step) error {
	if d.Status != Signed {
		return NotActive
	}
	d.emit(Event{Word: record.GrantSwapped, At: at, Step: s.Number})
	return nil
}

// Fail is the agent's own declaration that the step it holds cannot be done
// (bench.md 12.2).
func (d *Deal) Fail(at time.Time, s *Step, reason, test, exception string) error {
	if d.Status != Signed {
		return NotActive
	}
	if s.State != Working {
		return NotWorking.FixedBy(d.currentStep())
	}
	d.end(Event{Word: record.TargetAgentFailed, At: at, Step: s.Number, Cause: AgentFailed, Reason: reason, Test: test, Exception: exception})
	return nil
}

// Withdraw is the agent's exit from a signed deal (bench.md 12.4).
func (d *Deal) Withdraw(at time.Time, kind, reason string) error {
	if d.Status != Signed {
		return NotActive
	}
	word := record.DealAgentWithdrew
	if kind == Abandonment {
		word = record.DealAgentAbandoned
	}
	d.end(Event{Word: word, At: at, Step: d.held(), Cause: AgentWithdrew, Kind: kind, Reason: reason})
	return nil
}

// GiveBack gives time back after a fault of the platform, to whoever holds the ball: the
// agent gets more of D, the person's ask lapses later.
func (d *Deal) GiveBack(at time.Time, span time.Duration) error {
	s := d.Open()
	if s == nil {
		return NotActive
	}
	who := WhoAgent
	if s.State == Waiting {
		who = WhoPerson
	}
	d.emit(Event{Word: TimeRestored, At: at, Step: s.Number, Who: who, Span: Of(span)})
	return nil
}

// Strike ends a running deal by a decision of the stewards, as a failure of the agent
// (bench.md 23, delisting).
func (d *Deal) Strike(at time.Time, reason string) error {
	switch d.Status {
	case Signed:
		d.end(Event{Word: record.TargetAgentFailed, At: at, Step: d.held(), Cause: AgentFailed, Reason: reason})
	case Picked:
		d.end(Event{Word: record.DealPickLapsed, At: at, Cause: PickLapsed})
	default:
		return NotActive
	}
	return nil
}

// Decide records what the stewards found about the deal. Approvals, payments and the ending
// stay as they are; voids tells that its scores count no longer (bench.md 12.3).
func (d *Deal) Decide(at time.Time, finding string, voids bool) {
	d.emit(Event{Word: record.IntegrityDecided, At: at, Kind: finding})
	if voids && !d.Voided {
		d.emit(Event{Word: record.ScoresVoided, At: at, Kind: finding})
	}
}

// CloseReview is a steward's end of an open liveness review.
func (d *Deal) CloseReview(at time.Time) {
	if d.Review.Open {
		d.closeReview(at)
	}
}

// Writers of a thread.
const (
	WhoPerson   = "person"
	WhoAgent    = "agent"
	WhoPlatform = "platform"
)

// PersonWindow is how long after the end of a deal its person may still write.
const PersonWindow = 14 * Day

// Refusals of a thread.
var (
	ThreadClosed = fault.New(fault.Conflict, "this step is closed and owes no reply", "The step is over and nothing of the person's waits for an answer here.")
	ThreadOver   = fault.New(fault.Conflict, "this deal ended too long ago", "Messages can be sent until 14 days after a deal ended.")
)

// Reply is a message of the agent; late tells that it answers on a closed step
// (bench.md 9).
func (d *Deal) Reply(at time.Time, s *Step) (late bool, err error) {
	closed := s.State == Approved || s.State == Over
	if d.Status == Picked || closed && s.Unread == 0 {
		return false, ThreadClosed
	}
	d.emit(Event{Word: MessagePosted, At: at, Step: s.Number, Who: WhoAgent})
	return closed, nil
}

// Write is a message of the person.
func (d *Deal) Write(at time.Time, s *Step) error {
	if d.Status == Picked {
		return NotActive
	}
	if d.Status == Ended && !at.Before(d.EndedAt.Add(PersonWindow)) {
		return ThreadOver
	}
	d.emit(Event{Word: MessagePosted, At: at, Step: s.Number, Who: WhoPerson})
	return nil
}

// Owed lists the steps on which the person waits for a reply.
func (d *Deal) Owed() []*Step {
	var out []*Step
	for i := range d.Steps {
		if s := &d.Steps[i]; s.Unread > 0 {
			out = append(out, s)
		}
	}
	return out
}

// Grants lists the execution steps whose ask is GRANT.
func (d *Deal) Grants() []*Step {
	var out []*Step
	for i := range d.Steps {
		if s := &d.Steps[i]; s.Ask == proposal.Grant {
			out = append(out, s)
		}
	}
	return out
}
