package tabletest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"guildhall/pkg/table"
)

// contexts checks that a call whose context has ended does nothing.
func contexts() []scene {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	bad := func(s *stage, err error) {
		s.Helper()
		if !errors.Is(err, context.Canceled) && !errors.Is(err, table.ErrUnavailable) {
			s.Fatalf("answered %v, want the context's error or ErrUnavailable", err)
		}
	}
	return []scene{
		{"context: an ended one commits nothing", func(s *stage) {
			k := s.key("p", "row")
			bad(s, s.store.Commit(ended, s.tx(create(k, "x"))))
			s.absent(k)
		}},
		{"context: an ended one reads nothing", func(s *stage) {
			_, err := s.store.Get(ended, s.key("p", "row"))
			bad(s, err)
			_, err = s.store.Query(ended, table.Query{PK: s.key("p", "row").PK})
			bad(s, err)
		}},
		{"context: ending one afterwards changes nothing", func(s *stage) {
			ctx, end := context.WithCancel(context.Background())
			k := s.key("p", "row")
			tx := s.tx(create(k, "x"))
			if err := s.store.Commit(ctx, tx); err != nil {
				s.Fatal(err)
			}
			end()
			s.holds(k, tx.ID, "x")
		}},
	}
}

// lists checks table.Lister on the stores that implement it.
func lists() []scene {
	with := func(name string, play func(*stage, table.Lister)) scene {
		return scene{"list: " + name, func(s *stage) {
			if l, ok := s.store.(table.Lister); ok {
				play(s, l)
			}
		}}
	}
	return []scene{
		with("every row once, whole", func(s *stage, l table.Lister) {
			want := s.listed()
			for _, limit := range []int{1000, 7, 0} {
				if got := s.list(l, limit, nil); !slices.Equal(got, want) {
					s.Fatalf("limit %d lists %q, want %q", limit, got, want)
				}
			}
		}),
		with("goes on behind a row deleted meanwhile", func(s *stage, l table.Lister) {
			want := s.listed()
			got := s.list(l, 5, func(last table.Row) {
				if strings.HasPrefix(last.PK, s.name+"/") {
					s.must(remove(last.Key, last.Version))
				}
			})
			if !slices.Equal(got, want) {
				s.Fatalf("lists %q, want %q", got, want)
			}
		}),
		with("a position that is none", func(s *stage, l table.Lister) {
			if _, _, err := l.List(context.Background(), "\x00\xff no position", 10); !errors.Is(err, table.ErrInvalid) {
				s.Fatalf("answered %v, want ErrInvalid", err)
			}
		}),
		with("an ended context", func(s *stage, l table.Lister) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, _, err := l.List(ctx, "", 10); err == nil {
				s.Fatal("listed under an ended context")
			}
		}),
	}
}

// listed writes rows of all sorts and names them as list does.
func (s *stage) listed() []string {
	s.fill("p", 40, number)
	s.fill("q", 3, number)
	s.must(add(s.key("sum", "n"), "n", 5))
	var out []string
	for _, k := range odd {
		s.must(create(s.key(k, k), k))
		out = append(out, s.key(k, k).String()+" = "+k)
	}
	for _, pk := range []string{"p", "q"} {
		for _, r := range s.page(table.Query{PK: s.key(pk, "x").PK}).Rows {
			if pk == "p" || r.SK < number(3) {
				out = append(out, r.String()+" = "+string(r.Data))
			}
		}
	}
	out = append(out, s.key("sum", "n").String()+" = 5")
	slices.Sort(out)
	return slices.Compact(out)
}

// list walks the whole store and returns what belongs to this case, sorted. A row seen twice
// stays twice in it.
func (s *stage) list(l table.Lister, limit int, between func(last table.Row)) []string {
	s.Helper()
	var out []string
	for after := ""; ; {
		rows, next, err := l.List(context.Background(), after, limit)
		if err != nil {
			s.Fatalf("list after %q: %v", after, err)
		}
		if limit > 0 && len(rows) > limit {
			s.Fatalf("listed %d rows, asked for %d", len(rows), limit)
		}
		for _, r := range rows {
			if !strings.HasPrefix(r.PK, s.name+"/") {
				continue
			}
			value := string(r.Data)
			if r.Counters != nil {
				value = string(rune('0' + r.Counters["n"]))
			}
			out = append(out, r.String()+" = "+value)
		}
		if next == "" {
			slices.Sort(out)
			return out
		}
		if between != nil && len(rows) > 0 {
			between(rows[len(rows)-1])
		}
		after = next
	}
}
