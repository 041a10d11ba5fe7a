package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/queue"
	"guildhall/pkg/queue/memqueue"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
	"guildhall/pkg/table/mem"
)

// subject is a noun with timers and effects; its row lists what happened to it.
type subject struct {
	History []string `json:"history"`
}

func key(id string) table.Key { return table.Key{PK: "test.SUBJECT#" + id, SK: "ROOT"} }

// hall is an exchange with one timer kind, one effect kind, and a clock that a test moves
// without anything firing by itself.
type hall struct {
	t      *testing.T
	sw     *jobs.Sweeper
	store  *mem.Store
	faults *faulty.Store
	queue  *memqueue.Queue
	log    *bytes.Buffer

	mu    sync.Mutex
	now   time.Time
	order []string             // subjects as their timers fired
	done  []string             // subjects of effects, once per Do
	dead  []string             // subjects of effects that were given up
	fire  func(op.Fired) error // what Fire answers beyond recording
	do    func(op.Fired) error // what Do answers
}

func newHall(t *testing.T) *hall {
	h := &hall{t: t, now: optest.Start, log: &bytes.Buffer{}}
	x := optest.New(t, optest.WithStore(func(s table.Store) table.Store { h.faults = faulty.Wrap(s); return h.faults }))
	h.store, x.Engine.Now = x.Store, h.time
	h.queue = memqueue.New(memqueue.Options{Clock: h.time})
	h.sw = &jobs.Sweeper{Engine: x.Engine, Context: "test", Queue: h.queue, Log: slog.New(slog.NewJSONHandler(h.log, nil)),
		Timers:  []op.TimerKind{{Context: "other", Kind: "lapse"}, {Context: "test", Kind: "lapse", Fire: h.onFire}},
		Effects: []op.EffectKind{{Kind: "mail", Do: h.onDo, Done: h.onDone, Dead: h.onDead}}}
	return h
}

func (h *hall) time() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.now }

func (h *hall) pass(d time.Duration) { h.mu.Lock(); defer h.mu.Unlock(); h.now = h.now.Add(d) }

func (h *hall) note(c *op.Call, id, what string) error {
	s, _, err := op.Load[subject](c, key(id))
	s.History = append(s.History, what)
	c.Put(key(id), s)
	return err
}

func (h *hall) onFire(c *op.Call, f op.Fired) error {
	h.mu.Lock()
	h.order = append(h.order, f.Subject)
	h.mu.Unlock()
	if h.fire != nil {
		if err := h.fire(f); err != nil {
			return err
		}
	}
	return h.note(c, f.Subject, f.Due.Format("15:04:05")+" at "+c.Now.Format("15:04:05"))
}

func (h *hall) onDo(c *op.Call, f op.Fired) (any, error) {
	h.mu.Lock()
	h.done = append(h.done, f.Subject)
	h.mu.Unlock()
	c.Create(table.Key{PK: "test.STRAY", SK: "ROOT"}, "an effect writes nothing")
	if h.do != nil {
		return "result", h.do(f)
	}
	return "result", nil
}

func (h *hall) onDone(c *op.Call, f op.Fired, result any) error {
	return h.note(c, f.Subject, fmt.Sprint("done with ", result))
}

func (h *hall) onDead(c *op.Call, f op.Fired, cause error) error {
	h.dead = append(h.dead, f.Subject)
	return h.note(c, f.Subject, fmt.Sprint("dead of ", cause))
}

func (h *hall) run(fn func(*op.Call) error) {
	h.t.Helper()
	if err := h.sw.Engine.Run(context.Background(), h.time(), "test", fn); err != nil {
		h.t.Fatal(err)
	}
}

// arm stages a timer that falls due after d.
func (h *hall) arm(id string, d time.Duration) {
	h.t.Helper()
	h.run(func(c *op.Call) error { c.Arm("lapse", id, h.time().Add(d)); return nil })
}

func (h *hall) effect(id string) {
	h.t.Helper()
	h.run(func(c *op.Call) error { c.Effect("mail", id, "hello"); return nil })
}

