package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Times of an effect.
const (
	// doTimeout ends one Do; the call's deadline ends it sooner, settleReserve before.
	doTimeout     = 25 * time.Second
	settleReserve = 3 * time.Second
	// holdFor is how long a claim keeps others away: longer than Do and its commits take.
	holdFor = time.Minute
)

// Dead is the row of an effect that was given up.
type Dead struct {
	op.Fired
	Cause string    `json:"cause"` // the last failure, fit for a log
	At    time.Time `json:"at"`
}

// DeadKey is the row of a given-up effect.
func DeadKey(group string, t op.Fired, at time.Time) table.Key {
	return table.Key{PK: group + ".DEAD#" + t.Kind, SK: clock.Stamp(at) + "#" + t.Subject}
}

var errNothing = errors.New("jobs: nothing to commit")

// work does an effect once: claim, do, settle. done is false when another sweep has it.
func (r *round) work(key table.Key, kind *op.EffectKind) (done bool, err error) {
	e, ok, err := r.claim(key)
	if err != nil || !ok {
		return false, err
	}
	result, cause := r.do(kind, e.Fired)
	if cause == nil {
		cause = r.settle(key, kind, e.Fired, result)
		if cause == nil || errors.Is(cause, table.ErrUnavailable) {
			return cause == nil, cause
		}
		e.Unsettled = true
	}
	if r.ctx.Err() != nil {
		return false, cause // the row comes back when its claim ends
	}
	return true, r.again(key, kind, e, cause)
}

// claim marks the row as being worked on; ok is false when it is gone or held.
func (r *round) claim(key table.Key) (e entry, ok bool, err error) {
	err = r.decide(func(c *op.Call) error {
		old, found, err := load(c, key)
		mine := found && old.version == e.version // an earlier try of this claim came through
		ok = mine || found && !old.Held.After(c.Now)
		if err != nil || !ok || mine {
			return err
		}
		e = old
		e.Unsettled = old.Unsettled || !old.Held.IsZero() // whoever held it never came back
		e.Held, e.version = c.Now.Add(holdFor), c.CommitID()
		c.Put(key, e)
		return nil
	})
	return e, ok, err
}

// do runs the effect outside any commit: whatever it stages by mistake is dropped.
func (r *round) do(kind *op.EffectKind, t op.Fired) (result any, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, doTimeout)
	defer cancel()
	if deadline, ok := r.ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-settleReserve))
		defer cancel()
	}
	if r.Engine.Ports != nil {
		ctx = r.Engine.Ports(ctx, kind.Touches|op.Table)
	}
	ran := r.Engine.Run(ctx, r.at(), r.Context, func(c *op.Call) error {
		err = guard(func() (err error) {
			result, err = kind.Do(c, t)
			return err
		})
		return errNothing
	})
	if err == nil && !errors.Is(ran, errNothing) {
		err = ran
	}
	return result, err
}

// settle commits what the result changes together with the removal of the row. A row that
// is gone was settled by another sweep.
func (r *round) settle(key table.Key, kind *op.EffectKind, t op.Fired, result any) error {
	return r.decide(func(c *op.Call) error {
		row, err := c.Get(key)
		if err != nil || !row.Found() {
			return err
		}
		c.Delete(key)
		if kind.Done == nil {
			return nil
		}
		return guard(func() error { return kind.Done(c, t, result) })
	})
}

// again puts a failed effect off, or aside after MaxTries.
func (r *round) again(key table.Key, kind *op.EffectKind, mine entry, cause error) error {
	mine.Tries++
	r.logger().LogAttrs(r.ctx, slog.LevelWarn, "effect failed", slog.String("operation", r.Context+"."+mine.Kind),
		slog.Int("tries", mine.Tries), slog.Bool("given_up", mine.Tries >= op.MaxTries), slog.String("cause", short(cause.Error())))
	if mine.Tries < op.MaxTries {
		return r.putOff(key, mine)
	}
	err := r.putAside(key, kind, mine, cause)
	if err == nil || errors.Is(err, table.ErrUnavailable) {
		return err
	}
	r.logger().LogAttrs(r.ctx, slog.LevelError, "effect could not be given up", slog.String("operation", r.Context+"."+mine.Kind),
		slog.String("cause", short(err.Error())))
	mine.Tries = op.MaxTries - 1
	return r.putOff(key, mine)
}

// putOff moves the row to its next try.
func (r *round) putOff(key table.Key, mine entry) error {
	return r.mine(key, mine, func(c *op.Call) error {
		t := mine.Fired
		t.Due = clock.Cut(c.Now.Add(op.Backoff(t.Tries)))
		c.Create(clock.Key(r.Context, t.Kind, t.Subject, t.Due), entry{Fired: t})
		return nil
	})
}

// putAside moves the row to the dead and lets the kind decide what that means.
func (r *round) putAside(key table.Key, kind *op.EffectKind, mine entry, cause error) error {
	return r.mine(key, mine, func(c *op.Call) error {
		c.Create(DeadKey(r.Context, mine.Fired, c.Now), Dead{Fired: mine.Fired, Cause: short(cause.Error()), At: c.Now})
		if kind.Dead == nil {
			return nil
		}
		return guard(func() error { return kind.Dead(c, mine.Fired, cause) })
	})
}

// mine removes the row and decides, unless the claim passed to another sweep.
func (r *round) mine(key table.Key, mine entry, fn func(*op.Call) error) error {
	return r.decide(func(c *op.Call) error {
		e, found, err := load(c, key)
		if err != nil || !found || e.version != mine.version {
			return err
		}
		c.Delete(key)
		return fn(c)
	})
}

// guard makes a panic an error of its row. The stack goes with it: it names no data.
func guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v at %s", p, frames(debug.Stack()))
		}
	}()
	return fn()
}

// maxFrames is how many calls of a stack a log line names.
const maxFrames = 8

// frames lists the innermost source lines of a stack, below the recovery itself.
func frames(stack []byte) string {
	var out []string
	for line := range strings.Lines(string(stack)) {
		file, ok := strings.CutPrefix(line, "\t")
		if !ok || strings.Contains(file, "/runtime/") {
			continue
		}
		file, _, _ = strings.Cut(file, " ")
		if i := strings.LastIndex(file, "/pkg/"); i >= 0 {
			file = file[i+1:]
		}
		out = append(out, strings.TrimSpace(file))
	}
	return strings.Join(out[min(1, len(out)):min(maxFrames, len(out))], " < ")
}

// maxCause bounds a cause in a log or a row, in bytes.
const maxCause = 500

func short(s string) string { return fault.Scrub(s, maxCause) }
