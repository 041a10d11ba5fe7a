package path_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
)

var (
	seeds = flag.Int("path.seeds", 3000, "simulated deals")
	first = flag.Uint64("path.seed", 1, "the first seed; -path.seeds=1 -path.seed=N replays one")
)

// sim is one simulated deal with everything a run must hold.
type sim struct {
	t        *testing.T
	seed     uint64
	r        *rand.Rand
	d, twin  *path.Deal // twin is rebuilt from the events alone
	now      time.Time
	released map[int]int
	seen     map[string]int // edges, endings, refusals: what happened, over all seeds
	// The two clocks, counted a second time from the changes of state alone.
	entered      map[int]time.Time
	agent, yours time.Duration
}

// TestSimulatedDealsHoldEveryLaw walks many deals through random calls, legal and not, at
// random times. After every one: the money adds up, one ball, each line released once, the
// events rebuild the state, only edges of the machine, and a clock for every live deal.
func TestSimulatedDealsHoldEveryLaw(t *testing.T) {
	seen := map[string]int{}
	for i := range *seeds {
		s := &sim{t: t, seed: *first + uint64(i), seen: seen}
		s.run()
		if t.Failed() {
			t.Fatalf("replay: go test ./pkg/bench/deals/path -run Simulated -path.seeds=1 -path.seed=%d", s.seed)
		}
	}
	enough(t, seen)
}

// refusals are those of every decider; not_checkpoint and one_ball_violation are refused
// before the deal is asked, and have tests of their own.
var refusals = []*fault.Fault{path.NotActive, path.AlreadySigned, path.SignPending, path.RulesUnread, path.NotWorking, path.Backward, path.Skipped,
	path.OutOfTurn, path.Unfinished, path.NotPackage, path.NotWaiting, path.NotOffered, path.RoundsUsed, path.ScoreNeeded, path.ThreadClosed, path.ThreadOver}

// enough is the proof that the interesting things happened: every edge, every word of
// a call or a clock and every refusal, 100 times in a run of at least 3,000 deals.
func enough(t *testing.T, seen map[string]int) {
	t.Helper()
	var want []string
	for _, m := range path.Machines {
		for _, e := range m.Edges {
			want = append(want, fmt.Sprintf("%s %s>%s", m.Name, e.From, e.To))
			if m.Name == "Deal" {
				want = append(want, "word "+string(e.On))
			}
		}
	}
	for _, w := range []record.Word{path.SignReminded, path.TimeWarned, path.ReviewOpened, path.ReviewClosed, record.AskReminded, record.AgentCheckinOverdue,
		record.AskChangesRequested, record.OddsRestated, path.TimeRestored, path.FlagFiled, path.ItemAttached,
		record.IntegrityDecided, record.ScoresVoided, record.ScheduleFiled, record.ScheduleApproved} {
		want = append(want, "word "+string(w))
	}
	for _, f := range refusals {
		want = append(want, "refused "+f.Code)
	}
	want = append(want, "stale")
	slices.Sort(want)
	for _, k := range slices.Compact(want) {
		if *seeds > 3000 {
			fmt.Printf("  %9d  %s\n", seen[k], k)
		}
		if *seeds >= 3000 && seen[k] < 100 {
			t.Errorf("%s happened %d times", k, seen[k])
		}
	}
}

var asks = []string{proposal.Approve, proposal.Choose, proposal.Provide, proposal.Grant}

