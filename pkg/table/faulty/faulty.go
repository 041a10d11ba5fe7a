// Package faulty wraps a store and makes its calls go wrong on request: before their effect
// or after it, by conflict, throttle, delay, repetition or loss. With no fault set it passes
// the suite of the store it wraps. Tests, simulations and the local controls use it.
package faulty

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"guildhall/pkg/table"
)

// ErrThrottled comes with ErrUnavailable where the fault was a throttle.
var ErrThrottled = errors.New("faulty: throttled")

// errLost tells the failures of this package from those of the store behind it.
var errLost = errors.New("faulty: the answer was lost")

// Store is a table.Store, table.Lister and table.Purger in front of another.
type Store struct {
	inner table.Store

	mu    sync.Mutex
	rules []*Rule
	fired map[Mode]int
}

// Rule is a fault that was set, and how far it has come.
type Rule struct {
	store *Store
	fault Fault
	skip  int
	left  int
	fired int
}

// Wrap puts a store without faults in front of inner.
func Wrap(inner table.Store) *Store {
	return &Store{inner: inner, fired: make(map[Mode]int)}
}

// Inner is the store behind, for a look past the faults.
func (s *Store) Inner() table.Store { return s.inner }

// Inject sets a fault. Several may be set; a call meets the first one set that is about it
// and has strikes left, and no other. An unknown mode, or a Delay without a Hook, is refused.
func (s *Store) Inject(f Fault) (*Rule, error) {
	known := false
	for _, m := range Modes {
		known = known || m == f.Mode
	}
	if !known {
		return nil, fmt.Errorf("faulty: unknown mode %q", f.Mode)
	}
	if f.Mode == Delay && f.Hook == nil {
		return nil, errors.New("faulty: a delay needs a hook")
	}
	r := &Rule{store: s, fault: f, skip: f.Skip, left: f.Times}
	if f.Times == 0 {
		r.left = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
	return r, nil
}

// Clear removes every fault. The counts stay.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Fired counts the calls that faults of each mode have struck.
func (s *Store) Fired() map[Mode]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.fired)
}

// Pending is the number of faults that can still strike.
func (s *Store) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rules)
}

// Fired counts the calls this fault has struck.
func (r *Rule) Fired() int {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	return r.fired
}

// strike takes the fault this call meets, if any. Match may look at the store, so it runs
// outside the lock, and the rule is looked at again inside.
func (s *Store) strike(ctx context.Context, c Call) (Fault, bool) {
	s.mu.Lock()
	rules := append([]*Rule(nil), s.rules...)
	s.mu.Unlock()
	for _, r := range rules {
		if !r.fault.meets(ctx, c) {
			continue
		}
		if s.take(r) {
			return r.fault, true
		}
	}
	return Fault{}, false
}

// take counts a call that meets the rule; true when the fault strikes it.
func (s *Store) take(r *Rule) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.left == 0:
		return false
	case r.skip > 0:
		r.skip--
		return false
	case r.left > 0:
		r.left--
	}
	r.fired++
	s.fired[r.fault.Mode]++
	if r.left == 0 {
		s.rules = without(s.rules, r)
	}
	return true
}

func without(rules []*Rule, spent *Rule) []*Rule {
	var out []*Rule
	for _, r := range rules {
		if r != spent {
			out = append(out, r)
		}
	}
	return out
}

// call runs do as the fault it meets would have it.
func (s *Store) call(ctx context.Context, c Call, do func() error) error {
	f, struck := s.strike(ctx, c)
	if !struck {
		return do()
	}
	switch f.Mode {
	case FailBefore:
		return fmt.Errorf("%w: %w before the %s", table.ErrUnavailable, errLost, c.Op)
	case FailAfter:
		if err := do(); errors.Is(err, table.ErrInvalid) || errors.Is(err, table.ErrTooLarge) {
			return err // refused on this side: it never went to where answers get lost
		}
		return fmt.Errorf("%w: %w after the %s", table.ErrUnavailable, errLost, c.Op)
	case Conflict:
		return fmt.Errorf("%w: faulty", table.ErrConflict)
	case Throttle:
		return fmt.Errorf("%w: %w", table.ErrUnavailable, ErrThrottled)
	case Delay:
		if err := f.Hook(ctx); err != nil {
			return fmt.Errorf("%w: %w", table.ErrUnavailable, err)
		}
		return do()
	case Duplicate:
		if err := do(); err != nil {
			return err
		}
		return do()
	}
	// Drop: what a caller sees whose patience ends, without the wait.
	return fmt.Errorf("%w: %w: %w", table.ErrUnavailable, errLost, context.DeadlineExceeded)
}

// Get reads through to the store.
func (s *Store) Get(ctx context.Context, keys ...table.Key) (rows []table.Row, err error) {
	err = s.call(ctx, Call{Op: Get, Keys: keys}, func() (err error) {
		rows, err = s.inner.Get(ctx, keys...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Query reads through to the store.
func (s *Store) Query(ctx context.Context, q table.Query) (page table.Page, err error) {
	err = s.call(ctx, Call{Op: Query, Query: q}, func() (err error) {
		page, err = s.inner.Query(ctx, q)
		return err
	})
	if err != nil {
		return table.Page{}, err
	}
	return page, nil
}

// Commit writes through to the store.
func (s *Store) Commit(ctx context.Context, tx *table.Tx) error {
	keys := make([]table.Key, len(tx.Writes))
	for i, w := range tx.Writes {
		keys[i] = w.Key
	}
	return s.call(ctx, Call{Op: Commit, Keys: keys, Tx: tx}, func() error { return s.inner.Commit(ctx, tx) })
}

// List lists the store, or fails with ErrInvalid where it lists nothing.
func (s *Store) List(ctx context.Context, after string, limit int) (rows []table.Row, next string, err error) {
	l, ok := s.inner.(table.Lister)
	if !ok {
		return nil, "", fmt.Errorf("%w: the store does not list", table.ErrInvalid)
	}
	err = s.call(ctx, Call{Op: List}, func() (err error) {
		rows, next, err = l.List(ctx, after, limit)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return rows, next, nil
}

// Purge purges the store, or nothing where it does not purge.
func (s *Store) Purge(ctx context.Context, now time.Time, limit int) (n int, err error) {
	p, ok := s.inner.(table.Purger)
	if !ok {
		return 0, nil
	}
	err = s.call(ctx, Call{Op: Purge}, func() (err error) {
		n, err = p.Purge(ctx, now, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
