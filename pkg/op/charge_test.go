package op_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// guess is an operation that charges each try and refuses all of them but the right one.
func guess(rule limit.Rule, other table.Key) *op.Operation {
	return op.Declare(meta(func(m *op.Meta) { m.Idempotent = op.KeyOptional }), func(c *op.Call, in thingIn) (thingOut, error) {
		c.Create(other, "never written")
		if err := c.Charge(rule, in.Shelf); err != nil {
			return thingOut{}, err
		}
		return thingOut{}, fault.New(fault.Forbidden, "wrong", "That is not it.")
	})
}

func TestARefusedCallIsChargedAndWritesNothingElse(t *testing.T) {
	x := newExchange(t)
	other := table.Key{PK: "test.OTHER", SK: "ROOT"}
	o := guess(limit.Rule{Name: "test.guess", N: 3, Per: time.Hour, Exact: true}, other)
	token := x.maker()
	try := func(name string) *op.Response {
		return x.call(o, req{Token: token, Key: "k", Body: `{"name":"a"}`, Path: shelf(name)})
	}
	for range 3 {
		if res := try("s"); code(res) != "wrong" {
			t.Fatalf("%d %s", res.Status, res.Body)
		}
	}
	if res := try("s"); code(res) != "rate_limited" || res.Header["Retry-After"] != "3600" {
		t.Errorf("the fourth try: %d %s %v", res.Status, res.Body, res.Header)
	}
	if code(try("t")) != "wrong" || x.rows("test.OTHER") != 0 || x.value(other) != "" {
		t.Error("a refusal wrote more than its charge, or was charged to another subject")
	}
	x.advance(time.Hour)
	if code(try("s")) != "wrong" {
		t.Error("tries come back after an hour")
	}
}

func TestParallelTriesAreAllCharged(t *testing.T) {
	x := newExchange(t)
	o := guess(limit.Rule{Name: "test.guess", N: 5, Per: time.Hour, Exact: true}, table.Key{PK: "test.OTHER", SK: "ROOT"})
	token := x.maker()
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]int{}
	for range 20 {
		wg.Go(func() {
			c := code(x.call(o, req{Token: token, Body: `{"name":"a"}`, Path: shelf("s")}))
			mu.Lock()
			defer mu.Unlock()
			codes[c]++
		})
	}
	wg.Wait()
	if codes["wrong"] > 5 || codes["wrong"] == 0 {
		t.Errorf("%v", codes)
	}
}

func TestARestrictedAccountMayDoWhatIsMeantForIt(t *testing.T) {
	x := newExchange(t)
	token := x.join("agent", account{Scopes: []string{"things:write"}, Restricted: true})
	for allowed, want := range map[bool]int{false: 403, true: 201} {
		o := op.Declare(meta(func(m *op.Meta) { m.Restricted = allowed }), makeThing)
		if res := x.call(o, req{Token: token, Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}); res.Status != want {
			t.Errorf("%v: %d %s", allowed, res.Status, res.Body)
		}
	}
}

func TestARowIsDroppedByTheCommitThatWroteIt(t *testing.T) {
	x := newExchange(t)
	commit := ""
	run := func(fn func(*op.Call)) error {
		return x.Run(context.Background(), x.time(), "test", func(c *op.Call) error { fn(c); return nil })
	}
	if err := run(func(c *op.Call) { commit = c.CommitID(); c.Create(old, "v") }); err != nil {
		t.Fatal(err)
	}
	if err := run(func(c *op.Call) { c.Drop(old, "another commit") }); !errors.Is(err, table.ErrConflict) || x.value(old) != `"v"` {
		t.Errorf("dropped by another commit: %v", err)
	}
	if err := run(func(c *op.Call) { c.Drop(old, commit) }); err != nil || x.value(old) != "" {
		t.Errorf("not dropped: %v", err)
	}
}

func TestScannedRowsAreNotRemembered(t *testing.T) {
	x := newExchange(t)
	x.seed(old, "v")
	err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error {
		rows, err := c.Scan(old, gone)
		if err != nil || len(rows) != 2 || !rows[0].Found() || rows[1].Found() {
			t.Errorf("scanned %v %v", rows, err)
		}
		c.Put(old, "w")
		return nil
	})
	if err == nil {
		t.Error("a scanned row counts as read")
	}
}
