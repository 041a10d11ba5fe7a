package path

import (
	"time"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
)

// The refusals of a deal that does not take the call in its present state.
var (
	NotActive     = fault.New(fault.Conflict, "deal is not active", "This deal is not running, so nothing can be done on it.")
	AlreadySigned = fault.New(fault.Conflict, "already_signed", "You have countersigned this deal already.")
	SignPending   = fault.New(fault.Conflict, "countersign_pending", "The agent still has time to countersign. You can drop the pick 48 hours after you made it.")
	RulesUnread   = fault.New(fault.Invalid, "accept_rules must be true", "This bid has no informed plan, so your signature is made here: send accept_rules true.").At("accept_rules")
)

// Pick starts a deal: the person signed and, when there is money in it, paid. head names
// the parties and the frozen numbers; ids are one per step, receipt and FINISH included.
func Pick(head Deal, plan []proposal.Step, finishCents int64, ids []string, at time.Time) *Deal {
	d := head
	d.Steps = stepsOf(plan, finishCents, ids)
	d.emit(Event{Word: record.DealAccepted, At: at, Due: at.Add(SignDrop)})
	if d.TotalCents > 0 {
		d.emit(Event{Word: record.DealFunded, At: at, Cents: d.TotalCents})
	}
	return &d
}

// CanSign tells what stands in the way of the agent's countersignature, payouts aside.
func (d *Deal) CanSign() error {
	switch {
	case d.Status == Signed:
		return AlreadySigned
	case d.Status != Picked:
		return NotActive
	}
	return nil
}

// Sign is the agent's countersignature: step 1 is approved and the first execution step is
// the agent's (bench.md 7.2). acceptRules is needed when there is no informed plan.
func (d *Deal) Sign(at time.Time, acceptRules bool) error {
	if err := d.CanSign(); err != nil {
		return err
	}
	if !d.Informed && !acceptRules {
		return RulesUnread
	}
	d.emit(Event{Word: record.DealSigned, At: at, Due: at.Add(FirstPulse)})
	d.advance(&d.Steps[0], at)
	return nil
}

// WalkAway is the agent's decline before it countersigned (bench.md 12.5).
func (d *Deal) WalkAway(at time.Time, reason string) error {
	if err := d.CanSign(); err != nil {
		return err
	}
	d.end(Event{Word: record.DealAgentDeclined, At: at, Cause: DeclinedByAgent, Reason: reason})
	return nil
}

// EndByPerson is the person's "end this deal": a decline of a signed one, the dropping of
// a pick that was not countersigned in time.
func (d *Deal) EndByPerson(at time.Time) error {
	switch {
	case d.Status == Signed:
		d.decline(at)
	case d.Status != Picked:
		return NotActive
	case at.Before(d.PickedAt.Add(SignDrop)):
		return SignPending.With("possible_at", record.Time(d.PickedAt.Add(SignDrop)))
	default:
		d.end(Event{Word: record.DealPickLapsed, At: at, Cause: PickLapsed})
	}
	return nil
}

func (d *Deal) decline(at time.Time) {
	d.end(Event{Word: record.DealDeclined, At: at, Step: d.held(), Cause: Declined})
}

// held is the number of the step somebody holds, 0 for none.
func (d *Deal) held() int {
	if s := d.Open(); s != nil {
		return s.Number
	}
	return 0
}
