package op

import (
	"context"
	"sync"
	"time"

	"guildhall/pkg/table"
)

// Waiter is implemented by inputs of reads that may be held until something happens
// (bench.md 2.8).
type Waiter interface {
	// Waits is how long the caller wants to be held, at most.
	Waits() time.Duration
	// Watches is the row whose change ends the hold.
	Watches(account string) table.Key
}

// Emptier is implemented by outputs of such reads: only an empty answer is held.
type Emptier interface{ Empty() bool }

// Limits of held reads.
const (
	MaxWait     = 20 * time.Second
	maxHeld     = 4               // polls held at once for one account
	recheck     = 2 * time.Second // where no signal comes: how often the row is read
	holdReserve = 2 * time.Second // left of a deadline to answer in
)

// Signals wakes held reads of this process when a commit changes what they watch. The zero
// value is ready.
type Signals struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool // by partition
	stopped bool
}

// watch returns a channel that is closed when a partition changes, and a function that
// must be called in the end. ok is false when no more polls are held here.
func (s *Signals) watch(partition string) (changed <-chan struct{}, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || len(s.waiting[partition]) >= maxHeld {
		return nil, nil, false
	}
	if s.waiting == nil {
		s.waiting = map[string]map[chan struct{}]bool{}
	}
	if s.waiting[partition] == nil {
		s.waiting[partition] = map[chan struct{}]bool{}
	}
	ch := make(chan struct{})
	s.waiting[partition][ch] = true
	return ch, func() { s.drop(partition, ch) }, true
}

func (s *Signals) drop(partition string, ch chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting[partition], ch)
	if len(s.waiting[partition]) == 0 {
		delete(s.waiting, partition)
	}
}

// changed wakes whoever watches the partitions of a commit.
func (s *Signals) changed(tx *table.Tx) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return
	}
	for _, w := range tx.Writes {
		s.wake(w.Key.PK)
	}
}

func (s *Signals) wake(partition string) {
	for ch := range s.waiting[partition] {
		close(ch)
	}
	delete(s.waiting, partition)
}

// Stop wakes everybody and holds nobody any more: a draining server answers at once.
func (s *Signals) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for p := range s.waiting {
		s.wake(p)
	}
}

// hold keeps an empty answer back until it is not empty any more or its time is up. again
// makes the answer anew.
func (e *Engine) hold(ctx context.Context, res *Response, again func() (*Response, error)) (*Response, error) {
	wait := min(res.waits, MaxWait)
	if deadline, ok := ctx.Deadline(); ok {
		c, cancel := context.WithDeadline(ctx, deadline.Add(-holdReserve))
		defer cancel()
		ctx = c
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for ctx.Err() == nil {
		wait, done := e.watch(ctx, res.watches)
		if wait == nil {
			return res, nil
		}
		// Look again now that a change cannot be missed any more.
		next, err := again()
		if err != nil || !next.empty {
			done()
			return next, err
		}
		res = next
		changed := wait()
		done()
		if !changed {
			return res, nil
		}
	}
	return res, nil
}

// watch begins to watch a row. wait returns true when it may have changed, false when the
// hold is over; it is nil when no more reads are held here.
func (e *Engine) watch(ctx context.Context, key table.Key) (wait func() bool, done func()) {
	if e.Signals == nil {
		return e.lookOut(ctx, key), func() {}
	}
	changed, done, ok := e.Signals.watch(key.PK)
	if !ok {
		return nil, nil
	}
	return func() bool {
		select {
		case <-changed:
			return !e.Signals.over()
		case <-ctx.Done():
			return false
		}
	}, done
}

func (s *Signals) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// lookOut reads the row every two seconds: on Lambda no signal crosses processes.
func (e *Engine) lookOut(ctx context.Context, key table.Key) func() bool {
	first, err := e.Store.Get(ctx, key)
	if err != nil {
		return nil
	}
	return func() bool {
		tick := time.NewTicker(recheck)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return false
			}
			rows, err := e.Store.Get(ctx, key)
			if err != nil {
				return false
			}
			if rows[0].Version != first[0].Version {
				return true
			}
		}
	}
}
