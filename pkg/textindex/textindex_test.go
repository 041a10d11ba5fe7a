package textindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/mem"
)

func docKey(id string) table.Key { return table.Key{PK: "help.DOC#" + id, SK: "ROOT"} }

// library is a collection of documents with an index.
type library struct {
	*optest.Exchange
	x    *Index
	docs map[string]Doc
}

func newLibrary(t testing.TB, seed uint64) *library {
	l := &library{docs: map[string]Doc{}}
	l.x = &Index{Name: "help.TEXT#docs", Context: "help", Kind: "index", Read: read}
	l.Exchange = optest.Seeded(t, seed, optest.WithTimers(l.x.Timer()), optest.WithStore(func(s table.Store) table.Store { return small{s, t} }))
	return l
}

func read(c *op.Call, ids []string) (docs []Doc, err error) {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = docKey(id)
	}
	rows, err := c.Scan(keys...)
	for _, r := range rows {
		var d Doc
		if r.Found() {
			err = op.Decode(r.Data, &d)
			docs = append(docs, d)
		}
	}
	return docs, err
}

// small is a store that watches the size of commits.
type small struct {
	table.Store
	t testing.TB
}

func (s small) Commit(ctx context.Context, tx *table.Tx) error {
	if len(tx.Writes) > stepRows+8 {
		s.t.Errorf("a commit of %d rows", len(tx.Writes))
	}
	return s.Store.Commit(ctx, tx)
}

func (l *library) put(text ...string) Doc {
	l.T.Helper()
	var d Doc
	l.Run("help", func(c *op.Call) error {
		d = Doc{ID: c.NewID(), At: c.Now, Text: text}
		c.Create(docKey(d.ID), d)
		l.x.Add(c, d.ID)
		return nil
	})
	l.docs[d.ID] = d
	return d
}

func (l *library) change(id string, change func(*Doc)) {
	l.T.Helper()
	l.Run("help", func(c *op.Call) error {
		d, _, err := op.Load[Doc](c, docKey(id))
		change(&d)
		c.Put(docKey(id), d)
		l.docs[id] = d
		return err
	})
}

func (l *library) search(q string) (f Found) {
	l.T.Helper()
	l.Run("help", func(c *op.Call) (err error) { f, err = l.x.Search(c, q); return err })
	return f
}

// want searches the plain way.
func (l *library) want(q string) (ids []string) {
	var hits []Doc
	for _, d := range l.docs {
		if !d.Hidden && slices.ContainsFunc(d.Text, func(t string) bool { return strings.Contains(strings.ToLower(t), strings.ToLower(q)) }) {
			hits = append(hits, d)
		}
	}
	slices.SortFunc(hits, func(a, b Doc) int {
		if n := b.At.Compare(a.At); n != 0 {
			return n
		}
		return strings.Compare(b.ID, a.ID)
	})
	for _, d := range hits {
		ids = append(ids, d.ID)
	}
	return ids
}

func (l *library) check(q string) {
	l.T.Helper()
	f := l.search(q)
	var got []string
	for _, h := range f.Hits {
		got = append(got, h.ID)
	}
	if want := l.want(q); !slices.Equal(got, want) || f.Truncated {
		l.T.Fatalf("%q: %d found (truncated %v), want %d", q, len(got), f.Truncated, len(want))
	}
}

var words = strings.Fields("the quick brown fox jumps over Lazy dogs ÄRGER Straße 100% under_score naïve ПРИВЕТ 日本語の 🙂🙃🙂 SQL' \\n <b> aaa aaaa")

func sentence(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(" -,"[r.IntN(3)])
	}
	return b.String()
}

// Whatever was added, hidden or written into lists so far, a search finds what reading
// every document finds.
func TestASearchFindsWhatReadingEverythingFinds(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := newLibrary(t, seed)
		queries := func() {
			for range 12 {
				s := []rune(sentence(r, 1+r.IntN(3)))
				from := r.IntN(max(1, len(s)-3))
				q := strings.ToUpper(string(s[from:min(len(s), from+3+r.IntN(8))]))
				if strings.Contains(q, "SS") {
					continue // upper case of ß, which is no case of one character
				}
				if !Short(q) {
					l.check(q)
				}
			}
		}
		for range 60 {
			l.put(sentence(r, r.IntN(40)), sentence(r, 5))
			switch r.IntN(6) {
			case 0:
				l.Advance(time.Duration(r.IntN(90)) * time.Second)
			case 1:
				for id := range l.docs {
					l.change(id, func(d *Doc) { d.Hidden = !d.Hidden })
					break
				}
			}
		}
		queries()
		l.Advance(time.Hour)
		queries()
		if n := waiting(l); n != 0 {
			t.Errorf("seed %d: %d documents still wait", seed, n)
		}
	}
}

