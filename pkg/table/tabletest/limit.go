package tabletest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"guildhall/pkg/table"
)

// invalids are commits and reads that are wrong in themselves; they change nothing.
func invalids() []scene {
	write := func(name string, make func(s *stage) *table.Tx) scene {
		return scene{"invalid: " + name, func(s *stage) {
			err := s.store.Commit(context.Background(), make(s))
			if !errors.Is(err, table.ErrInvalid) {
				s.Fatalf("commit answered %v, want ErrInvalid", err)
			}
			s.absent(s.key("p", "good"))
		}}
	}
	// with puts the wrong write behind a good one, which must not stay.
	with := func(name string, bad func(s *stage) []table.Write) scene {
		return write(name, func(s *stage) *table.Tx {
			return s.tx(append([]table.Write{create(s.key("p", "good"), "x")}, bad(s)...)...)
		})
	}
	one := func(name string, w table.Write) scene {
		return with(name, func(*stage) []table.Write { return []table.Write{w} })
	}
	key := table.Key{PK: "invalid", SK: "row"}
	odd := func(pk, sk string) table.Write { return create(table.Key{PK: pk, SK: sk}, "x") }
	out := []scene{
		write("a commit without an id", func(s *stage) *table.Tx {
			return &table.Tx{Writes: []table.Write{create(s.key("p", "good"), "x")}}
		}),
		write("a commit whose id is the counters' version", func(s *stage) *table.Tx {
			return &table.Tx{ID: table.CounterVersion, Writes: []table.Write{create(s.key("p", "good"), "x")}}
		}),
		write("a commit of no rows", func(s *stage) *table.Tx { return s.tx() }),
		one("a write of no kind", table.Write{Key: key}),
		one("a write of an unknown kind", table.Write{Kind: 99, Key: key, Version: "v"}),
		one("a replace without a version", replace(key, "", "x")),
		one("a delete without a version", remove(key, "")),
		one("an add of nothing", table.Write{Kind: table.Add, Key: key}),
		one("an add to a field without a name", add(key, "", 1)),
		one("an add over the counter limit", add(key, "n", table.MaxCounter+1)),
		one("an add under the counter limit", add(key, "n", -table.MaxCounter-1)),
		one("an empty PK", odd("", "row")),
		one("an empty SK", odd("invalid", "")),
		one("a NUL in the PK", odd("inva\x00lid", "row")),
		one("a NUL in the SK", odd("invalid", "row\x00")),
		one("a PK that is not UTF-8", odd("inva\xfflid", "row")),
		one("a SK that is not UTF-8", odd("invalid", "\xc3")),
		with("a row created twice", func(s *stage) []table.Write {
			return []table.Write{create(s.key("p", "b"), "x"), create(s.key("p", "b"), "y")}
		}),
		with("a row checked and written", func(s *stage) []table.Write {
			return []table.Write{check(s.key("p", "b"), ""), create(s.key("p", "b"), "y")}
		}),
		with("a row added to twice", func(s *stage) []table.Write {
			return []table.Write{add(s.key("p", "b"), "n", 1), add(s.key("p", "b"), "m", 1)}
		}),
	}
	return append(out, invalidReads()...)
}

func invalidReads() []scene {
	keys := map[string]table.Key{
		"an empty PK": {SK: "row"}, "an empty SK": {PK: "invalid"}, "a NUL": {PK: "invalid", SK: "\x00"},
	}
	var out []scene
	for _, name := range []string{"an empty PK", "an empty SK", "a NUL"} {
		out = append(out, scene{"invalid: a Get with " + name, func(s *stage) {
			_, err := s.store.Get(context.Background(), s.key("p", "good"), keys[name])
			if !errors.Is(err, table.ErrInvalid) {
				s.Fatalf("get answered %v, want ErrInvalid", err)
			}
		}})
	}
	asks := map[string]table.Query{
		"without a partition": {}, "of a partition with a NUL": {PK: "a\x00b"},
		"whose From is not UTF-8": {PK: "invalid", From: "\xff"}, "whose After holds a NUL": {PK: "invalid", After: "a\x00"},
	}
	for _, name := range []string{"without a partition", "of a partition with a NUL",
		"whose From is not UTF-8", "whose After holds a NUL"} {
		out = append(out, scene{"invalid: a Query " + name, func(s *stage) {
			if _, err := s.store.Query(context.Background(), asks[name]); !errors.Is(err, table.ErrInvalid) {
				s.Fatalf("query answered %v, want ErrInvalid", err)
			}
		}})
	}
	return out
}

