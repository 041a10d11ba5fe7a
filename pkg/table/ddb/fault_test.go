package ddb

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"guildhall/pkg/table"
	"guildhall/pkg/table/ddb/stub"
)

var (
	rowA = table.Key{PK: "p", SK: "a"}
	rowB = table.Key{PK: "p", SK: "b"}
	sumC = table.Key{PK: "p", SK: "sum"}
)

func create(k table.Key, data string) table.Write {
	return table.Write{Kind: table.Create, Key: k, Data: []byte(data)}
}

func replace(k table.Key, version, data string) table.Write {
	return table.Write{Kind: table.Replace, Key: k, Version: version, Data: []byte(data)}
}

func remove(k table.Key, version string) table.Write {
	return table.Write{Kind: table.Delete, Key: k, Version: version}
}

func add(k table.Key, n int64) table.Write {
	return table.Write{Kind: table.Add, Key: k, Adds: map[string]int64{"n": n}}
}

func commit(t *testing.T, s table.Store, id string, writes ...table.Write) {
	t.Helper()
	if err := s.Commit(context.Background(), &table.Tx{ID: id, Writes: writes}); err != nil {
		t.Fatalf("commit %s: %v", id, err)
	}
}

func load(t *testing.T, s table.Store, k table.Key) table.Row {
	t.Helper()
	rows, err := s.Get(context.Background(), k)
	if err != nil {
		t.Fatalf("get %v: %v", k, err)
	}
	return rows[0]
}

// times repeats a fault.
func times(n int, f stub.Fault) []stub.Fault {
	out := make([]stub.Fault, n)
	for i := range out {
		out[i] = f
	}
	return out
}

// stage is a stub on which row a exists at version "v1".
func stage(t *testing.T) (*stub.Server, *Store, *pauses) {
	server := stub.New()
	s, p := open(t, server)
	commit(t, s, "v1", create(rowA, "first"))
	return server, s, p
}

func TestACommitSurvivesWhatGoesWrongOnTheWay(t *testing.T) {
	one := []table.Write{replace(rowA, "v1", "second")}
	lone := []table.Write{add(sumC, 5)}
	many := []table.Write{replace(rowA, "v1", "second"), create(rowB, "x"), add(sumC, 5)}
	cases := []struct {
		name   string
		writes []table.Write
		faults []stub.Fault
		pauses int
	}{
		{"one row, the answer is lost", one, times(1, stub.Fault{Op: "PutItem", Kind: stub.LoseAnswer}), 0},
		{"one row, the answer is lost, then all goes wrong that can", one, []stub.Fault{
			{Op: "PutItem", Kind: stub.LoseAnswer}, {Op: "PutItem", Kind: stub.Drop}, {Op: "PutItem", Kind: stub.Throttle}}, 0},
		{"one row, the request is lost", one, times(2, stub.Fault{Op: "PutItem", Kind: stub.Drop}), 0},
		{"one row, a server breaks", one, times(2, stub.Fault{Op: "PutItem", Kind: stub.Break}), 0},
		{"one row is in another's transaction", one, times(3, stub.Fault{Op: "PutItem", Kind: stub.Conflict}), 3},
		{"many rows, the answer is lost", many, times(1, stub.Fault{Op: "TransactWriteItems", Kind: stub.LoseAnswer}), 0},
		{"many rows, two answers are lost", many, times(2, stub.Fault{Op: "TransactWriteItems", Kind: stub.LoseAnswer}), 0},
		{"many rows, one is in another's transaction", many, times(commitTries-1, stub.Fault{Op: "TransactWriteItems", Kind: stub.Conflict}), commitTries - 1},
		{"many rows, one is throttled", many, times(2, stub.Fault{Op: "TransactWriteItems", Kind: stub.ReasonThrottle}), 2},
		{"many rows, the first attempt is still at work", many, times(2, stub.Fault{Op: "TransactWriteItems", Kind: stub.InProgress}), 0},
		{"many rows, the first attempt stays at work for long", many, times(sdkAttempts+1, stub.Fault{Op: "TransactWriteItems", Kind: stub.InProgress}), 1},
		{"an addition alone, the answer is lost", lone, times(1, stub.Fault{Op: "TransactWriteItems", Kind: stub.LoseAnswer}), 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, s, p := stage(t)
			server.Inject(c.faults...)
			commit(t, s, "v2", c.writes...)
			if n := server.Pending(); n > 0 {
				t.Fatalf("%d faults did not happen", n)
			}
			if p.n != c.pauses {
				t.Errorf("%d pauses of the adapter, want %d", p.n, c.pauses)
			}
			for _, w := range c.writes {
				r := load(t, s, w.Key)
				if w.Kind == table.Add && r.Counters["n"] != 5 {
					t.Errorf("counted %d, want 5", r.Counters["n"])
				}
				if w.Marks() && (r.Version != "v2" || string(r.Data) != string(w.Data)) {
					t.Errorf("%v is %q %q", r.Key, r.Version, r.Data)
				}
			}
		})
	}
}

