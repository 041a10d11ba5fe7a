package meter

import (
	"context"
	"errors"
	"sync"

	"guildhall/pkg/table"
)

// Tally is what the calls under one context cost. Read it when they have returned.
type Tally struct {
	mu sync.Mutex

	Calls       int // Gets, Queries and Commits: round trips, when nothing goes wrong
	Gets        int
	Queries     int
	Commits     int // refused with ErrConflict included
	ReadUnits   int // capacity units, by AWS's rules
	WriteUnits  int
	RowsRead    int // rows found
	RowsWritten int // rows created, replaced, deleted and added to
	Partitions  int // partitions of which pages were read: the shards of a list, each once

	listed map[string]bool
}

type tallyKey struct{}

// With makes every call of a wrapped store under the returned context count into the Tally.
func With(ctx context.Context) (context.Context, *Tally) {
	t := &Tally{}
	return context.WithValue(ctx, tallyKey{}, t), t
}

func of(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}

// add counts under the lock: an operation may read several shards at once.
func (t *Tally) add(count func(*Tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count(t)
}

// Store is a table.Store that counts. Where the context carries a Tally it reads more of the
// inner store than it was asked for, to know the sizes; elsewhere it costs nothing.
type Store struct{ inner table.Store }

var _ table.Store = (*Store)(nil)

// Wrap makes a counting store.
func Wrap(inner table.Store) *Store { return &Store{inner} }

// Inner is the wrapped store, for what is no part of table.Store.
func (s *Store) Inner() table.Store { return s.inner }

// Get reads and counts.
func (s *Store) Get(ctx context.Context, keys ...table.Key) ([]table.Row, error) {
	rows, err := s.inner.Get(ctx, keys...)
	t := of(ctx)
	if t == nil || err != nil || len(keys) == 0 {
		return rows, err
	}
	units, found := 0, 0
	seen := make(map[table.Key]bool, len(rows))
	for _, r := range rows {
		if seen[r.Key] {
			continue
		}
		seen[r.Key] = true
		units += ReadUnits(ItemBytes(r))
		if r.Found() {
			found++
		}
	}
	t.add(func(t *Tally) {
		t.Calls, t.Gets = t.Calls+1, t.Gets+1
		t.ReadUnits += units
		t.RowsRead += found
	})
	return rows, nil
}

// Query reads and counts. Keys alone cost as much as whole rows.
func (s *Store) Query(ctx context.Context, q table.Query) (table.Page, error) {
	t := of(ctx)
	if t == nil {
		return s.inner.Query(ctx, q)
	}
	whole := q
	whole.KeysOnly = false
	page, err := s.inner.Query(ctx, whole)
	if err != nil {
		return page, err
	}
	bytes, err := s.unseen(ctx, q, page)
	if err != nil {
		return page, err
	}
	for i, r := range page.Rows {
		bytes += ItemBytes(r)
		if q.KeysOnly {
			page.Rows[i].Data, page.Rows[i].Counters = nil, nil
		}
	}
	asked := !empty(q)
	t.add(func(t *Tally) {
		if asked {
			t.Calls++
			t.ReadUnits += ReadUnits(bytes)
		}
		t.Queries++
		if asked && !t.listed[q.PK] {
			if t.listed == nil {
				t.listed = map[string]bool{}
			}
			t.listed[q.PK] = true
			t.Partitions++
		}
		t.RowsRead += len(page.Rows)
	})
	return page, nil
}

// empty tells that nothing can be in the range, so that ddb asks nobody.
func empty(q table.Query) bool {
	low, _, high := q.Span()
	return high != "" && low >= high
}

// unseen is the size of the rows that ddb reads beside the page: the next one, and the one on
// an upper bound, which BETWEEN includes.
func (s *Store) unseen(ctx context.Context, q table.Query, page table.Page) (bytes int, err error) {
	low, _, high := q.Span()
	atBound := low != "" && high != "" && low < high && (q.Reverse || !page.More)
	if atBound {
		rows, err := s.inner.Get(ctx, table.Key{PK: q.PK, SK: high})
		if err != nil {
			return 0, err
		}
		bytes += ItemBytes(rows[0])
		if q.Reverse && !rows[0].Found() && page.More {
			// The place kept for it goes to one more row.
			more, err := s.sizeBehind(ctx, q, page, 2)
			return bytes + more, err
		}
	}
	if page.More {
		more, err := s.sizeBehind(ctx, q, page, 1)
		return bytes + more, err
	}
	return bytes, nil
}

// sizeBehind is the size of the next n rows behind a page.
func (s *Store) sizeBehind(ctx context.Context, q table.Query, page table.Page, n int) (bytes int, err error) {
	q.After, q.Limit, q.KeysOnly = page.Rows[len(page.Rows)-1].SK, n, false
	next, err := s.inner.Query(ctx, q)
	for _, r := range next.Rows {
		bytes += ItemBytes(r)
	}
	return bytes, err
}

// Commit writes and counts.
func (s *Store) Commit(ctx context.Context, tx *table.Tx) error {
	t := of(ctx)
	if t == nil || tx.Validate() != nil {
		return s.inner.Commit(ctx, tx)
	}
	keys := make([]table.Key, len(tx.Writes))
	written := 0
	for i, w := range tx.Writes {
		keys[i] = w.Key
		if w.Kind != table.Check {
			written++
		}
	}
	before, err := s.inner.Get(ctx, keys...)
	if err != nil {
		return err
	}
	err = s.inner.Commit(ctx, tx)
	refused := errors.Is(err, table.ErrConflict)
	if err != nil && !refused {
		return err
	}
	reads, writes := CommitUnits(tx, before, refused)
	t.add(func(t *Tally) {
		t.Calls, t.Commits = t.Calls+1, t.Commits+1
		t.ReadUnits += reads
		t.WriteUnits += writes
		if !refused {
			t.RowsWritten += written
		}
	})
	return err
}
