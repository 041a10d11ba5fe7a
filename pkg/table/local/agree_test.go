package local_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
	"guildhall/pkg/table/local"
	"guildhall/pkg/table/mem"
)

var (
	agreeSeed  = flag.Uint64("agree.seed", 0, "run this seed of the agreement test only")
	agreeSteps = flag.Int("agree.steps", 800, "steps of each seed")
)

// TestMemAndLocalAgreeOnRandomHistories does the same random things to both stores: good and
// bad commits, repeated ones, reads of every shape, purges, reopening the file. Every answer
// must be the same, to the kind of the error.
func TestMemAndLocalAgreeOnRandomHistories(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4}
	if *agreeSeed != 0 {
		seeds = []uint64{*agreeSeed}
	} else {
		seeds = append(seeds, uint64(time.Now().UnixNano()))
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := &history{
				T: t, rng: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), model: mem.New(),
				now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), versions: map[table.Key]string{},
			}
			h.reopen()
			defer func() {
				h.real.Close()
				if t.Failed() {
					t.Logf("replay with: go test ./pkg/table/local -run Agree -agree.seed=%d\nthe last steps:\n%s", seed, strings.Join(h.trace, "\n"))
				}
			}()
			for range *agreeSteps {
				h.step()
			}
			h.compareAll()
			if c := h.model.Stats(); int(c.Commits-c.Conflicts) < *agreeSteps/5 || int(c.Conflicts) < *agreeSteps/20 {
				t.Errorf("a history of little worth: %+v", c)
			}
		})
	}
}

// history is one run: two stores, and what a client would remember of what it read.
type history struct {
	*testing.T
	rng      *rand.Rand
	dir      string
	model    *mem.Store
	real     *local.Store
	now      time.Time
	ids      int
	sent     []*table.Tx
	versions map[table.Key]string
	trace    []string
}

// traced is how many of the last steps a failure shows.
const traced = 10

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
	if len(h.trace) > traced {
		h.trace = h.trace[1:]
	}
}

func (h *history) reopen() {
	if h.real != nil {
		if err := h.real.Close(); err != nil {
			h.Fatal(err)
		}
	}
	s, err := local.Open(ctx, h.dir)
	if err != nil {
		h.Fatal(err)
	}
	h.real = s
}

func (h *history) step() {
	switch n := h.rng.IntN(100); {
	case n < 55:
		h.commit(h.tx())
	case n < 60 && len(h.sent) > 0:
		h.commit(h.sent[h.rng.IntN(len(h.sent))])
	case n < 75:
		h.get()
	case n < 93:
		h.query()
	case n < 96:
		h.list()
	case n < 98:
		h.now = h.now.Add(time.Duration(h.rng.IntN(3000)) * time.Millisecond)
		h.purge()
	case n < 99:
		h.note("reopen")
		h.reopen()
	default:
		h.compareAll()
	}
}

// same demands the same kind of error from both.
func (h *history) same(what string, model, real error) bool {
	h.Helper()
	for _, kind := range []error{table.ErrConflict, table.ErrInvalid, table.ErrTooLarge, table.ErrUnavailable} {
		if errors.Is(model, kind) != errors.Is(real, kind) {
			h.Fatalf("%s: mem answers %v, local %v", what, model, real)
		}
	}
	if (model == nil) != (real == nil) {
		h.Fatalf("%s: mem answers %v, local %v", what, model, real)
	}
	return model == nil
}

func (h *history) sameRows(what string, model, real []table.Row) {
	h.Helper()
	ok := slices.EqualFunc(model, real, func(a, b table.Row) bool {
		return a.Key == b.Key && a.Version == b.Version && bytes.Equal(a.Data, b.Data) &&
			maps.Equal(a.Counters, b.Counters) && (a.Counters == nil) == (b.Counters == nil) && a.Expires.Equal(b.Expires)
	})
	if !ok {
		h.Fatalf("%s: mem answers\n%s\nlocal\n%s", what, shown(model), shown(real))
	}
	for _, r := range model {
		if h.rng.IntN(3) > 0 { // sometimes the client keeps an old version in mind
			h.versions[r.Key] = r.Version
		}
	}
}

