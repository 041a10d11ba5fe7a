// Package queue is the port through which jobs are told that there is something to do.
//
// One Queue serves several named queues, one per job class. A message is only a hint: the
// table says what is true, so a lost, repeated, late or reordered message changes nothing
// but timing. Delivery is at least once and in no promised order. A received message is
// hidden for the visibility timeout and comes back unless it is deleted; after the
// receives its queue allows it moves to the dead letter queue (DeadName), which is a queue
// like any other until Redrive sends its messages back.
//
// Adapters: memqueue (in process), sqs (AWS). Both pass queuetest.
package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits every adapter enforces alike, so that what fits here fits on AWS.
const (
	MaxBatch      = 10                // messages of one Send, one Receive, one Delete
	MaxBodyBytes  = 256_000           // bytes of one body, and of all bodies of one Send
	MaxDelay      = 900 * time.Second // longest Delay of a message
	MaxVisibility = 12 * time.Hour    // longest Hide
	MaxIDBytes    = 128               // bytes of a message id
	MaxNameBytes  = 60                // bytes of a queue name, "-dlq" included
)

// What a queue does unless its settings say otherwise.
const (
	DefaultVisibility  = 180 * time.Second // how long a received message stays hidden
	DefaultMaxReceives = 5                 // receives before a message is dead
)

// IDAttribute is the message attribute that carries Message.ID where a queue service
// gives messages ids of its own.
const IDAttribute = "id"

const deadSuffix = "-dlq"

// Errors of a queue. Anything else is an internal error.
var (
	// ErrInvalid: the call itself is wrong (name, id, body, delay, number of messages).
	ErrInvalid = errors.New("queue: invalid call")
	// ErrTooLarge: a body, or a batch, is over MaxBodyBytes; nothing was sent.
	ErrTooLarge = errors.New("queue: over a size limit")
	// ErrUnavailable: the queue did not answer, or refused for now. A message may or may
	// not have been sent.
	ErrUnavailable = errors.New("queue: the queue is unavailable")
	// ErrNotHeld: the receipt no longer holds its message (deleted, or received again).
	ErrNotHeld = errors.New("queue: the receipt no longer holds the message")
)

// Message is what is sent.
type Message struct {
	// ID is the sender's own name of the message: 1..MaxIDBytes of printable ASCII without
	// blanks, different within one Send. Queues do not deduplicate by it.
	ID string
	// Body is non-empty UTF-8 text (job bodies are JSON) of at most MaxBodyBytes.
	Body []byte
	// Delay keeps the message back, 0..MaxDelay; rounded up to whole seconds.
	Delay time.Duration
}

// Delivery is one received message.
type Delivery struct {
	ID   string
	Body []byte
	// Receives counts how often the message was received, this time included: from 1.
	Receives int
	// SentAt is when the queue took the message.
	SentAt time.Time
	// Receipt names this delivery to Delete and Hide; it is void once the message is
	// received again.
	Receipt string
}

// Queue is the port.
type Queue interface {
	// Send puts 1..MaxBatch messages into the named queue. When only some were taken the
	// error is a *SendError that names the others.
	Send(ctx context.Context, name string, msgs ...Message) error
	// Receive takes up to max (1..MaxBatch) visible messages and hides them for the
	// visibility timeout. None is an empty slice, not an error.
	Receive(ctx context.Context, name string, max int) ([]Delivery, error)
	// Delete ends the messages of these receipts (at most MaxBatch). A void receipt is
	// passed over.
	Delete(ctx context.Context, name string, receipts ...string) error
	// Hide keeps a held message hidden for d from now, 0..MaxVisibility: 0 gives it back
	// at once. ErrNotHeld when the receipt is void.
	Hide(ctx context.Context, name, receipt string, d time.Duration) error
}

// SendError tells which messages of a batch were not taken; all others were.
type SendError struct {
	Failed []FailedSend
}

// FailedSend is one message a Send could not place.
type FailedSend struct {
	ID     string
	Reason string // the adapter's words, for a log
}

func (e *SendError) Error() string {
	ids := make([]string, len(e.Failed))
	for i, f := range e.Failed {
		ids[i] = f.ID + " (" + f.Reason + ")"
	}
	return "queue: not sent: " + strings.Join(ids, ", ")
}

