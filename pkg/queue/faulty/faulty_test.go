package faulty

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"guildhall/pkg/queue"
	"guildhall/pkg/queue/memqueue"
	"guildhall/pkg/queue/queuetest"
)

// clock moves only when told to.
type clock struct{ now time.Time }

func wrapped() (*Queue, *clock) {
	c := &clock{now: time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC)}
	return Wrap(memqueue.New(memqueue.Options{Clock: func() time.Time { return c.now }})), c
}

func TestWithoutFaultsTheSuitePasses(t *testing.T) {
	queuetest.Run(t, func(*testing.T) queuetest.Subject {
		q, c := wrapped()
		return queuetest.Subject{Queue: q, Advance: func(d time.Duration) { c.now = c.now.Add(d) },
			Visibility: queue.DefaultVisibility, MaxReceives: queue.DefaultMaxReceives}
	})
}

func msg(id string) queue.Message { return queue.Message{ID: id, Body: []byte("{}")} }

func inject(t *testing.T, q *Queue, f Fault) {
	t.Helper()
	if err := q.Inject(f); err != nil {
		t.Fatal(err)
	}
}

// count receives all there is and counts it.
func count(t *testing.T, q *Queue) int {
	t.Helper()
	n := 0
	for {
		ds, err := q.Inner().Receive(t.Context(), "jobs", queue.MaxBatch)
		if err != nil {
			t.Fatal(err)
		}
		if len(ds) == 0 {
			return n
		}
		n += len(ds)
	}
}

func TestEachModeDoesToASendWhatItSays(t *testing.T) {
	for mode, want := range map[Mode]struct {
		err  error
		sent int
	}{
		FailBefore: {queue.ErrUnavailable, 0}, FailAfter: {queue.ErrUnavailable, 1}, Throttle: {ErrThrottled, 0},
		Duplicate: {nil, 2}, Drop: {nil, 0}, Conflict: {nil, 1},
	} {
		q, _ := wrapped()
		inject(t, q, Fault{Mode: mode, Op: Send})
		if err := q.Send(t.Context(), "jobs", msg("a")); !errors.Is(err, want.err) {
			t.Errorf("%s: %v, want %v", mode, err, want.err)
		}
		if n := count(t, q); n != want.sent {
			t.Errorf("%s: %d messages, want %d", mode, n, want.sent)
		}
		if struck := q.Fired()[mode]; struck != 1 && mode != Conflict {
			t.Errorf("%s struck %d times", mode, struck)
		}
		if err := q.Send(t.Context(), "jobs", msg("b")); err != nil {
			t.Errorf("%s struck again: %v", mode, err)
		}
	}
}

func TestEachModeDoesToAReceiveWhatItSays(t *testing.T) {
	for mode, want := range map[Mode]struct {
		err       error
		got, left int // received, and receivable afterwards
	}{
		FailBefore: {queue.ErrUnavailable, 0, 1}, FailAfter: {queue.ErrUnavailable, 0, 0}, Throttle: {ErrThrottled, 0, 1},
		Duplicate: {nil, 1, 1}, Drop: {nil, 0, 1}, Conflict: {nil, 1, 0},
	} {
		q, _ := wrapped()
		inject(t, q, Fault{Mode: mode, Op: Receive, Queue: "jobs"})
		if err := q.Send(t.Context(), "jobs", msg("a")); err != nil {
			t.Fatal(err)
		}
		ds, err := q.Receive(t.Context(), "jobs", 10)
		if !errors.Is(err, want.err) || len(ds) != want.got {
			t.Errorf("%s: %d messages, %v; want %d, %v", mode, len(ds), err, want.got, want.err)
		}
		if n := count(t, q); n != want.left {
			t.Errorf("%s: %d messages left, want %d", mode, n, want.left)
		}
	}
}

