package tabletest

import (
	"bytes"
	"context"
	"slices"
	"time"

	"guildhall/pkg/table"
)

// values checks that what goes in comes out, and stays in.
func values() []scene {
	return append([]scene{
		{"value: every byte", func(s *stage) {
			var all []byte
			for i := range 256 {
				all = append(all, byte(i))
			}
			k := s.key("p", "row")
			s.holds(k, s.must(create(k, string(all))), string(all))
		}},
		{"value: no data", func(s *stage) {
			k := s.key("p", "row")
			v := s.must(table.Write{Kind: table.Create, Key: k})
			s.holds(k, v, "")
			s.holds(k, s.must(replace(k, v, "")), "")
		}},
		{"value: data does not leak from the row before", func(s *stage) {
			k := s.key("p", "row")
			v := s.must(create(k, "long data of the first version"))
			s.holds(k, s.must(replace(k, v, "short")), "short")
		}},
		{"value: a commit sets one version on all its rows", func(s *stage) {
			a, b, sum := s.key("p", "a"), s.key("q", "b"), s.key("r", "sum")
			id := s.must(create(a, "x"), create(b, "y"), add(sum, "n", 1))
			s.holds(a, id, "x")
			s.holds(b, id, "y")
			s.counts(sum, "n", 1)
		}},
		{"value: the caller's bytes are copied on a commit", notAliasedIn},
		{"value: rows answered by a Get belong to the caller", func(s *stage) {
			s.notAliasedOut(func(k table.Key) table.Row { return s.get(k)[0] })
		}},
		{"value: rows answered by a Query belong to the caller", func(s *stage) {
			s.notAliasedOut(func(k table.Key) table.Row {
				return s.page(table.Query{PK: k.PK, From: k.SK, Limit: 1}).Rows[0]
			})
		}},
	}, slices.Concat(readings(), counters(), expiries())...)
}

// readings checks that a Get answers key by key.
func readings() []scene {
	return []scene{
		{"value: missing rows come back in place", func(s *stage) {
			a, b := s.key("p", "a"), s.key("q", "b")
			id := s.must(create(a, "x"), create(b, "y"))
			rows := s.get(s.key("p", "0"), b, s.key("no", "a"), a, s.key("q", "c"))
			want := []string{"", id, "", id, ""}
			for i, r := range rows {
				if r.Version != want[i] {
					s.Fatalf("row %d has version %q, want %q", i, r.Version, want[i])
				}
			}
		}},
		{"value: a key named twice is answered twice", func(s *stage) {
			a, missing := s.key("p", "a"), s.key("p", "b")
			id := s.must(create(a, "x"))
			rows := s.get(a, missing, a, missing, a)
			for i, r := range rows {
				if r.Found() != (i%2 == 0) || r.Found() && (r.Version != id || string(r.Data) != "x") {
					s.Fatalf("row %d is %+v", i, r)
				}
			}
		}},
		{"value: odd keys are read back", func(s *stage) {
			for _, k := range odd {
				s.must(create(s.key(k, k), k))
			}
			var keys []table.Key
			for _, k := range odd {
				keys = append(keys, s.key(k, k))
			}
			for i, r := range s.get(keys...) {
				if one := s.get(keys[i])[0]; string(r.Data) != odd[i] || string(one.Data) != odd[i] {
					s.Fatalf("%q answers %q among others, %q alone", odd[i], r.Data, one.Data)
				}
			}
			s.absent(s.key("a", "A"), s.key("A", "a"), s.key("é", "e\u0301"))
		}},
	}
}

func counters() []scene {
	return []scene{
		{"counter: several fields, kept apart", func(s *stage) {
			k := s.key("p", "sum")
			s.must(table.Write{Kind: table.Add, Key: k, Adds: map[string]int64{"a": 1, "b": -2, "odd field/é": 3}})
			s.must(table.Write{Kind: table.Add, Key: k, Adds: map[string]int64{"b": -2, "c": 4}})
			for field, want := range map[string]int64{"a": 1, "b": -4, "odd field/é": 3, "c": 4} {
				s.counts(k, field, want)
			}
			if n := len(s.get(k)[0].Counters); n != 4 {
				s.Fatalf("%d fields", n)
			}
		}},
		{"counter: adding zero makes the field", func(s *stage) {
			k := s.key("p", "sum")
			s.must(add(k, "n", 0))
			s.counts(k, "n", 0)
		}},
		{"counter: shows in a query", func(s *stage) {
			k := s.key("p", "sum")
			s.must(add(k, "n", 41))
			s.must(add(k, "n", 1))
			r := s.page(table.Query{PK: k.PK}).Rows[0]
			if r.Version != table.CounterVersion || r.Counters["n"] != 42 || len(r.Data) != 0 {
				s.Fatalf("%+v", r)
			}
		}},
		{"counter: a deleted one starts again at nothing", func(s *stage) {
			k := s.key("p", "sum")
			s.must(add(k, "n", 41))
			s.must(remove(k, table.CounterVersion))
			s.must(add(k, "m", 1))
			s.counts(k, "m", 1)
			if n := len(s.get(k)[0].Counters); n != 1 {
				s.Fatalf("%d fields", n)
			}
		}},
	}
}