func (h *hall) sweep() int {
	h.t.Helper()
	n, err := h.sw.SweepAll(context.Background(), h.time())
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

func (h *hall) history(id string) (s subject) {
	h.t.Helper()
	h.run(func(c *op.Call) (err error) { s, _, err = op.Load[subject](c, key(id)); return err })
	return s
}

func (h *hall) wantHistory(id string, want ...string) {
	h.t.Helper()
	if got := h.history(id).History; !slices.Equal(got, want) {
		h.t.Errorf("history of %s is %q, want %q", id, got, want)
	}
}

// rows lists the stored rows whose PK begins with prefix.
func (h *hall) rows(prefix string) (out []table.Row) {
	h.t.Helper()
	rows, _, err := h.store.List(context.Background(), "", 5000)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range rows {
		if strings.HasPrefix(r.PK, prefix) {
			out = append(out, r)
		}
	}
	return out
}

func (h *hall) inject(f faulty.Fault) {
	h.t.Helper()
	if _, err := h.faults.Inject(f); err != nil {
		h.t.Fatal(err)
	}
}

// pump delivers every message that is visible now and returns how many there were.
func (h *hall) pump() (n int) {
	h.t.Helper()
	for range 1000 {
		r, err := queue.Work(context.Background(), h.queue, op.SweepQueue("test"), queue.MaxBatch, h.sw.Handle)
		if err != nil || len(r.Failed) > 0 {
			h.t.Fatalf("%v %v", err, r.Failed)
		}
		if n += r.Received; r.Received == 0 {
			return n
		}
	}
	h.t.Fatal("the messages never end")
	return n
}

func TestADueTimerFiresOnceInOneCommit(t *testing.T) {
	h := newHall(t)
	h.arm("a", time.Hour)
	if n := h.sweep(); n != 0 {
		t.Fatalf("%d fired before anything is due", n)
	}
	h.pass(time.Hour)
	before := h.store.Stats()
	first := h.sweep()
	cost := h.store.Stats().Since(before)
	if second := h.sweep(); first != 1 || second != 0 {
		t.Errorf("fired %d, then %d", first, second)
	}
	if cost.Commits != 1 || cost.Queries != clock.Shards {
		t.Errorf("cost %+v", cost)
	}
	h.wantHistory("a", "19:20:00 at 19:20:00")
	if left := h.rows("test.CLOCK"); len(left) != 0 {
		t.Errorf("rows left: %v", left)
	}
}

func TestTimersFireInDueOrderAndKnowTheirDueTime(t *testing.T) {
	h := newHall(t)
	h.arm("a", 3*time.Minute)
	h.arm("a", time.Minute)
	h.arm("a", 2*time.Minute)
	h.pass(time.Hour)
	h.sweep()
	h.wantHistory("a", "18:21:00 at 19:20:00", "18:22:00 at 19:20:00", "18:23:00 at 19:20:00")
}

func TestATimerIsDueAtItsMillisecond(t *testing.T) {
	h := newHall(t)
	h.arm("a", time.Minute)
	h.pass(time.Minute - time.Millisecond)
	early := h.sweep()
	h.pass(time.Millisecond)
	if due := h.sweep(); early != 0 || due != 1 {
		t.Errorf("fired %d before, %d at its time", early, due)
	}
}

func TestRacingSweepsFireEachTimerOnce(t *testing.T) {
	h := newHall(t)
	for i := range 40 {
		h.arm(fmt.Sprint("s", i), time.Minute)
		h.effect(fmt.Sprint("e", i))
	}
	h.pass(time.Hour)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := h.sw.SweepAll(context.Background(), h.time()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 40 {
		h.wantHistory(fmt.Sprint("s", i), "18:21:00 at 19:20:00")
		h.wantHistory(fmt.Sprint("e", i), "done with result")
	}
	if len(h.done) != 40 {
		t.Errorf("40 effects were done %d times", len(h.done))
	}
}

func TestAFailingSubjectStandsInNobodysWay(t *testing.T) {
	h := newHall(t)
	ids := sameShard(t, 3)
	h.fire = func(f op.Fired) error {
		if f.Subject == ids[0] {
			panic("poison for jane@example.org")
		}
		return nil
	}
	h.arm(ids[0], time.Second)
	h.arm(ids[1], 2*time.Second)
	h.arm(ids[0], 3*time.Second)
	h.arm(ids[2], 4*time.Second)
	h.pass(10 * time.Second)
	if n := h.sweep(); n != 2 {
		t.Errorf("%d fired", n)
	}
	if want := []string{ids[0], ids[1], ids[2]}; !slices.Equal(h.order, want) {
		t.Errorf("order %v, want %v: a later timer of a failed subject must wait", h.order, want)
	}
	if log := h.log.String(); !strings.Contains(log, "jobs_test.go") || strings.Contains(log, "jane") {
		t.Errorf("log %s", log)
	}
	next, ok := h.sw.NextDue(context.Background())
	if want := h.time().Add(jobs.Retry); !ok || !next.Equal(want) {
		t.Errorf("next due %v, want %v", next, want)
	}
	h.fire = nil
	if n := h.sweep(); n != 0 {
		t.Errorf("a row that failed a moment ago fired again at once")
	}
	h.pass(jobs.Retry)
	if n := h.sweep(); n != 2 {
		t.Errorf("%d of the 2 timers of the healed subject fired", n)
	}
	h.wantHistory(ids[0], "18:20:01 at 18:21:10", "18:20:03 at 18:21:10")
}

// sameShard finds n subjects of one clock shard.
func sameShard(t *testing.T, n int) (ids []string) {
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprint("subject-", i); clock.Shard(id) == 3 {
			ids = append(ids, id)
		}
		if i > 10000 {
			t.Fatal("no subjects")
		}
	}
	return ids
}

func TestAnUnknownKindIsLeftForAVersionThatKnowsIt(t *testing.T) {
	h := newHall(t)
	ids := sameShard(t, 2)
	h.run(func(c *op.Call) error { c.Arm("novelty", ids[0], c.Now.Add(time.Second)); return nil })
	h.run(func(c *op.Call) error {
		c.Create(table.Key{PK: clock.Partition("test", 3), SK: "0 is no time"}, "odd")
		return nil
	})
	h.arm(ids[1], 2*time.Second)
	h.pass(time.Minute)
	if n := h.sweep(); n != 1 {
		t.Errorf("%d fired", n)
	}
	if rows := h.rows("test.CLOCK"); len(rows) != 2 {
		t.Errorf("rows %v", rows)
	}
	if !strings.Contains(h.log.String(), "novelty") {
		t.Errorf("log %s", h.log)
	}
	if next, ok := h.sw.NextDue(context.Background()); ok {
		t.Errorf("next due %v, although nothing known waits", next)
	}
}

func TestALongShardGoesOnInFurtherMessages(t *testing.T) {
	h := newHall(t)
	ids := sameShard(t, 2*jobs.PerMessage+20)
	for _, id := range ids {
		h.arm(id, time.Second)
	}
	h.pass(time.Minute)
	h.queue = memqueue.New(memqueue.Options{Clock: h.time})
	h.sw.Queue = h.queue
	if n, err := h.sw.Sweep(context.Background(), 3, h.time()); n != jobs.PerMessage || err != nil {
		t.Fatalf("one message fired %d: %v", n, err)
	}
	if n := h.pump(); n != 2 || len(h.order) != len(ids) {
		t.Errorf("%d messages, %d of %d fired", n, len(h.order), len(ids))
	}
}

func TestRowsThatCannotFireDoNotHideTheRest(t *testing.T) {
	h := newHall(t)
	ids := sameShard(t, jobs.PerMessage+1)
	for _, id := range ids[1:] {
		h.run(func(c *op.Call) error { c.Arm("novelty", id, c.Now.Add(time.Second)); return nil })
	}
	h.arm(ids[0], 2*time.Second)
	h.pass(10 * time.Second)
	if err := h.sw.Tick(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.pump()
	h.wantHistory(ids[0], "18:20:02 at 18:20:10")
}

func TestASweepOfAllGoesOnByItselfAndSendsNothing(t *testing.T) {
	h := newHall(t)
	for _, id := range sameShard(t, jobs.PerMessage+5) {
		h.arm(id, 2*time.Minute)
	}
	h.pass(110 * time.Second)
	early := h.sweep()
	h.pass(10 * time.Second)
	if n := h.sweep(); n != jobs.PerMessage+5 || early != 0 {
		t.Errorf("%d fired, %d early", n, early)
	}
	if d := h.queue.Depth("test-sweep"); d != (memqueue.Depth{}) {
		t.Errorf("messages were sent: %+v", d)
	}
}

func TestATickAnnouncesTheNextMinuteAndHintsBreedNoHints(t *testing.T) {
	h := newHall(t)
	ids := sameShard(t, 3)
	h.arm(ids[0], 80*time.Second)
	h.arm(ids[1], 80*time.Second)
	h.arm(ids[2], 110*time.Second)
	h.pass(50 * time.Second)
	if err := h.sw.Tick(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := h.pump(); n != clock.Shards {
		t.Errorf("a tick of %d messages", n)
	}
	if d := h.queue.Depth("test-sweep"); d.Waiting != 2 {
		t.Errorf("%+v, want one message for each of the two seconds", d)
	}
	h.pass(30 * time.Second)
	if n := h.pump(); n != 1 || len(h.order) != 2 {
		t.Errorf("%d messages, fired %v", n, h.order)
	}
	if d := h.queue.Depth("test-sweep"); d.Waiting != 1 {
		t.Errorf("%+v: the hint bred another", d)
	}
	h.pass(30 * time.Second)
	if n := h.pump(); n != 1 || len(h.order) != 3 {
		t.Errorf("%d messages, fired %v", n, h.order)
	}
}

func TestLosingEveryHintChangesNothingButTiming(t *testing.T) {
	h := newHall(t)
	h.effect("e")
	h.arm("a", time.Second)
	h.pass(time.Minute)
	if err := h.sw.Tick(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.pump()
	h.wantHistory("e", "done with result")
	h.wantHistory("a", "18:20:01 at 18:21:00")
}

func TestAStoreThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	for _, mode := range []faulty.Mode{faulty.FailBefore, faulty.FailAfter, faulty.Throttle, faulty.Conflict, faulty.Duplicate, faulty.Drop} {
		t.Run(string(mode), func(t *testing.T) {
			h := newHall(t)
			h.arm("a", time.Second)
			h.effect("e")
			h.pass(time.Minute)
			h.inject(faulty.Fault{Mode: mode, Op: faulty.Commit, Times: 2})
			h.sweep()
			h.wantHistory("a", "18:20:01 at 18:21:00")
			h.wantHistory("e", "done with result")
			if len(h.done) != 1 {
				t.Errorf("the effect was done %d times", len(h.done))
			}
		})
	}
}

func TestASweepOfADeadStoreIsRepeatedByItsMessage(t *testing.T) {
	h := newHall(t)
	h.arm("a", time.Second)
	h.pass(time.Minute)
	h.inject(faulty.Fault{Mode: faulty.FailBefore, Op: faulty.Commit, Times: faulty.Forever})
	msg := queue.Delivery{ID: "m", Body: fmt.Appendf(nil, `{"context":"test","shard":%d}`, clock.Shard("a"))}
	if failed := h.sw.Consume(context.Background(), []queue.Delivery{msg}); !slices.Equal(failed, []string{"m"}) {
		t.Errorf("failed %v", failed)
	}
	h.faults.Clear()
	if failed := h.sw.Consume(context.Background(), []queue.Delivery{msg}); failed != nil {
		t.Errorf("failed %v", failed)
	}
	h.wantHistory("a", "18:20:01 at 18:21:00")
}

func TestEqualMessagesOfABatchShareOneLook(t *testing.T) {
	h := newHall(t)
	var batch []queue.Delivery
	for i := range 10 {
		batch = append(batch, queue.Delivery{ID: fmt.Sprint(i), Body: []byte(`{"context":"test","shard":5}`)})
	}
	before := h.store.Stats()
	h.sw.Consume(context.Background(), batch)
	if cost := h.store.Stats().Since(before); cost.Calls() != 1 {
		t.Errorf("cost %+v", cost)
	}
}

func TestOddMessagesAreDoneWith(t *testing.T) {
	h := newHall(t)
	for _, body := range []string{``, `{`, `[]`, `{"context":"bench","shard":1}`, `{"context":"test","shard":16}`, `{"context":"test","shard":-1}`,
		`{"context":"test","shard":"1"}`, `{"context":"test","shard":1,"after":"x"}`} {
		d := queue.Delivery{ID: "m", Body: []byte(body)}
		if failed := h.sw.Consume(context.Background(), []queue.Delivery{d}); failed != nil {
			t.Errorf("%s came back", body)
		}
		if err := h.sw.Handle(context.Background(), d); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	if s := h.store.Stats(); s.Queries != 0 {
		t.Errorf("odd messages cost %+v", s)
	}
}

func TestAnEffectIsDoneAfterTheCommitAndItsRowRemoved(t *testing.T) {
	h := newHall(t)
	h.effect("e")
	if len(h.done) != 0 {
		t.Fatal("the effect happened inside the commit")
	}
	h.sweep()
	h.sweep()
	h.wantHistory("e", "done with result")
	if len(h.done) != 1 || len(h.rows("test.CLOCK")) != 0 || len(h.rows("test.STRAY")) != 0 {
		t.Errorf("done %v, rows %v, stray %v", h.done, h.rows("test.CLOCK"), h.rows("test.STRAY"))
	}
}

func TestAFailedEffectIsPutOffAndDoneLater(t *testing.T) {
	h := newHall(t)
	var tries []int
	h.do = func(f op.Fired) error {
		tries = append(tries, f.Tries)
		if f.Tries < 2 {
			return errors.New("the post is shut")
		}
		return nil
	}
	h.effect("e")
	h.sweep()
	for range 2 {
		next, ok := h.sw.NextDue(context.Background())
		if want := h.time().Add(op.Backoff(len(tries))); !ok || !next.Equal(want) {
			t.Fatalf("next try at %v, want %v", next, want)
		}
		if n := h.sweep(); n != 0 {
			t.Fatal("tried again at once")
		}
		h.pass(next.Sub(h.time()))
		h.sweep()
	}
	if !slices.Equal(tries, []int{0, 1, 2}) || len(h.rows("test.CLOCK")) != 0 {
		t.Errorf("tries %v, rows %v", tries, h.rows("test.CLOCK"))
	}
	h.wantHistory("e", "done with result")
}

func TestAnEffectThatNeverSucceedsIsPutAside(t *testing.T) {
	h := newHall(t)
	h.do = func(op.Fired) error { return errors.New("no such box as joe@example.org with gh_mcp_x") }
	h.effect("e")
	for range op.MaxTries {
		h.sweep()
		h.pass(3 * time.Hour)
	}
	if len(h.done) != op.MaxTries || !slices.Equal(h.dead, []string{"e"}) {
		t.Errorf("%d tries, dead %v", len(h.done), h.dead)
	}
	rows := h.rows("test.DEAD#mail")
	if len(rows) != 1 || len(h.rows("test.CLOCK")) != 0 {
		t.Fatalf("dead %v, waiting %v", rows, h.rows("test.CLOCK"))
	}
	var d jobs.Dead
	if err := op.Decode(rows[0].Data, &d); err != nil || d.Subject != "e" || d.Tries != op.MaxTries || string(d.Payload) != `"hello"` ||
		d.Cause != "no such box as […] with […]" {
		t.Errorf("%+v %v", d, err)
	}
	if strings.Contains(h.log.String(), "joe") {
		t.Error("an address is in the log")
	}
}

func TestACrashAfterTheEffectLooksAgainWhenTheClaimEnds(t *testing.T) {
	h := newHall(t)
	h.effect("e")
	h.inject(faulty.Fault{Mode: faulty.FailBefore, Op: faulty.Commit, Skip: 1, Times: 3}) // the claim passes, nothing after it
	if _, err := h.sw.SweepAll(context.Background(), h.time()); !errors.Is(err, table.ErrUnavailable) {
		t.Fatalf("the sweep answered %v", err)
	}
	if n := h.sweep(); n != 0 || len(h.done) != 1 {
		t.Fatalf("a claimed effect was done again: %v", h.done)
	}
	next, _ := h.sw.NextDue(context.Background())
	h.pass(next.Sub(h.time()))
	h.sweep()
	h.wantHistory("e", "done with result")
	if len(h.done) != 2 {
		t.Errorf("done %v", h.done)
	}
}

// An effect that cannot look whether it was done must hear that it may have been.
func TestATryThatFollowsOneWithoutAnEndSaysSo(t *testing.T) {
	h := newHall(t)
	var unsettled []bool
	h.do = func(f op.Fired) error {
		unsettled = append(unsettled, f.Unsettled)
		if len(unsettled) == 1 {
			return errors.New("known not to be done")
		}
		return nil
	}
	h.effect("e")
	h.sweep()
	h.pass(op.Backoff(1))
	h.inject(faulty.Fault{Mode: faulty.FailBefore, Op: faulty.Commit, Skip: 1, Times: 3}) // done, but nobody can write it down
	if _, err := h.sw.SweepAll(context.Background(), h.time()); !errors.Is(err, table.ErrUnavailable) {
		t.Fatal(err)
	}
	h.pass(2 * time.Minute)
	h.sweep()
	if want := []bool{false, false, true}; !slices.Equal(unsettled, want) {
		t.Errorf("%v, want %v", unsettled, want)
	}
}

func TestAResultThatCannotBeKeptIsToldToTheNextTry(t *testing.T) {
	h := newHall(t)
	var unsettled []bool
	h.sw.Effects = []op.EffectKind{{Kind: "mail", Do: func(_ *op.Call, f op.Fired) (any, error) {
		unsettled = append(unsettled, f.Unsettled)
		return nil, nil
	}, Done: func(*op.Call, op.Fired, any) error {
		if len(unsettled) < 3 {
			return errors.New("a rule forbids it")
		}
		return nil
	}}}
	h.effect("e")
	for n := range 3 {
		h.sweep()
		h.pass(op.Backoff(n + 1))
	}
	if want := []bool{false, true, true}; !slices.Equal(unsettled, want) {
		t.Errorf("%v, want %v", unsettled, want)
	}
}

func TestAPanickingEffectIsAFailedEffect(t *testing.T) {
	h := newHall(t)
	h.do = func(f op.Fired) error {
		if f.Tries == 0 {
			panic("poison")
		}
		return nil
	}
	h.effect("e")
	h.sweep()
	h.pass(op.Backoff(1))
	h.sweep()
	h.wantHistory("e", "done with result")
}

func TestASweepStopsBeforeItsDeadlineAndPassesTheRestOn(t *testing.T) {
	h := newHall(t)
	ids := sameShard(t, 2)
	h.arm(ids[0], time.Second)
	h.pass(2 * time.Second)
	h.effect(ids[1])
	for _, c := range []struct {
		left          time.Duration
		fired         int
		ready, waited int
	}{{jobs.Reserve / 2, 0, 0, 1}, {(jobs.Reserve + jobs.EffectReserve) / 2, 1, 1, 1}} {
		ctx, cancel := context.WithTimeout(t.Context(), c.left)
		n, err := h.sw.Sweep(ctx, 3, h.time())
		cancel()
		if d := h.queue.Depth("test-sweep"); n != c.fired || err != nil || d.Ready != c.ready || d.Waiting != c.waited {
			t.Errorf("with %v left: %d fired, %v, messages %+v", c.left, n, err, d)
		}
	}
	h.pump()
	h.wantHistory(ids[1], "done with result")
}

func TestNextDueIsTheEarliestOfAllShards(t *testing.T) {
	h := newHall(t)
	if _, ok := h.sw.NextDue(context.Background()); ok {
		t.Error("something is due in an empty exchange")
	}
	for i := range 50 {
		h.arm(fmt.Sprint("s", i), time.Duration(50-i)*time.Minute)
	}
	next, ok := h.sw.NextDue(context.Background())
	if want := h.time().Add(time.Minute); !ok || !next.Equal(want) {
		t.Errorf("next %v, want %v", next, want)
	}
}

func TestARunnerThatFollowsNextDueFiresEverythingAtItsTime(t *testing.T) {
	h := newHall(t)
	h.do = func(f op.Fired) error {
		if f.Tries < 3 {
			return errors.New("busy")
		}
		return nil
	}
	h.effect("e")
	for i := range 30 {
		h.arm(fmt.Sprint("s", i), time.Duration(1+i*7%30)*time.Minute)
	}
	steps := 0
	for next, ok := h.sw.NextDue(t.Context()); ok; next, ok = h.sw.NextDue(t.Context()) {
		if steps++; steps > 100 {
			t.Fatal("the runner spins")
		}
		h.pass(max(0, next.Sub(h.time())))
		h.sweep()
	}
	for i := range 30 {
		at := optest.Start.Add(time.Duration(1+i*7%30) * time.Minute).Format("15:04:05")
		h.wantHistory(fmt.Sprint("s", i), at+" at "+at)
	}
	h.wantHistory("e", "done with result")
}

func TestIdleClocksCostNothing(t *testing.T) {
	cost := func(idle int) mem.Stats {
		h := newHall(t)
		for i := range idle {
			h.arm(fmt.Sprint("s", i), 24*time.Hour)
		}
		before := h.store.Stats()
		h.sweep()
		return h.store.Stats().Since(before)
	}
	if none, many := cost(0), cost(2000); none != many {
		t.Errorf("a sweep costs %+v without and %+v with 2000 idle clocks", none, many)
	}
}

func TestHintsOfACommitAreSentOnceAndLossIsQuiet(t *testing.T) {
	h := newHall(t)
	send := jobs.Hints(h.queue, nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	send(ended, []op.Hint{op.SweepHint("test", 1, 0), op.SweepHint("test", 1, 0), op.SweepHint("test", 2, time.Hour), {Queue: "NO SUCH NAME", Body: []byte("x")}})
	if d := h.queue.Depth("test-sweep"); d.Ready != 1 || d.Waiting != 1 {
		t.Errorf("%+v", d)
	}
}
