package op_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

// counted counts the calls of a store.
type counted struct {
	table.Store
	calls map[faulty.Op]int
}

func (c counted) Get(ctx context.Context, keys ...table.Key) ([]table.Row, error) {
	c.calls[faulty.Get]++
	return c.Store.Get(ctx, keys...)
}

func (c counted) Query(ctx context.Context, q table.Query) (table.Page, error) {
	c.calls[faulty.Query]++
	return c.Store.Query(ctx, q)
}

func (c counted) Commit(ctx context.Context, tx *table.Tx) error {
	c.calls[faulty.Commit]++
	return c.Store.Commit(ctx, tx)
}

// recorder keeps the last commit.
type recorder struct {
	table.Store
	last *table.Tx
}

func (r *recorder) Commit(ctx context.Context, tx *table.Tx) error {
	r.last = tx
	return r.Store.Commit(ctx, tx)
}

var (
	old     = table.Key{PK: "test.ROW#old", SK: "ROOT"} // there before, with value "v"
	gone    = table.Key{PK: "test.ROW#gone", SK: "ROOT"}
	counter = table.Key{PK: "test.COUNT#1", SK: "ROOT"}
)

// staging runs fn against a store that holds one row, and returns the commit it made.
func staging(t *testing.T, fn func(*op.Call) error) (*table.Tx, error) {
	t.Helper()
	x := newExchange(t)
	r := &recorder{Store: x.mem}
	x.Store = r
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(x.Run(t.Context(), x.time(), "test", func(c *op.Call) error { c.Create(old, "v"); return nil }))
	r.last = nil
	err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error {
		if err := c.Fetch(old, gone); err != nil {
			return err
		}
		return fn(c)
	})
	return r.last, err
}

func TestSecondWritesOfARowMergeIntoTheFirst(t *testing.T) {
	type steps = func(c *op.Call)
	cases := []struct {
		name  string
		do    steps
		kind  table.Kind
		key   table.Key
		after string // JSON the row holds then; "" when it is not there
	}{
		{"put, put", func(c *op.Call) { c.Put(old, 1); c.Put(old, 2) }, table.Replace, old, "2"},
		{"put, delete", func(c *op.Call) { c.Put(old, 1); c.Delete(old) }, table.Delete, old, ""},
		{"delete, put", func(c *op.Call) { c.Delete(old); c.Put(old, 1) }, table.Replace, old, "1"},
		{"delete, create", func(c *op.Call) { c.Delete(old); c.Create(old, 1) }, table.Replace, old, "1"},
		{"delete, delete", func(c *op.Call) { c.Delete(old); c.Delete(old) }, table.Delete, old, ""},
		{"check, put", func(c *op.Call) { c.Check(old); c.Put(old, 1) }, table.Replace, old, "1"},
		{"put, check", func(c *op.Call) { c.Put(old, 1); c.Check(old) }, table.Replace, old, "1"},
		{"check, delete", func(c *op.Call) { c.Check(old); c.Delete(old) }, table.Delete, old, ""},
		{"check, check", func(c *op.Call) { c.Check(old); c.Check(old) }, table.Check, old, `"v"`},
		{"put, delete, put", func(c *op.Call) { c.Put(old, 1); c.Delete(old); c.Put(old, 3) }, table.Replace, old, "3"},
		{"create of a missing row, put", func(c *op.Call) { c.Create(gone, 1); c.Put(gone, 2) }, table.Create, gone, "2"},
		{"put of a missing row", func(c *op.Call) { c.Put(gone, 1) }, table.Create, gone, "1"},
		{"create, delete", func(c *op.Call) { c.Create(gone, 1); c.Delete(gone) }, table.Check, gone, ""},
		{"create, delete, create", func(c *op.Call) { c.Create(gone, 1); c.Delete(gone); c.Create(gone, 2) }, table.Create, gone, "2"},
		{"delete of a missing row", func(c *op.Call) { c.Delete(gone) }, table.Check, gone, ""},
		{"delete of a missing row, create", func(c *op.Call) { c.Delete(gone); c.Create(gone, 1) }, table.Create, gone, "1"},
		{"check of a missing row, put", func(c *op.Call) { c.Check(gone); c.Put(gone, 1) }, table.Create, gone, "1"},
		{"add, add", func(c *op.Call) { c.Add(counter, "n", 1); c.Add(counter, "n", 2); c.Add(counter, "m", 5) }, table.Add, counter, "map[m:5 n:3]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := newExchange(t)
			x.seed(old, "v")
			r := &recorder{Store: x.mem}
			x.Store = r
			err := x.Run(t.Context(), x.time(), "test", func(call *op.Call) error {
				if err := call.Fetch(old, gone); err != nil {
					return err
				}
				c.do(call)
				return nil
			})
			if err != nil || len(r.last.Writes) != 1 {
				t.Fatalf("%v, commit %+v", err, r.last)
			}
			w := r.last.Writes[0]
			if w.Kind != c.kind || w.Key != c.key {
				t.Errorf("commit %+v, want kind %d of %v", w, c.kind, c.key)
			}
			if got := x.value(c.key); got != c.after {
				t.Errorf("the row holds %s, want %s", got, c.after)
			}
		})
	}
}