func (s *sim) run() {
	s.r = rand.New(rand.NewPCG(s.seed, 7))
	s.now, s.released, s.entered = start, map[int]int{}, map[int]time.Time{}
	var steps []proposal.Step
	free := s.r.IntN(4) == 0
	for i := range 1 + s.r.IntN(5) {
		p := proposal.Step{Title: fmt.Sprint(i), Ask: asks[s.r.IntN(4)], Rounds: 1 + s.r.IntN(2), DeclaredOdds: 0.5, AgentCourtEstimate: float64(s.r.IntN(20))}
		if s.r.IntN(5) == 0 {
			p.Actor = proposal.Agent
		}
		if !free {
			p.LineItemAmount = int64(s.r.IntN(3)) * 1000
		}
		steps = append(steps, p)
	}
	finish := int64(0)
	if !free {
		finish = int64(s.r.IntN(2)) * 500
	}
	s.d = pickOf(steps, finish, 1+s.r.IntN(10))
	s.d.Informed = s.r.IntN(4) > 0
	s.twin = clone(pickOf(steps, finish, 1))
	*s.twin = path.Deal{ID: s.d.ID, Informed: s.d.Informed, PlanAt: s.d.PlanAt, TotalCents: s.d.TotalCents, Days: s.d.Days, Steps: s.twin.Steps}
	for i := range s.twin.Steps {
		s.twin.Steps[i].Actor = s.d.Steps[i].Actor
	}
	s.check("pick", clone(s.twin))
	style := s.r.IntN(4) // how busy its people are
	for range 120 {
		if s.d.Status == path.Ended && s.r.IntN(30) == 0 {
			break
		}
		s.pass(style)
		before := clone(s.d)
		name, err := s.act()
		if err != nil {
			s.seen["refused"]++
			s.seen["refused "+fault.From(err).Code]++
			if !reflect.DeepEqual(before, s.d) {
				s.t.Errorf("seed %d: the refused %s changed the deal", s.seed, name)
			}
		}
		s.check(name, before)
		if s.t.Failed() {
			return
		}
	}
	s.ends()
}

// pass lets time go by, and settles as a reader or a sweep would.
func (s *sim) pass(style int) {
	spans := []time.Duration{time.Second, time.Minute, 29 * time.Minute, 3 * time.Hour, path.Day, 6 * path.Day, 20 * path.Day}
	span := spans[s.r.IntN(2+style+s.r.IntN(2))]
	if st := s.d.Open(); st != nil && st.State == path.Waiting && s.r.IntN(6) == 0 {
		span = spans[len(spans)-1] // a person on holiday
	}
	s.now = s.now.Add(time.Duration(s.r.Int64N(int64(span) + 1)))
	if due, _, ok := s.d.Next(); ok && s.r.IntN(8) == 0 && due.After(s.now) && due.Sub(s.now) < 15*path.Day {
		s.now = due // exactly at the deadline
	}
	before := clone(s.d)
	s.d.Settle(s.now)
	s.check("settle", before)
}

// act makes one random call.
func (s *sim) act() (string, error) {
	d, n := s.d, 1+s.r.IntN(len(s.d.Steps))
	st, open := d.Step(n), d.Open()
	if open != nil && s.r.IntN(2) == 0 {
		return s.goOn(open)
	}
	if open != nil && s.r.IntN(3) > 0 {
		st = open
	}
	switch k := s.r.IntN(40); {
	case k < 3:
		return "sign", d.Sign(s.now, s.r.IntN(2) == 0)
	case k == 3:
		if s.r.IntN(6) > 0 {
			return "none", nil
		}
		return "walk away", d.WalkAway(s.now, "no")
	case k == 4:
		if d.Status == path.Signed && s.r.IntN(5) > 0 {
			return "none", nil
		}
		return "end", d.EndByPerson(s.now)
	case k < 14:
		p := path.Checkpoints[s.r.IntN(5)]
		if open != nil && s.r.IntN(3) > 0 {
			p = min(100, d.Pulse.Percent+25)
		}
		return "pulse", d.CheckIn(s.now, p)
	case k < 17:
		_, err := d.File(s.now, "document")
		return "file", err
	case k == 17:
		_, err := d.FileSchedule(s.now, "schedule")
		return "schedule", err
	case k == 18:
		_, err := d.Attach(s.now, path.ItemAttached)
		return "attach", err
	case k < 28:
		return s.answer(st)
	case k == 28:
		if s.r.IntN(2) > 0 {
			return "none", nil
		}
		return "fail", d.Fail(s.now, st, "why", "", "")
	case k == 29:
		return "withdraw", d.Withdraw(s.now, []string{path.Compliance, path.Abandonment}[s.r.IntN(2)], "why")
	case k < 32:
		return "restate", d.Restate(s.now, st, 0.3)
	case k < 34:
		return "write", d.Write(s.now, st)
	case k < 36:
		_, err := d.Reply(s.now, st)
		return "reply", err
	case k == 36:
		return "flag", d.Flag(s.now, st)
	case k == 37:
		return "give back", d.GiveBack(s.now, time.Hour)
	case k == 38 && d.Status == path.Ended:
		d.Decide(s.now, "r109_exception_upheld", s.r.IntN(2) == 0)
		return "decide", nil
	default:
		return "none", nil
	}
}

