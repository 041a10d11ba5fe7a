package path

import (
	"time"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
)

// Verdicts of a person (surface.md 3).
const (
	Approve        = "approve"
	RequestChanges = "request_changes"
	Decline        = "decline"
)

// Refusals of an answer.
var (
	NotWaiting   = fault.New(fault.Conflict, "step_not_waiting", "This step does not wait for your answer: it was answered already, or it is not its turn.")
	NotOffered   = fault.New(fault.Invalid, "verdict_not_offered", "This step takes a yes or a decline, not a request for changes.").At("verdict")
	RoundsUsed   = fault.New(fault.Conflict, "rounds_used_up", "You have asked for changes as often as this step allows. You can approve, decline, or write in the thread.")
	ReasonNeeded = fault.New(fault.Invalid, "reason_required", "Say what should change.").At("reason")
	ScoreNeeded  = fault.New(fault.Invalid, "score_required", "The approval that ends the deal needs a score from 1 to 10.").At("score")
	ScoreOutside = fault.New(fault.Invalid, "score_invalid", "The score is a whole number from 1 to 10.").At("score")
)

// MaxScore is the best satisfaction score.
const MaxScore = 10

// Answer is the person's one motion on an open ask.
type Answer struct {
	Verdict string
	// Score is 1..10 on the approval of FINISH or of a timed delivery, 0 when it was not sent.
	Score int
	// Grant tells that approving mints a grant; Files how many files are handed over.
	Grant bool
	Files int
}

// CanAnswer refuses an answer for what the deal says of the step.
func (d *Deal) CanAnswer(s *Step, a Answer) error {
	switch {
	case d.Open() != s || s.State != Waiting:
		return NotWaiting
	case a.Verdict == RequestChanges && !s.Reviewable():
		return NotOffered
	case a.Verdict == RequestChanges && s.RoundsLeft() == 0:
		return RoundsUsed
	case a.Verdict == Approve && s.Final() && a.Score == 0:
		return ScoreNeeded
	case a.Score < 0 || a.Score > MaxScore:
		return ScoreOutside
	}
	return nil
}

// Answer takes the person's answer: the approval is the release (bench.md 7.5).
func (d *Deal) Answer(at time.Time, s *Step, a Answer) error {
	if err := d.CanAnswer(s, a); err != nil {
		return err
	}
	d.emit(Event{Word: record.AskAnswered, At: at, Step: s.Number, N: s.Round + 1, Cause: a.Verdict, Span: Of(at.Sub(s.WaitingSince))})
	switch a.Verdict {
	case Decline:
		d.decline(at)
	case RequestChanges:
		d.emit(Event{Word: record.AskChangesRequested, At: at, Step: s.Number, N: s.Round + 1, Due: at.Add(FirstPulse), Schedule: s.Schedule})
		d.emit(Event{Word: MessagePosted, At: at, Step: s.Number, Who: WhoPerson})
	default:
		if a.Files > 0 {
			d.emit(Event{Word: record.MaterialsReleased, At: at, Step: s.Number, N: a.Files})
		}
		if a.Grant && s.Ask == proposal.Grant {
			d.emit(Event{Word: record.GrantMinted, At: at, Step: s.Number})
		}
		d.approve(s, at, ByPerson, a.Score)
		if d.Status == Signed {
			d.advance(s, at)
		}
	}
	return nil
}