func waiting(l *library) (n int) {
	for s := range shards {
		p, err := l.Store.Query(context.Background(), table.Query{PK: l.x.waitingPK(s)})
		if err != nil {
			l.T.Fatal(err)
		}
		n += len(p.Rows)
	}
	return n
}

func TestCaseOfEveryAlphabet(t *testing.T) {
	l := newLibrary(t, 1)
	for _, s := range []string{"Kelvin \u212a", "\u017ftrange", "ΣΊΣΥΦΟΣ", "straße", "STRASSE", "İstanbul", "ǅungla"} {
		l.put(s)
	}
	l.Settle()
	for q, want := range map[string]int{"KELVIN K": 1, "STRANGE": 1, "σίσυφος": 1, "strasse": 1, "STRAẞE": 1, "ǆung": 1, "istanbul": 0, "İSTANBUL": 1} {
		if got := len(l.search(q).Hits); got != want {
			t.Errorf("%q finds %d, want %d", q, got, want)
		}
	}
}

func TestNothingMatchesAcrossTexts(t *testing.T) {
	l := newLibrary(t, 1)
	l.put("one two", "three four")
	for range 2 {
		if n := len(l.search("two three").Hits) + len(l.search("twothree").Hits) + len(l.search("woth").Hits); n != 0 {
			t.Errorf("%d matches over the end of a text", n)
		}
		l.Settle()
	}
}

// grow adds documents straight into the lists, as fire does, without a timer each.
func (l *library) grow(n int, text func(int) string) {
	l.T.Helper()
	for done := 0; done < n; {
		end := min(n, done+40)
		l.Run("help", func(c *op.Call) error {
			for ; done < end; done++ {
				d := Doc{ID: c.NewID(), At: c.Now, Text: []string{text(done)}}
				c.Create(docKey(d.ID), d)
				c.Create(l.x.waiting(subjectOf(d.ID, c.Now)), struct{}{})
			}
			return nil
		})
		l.Advance(time.Second)
		for l.step() {
		}
	}
}

func (l *library) step() (more bool) {
	l.Run("help", func(c *op.Call) error {
		h, _, err := op.Load[head](c, l.x.headKey())
		if err != nil {
			return err
		}
		idle, err := l.x.step(c, &h)
		c.Put(l.x.headKey(), h)
		more = !idle
		return err
	})
	return more
}

func TestASearchIsCompleteUpToTheLimitOfCandidates(t *testing.T) {
	l := newLibrary(t, 1)
	l.grow(MaxCandidates, func(i int) string { return fmt.Sprintf("xyz %04d", i) })
	if f := l.search("xyz"); len(f.Hits) != MaxCandidates || f.Truncated {
		t.Errorf("%d hits, truncated %v", len(f.Hits), f.Truncated)
	}
	l.Advance(time.Second)
	l.grow(1, func(int) string { return "the newest xyz" })
	f := l.search("xyz")
	if len(f.Hits) != MaxCandidates || !f.Truncated || f.Hits[0].At != f.Hits[1].At.Add(2*time.Second) {
		t.Errorf("%d hits, truncated %v: %v", len(f.Hits), f.Truncated, f.Hits[:2])
	}
	if f := l.search("xyz 0000"); len(f.Hits) != 1 || f.Truncated {
		t.Errorf("a rare part makes it complete: %d hits, truncated %v", len(f.Hits), f.Truncated)
	}
	if f := l.search("newest xyz"); len(f.Hits) != 1 || f.Truncated {
		t.Errorf("%d hits, truncated %v", len(f.Hits), f.Truncated)
	}
}