// An emulator that knows no tokens and never sends the old item applies nothing twice all the
// same, as long as a row carries the commit's id.
func TestALostAnswerIsFoundWithoutTokensToo(t *testing.T) {
	server, s, _ := stage(t)
	server.NoTokens, server.NoOldImages = true, true
	server.Inject(stub.Fault{Op: "TransactWriteItems", Kind: stub.LoseAnswer})
	commit(t, s, "v2", create(rowB, "x"), add(sumC, 5))
	if got := load(t, s, sumC).Counters["n"]; got != 5 {
		t.Errorf("counted %d, want 5", got)
	}
}

func TestACommitThatCannotBeSettledIsUnavailable(t *testing.T) {
	one := []table.Write{replace(rowA, "v1", "second")}
	many := []table.Write{replace(rowA, "v1", "second"), create(rowB, "x")}
	cases := []struct {
		name     string
		writes   []table.Write
		op       string
		fault    stub.Kind
		requests int // how many, whatever happens
	}{
		{"one row, conflicts without end", one, "PutItem", stub.Conflict, commitTries},
		{"one row, throttled without end", one, "PutItem", stub.Throttle, sdkAttempts},
		{"one row, broken without end", one, "PutItem", stub.Break, sdkAttempts},
		{"one row, dropped without end", one, "PutItem", stub.Drop, sdkAttempts},
		{"many rows, conflicts without end", many, "TransactWriteItems", stub.Conflict, commitTries},
		{"many rows, throttled without end", many, "TransactWriteItems", stub.Throttle, sdkAttempts},
		{"many rows, one throttled without end", many, "TransactWriteItems", stub.ReasonThrottle, commitTries},
		{"many rows, dropped without end", many, "TransactWriteItems", stub.Drop, sdkAttempts},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, s, _ := stage(t)
			before := server.Requests(c.op)
			server.Inject(times(100, stub.Fault{Op: c.op, Kind: c.fault})...)
			err := s.Commit(context.Background(), &table.Tx{ID: "v2", Writes: c.writes})
			if !errors.Is(err, table.ErrUnavailable) {
				t.Fatalf("answered %v", err)
			}
			if n := server.Requests(c.op) - before; n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if r := load(t, s, rowA); r.Version != "v1" {
				t.Errorf("the row is at %q", r.Version)
			}
		})
	}
}

// Nobody can tell what became of the first attempt once another commit has written over it.
func TestAnUnknownOutcomeIsNeverCalledAConflict(t *testing.T) {
	t.Run("a replaced row was replaced again", func(t *testing.T) {
		server, s, _ := stage(t)
		server.Inject(stub.Fault{Op: "PutItem", Kind: stub.LoseAnswer, Then: func() {
			commit(t, s, "v3", replace(rowA, "v2", "third"))
		}})
		err := s.Commit(context.Background(), &table.Tx{ID: "v2", Writes: []table.Write{replace(rowA, "v1", "second")}})
		if !errors.Is(err, table.ErrUnavailable) {
			t.Fatalf("answered %v", err)
		}
	})
	t.Run("a deleted row is gone", func(t *testing.T) {
		server, s, _ := stage(t)
		server.Inject(stub.Fault{Op: "DeleteItem", Kind: stub.LoseAnswer})
		err := s.Commit(context.Background(), &table.Tx{ID: "v2", Writes: []table.Write{remove(rowA, "v1")}})
		if !errors.Is(err, table.ErrUnavailable) {
			t.Fatalf("answered %v", err)
		}
		if load(t, s, rowA).Found() {
			t.Error("the row is still there")
		}
	})
	t.Run("a throttled attempt is known to have done nothing", func(t *testing.T) {
		server, s, _ := stage(t)
		server.Inject(stub.Fault{Op: "PutItem", Kind: stub.Throttle, Then: func() {
			commit(t, s, "other", replace(rowA, "v1", "theirs"))
		}})
		err := s.Commit(context.Background(), &table.Tx{ID: "v2", Writes: []table.Write{replace(rowA, "v1", "second")}})
		if !errors.Is(err, table.ErrConflict) {
			t.Fatalf("answered %v", err)
		}
	})
	t.Run("a transaction's token settles it", func(t *testing.T) {
		server, s, _ := stage(t)
		server.Inject(stub.Fault{Op: "TransactWriteItems", Kind: stub.LoseAnswer, Then: func() {
			commit(t, s, "v3", replace(rowA, "v2", "third"), replace(rowB, "v2", "y"))
		}})
		commit(t, s, "v2", replace(rowA, "v1", "second"), create(rowB, "x"))
	})
}

