package tabletest

import (
	"fmt"
	"slices"
	"strings"

	"guildhall/pkg/table"
)

// fill creates n rows in the partition, named by sk, in commits of 100.
func (s *stage) fill(pk string, n int, sk func(i int) string) {
	s.Helper()
	for i := 0; i < n; {
		var writes []table.Write
		for ; i < n && len(writes) < table.MaxTxRows; i++ {
			writes = append(writes, create(s.key(pk, sk(i)), "data of "+sk(i)))
		}
		s.must(writes...)
	}
}

// alphabet is what the ordered queries walk: a few prefixes, one row on each bound.
var alphabet = []string{"A#1", "B", "B#", "B#1", "B#10", "B#2", "B#2#x", "C", "C#1", "a", "b#1"}

// queries checks what a Query answers.
func queries() []scene {
	asks := []struct {
		name string
		q    table.Query
		want []string
	}{
		{"everything", table.Query{}, alphabet},
		{"everything, last first", table.Query{Reverse: true}, reversed(alphabet)},
		{"From is inclusive", table.Query{From: "B#2"}, alphabet[5:]},
		{"From between two rows", table.Query{From: "B#3"}, alphabet[7:]},
		{"From behind all rows", table.Query{From: "z"}, nil},
		{"To is exclusive", table.Query{To: "B#2"}, alphabet[:5]},
		{"To between two rows", table.Query{To: "B#3"}, alphabet[:7]},
		{"To before all rows", table.Query{To: "A"}, nil},
		{"From and To", table.Query{From: "B#1", To: "C"}, alphabet[3:7]},
		{"From and To, last first", table.Query{From: "B#1", To: "C", Reverse: true}, reversed(alphabet[3:7])},
		{"From equals To", table.Query{From: "B", To: "B"}, nil},
		{"From above To", table.Query{From: "C", To: "B"}, nil},
		{"From above To, last first", table.Query{From: "C", To: "B", Reverse: true}, nil},
		{"a prefix", table.Query{}.Prefix("B#"), alphabet[2:7]},
		{"a prefix, last first", table.Query{Reverse: true}.Prefix("B#"), reversed(alphabet[2:7])},
		{"a prefix that is a whole key", table.Query{}.Prefix("B#2"), alphabet[5:7]},
		{"a prefix of no row", table.Query{}.Prefix("B#3"), nil},
		{"the empty prefix", table.Query{}.Prefix(""), alphabet},
		{"After is exclusive", table.Query{After: "B#2"}, alphabet[6:]},
		{"After, last first", table.Query{After: "B#2", Reverse: true}, reversed(alphabet[:5])},
		{"After naming no row", table.Query{After: "B#3"}, alphabet[7:]},
		{"After naming no row, last first", table.Query{After: "B#3", Reverse: true}, reversed(alphabet[:7])},
		{"After the last row", table.Query{After: "b#1"}, nil},
		{"After the first row, last first", table.Query{After: "A#1", Reverse: true}, nil},
		{"After before From", table.Query{From: "C", After: "A"}, alphabet[7:]},
		{"After on From", table.Query{From: "C", After: "C"}, alphabet[8:]},
		{"After behind To", table.Query{To: "C", After: "a"}, nil},
		{"After above To, last first", table.Query{To: "C", After: "a", Reverse: true}, reversed(alphabet[:7])},
		{"After on To, last first", table.Query{To: "C", After: "C", Reverse: true}, reversed(alphabet[:7])},
		{"After below From, last first", table.Query{From: "C", After: "B", Reverse: true}, nil},
		{"After inside a prefix", table.Query{After: "B#1"}.Prefix("B#"), alphabet[4:7]},
		{"After inside a prefix, last first", table.Query{After: "B#2", Reverse: true}.Prefix("B#"), reversed(alphabet[2:5])},
	}
	var out []scene
	for _, c := range asks {
		out = append(out, scene{"query: " + c.name, func(s *stage) { s.ask(c.q, c.want) }})
	}
	return append(out, orders()...)
}

func reversed(in []string) []string {
	out := slices.Clone(in)
	slices.Reverse(out)
	return out
}