func (x *exchange) seed(key table.Key, v any) {
	x.t.Helper()
	if err := x.Run(context.Background(), x.time(), "test", func(c *op.Call) error { c.Create(key, v); return nil }); err != nil {
		x.t.Fatal(err)
	}
}

// value prints what a row holds.
func (x *exchange) value(key table.Key) string {
	x.t.Helper()
	rows, err := x.mem.Get(context.Background(), key)
	if err != nil {
		x.t.Fatal(err)
	}
	if rows[0].Counters != nil {
		return fmt.Sprint(rows[0].Counters)
	}
	return string(rows[0].Data)
}

func TestMistakesOfAnOperationWriteNothing(t *testing.T) {
	never := table.Key{PK: "test.ROW#never read", SK: "ROOT"}
	cases := map[string]func(*op.Call){
		"put of an unread row":      func(c *op.Call) { c.Put(never, 1) },
		"delete of an unread row":   func(c *op.Call) { c.Delete(never) },
		"check of an unread row":    func(c *op.Call) { c.Check(never) },
		"create twice":              func(c *op.Call) { c.Create(gone, 1); c.Create(gone, 2) },
		"create after put":          func(c *op.Call) { c.Put(old, 1); c.Create(old, 2) },
		"create after check":        func(c *op.Call) { c.Check(old); c.Create(old, 2) },
		"add to a row just created": func(c *op.Call) { c.Create(gone, 1); c.Add(gone, "n", 1) },
		"create of a counter row":   func(c *op.Call) { c.Add(counter, "n", 1); c.Create(counter, 1) },
		"delete of a counter row":   func(c *op.Call) { c.Add(gone, "n", 1); c.Delete(gone) },
		"a value without a JSON":    func(c *op.Call) { c.Create(gone, func() {}) },
		"an effect without a JSON":  func(c *op.Call) { c.Effect("k", "s", make(chan int)) },
		"a timer armed twice":       func(c *op.Call) { c.Arm("k", "s", noon); c.Arm("k", "s", noon) },
	}
	for name, do := range cases {
		tx, err := staging(t, func(c *op.Call) error { c.Create(table.Key{PK: "test.OTHER", SK: "ROOT"}, 1); do(c); return nil })
		if err == nil || tx != nil {
			t.Errorf("%s: err %v, commit %+v", name, err, tx)
		}
	}
}

