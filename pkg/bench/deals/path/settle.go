package path

import (
	"time"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
)

// The clocks of a deal (bench.md 24).
const (
	Day = 24 * time.Hour

	SignDrop   = 48 * time.Hour // after the pick: the person may drop it
	SignEnd    = 14 * Day       // after the pick: it drops by itself
	FirstPulse = 5 * time.Minute
	PulseEvery = 30 * time.Minute
	LapseAfter = 14 * Day // of an open ask: silence counts as approval

	ReviewMisses = 3   // missed deadlines in a row that open a liveness review
	CleanAfter   = Day // without a miss, an open review closes by itself
	// NoticeMisses is the miss the person is told of.
	NoticeMisses = 2
)

var (
	signReminders = []int{12, 24, 48} // hours after the pick
	askReminders  = []int{3, 7, 12}   // days after the ask opened
	timeWarnings  = []int{75, 90}     // percent of D
)

// deadline is the next thing that happens if nobody does anything.
type deadline struct {
	due  time.Time
	kind string // of the timer that waits for it
	do   func(at, now time.Time)
}

// Kinds of timers a deal arms.
const (
	TimerSign  = "deal.countersign"
	TimerPulse = "deal.pulse"
	TimerTime  = "deal.time"
	TimerLapse = "deal.lapse"
	TimerClean = "deal.liveness"
)

// TimerKinds lists them.
var TimerKinds = []string{TimerSign, TimerPulse, TimerTime, TimerLapse, TimerClean}

// Next is the next deadline of the deal and the kind of timer that waits for it; ok is
// false when no clock runs, which only an ended deal may say. (One that ended under a
// liveness review has that clock left.)
func (d *Deal) Next() (due time.Time, kind string, ok bool) {
	n := d.next()
	return n.due, n.kind, n.do != nil
}

// Settle makes true what fell due up to now, in due order, each with its due time (law 5).
func (d *Deal) Settle(now time.Time) {
	from := len(d.events)
	for {
		n := d.next()
		if n.do == nil || n.due.After(now) {
			break
		}
		n.do(n.due, now)
	}
	d.overtake(d.events[from:])
}

// overtake marks the reminders of one settling that something later follows: the later one
// says it all.
func (d *Deal) overtake(events []Event) {
	later := false
	for i := len(events) - 1; i >= 0; i-- {
		switch events[i].Word {
		case SignReminded, record.AskReminded:
			events[i].Overtaken, later = later, true
		case record.StepApproved, record.DealPickLapsed, record.DealLapsed:
			later = true
		}
	}
}

func (d *Deal) next() deadline {
	n := d.nextOfPath()
	if from := d.Review.CleanFrom; !from.IsZero() {
		due := from.Add(CleanAfter)
		if n.do == nil || due.Before(n.due) {
			return deadline{due, TimerClean, func(at, _ time.Time) { d.closeReview(at) }}
		}
	}
	return n
}

func (d *Deal) nextOfPath() deadline {
	switch s := d.Open(); {
	case d.Status == Picked:
		return d.nextUnsigned()
	case s == nil:
		return deadline{}
	case s.State == Working:
		return d.nextWorking(s)
	default:
		return d.nextWaiting(s)
	}
}

func (d *Deal) nextUnsigned() deadline {
	for _, h := range signReminders {
		if d.Reminded < h {
			return deadline{d.PickedAt.Add(time.Duration(h) * time.Hour), TimerSign, func(at, _ time.Time) {
				d.emit(Event{Word: SignReminded, At: at, N: h})
			}}
		}
	}
	return deadline{d.PickedAt.Add(SignEnd), TimerSign, func(at, _ time.Time) { d.end(Event{Word: record.DealPickLapsed, At: at, Cause: PickLapsed}) }}
}

func (d *Deal) nextWaiting(s *Step) deadline {
	for _, n := range askReminders {
		if d.Reminded < n {
			return deadline{s.WaitingSince.Add(time.Duration(n) * Day), TimerLapse, func(at, _ time.Time) {
				d.emit(Event{Word: record.AskReminded, At: at, Step: s.Number, N: n, Due: s.LapseAt()})
			}}
		}
	}
	return deadline{s.LapseAt(), TimerLapse, func(at, _ time.Time) { d.lapse(s, at) }}
}

// nextWorking is the earliest of a missed pulse, a warning and the end of Agent time.
func (d *Deal) nextWorking(s *Step) deadline {
	best := deadline{d.spent(s, 100), TimerTime, func(at, _ time.Time) {
		d.end(Event{Word: record.DealExpired, At: at, Step: s.Number, Cause: Expired})
	}}
	for _, p := range timeWarnings {
		if d.Warned >= p {
			continue
		}
		if due := d.spent(s, p); due.Before(best.due) {
			best = deadline{due, TimerTime, func(at, _ time.Time) { d.emit(Event{Word: TimeWarned, At: at, Step: s.Number, N: p}) }}
		}
		break
	}
	if d.Pulse.DueAt.Before(best.due) {
		end := best.due
		best = deadline{d.Pulse.DueAt, TimerPulse, func(at, now time.Time) { d.miss(s, at, now, end) }}
	}
	return best
}

