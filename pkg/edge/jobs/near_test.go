package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
	"guildhall/pkg/table/meter"
)

// The subject of a drip names a schedule and a person: its rows are known without reading.
func dripRows(subject string) []table.Key {
	schedule, person, ok := strings.Cut(subject, "#")
	if !ok {
		panic("no drip: " + subject)
	}
	return []table.Key{key("schedule-" + schedule), key("person-" + person), key("agent-" + schedule[len(schedule)-1:])}
}

// drip is a timer kind that writes its schedule and its agent, leans on its person, and arms
// the next day, as a daily delivery does.
func drip(rows func(string) []table.Key) op.TimerKind {
	return op.TimerKind{Context: "test", Kind: "drip", Rows: rows, Fire: func(c *op.Call, f op.Fired) error {
		keys := dripRows(f.Subject)
		for _, k := range []table.Key{keys[0], keys[2]} {
			s, _, err := op.Load[subject](c, k)
			if err != nil {
				return err
			}
			s.History = append(s.History, f.Due.Format(time.DateOnly))
			c.Put(k, s)
		}
		if _, err := c.Get(keys[1]); err != nil {
			return err
		}
		c.Check(keys[1])
		c.Arm("drip", f.Subject, f.Due.Add(24*time.Hour))
		return nil
	}}
}

func dripper(t testing.TB, kind op.TimerKind, n int) (*optest.Exchange, *jobs.Sweeper) {
	x := optest.New(t, optest.WithStore(func(s table.Store) table.Store { return meter.Wrap(s) }))
	for from := 0; from < n; from += 50 {
		x.Run("test", func(c *op.Call) error {
			for i := from; i < min(n, from+50); i++ {
				c.Arm("drip", fmt.Sprintf("%05d#%05d", i, i), c.Now)
			}
			return nil
		})
	}
	return x, &jobs.Sweeper{Engine: x.Engine, Context: "test", Timers: []op.TimerKind{kind}}
}

// minuteful is how many timers of one minute the cost of each is measured over.
const minuteful = 1000

func TestAThousandTimersOfOneMinuteCostOneCommitEachAndATenthOfARead(t *testing.T) {
	x, sw := dripper(t, drip(dripRows), minuteful)
	ctx, cost := meter.With(context.Background())
	n, err := sw.SweepAll(ctx, x.Now())
	if n != minuteful || err != nil {
		t.Fatalf("%d timers fired, want %d: %v", n, minuteful, err)
	}
	reads := cost.Gets + cost.Queries
	t.Logf("each: %.3f commits, %.3f read calls, %.2f write units", float64(cost.Commits)/minuteful, float64(reads)/minuteful, float64(cost.WriteUnits)/minuteful)
	if cost.Commits != minuteful || reads > minuteful/10 {
		t.Errorf("%d timers cost %d commits and %d read calls", n, cost.Commits, reads)
	}
	next, ok := sw.NextDue(context.Background())
	if want := x.Now().Add(24 * time.Hour); !ok || !next.Equal(want) {
		t.Errorf("the next day falls due at %v, want %v", next, want)
	}
}

