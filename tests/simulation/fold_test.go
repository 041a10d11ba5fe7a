package simulation

import (
	"encoding/json"
	"slices"
	"time"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
)

// told is a deal as its recorded events tell of it. It shares no code with the deal: it
// knows the edges there are and takes no other.
type told struct {
	id       string
	status   string
	cause    string // of the end
	at       time.Time
	steps    []toldStep
	released int64
	returned int64
	paid     map[int]bool
}

type toldStep struct {
	id, kind, state, cause string
	round                  int
	timed                  bool // what was handed over last is a timed delivery
}

func newTold(d *path.Deal) *told {
	t := &told{id: d.ID, paid: map[int]bool{}}
	for _, s := range d.Steps {
		t.steps = append(t.steps, toldStep{id: s.ID, kind: s.Kind, state: path.Queued})
	}
	return t
}

// facts are the members of events that are looked at.
type facts struct {
	Step  int    `json:"step_number"`
	Cause string `json:"cause"`
	End   string `json:"end_cause"`
	Cents int64  `json:"amount_cents"`
	Round int    `json:"round"`
}

// endings by the cause they may have.
var endings = map[record.Word][]string{
	record.TargetResolved: {path.Resolved}, record.TargetAgentFailed: {path.AgentFailed}, record.DealAgentWithdrew: {path.AgentWithdrew},
	record.DealAgentAbandoned: {path.AgentWithdrew}, record.DealDeclined: {path.Declined}, record.DealLapsed: {path.Lapsed},
	record.DealExpired: {path.Expired}, record.DealAgentDeclined: {path.DeclinedByAgent}, record.DealPickLapsed: {path.PickLapsed},
}

// daily are the words of a timed delivery on its way. It has a clock of its own, that outlives
// the deal: what a late sweep finds of it is stamped with its due time too, and may come
// behind something later of the deal.
var daily = []record.Word{record.DeliveryReleased, record.ScheduleCompleted}

// fold takes the next recorded event.
func (t *told) fold(e *record.Entry) {
	var f facts
	if e.Data != nil {
		must(json.Unmarshal(e.Data, &f))
	}
	if slices.Contains(daily, record.Word(e.Type)) {
		return
	}
	if e.At.Before(t.at) {
		fail("deal %s: %s at %v comes after something at %v", t.id, e.Type, e.At, t.at)
	}
	t.at = e.At
	switch word := record.Word(e.Type); word {
	case record.DealAccepted:
		t.become("", path.Picked)
	case record.DealSigned:
		t.become(path.Picked, path.Signed)
		t.step(1, path.Queued, path.Approved).cause = path.ByPerson
	case record.StepOpened:
		t.alone()
		t.step(f.Step, path.Queued, path.Working)
	case record.OutcomeFiled:
		t.step(f.Step, path.Working, path.Waiting).timed = false
	case record.ScheduleFiled:
		t.step(f.Step, path.Working, path.Waiting).timed = true
	case record.AskChangesRequested:
		t.step(f.Step, path.Waiting, path.Working).round = f.Round
	case record.StepApproved:
		t.approved(f)
	case record.StepReleased:
		s := t.at1(f.Step)
		if s.state != path.Approved || s.cause != f.Cause || t.paid[f.Step] {
			fail("deal %s: step %d is released (%s) as it is %+v", t.id, f.Step, f.Cause, *s)
		}
		t.paid[f.Step] = true
		t.released += f.Cents
	case record.DealReturned:
		if t.status != path.Ended || t.returned != 0 {
			fail("deal %s: money returns of a deal that is %s, after %d", t.id, t.status, t.returned)
		}
		t.returned = f.Cents
	default:
		if causes, ends := endings[word]; ends {
			t.end(f.End, causes)
		}
	}
}

func (t *told) become(from, to string) {
	if t.status != from {
		fail("deal %s becomes %s as it is %q", t.id, to, t.status)
	}
	t.status = to
}

func (t *told) at1(number int) *toldStep {
	if number < 1 || number > len(t.steps) {
		fail("deal %s has no step %d", t.id, number)
	}
	return &t.steps[number-1]
}

// step moves a step along one edge.
func (t *told) step(number int, from, to string) *toldStep {
	s := t.at1(number)
	if s.state != from || t.status != path.Signed {
		fail("deal %s (%s): step %d goes from %s to %s", t.id, t.status, number, s.state, to)
	}
	s.state = to
	return s
}

// alone refuses a second open step.
func (t *told) alone() {
	if slices.ContainsFunc(t.steps, func(s toldStep) bool { return s.state == path.Working || s.state == path.Waiting }) {
		fail("deal %s has two open steps", t.id)
	}
}

// approved: behind the last execution step the finish line is asked about at once, which has
// no event of its own in a feed. Behind a timed delivery it is approved with it, unasked.
func (t *told) approved(f facts) {
	if s := t.at1(f.Step); s.kind == path.Finish && t.at1(f.Step-1).timed && t.at1(f.Step-1).state == path.Approved {
		t.step(f.Step, path.Queued, path.Approved).cause = f.Cause
		return
	}
	s := t.step(f.Step, path.Waiting, path.Approved)
	s.cause = f.Cause
	if f.Step < len(t.steps) && t.steps[f.Step].kind == path.Finish && !s.timed {
		t.alone()
		t.steps[f.Step].state = path.Waiting
	}
}

func (t *told) end(cause string, causes []string) {
	signed := cause != path.DeclinedByAgent && cause != path.PickLapsed
	if !slices.Contains(causes, cause) || signed != (t.status == path.Signed) || !signed && t.status != path.Picked {
		fail("deal %s ends by %q as it is %s", t.id, cause, t.status)
	}
	t.status, t.cause = path.Ended, cause
	for i := range t.steps {
		if t.steps[i].state != path.Approved {
			t.steps[i].state = path.Over
		}
	}
}

// matches holds the stored deal against what was told of it.
func (t *told) matches(d *path.Deal) {
	if d.Status != t.status || d.EndCause != t.cause || d.Money.Released != t.released || d.Money.Returned != t.returned {
		fail("deal %s is %s %s %+v, its events say %s %s, released %d, returned %d", d.ID, d.Status, d.EndCause, d.Money, t.status, t.cause, t.released, t.returned)
	}
	open := 0
	for i, s := range d.Steps {
		if u := t.steps[i]; s.State != u.state || s.Cause != u.cause || s.Round != u.round {
			fail("deal %s: step %d is %s (%s, round %d), its events say %+v", d.ID, s.Number, s.State, s.Cause, s.Round, u)
		}
		if s.State == path.Working || s.State == path.Waiting {
			open++
		}
	}
	if (open == 1) != (d.Status == path.Signed) || open > 1 {
		fail("deal %s is %s with %d open steps", d.ID, d.Status, open)
	}
}
