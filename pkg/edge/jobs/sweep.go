// Package jobs fires what falls due: timers, and the side effects that commits left in the
// outbox. Rows are the truth; queue messages only say where to look (law 4).
//
// It looks at one clock shard at a time, reads the rows that are due in order, and fires
// each in a commit of its own that also removes the row: a second firing finds no row. What
// many timers are about to read (op.TimerKind.Rows) is read for them in one batch. An
// effect is first claimed, so that two sweeps do not do it side by side, then done outside
// any commit, then settled in a commit that removes its row.
//
// A row that cannot be fired stands in nobody's way but its own subject's. Rows:
//
//	<context>.CLOCK#<shard> / <due>#<kind>#<subject>  a timer or an outbox row (pkg/clock)
//	<context>.DEAD#<kind> / <time>#<key>              an effect that was given up
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/queue"
	"guildhall/pkg/table"
)

// Limits of a sweep.
const (
	// PerMessage is how many rows one message looks at; another message takes the rest.
	PerMessage = 100
	// Ahead is how far a tick looks ahead: rows due within it get a delayed message.
	Ahead = time.Minute
	// Retry is the pause before a row that could not be fired is tried again.
	Retry = time.Minute
	// Reserve is what must be left of the call's deadline to begin another row, and
	// EffectReserve to begin another effect: a message takes the rest.
	Reserve       = 5 * time.Second
	EffectReserve = 12 * time.Second
	// stalled delays the message of a sweep that had no time to begin a row.
	stalled = 15 * time.Second
	// maxStuck bounds how many rows a process remembers as not firing.
	maxStuck = 1000
	// maxLost is how many rows of a page another sweep may take first: then that one is at
	// work on the shard and goes on with it, and this one stops. Of several only one is left,
	// for who is alone loses none.
	maxLost = 3
	// storeTries is how often a decision is made when the store does not answer.
	storeTries = 3
)

// Sweeper fires the timers and effects of one context.
type Sweeper struct {
	Engine  *op.Engine
	Context string
	Timers  []op.TimerKind
	Effects []op.EffectKind
	// Queue takes the messages for what a sweep leaves; nil sends none, and a sweep then
	// goes on by itself until nothing is due.
	Queue queue.Queue
	Log   *slog.Logger

	mu    sync.Mutex
	stuck map[table.Key]time.Time // rows that failed, and when they are tried again
}

// Sweep fires what is due at now in a shard and announces what falls due within Ahead. It
// returns how many rows it dealt with. A row that cannot be fired is logged and stays; an
// error means that the store did not answer, and the sweep should be repeated.
func (s *Sweeper) Sweep(ctx context.Context, shard int, now time.Time) (fired int, err error) {
	return s.sweep(ctx, message{Context: s.Context, Shard: shard, Ahead: true}, now, s.Queue)
}

// SweepAll fires all that is due in every shard, in the order of the shards, and sends no
// message: it is for runners that follow NextDue, in simulated time above all.
func (s *Sweeper) SweepAll(ctx context.Context, now time.Time) (fired int, err error) {
	for shard := range clock.Shards {
		n, err := s.sweep(ctx, message{Context: s.Context, Shard: shard}, now, nil)
		fired += n
		if err != nil {
			return fired, err
		}
	}
	return fired, nil
}

// errLate ends a sweep that has no time left for the row at hand.
var errLate = errors.New("jobs: too late to begin an effect")

// round is one sweep under way.
type round struct {
	*Sweeper
	ctx     context.Context
	now     time.Time // as asked for
	started time.Time // the engine's clock when the sweep began
	fired   int
	failed  int
	lost    int             // timers of this page that another sweep fired
	blocked map[string]bool // subjects with a row that did not fire
	coming  map[int]bool    // seconds until rows within Ahead fall due
	// enough ends when less than Reserve is left of the deadline, calm when less than
	// EffectReserve is.
	enough, calm context.Context
	begun        bool // a row was looked at
	yields       bool // to another sweep of the shard: there are messages to go on with it
}

// at is the sweep's time plus what has passed since it began.
func (r *round) at() time.Time { return clock.Cut(r.now.Add(r.Engine.Now().Sub(r.started))) }

