// Package mem is the table in memory: what tests, simulations and `serve --memory` run on. It
// keeps every promise of pkg/table but the durable one, enforces the same limits, and
// counts its calls.
package mem

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"guildhall/pkg/table"
)

// Store is a table.Store, table.Lister and table.Purger. The zero value is an empty one.
type Store struct {
	mu     sync.RWMutex
	rows   order // by (PK, SK)
	due    order // the rows that expire, by (dueKey, PK NUL SK)
	counts counts
}

// New returns an empty store.
func New() *Store { return &Store{} }

// Clone returns a store of its own with the same rows, and counts that begin at zero. It is
// cheap: stored rows are never changed, so both stores share them.
func (s *Store) Clone() *Store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return &Store{rows: s.rows.clone(), due: s.due.clone()}
}

// Get reads rows in the order asked, all of one moment.
func (s *Store) Get(ctx context.Context, keys ...table.Key) ([]table.Row, error) {
	s.counts.gets.Add(1)
	if err := table.ValidKeys(keys); err != nil {
		return nil, err
	}
	if err := table.Alive(ctx); err != nil {
		return nil, err
	}
	s.counts.rowsRead.Add(int64(len(keys)))
	out := make([]table.Row, len(keys))
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, k := range keys {
		out[i] = answer(k, s.rows.get(k.PK, k.SK), false)
	}
	return out, nil
}