// goOn is what somebody does who wants to get on: the next checkpoint, the delivery, an
// answer.
func (s *sim) goOn(open *path.Step) (string, error) {
	d := s.d
	switch {
	case open.State == path.Working && d.Pulse.Percent < 100:
		return "pulse", d.CheckIn(s.now, d.Pulse.Percent+25)
	case open.State == path.Working && s.r.IntN(4) > 0 && open.Ask == proposal.Approve && open.Number == len(d.Steps)-1 || open.State == path.Working && s.r.IntN(9) == 0:
		_, err := d.FileSchedule(s.now, "schedule")
		return "schedule", err
	case open.State == path.Working:
		_, err := d.File(s.now, "document")
		return "file", err
	case s.r.IntN(3) == 0:
		return "ask for changes", d.Answer(s.now, open, path.Answer{Verdict: path.RequestChanges})
	default:
		return "approve", d.Answer(s.now, open, path.Answer{Verdict: path.Approve, Score: s.r.IntN(4), Grant: true, Files: 1})
	}
}

func (s *sim) answer(st *path.Step) (string, error) {
	a := path.Answer{Verdict: []string{path.Approve, path.Approve, path.Approve, path.RequestChanges, path.Decline}[s.r.IntN(5)], Score: s.r.IntN(11), Grant: true, Files: s.r.IntN(3)}
	if a.Verdict == path.Decline && s.r.IntN(4) > 0 {
		return "none", nil
	}
	return "answer " + a.Verdict, s.d.Answer(s.now, st, a)
}

// check drains the deal and holds everything against what it was before.
func (s *sim) check(name string, before *path.Deal) {
	s.t.Helper()
	events, err := s.d.Drain()
	if err != nil {
		s.t.Errorf("seed %d: %s: %v", s.seed, name, err)
		return
	}
	for _, e := range events {
		s.seen["word "+string(e.Word)]++
		if e.Word == record.StepReleased {
			if s.released[e.Step]++; s.released[e.Step] > 1 || e.Cause == "" || e.Cents != s.d.Step(e.Step).Cents {
				s.t.Errorf("seed %d: %s released step %d: %+v", s.seed, name, e.Step, e)
			}
		}
		if e.Word == record.StepApproved && e.Cause == path.ByStale {
			s.seen["stale"]++
		}
		if e.At.After(s.now) {
			s.t.Errorf("seed %d: %s happened in the future", s.seed, e.Word)
		}
	}
	if err := s.twin.Replay(events); err != nil {
		s.t.Errorf("seed %d: %s: replay: %v", s.seed, name, err)
	}
	if !reflect.DeepEqual(s.twin, s.d) {
		s.t.Errorf("seed %d: after %s the events rebuild another deal\n%+v\n%+v", s.seed, name, s.twin, s.d)
	}
	if due, _, ok := s.d.Next(); s.d.Live() && !ok || ok && !due.After(s.now) && name == "settle" {
		s.t.Errorf("seed %d: after %s no clock runs (%v, now %v)", s.seed, name, due, s.now)
	}
	s.edges(name, before, events)
}

// edges walks the events once more, one at a time, and looks every change of state up in
// the machines.
func (s *sim) edges(name string, d *path.Deal, events []path.Event) {
	for _, e := range events {
		deal, states := d.Status, make([]string, len(d.Steps))
		for i := range d.Steps {
			states[i] = d.Steps[i].State
		}
		s.law(d, e)
		if err := d.Replay([]path.Event{e}); err != nil {
			s.t.Errorf("seed %d: %s: %v", s.seed, name, err)
			return
		}
		s.edge(path.DealMachine, deal, d.Status, e.Word)
		for i := range d.Steps {
			s.edge(path.StepMachine, states[i], d.Steps[i].State, e.Word)
			s.clock(i, states[i], d.Steps[i].State, e.At)
		}
		if e.Word == path.TimeRestored && e.Who == path.WhoPerson {
			s.entered[e.Step-1] = s.entered[e.Step-1].Add(e.Span.Span())
		}
	}
	if s.d.AgentTime != path.Of(s.agent) || s.d.YourTime != path.Of(s.yours) {
		s.t.Errorf("seed %d: after %s Agent time %v, counted %v; Your time %v, counted %v", s.seed, name, s.d.AgentTime.Span(), s.agent, s.d.YourTime.Span(), s.yours)
	}
}

