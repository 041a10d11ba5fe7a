package jobs

import (
	"context"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of a look for the next due row of a shard.
const (
	duePage  = 8    // rows of one read; the first is nearly always the answer
	maxLooks = 1000 // reads of one shard
)

// NextDue is the time at which the next row of any shard can be fired; it lies in the past
// when something is due already. ok is false when nothing waits, or the store did not
// answer. Rows of unknown kinds never count, and rows that failed or are held count from
// when they are tried again: a runner that sweeps at the times it is told never spins.
func (s *Sweeper) NextDue(ctx context.Context) (next time.Time, ok bool) {
	for shard := range clock.Shards {
		due, found, err := s.nextOf(ctx, shard)
		if err != nil {
			return time.Time{}, false
		}
		if found && (!ok || due.Before(next)) {
			next, ok = due, true
		}
	}
	return next, ok
}

func (s *Sweeper) nextOf(ctx context.Context, shard int) (next time.Time, ok bool, err error) {
	after, blocked := "", map[string]time.Time{}
	for range maxLooks {
		p, err := s.Engine.Store.Query(ctx, table.Query{PK: clock.Partition(s.Context, shard), After: after, Limit: duePage})
		if err != nil {
			return next, ok, err
		}
		for _, row := range p.Rows {
			due, err := dueOf(row.SK)
			if err == nil && ok && !due.Before(next) {
				return next, ok, nil
			}
			after = row.SK
			var e entry
			if err != nil || op.Decode(row.Data, &e) != nil || !s.knows(e.Kind) {
				continue
			}
			if t := s.ready(row.Key, e, due, blocked); !ok || t.Before(next) {
				next, ok = t, true
			}
		}
		if !p.More {
			break
		}
	}
	return next, ok, nil
}

// ready is when a row can be fired: when due, not held, not failed, and behind no failed
// row of its subject.
func (s *Sweeper) ready(key table.Key, e entry, due time.Time, blocked map[string]time.Time) time.Time {
	s.mu.Lock()
	again, failed := s.stuck[key]
	s.mu.Unlock()
	if failed && again.After(blocked[e.Subject]) {
		blocked[e.Subject] = again
	}
	return latest(due, e.Held, blocked[e.Subject])
}

func latest(times ...time.Time) (t time.Time) {
	for _, u := range times {
		if u.After(t) {
			t = u
		}
	}
	return t
}
