package meter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/table"
	"guildhall/pkg/table/ddb"
	"guildhall/pkg/table/ddb/stub"
	"guildhall/pkg/table/mem"
	"guildhall/pkg/table/meter"
	"guildhall/pkg/table/tabletest"
)

// With a Tally in every context the store is still the same store.
func TestSuite(t *testing.T) {
	tabletest.Run(t, func(*testing.T) table.Store { return counting{meter.Wrap(mem.New())} })
}

// counting puts a Tally into every call.
type counting struct{ *meter.Store }

func (c counting) Get(ctx context.Context, keys ...table.Key) ([]table.Row, error) {
	ctx, _ = meter.With(ctx)
	return c.Store.Get(ctx, keys...)
}

func (c counting) Query(ctx context.Context, q table.Query) (table.Page, error) {
	ctx, _ = meter.With(ctx)
	return c.Store.Query(ctx, q)
}

func (c counting) Commit(ctx context.Context, tx *table.Tx) error {
	ctx, _ = meter.With(ctx)
	return c.Store.Commit(ctx, tx)
}

func TestItemBytesFollowAWSsRules(t *testing.T) {
	k := table.Key{PK: "pk", SK: "sk"}
	for _, c := range []struct {
		row  table.Row
		want int
	}{
		{table.Row{Key: k}, 0},
		{table.Row{Key: k, Version: "v1"}, 4 + 4 + 1 + 2},
		{table.Row{Key: table.Key{PK: "é", SK: "sk"}, Version: "v1"}, 4 + 4 + 1 + 2},
		{table.Row{Key: k, Version: "v1", Data: make([]byte, 100)}, 11 + 101},
		{table.Row{Key: k, Version: "v1", Expires: time.Unix(1796062812, 0)}, 11 + 1 + 6},
		{table.Row{Key: k, Version: "v1", Expires: time.Unix(1796000000, 0)}, 11 + 1 + 3},
		{table.Row{Key: k, Version: "counter", Counters: map[string]int64{"n": 0}}, 16 + 3 + 1},
		{table.Row{Key: k, Version: "counter", Counters: map[string]int64{"n": 123}}, 16 + 3 + 3},
		{table.Row{Key: k, Version: "counter", Counters: map[string]int64{"n": -1200}}, 16 + 3 + 3},
	} {
		if got := meter.ItemBytes(c.row); got != c.want {
			t.Errorf("%+v: %d bytes, want %d", c.row, got, c.want)
		}
	}
}

func TestUnitsChangeAtTheBoundary(t *testing.T) {
	for bytes, want := range map[int][2]int{
		0: {1, 1}, 1: {1, 1}, 1024: {1, 1}, 1025: {1, 2}, 4096: {1, 4}, 4097: {2, 5}, 400 << 10: {100, 400},
	} {
		if got := [2]int{meter.ReadUnits(bytes), meter.WriteUnits(bytes)}; got != want {
			t.Errorf("%d bytes: %v, want %v", bytes, got, want)
		}
	}
}