// sweep does what a message asks for; without a queue it goes on until nothing is left.
func (s *Sweeper) sweep(ctx context.Context, m message, now time.Time, q queue.Queue) (int, error) {
	r := &round{Sweeper: s, ctx: ctx, now: clock.Cut(now), started: s.Engine.Now(), blocked: map[string]bool{}, coming: map[int]bool{}, yields: q != nil}
	r.enough, r.calm = ctx, ctx
	if deadline, ok := ctx.Deadline(); ok {
		enough, cancel := context.WithDeadline(ctx, deadline.Add(-Reserve))
		defer cancel()
		calm, cancel2 := context.WithDeadline(ctx, deadline.Add(-EffectReserve))
		defer cancel2()
		r.enough, r.calm = enough, calm
	}
	more, err := r.page(&m)
	for err == nil && more && q == nil && r.calm.Err() == nil {
		more, err = r.page(&m)
	}
	if q != nil {
		r.announce(q, m, more && err == nil)
	}
	r.report(m, err)
	return r.fired, err
}

// page deals with at most PerMessage rows behind m.After and moves it on; more tells
// whether rows are left.
func (r *round) page(m *message) (more bool, err error) {
	horizon := r.now
	if m.Ahead {
		horizon = horizon.Add(Ahead)
	}
	p, err := r.Engine.Store.Query(r.ctx, table.Query{PK: clock.Partition(r.Context, m.Shard), After: m.After,
		To: clock.Stamp(horizon.Add(time.Millisecond)), Limit: PerMessage})
	if err != nil {
		return false, err
	}
	r.lost = 0
	near := nearOf(p.Rows)
	for i, row := range p.Rows {
		if r.enough.Err() != nil {
			return true, r.ctx.Err()
		}
		if i == near.end {
			near.look(r)
		}
		switch err := r.row(row, near); {
		case errors.Is(err, errLate):
			return true, nil
		case err != nil:
			return false, err
		case r.yields && r.lost == maxLost:
			return false, nil
		}
		r.begun, m.After = true, row.SK
	}
	return p.More, nil
}

// entry is a clock row as it is stored; Held keeps others from an effect while it is done.
type entry struct {
	op.Fired
	Held time.Time `json:"held,omitzero"`
	// version of the row: of a held one, the claim.
	version string
}

func load(c *op.Call, key table.Key) (e entry, found bool, err error) {
	row, err := c.Get(key)
	if err != nil || !row.Found() {
		return e, false, err
	}
	err = op.Decode(row.Data, &e)
	e.version = row.Version
	return e, true, err
}

// row deals with one row. An error ends the sweep.
func (r *round) row(row table.Row, near *near) error {
	due, e, ok := r.read(row)
	if !ok {
		return nil
	}
	if due.After(r.now) {
		r.coming[int((due.Sub(r.now)+time.Second-1)/time.Second)] = true
		return nil
	}
	if r.blocked[e.Subject] || e.Held.After(r.at()) {
		return nil
	}
	if r.waits(row.Key) {
		r.blocked[e.Subject] = true
		return nil
	}
	done, err := r.dispatch(row, e, near)
	switch {
	case err == nil && done:
		r.fired++
	case err == nil:
	case errors.Is(err, errLate), errors.Is(err, table.ErrUnavailable), r.ctx.Err() != nil:
		return err
	default:
		r.failed++
		r.blocked[e.Subject] = true
		r.remember(row.Key)
		r.logger().LogAttrs(r.ctx, slog.LevelError, "timer failed", slog.String("operation", r.Context+"."+e.Kind),
			slog.Time("due", e.Due), slog.String("cause", short(err.Error())))
	}
	return nil
}

// read takes a row apart; ok is false, and the row is left, when it makes no sense to this
// sweep: another version of the program may know it.
func (r *round) read(row table.Row) (due time.Time, e entry, ok bool) {
	due, err := dueOf(row.SK)
	if err == nil {
		err = op.Decode(row.Data, &e)
	}
	if err == nil && !r.knows(e.Kind) {
		err = fmt.Errorf("unknown kind %q", e.Kind)
	}
	if err != nil {
		r.failed++
		r.logger().LogAttrs(r.ctx, slog.LevelWarn, "timer left in place", slog.String("operation", r.Context+".clock.sweep"),
			slog.String("cause", short(err.Error())))
	}
	return due, e, err == nil
}