func TestTooManyWaitingDocumentsAreSaidSo(t *testing.T) {
	l := newLibrary(t, 1)
	for range shards*MaxWaiting - 60 {
		l.put("abc")
	}
	if f := l.search("abc"); f.Truncated || len(f.Hits) != len(l.docs) {
		t.Errorf("%d of %d found, truncated %v", len(f.Hits), len(l.docs), f.Truncated)
	}
	for range 200 {
		l.put("abc")
	}
	if !l.search("abc").Truncated {
		t.Error("waiting documents were left out silently")
	}
	l.Settle()
	l.check("abc")
}

func TestManyTimersWriteOneAtATime(t *testing.T) {
	l := newLibrary(t, 1)
	for i := range 20 {
		l.put(fmt.Sprintf("document %d", i))
	}
	l.Settle()
	if n := waiting(l); n != 0 {
		t.Errorf("%d documents wait behind the timer that has the turn", n)
	}
	before := l.Store.Stats()
	l.Advance(2 * turnFor)
	if s := l.Store.Stats().Since(before); s.Queries > 20*clock.Shards*8 {
		t.Errorf("timers with nothing to do made %d queries", s.Queries)
	}
	l.check("document 7")
}

// A timer that got stuck with the turn is replaced when its time is up.
func TestAStuckTimerLosesItsTurn(t *testing.T) {
	l := newLibrary(t, 1)
	l.Run("help", func(c *op.Call) error {
		c.Create(l.x.headKey(), head{Turn: "somebody", Until: c.Now.Add(turnFor)})
		return nil
	})
	l.put("abcdef")
	l.Advance(turnFor - time.Millisecond)
	if waiting(l) != 1 {
		t.Error("a timer wrote without the turn")
	}
	l.check("bcd")
	l.Advance(time.Millisecond)
	if waiting(l) != 0 {
		t.Error("nobody took over")
	}
	l.check("bcd")
}

func costOf(l *library, q string) (f Found, s mem.Stats) {
	before := l.Store.Stats()
	f = l.search(q)
	return f, l.Store.Stats().Since(before)
}

func TestWhatASearchCostsAtMost(t *testing.T) {
	l := newLibrary(t, 1)
	l.grow(3000, func(i int) string { return fmt.Sprintf("common word and number %05d", i) })
	for q, want := range map[string]int64{
		"number 00017": 3,  // lists, ids, documents
		"nowhere":      1,  // lists
		"common":       23, // lists, full rows, ids, twenty reads of documents
		"number 0001":  3,
	} {
		f, s := costOf(l, q)
		t.Logf("%q: %d hits, %d gets, %d queries, %d rows", q, len(f.Hits), s.Gets, s.Queries, s.RowsRead)
		if s.Gets > want || s.Queries != shards {
			t.Errorf("%q costs %d gets and %d queries, want at most %d", q, s.Gets, s.Queries, want)
		}
	}
	long := strings.Repeat("common word and number 00017 ", 6)
	if _, s := costOf(l, long); s.Gets > 12 {
		t.Errorf("a long text costs %d gets", s.Gets)
	}
}

func BenchmarkSearchIn200000(b *testing.B) {
	l := newLibrary(b, 1)
	l.grow(200_000, func(i int) string { return fmt.Sprintf("common word and number %06d", i) })
	for _, q := range []string{"number 000017", "common", "number 0000", "nowhere"} {
		b.Run(q, func(b *testing.B) {
			var s mem.Stats
			var f Found
			for b.Loop() {
				f, s = costOf(l, q)
			}
			b.ReportMetric(float64(s.Gets+s.Queries), "calls/op")
			b.ReportMetric(float64(s.RowsRead), "rows/op")
			b.ReportMetric(float64(len(f.Hits)), "hits")
		})
	}
}

func FuzzFold(f *testing.F) {
	f.Add("Straße ſ K", "SSE")
	f.Fuzz(func(t *testing.T, s, q string) {
		s, q = strings.ToValidUTF8(s, "?"), strings.ToValidUTF8(q, "?")
		if strings.Contains(s, q) && !strings.Contains(Fold(s), Fold(q)) {
			t.Errorf("%q holds %q, folded it does not", s, q)
		}
		if Fold(Fold(s)) != Fold(s) {
			t.Errorf("%q folds twice", s)
		}
		have := trigrams(Fold(s))
		for _, tri := range trigrams(Fold(q)) {
			if _, ok := slices.BinarySearch(have, tri); strings.Contains(Fold(s), Fold(q)) && !ok {
				t.Errorf("%q misses %q of %q", s, tri, q)
			}
		}
	})
}
