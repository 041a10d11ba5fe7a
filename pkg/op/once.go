package op

import (
	"context"
	"time"
)

// once keeps what a request did that cannot be done again, and how it is taken back.
type once struct {
	done map[string]onceResult
	undo []func(context.Context)
}

type onceResult struct {
	value any
	err   error
}

// Once runs fn at most once per request, however often the operation decides, and answers
// its result each time, an error too. It is for what cannot be done again and is no
// decision: reading the body's stream into the blob store. An operation that reads its
// stream in Once can lose a race and decide again.
func (c *Call) Once(name string, fn func() (any, error)) (any, error) {
	if c.once == nil {
		c.once = &once{}
	}
	if r, ok := c.once.done[name]; ok {
		return r.value, r.err
	}
	v, err := fn()
	if c.once.done == nil {
		c.once.done = map[string]onceResult{}
	}
	c.once.done[name] = onceResult{v, err}
	return v, err
}

// Undo registers what takes back something this request did outside the table: it runs
// when the request ends without a commit of its own (refused, lost its last race, or
// answered what another request committed). While the outcome of a commit is unknown
// nothing is taken back. It is for what only this request knows of.
func (c *Call) Undo(fn func(context.Context)) {
	if c.once == nil {
		c.once = &once{}
	}
	c.once.undo = append(c.once.undo, fn)
}

// undoTime is how long taking back may last; the request itself may have run out of time.
const undoTime = 5 * time.Second

// end takes back what has to be, the latest first, unless the answer was committed or may
// have been.
func (o *once) end(ctx context.Context, committed bool) {
	if committed || len(o.undo) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	for i := len(o.undo) - 1; i >= 0; i-- {
		o.undo[i](ctx)
	}
}

// used tells whether anything was done.
func (o *once) used() bool { return len(o.done) > 0 }