func TestEachModeDoesToADeletionWhatItSays(t *testing.T) {
	for mode, want := range map[Mode]struct {
		err  error
		left int
	}{
		FailBefore: {queue.ErrUnavailable, 1}, FailAfter: {queue.ErrUnavailable, 0}, Throttle: {ErrThrottled, 1},
		Duplicate: {nil, 0}, Drop: {nil, 1}, Conflict: {nil, 1},
	} {
		q, c := wrapped()
		if err := q.Send(t.Context(), "jobs", msg("a")); err != nil {
			t.Fatal(err)
		}
		ds, err := q.Receive(t.Context(), "jobs", 10)
		if err != nil {
			t.Fatal(err)
		}
		inject(t, q, Fault{Mode: mode, Op: Delete})
		if err := q.Delete(t.Context(), "jobs", ds[0].Receipt); !errors.Is(err, want.err) {
			t.Errorf("%s: %v, want %v", mode, err, want.err)
		}
		c.now = c.now.Add(queue.DefaultVisibility)
		if n := count(t, q); n != want.left {
			t.Errorf("%s: %d messages came back, want %d", mode, n, want.left)
		}
	}
	q, _ := wrapped()
	inject(t, q, Fault{Mode: Conflict})
	if err := q.Hide(t.Context(), "jobs", "r", 0); !errors.Is(err, queue.ErrNotHeld) {
		t.Errorf("a conflict on Hide: %v, want ErrNotHeld", err)
	}
}

func TestAFaultStrikesOnlyWhatItIsAbout(t *testing.T) {
	type key struct{}
	q, _ := wrapped()
	inject(t, q, Fault{Mode: FailBefore, Queue: "other", Times: Forever})
	inject(t, q, Fault{Mode: FailBefore, Times: 2, Match: func(ctx context.Context) bool { return ctx.Value(key{}) != nil }})
	if err := q.Send(t.Context(), "jobs", msg("a")); err != nil {
		t.Errorf("an uninvolved call: %v", err)
	}
	marked := context.WithValue(t.Context(), key{}, true)
	for i, want := range []bool{false, false, true} {
		if err := q.Send(marked, "jobs", msg("a")); (err == nil) != want {
			t.Errorf("marked call %d: %v", i+1, err)
		}
	}
	for range 3 {
		if q.Send(t.Context(), "other", msg("a")) == nil {
			t.Error("a lasting fault ended")
		}
	}
	q.Clear()
	if err := q.Send(t.Context(), "other", msg("a")); err != nil {
		t.Errorf("after Clear: %v", err)
	}
	if q.Inject(Fault{Mode: "explode"}) == nil {
		t.Error("an unknown mode was set")
	}
}

// TestNoRunOfFaultsKeepsAJobFromBeingDone has a sender that hints again at what is not done
// yet, and a worker, over random faults that end.
func TestNoRunOfFaultsKeepsAJobFromBeingDone(t *testing.T) {
	const jobs, rounds = 12, 500
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		q, c := wrapped()
		for range 30 {
			inject(t, q, Fault{Mode: Modes[r.IntN(len(Modes))], Op: []Op{Send, Receive, Delete, ""}[r.IntN(4)], Times: 1 + r.IntN(3)})
		}
		done := map[string]bool{}
		for round := 0; len(done) < jobs; round++ {
			if round > rounds {
				t.Fatalf("seed %d (set the first argument of NewPCG): only %d of %d jobs were done", seed, len(done), jobs)
			}
			for i := range jobs {
				if id := fmt.Sprint("job", i); !done[id] {
					q.Send(t.Context(), "jobs", msg(id))
				}
			}
			queue.Work(t.Context(), q, "jobs", 1+r.IntN(queue.MaxBatch), func(_ context.Context, d queue.Delivery) error {
				if r.IntN(4) == 0 {
					return errors.New("try later")
				}
				done[d.ID] = true
				return nil
			})
			c.now = c.now.Add(time.Duration(r.IntN(120)) * time.Second)
		}
	}
}