func shown(rows []table.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "  %.60q version %q, %d bytes %.20q, %v, expires %v\n", r.Key.String(), r.Version, len(r.Data), r.Data, r.Counters, r.Expires)
	}
	return b.String()
}

var keyParts = []string{"a", "b", "b#1", "b#2", "c", "ü", "😀", "~", "A", "a/b", "0", "00"}

func (h *history) part() string {
	switch h.rng.IntN(60) {
	case 0:
		return ""
	case 1:
		return "bad\x00part"
	case 2:
		return "bad\xfe"
	case 3:
		return strings.Repeat("k", table.MaxKeyPart+h.rng.IntN(2))
	}
	return keyParts[h.rng.IntN(len(keyParts))]
}

// key is mostly one of few, so that commits meet each other.
func (h *history) key() table.Key {
	if h.rng.IntN(4) > 0 {
		return table.Key{PK: keyParts[h.rng.IntN(3)], SK: keyParts[h.rng.IntN(len(keyParts))]}
	}
	return table.Key{PK: h.part(), SK: h.part()}
}

func (h *history) tx() *table.Tx {
	h.ids++
	tx := &table.Tx{ID: fmt.Sprint("tx", h.ids)}
	n := 1 + h.rng.IntN(6)
	if h.rng.IntN(60) == 0 {
		n = table.MaxTxRows + h.rng.IntN(2)
	}
	for i := range n {
		w := h.write()
		if n > table.MaxTxRows-1 {
			w.Key.SK = fmt.Sprint("many", i)
		}
		tx.Writes = append(tx.Writes, w)
	}
	if h.rng.IntN(100) == 0 {
		tx.ID = ""
	}
	return tx
}

func (h *history) write() table.Write {
	w := table.Write{Kind: table.Kind(1 + h.rng.IntN(5)), Key: h.key()}
	if h.rng.IntN(100) == 0 {
		w.Kind = table.Kind(h.rng.IntN(9))
	}
	known := h.versions[w.Key]
	if known == "" && (w.Kind == table.Replace || w.Kind == table.Delete) && h.rng.IntN(3) > 0 {
		w.Kind = table.Create
	}
	if known != "" && w.Kind == table.Create && h.rng.IntN(3) > 0 {
		w.Kind = table.Replace
	}
	switch w.Kind {
	case table.Create, table.Replace:
		w.Data = h.data()
	case table.Add:
		w.Adds = map[string]int64{keyParts[h.rng.IntN(3)]: h.rng.Int64N(100) - 40}
		if h.rng.IntN(40) == 0 {
			w.Adds["big"] = table.MaxCounter - h.rng.Int64N(2) + h.rng.Int64N(2)
		}
	}
	if w.Kind != table.Create {
		w.Version = known
		if h.rng.IntN(12) == 0 {
			w.Version = "stale"
		}
	}
	if h.rng.IntN(4) == 0 {
		w.Expires = h.now.Add(time.Duration(h.rng.IntN(20_000)-2000) * 777 * time.Microsecond)
	}
	return w
}

func (h *history) data() []byte {
	size := h.rng.IntN(300)
	switch h.rng.IntN(40) {
	case 0:
		size = 0
	case 1:
		size = table.MaxRowBytes - h.rng.IntN(200)
	case 2, 3:
		size = 100_000 + h.rng.IntN(100_000)
	}
	out := make([]byte, size)
	for i := range min(size, 300) {
		out[i] = byte(h.rng.Uint32())
	}
	return out
}

func described(tx *table.Tx) string {
	var b strings.Builder
	for i, w := range tx.Writes {
		if i == 10 {
			fmt.Fprintf(&b, "and %d more", len(tx.Writes)-i)
			break
		}
		fmt.Fprintf(&b, "%d of %.40q at %q with %d bytes, adds %v, expires %v; ", w.Kind, w.Key.String(), w.Version, len(w.Data), w.Adds, w.Expires)
	}
	return b.String()
}