// law holds an event against the contract's own numbers, written out here once more. d is
// the deal just before it.
func (s *sim) law(d *path.Deal, e path.Event) {
	const day = 24 * time.Hour
	wrong := func(what string) { s.t.Errorf("seed %d: %s at %v: %s", s.seed, e.Word, e.At, what) }
	var st path.Step
	if e.Step > 0 {
		st = d.Steps[e.Step-1]
	}
	switch e.Word {
	case record.DealPickLapsed:
		if e.At.Before(d.PickedAt.Add(48 * time.Hour)) {
			wrong("a pick was dropped within 48 hours")
		}
	case record.StepApproved:
		if st.State == path.Queued { // FINISH, in one motion with a timed delivery
			if before := d.Steps[e.Step-2]; before.Schedule == "" || before.State != path.Approved || !before.ApprovedAt.Equal(e.At) {
				wrong("FINISH was approved by itself")
			}
		} else if e.Cause == path.ByStale && !e.At.Equal(st.WaitingSince.Add(14*day)) {
			wrong("silence counts on day 14")
		}
	case record.AskReminded:
		if !e.At.Equal(st.WaitingSince.Add(time.Duration(e.N) * day)) {
			wrong("a reminder on another day")
		}
	case record.AskChangesRequested:
		if e.N > st.Rounds || st.Ask != proposal.Approve && st.Ask != proposal.Choose {
			wrong("a round that was not offered")
		}
	case record.StepOpened:
		if before := d.Steps[e.Step-2]; before.Cause == path.ByStale && before.Ask != proposal.Approve {
			wrong("the Path went on without the person's part")
		}
	case record.DealExpired:
		if used := d.AgentUsed(e.At); used != time.Duration(d.Days)*day+d.Restored.Span() {
			wrong("expired at another time than D: " + used.String())
		}
	case record.AgentCheckinOverdue:
		if d.Pulse.Misses == 0 && !d.Pulse.At.IsZero() && !e.At.Equal(d.Pulse.At.Add(30*time.Minute)) {
			wrong("an update was due at another time")
		}
	}
}

// clock counts the stretch that a change of state ends.
func (s *sim) clock(step int, from, to string, at time.Time) {
	if from == to {
		return
	}
	switch span := at.Sub(s.entered[step]).Truncate(time.Millisecond); from {
	case path.Working:
		s.agent += span
	case path.Waiting:
		s.yours += max(0, span)
	}
	s.entered[step] = at
}

func (s *sim) edge(m path.Machine, from, to string, on record.Word) {
	if from == to {
		return
	}
	for _, e := range m.Edges {
		if e.From == from && e.To == to && (e.On == on || e.On == "") {
			s.seen[fmt.Sprintf("%s %s>%s", m.Name, from, to)]++
			return
		}
	}
	s.t.Errorf("seed %d: the %s has no edge %q > %q on %s", s.seed, m.Name, from, to, on)
}

// ends lets the clocks alone finish what is left: within the published bound.
func (s *sim) ends() {
	if !s.d.Live() {
		return
	}
	before := clone(s.d)
	s.now = s.now.Add(s.d.Bound())
	s.d.Settle(s.now)
	s.check("silence", before)
	if s.d.Live() {
		s.t.Errorf("seed %d: the deal is still %s after %v of silence: %+v", s.seed, s.d.Status, before.Bound(), s.d)
	}
}

func TestTheMachineDocumentIsCurrent(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("testdata", "state-machines.md"))
	if err != nil || string(got) != string(path.Document()) {
		t.Fatalf("run: make generate (%v)", err)
	}
}
