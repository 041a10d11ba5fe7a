package tabletest

import (
	"fmt"
	"slices"
	"strings"

	"guildhall/pkg/table"
)

// walk asks page after page until there is no more.
func (s *stage) walk(q table.Query) []string {
	s.Helper()
	var out []string
	for {
		p := s.page(q)
		out = append(out, sks(p.Rows)...)
		if !p.More {
			return out
		}
		q.After = out[len(out)-1]
	}
}

const walkRows = 23

func number(i int) string { return fmt.Sprintf("N#%03d", i) }

func numbers(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, number(i))
	}
	return out
}

// walks checks cursors: a walk broken off anywhere goes on where it stopped.
func walks() []scene {
	var out []scene
	for _, back := range []bool{false, true} {
		dir := map[bool]string{false: "forward", true: "backward"}[back]
		out = append(out,
			scene{"walk: every page size, " + dir, func(s *stage) { s.pageSizes(back) }},
			scene{"walk: broken off after every row, " + dir, func(s *stage) { s.brokenOff(back) }},
			scene{"walk: the row of the cursor is deleted meanwhile, " + dir, func(s *stage) { s.cursorGone(back) }},
			scene{"walk: every row is deleted behind the cursor, " + dir, func(s *stage) { s.consume(back) }},
			scene{"walk: rows added ahead show, rows behind do not, " + dir, func(s *stage) { s.growing(back) }},
		)
	}
	return out
}

func (s *stage) numbered(back bool) (table.Query, []string) {
	s.fill("p", walkRows, number)
	s.must(create(s.key("p", "M"), "outside"), create(s.key("p", "O"), "outside"))
	want := numbers(0, walkRows)
	if back {
		want = reversed(want)
	}
	return table.Query{PK: s.key("p", "x").PK, Reverse: back}.Prefix("N#"), want
}

func (s *stage) pageSizes(back bool) {
	q, want := s.numbered(back)
	for q.Limit = 1; q.Limit <= walkRows+1; q.Limit++ {
		if got := s.walk(q); !slices.Equal(got, want) {
			s.Fatalf("pages of %d: %q", q.Limit, got)
		}
	}
}

// brokenOff reads a page of every size, forgets everything but the last row, and goes on.
func (s *stage) brokenOff(back bool) {
	q, want := s.numbered(back)
	for n := 1; n <= walkRows; n++ {
		q.Limit, q.After = n, ""
		first := s.page(q)
		q.Limit, q.After = 5, first.Rows[len(first.Rows)-1].SK
		if got := append(sks(first.Rows), s.walk(q)...); !slices.Equal(got, want) {
			s.Fatalf("broken off after %d rows: %q", n, got)
		}
	}
}

func (s *stage) cursorGone(back bool) {
	q, want := s.numbered(back)
	for n := range walkRows {
		k := s.key("p", want[n])
		old := s.get(k)[0]
		s.must(remove(k, old.Version))
		q.Limit, q.After = 4, want[n]
		if got := s.walk(q); !slices.Equal(got, want[n+1:]) {
			s.Fatalf("behind the deleted %s: %q", want[n], got)
		}
		s.must(create(k, string(old.Data)))
	}
}

// consume deletes what it reads, as a sweep of due clocks does.
func (s *stage) consume(back bool) {
	q, want := s.numbered(back)
	var got []string
	for q.Limit = 3; ; {
		p := s.page(q)
		for _, r := range p.Rows {
			s.must(remove(r.Key, r.Version))
			got = append(got, r.SK)
		}
		if !p.More {
			break
		}
		q.After = got[len(got)-1]
	}
	if !slices.Equal(got, want) {
		s.Fatalf("consumed %q", got)
	}
	q.After = ""
	if left := s.page(q); len(left.Rows) != 0 || left.More {
		s.Fatalf("left over: %q, more %v", sks(left.Rows), left.More)
	}
}

func (s *stage) growing(back bool) {
	q, want := s.numbered(back)
	q.Limit = 10
	first := s.page(q)
	q.After = want[9]
	behind, ahead := "N#000!", "N#022!"
	if back {
		behind, ahead = ahead, behind
	}
	s.must(create(s.key("p", behind), "x"), create(s.key("p", ahead), "x"))
	got := append(sks(first.Rows), s.walk(q)...)
	if slices.Contains(got, behind) || !slices.Contains(got, ahead) || len(got) != walkRows+1 {
		s.Fatalf("the walk saw %q", got)
	}
}

