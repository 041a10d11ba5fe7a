package faulty_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
	"guildhall/pkg/table/mem"
	"guildhall/pkg/table/tabletest"
)

var ctx = context.Background()

func TestSuitePassesWithNoFaultSet(t *testing.T) {
	tabletest.Run(t, func(*testing.T) table.Store { return faulty.Wrap(mem.New()) })
}

func inject(t *testing.T, s *faulty.Store, f faulty.Fault) *faulty.Rule {
	t.Helper()
	r, err := s.Inject(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var row = table.Key{PK: "bench.DEAL#7", SK: "ROOT"}

func createTx(id string, k table.Key) *table.Tx {
	return &table.Tx{ID: id, Writes: []table.Write{{Kind: table.Create, Key: k, Data: []byte("x")}}}
}

func exists(t *testing.T, s *faulty.Store, k table.Key) bool {
	t.Helper()
	rows, err := s.Inner().Get(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0].Found()
}

func TestEachModeAnswersAndActsAsItSays(t *testing.T) {
	hookErr := errors.New("the hook gives up")
	cases := []struct {
		name  string
		fault faulty.Fault
		want  []error // all of them; none: success
		done  bool
	}{
		{"fail before", faulty.Fault{Mode: faulty.FailBefore}, []error{table.ErrUnavailable}, false},
		{"fail after", faulty.Fault{Mode: faulty.FailAfter}, []error{table.ErrUnavailable}, true},
		{"conflict", faulty.Fault{Mode: faulty.Conflict}, []error{table.ErrConflict}, false},
		{"throttle", faulty.Fault{Mode: faulty.Throttle}, []error{table.ErrUnavailable, faulty.ErrThrottled}, false},
		{"drop", faulty.Fault{Mode: faulty.Drop}, []error{table.ErrUnavailable, context.DeadlineExceeded}, false},
		{"duplicate", faulty.Fault{Mode: faulty.Duplicate}, nil, true},
		{"delay", faulty.Fault{Mode: faulty.Delay, Hook: func(context.Context) error { return nil }}, nil, true},
		{"delay without end", faulty.Fault{Mode: faulty.Delay, Hook: func(context.Context) error { return hookErr }},
			[]error{table.ErrUnavailable, hookErr}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := faulty.Wrap(mem.New())
			rule := inject(t, s, c.fault)
			err := s.Commit(ctx, createTx("1", row))
			if (err == nil) != (len(c.want) == 0) {
				t.Fatalf("answered %v", err)
			}
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("answered %v, want %v", err, want)
				}
			}
			if exists(t, s, row) != c.done {
				t.Errorf("the commit happened: %v, want %v", !c.done, c.done)
			}
			if rule.Fired() != 1 || s.Fired()[c.fault.Mode] != 1 || s.Pending() != 0 {
				t.Errorf("fired %d, %v, pending %d", rule.Fired(), s.Fired(), s.Pending())
			}
			if err := s.Commit(ctx, createTx("2", table.Key{PK: "other", SK: "ROOT"})); err != nil {
				t.Errorf("the next call failed too: %v", err)
			}
		})
	}
}

func TestAFailedAnswerIsHealedByTheSameCommitAgain(t *testing.T) {
	s := faulty.Wrap(mem.New())
	sum := table.Key{PK: "sum", SK: "n"}
	tx := createTx("1", row)
	tx.Writes = append(tx.Writes, table.Write{Kind: table.Add, Key: sum, Adds: map[string]int64{"n": 1}})
	inject(t, s, faulty.Fault{Mode: faulty.FailAfter})
	inject(t, s, faulty.Fault{Mode: faulty.Duplicate})
	if err := s.Commit(ctx, tx); !errors.Is(err, table.ErrUnavailable) {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, tx); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Get(ctx, sum)
	if err != nil || rows[0].Counters["n"] != 1 {
		t.Errorf("counted %v (%v) after three arrivals", rows[0].Counters, err)
	}
}

func TestADuplicateOfCountersAloneCountsTwice(t *testing.T) {
	s := faulty.Wrap(mem.New())
	inject(t, s, faulty.Fault{Mode: faulty.Duplicate})
	tx := &table.Tx{ID: "1", Writes: []table.Write{{Kind: table.Add, Key: row, Adds: map[string]int64{"n": 1}}}}
	if err := s.Commit(ctx, tx); err != nil {
		t.Fatal(err)
	}
	rows, _ := s.Get(ctx, row)
	if rows[0].Counters["n"] != 2 {
		t.Errorf("counted %v", rows[0].Counters)
	}
}

