// Package faulty wraps a queue and makes its calls go wrong on request: before their effect
// or after it, by repetition, loss or throttling. A queue message is only a hint, so
// whatever happens here may change nothing but timing. Tests, simulations and the local
// controls use it; with no fault set it passes the suite of the queue it wraps.
package faulty

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"guildhall/pkg/queue"
)

// Mode is what a fault does to a call.
type Mode string

// The modes, named as the local controls name them (contract/surface.md 2).
const (
	FailBefore Mode = "fail_before" // ErrUnavailable; nothing happened
	FailAfter  Mode = "fail_after"  // the call happened; the answer is ErrUnavailable all the same
	Conflict   Mode = "conflict"    // Delete and Hide find the receipt void; other calls are left alone
	Throttle   Mode = "throttle"    // ErrUnavailable and ErrThrottled; nothing happened
	Duplicate  Mode = "duplicate"   // Send sends twice, Receive hands out and gives back at once; others happen twice
	Drop       Mode = "drop"        // nothing happens and no error says so; Receive finds nothing
)

// Modes lists them all.
var Modes = []Mode{FailBefore, FailAfter, Conflict, Throttle, Duplicate, Drop}

// Op is a call of the port.
type Op string

// The calls.
const (
	Send    Op = "send"
	Receive Op = "receive"
	Delete  Op = "delete"
	Hide    Op = "hide"
)

// Fault is what goes wrong and when: the next Times calls that satisfy all of Op, Queue and
// Match that are set.
type Fault struct {
	Mode  Mode
	Op    Op     // this call only; empty: any
	Queue string // this queue only; empty: any
	Match func(ctx context.Context) bool
	Times int // 0: one; Forever: every one
}

// Forever is the Times of a fault that stays until Clear.
const Forever = -1

// ErrThrottled comes with ErrUnavailable where the fault was a throttle.
var ErrThrottled = errors.New("faulty: throttled")

// errLost tells the failures of this package from those of the queue behind it.
var errLost = errors.New("faulty: the answer was lost")

// Queue is a queue.Queue in front of another. It is safe for use by many goroutines.
type Queue struct {
	inner queue.Queue

	mu     sync.Mutex
	faults []*Fault
	fired  map[Mode]int
}

var _ queue.Queue = (*Queue)(nil)

// Wrap puts a queue without faults in front of inner.
func Wrap(inner queue.Queue) *Queue { return &Queue{inner: inner, fired: map[Mode]int{}} }

// Inner is the queue behind, for a look past the faults.
func (q *Queue) Inner() queue.Queue { return q.inner }

// Inject sets a fault. Several may be set; a call meets the first one set that is about it
// and has strikes left, and no other.
func (q *Queue) Inject(f Fault) error {
	if !slices.Contains(Modes, f.Mode) {
		return fmt.Errorf("faulty: unknown mode %q", f.Mode)
	}
	if f.Times == 0 {
		f.Times = 1
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.faults = append(q.faults, &f)
	return nil
}

// Clear removes every fault. The counts stay.
func (q *Queue) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.faults = nil
}

// Fired counts the calls that faults of each mode have struck.
func (q *Queue) Fired() map[Mode]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.fired)
}

func (f *Fault) meets(ctx context.Context, op Op, name string) bool {
	if f.Mode == Conflict && op != Delete && op != Hide {
		return false
	}
	return (f.Op == "" || f.Op == op) && (f.Queue == "" || f.Queue == name) && (f.Match == nil || f.Match(ctx))
}

// strike takes the mode this call meets; empty: none.
func (q *Queue) strike(ctx context.Context, op Op, name string) Mode {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, f := range q.faults {
		if !f.meets(ctx, op, name) {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				q.faults = slices.Delete(q.faults, i, i+1)
			}
		}
		q.fired[f.Mode]++
		return f.Mode
	}
	return ""
}

// change runs a call that only changes something, as the mode wants.
func (q *Queue) change(mode Mode, do func() error) error {
	switch mode {
	case FailBefore:
		return fmt.Errorf("%w: %w", queue.ErrUnavailable, errLost)
	case Throttle:
		return fmt.Errorf("%w: %w", queue.ErrUnavailable, ErrThrottled)
	case FailAfter:
		if err := do(); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", queue.ErrUnavailable, errLost)
	case Duplicate:
		if err := do(); err != nil {
			return err
		}
	case Drop:
		return nil
	}
	return do()
}

// Send implements queue.Queue. A call the port refuses meets no fault.
func (q *Queue) Send(ctx context.Context, name string, msgs ...queue.Message) error {
	if err := queue.ValidSend(name, msgs); err != nil {
		return err
	}
	return q.change(q.strike(ctx, Send, name), func() error { return q.inner.Send(ctx, name, msgs...) })
}

// Receive implements queue.Queue.
func (q *Queue) Receive(ctx context.Context, name string, max int) ([]queue.Delivery, error) {
	if err := queue.ValidReceive(name, max); err != nil {
		return nil, err
	}
	mode := q.strike(ctx, Receive, name)
	if mode == Duplicate {
		return q.twice(ctx, name, max)
	}
	var out []queue.Delivery
	err := q.change(mode, func() (err error) {
		out, err = q.inner.Receive(ctx, name, max)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// twice hands messages out and gives them back, so that another receiver has them too.
func (q *Queue) twice(ctx context.Context, name string, max int) ([]queue.Delivery, error) {
	out, err := q.inner.Receive(ctx, name, max)
	if err != nil {
		return nil, err
	}
	for _, d := range out {
		if err := q.inner.Hide(ctx, name, d.Receipt, 0); err != nil && !errors.Is(err, queue.ErrNotHeld) {
			return nil, err
		}
	}
	return out, nil
}

// Delete implements queue.Queue.
func (q *Queue) Delete(ctx context.Context, name string, receipts ...string) error {
	if err := queue.ValidDelete(name, receipts); err != nil {
		return err
	}
	mode := q.strike(ctx, Delete, name)
	if mode == Conflict {
		return nil // a void receipt is passed over
	}
	return q.change(mode, func() error { return q.inner.Delete(ctx, name, receipts...) })
}

// Hide implements queue.Queue.
func (q *Queue) Hide(ctx context.Context, name, receipt string, d time.Duration) error {
	if err := queue.ValidHide(name, d); err != nil {
		return err
	}
	mode := q.strike(ctx, Hide, name)
	if mode == Conflict {
		return fmt.Errorf("%w: %w", queue.ErrNotHeld, errLost)
	}
	return q.change(mode, func() error { return q.inner.Hide(ctx, name, receipt, d) })
}
