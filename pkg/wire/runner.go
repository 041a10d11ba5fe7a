package wire

import (
	"context"
	"log/slog"
	"time"

	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/op"
	"guildhall/pkg/queue"
	"guildhall/pkg/queue/memqueue"
)

// How the local runner keeps time.
const (
	tickEvery = time.Minute
	workBatch = queue.MaxBatch
	// idlePause bounds how long a webhook of the simulated processor waits to be noticed.
	idlePause = 250 * time.Millisecond
	// maxSteps bounds one move of the clock, so that a timer that re-arms itself in the
	// past shows instead of running for ever.
	maxSteps = 5_000_000
)

// Runner does in one process what schedules and queue consumers do on AWS.
type Runner struct {
	Clock    *Clock
	Queue    *memqueue.Queue // may be behind a fault wrapper for senders; the runner sees it bare
	Sweepers []*jobs.Sweeper
	Log      *slog.Logger
	// Webhooks delivers the webhooks of the simulated processor that are due and returns
	// how many were taken; WebhookDue says when the next one is. Nil for none.
	Webhooks   func(ctx context.Context) (int, error)
	WebhookDue func() (time.Time, bool)
	// Purge deletes a part of what nobody claimed; nil for nothing.
	Purge func(ctx context.Context, now time.Time)

	turn chan struct{} // held while something is being fired
}

// NewRunner makes a runner.
func NewRunner(c *Clock, q *memqueue.Queue, sweepers []*jobs.Sweeper, log *slog.Logger) *Runner {
	return &Runner{Clock: c, Queue: q, Sweepers: sweepers, Log: log, turn: make(chan struct{}, 1)}
}

// Run works until ctx ends: a tick a minute, and messages as they become visible.
func (r *Runner) Run(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	r.tick(ctx)
	for ctx.Err() == nil {
		if _, err := r.work(ctx); err != nil && ctx.Err() == nil {
			r.Log.Error("queue failed", slog.String("operation", "edge.runner"), slog.String("cause", err.Error()))
		}
		wait := time.NewTimer(r.pause())
		select {
		case <-ctx.Done():
		case <-tick.C:
			r.tick(ctx)
		case <-r.Queue.Wake():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// pause is how long nothing becomes visible.
func (r *Runner) pause() time.Duration {
	next, ok := r.Queue.NextDue()
	if r.WebhookDue != nil {
		if t, found := r.WebhookDue(); found && (!ok || t.Before(next)) {
			next, ok = t, true
		}
	}
	if !ok || r.Clock.Frozen() {
		return idlePause
	}
	return min(idlePause, max(time.Millisecond, next.Sub(r.Clock.Now())))
}

func (r *Runner) tick(ctx context.Context) {
	for _, s := range r.Sweepers {
		if err := s.Tick(ctx); err != nil && ctx.Err() == nil {
			r.Log.Error("tick failed", slog.String("operation", "edge.clock.tick"), slog.String("cause", err.Error()))
		}
	}
	if r.Purge != nil {
		r.Purge(ctx, r.Clock.Now())
	}
}

// work handles every message that is visible now, delivers webhooks, and returns how many.
func (r *Runner) work(ctx context.Context) (n int, err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for {
		k, err := r.drainHeld(ctx)
		n += k
		if err != nil {
			return n, err
		}
		hooks, err := r.deliver(ctx)
		if err != nil || hooks == 0 {
			return n, err
		}
	}
}

func (r *Runner) drainHeld(ctx context.Context) (n int, err error) {
	for again := true; again && ctx.Err() == nil; {
		again = false
		for _, s := range r.Sweepers {
			round, err := queue.Work(ctx, r.Queue, op.SweepQueue(s.Context), workBatch, s.Handle)
			if err != nil {
				return n, err
			}
			n += round.Received
			again = again || round.Received > 0
		}
	}
	return n, nil
}

// Advance moves the clock to the time that to names, given the present one, firing
// everything that falls due on the way in due order, each at its own due time, until nothing
// is left to do. It returns how many timers and effects fired. An error of to moves nothing.
func (r *Runner) Advance(ctx context.Context, to func(now time.Time) (time.Time, error)) (fired int, err error) {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	var target time.Time
	err = r.Clock.Freeze(func(now time.Time) (err error) {
		if target, err = to(now); err == nil && target.Before(now) {
			err = ErrBack
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	for range maxSteps {
		next, ok := r.next(ctx)
		if !ok || next.After(target) {
			break
		}
		if next.After(r.Clock.Now()) {
			if err := r.Clock.Set(next); err != nil {
				return fired, err
			}
		}
		n, err := r.settleHeld(ctx)
		fired += n
		if err != nil {
			return fired, err
		}
	}
	if err := r.Clock.Set(target); err != nil {
		return fired, err
	}
	n, err := r.settleHeld(ctx)
	if err == nil {
		err = r.Clock.keep()
	}
	if r.Purge != nil {
		r.Purge(ctx, target)
	}
	return fired + n, err
}

// Settle runs queues and due clocks at the present time until nothing is left.
func (r *Runner) Settle(ctx context.Context) (fired int, err error) {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	return r.settleHeld(ctx)
}

func (r *Runner) settleHeld(ctx context.Context) (fired int, err error) {
	for ctx.Err() == nil {
		n := 0
		for _, s := range r.Sweepers {
			k, err := s.SweepAll(ctx, r.Clock.Now())
			n += k
			if err != nil {
				return fired, err
			}
		}
		if _, err := r.drainHeld(ctx); err != nil {
			return fired, err
		}
		hooks, err := r.deliver(ctx)
		if err != nil {
			return fired, err
		}
		fired += n
		if n+hooks == 0 {
			return fired, nil
		}
	}
	return fired, ctx.Err()
}

func (r *Runner) deliver(ctx context.Context) (int, error) {
	if r.Webhooks == nil {
		return 0, nil
	}
	return r.Webhooks(ctx)
}

// NextDue is when the next timer of any context falls due.
func (r *Runner) NextDue(ctx context.Context) (next time.Time, ok bool) { return r.next(ctx) }

func (r *Runner) next(ctx context.Context) (next time.Time, ok bool) {
	for _, s := range r.Sweepers {
		if t, found := s.NextDue(ctx); found && (!ok || t.Before(next)) {
			next, ok = t, true
		}
	}
	if r.WebhookDue != nil {
		if t, found := r.WebhookDue(); found && (!ok || t.Before(next)) {
			next, ok = t, true
		}
	}
	return next, ok
}