func TestReadsSeeWhatIsStaged(t *testing.T) {
	_, err := staging(t, func(c *op.Call) error {
		read := func(want int, there bool) {
			t.Helper()
			v, found, err := op.Load[int](c, gone)
			if err != nil || found != there || v != want {
				t.Errorf("read %d %v %v, want %d %v", v, found, err, want, there)
			}
		}
		read(0, false)
		c.Check(gone)
		read(0, false)
		c.Put(gone, 1)
		read(1, true)
		c.Put(gone, 2)
		read(2, true)
		c.Delete(gone)
		read(0, false)
		c.Check(old)
		if v, found, err := op.Load[string](c, old); v != "v" || !found || err != nil {
			t.Errorf("a checked row reads %q %v %v", v, found, err)
		}
		c.Add(counter, "n", 1)
		if r, err := c.Get(counter); err != nil || r.Found() {
			t.Errorf("a counter row shows what is stored: %+v %v", r, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestARowIsReadOncePerCall(t *testing.T) {
	x := newExchange(t)
	calls := map[faulty.Op]int{}
	x.Store = counted{x.mem, calls}
	keys := make([]table.Key, 2*table.MaxGetKeys+1)
	for i := range keys {
		keys[i] = table.Key{PK: fmt.Sprintf("test.ROW#%d", i), SK: "ROOT"}
	}
	err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error {
		for range 3 {
			if err := c.Fetch(append(keys, keys[0], keys[1])...); err != nil {
				return err
			}
			if _, err := c.Get(keys[7]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || calls[faulty.Get] != 3 {
		t.Errorf("%v; %d reads for 201 rows, want 3", err, calls[faulty.Get])
	}
}

func TestATimerOfAnotherGroupNeedsADeclaration(t *testing.T) {
	x := newExchange(t)
	err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error { c.ArmIn("other", "ring", "subject", c.Now); return nil })
	if err == nil || !strings.Contains(err.Error(), "other") || x.rows(clock.Partition("other", clock.Shard("subject"))) != 0 {
		t.Errorf("%v", err)
	}
}

func TestTimersAreRowsOfTheSameCommit(t *testing.T) {
	x := newExchange(t)
	var hints []op.Hint
	x.Hints = func(_ context.Context, h []op.Hint) { hints = append(hints, h...) }
	var armed clock.Timer
	run := func(fn func(*op.Call)) {
		t.Helper()
		hints = nil
		if err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error { fn(c); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	all := func() (n int) {
		for s := range clock.Shards {
			n += x.rows(clock.Partition("test", s))
		}
		return n
	}
	run(func(c *op.Call) { armed = c.Arm("ring", "subject", c.Now.Add(time.Hour)) })
	if all() != 1 || len(hints) != 0 || !armed.Set() {
		t.Fatalf("%d timers, %d hints for a timer an hour away", all(), len(hints))
	}
	run(func(c *op.Call) { c.Disarm(armed); c.Disarm(armed); c.Disarm(clock.Timer{}) })
	if all() != 0 {
		t.Error("a disarmed timer is still there")
	}
	run(func(c *op.Call) { armed = c.Arm("ring", "subject", c.Now.Add(30*time.Second)) })
	if len(hints) != 1 || hints[0].Delay != 30*time.Second || hints[0].Queue != "test-sweep" {
		t.Errorf("a timer within a minute hints %+v", hints)
	}
	run(func(c *op.Call) { c.Disarm(armed); armed = c.Arm("ring", "subject", armed.Due) })
	if all() != 1 {
		t.Error("a timer moved to the same time is lost")
	}
	run(func(c *op.Call) { c.Disarm(c.Arm("other", "subject", c.Now)) })
	if all() != 1 {
		t.Error("a timer armed and disarmed in one call is written")
	}
	run(func(c *op.Call) { c.Effect("mail", "key", map[string]int{"n": 1}) })
	if all() != 2 || len(hints) != 1 || hints[0].Delay != 0 {
		t.Errorf("an effect is due at once: %d rows, hints %+v", all(), hints)
	}
	moved := armed
	moved.Version = "an older generation"
	err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error { c.Disarm(moved); return nil })
	if !errors.Is(err, table.ErrConflict) {
		t.Errorf("an older generation disarms the timer: %v", err)
	}
}

func TestLostRacesAreDecidedAgainFiveTimesThenBusy(t *testing.T) {
	x := newExchange(t)
	runs := 0
	o := op.Declare(meta(), func(c *op.Call, in thingIn) (thingOut, error) { runs++; return makeThing(c, in) })
	token := x.maker()
	x.inject(faulty.Fault{Mode: faulty.Conflict, Times: 5})
	var pauses []int
	x.Pause = func(_ context.Context, attempt int) { pauses = append(pauses, attempt) }
	if res := x.call(o, req{Token: token, Key: "a", Body: `{"name":"a"}`, Path: shelf("s")}); res.Status != 201 || runs != 6 || res.Attempts != 6 {
		t.Errorf("%d after %d runs: %s", res.Status, runs, res.Body)
	}
	if len(pauses) != 5 || pauses[0] != 1 || pauses[4] != 5 {
		t.Errorf("pauses %v", pauses)
	}
	x.inject(faulty.Fault{Mode: faulty.Conflict, Times: 6})
	res := x.call(o, req{Token: token, Key: "b", Body: `{"name":"b"}`, Path: shelf("s")})
	if res.Status != 503 || code(res) != "busy" || res.Header["Retry-After"] != "1" || runs != 12 {
		t.Errorf("%d %s %v after %d runs", res.Status, res.Body, res.Header, runs)
	}
	if x.rows("test.SHELF#s") != 1 {
		t.Error("a busy call wrote something")
	}
}

// Many callers add one to the same row by reading and putting it: no addition is lost,
// and whoever is not counted was told so.
func TestConcurrentDecisionsNeverOverwriteEachOther(t *testing.T) {
	x := newExchange(t)
	row := table.Key{PK: "test.TALLY", SK: "ROOT"}
	o := op.Declare(meta(func(m *op.Meta) { m.Idempotent = op.KeyIgnored }), func(c *op.Call, _ thingIn) (thingOut, error) {
		n, _, err := op.Load[int](c, row)
		c.Put(row, n+1)
		return thingOut{}, err
	})
	statuses := make([]int, 60)
	tokens := []string{x.maker(), x.maker(), x.maker()}
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() {
			statuses[i] = x.call(o, req{Token: tokens[i%3], Body: `{"name":"a"}`, Path: shelf("s")}).Status
		})
	}
	wg.Wait()
	done := map[int]int{}
	for _, s := range statuses {
		done[s]++
	}
	if got := x.value(row); got != fmt.Sprint(done[201]) || done[201]+done[503] != len(statuses) || done[201] == 0 {
		t.Errorf("the row counts %s, the answers were %v", got, maps.Clone(done))
	}
}

// A caller whose calls only race with each other's is never told to come back: after the
// first lost race the calls of one caller queue up in the process.
func TestOneCallersOwnCallsQueueUp(t *testing.T) {
	x := newExchange(t)
	row := table.Key{PK: "test.TALLY", SK: "ROOT"}
	var gate sync.WaitGroup
	gate.Add(20)
	var first sync.Map
	o := op.Declare(meta(func(m *op.Meta) { m.Idempotent = op.KeyIgnored }), func(c *op.Call, in thingIn) (thingOut, error) {
		n, _, err := op.Load[int](c, row)
		if _, again := first.LoadOrStore(in.Name, true); !again {
			gate.Done()
			gate.Wait() // everybody has read the same state once
		}
		c.Put(row, n+1)
		return thingOut{}, err
	})
	token := x.maker()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if res := x.call(o, req{Token: token, Body: fmt.Sprintf(`{"name":"n%d"}`, i), Path: shelf("s")}); res.Status != 201 {
				t.Errorf("%d %s", res.Status, res.Body)
			}
		})
	}
	wg.Wait()
	if got := x.value(row); got != "20" {
		t.Errorf("counted %s of 20", got)
	}
}

func TestAnEndedRequestIsUnavailableAndWritesNothing(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), makeThing)
	token := x.maker()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res := x.Do(ctx, o, &op.Request{Transport: "rest", Path: shelf("s"), ContentType: "application/json", Body: []byte(`{"name":"a"}`), Token: token, Key: "k"})
	if res.Status != 503 || x.rows("test.SHELF#s") != 0 {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

func TestWhatDoesNotFitTheStoreIsRefusedAsTooLarge(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), func(c *op.Call, in thingIn) (thingOut, error) {
		c.Create(table.Key{PK: "test.BIG", SK: "ROOT"}, c.Random(table.MaxRowBytes)) // does not compress
		return makeThing(c, in)
	})
	res := x.call(o, req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")})
	if res.Status != 413 || code(res) != "body_too_large" || x.rows("test.SHELF#s") != 0 {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

func TestARowUnderAKeyNoStoreCanHoldIsAbsent(t *testing.T) {
	for _, text := range []string{"a\x00b", "\xff", strings.Repeat("k", table.MaxKeyPart+1)} {
		k := table.Key{PK: "test.ROW#" + text, SK: "ROOT"}
		_, err := staging(t, func(c *op.Call) error {
			if err := c.Fetch(old, k); err != nil {
				return err
			}
			if r, err := c.Get(k); err != nil || r.Version != "" || r.Key != k {
				return fmt.Errorf("%v %v", r, err)
			}
			p, err := c.Query(table.Query{PK: k.PK})
			if err == nil && len(p.Rows) > 0 {
				err = errors.New("rows under an impossible key")
			}
			return err
		})
		if err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := staging(t, func(c *op.Call) error { return c.Fetch(table.Key{PK: "test.ROW#x"}) }); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("a key without its second part: %v, want a mistake", err)
	}
}
