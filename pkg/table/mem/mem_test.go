package mem_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"guildhall/pkg/table"
	"guildhall/pkg/table/mem"
	"guildhall/pkg/table/tabletest"
)

var ctx = context.Background()

func TestSuite(t *testing.T) {
	tabletest.Run(t, func(*testing.T) table.Store { return mem.New() })
}

func put(t testing.TB, s table.Store, id string, writes ...table.Write) {
	t.Helper()
	if err := s.Commit(ctx, &table.Tx{ID: id, Writes: writes}); err != nil {
		t.Fatal(err)
	}
}

func TestStatsCountCallsAndRows(t *testing.T) {
	s := mem.New()
	a, b := table.Key{PK: "p", SK: "a"}, table.Key{PK: "p", SK: "b"}
	put(t, s, "1", table.Write{Kind: table.Create, Key: a}, table.Write{Kind: table.Create, Key: b})
	before := s.Stats()
	if _, err := s.Get(ctx, a, b, table.Key{PK: "q", SK: "none"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Query(ctx, table.Query{PK: "p"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, &table.Tx{ID: "2", Writes: []table.Write{{Kind: table.Create, Key: a}}}); err == nil {
		t.Fatal("a second create passed")
	}
	put(t, s, "3", table.Write{Kind: table.Delete, Key: a, Version: "1"})
	want := mem.Stats{Gets: 1, Queries: 1, Commits: 2, RowsRead: 5, RowsWritten: 1, Conflicts: 1}
	if got := s.Stats().Since(before); got != want || got.Calls() != 4 {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if s.Len() != 1 {
		t.Errorf("%d rows", s.Len())
	}
}

func TestPurgeRemovesWhatExpiredOldestFirst(t *testing.T) {
	s := mem.New()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	key := func(name string) table.Key { return table.Key{PK: "p", SK: name} }
	for name, at := range map[string]time.Time{
		"never": {}, "now": now, "later": now.Add(time.Second), "before": now.Add(-time.Millisecond),
		"hour": now.Add(-time.Hour), "day": now.Add(-24 * time.Hour), "moved": now.Add(-time.Minute), "antique": time.Unix(-5, 0),
	} {
		put(t, s, "c-"+name, table.Write{Kind: table.Create, Key: key(name), Expires: at})
	}
	put(t, s, "moved", table.Write{Kind: table.Replace, Key: key("moved"), Version: "c-moved", Expires: now.Add(time.Hour)})
	steps := []struct {
		limit, removed, left int
	}{{2, 2, 6}, {10, 2, 4}, {10, 0, 4}}
	for i, step := range steps {
		n, err := s.Purge(ctx, now, step.limit)
		if err != nil || n != step.removed || s.Len() != step.left {
			t.Fatalf("step %d: removed %d (%v), left %d", i, n, err, s.Len())
		}
		if i == 0 {
			rows, _ := s.Get(ctx, key("antique"), key("day"), key("hour"))
			if rows[0].Found() || rows[1].Found() || !rows[2].Found() {
				t.Fatalf("the oldest did not go first")
			}
		}
	}
	rows, _ := s.Get(ctx, key("never"), key("now"), key("later"), key("moved"))
	for _, r := range rows {
		if !r.Found() {
			t.Errorf("%v was purged", r.Key)
		}
	}
}

// filled is a store of n rows in one partition.
func filled(b *testing.B, n int) *mem.Store {
	s := mem.New()
	for i := 0; i < n; {
		tx := &table.Tx{ID: fmt.Sprint("fill", i)}
		for ; len(tx.Writes) < table.MaxTxRows && i < n; i++ {
			tx.Writes = append(tx.Writes, table.Write{Kind: table.Create, Key: rowKey(i * 7919 % n), Data: []byte("a row of this store")})
		}
		put(b, s, tx.ID, tx.Writes...)
	}
	return s
}

func rowKey(i int) table.Key { return table.Key{PK: "p", SK: fmt.Sprintf("row %09d", i)} }

func BenchmarkRowsInOnePartition(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		s := filled(b, n)
		b.Run(fmt.Sprintf("get/%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := s.Get(ctx, rowKey(i*7919%n)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("page of 20/%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := s.Query(ctx, table.Query{PK: "p", From: rowKey(i * 7919 % n).SK, Limit: 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
		id := 0
		b.Run(fmt.Sprintf("create and delete/%d", n), func(b *testing.B) {
			for b.Loop() {
				id++
				v := fmt.Sprint("c", id)
				k := table.Key{PK: "p", SK: fmt.Sprintf("row %09d!", id*7919%n)}
				put(b, s, v, table.Write{Kind: table.Create, Key: k})
				put(b, s, v+"d", table.Write{Kind: table.Delete, Key: k, Version: v})
			}
		})
	}
}

func TestACloneGoesItsOwnWay(t *testing.T) {
	ctx, first := t.Context(), mem.New()
	put := func(s *mem.Store, id, sk, version, data string) {
		t.Helper()
		w := table.Write{Kind: table.Create, Key: table.Key{PK: "p", SK: sk}, Data: []byte(data)}
		if version != "" {
			w.Kind, w.Version = table.Replace, version
		}
		if err := s.Commit(ctx, &table.Tx{ID: id, Writes: []table.Write{w}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 600 { // more than a block holds
		put(first, fmt.Sprintf("c%d", i), fmt.Sprintf("%03d", i), "", `"old"`)
	}
	second := first.Clone()
	put(first, "x", "000", "c0", `"first"`)
	put(second, "y", "000", "c0", `"second"`)
	put(second, "z", "600", "", `"second"`)
	for s, want := range map[*mem.Store]string{first: `"first"`, second: `"second"`} {
		rows, err := s.Get(ctx, table.Key{PK: "p", SK: "000"}, table.Key{PK: "p", SK: "599"})
		if err != nil || string(rows[0].Data) != want || string(rows[1].Data) != `"old"` {
			t.Errorf("%v %v, want %s", rows, err, want)
		}
	}
	if first.Len() != 600 || second.Len() != 601 {
		t.Errorf("%d and %d rows", first.Len(), second.Len())
	}
}
