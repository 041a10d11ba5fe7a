package op

import (
	"encoding/json"
	"fmt"
	"time"

	"guildhall/pkg/table"
)

// Fired is a timer row: what falls due, for whom, when.
type Fired struct {
	Kind    string          `json:"kind"`
	Subject string          `json:"subject"`
	Due     time.Time       `json:"due"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Tries   int             `json:"tries,omitempty"`
	// Unsettled tells of an effect that an earlier try may have come through: its process
	// went away, or what it brought could not be committed. One that cannot look must not act
	// again.
	Unsettled bool `json:"unsettled,omitempty"`
}

// TimerKind is what happens when timers of a kind fall due: a decision like an
// operation's, committed together with the removal of the timer row.
type TimerKind struct {
	Context string
	Kind    string
	// Fire settles all that is due on the subject at c.Now, in due order. A timer whose
	// subject no longer knows it is removed and does nothing.
	Fire func(c *Call, t Fired) error
	// Rows lists the rows Fire will read, at most table.MaxGetKeys of them; nil for none. A
	// sweep reads them in one batch for many timers, some moments before each fires. What a
	// later row is named by stands in the subject too ("<schedule>.<person>"), so that nothing
	// is read one by one. Fire checks what it leans on and does not write, as ever: a row that
	// changed in between then costs a conflict and a fresh read.
	Rows func(subject string) []table.Key
}

// EffectKind is a side effect done by a job outside any commit.
type EffectKind struct {
	Kind string
	// Do does the effect once for its key: it looks before it acts again. It writes nothing.
	Do func(c *Call, t Fired) (result any, err error)
	// Done decides what the result changes; nil when nothing. It is committed together
	// with the removal of the outbox row.
	Done func(c *Call, t Fired, result any) error
	// Dead decides what a final failure changes; nil when nothing.
	Dead    func(c *Call, t Fired, cause error) error
	Touches Touch
}

// MaxTries of an effect before it is put aside for a person to look at.
const MaxTries = 20

// Backoff is the wait before try n+1 of an effect: 10 s doubling to at most 2 hours.
func Backoff(tries int) time.Duration {
	d := 10 * time.Second << min(tries, 10)
	return min(d, 2*time.Hour)
}

// Job is a function that no request calls: it reads a queue or runs on a schedule.
type Job struct {
	ID      string // "<group>.<noun>.<verb>"
	Summary string
	Queue   string        // consumed queue, "" for a scheduled job
	Every   time.Duration // schedule, zero for a queue consumer
	Batch   int           // messages per call
	Timeout time.Duration // deadline of one call
	Retries int           // receives before a message goes to the dead-letter queue
	Touches Touch
	Sends   []string // queues it sends to
	File    string
}

// Folder is the job's function folder below functions/.
func (j *Job) Folder() string { return (&Operation{Meta: Meta{ID: j.ID}}).Folder() }

// SweepMessage is the body of a sweep hint.
type SweepMessage struct {
	Context string `json:"context"`
	Shard   int    `json:"shard"`
}

// SweepQueue is the queue whose messages make a context's sweep look at a shard.
func SweepQueue(context string) string { return context + "-sweep" }

// SweepHint asks for a look at one clock shard.
func SweepHint(context string, shard int, delay time.Duration) Hint {
	return Hint{Queue: SweepQueue(context), Delay: delay, Body: fmt.Appendf(nil, `{"context":%q,"shard":%d}`, context, shard)}
}