func dueOf(sk string) (time.Time, error) {
	if len(sk) < len(clock.Layout) {
		return time.Time{}, fmt.Errorf("clock row %q has no time", sk)
	}
	return clock.Parse(sk[:len(clock.Layout)])
}

func (s *Sweeper) timer(kind string) *op.TimerKind {
	for i := range s.Timers {
		if s.Timers[i].Kind == kind && s.Timers[i].Context == s.Context {
			return &s.Timers[i]
		}
	}
	return nil
}

func (s *Sweeper) effect(kind string) *op.EffectKind {
	for i := range s.Effects {
		if s.Effects[i].Kind == kind {
			return &s.Effects[i]
		}
	}
	return nil
}

func (s *Sweeper) knows(kind string) bool { return s.timer(kind) != nil || s.effect(kind) != nil }

// dispatch fires a timer or does an effect; done is false when another sweep was first.
func (r *round) dispatch(row table.Row, e entry, near *near) (done bool, err error) {
	if t := r.timer(e.Kind); t != nil {
		return r.fire(row.Key, e.Subject, t, near)
	}
	if r.calm.Err() != nil {
		return false, errLate
	}
	return r.work(row.Key, r.Sweeper.effect(e.Kind))
}

// fire makes the decision of a timer, committed together with the removal of its row. The
// first attempt decides on the rows as this sweep read them, any other reads them anew.
func (r *round) fire(key table.Key, subject string, kind *op.TimerKind, near *near) (done bool, err error) {
	if !near.timers[key].Found() {
		return false, nil // a timer before it settled this one
	}
	var call *op.Call
	err = r.decide(func(c *op.Call) error {
		if call == nil {
			near.give(c, kind, key, subject)
		}
		call = c
		t, found, err := op.Load[op.Fired](c, key)
		if done = found; err != nil || !found {
			return err
		}
		c.Delete(key)
		return guard(func() error { return kind.Fire(c, t) })
	})
	if err == nil && !done {
		r.lost++
	}
	near.learn(call, kind, subject, err)
	return done, err
}

// decide is one decision, made again when the store does not answer: the rows tell whether
// the first try came through.
func (r *round) decide(fn func(*op.Call) error) (err error) {
	for try := 1; ; try++ {
		err = r.Engine.Run(r.ctx, r.at(), r.Context, fn)
		if !errors.Is(err, table.ErrUnavailable) || try == storeTries || r.ctx.Err() != nil {
			return err
		}
		if r.Engine.Pause != nil {
			r.Engine.Pause(r.ctx, try)
		}
	}
}

// remember keeps a row that failed from being tried with every hint.
func (r *round) remember(key table.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stuck == nil || len(r.stuck) >= maxStuck {
		r.stuck = map[table.Key]time.Time{}
	}
	r.stuck[key] = r.at().Add(Retry)
}

// waits tells whether a row failed a moment ago.
func (r *round) waits(key table.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	again, ok := r.stuck[key]
	if ok && !again.After(r.at()) {
		delete(r.stuck, key)
		return false
	}
	return ok
}

// report writes the one line of a sweep; one that found nothing is not worth keeping.
func (r *round) report(m message, err error) {
	level := slog.LevelDebug
	switch {
	case err != nil:
		level = slog.LevelError
	case r.fired+r.failed > 0:
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{slog.String("operation", r.Context+".clock.sweep"), slog.String("caller", "system"),
		slog.Int("shard", m.Shard), slog.Int("fired", r.fired), slog.Int("failed", r.failed),
		slog.Float64("duration_ms", float64(r.Engine.Now().Sub(r.started).Microseconds())/1000)}
	if err != nil {
		attrs = append(attrs, slog.String("cause", short(err.Error())))
	}
	r.logger().LogAttrs(context.WithoutCancel(r.ctx), level, "sweep", attrs...)
}

func (s *Sweeper) logger() *slog.Logger { return cmp.Or(s.Log, silent) }

var silent = slog.New(slog.DiscardHandler)
