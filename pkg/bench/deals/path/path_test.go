package path_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
)

var start = time.Date(2026, 11, 30, 18, 20, 0, 0, time.UTC)

// plan makes steps of these asks, $10 each.
func plan(asks ...string) []proposal.Step {
	var out []proposal.Step
	for i, a := range asks {
		out = append(out, proposal.Step{Title: fmt.Sprintf("Step %d", i+1), Ask: a, Rounds: 1, LineItemAmount: 1000, DeclaredOdds: 0.5, AgentCourtEstimate: 2})
	}
	return out
}

func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("step-%d", i+1)
	}
	return out
}

// pick makes a paid deal of 7 days with a finish line of $5.
func pick(steps []proposal.Step) *path.Deal { return pickOf(steps, 500, 7) }

func pickOf(steps []proposal.Step, finish int64, days int) *path.Deal {
	total := finish
	for _, s := range steps {
		total += s.LineItemAmount
	}
	return path.Pick(path.Deal{ID: "deal", Informed: true, PlanAt: start.Add(-time.Hour), TotalCents: total, Days: days}, steps, finish, ids(len(steps)+2), start)
}

// run drains a deal and fails the test on a broken invariant.
func run(t testing.TB, d *path.Deal) []path.Event {
	t.Helper()
	events, err := d.Drain()
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func words(events []path.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Word))
	}
	return out
}

func signed(t testing.TB, d *path.Deal, at time.Time) *path.Deal {
	t.Helper()
	if err := d.Sign(at, false); err != nil {
		t.Fatal(err)
	}
	run(t, d)
	return d
}

