package memqueue

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/queue"
	"guildhall/pkg/queue/queuetest"
)

// fakeClock is a clock that moves only when told to.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestSuite(t *testing.T) {
	queuetest.Run(t, func(*testing.T) queuetest.Subject {
		c := newClock()
		return queuetest.Subject{
			Queue: New(Options{Clock: c.Now}), Advance: c.Advance,
			Visibility: queue.DefaultVisibility, MaxReceives: queue.DefaultMaxReceives,
		}
	})
}

func TestSuiteWithOwnSettings(t *testing.T) {
	queuetest.Run(t, func(*testing.T) queuetest.Subject {
		c := newClock()
		q := New(Options{Clock: c.Now, Settings: map[string]Settings{queuetest.Name: {Visibility: time.Second, MaxReceives: 2}}})
		return queuetest.Subject{Queue: q, Advance: c.Advance, Visibility: time.Second, MaxReceives: 2}
	})
}

func TestNextDueIsTheExactMomentOfTheNextMessage(t *testing.T) {
	c := newClock()
	start := c.Now()
	q := New(Options{Clock: c.Now, Default: Settings{Visibility: time.Minute}})
	if due, ok := q.NextDue(); ok {
		t.Fatalf("an empty queue is due at %v", due)
	}
	must(t, q.Send(t.Context(), "a", queue.Message{ID: "1", Body: []byte("x"), Delay: 30 * time.Second}))
	must(t, q.Send(t.Context(), "b", queue.Message{ID: "2", Body: []byte("x"), Delay: 20 * time.Second}))
	wantDue(t, q, start.Add(20*time.Second))
	c.Advance(20*time.Second - 1)
	wantReceived(t, q, "b")
	c.Advance(1)
	wantReceived(t, q, "b", "2")
	wantDue(t, q, start.Add(30*time.Second))
	c.Advance(10 * time.Second)
	wantReceived(t, q, "a", "1")
	wantDue(t, q, start.Add(80*time.Second))
}

func TestMessagesComeOutInTheOrderOfVisibleSinceAndSending(t *testing.T) {
	c := newClock()
	q := New(Options{Clock: c.Now})
	for i, delay := range []int{5, 0, 5, 1, 0} {
		must(t, q.Send(t.Context(), "a", queue.Message{
			ID: fmt.Sprint(i), Body: []byte("x"), Delay: time.Duration(delay) * time.Second}))
	}
	c.Advance(time.Minute)
	wantReceived(t, q, "a", "1", "4", "3", "0", "2")
}

func TestDepthCountsReadyWaitingAndDead(t *testing.T) {
	c := newClock()
	q := New(Options{Clock: c.Now, Default: Settings{Visibility: time.Minute, MaxReceives: 1}})
	must(t, q.Send(t.Context(), "a", queue.Message{ID: "1", Body: []byte("x")}))
	must(t, q.Send(t.Context(), "a", queue.Message{ID: "2", Body: []byte("x"), Delay: time.Hour / 4}))
	wantDepth(t, q, Depth{Ready: 1, Waiting: 1})
	wantReceived(t, q, "a", "1")
	wantDepth(t, q, Depth{Waiting: 2})
	c.Advance(time.Minute)
	wantDepth(t, q, Depth{Waiting: 1, Dead: 1})
	wantReceived(t, q, "a")
	wantDepth(t, q, Depth{Waiting: 1, Dead: 1})
	if due, _ := q.NextDue(); !due.Equal(c.Now().Add(14 * time.Minute)) {
		t.Errorf("a dead message is still due at %v", due)
	}
}

func TestWakeIsSignalledBySendAndHide(t *testing.T) {
	q := New(Options{Clock: newClock().Now})
	must(t, q.Send(t.Context(), "a", queue.Message{ID: "1", Body: []byte("x")}))
	must(t, q.Send(t.Context(), "a", queue.Message{ID: "2", Body: []byte("x")}))
	<-q.Wake()
	select {
	case <-q.Wake():
		t.Fatal("two sends left two signals")
	default:
	}
	ds, err := q.Receive(t.Context(), "a", 1)
	must(t, err)
	must(t, q.Hide(t.Context(), "a", ds[0].Receipt, 0))
	<-q.Wake()
}

func TestTheQueueKeepsItsOwnCopyOfABody(t *testing.T) {
	q := New(Options{Clock: newClock().Now})
	body := []byte("good")
	must(t, q.Send(t.Context(), "a", queue.Message{ID: "1", Body: body}))
	copy(body, "evil")
	ds, err := q.Receive(t.Context(), "a", 1)
	must(t, err)
	copy(ds[0].Body, "evil")
	must(t, q.Hide(t.Context(), "a", ds[0].Receipt, 0))
	if ds, err = q.Receive(t.Context(), "a", 1); err != nil || string(ds[0].Body) != "good" {
		t.Errorf("the body changed in the queue: %q, %v", ds[0].Body, err)
	}
}

func TestTooManyQueuesAreRefused(t *testing.T) {
	q := New(Options{Clock: newClock().Now})
	for i := range maxQueues {
		must(t, q.Send(t.Context(), fmt.Sprint("q", i), queue.Message{ID: "1", Body: []byte("x")}))
	}
	if err := q.Send(t.Context(), "one-more", queue.Message{ID: "1", Body: []byte("x")}); err == nil {
		t.Error("a queue too many was made")
	}
}

func BenchmarkSendReceiveDelete(b *testing.B) {
	q := New(Options{Clock: newClock().Now})
	m := queue.Message{ID: "1", Body: []byte(`{"shard":3}`)}
	for b.Loop() {
		if err := q.Send(b.Context(), "a", m); err != nil {
			b.Fatal(err)
		}
		ds, err := q.Receive(b.Context(), "a", 1)
		if err != nil || len(ds) != 1 {
			b.Fatal(ds, err)
		}
		if err := q.Delete(b.Context(), "a", ds[0].Receipt); err != nil {
			b.Fatal(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantDue(t *testing.T, q *Queue, want time.Time) {
	t.Helper()
	if due, ok := q.NextDue(); !ok || !due.Equal(want) {
		t.Fatalf("next due %v %v, want %v", due, ok, want)
	}
}

func wantDepth(t *testing.T, q *Queue, want Depth) {
	t.Helper()
	if got := q.Depth("a"); got != want {
		t.Fatalf("depth %+v, want %+v", got, want)
	}
}

func wantReceived(t *testing.T, q *Queue, name string, want ...string) {
	t.Helper()
	ds, err := q.Receive(t.Context(), name, queue.MaxBatch)
	must(t, err)
	var got []string
	for _, d := range ds {
		got = append(got, d.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("received %v, want %v", got, want)
	}
}
