package wire

import (
	"context"
	"strings"
	"sync"

	"guildhall/pkg/op"
	"guildhall/pkg/queue"
)

// dropper makes sends to the queue go wrong on request (surface.md 2, POST /_dev/faults).
type dropper struct {
	queue.Queue
	mu    sync.Mutex
	mode  string
	match string
	left  int
}

// Set makes the next n sends, of operations whose id contains match, go wrong.
func (d *dropper) Set(mode string, n int, match string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mode, d.left, d.match = mode, n, match
}

func (d *dropper) take(ctx context.Context) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 || !strings.Contains(op.OperationID(ctx), d.match) {
		return ""
	}
	d.left--
	return d.mode
}

// Send implements queue.Queue.
func (d *dropper) Send(ctx context.Context, name string, msgs ...queue.Message) error {
	switch d.take(ctx) {
	case "drop":
		return nil
	case "fail_before", "throttle", "conflict":
		return queue.ErrUnavailable
	case "fail_after":
		_ = d.Queue.Send(ctx, name, msgs...)
		return queue.ErrUnavailable
	case "duplicate":
		if err := d.Queue.Send(ctx, name, msgs...); err != nil {
			return err
		}
	}
	return d.Queue.Send(ctx, name, msgs...)
}