// limits tries each limit at n and at n+1.
func limits() []scene {
	return []scene{
		{"limit: 100 rows in a commit", func(s *stage) { s.must(s.creates(table.MaxTxRows)...) }},
		{"limit: 101 rows in a commit", func(s *stage) {
			s.refused(table.ErrTooLarge, s.creates(table.MaxTxRows+1)...)
			s.absent(s.key("p", "row 000"))
		}},
		{"limit: checks count as rows", func(s *stage) {
			writes := s.creates(table.MaxTxRows)
			s.refused(table.ErrTooLarge, append(writes, check(s.key("p", "absent"), ""))...)
			s.absent(s.key("p", "row 000"))
		}},
		{"limit: a row of 400 KB", func(s *stage) { s.rowOf(table.MaxRowBytes, nil) }},
		{"limit: a row of 400 KB and a byte", func(s *stage) { s.rowOf(table.MaxRowBytes+1, table.ErrTooLarge) }},
		{"limit: replacing by a row of 400 KB and a byte", replaceTooLarge},
		{"limit: a commit of 4 MB", func(s *stage) { s.commitOf(table.MaxTxBytes, nil) }},
		{"limit: a commit of 4 MB and a byte", func(s *stage) { s.commitOf(table.MaxTxBytes+1, table.ErrTooLarge) }},
		{"limit: keys of 1024 bytes", func(s *stage) {
			k := longKey(s, table.MaxKeyPart, table.MaxKeyPart)
			s.holds(k, s.must(create(k, "x")), "x")
		}},
		{"limit: a PK of 1025 bytes", func(s *stage) {
			k := longKey(s, table.MaxKeyPart+1, 10)
			s.refused(table.ErrTooLarge, create(k, "x"))
			s.tooLarge(k)
		}},
		{"limit: a SK of 1025 bytes", func(s *stage) {
			k := longKey(s, 200, table.MaxKeyPart+1)
			s.refused(table.ErrTooLarge, create(k, "x"))
			s.tooLarge(k)
		}},
		{"limit: a bound of 1025 bytes in a Query", func(s *stage) {
			long := strings.Repeat("k", table.MaxKeyPart+1)
			for _, q := range []table.Query{{From: long}, {To: long}, {After: long}} {
				q.PK = "limit"
				if _, err := s.store.Query(context.Background(), q); !errors.Is(err, table.ErrTooLarge) {
					s.Fatalf("query answered %v, want ErrTooLarge", err)
				}
			}
		}},
		{"limit: 100 keys in a Get", func(s *stage) { s.get(s.keys(table.MaxGetKeys)...) }},
		{"limit: 101 keys in a Get", func(s *stage) { s.tooLarge(s.keys(table.MaxGetKeys + 1)...) }},
		{"limit: a Get of no keys", func(s *stage) { s.get() }},
		{"limit: a Get of 20 MB answers every row", getLarge},
		{"limit: 1000 rows in a page", pageLimit},
		{"limit: a counter at its greatest and least", func(s *stage) {
			k := s.key("p", "n")
			s.must(add(k, "n", table.MaxCounter))
			s.counts(k, "n", table.MaxCounter)
			s.must(add(k, "n", -table.MaxCounter))
			s.must(add(k, "n", -table.MaxCounter))
			s.counts(k, "n", -table.MaxCounter)
		}},
	}
}

