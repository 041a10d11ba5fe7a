package path_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
)

// TestEveryStateOfAMachineHasAnExit: from every state an edge leads on that a clock takes
// by itself, or one party alone, until the end is reached.
func TestEveryStateOfAMachineHasAnExit(t *testing.T) {
	for _, m := range path.Machines {
		states := map[string]bool{}
		for _, e := range m.Edges {
			states[e.From], states[e.To] = true, true
		}
		for _, by := range []string{"clock", "agent", "person"} {
			ends := map[string]bool{}
			for _, s := range m.Last {
				ends[s] = true
			}
			for range m.Edges { // as many rounds as a way can be long
				for _, e := range m.Edges {
					// What the platform does follows from the call of a party; the end of a deal ends
					// its steps, and the deal's own machine says who brings it about.
					if ends[e.To] && (e.By == by || e.By == "platform" || e.By == "any") {
						ends[e.From] = true
					}
				}
			}
			for s := range states {
				if !ends[s] && s != "" {
					t.Errorf("%s: %q has no exit by the %s alone", m.Name, s, by)
				}
			}
		}
	}
}

// walk collects the reachable states of a plan. What differs only in its times is one
// state.
type walk struct {
	t     *testing.T
	seen  map[string]bool
	ahead []*path.Deal
	now   map[*path.Deal]time.Time
}

// shape names a state.
func shape(d *path.Deal) string {
	var b strings.Builder
	fmt.Fprint(&b, d.Status, d.EndCause, d.Pulse.Percent, min(d.Pulse.Misses, path.ReviewMisses+1), d.Review.Open, d.StaleInRow, d.Reminded, d.Warned)
	for _, s := range d.Steps {
		fmt.Fprint(&b, "|", s.State, s.Round, s.Version > 0, s.Schedule)
	}
	return b.String()
}

func (w *walk) add(d *path.Deal, now time.Time) {
	if _, err := d.Drain(); err != nil {
		w.t.Fatalf("%s: %v", shape(d), err)
	}
	if k := shape(d); !w.seen[k] {
		w.seen[k] = true
		w.ahead, w.now[d] = append(w.ahead, d), now
	}
}

// moves are everything a party or the clock can do next.
func moves(d *path.Deal, now time.Time) []func(*path.Deal) (time.Time, error) {
	at := func(do func(d *path.Deal) error) func(*path.Deal) (time.Time, error) {
		return func(d *path.Deal) (time.Time, error) { return now, do(d) }
	}
	out := []func(*path.Deal) (time.Time, error){
		at(func(d *path.Deal) error { return d.Sign(now, true) }),
		at(func(d *path.Deal) error { return d.CheckIn(now, min(100, d.Pulse.Percent+25)) }),
		at(func(d *path.Deal) error { _, err := d.File(now, "document"); return err }),
		at(func(d *path.Deal) error { _, err := d.FileSchedule(now, "schedule"); return err }),
		func(d *path.Deal) (time.Time, error) {
			due, _, ok := d.Next()
			if !ok {
				return now, path.NotActive
			}
			d.Settle(due)
			return due, nil
		},
	}
	for _, verdict := range []string{path.Approve, path.RequestChanges} {
		out = append(out, at(func(d *path.Deal) error {
			s := d.Open()
			if s == nil {
				return path.NotActive
			}
			return d.Answer(now, s, path.Answer{Verdict: verdict, Score: 5})
		}))
	}
	return out
}

// TestEveryReachableStateEndsByTheClocksAloneAndByEachPartyAlone walks all states of all
// plans of up to two steps, and some of three, which a second silence in a row can stop.
func TestEveryReachableStateEndsByTheClocksAloneAndByEachPartyAlone(t *testing.T) {
	states := 0
	for _, plan := range append(plans(2), []proposal.Step{{Ask: proposal.Approve, Rounds: 1}, {Ask: proposal.Approve, Rounds: 1}, {Ask: proposal.Grant}}) {
		for _, cents := range []int64{0, 500} {
			for i := range plan {
				plan[i].LineItemAmount = cents
			}
			w := &walk{t: t, seen: map[string]bool{}, now: map[*path.Deal]time.Time{}}
			w.add(pickOf(plan, cents, 1), start)
			for len(w.ahead) > 0 {
				d := w.ahead[len(w.ahead)-1]
				w.ahead = w.ahead[:len(w.ahead)-1]
				states++
				if d.Status == path.Ended {
					continue
				}
				now := w.now[d]
				exits(t, d, now)
				for _, move := range moves(d, now) {
					next := clone(d)
					if at, err := move(next); err == nil {
						w.add(next, at)
					}
				}
			}
		}
	}
	if states < 5000 {
		t.Errorf("only %d states were reached", states)
	}
}

// plans are the plans of n steps and fewer, by the kinds of asks that behave differently.
func plans(n int) [][]proposal.Step {
	kinds := []proposal.Step{{Ask: proposal.Approve, Rounds: 2}, {Ask: proposal.Approve, Actor: proposal.Agent}, {Ask: proposal.Choose, Rounds: 1}, {Ask: proposal.Grant}}
	out, last := [][]proposal.Step{}, [][]proposal.Step{nil}
	for range n {
		var longer [][]proposal.Step
		for _, p := range last {
			for _, k := range kinds {
				longer = append(longer, append(p[:len(p):len(p)], k))
			}
		}
		out, last = append(out, longer...), longer
	}
	return out
}

// exits holds a running deal to its ways out.
func exits(t *testing.T, d *path.Deal, now time.Time) {
	t.Helper()
	silent := clone(d)
	silent.Settle(now.Add(d.Bound()))
	if silent.Live() {
		t.Fatalf("%s: the clocks alone leave it %s after %v", shape(d), silent.Status, d.Bound())
	}
	agent := clone(d)
	if err := leaves(agent, now); err != nil {
		t.Fatalf("%s: the agent cannot leave: %v", shape(d), err)
	}
	person := clone(d)
	if at := d.PickedAt.Add(path.SignDrop); d.Status == path.Picked && now.Before(at) {
		person.Settle(at)
		now = at
	}
	if err := person.EndByPerson(now); err != nil || person.Live() {
		t.Fatalf("%s: the person cannot leave: %v", shape(d), err)
	}
}

// leaves is the agent's way out.
func leaves(d *path.Deal, now time.Time) error {
	if d.Status == path.Picked {
		return d.WalkAway(now, "no")
	}
	return d.Withdraw(now, path.Abandonment, "no")
}
