// Package memqueue is the queue of a single process. It keeps nothing across a restart: the
// table is the truth and the next tick finds what a lost message would have told.
//
// It reads time only through the clock it was made with, so that simulated time works:
// NextDue says when the next message becomes visible, and messages come out in the order of
// (visible since, sent), so that a run replays exactly. A real-time runner waits on Wake.
package memqueue

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"guildhall/pkg/queue"
)

const (
	maxQueues   = 64      // named queues of one process, dead letter queues included
	maxMessages = 200_000 // messages of one queue; a Send beyond it fails and its hint is lost
)

// Settings are those of one named queue; zero fields take the port's defaults.
type Settings struct {
	Visibility  time.Duration // how long a received message stays hidden
	MaxReceives int           // receives before a message is dead
}

// Options configure a Queue.
type Options struct {
	Clock    func() time.Time    // required
	Default  Settings            // of queues not named in Settings
	Settings map[string]Settings // by queue name
}

// Queue is the in-process queue. It is safe for use by many goroutines.
type Queue struct {
	opts   Options
	wake   chan struct{}
	mu     sync.Mutex
	queues map[string]*lane
	seq    uint64 // of the last message, over all queues
}

var _ queue.Queue = (*Queue)(nil)

// New makes an empty queue. Options.Clock must be set.
func New(o Options) *Queue {
	return &Queue{opts: o, wake: make(chan struct{}, 1), queues: map[string]*lane{}}
}

// Send implements queue.Queue.
func (q *Queue) Send(ctx context.Context, name string, msgs ...queue.Message) error {
	if err := queue.ValidSend(name, msgs); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now := q.opts.Clock()
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.lane(name)
	if err != nil {
		return err
	}
	if len(l.byDue)+len(msgs) > maxMessages {
		return fmt.Errorf("%w: %s holds %d messages", queue.ErrUnavailable, name, len(l.byDue))
	}
	for _, m := range msgs {
		q.seq++
		due := now.Add(time.Duration(m.DelaySeconds()) * time.Second)
		heap.Push(&l.byDue, &item{id: m.ID, body: slices.Clone(m.Body), sentAt: now, due: due, seq: q.seq})
	}
	q.signal()
	return nil
}

// Receive implements queue.Queue.
func (q *Queue) Receive(ctx context.Context, name string, max int) ([]queue.Delivery, error) {
	if err := queue.ValidReceive(name, max); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := q.opts.Clock()
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.lane(name)
	if err != nil {
		return nil, err
	}
	var out []queue.Delivery
	for len(out) < max && len(l.byDue) > 0 && !l.byDue[0].due.After(now) {
		if !l.dead(l.byDue[0]) {
			out = append(out, l.take(name, now))
		} else if err := q.bury(name, l); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Delete implements queue.Queue.
func (q *Queue) Delete(ctx context.Context, name string, receipts ...string) error {
	if err := queue.ValidDelete(name, receipts); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.lane(name)
	if err != nil {
		return err
	}
	for _, r := range receipts {
		if it := l.held[r]; it != nil {
			delete(l.held, r)
			heap.Remove(&l.byDue, it.index)
		}
	}
	return nil
}

// Hide implements queue.Queue.
func (q *Queue) Hide(ctx context.Context, name, receipt string, d time.Duration) error {
	if err := queue.ValidHide(name, d); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now := q.opts.Clock()
	q.mu.Lock()
	defer q.mu.Unlock()
	l, err := q.lane(name)
	if err != nil {
		return err
	}
	it := l.held[receipt]
	if it == nil || !it.due.After(now) {
		return fmt.Errorf("%w: %s", queue.ErrNotHeld, receipt)
	}
	it.due = now.Add(d)
	heap.Fix(&l.byDue, it.index)
	q.signal()
	return nil
}

// Wake gets a value after messages were sent or hidden anew: a real-time runner waits for
// it, or for NextDue, whichever is first. Signals of several sends may be one.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// NextDue is the earliest time at which a message of a queue other than the dead letter
// queues is or becomes visible; false when there is none.
func (q *Queue) NextDue() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var next time.Time
	found := false
	for name, l := range q.queues {
		if queue.IsDeadName(name) || len(l.byDue) == 0 {
			continue
		}
		if due := l.byDue[0].due; !found || due.Before(next) {
			next, found = due, true
		}
	}
	return next, found
}

// Depth counts the messages of the named queue: Ready are visible now, Waiting are delayed
// or held by a receiver, Dead are in its dead letter queue.
type Depth struct{ Ready, Waiting, Dead int }

// Depth counts the messages of the named queue at the present time.
func (q *Queue) Depth(name string) Depth {
	now := q.opts.Clock()
	q.mu.Lock()
	defer q.mu.Unlock()
	var d Depth
	if l := q.queues[name]; l != nil {
		for _, it := range l.byDue {
			switch {
			case it.due.After(now):
				d.Waiting++
			case l.dead(it):
				d.Dead++
			default:
				d.Ready++
			}
		}
	}
	if l := q.queues[queue.DeadName(name)]; l != nil && !queue.IsDeadName(name) {
		d.Dead += len(l.byDue)
	}
	return d
}

// lane finds or makes the named queue; q.mu is held.
func (q *Queue) lane(name string) (*lane, error) {
	if l := q.queues[name]; l != nil {
		return l, nil
	}
	if len(q.queues) >= maxQueues {
		return nil, fmt.Errorf("%w: more than %d queues", queue.ErrInvalid, maxQueues)
	}
	l := newLane(name, q.opts)
	q.queues[name] = l
	return l, nil
}

// bury moves the first message of the lane to its dead letter queue, visible there at once.
func (q *Queue) bury(name string, l *lane) error {
	grave, err := q.lane(queue.DeadName(name))
	if err != nil {
		return err
	}
	it := heap.Pop(&l.byDue).(*item)
	delete(l.held, it.receipt)
	heap.Push(&grave.byDue, &item{id: it.id, body: it.body, sentAt: it.sentAt, due: it.due, seq: it.seq})
	return nil
}