// commit goes to both; sometimes the answer of the real one is lost and it is sent again.
func (h *history) commit(tx *table.Tx) {
	h.note("commit %s: %s", tx.ID, described(tx))
	model := h.model.Commit(ctx, tx)
	target := faulty.Wrap(h.real)
	if h.rng.IntN(4) == 0 && marked(tx) {
		if _, err := target.Inject(faulty.Fault{Mode: faulty.FailAfter}); err != nil {
			h.Fatal(err)
		}
		_ = target.Commit(ctx, tx)
	}
	if h.same("commit "+tx.ID, model, target.Commit(ctx, tx)) {
		h.sent = append(h.sent, tx)
		for _, w := range tx.Writes {
			if w.Marks() && h.rng.IntN(4) > 0 {
				h.versions[w.Key] = tx.ID
			}
		}
	}
}

func marked(tx *table.Tx) bool { return slices.ContainsFunc(tx.Writes, table.Write.Marks) }

func (h *history) get() {
	n := h.rng.IntN(8)
	if h.rng.IntN(30) == 0 {
		n = table.MaxGetKeys + h.rng.IntN(2)
	}
	keys := make([]table.Key, n)
	for i := range keys {
		keys[i] = h.key()
	}
	h.note("get %.40q", keys)
	a, errA := h.model.Get(ctx, keys...)
	b, errB := h.real.Get(ctx, keys...)
	if h.same("get", errA, errB) {
		h.sameRows("get", a, b)
	}
}

// query walks a few pages of a random query.
func (h *history) query() {
	q := table.Query{PK: keyParts[h.rng.IntN(3)], Reverse: h.rng.IntN(2) == 0, KeysOnly: h.rng.IntN(4) == 0, Limit: h.rng.IntN(7) - 1}
	for _, bound := range []*string{&q.From, &q.To, &q.After} {
		if h.rng.IntN(3) == 0 {
			*bound = h.part()
		}
	}
	if h.rng.IntN(4) == 0 {
		q = q.Prefix(keyParts[h.rng.IntN(len(keyParts))])
	}
	if h.rng.IntN(40) == 0 {
		q.PK = h.part()
	}
	for range 4 {
		h.note("query %.300q", fmt.Sprintf("%+v", q))
		a, errA := h.model.Query(ctx, q)
		b, errB := h.real.Query(ctx, q)
		if !h.same("query", errA, errB) {
			return
		}
		h.sameRows("query", a.Rows, b.Rows)
		if a.More != b.More {
			h.Fatalf("query %+v: mem says more %v, local %v", q, a.More, b.More)
		}
		if !a.More {
			return
		}
		q.After = a.Rows[len(a.Rows)-1].SK
	}
}

func (h *history) list() {
	after := ""
	if h.rng.IntN(2) == 0 {
		after = table.Position(h.key())
	}
	limit := h.rng.IntN(20) - 1
	h.note("list %q %d", after, limit)
	a, nextA, errA := h.model.List(ctx, after, limit)
	b, nextB, errB := h.real.List(ctx, after, limit)
	if h.same("list", errA, errB) {
		h.sameRows("list", a, b)
		if nextA != nextB {
			h.Fatalf("list: mem goes on at %q, local at %q", nextA, nextB)
		}
	}
}

func (h *history) purge() {
	const all = 1000 // fewer would leave open which of two that expired at once goes first
	h.note("purge %v", h.now)
	a, errA := h.model.Purge(ctx, h.now, all)
	b, errB := h.real.Purge(ctx, h.now, all)
	if h.same("purge", errA, errB) && a != b {
		h.Fatalf("purge: mem removed %d, local %d", a, b)
	}
}

// compareAll lists both from end to end.
func (h *history) compareAll() {
	h.note("compare all")
	for after := ""; ; {
		a, nextA, errA := h.model.List(ctx, after, 50)
		b, nextB, errB := h.real.List(ctx, after, 50)
		if !h.same("list", errA, errB) {
			return
		}
		h.sameRows("list", a, b)
		if nextA != nextB {
			h.Fatalf("list: mem goes on at %q, local at %q", nextA, nextB)
		}
		if after = nextA; after == "" {
			return
		}
	}
}
