package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

// note is the 1 KB object both handlers take and answer.
type note struct {
	Title string   `json:"title" rule:"required,min=1,max=120"`
	Text  string   `json:"text" rule:"required,min=1,max=4000"`
	Kind  string   `json:"kind" rule:"required,enum=plan|report|question"`
	Cents int      `json:"cents" rule:"min=0,max=100000"`
	Tags  []string `json:"tags" rule:"max=10"`
	Place place    `json:"place"`
}

type place struct {
	City string `json:"city" rule:"max=80"`
	Open bool   `json:"open"`
}

type noteOut struct {
	ID string `json:"id"`
	note
}

type noteRead struct {
	ID string `path:"id"`
}

func noteKey(id string) table.Key { return table.Key{PK: "bench.NOTE#" + id, SK: "ROOT"} }

// Rows implements op.Prefetcher.
func (in noteRead) Rows(string) []table.Key { return []table.Key{noteKey(in.ID)} }

var writeNote = op.Declare(op.Meta{ID: "bench.note.write", Method: "POST", Path: "/api/bench/notes", Status: 201,
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &limit.Rule{Name: "note.write", N: 1 << 20, Per: time.Hour},
	Summary: "Keep a note.", Contract: "none"},
	func(c *op.Call, in note) (noteOut, error) {
		out := noteOut{ID: c.NewID(), note: in}
		c.Create(noteKey(out.ID), in)
		return out, nil
	})

var readNote = op.Declare(op.Meta{ID: "bench.note.read", Method: "GET", Path: "/api/bench/notes/{id}",
	Auth: op.Maker, Scope: "deals:write", Summary: "Read a note.", Contract: "none"},
	func(c *op.Call, in noteRead) (noteOut, error) {
		n, _, err := op.Load[note](c, noteKey(in.ID))
		return noteOut{in.ID, n}, err
	})

// still answers the rows it holds and forgets what is written: what is left to measure is
// what stands before the store.
type still struct{ rows map[table.Key]table.Row }

func (s still) Get(_ context.Context, keys ...table.Key) ([]table.Row, error) {
	rows := make([]table.Row, len(keys))
	for i, k := range keys {
		if rows[i] = s.rows[k]; rows[i].Version == "" {
			rows[i].Key = k
		}
	}
	return rows, nil
}

func (s still) Query(context.Context, table.Query) (table.Page, error) { return table.Page{}, nil }
func (s still) Commit(context.Context, *table.Tx) error                { return nil }

// body is a note of about 1 KB.
func body() []byte {
	b, _ := json.Marshal(note{"Measure twice", strings.Repeat("Nine \"plain\" words stand here to be read. ", 20), "report", 1250,
		[]string{"one", "two", "three"}, place{"Graz", true}})
	return b
}

// bare is what a service without any promise does: decode, encode.
func bare(w http.ResponseWriter, r *http.Request) {
	var n note
	b, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, http.StatusCreated, noteOut{"1", n})
}

// bareRead is the same for a read: the stored bytes are decoded and encoded.
func bareRead(stored []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var n note
		if err := json.Unmarshal(stored, &n); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, http.StatusOK, noteOut{"1", n})
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	b, _ := json.Marshal(v)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	w.Write(b)
}

// exchange is a handler of both operations over a still store, and an agent's token.
func exchange(b *testing.B) (h http.Handler, token string) {
	x := optest.New(b)
	x.Run("bench", func(c *op.Call) (err error) {
		token, err = account.AgentToken.Issue(c, c.NewID(), nil, time.Time{})
		c.Create(noteKey("1"), json.RawMessage(body()))
		return err
	})
	rows, _, err := x.Store.List(context.Background(), "", 100)
	if err != nil {
		b.Fatal(err)
	}
	s := still{map[table.Key]table.Row{}}
	for _, r := range rows {
		s.rows[r.Key] = r
	}
	x.Engine.Store = s
	return rest.Handler(x.Engine, []*op.Operation{writeNote, readNote}, rest.Options{BaseURL: "http://guildhall.test"}), token
}

// sink is a response writer that costs nothing.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(n int)           { s.status = n }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }

// side is one of the two handlers that are compared.
type side struct {
	h      http.Handler
	r      *http.Request
	sent   []byte
	want   int
	keys   int
	took   time.Duration
	allocs uint64
	w      sink
}

func newSide(h http.Handler, method, path, token string, sent []byte, want int) *side {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return &side{h: h, r: r, sent: sent, want: want, w: sink{header: http.Header{}}}
}

// run makes n calls, each with a key of its own, and adds what they took.
func (s *side) run(b *testing.B, n int) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := processor()
	for range n {
		s.keys++
		clear(s.w.header)
		s.r.Header.Set("Idempotency-Key", strconv.Itoa(s.keys))
		s.r.Body, s.r.ContentLength = io.NopCloser(bytes.NewReader(s.sent)), int64(len(s.sent))
		s.h.ServeHTTP(&s.w, s.r)
		if s.w.status != s.want {
			b.Fatalf("status %d, want %d", s.w.status, s.want)
		}
	}
	s.took += processor() - start
	runtime.ReadMemStats(&after)
	s.allocs += after.Mallocs - before.Mallocs
}

// processor is the time this process has had on processors: a busy machine hardly shows in it.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// turn is how many calls one side makes before the other has its turn.
const turn = 500

// compare runs both sides in turns and reports the ratios.
func compare(b *testing.B, ours, plain *side) {
	ours.run(b, turn)
	plain.run(b, turn)
	ours.took, plain.took, ours.allocs, plain.allocs = 0, 0, 0, 0
	b.ResetTimer()
	for n := b.N; n > 0; n -= turn {
		ours.run(b, min(n, turn))
		plain.run(b, min(n, turn))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ours.took.Nanoseconds())/float64(b.N), "ours-ns")
	b.ReportMetric(float64(plain.took.Nanoseconds())/float64(b.N), "bare-ns")
	b.ReportMetric(float64(ours.allocs)/float64(b.N), "ours-allocs")
	b.ReportMetric(float64(ours.took)/float64(plain.took), "x-time")
	b.ReportMetric(float64(ours.allocs)/float64(plain.allocs), "x-allocs")
}

// BenchmarkMutationOverBare is the budget of a write beyond the store: authenticated, with a
// key, validated and counted, 1 KB each way. Budget: 4 times the time, 6 times the allocations.
func BenchmarkMutationOverBare(b *testing.B) {
	h, token := exchange(b)
	compare(b, newSide(h, "POST", "/api/bench/notes", token, body(), http.StatusCreated),
		newSide(http.HandlerFunc(bare), "POST", "/api/bench/notes", "", body(), http.StatusCreated))
}

// BenchmarkReadOverBare is the same for an authenticated read.
func BenchmarkReadOverBare(b *testing.B) {
	h, token := exchange(b)
	compare(b, newSide(h, "GET", "/api/bench/notes/1", token, nil, http.StatusOK),
		newSide(bareRead(body()), "GET", "/api/bench/notes/1", "", nil, http.StatusOK))
}