func TestAFaultStrikesTheCallsItNames(t *testing.T) {
	type opKey struct{}
	operation := context.WithValue(ctx, opKey{}, "bench.proposal.file")
	byOperation := func(ctx context.Context, _ faulty.Call) bool {
		id, _ := ctx.Value(opKey{}).(string)
		return id == "bench.proposal.file"
	}
	get := func(ctx context.Context, pk string) func(*faulty.Store) error {
		return func(s *faulty.Store) error { _, err := s.Get(ctx, table.Key{PK: pk, SK: "ROOT"}); return err }
	}
	query := func(pk string) func(*faulty.Store) error {
		return func(s *faulty.Store) error { _, err := s.Query(ctx, table.Query{PK: pk}); return err }
	}
	n := 0
	commit := func(pk string) func(*faulty.Store) error {
		return func(s *faulty.Store) error {
			n++
			return s.Commit(ctx, createTx(fmt.Sprint(n), table.Key{PK: pk, SK: fmt.Sprint(n)}))
		}
	}
	list := func(s *faulty.Store) error { _, _, err := s.List(ctx, "", 1); return err }
	purge := func(s *faulty.Store) error { _, err := s.Purge(ctx, time.Unix(1, 0), 1); return err }
	calls := []func(*faulty.Store) error{
		get(ctx, "a"), query("a"), commit("a"), get(operation, "b"), query("b"), commit("b"), list, purge,
	}
	cases := []struct {
		name   string
		fault  faulty.Fault
		struck string // one letter per call: x struck, . not
	}{
		{"the first call", faulty.Fault{}, "x......."},
		{"the third call", faulty.Fault{Skip: 2}, "..x....."},
		{"three calls", faulty.Fault{Times: 3}, "xxx....."},
		{"three calls behind two", faulty.Fault{Skip: 2, Times: 3}, "..xxx..."},
		{"every call", faulty.Fault{Times: faulty.Forever}, "xxxxxxxx"},
		{"every query", faulty.Fault{Op: faulty.Query, Times: faulty.Forever}, ".x..x..."},
		{"the second commit", faulty.Fault{Op: faulty.Commit, Skip: 1}, ".....x.."},
		{"every list", faulty.Fault{Op: faulty.List, Times: faulty.Forever}, "......x."},
		{"every purge", faulty.Fault{Op: faulty.Purge, Times: faulty.Forever}, ".......x"},
		{"a partition", faulty.Fault{Key: "b", Times: faulty.Forever}, "...xxx.."},
		{"a whole key", faulty.Fault{Key: "a / ROOT", Times: faulty.Forever}, "x......."},
		{"no such key", faulty.Fault{Key: "c", Times: faulty.Forever}, "........"},
		{"one operation", faulty.Fault{Match: byOperation, Times: faulty.Forever}, "...x...."},
		{"two conditions at once", faulty.Fault{Op: faulty.Get, Key: "a", Times: faulty.Forever}, "x......."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := faulty.Wrap(mem.New())
			c.fault.Mode = faulty.FailBefore
			rule := inject(t, s, c.fault)
			got := ""
			for _, call := range calls {
				if err := call(s); errors.Is(err, table.ErrUnavailable) {
					got += "x"
				} else if err == nil {
					got += "."
				} else {
					t.Fatal(err)
				}
			}
			if got != c.struck {
				t.Errorf("struck %s, want %s", got, c.struck)
			}
			s.Clear()
			before := rule.Fired()
			if err := calls[0](s); err != nil || rule.Fired() != before || s.Pending() != 0 {
				t.Errorf("a cleared fault still strikes: %v", err)
			}
		})
	}
}

func TestAConflictLeavesReadsAlone(t *testing.T) {
	s := faulty.Wrap(mem.New())
	inject(t, s, faulty.Fault{Mode: faulty.Conflict})
	if _, err := s.Get(ctx, row); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, createTx("1", row)); !errors.Is(err, table.ErrConflict) {
		t.Fatalf("answered %v", err)
	}
}

func TestAReadThatFailedAfterwardsAnswersNothing(t *testing.T) {
	s := faulty.Wrap(mem.New())
	if err := s.Commit(ctx, createTx("1", row)); err != nil {
		t.Fatal(err)
	}
	inject(t, s, faulty.Fault{Mode: faulty.FailAfter, Times: 2})
	if rows, err := s.Get(ctx, row); err == nil || rows != nil {
		t.Errorf("get answered %v, %v", rows, err)
	}
	if page, err := s.Query(ctx, table.Query{PK: row.PK}); err == nil || page.Rows != nil {
		t.Errorf("query answered %v, %v", page, err)
	}
}

func TestInjectRefusesWhatItDoesNotKnow(t *testing.T) {
	s := faulty.Wrap(mem.New())
	for _, f := range []faulty.Fault{{}, {Mode: "explode"}, {Mode: faulty.Delay}} {
		if _, err := s.Inject(f); err == nil {
			t.Errorf("%+v was taken", f)
		}
	}
}

func TestParallelCallsMeetAFaultExactlyAsOftenAsAsked(t *testing.T) {
	s := faulty.Wrap(mem.New())
	const times, callers, each = 37, 16, 20
	rule := inject(t, s, faulty.Fault{Mode: faulty.Throttle, Skip: 5, Times: times})
	var failed atomic.Int32
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				if _, err := s.Get(ctx, row); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if failed.Load() != times || rule.Fired() != times || !maps.Equal(s.Fired(), map[faulty.Mode]int{faulty.Throttle: times}) {
		t.Errorf("failed %d, fired %d, %v, want %d", failed.Load(), rule.Fired(), s.Fired(), times)
	}
}

// bare hides what a store can beyond the port.
type bare struct{ table.Store }

func TestAStoreThatDoesNotListOrPurgeStaysOne(t *testing.T) {
	s := faulty.Wrap(bare{mem.New()})
	if _, _, err := s.List(ctx, "", 1); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("list answered %v", err)
	}
	if n, err := s.Purge(ctx, time.Unix(1, 0), 1); n != 0 || err != nil {
		t.Errorf("purge answered %d, %v", n, err)
	}
}