// spent is when the Agent time used reaches a percentage of D, if the agent keeps the ball;
// never before the stretch began.
func (d *Deal) spent(s *Step, percent int) time.Time {
	left := d.Limit()*time.Duration(percent)/100 - d.AgentTime.Span()
	return s.StartedAt.Add(max(0, left))
}

// miss records a missed pulse. After the third in a row, those that a late look finds
// together are recorded as one event that counts them, so that a commit stays small.
func (d *Deal) miss(s *Step, at, now, end time.Time) {
	n := d.Pulse.Misses + 1
	if limit := earlier(now, end.Add(-1)); n > ReviewMisses && limit.After(at) {
		more := int(limit.Sub(at) / PulseEvery)
		at, n = at.Add(time.Duration(more)*PulseEvery), n+more
	}
	d.emit(Event{Word: record.AgentCheckinOverdue, At: at, Step: s.Number, N: n, Due: at.Add(PulseEvery)})
	if n == ReviewMisses {
		d.emit(Event{Word: ReviewOpened, At: at, Step: s.Number, N: n})
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// lapse is day 14 of an open ask (bench.md 12.6).
func (d *Deal) lapse(s *Step, at time.Time) {
	if s.Kind == Finish && d.Free() {
		d.end(Event{Word: record.DealLapsed, At: at, Step: s.Number, Cause: Lapsed})
		return
	}
	d.approve(s, at, ByStale, 0)
	if d.Status != Signed {
		return
	}
	if d.blocks(s) {
		d.end(Event{Word: record.DealLapsed, At: at, Cause: Lapsed})
		return
	}
	d.advance(s, at)
}

// blocks tells whether the silence about a step stops the Path: an execution step is still
// to come, and either the person's own part is missing or this is the second silence in a
// row.
func (d *Deal) blocks(s *Step) bool {
	next := d.Step(s.Number + 1)
	if s.Kind != Execution || next.Kind != Execution {
		return false
	}
	return s.Ask != proposal.Approve || d.StaleInRow >= 2
}

func (d *Deal) closeReview(at time.Time) {
	d.emit(Event{Word: ReviewClosed, At: at, Due: d.Review.OpenedAt})
}

// approve is the release: the step is approved and its money moves, in one motion.
func (d *Deal) approve(s *Step, at time.Time, cause string, score int) {
	d.emit(Event{Word: record.StepApproved, At: at, Step: s.Number, Cause: cause})
	if s.Cents > 0 {
		d.emit(Event{Word: record.StepReleased, At: at, Step: s.Number, Cause: cause, Cents: s.Cents})
	}
	switch {
	case s.Kind == Finish:
		d.end(Event{Word: record.TargetResolved, At: at, Cause: Resolved, N: score})
	case s.Schedule != "":
		d.approvePackage(s, at, cause, score)
	}
}

// approvePackage is the approval of a timed delivery: FINISH is approved with it, and the
// deal ends. A free deal that was approved by silence lapses instead (bench.md 14).
func (d *Deal) approvePackage(s *Step, at time.Time, cause string, score int) {
	d.emit(Event{Word: record.ScheduleApproved, At: at, Step: s.Number, Cause: cause, Schedule: s.Schedule})
	if cause == ByStale && d.Free() {
		d.end(Event{Word: record.DealLapsed, At: at, Step: s.Number, Cause: Lapsed})
		return
	}
	d.approve(d.Step(s.Number+1), at, cause, score)
}

// packaged tells whether a step is the FINISH behind an approved timed delivery.
func (d *Deal) packaged(s *Step) bool {
	before := d.Step(s.Number - 1)
	return s.Kind == Finish && s.State == Queued && before.Schedule != "" && before.State == Approved
}

// advance opens what follows an approved step.
func (d *Deal) advance(s *Step, at time.Time) {
	next := d.Step(s.Number + 1)
	if next.Kind == Finish {
		d.emit(Event{Word: record.AskOpened, At: at, Step: next.Number, Due: at.Add(LapseAfter)})
		return
	}
	d.emit(Event{Word: record.StepOpened, At: at, Step: next.Number, Due: at.Add(FirstPulse)})
}

// end ends the deal: what is still held goes back to the person.
func (d *Deal) end(e Event) {
	held := d.Money.Held
	d.emit(e)
	if held > 0 {
		d.emit(Event{Word: record.DealReturned, At: e.At, Cause: e.Cause, Cents: held})
	}
}