func TestSizesAWSRefusesAreTooLarge(t *testing.T) {
	server, s, _ := stage(t)
	big := create(rowB, strings.Repeat("d", table.MaxRowBytes-len(rowB.PK)-len(rowB.SK)-len("v2")))
	for name, writes := range map[string][]table.Write{
		"an item": {big}, "an item of a transaction": {big, create(sumC, "x")},
	} {
		err := s.Commit(context.Background(), &table.Tx{ID: "v2", Writes: writes})
		if !errors.Is(err, table.ErrTooLarge) {
			t.Errorf("%s: answered %v", name, err)
		}
	}
	server.Inject(stub.Fault{Op: "TransactWriteItems", Kind: stub.TooBig})
	err := s.Commit(context.Background(), &table.Tx{ID: "v2", Writes: []table.Write{add(sumC, 1)}})
	if !errors.Is(err, table.ErrTooLarge) {
		t.Errorf("a counter row that grew too large: answered %v", err)
	}
}

func TestOurOwnMistakesAreNoFaultOfTheStore(t *testing.T) {
	_, s, _ := stage(t)
	commit(t, s, "v2", replace(rowA, "v1", "second"), create(rowB, "x"))
	err := s.Commit(context.Background(), &table.Tx{ID: "v2", Writes: []table.Write{replace(rowA, "v1", "else"), create(sumC, "x")}})
	if !errors.Is(err, table.ErrInvalid) {
		t.Errorf("one id for two commits: answered %v", err)
	}
	if _, err := s.db.ListTables().All(context.Background()); translate(context.Background(), err) == nil ||
		errors.Is(translate(context.Background(), err), table.ErrUnavailable) {
		t.Errorf("an operation refused by name: answered %v", err)
	}
}

func TestReadsSurviveWhatGoesWrongOnTheWay(t *testing.T) {
	for op, read := range map[string]func(s *Store) (int, error){
		"GetItem": func(s *Store) (int, error) {
			rows, err := s.Get(context.Background(), rowA)
			return len(rows), err
		},
		"BatchGetItem": func(s *Store) (int, error) {
			rows, err := s.Get(context.Background(), rowA, rowB)
			return len(rows), err
		},
		"Query": func(s *Store) (int, error) {
			p, err := s.Query(context.Background(), table.Query{PK: "p"})
			return len(p.Rows), err
		},
		"Scan": func(s *Store) (int, error) {
			rows, _, err := s.List(context.Background(), "", 10)
			return len(rows), err
		},
	} {
		for _, kind := range []stub.Kind{stub.Throttle, stub.Break, stub.Drop} {
			server, s, _ := stage(t)
			commit(t, s, "v2", create(rowB, "x"))
			want, err := read(s)
			if err != nil || want == 0 {
				t.Fatalf("%s: %d, %v", op, want, err)
			}
			server.Inject(times(sdkAttempts-1, stub.Fault{Op: op, Kind: kind})...)
			if n, err := read(s); n != want || err != nil {
				t.Errorf("%s, fault %d: %d rows, %v", op, kind, n, err)
			}
			server.Inject(times(sdkAttempts, stub.Fault{Op: op, Kind: kind})...)
			if _, err := read(s); !errors.Is(err, table.ErrUnavailable) {
				t.Errorf("%s, fault %d without end: %v", op, kind, err)
			}
		}
	}
}