// Query reads one page of a partition.
func (s *Store) Query(ctx context.Context, q table.Query) (table.Page, error) {
	s.counts.queries.Add(1)
	if err := q.Validate(); err != nil {
		return table.Page{}, err
	}
	if err := table.Alive(ctx); err != nil {
		return table.Page{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	page := s.page(q)
	s.counts.rowsRead.Add(int64(len(page.Rows)))
	return page, nil
}

func (s *Store) page(q table.Query) table.Page {
	var page table.Page
	size, limit := 0, q.PageSize()
	s.walk(q, func(e *entry) bool {
		if len(page.Rows) == limit || size >= table.MaxPage {
			page.More = true
			return false
		}
		r := answer(table.Key{PK: e.pk, SK: e.sk}, e.row, q.KeysOnly)
		page.Rows = append(page.Rows, r)
		size += r.Bytes()
		return true
	})
	return page
}

// walk calls visit for each entry of the query, cursor included, until it says no.
func (s *Store) walk(q table.Query, visit func(*entry) bool) {
	low, open, high := q.Span()
	inside := func(e *entry) bool {
		return e != nil && e.pk == q.PK && (e.sk > low || !open && e.sk == low) && (high == "" || e.sk < high)
	}
	if !q.Reverse {
		p := s.rows.seek(q.PK, low)
		if e := s.rows.at(p); open && e != nil && e.pk == q.PK && e.sk == low {
			p = s.rows.next(p)
		}
		for e := s.rows.at(p); inside(e) && visit(e); e = s.rows.at(p) {
			p = s.rows.next(p)
		}
		return
	}
	var p place
	if high == "" {
		p = s.rows.seek(q.PK+"\x00", "") // no key part holds a NUL: this is behind the partition
	} else {
		p = s.rows.seek(q.PK, high)
	}
	for {
		var ok bool
		if p, ok = s.rows.prev(p); !ok || !inside(s.rows.at(p)) || !visit(s.rows.at(p)) {
			return
		}
	}
}

// Commit applies all of tx or nothing.
func (s *Store) Commit(ctx context.Context, tx *table.Tx) error {
	s.counts.commits.Add(1)
	if err := tx.Validate(); err != nil {
		return err
	}
	if err := table.Alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.applied(tx) {
		return nil
	}
	for _, w := range tx.Writes {
		if err := s.allowed(w); err != nil {
			s.counts.conflicts.Add(1)
			return err
		}
	}
	for _, w := range tx.Writes {
		s.apply(w, tx.ID)
	}
	s.counts.rowsWritten.Add(int64(len(tx.Writes)))
	return nil
}

// applied tells whether a marked row carries the commit's own id.
func (s *Store) applied(tx *table.Tx) bool {
	for _, w := range tx.Writes {
		if w.Marks() && version(s.rows.get(w.Key.PK, w.Key.SK)) == tx.ID {
			return true
		}
	}
	return false
}

// allowed checks the precondition of one write.
func (s *Store) allowed(w table.Write) error {
	old := s.rows.get(w.Key.PK, w.Key.SK)
	holds := false
	switch w.Kind {
	case table.Create:
		holds = old == nil
	case table.Replace, table.Delete, table.Check:
		holds = version(old) == w.Version
	case table.Add:
		holds = old == nil || old.version == table.CounterVersion
	}
	if !holds {
		return fmt.Errorf("%w: %v", table.ErrConflict, w.Key)
	}
	if w.Kind == table.Add && old != nil {
		for field, by := range w.Adds {
			if sum := old.counters[field] + by; sum > table.MaxCounter || sum < -table.MaxCounter {
				return fmt.Errorf("%w: counter %s of %v", table.ErrTooLarge, field, w.Key)
			}
		}
	}
	return nil
}

func (s *Store) apply(w table.Write, id string) {
	old := s.rows.get(w.Key.PK, w.Key.SK)
	var fresh *row
	switch w.Kind {
	case table.Check:
		return
	case table.Create, table.Replace:
		fresh = &row{version: id, data: bytes.Clone(w.Data), expires: table.ToMillis(w.Expires)}
	case table.Add:
		fresh = &row{version: table.CounterVersion, counters: make(map[string]int64), expires: table.ToMillis(w.Expires)}
		if old != nil {
			fresh.counters = maps.Clone(old.counters)
			if fresh.expires == 0 {
				fresh.expires = old.expires
			}
		}
		for field, by := range w.Adds {
			fresh.counters[field] += by
		}
	}
	s.store(w.Key, old, fresh)
}

// store puts fresh in the place of old (nil: none) and keeps the order of expiry in step.
func (s *Store) store(k table.Key, old, fresh *row) {
	position := k.PK + "\x00" + k.SK
	if old != nil && old.expires != 0 {
		s.due.drop(dueKey(old.expires), position)
	}
	if fresh == nil {
		s.rows.drop(k.PK, k.SK)
		return
	}
	s.rows.put(strings.Clone(k.PK), strings.Clone(k.SK), fresh)
	if fresh.expires != 0 {
		s.due.put(dueKey(fresh.expires), position, nil)
	}
}

// List returns rows in the order of (PK, SK). A position is the key of the last row, PK and
// SK with a NUL between.
func (s *Store) List(ctx context.Context, after string, limit int) ([]table.Row, string, error) {
	s.counts.lists.Add(1)
	pk, sk, err := table.ParsePosition(after)
	if err != nil {
		return nil, "", err
	}
	if err := table.Alive(ctx); err != nil {
		return nil, "", err
	}
	limit = table.Query{Limit: limit}.PageSize()
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []table.Row
	p := s.rows.seek(pk, sk)
	if e := s.rows.at(p); e != nil && e.pk == pk && e.sk == sk {
		p = s.rows.next(p)
	}
	size := 0
	for e := s.rows.at(p); e != nil; e = s.rows.at(p) {
		if len(out) == limit || size >= table.MaxPage {
			s.counts.rowsRead.Add(int64(len(out)))
			return out, table.Position(out[len(out)-1].Key), nil
		}
		r := answer(table.Key{PK: e.pk, SK: e.sk}, e.row, false)
		out, size = append(out, r), size+r.Bytes()
		p = s.rows.next(p)
	}
	s.counts.rowsRead.Add(int64(len(out)))
	return out, "", nil
}

// Purge removes up to limit rows that expired before now, the oldest first.
func (s *Store) Purge(ctx context.Context, now time.Time, limit int) (int, error) {
	if err := table.Alive(ctx); err != nil {
		return 0, err
	}
	limit = table.Query{Limit: limit}.PageSize()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for ; n < limit; n++ {
		e := s.due.at(place{})
		if e == nil || e.pk >= dueKey(now.UnixMilli()) {
			break
		}
		pk, sk, _ := strings.Cut(e.sk, "\x00")
		s.store(table.Key{PK: pk, SK: sk}, s.rows.get(pk, sk), nil)
	}
	return n, nil
}
