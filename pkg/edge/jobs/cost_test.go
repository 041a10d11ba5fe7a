package jobs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/meter"
)

// sweepCost is what one sweep of all shards costs.
type sweepCost struct{ calls, readUnits, writeUnits, rows int }

// idleHall is an exchange in which n timers are armed for later and dueTimers for now.
type idleHall struct {
	t  testing.TB
	x  *optest.Exchange
	sw *jobs.Sweeper
}

// dueTimers fall due in every measured sweep.
const dueTimers = 7

func newIdleHall(t testing.TB, idle int) *idleHall {
	x := optest.New(t, optest.WithStore(func(s table.Store) table.Store { return meter.Wrap(s) }))
	lapse := op.TimerKind{Context: "test", Kind: "lapse", Fire: func(c *op.Call, f op.Fired) error {
		if err := c.Fetch(key(f.Subject)); err != nil {
			return err
		}
		c.Put(key(f.Subject), subject{})
		return nil
	}}
	h := &idleHall{t: t, x: x, sw: &jobs.Sweeper{Engine: x.Engine, Context: "test", Timers: []op.TimerKind{lapse}}}
	for n := 0; n < idle; n += table.MaxTxRows {
		h.idle(n, min(idle-n, table.MaxTxRows))
	}
	return h
}

// idle arms count timers from an hour on, one a second.
func (h *idleHall) idle(from, count int) {
	tx := &table.Tx{ID: fmt.Sprint("idle-", from)}
	for i := from; i < from+count; i++ {
		due := h.x.Now().Add(time.Hour + time.Duration(i)*time.Second)
		tx.Writes = append(tx.Writes, table.Write{Kind: table.Create, Key: clock.Key("test", "lapse", fmt.Sprint("idle-", i), due),
			Data: []byte(`{"kind":"lapse"}`)})
	}
	if err := h.x.Store.Commit(context.Background(), tx); err != nil {
		h.t.Fatal(err)
	}
}

// sweep arms the timers that are due and measures the sweep that fires them.
func (h *idleHall) sweep() sweepCost {
	h.x.Run("test", func(c *op.Call) error {
		for i := range dueTimers {
			c.Arm("lapse", fmt.Sprint("due-", i), c.Now)
		}
		return nil
	})
	ctx, cost := meter.With(context.Background())
	n, err := h.sw.SweepAll(ctx, h.x.Now())
	if err != nil || n != dueTimers {
		h.t.Fatalf("%d timers fired, want %d: %v", n, dueTimers, err)
	}
	return sweepCost{cost.Calls, cost.ReadUnits, cost.WriteUnits, cost.RowsRead}
}

func TestASweepCostsTheSameHoweverManyClocksAreIdle(t *testing.T) {
	want := newIdleHall(t, 0).sweep()
	if want.calls < clock.Shards || want.readUnits == 0 || want.writeUnits == 0 {
		t.Fatalf("nothing was measured: %+v", want)
	}
	for _, idle := range []int{1000, 30_000} {
		if got := newIdleHall(t, idle).sweep(); got != want {
			t.Errorf("%d idle clocks: %+v, without them %+v", idle, got, want)
		}
	}
}

// millionIdle is the number of idle clocks the budget speaks of.
const millionIdle = 1_000_000

// BenchmarkSweepWithAMillionIdleClocks reports the capacity units of a sweep over those of a
// sweep beside no idle clock (budget 1.01), and the time of both.
func BenchmarkSweepWithAMillionIdleClocks(b *testing.B) {
	none, many := newIdleHall(b, 0), newIdleHall(b, millionIdle)
	var alone, beside time.Duration
	var a, m sweepCost
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		a = none.sweep()
		alone += time.Since(start)
		start = time.Now()
		m = many.sweep()
		beside += time.Since(start)
	}
	b.ReportMetric(float64(m.readUnits+m.writeUnits)/float64(a.readUnits+a.writeUnits), "x-units")
	b.ReportMetric(float64(m.calls)/float64(a.calls), "x-calls")
	b.ReportMetric(float64(beside)/float64(alone), "x-time")
}