// work pulses to 100 % and files at a time.
func work(t testing.TB, d *path.Deal, at time.Time) *path.Step {
	t.Helper()
	pulse(t, d, at)
	s, err := d.File(at, "document")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pulse brings the step to 100 %.
func pulse(t testing.TB, d *path.Deal, at time.Time) {
	t.Helper()
	for _, p := range path.Checkpoints {
		if err := d.CheckIn(at, p); err != nil {
			t.Fatal(err)
		}
	}
}

func approve(t testing.TB, d *path.Deal, at time.Time) {
	t.Helper()
	s := d.Open()
	a := path.Answer{Verdict: path.Approve}
	if s.Kind == path.Finish {
		a.Score = 8
	}
	if err := d.Answer(at, s, a); err != nil {
		t.Fatal(err)
	}
}

func TestTheAgentsSignatureCountsFromItsPlan(t *testing.T) {
	d := pick(plan("CHOOSE", "APPROVE"))
	signed(t, d, start.Add(time.Hour))
	if !d.AgentSignedAt.Equal(d.PlanAt) || d.Steps[0].State != path.Approved || d.Open().Number != 2 || d.Money.Held != 2500 {
		t.Fatalf("%+v", d)
	}
	if err := d.Sign(start.Add(2*time.Hour), true); !errors.Is(err, path.AlreadySigned) {
		t.Fatal(err)
	}
	legacy := pick(plan("CHOOSE", "APPROVE"))
	legacy.Informed = false
	if err := legacy.Sign(start, false); !errors.Is(err, path.RulesUnread) {
		t.Fatal(err)
	}
	signed2 := start.Add(3 * time.Hour)
	if err := legacy.Sign(signed2, true); err != nil || !legacy.AgentSignedAt.Equal(signed2) {
		t.Fatal(err, legacy.AgentSignedAt)
	}
}

func TestSilenceAfterThePick(t *testing.T) {
	d := pick(plan("CHOOSE", "APPROVE"))
	run(t, d)
	if err := d.EndByPerson(start.Add(path.SignDrop - time.Second)); !errors.Is(err, path.SignPending) {
		t.Fatal("dropped a second too early")
	}
	at := map[string]time.Time{}
	d.Settle(start.Add(path.SignEnd - time.Second))
	for _, e := range run(t, d) {
		at[fmt.Sprintf("%s %d", e.Word, e.N)] = e.At
	}
	for _, h := range []int{12, 24, 48} {
		if got := at[fmt.Sprintf("deal.sign-reminded %d", h)]; !got.Equal(start.Add(time.Duration(h) * time.Hour)) {
			t.Errorf("%d h reminder at %v", h, got)
		}
	}
	if d.Status != path.Picked {
		t.Fatal("dropped a second too early")
	}
	d.Settle(start.Add(path.SignEnd))
	if got := words(run(t, d)); !slices.Equal(got, []string{"deal.pick-lapsed", "deal.returned"}) || d.Money.Returned != 2500 {
		t.Fatalf("%v %+v", got, d.Money)
	}
	if !d.EndedAt.Equal(start.Add(path.SignEnd)) || d.EndCause != path.PickLapsed {
		t.Fatal(d.EndedAt, d.EndCause)
	}
	e := pick(plan("CHOOSE", "APPROVE"))
	if err := e.EndByPerson(start.Add(path.SignDrop)); err != nil || e.EndCause != path.PickLapsed || e.Money.Returned != 2500 {
		t.Fatal(err, e.EndCause)
	}
}

func TestPulsesMoveOneCheckpointAtATimeAndStartAgainWithEachStretch(t *testing.T) {
	d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
	steps := []struct {
		percent int
		want    error
	}{{50, path.Skipped}, {25, nil}, {25, nil}, {0, path.Backward}, {75, path.Skipped}, {50, nil}, {75, nil}, {33, path.NotCheckpoint}, {100, nil}, {100, nil}, {75, path.Backward}}
	for _, s := range steps {
		err := d.CheckIn(start, s.percent)
		if (s.want == nil) != (err == nil) || s.want != nil && !errors.Is(err, s.want) {
			t.Fatalf("%d %%: %v, want %v", s.percent, err, s.want)
		}
	}
	s, err := d.File(start, "document")
	if err != nil || s.State != path.Waiting {
		t.Fatal(err)
	}
	if err := d.CheckIn(start, 100); !errors.Is(err, path.NotWorking) || !strings.HasSuffix(fault.From(err).Fix, d.ID+"/current-step") {
		t.Fatal(err)
	}
	if err := d.Answer(start, s, path.Answer{Verdict: path.RequestChanges}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.File(start, "document"); !errors.Is(err, path.Unfinished) {
		t.Fatal("a revision needs its own 100 % pulse")
	}
	if err := d.CheckIn(start, 0); err != nil {
		t.Fatal(err)
	}
	if got := d.CheckIn(start, 50); !errors.Is(got, path.Skipped) {
		t.Fatal(got)
	}
}

func TestOverduePulsesToTheSecond(t *testing.T) {
	d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
	d.Settle(start.Add(5*time.Minute - time.Second))
	if got := run(t, d); len(got) > 0 {
		t.Fatalf("%v", words(got))
	}
	d.Settle(start.Add(5 * time.Minute))
	if e := run(t, d); len(e) != 1 || e[0].N != 1 || !e[0].At.Equal(start.Add(5*time.Minute)) || !e[0].Due.Equal(start.Add(35*time.Minute)) {
		t.Fatalf("%+v", e)
	}
	if err := d.CheckIn(start.Add(20*time.Minute), 0); err != nil || d.Pulse.Misses != 0 || !d.Pulse.DueAt.Equal(start.Add(50*time.Minute)) {
		t.Fatal(err, d.Pulse)
	}
	run(t, d)
	d.Settle(start.Add(50*time.Minute - time.Second))
	if got := run(t, d); len(got) > 0 {
		t.Fatalf("%v", words(got))
	}
	for i, want := range []string{"agent.checkin.overdue", "agent.checkin.overdue", "agent.checkin.overdue liveness.opened", "agent.checkin.overdue"} {
		d.Settle(start.Add(50*time.Minute + time.Duration(i)*path.PulseEvery))
		got := ""
		for _, e := range run(t, d) {
			if got != "" {
				got += " "
			}
			got += string(e.Word)
			if e.Word == record.AgentCheckinOverdue && e.N != i+1 {
				t.Errorf("miss %d counts %d", i+1, e.N)
			}
		}
		if got != want {
			t.Errorf("miss %d: %q, want %q", i+1, got, want)
		}
	}
}

func TestALivenessReviewClosesAfterADayWithoutAMiss(t *testing.T) {
	d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
	d.Settle(start.Add(2 * time.Hour))
	run(t, d)
	if !d.Review.Open {
		t.Fatal("three misses open no review")
	}
	now := start.Add(2 * time.Hour)
	for i := 0; i < 47; i++ {
		if err := d.CheckIn(now, 0); err != nil {
			t.Fatal(err)
		}
		now = now.Add(path.PulseEvery - time.Second)
		d.Settle(now)
	}
	if !d.Review.Open || d.Pulse.Misses != 0 {
		t.Fatalf("closed early at %v: %+v", now, d.Review)
	}
	run(t, d)
	for _, at := range []time.Time{now, now.Add(29 * time.Minute)} {
		if err := d.CheckIn(at, 0); err != nil {
			t.Fatal(err)
		}
	}
	due := start.Add(26 * time.Hour)
	d.Settle(due.Add(-time.Second))
	if !d.Review.Open {
		t.Fatal("closed a second early")
	}
	d.Settle(due)
	if d.Review.Open {
		t.Fatal("a clean day closes the review")
	}
}

func TestALateLookCountsManyMissesAsOneEvent(t *testing.T) {
	d := signed(t, pickOf(plan("APPROVE", "APPROVE"), 500, 365), start)
	d.Settle(start.Add(100 * path.Day))
	events := run(t, d)
	if len(events) > 6 {
		t.Fatalf("%d events", len(events))
	}
	// 5 minutes, then every 30: the misses up to now, counted one by one.
	want := 1 + int((100*path.Day-5*time.Minute)/path.PulseEvery)
	if d.Pulse.Misses != want {
		t.Fatalf("%d misses, want %d", d.Pulse.Misses, want)
	}
	slow := signed(t, pickOf(plan("APPROVE", "APPROVE"), 500, 365), start)
	for at := start; !at.After(start.Add(2 * path.Day)); at = at.Add(time.Minute) {
		slow.Settle(at)
	}
	quick := signed(t, pickOf(plan("APPROVE", "APPROVE"), 500, 365), start)
	quick.Settle(start.Add(2 * path.Day))
	if slow.Pulse != quick.Pulse {
		t.Fatalf("minute by minute %+v, at once %+v", slow.Pulse, quick.Pulse)
	}
}

func TestAgentTimeWarnsAndExpiresToTheSecondAndNeverRunsWhileThePersonThinks(t *testing.T) {
	d := signed(t, pickOf(plan("APPROVE", "APPROVE"), 500, 1), start)
	filed := start.Add(6 * time.Hour)
	d.Settle(filed)
	work(t, d, filed)
	run(t, d)
	answered := filed.Add(10 * path.Day)
	d.Settle(answered)
	approve(t, d, answered)
	run(t, d)
	if used := d.AgentUsed(answered); used != 6*time.Hour {
		t.Fatalf("agent time %v", used)
	}
	at := map[string]time.Time{}
	d.Settle(answered.Add(18*time.Hour - time.Second))
	for _, e := range run(t, d) {
		if e.Word == path.TimeWarned {
			at[fmt.Sprint(e.N)] = e.At
		}
	}
	if !at["75"].Equal(answered.Add(12*time.Hour)) || !at["90"].Equal(answered.Add(21*time.Hour+36*time.Minute-6*time.Hour)) {
		t.Fatalf("%v", at)
	}
	if d.Status != path.Signed {
		t.Fatal("expired a second early")
	}
	d.Settle(answered.Add(18 * time.Hour))
	if d.EndCause != path.Expired || !d.EndedAt.Equal(answered.Add(18*time.Hour)) || d.Money.Returned != 1500 || d.Money.Released != 1000 {
		t.Fatalf("%s %v %+v", d.EndCause, d.EndedAt, d.Money)
	}
}

func TestRemindersAndTheLapseToTheSecond(t *testing.T) {
	d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
	work(t, d, start)
	run(t, d)
	for _, c := range []struct {
		day  int
		word string
	}{{3, "ask.reminded"}, {7, "ask.reminded"}, {12, "ask.reminded"}, {14, "step.approved"}} {
		due := start.Add(time.Duration(c.day) * path.Day)
		d.Settle(due.Add(-time.Second))
		if got := run(t, d); len(got) != 0 {
			t.Fatalf("day %d: %v a second early", c.day, words(got))
		}
		d.Settle(due)
		got := run(t, d)
		if len(got) == 0 || string(got[0].Word) != c.word || !got[0].At.Equal(due) || c.day < 14 && got[0].N != c.day {
			t.Fatalf("day %d: %+v", c.day, got)
		}
	}
	if d.Steps[1].Cause != path.ByStale || d.Money.Released != 1000 || d.Open().Number != 3 {
		t.Fatalf("%+v", d.Steps[1])
	}
}

func TestOvertakenRemindersAreRecordedNotMailed(t *testing.T) {
	d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
	work(t, d, start)
	run(t, d)
	d.Settle(start.Add(8 * path.Day))
	e := run(t, d)
	if len(e) != 2 || !e[0].Overtaken || e[1].Overtaken {
		t.Fatalf("%+v", e)
	}
	d.Settle(start.Add(30 * path.Day))
	for _, e := range run(t, d) {
		if e.Word == record.AskReminded && e.At.Before(start.Add(14*path.Day)) && !e.Overtaken {
			t.Fatalf("%+v", e)
		}
	}
}

func TestWhatASilenceBlocks(t *testing.T) {
	cases := []struct {
		name   string
		steps  []string
		person []bool // answers of the asks before; false is silence
		want   string // the state of the deal after the last silence
		finish int64
	}{
		{"an APPROVE does not block", []string{"APPROVE", "APPROVE", "APPROVE"}, []bool{false}, "agent_working 3", 500},
		{"a CHOOSE blocks", []string{"CHOOSE", "APPROVE"}, []bool{false}, "lapsed", 500},
		{"a PROVIDE blocks", []string{"PROVIDE", "APPROVE"}, []bool{false}, "lapsed", 500},
		{"a GRANT blocks", []string{"GRANT", "APPROVE"}, []bool{false}, "lapsed", 500},
		{"a CHOOSE as the last step does not block", []string{"APPROVE", "CHOOSE"}, []bool{true, false}, "waiting_on_you 4", 500},
		{"two silences in a row block", []string{"APPROVE", "APPROVE", "APPROVE"}, []bool{false, false}, "lapsed", 500},
		{"an answer between them does not", []string{"APPROVE", "APPROVE", "APPROVE", "APPROVE"}, []bool{false, true, false}, "agent_working 5", 500},
		{"the second silence on the last step does not block", []string{"APPROVE", "APPROVE"}, []bool{false, false}, "waiting_on_you 4", 500},
		{"a silent FINISH resolves", []string{"APPROVE", "APPROVE"}, []bool{false, false, false}, "resolved", 500},
		{"a silent FINISH of no money of its own resolves", []string{"APPROVE", "APPROVE"}, []bool{true, true, false}, "resolved", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := signed(t, pickOf(plan(c.steps...), c.finish, 30), start)
			now := start
			for _, answers := range c.person {
				if s := d.Open(); s.State == path.Working {
					work(t, d, now)
				}
				if answers {
					approve(t, d, now)
				} else {
					now = now.Add(path.LapseAfter)
					d.Settle(now)
				}
				run(t, d)
			}
			got := d.EndCause
			if s := d.Open(); s != nil {
				got = fmt.Sprintf("%s %d", s.State, s.Number)
			}
			if got != c.want {
				t.Fatalf("%s, want %s", got, c.want)
			}
			if d.Status == path.Ended && d.Money.Held != 0 {
				t.Fatal(d.Money)
			}
		})
	}
}

func TestASilentFinishOfAFreeDealIsNoWin(t *testing.T) {
	steps := plan("APPROVE", "APPROVE")
	for i := range steps {
		steps[i].LineItemAmount = 0
	}
	d := signed(t, pickOf(steps, 0, 30), start)
	work(t, d, start)
	approve(t, d, start)
	work(t, d, start)
	approve(t, d, start)
	d.Settle(start.Add(path.LapseAfter))
	if run(t, d); d.EndCause != path.Lapsed || d.Steps[3].State != path.Over {
		t.Fatal(d.EndCause, d.Steps[3].State)
	}
}

func TestAnswersRefuse(t *testing.T) {
	steps := plan("APPROVE", "PROVIDE", "GRANT", "APPROVE", "CHOOSE")
	steps[3].Actor = proposal.Agent
	d := signed(t, pickOf(steps, 500, 30), start)
	if err := d.Answer(start, d.Step(2), path.Answer{Verdict: path.Approve}); !errors.Is(err, path.NotWaiting) {
		t.Fatal(err)
	}
	work(t, d, start)
	if err := d.Answer(start, d.Step(2), path.Answer{Verdict: path.RequestChanges}); err != nil {
		t.Fatal(err)
	}
	work(t, d, start)
	if err := d.Answer(start, d.Step(2), path.Answer{Verdict: path.RequestChanges}); !errors.Is(err, path.RoundsUsed) {
		t.Fatal(err)
	}
	approve(t, d, start)
	if err := d.Answer(start, d.Step(2), path.Answer{Verdict: path.Approve}); !errors.Is(err, path.NotWaiting) {
		t.Fatal("a step was approved twice")
	}
	for range 3 { // PROVIDE, GRANT and the agent's own report take no request for changes
		s := work(t, d, start)
		if err := d.Answer(start, s, path.Answer{Verdict: path.RequestChanges}); !errors.Is(err, path.NotOffered) {
			t.Fatal(s.Ask, err)
		}
		approve(t, d, start)
	}
	work(t, d, start)
	approve(t, d, start)
	if err := d.Answer(start, d.Open(), path.Answer{Verdict: path.Approve}); !errors.Is(err, path.ScoreNeeded) {
		t.Fatal(err)
	}
	if err := d.Answer(start, d.Open(), path.Answer{Verdict: path.Approve, Score: 11}); !errors.Is(err, path.ScoreOutside) {
		t.Fatal(err)
	}
	run(t, d)
}

func TestFinishGoesBackToTheAgentAsOftenAsTheLastStep(t *testing.T) {
	d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
	for range 2 {
		work(t, d, start)
		approve(t, d, start)
	}
	f := d.Open()
	if f.Kind != path.Finish || f.State != path.Waiting {
		t.Fatal("FINISH opens by itself")
	}
	if err := d.Answer(start, f, path.Answer{Verdict: path.RequestChanges}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.File(start, "document"); !errors.Is(err, path.Unfinished) {
		t.Fatal(err)
	}
	work(t, d, start)
	if err := d.Answer(start, f, path.Answer{Verdict: path.RequestChanges}); !errors.Is(err, path.RoundsUsed) {
		t.Fatal(err)
	}
	approve(t, d, start)
	if run(t, d); d.EndCause != path.Resolved || d.Score != 8 || d.Money.Released != 2500 {
		t.Fatal(d.EndCause, d.Money)
	}
}

func TestEveryEndingReturnsWhatIsHeld(t *testing.T) {
	for name, end := range map[string]func(d *path.Deal) error{
		path.AgentFailed:   func(d *path.Deal) error { return d.Fail(start, d.Open(), "why", "", "") },
		path.AgentWithdrew: func(d *path.Deal) error { return d.Withdraw(start, path.Abandonment, "why") },
		path.Declined:      func(d *path.Deal) error { return d.EndByPerson(start) },
	} {
		d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
		work(t, d, start)
		approve(t, d, start)
		if err := end(d); err != nil {
			t.Fatal(name, err)
		}
		run(t, d)
		if d.EndCause != name || d.Money.Released != 1000 || d.Money.Returned != 1500 || d.Broken != 3 {
			t.Errorf("%s: %+v broken %d", d.EndCause, d.Money, d.Broken)
		}
		for _, again := range []error{d.EndByPerson(start), d.Withdraw(start, path.Compliance, "x"), d.Fail(start, d.Step(3), "x", "", ""),
			d.Flag(start, d.Step(3)), d.WalkAway(start, ""), d.Sign(start, true), d.GiveBack(start, time.Hour), d.Strike(start, "x")} {
			if !errors.Is(again, path.NotActive) {
				t.Errorf("%s: %v after the end", name, again)
			}
		}
	}
}

func TestTimeGivenBackGoesToWhoeverHoldsTheBall(t *testing.T) {
	d := signed(t, pickOf(plan("APPROVE", "APPROVE"), 500, 1), start)
	if err := d.GiveBack(start, 5*time.Hour); err != nil {
		t.Fatal(err)
	}
	d.Settle(start.Add(29*time.Hour - time.Second))
	if d.Status != path.Signed {
		t.Fatal("the agent's time was not given back")
	}
	d = signed(t, pick(plan("APPROVE", "APPROVE")), start)
	s := work(t, d, start)
	if err := d.GiveBack(start, 48*time.Hour); err != nil || !s.LapseAt().Equal(start.Add(16*path.Day)) {
		t.Fatal(err, s.LapseAt())
	}
	run(t, d)
}

func TestThreads(t *testing.T) {
	d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
	s := d.Open()
	for range 2 {
		if err := d.Write(start, s); err != nil {
			t.Fatal(err)
		}
	}
	if s.Unread != 2 || len(d.Owed()) != 1 {
		t.Fatal(s.Unread)
	}
	work(t, d, start) // pulses are the platform's entries, not the agent's word
	if s.Unread != 2 {
		t.Fatal("a pulse counted as an answer")
	}
	approve(t, d, start)
	late, err := d.Reply(start, s)
	if err != nil || !late || s.Unread != 0 {
		t.Fatal(late, err)
	}
	if _, err := d.Reply(start, s); !errors.Is(err, path.ThreadClosed) {
		t.Fatal(err)
	}
	if err := d.EndByPerson(start); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(start.Add(path.PersonWindow-time.Second), s); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(start.Add(path.PersonWindow), s); !errors.Is(err, path.ThreadOver) {
		t.Fatal(err)
	}
	run(t, d)
}

func TestRestatement(t *testing.T) {
	d := signed(t, pick(plan("APPROVE", "APPROVE")), start)
	if err := d.Restate(start, d.Step(3), 0.4); err != nil || d.Step(3).OddsN != 1 || d.Step(3).Before != nil {
		t.Fatal(err)
	}
	if err := d.Restate(start, d.Step(3), 0.3); err != nil || *d.Step(3).Before != 0.4 || *d.Step(3).Restated != 0.3 {
		t.Fatal(err)
	}
	for _, n := range []int{1, 4} {
		if err := d.Restate(start, d.Step(n), 0.4); err == nil {
			t.Errorf("step %d of the platform took odds", n)
		}
	}
	s := work(t, d, start)
	if err := d.Restate(start, s, 0.4); err == nil {
		t.Error("a filed step took odds")
	}
	if err := d.Answer(start, s, path.Answer{Verdict: path.RequestChanges}); err != nil {
		t.Fatal(err)
	}
	if err := d.Restate(start, s, 0.4); err == nil {
		t.Error("a step with an outcome took odds")
	}
	run(t, d)
}

func TestAnEventOutOfPlaceBreaksTheDealAndNothingIsWritten(t *testing.T) {
	d := pick(plan("APPROVE", "APPROVE"))
	d.Money.Released = 1
	if _, err := d.Drain(); err == nil {
		t.Fatal("an account that does not add up was drained")
	}
	for _, e := range []path.Event{
		{Word: record.StepApproved, At: start, Step: 2}, {Word: record.StepOpened, At: start, Step: 9}, {Word: record.AskOpened, At: start, Step: 2},
		{Word: record.StepReleased, At: start, Step: 2, Cents: 999999}, {Word: "no.such-word", At: start, Step: 2},
		{Word: record.AskChangesRequested, At: start, Step: 2}, {Word: path.TimeRestored, At: start, Step: 2, Who: path.WhoPerson}} {
		d := pick(plan("APPROVE", "APPROVE"))
		if err := d.Replay([]path.Event{e}); err == nil {
			t.Errorf("%s was folded in a picked deal", e.Word)
		}
	}
}

// clone is a copy that shares nothing with the deal that a change could touch.
func clone(d *path.Deal) *path.Deal {
	c := *d
	c.Steps = slices.Clone(d.Steps)
	return &c
}

func TestADealComesBackFromTheStoreAsItWas(t *testing.T) {
	d := signed(t, pick(plan("CHOOSE", "APPROVE")), start)
	work(t, d, start)
	run(t, d)
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back path.Deal
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(&back, d) {
		t.Fatalf("%v\n%+v\n%+v", err, &back, d)
	}
}