func TestATallyCountsItsOwnContextAlone(t *testing.T) {
	s := meter.Wrap(mem.New())
	put := func(ctx context.Context, id string, kinds ...table.Write) {
		if err := s.Commit(ctx, &table.Tx{ID: id, Writes: kinds}); err != nil {
			t.Error(err)
		}
	}
	row := func(sk string) table.Write {
		return table.Write{Kind: table.Create, Key: table.Key{PK: "p", SK: sk}, Data: make([]byte, 1500)}
	}
	put(context.Background(), "a", row("a"))
	ctx, tally := meter.With(context.Background())
	put(ctx, "b", row("b"))
	put(ctx, "c", row("c"), row("d"))
	if _, err := s.Query(ctx, table.Query{PK: "p"}); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(ctx, table.Key{PK: "p", SK: "a"}, table.Key{PK: "p", SK: "none"}); err != nil {
		t.Error(err)
	}
	got := []int{tally.Calls, tally.Gets, tally.Queries, tally.Partitions, tally.Commits, tally.ReadUnits, tally.WriteUnits, tally.RowsRead, tally.RowsWritten}
	if want := []int{4, 1, 1, 1, 2, 2 + 2, 2 + 8, 5, 3}; !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

func TestATallyMayBeSharedByManyReaders(t *testing.T) {
	s := meter.Wrap(mem.New())
	ctx, tally := meter.With(context.Background())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := s.Get(ctx, table.Key{PK: "p", SK: "s"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if tally.Calls != 400 || tally.ReadUnits != 400 {
		t.Errorf("counted %d calls, %d units", tally.Calls, tally.ReadUnits)
	}
}

// The same random calls go to a metered store in memory and to the DynamoDB adapter on a stub
// with AWS's rules: answers, units and round trips agree, call by call.
func TestTheMeterAgreesWithTheAdapter(t *testing.T) {
	const seed = 7
	server := stub.New()
	web := httptest.NewServer(server)
	defer web.Close()
	remote, err := ddb.New(ddb.Options{Table: "t", Region: "eu-west-1", Endpoint: web.URL, AccessKey: "k", SecretKey: "s",
		Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{rnd: rand.New(rand.NewPCG(seed, 0)), server: server, remote: remote, metered: meter.Wrap(mem.New())}
	for n := range 2000 {
		ctx, tally := meter.With(context.Background())
		r0, w0 := server.Units()
		c0 := p.requests()
		what, problem := p.step(ctx, n)
		r1, w1 := server.Units()
		if problem != "" {
			t.Fatalf("seed %d, step %d, %s: %s", seed, n, what, problem)
		}
		if float64(tally.ReadUnits) != r1-r0 || float64(tally.WriteUnits) != w1-w0 || tally.Calls != p.requests()-c0 {
			t.Fatalf("seed %d, step %d, %s: the meter says %d reads, %d writes, %d calls, the stub %v, %v, %d", seed, n, what,
				tally.ReadUnits, tally.WriteUnits, tally.Calls, r1-r0, w1-w0, p.requests()-c0)
		}
	}
}

// pair runs each call twice.
type pair struct {
	rnd     *rand.Rand
	server  *stub.Server
	remote  table.Store
	metered table.Store
}

func (p *pair) requests() (n int) {
	for _, c := range p.server.AllRequests() {
		n += c
	}
	return n
}

func (p *pair) key() table.Key {
	return table.Key{PK: fmt.Sprint("p", p.rnd.IntN(2)), SK: fmt.Sprintf("%02d", p.rnd.IntN(30))}
}

func (p *pair) step(ctx context.Context, n int) (what, problem string) {
	switch p.rnd.IntN(4) {
	case 0:
		keys := make([]table.Key, 1+p.rnd.IntN(5))
		for i := range keys {
			keys[i] = p.key()
		}
		a, errA := p.metered.Get(ctx, keys...)
		b, errB := p.remote.Get(ctx, keys...)
		return fmt.Sprint("get ", keys), differ(a, b, errA, errB)
	case 1:
		q := table.Query{PK: p.key().PK, Reverse: p.rnd.IntN(2) == 0, KeysOnly: p.rnd.IntN(3) == 0, Limit: p.rnd.IntN(4)}
		for _, bound := range []*string{&q.From, &q.To, &q.After} {
			switch p.rnd.IntN(4) {
			case 0:
				*bound = p.key().SK
			case 1:
				*bound = p.key().SK + "x" // names no row
			}
		}
		a, errA := p.metered.Query(ctx, q)
		b, errB := p.remote.Query(ctx, q)
		return fmt.Sprintf("query %+v", q), differ(a, b, errA, errB)
	}
	tx := p.tx(n)
	errA, errB := p.metered.Commit(ctx, tx), p.remote.Commit(ctx, tx)
	return fmt.Sprintf("commit %d rows, first %v %v", len(tx.Writes), tx.Writes[0].Kind, tx.Writes[0].Key), differ(nil, nil, errA, errB)
}

// tx makes a commit whose preconditions mostly hold.
func (p *pair) tx(n int) *table.Tx {
	tx := &table.Tx{ID: fmt.Sprint("tx", n)}
	seen := map[table.Key]bool{}
	for range 1 + p.rnd.IntN(4) {
		k := p.key()
		if seen[k] {
			continue
		}
		seen[k] = true
		rows, err := p.metered.Get(context.Background(), k)
		if err != nil {
			panic(err)
		}
		tx.Writes = append(tx.Writes, p.write(rows[0]))
	}
	return tx
}

func (p *pair) write(now table.Row) table.Write {
	w := table.Write{Key: now.Key, Version: now.Version}
	if p.rnd.IntN(12) == 0 {
		w.Version = "wrong"
	}
	counter := p.rnd.IntN(3) == 0
	switch {
	case now.Version == table.CounterVersion || (!now.Found() && counter):
		w.Kind, w.Adds = table.Add, map[string]int64{"a": p.rnd.Int64N(2000) - 1000, "b": 1}
	case !now.Found():
		w.Kind, w.Version = table.Create, ""
	default:
		w.Kind = []table.Kind{table.Replace, table.Replace, table.Check, table.Create, table.Delete}[p.rnd.IntN(5)]
		if w.Kind == table.Create && p.rnd.IntN(4) > 0 {
			w.Kind = table.Replace
		}
	}
	if w.Marks() {
		w.Data = []byte(strings.Repeat("d", p.rnd.IntN(9000)))
		if p.rnd.IntN(3) == 0 {
			w.Expires = time.Unix(1796000000+p.rnd.Int64N(1000), 0)
		}
	}
	return w
}

func differ(a, b any, errA, errB error) string {
	if errors.Is(errA, table.ErrConflict) != errors.Is(errB, table.ErrConflict) || (errA == nil) != (errB == nil) {
		return fmt.Sprintf("%v and %v", errA, errB)
	}
	if fmt.Sprintf("%v", a) != fmt.Sprintf("%v", b) {
		return fmt.Sprintf("answers differ:\n%.2000v\n%.2000v", a, b)
	}
	return ""
}