func TestRowsReadAheadChangeNothingThatIsWritten(t *testing.T) {
	var left [2]string
	for i, rows := range []func(string) []table.Key{nil, dripRows} {
		x, sw := dripper(t, drip(rows), 150)
		if n, err := sw.SweepAll(context.Background(), x.Now()); n != 150 || err != nil {
			t.Fatalf("%d timers fired: %v", n, err)
		}
		stored, _, err := x.Store.List(context.Background(), "", 5000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range stored {
			left[i] += fmt.Sprintln(r.Key, string(r.Data))
		}
	}
	if left[0] != left[1] || left[0] == "" {
		t.Error("the rows differ from those of a sweep that reads nothing ahead")
	}
}

func TestARowThatChangedSinceItWasReadIsReadAgain(t *testing.T) {
	ids := sameShard(t, 2)
	kind := op.TimerKind{Context: "test", Kind: "lapse", Rows: func(s string) []table.Key { return []table.Key{key(s)} }}
	h := newHall(t)
	var seen []int // length of the history as each attempt saw it
	kind.Fire = func(c *op.Call, f op.Fired) error {
		if f.Subject == ids[0] && len(seen) == 0 { // somebody changes the second while the first is fired
			h.run(func(c *op.Call) error { return h.note(c, ids[1], "meanwhile") })
		}
		s, _, err := op.Load[subject](c, key(f.Subject))
		seen = append(seen, len(s.History))
		if err != nil {
			return err
		}
		return h.note(c, f.Subject, "fired")
	}
	h.sw.Timers = []op.TimerKind{kind}
	h.arm(ids[0], time.Second)
	h.arm(ids[1], 2*time.Second)
	h.pass(time.Minute)
	if n := h.sweep(); n != 2 {
		t.Errorf("%d fired", n)
	}
	h.wantHistory(ids[1], "meanwhile", "fired")
	if !slices.Equal(seen, []int{0, 0, 1}) {
		t.Errorf("attempts saw %v, want the stale row once and then the fresh one", seen)
	}
}

func TestATimerThatAnEarlierOneSettledCostsNothing(t *testing.T) {
	h := newHall(t)
	var armed []clock.Timer
	h.run(func(c *op.Call) error {
		for i := range 6 {
			armed = append(armed, c.Arm("lapse", "a", h.time().Add(time.Duration(i+1)*time.Second)))
		}
		return nil
	})
	h.sw.Timers = []op.TimerKind{{Context: "test", Kind: "lapse", Fire: func(c *op.Call, f op.Fired) error {
		if f.Due.Equal(armed[0].Due) {
			for _, t := range armed[1:5] {
				c.Disarm(t)
			}
		}
		return h.note(c, "a", f.Due.Format("15:04:05"))
	}}}
	h.pass(time.Minute)
	before := h.store.Stats()
	if n := h.sweep(); n != 2 {
		t.Errorf("%d fired, want the first and the one it left", n)
	}
	if cost := h.store.Stats().Since(before); cost.Commits != 2 || cost.Queries != clock.Shards {
		t.Errorf("cost %+v", cost)
	}
	h.wantHistory("a", "18:20:01", "18:20:06")
}

func TestReadingAheadIsNoCondition(t *testing.T) {
	for name, c := range map[string]struct {
		rows   func(string) []table.Key
		faults int
	}{
		"the store does not answer": {func(s string) []table.Key { return []table.Key{key(s)} }, 1},
		"no key at all":             {func(string) []table.Key { return []table.Key{{}} }, 0},
		"too many keys":             {func(s string) []table.Key { return manyKeys(3 * table.MaxGetKeys) }, 0},
		"a panic":                   {func(s string) []table.Key { panic(s) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t)
			h.sw.Timers[1].Rows = c.rows
			h.arm("a", time.Second)
			h.arm("b", time.Second)
			h.pass(time.Minute)
			if c.faults > 0 {
				h.inject(faulty.Fault{Mode: faulty.FailBefore, Op: faulty.Get, Times: c.faults})
			}
			if n := h.sweep(); n != 2 {
				t.Errorf("%d fired", n)
			}
			h.wantHistory("a", "18:20:01 at 18:21:00")
		})
	}
}

func manyKeys(n int) (keys []table.Key) {
	for i := range n {
		keys = append(keys, key(fmt.Sprint("many-", i)))
	}
	return keys
}

// TestOfTwoSweepsOfAShardOneStops: every minute's tick starts another sweep of a shard that
// is not yet done. It finds its rows taken, and leaves the shard to the sweep that takes them.
func TestOfTwoSweepsOfAShardOneStops(t *testing.T) {
	h := newHall(t)
	ids := sameShard(t, 2*jobs.PerMessage)
	for _, id := range ids {
		h.arm(id, time.Second)
	}
	h.pass(time.Minute)
	first := true
	h.fire = func(op.Fired) error {
		if first { // the other sweep begins later and is faster
			first = false
			if n, err := h.sw.Sweep(context.Background(), 3, h.time()); n != jobs.PerMessage || err != nil {
				t.Errorf("the other sweep fired %d: %v", n, err)
			}
		}
		return nil
	}
	before := h.store.Stats()
	n, err := h.sw.Sweep(context.Background(), 3, h.time())
	cost := h.store.Stats().Since(before)
	if n != 0 || err != nil || cost.Commits > jobs.PerMessage+3 {
		t.Errorf("the slow sweep fired %d, %d commits: %v", n, cost.Commits, err)
	}
	if d := h.queue.Depth("test-sweep"); d.Ready+d.Waiting != 1 {
		t.Errorf("%+v: only the other sweep goes on", d)
	}
	h.pump()
	for _, id := range ids {
		h.wantHistory(id, "18:20:01 at 18:21:00")
	}
}