// pages checks where a page of large rows ends and that More is the truth there.
func pages() []scene {
	var out []scene
	for _, back := range []bool{false, true} {
		dir := map[bool]string{false: "forward", true: "backward"}[back]
		out = append(out, scene{"page: ends at 1 MB, " + dir, func(s *stage) {
			s.large(6, 300<<10)
			s.pagesEnd(back, 6, 300<<10)
		}})
	}
	return append(out,
		scene{"page: a last page filled to 1 MB has no more", func(s *stage) {
			const size = table.MaxPage / 4
			s.large(8, size)
			s.pagesEnd(false, 8, size)
			s.pagesEnd(true, 8, size)
		}},
		scene{"page: rows of 400 KB", func(s *stage) {
			s.large(5, table.MaxRowBytes)
			s.pagesEnd(false, 5, table.MaxRowBytes)
		}},
		scene{"page: more is false behind the last row of the range", func(s *stage) {
			s.fill("p", 10, number)
			q := table.Query{PK: s.key("p", "x").PK, To: number(5), Limit: 5}
			if p := s.page(q); p.More || len(p.Rows) != 5 {
				s.Fatalf("%d rows, more %v: the next row is outside the range", len(p.Rows), p.More)
			}
			q = table.Query{PK: q.PK, From: number(5), Limit: 5, Reverse: true}
			if p := s.page(q); p.More || len(p.Rows) != 5 {
				s.Fatalf("backward: %d rows, more %v", len(p.Rows), p.More)
			}
		}},
		scene{"page: more is false in an empty partition", func(s *stage) {
			if p := s.page(table.Query{PK: s.key("p", "x").PK, Limit: 1}); p.More || len(p.Rows) != 0 {
				s.Fatalf("%d rows, more %v", len(p.Rows), p.More)
			}
		}},
		scene{"page: keys only, same rows and same order", keysOnly},
		scene{"page: keys only over large rows", func(s *stage) {
			s.large(6, 300<<10)
			if got := s.walk(table.Query{PK: s.key("p", "x").PK, KeysOnly: true}); !slices.Equal(got, numbers(0, 6)) {
				s.Fatalf("walked %q", got)
			}
		}},
	)
}

// large creates n rows of exactly size bytes.
func (s *stage) large(n, size int) {
	for i := range n {
		tx := s.tx()
		tx.Writes = []table.Write{sized(s.key("p", number(i)), tx.ID, size)}
		if err := s.store.Commit(s.Context(), tx); err != nil {
			s.Fatal(err)
		}
	}
}

// pagesEnd walks rows of one size. A store may count a little more for a row than the port
// does, so a page may end one row early, but never without a row and never above the limit
// by more than the row that crossed it.
func (s *stage) pagesEnd(back bool, rows, size int) {
	q := table.Query{PK: s.key("p", "x").PK, Reverse: back}
	want := numbers(0, rows)
	if back {
		want = reversed(want)
	}
	var got []string
	for {
		p := s.page(q)
		total := 0
		for _, r := range p.Rows {
			if !strings.HasPrefix(string(r.Data), "ddd") {
				s.Fatalf("%v came without its data", r.Key)
			}
			total += r.Bytes()
		}
		got = append(got, sks(p.Rows)...)
		if total >= table.MaxPage+size {
			s.Fatalf("a page of %d bytes", total)
		}
		if p.More && total < table.MaxPage-size {
			s.Fatalf("a page ended at %d bytes with more to come", total)
		}
		if p.More != (len(got) < rows) {
			s.Fatalf("%d of %d rows read, more is %v", len(got), rows, p.More)
		}
		if !p.More {
			break
		}
		q.After = got[len(got)-1]
	}
	if !slices.Equal(got, want) {
		s.Fatalf("walked %q", got)
	}
}

func keysOnly(s *stage) {
	s.fill("p", 12, number)
	s.must(add(s.key("p", number(12)), "n", 3))
	q := table.Query{PK: s.key("p", "x").PK}
	full := s.page(q).Rows
	q.KeysOnly = true
	short := s.page(q).Rows
	if !slices.Equal(sks(full), sks(short)) {
		s.Fatalf("keys %q, rows %q", sks(short), sks(full))
	}
	for i := range full {
		if full[i].Version != short[i].Version {
			s.Fatalf("%v: version %q, keys only %q", full[i].Key, full[i].Version, short[i].Version)
		}
	}
}