// Unwrap makes a partial failure an ErrUnavailable: it may be tried again.
func (e *SendError) Unwrap() error { return ErrUnavailable }

// DeadName is the name of the dead letter queue of a queue; a dead letter queue has none
// of its own and keeps its name.
func DeadName(name string) string {
	if IsDeadName(name) {
		return name
	}
	return name + deadSuffix
}

// IsDeadName tells whether the name is that of a dead letter queue.
func IsDeadName(name string) bool { return strings.HasSuffix(name, deadSuffix) }

// DelaySeconds is the delay in whole seconds, rounded up: never early.
func (m Message) DelaySeconds() int {
	return int((m.Delay + time.Second - 1) / time.Second)
}

// ValidName refuses names other than 1..MaxNameBytes of a-z, 0-9 and hyphens.
func ValidName(name string) error {
	if name == "" || len(DeadName(name)) > MaxNameBytes {
		return fmt.Errorf("%w: queue name %q: 1 to %d bytes", ErrInvalid, name, MaxNameBytes-len(deadSuffix))
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("%w: queue name %q: only a-z, 0-9 and hyphens", ErrInvalid, name)
		}
	}
	return nil
}

// ValidSend checks a Send call; adapters call it first.
func ValidSend(name string, msgs []Message) error {
	if err := ValidName(name); err != nil {
		return err
	}
	if len(msgs) == 0 || len(msgs) > MaxBatch {
		return fmt.Errorf("%w: %d messages in a batch, 1 to %d", ErrInvalid, len(msgs), MaxBatch)
	}
	total := 0
	seen := make(map[string]bool, len(msgs))
	for _, m := range msgs {
		if seen[m.ID] {
			return fmt.Errorf("%w: message id %q twice in a batch", ErrInvalid, m.ID)
		}
		seen[m.ID] = true
		if err := m.valid(); err != nil {
			return err
		}
		total += len(m.Body)
	}
	if total > MaxBodyBytes {
		return fmt.Errorf("%w: %d bytes in a batch, at most %d", ErrTooLarge, total, MaxBodyBytes)
	}
	return nil
}

func (m Message) valid() error {
	if m.ID == "" || len(m.ID) > MaxIDBytes || strings.IndexFunc(m.ID, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return fmt.Errorf("%w: message id %q: 1 to %d printable ASCII bytes", ErrInvalid, m.ID, MaxIDBytes)
	}
	if m.Delay < 0 || m.Delay > MaxDelay {
		return fmt.Errorf("%w: message %s delayed by %v, 0 to %v", ErrInvalid, m.ID, m.Delay, MaxDelay)
	}
	if len(m.Body) > MaxBodyBytes {
		return fmt.Errorf("%w: message %s has %d bytes, at most %d", ErrTooLarge, m.ID, len(m.Body), MaxBodyBytes)
	}
	if !isText(m.Body) {
		return fmt.Errorf("%w: message %s is empty or not plain text", ErrInvalid, m.ID)
	}
	return nil
}

// isText tells whether a queue service takes the body: UTF-8 without control characters
// other than tab and line ends, and without the two non-characters XML leaves out.
func isText(b []byte) bool {
	if len(b) == 0 || !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		control := r < ' ' && r != '\t' && r != '\n' && r != '\r'
		if control || r == 0xfffe || r == 0xffff {
			return false
		}
	}
	return true
}

// ValidReceive checks a Receive call.
func ValidReceive(name string, max int) error {
	if max < 1 || max > MaxBatch {
		return fmt.Errorf("%w: receive of %d messages, 1 to %d", ErrInvalid, max, MaxBatch)
	}
	return ValidName(name)
}

// ValidDelete checks a Delete call.
func ValidDelete(name string, receipts []string) error {
	if len(receipts) > MaxBatch {
		return fmt.Errorf("%w: delete of %d messages, at most %d", ErrInvalid, len(receipts), MaxBatch)
	}
	return ValidName(name)
}

// ValidHide checks a Hide call.
func ValidHide(name string, d time.Duration) error {
	if d < 0 || d > MaxVisibility {
		return fmt.Errorf("%w: hidden for %v, 0 to %v", ErrInvalid, d, MaxVisibility)
	}
	return ValidName(name)
}