func (s *stage) keys(n int) []table.Key {
	out := make([]table.Key, n)
	for i := range out {
		out[i] = s.key("p", fmt.Sprintf("row %03d", i))
	}
	return out
}

func (s *stage) creates(n int) []table.Write {
	var out []table.Write
	for _, k := range s.keys(n) {
		out = append(out, create(k, "x"))
	}
	return out
}

func (s *stage) tooLarge(keys ...table.Key) {
	s.Helper()
	if _, err := s.store.Get(context.Background(), keys...); !errors.Is(err, table.ErrTooLarge) {
		s.Fatalf("get answered %v, want ErrTooLarge", err)
	}
}

func longKey(s *stage, pk, sk int) table.Key {
	k := s.key("p", strings.Repeat("k", sk))
	k.PK += strings.Repeat("k", pk-len(k.PK))
	return k
}

// sized makes a create whose row has exactly n bytes under the id.
func sized(k table.Key, id string, n int) table.Write {
	return create(k, strings.Repeat("d", n-len(k.PK)-len(k.SK)-len(id)-table.RowOverhead))
}

func (s *stage) rowOf(n int, want error) {
	tx, k := s.tx(), s.key("p", "row")
	w := sized(k, tx.ID, n)
	tx.Writes = []table.Write{w}
	if err := s.store.Commit(context.Background(), tx); !errors.Is(err, want) {
		s.Fatalf("a row of %d bytes answered %v, want %v", n, err, want)
	}
	if want != nil {
		s.absent(k)
		return
	}
	s.holds(k, tx.ID, string(w.Data))
	if got := s.page(table.Query{PK: k.PK}).Rows; len(got) != 1 || string(got[0].Data) != string(w.Data) {
		s.Fatalf("a query answers another row")
	}
}

func replaceTooLarge(s *stage) {
	k := s.key("p", "row")
	v := s.must(create(k, "small"))
	s.refused(table.ErrTooLarge, replace(k, v, strings.Repeat("d", table.MaxRowBytes)))
	s.holds(k, v, "small")
}

func (s *stage) commitOf(n int, want error) {
	const row = 380 << 10
	tx := s.tx()
	for i := 0; n > 0; i++ {
		size := min(n, row)
		tx.Writes = append(tx.Writes, sized(s.key("p", fmt.Sprintf("row %03d", i)), tx.ID, size))
		n -= size
	}
	if err := s.store.Commit(context.Background(), tx); !errors.Is(err, want) {
		s.Fatalf("commit answered %v, want %v", err, want)
	}
	for i, w := range tx.Writes {
		if want != nil {
			s.absent(w.Key)
		} else if got := s.get(w.Key)[0]; got.Version != tx.ID || len(got.Data) != len(tx.Writes[i].Data) {
			s.Fatalf("row %d did not come back whole", i)
		}
	}
}

// getLarge asks for more than one answer of DynamoDB can carry (16 MB).
func getLarge(s *stage) {
	const rows, perCommit, size = 50, 10, 398 << 10
	keys := s.keys(rows)
	for i := 0; i < rows; i += perCommit {
		tx := s.tx()
		for _, k := range keys[i : i+perCommit] {
			tx.Writes = append(tx.Writes, sized(k, tx.ID, size))
		}
		s.must(tx.Writes...)
	}
	for _, r := range s.get(keys...) {
		if !r.Found() || len(r.Data) < size-2*table.MaxKeyPart {
			s.Fatalf("%v came back with %d bytes", r.Key, len(r.Data))
		}
	}
}

func pageLimit(s *stage) {
	s.fill("p", table.MaxPageRows+1, func(i int) string { return fmt.Sprintf("%05d", i) })
	for _, limit := range []int{0, table.MaxPageRows, table.MaxPageRows + 1, -1} {
		p := s.page(table.Query{PK: s.key("p", "x").PK, Limit: limit})
		if len(p.Rows) != table.MaxPageRows || !p.More {
			s.Fatalf("limit %d: %d rows, more %v", limit, len(p.Rows), p.More)
		}
	}
}