// ask fills a partition with the alphabet, and two neighbours that must never show, and
// asks the query with every limit: what fits must come, and More tells the truth.
func (s *stage) ask(q table.Query, want []string) {
	q.PK = s.key("p", "x").PK
	s.fill("p", len(alphabet), func(i int) string { return alphabet[i] })
	for _, neighbour := range []string{"o", "p!", "q"} {
		s.must(create(s.key(neighbour, "B#1"), "neighbour"))
	}
	for limit := range len(alphabet) + 2 {
		q.Limit = limit
		p, n := s.page(q), len(want)
		if limit > 0 {
			n = min(n, limit)
		}
		if got := sks(p.Rows); !slices.Equal(got, want[:n]) {
			s.Fatalf("limit %d answers %q, want %q", limit, got, want[:n])
		}
		if p.More != (n < len(want)) {
			s.Fatalf("limit %d: %d of %d rows, and more is %v", limit, n, len(want), p.More)
		}
		for _, r := range p.Rows {
			if string(r.Data) != "data of "+r.SK {
				s.Fatalf("%v has data %q", r.Key, r.Data)
			}
		}
	}
}

// odd are keys in byte order whose order others get wrong: case, digits, punctuation,
// multi-byte runes, composed and decomposed letters, runes beyond UTF-16's first plane.
var odd = []string{
	"\x01", "\t", "\n", " ", " a", "!", "\"", "#", "%", "%00", "'", "''", "*", "+", "-1", "/", "//", "0", "00", "1", "10",
	"2", ";--", "<", "=", "?", "A", "AA", "Z", "[", "\\", "\\0", "_", "`", "a", "a ", "aa", "e\u0301", "z", "{", "|", "~",
	"\x7f", "\u0080", "ß", "é", "ÿ", "Ā", "ε", "я", "\u200b", "\u2028", "あ", "中", "\ud7ff", "\ue000", "ﬀ", "\ufeff",
	"\uffff", "😀", "\U0010ffff", "\U0010ffffz",
}

// orders checks the byte order of keys, and that partitions with odd names are apart.
func orders() []scene {
	return []scene{
		{"order: odd keys forward", func(s *stage) { s.order(table.Query{}, odd) }},
		{"order: odd keys backward", func(s *stage) { s.order(table.Query{Reverse: true}, reversed(odd)) }},
		{"order: every odd key is a bound", func(s *stage) {
			s.oddRows()
			for i, k := range odd {
				s.order(table.Query{From: k}, odd[i:])
				s.order(table.Query{To: k}, odd[:i])
				s.order(table.Query{After: k}, odd[i+1:])
				s.order(table.Query{After: k, Reverse: true}, reversed(odd[:i]))
			}
		}},
		{"order: every odd key is a prefix", func(s *stage) {
			s.oddRows()
			for _, k := range odd {
				var want []string
				for _, o := range odd {
					if strings.HasPrefix(o, k) {
						want = append(want, o)
					}
				}
				s.order(table.Query{}.Prefix(k), want)
				s.order(table.Query{Reverse: true}.Prefix(k), reversed(want))
			}
		}},
		{"order: odd partitions are apart", func(s *stage) {
			for _, k := range odd {
				s.must(create(s.key(k, "row"), k))
			}
			for _, k := range odd {
				got := s.page(table.Query{PK: s.key(k, "row").PK}).Rows
				if len(got) != 1 || string(got[0].Data) != k {
					s.Fatalf("partition %q answers %q", k, sks(got))
				}
			}
		}},
		{"order: keys in the order they were written do not matter", func(s *stage) {
			const n = 500
			s.fill("p", n, func(i int) string { return fmt.Sprintf("%04d", i*383%n) })
			got := s.page(table.Query{PK: s.key("p", "x").PK}).Rows
			if len(got) != n || !slices.IsSorted(sks(got)) {
				s.Fatalf("%d rows, sorted: %v", len(got), slices.IsSorted(sks(got)))
			}
		}},
	}
}

// oddRows creates the odd keys once, in a scattered order.
func (s *stage) oddRows() {
	if s.get(s.key("p", odd[0]))[0].Found() {
		return
	}
	s.fill("p", len(odd), func(i int) string { return odd[i*29%len(odd)] })
}

func (s *stage) order(q table.Query, want []string) {
	s.Helper()
	s.oddRows()
	q.PK = s.key("p", "x").PK
	if got := sks(s.page(q).Rows); !slices.Equal(got, want) {
		s.Fatalf("%+v answers\n%q, want\n%q", q, got, want)
	}
}
