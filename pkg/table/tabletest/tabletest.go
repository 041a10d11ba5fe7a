// Package tabletest is the suite every store of the table passes: mem, local, ddb on an
// emulator, and a faulty wrapper with no fault set. Each case is one promise of
// pkg/table, checked through the port alone.
//
// A store under test starts empty. All cases share it; each works in partitions of its own,
// so the suite also runs where making a table takes long.
package tabletest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"guildhall/pkg/table"
)

// Case is one named promise.
type Case struct {
	Name string
	Run  func(t *testing.T, s table.Store)
}

// Run opens one store and checks every case on it.
func Run(t *testing.T, open func(t *testing.T) table.Store) {
	s := open(t)
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, s) })
	}
}

// Cases lists the whole suite, for callers that must name the cases a given emulator is
// known to get wrong.
func Cases() []Case {
	var all []Case
	for _, group := range [][]scene{
		lists(), // first, while the store is small
		preconditions(), wholes(), invalids(), limits(), queries(), walks(), pages(),
		values(), repeats(), races(), contexts(),
	} {
		for _, s := range group {
			all = append(all, Case{s.name, func(t *testing.T, store table.Store) {
				s.play(&stage{T: t, store: store, name: s.name})
			}})
		}
	}
	return all
}

// scene is a case before it knows its store.
type scene struct {
	name string
	play func(*stage)
}

// stage is what a case works with: the store, partitions and commit ids of its own.
type stage struct {
	*testing.T
	store table.Store
	name  string
	ids   atomic.Int64
}

// key names a row in a partition of this case alone.
func (s *stage) key(pk, sk string) table.Key { return table.Key{PK: s.name + "/" + pk, SK: sk} }

// tx makes a commit with an id never used before.
func (s *stage) tx(writes ...table.Write) *table.Tx {
	return &table.Tx{ID: fmt.Sprintf("%s#%d", s.name, s.ids.Add(1)), Writes: writes}
}

func create(k table.Key, data string) table.Write {
	return table.Write{Kind: table.Create, Key: k, Data: []byte(data)}
}

func replace(k table.Key, version, data string) table.Write {
	return table.Write{Kind: table.Replace, Key: k, Version: version, Data: []byte(data)}
}

func remove(k table.Key, version string) table.Write {
	return table.Write{Kind: table.Delete, Key: k, Version: version}
}

func check(k table.Key, version string) table.Write {
	return table.Write{Kind: table.Check, Key: k, Version: version}
}

func add(k table.Key, field string, by int64) table.Write {
	return table.Write{Kind: table.Add, Key: k, Adds: map[string]int64{field: by}}
}

// try commits and returns what the store said.
func (s *stage) try(writes ...table.Write) error {
	return s.store.Commit(context.Background(), s.tx(writes...))
}

// must commits, fails the case when the store refuses, and returns the version written.
func (s *stage) must(writes ...table.Write) string {
	s.Helper()
	tx := s.tx(writes...)
	if err := s.store.Commit(context.Background(), tx); err != nil {
		s.Fatalf("commit of %d rows: %v", len(writes), err)
	}
	return tx.ID
}

// refused demands that a commit fails with want.
func (s *stage) refused(want error, writes ...table.Write) {
	s.Helper()
	if err := s.try(writes...); !errors.Is(err, want) {
		s.Fatalf("commit answered %v, want %v", err, want)
	}
}

// get reads rows and fails the case when the store does.
func (s *stage) get(keys ...table.Key) []table.Row {
	s.Helper()
	rows, err := s.store.Get(context.Background(), keys...)
	if err != nil {
		s.Fatalf("get: %v", err)
	}
	if len(rows) != len(keys) {
		s.Fatalf("get of %d keys answered %d rows", len(keys), len(rows))
	}
	for i, r := range rows {
		if r.Key != keys[i] {
			s.Fatalf("row %d is %v, asked for %v", i, r.Key, keys[i])
		}
	}
	return rows
}

// holds demands that the row has this version and data.
func (s *stage) holds(k table.Key, version, data string) {
	s.Helper()
	r := s.get(k)[0]
	if r.Version != version || !bytes.Equal(r.Data, []byte(data)) {
		s.Fatalf("%v is (%q, %.60q), want (%q, %.60q)", k, r.Version, r.Data, version, data)
	}
}

// absent demands that the rows do not exist.
func (s *stage) absent(keys ...table.Key) {
	s.Helper()
	for _, r := range s.get(keys...) {
		if r.Found() || r.Data != nil || r.Counters != nil {
			s.Fatalf("%v exists: %+v", r.Key, r)
		}
	}
}

// counts demands the value of one counter field.
func (s *stage) counts(k table.Key, field string, want int64) {
	s.Helper()
	r := s.get(k)[0]
	if r.Version != table.CounterVersion || len(r.Data) != 0 {
		s.Fatalf("%v is no counter row: %+v", k, r)
	}
	if got, ok := r.Counters[field]; !ok || got != want {
		s.Fatalf("%v: %s is %d (there: %v), want %d", k, field, got, ok, want)
	}
}

// page asks one page and fails the case when the store does or the page breaks its query.
func (s *stage) page(q table.Query) table.Page {
	s.Helper()
	p, err := s.store.Query(context.Background(), q)
	if err != nil {
		s.Fatalf("query %+v: %v", q, err)
	}
	if len(p.Rows) > q.PageSize() {
		s.Fatalf("a page of %d rows, asked for %d", len(p.Rows), q.PageSize())
	}
	if p.More && len(p.Rows) == 0 {
		s.Fatalf("an empty page says there is more: nobody can resume behind it")
	}
	for _, r := range p.Rows {
		if r.PK != q.PK || !r.Found() {
			s.Fatalf("a page of %q holds %v with version %q", q.PK, r.Key, r.Version)
		}
	}
	return p
}

// sks lists the sort keys of rows.
func sks(rows []table.Row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.SK
	}
	return out
}