func TestAServerThatIsDownIsUnavailable(t *testing.T) {
	web := httptest.NewServer(stub.New())
	s, err := New(Options{Table: "t", Region: "eu-west-1", Endpoint: web.URL, AccessKey: "k", SecretKey: "s",
		Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(context.Background()); err != nil {
		t.Fatalf("ping: %v", err)
	}
	web.Close()
	if err := s.Ping(context.Background()); !errors.Is(err, table.ErrUnavailable) {
		t.Errorf("ping answered %v", err)
	}
	err = s.Commit(context.Background(), &table.Tx{ID: "v", Writes: []table.Write{create(rowA, "x")}})
	if !errors.Is(err, table.ErrUnavailable) {
		t.Errorf("commit answered %v", err)
	}
}

func TestCancellationEndsACallAtOnce(t *testing.T) {
	server, s, _ := stage(t)
	t.Run("while it pauses", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s.sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
		before := server.Requests("PutItem")
		server.Inject(times(commitTries, stub.Fault{Op: "PutItem", Kind: stub.Conflict})...)
		err := s.Commit(ctx, &table.Tx{ID: "v2", Writes: []table.Write{replace(rowA, "v1", "x")}})
		if !errors.Is(err, table.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("answered %v", err)
		}
		if n := server.Requests("PutItem") - before; n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
	t.Run("while DynamoDB works", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		server.Inject(stub.Fault{Op: "Query", Kind: stub.Drop, Then: cancel})
		_, err := s.Query(ctx, table.Query{PK: "p"})
		if !errors.Is(err, table.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("answered %v", err)
		}
	})
}

func TestAFullCounterIsTooLargeAndNoConflict(t *testing.T) {
	for _, images := range []bool{true, false} {
		server, s, _ := stage(t)
		server.NoOldImages = !images
		commit(t, s, "c1", add(sumC, table.MaxCounter))
		for name, writes := range map[string][]table.Write{
			"alone":        {add(sumC, 1)},
			"among others": {create(rowB, "x"), add(sumC, 1)},
		} {
			err := s.Commit(context.Background(), &table.Tx{ID: name, Writes: writes})
			if !errors.Is(err, table.ErrTooLarge) {
				t.Errorf("images %v, %s: answered %v", images, name, err)
			}
		}
		err := s.Commit(context.Background(), &table.Tx{ID: "both", Writes: []table.Write{create(rowA, "x"), add(sumC, 1)}})
		if !errors.Is(err, table.ErrConflict) {
			t.Errorf("images %v, with a conflict: answered %v", images, err)
		}
		err = s.Commit(context.Background(), &table.Tx{ID: "data", Writes: []table.Write{add(rowA, 1)}})
		if !errors.Is(err, table.ErrConflict) {
			t.Errorf("images %v, on a row with data: answered %v", images, err)
		}
	}
}

func TestReasonsAreReadByPosition(t *testing.T) {
	none, failed, clash := types.CancellationReason{}, types.CancellationReason{Code: aws.String(reasonConditionFailed)},
		types.CancellationReason{Code: aws.String(reasonConflict)}
	named := types.CancellationReason{Code: aws.String(reasonNone)}
	unknown := types.CancellationReason{Code: aws.String("Novelty")}
	for _, c := range []struct {
		reasons []types.CancellationReason
		want    verdict
		at      []int
	}{
		{nil, other, nil},
		{[]types.CancellationReason{none, named, unknown}, other, nil},
		{[]types.CancellationReason{none, failed, named, failed}, conflict, []int{1, 3}},
		{[]types.CancellationReason{clash, none}, again, nil},
		{[]types.CancellationReason{clash, failed}, conflict, []int{1}},
		{[]types.CancellationReason{failed, clash}, conflict, []int{0}},
	} {
		v, failures := judgeReasons(c.reasons)
		var at []int
		for _, f := range failures {
			at = append(at, f.at)
		}
		if v != c.want || !slices.Equal(at, c.at) {
			t.Errorf("%v: verdict %d at %v, want %d at %v", c.reasons, v, at, c.want, c.at)
		}
	}
}
