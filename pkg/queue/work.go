package queue

import (
	"context"
	"errors"
	"fmt"
)

// Handler does the work of one message. Nil means done; an error leaves the message to
// come back after its visibility timeout.
type Handler func(ctx context.Context, d Delivery) error

// Failure is one message whose handler failed.
type Failure struct {
	Delivery Delivery
	Err      error
}

// ErrPanic marks a Failure whose handler panicked.
var ErrPanic = errors.New("queue: the handler panicked")

// Handle runs h over a batch, one after another, and returns the messages that failed, in
// order: a poisoned message spoils no other. A panic is a failure of its message. Once ctx
// has ended the rest fails unhandled. Lambda's partial batch answer and Work both use it.
func Handle(ctx context.Context, batch []Delivery, h Handler) []Failure {
	var failed []Failure
	for _, d := range batch {
		err := ctx.Err()
		if err == nil {
			err = guarded(ctx, d, h)
		}
		if err != nil {
			failed = append(failed, Failure{Delivery: d, Err: err})
		}
	}
	return failed
}

func guarded(ctx context.Context, d Delivery, h Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return h(ctx, d)
}

// Round says what one Work did.
type Round struct {
	Received int
	Failed   []Failure
}

// Work receives up to max messages of the named queue, handles them and deletes those that
// are done. The error is the queue's; failures of handlers are in the Round. When the
// delete fails the messages come back and are handled again, as with any queue.
func Work(ctx context.Context, q Queue, name string, max int, h Handler) (Round, error) {
	batch, err := q.Receive(ctx, name, max)
	if err != nil || len(batch) == 0 {
		return Round{}, err
	}
	round := Round{Received: len(batch), Failed: Handle(ctx, batch, h)}
	failed := make(map[string]bool, len(round.Failed))
	for _, f := range round.Failed {
		failed[f.Delivery.Receipt] = true
	}
	var done []string
	for _, d := range batch {
		if !failed[d.Receipt] {
			done = append(done, d.Receipt)
		}
	}
	if len(done) == 0 {
		return round, nil
	}
	return round, q.Delete(ctx, name, done...)
}

// SendAll sends any number of messages in as few batches as the limits allow. It stops at
// the first call that fails outright; partial failures are gathered in one *SendError.
func SendAll(ctx context.Context, q Queue, name string, msgs []Message) error {
	var partial SendError
	for len(msgs) > 0 {
		n := batchLen(msgs)
		err := q.Send(ctx, name, msgs[:n]...)
		var some *SendError
		if errors.As(err, &some) {
			partial.Failed = append(partial.Failed, some.Failed...)
		} else if err != nil {
			return err
		}
		msgs = msgs[n:]
	}
	if len(partial.Failed) > 0 {
		return &partial
	}
	return nil
}

// batchLen is how many of the first messages fit one Send; at least one.
func batchLen(msgs []Message) int {
	total := 0
	for i, m := range msgs {
		total += len(m.Body)
		if i == MaxBatch || (total > MaxBodyBytes && i > 0) {
			return i
		}
	}
	return len(msgs)
}

const (
	maxRedriveBatches = 1000 // batches one Redrive moves at most
	emptyReceives     = 3    // empty answers in a row that end a Redrive: a short poll may miss messages
)

// Redrive sends the messages of the queue's dead letter queue back to it, with their ids and
// bodies and a fresh count of receives, and returns how many it moved. A message is sent
// before it is deleted, so that a Redrive that is cut off repeats messages and loses none.
func Redrive(ctx context.Context, q Queue, name string) (int, error) {
	if err := ValidName(name); err != nil {
		return 0, err
	}
	if IsDeadName(name) {
		return 0, fmt.Errorf("%w: %s is a dead letter queue: name the queue it belongs to", ErrInvalid, name)
	}
	moved, empty := 0, 0
	for batches := 0; batches < maxRedriveBatches && empty < emptyReceives; batches++ {
		n, err := redriveBatch(ctx, q, name)
		moved += n
		if err != nil {
			return moved, err
		}
		if empty++; n > 0 {
			empty = 0
		}
	}
	return moved, nil
}

func redriveBatch(ctx context.Context, q Queue, name string) (int, error) {
	batch, err := q.Receive(ctx, DeadName(name), MaxBatch)
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	// The dead letter queue may hold a message twice: one Send each keeps ids apart and a
	// refusal of one from holding back the others' deletion.
	for i, d := range batch {
		if err := q.Send(ctx, name, Message{ID: d.ID, Body: d.Body}); err != nil {
			return i, err
		}
		if err := q.Delete(ctx, DeadName(name), d.Receipt); err != nil {
			return i, err
		}
	}
	return len(batch), nil
}