func expiries() []scene {
	base := time.Date(2030, 1, 31, 23, 59, 59, 0, time.UTC)
	at := func(name string, when time.Time) scene {
		return scene{"expires: " + name, func(s *stage) {
			k := s.key("p", "row")
			w := create(k, "x")
			w.Expires = when
			s.must(w)
			s.expires(k, when)
		}}
	}
	return []scene{
		at("never", time.Time{}),
		at("a whole second", base),
		at("milliseconds", base.Add(123*time.Millisecond)),
		at("another zone", base.In(time.FixedZone("", -7*3600))),
		at("in the past: the row is there until it is purged", time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)),
		{"expires: a replace sets it anew", func(s *stage) {
			k := s.key("p", "row")
			w := create(k, "x")
			w.Expires = base
			r := replace(k, s.must(w), "y")
			r.Expires = base.Add(time.Hour)
			v := s.must(r)
			s.expires(k, r.Expires)
			s.must(replace(k, v, "z"))
			s.expires(k, time.Time{})
		}},
		{"expires: on a counter row, kept by an add without one", func(s *stage) {
			k := s.key("p", "sum")
			w := add(k, "n", 1)
			w.Expires = base
			s.must(w)
			s.must(add(k, "n", 1))
			s.expires(k, base)
			s.counts(k, "n", 2)
		}},
	}
}

// expires demands the time in a Get and in a Query: never before what was asked, and less than
// a second behind it, which is as fine as DynamoDB's is.
func (s *stage) expires(k table.Key, want time.Time) {
	s.Helper()
	for _, r := range []table.Row{s.get(k)[0], s.page(table.Query{PK: k.PK, From: k.SK, Limit: 1}).Rows[0]} {
		switch {
		case want.IsZero():
			if !r.Expires.IsZero() {
				s.Fatalf("expires at %v, want never", r.Expires)
			}
		case r.Expires.Before(want) || !r.Expires.Before(want.Add(time.Second)):
			s.Fatalf("expires at %v, want %v", r.Expires, want)
		case r.Expires.Location() != time.UTC:
			s.Fatalf("expires in zone %v", r.Expires.Location())
		}
	}
}

func notAliasedIn(s *stage) {
	k, sum := s.key("p", "row"), s.key("p", "sum")
	w, a := create(k, "data"), add(sum, "n", 1)
	tx := s.tx(w, a)
	if err := s.store.Commit(context.Background(), tx); err != nil {
		s.Fatal(err)
	}
	copy(w.Data, "XXXX")
	a.Adds["n"], a.Adds["m"] = 99, 99
	tx.Writes[0].Key.SK = "elsewhere"
	s.holds(k, tx.ID, "data")
	s.counts(sum, "n", 1)
	if n := len(s.get(sum)[0].Counters); n != 1 {
		s.Fatalf("%d fields", n)
	}
}

func (s *stage) notAliasedOut(read func(table.Key) table.Row) {
	k, sum := s.key("p", "row"), s.key("q", "sum")
	id := s.must(create(k, "data"), add(sum, "n", 1))
	r := read(k)
	copy(r.Data, "XXXX")
	_ = append(r.Data, "YYYY"...)
	c := read(sum)
	c.Counters["n"], c.Counters["m"] = 99, 99
	s.holds(k, id, "data")
	if again := read(k); !bytes.Equal(again.Data, []byte("data")) {
		s.Fatalf("read again: %q", again.Data)
	}
	if again := read(sum); again.Counters["n"] != 1 || len(again.Counters) != 1 {
		s.Fatalf("read again: %v", again.Counters)
	}
}
