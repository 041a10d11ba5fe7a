// Package clock has the exchange's time format and the keys of its timers.
//
// A timer is a row written, moved and deleted in the commit that changes what it guards:
//
//	<context>.CLOCK#<shard> / <due>#<kind>#<subject>  a timer or a waiting side effect
//
// 16 shards by hash of the subject, so that all timers of a subject stand in one order.
package clock

import (
	"fmt"
	"hash/fnv"
	"time"

	"guildhall/pkg/table"
)

// Shards is the number of clock partitions of a context.
const Shards = 16

// Layout is how times are stored and put in keys: UTC, milliseconds, of fixed width.
const Layout = "2006-01-02T15:04:05.000Z"

// Cut rounds a time down to the exchange's precision, milliseconds, in UTC.
func Cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Stamp prints a time for storage and keys.
func Stamp(t time.Time) string { return t.UTC().Format(Layout) }

// Seconds prints a time as bench shows it: whole seconds with a Z.
func Seconds(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

// Parse reads ISO-8601 with Z or an offset.
func Parse(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("clock: %q is no ISO-8601 time", s)
	}
	return t.UTC(), nil
}

// Timer is a stored timer as its subject remembers it: enough to delete it without
// reading it first. The zero Timer is none.
type Timer struct {
	Kind    string    `json:"kind"`
	Subject string    `json:"subject"`
	Due     time.Time `json:"due"`
	// Version is the commit that wrote the row: its generation.
	Version string `json:"version"`
}

// Set tells whether a timer is armed.
func (t Timer) Set() bool { return t.Version != "" }

// Shard is the clock partition of a subject.
func Shard(subject string) int {
	h := fnv.New32a()
	h.Write([]byte(subject))
	return int(h.Sum32() % Shards)
}

// Partition is the PK of one clock shard of a context.
func Partition(context string, shard int) string {
	return fmt.Sprintf("%s.CLOCK#%02d", context, shard)
}

// Key is the row of a timer.
func Key(context, kind, subject string, due time.Time) table.Key {
	return table.Key{PK: Partition(context, Shard(subject)), SK: Stamp(due) + "#" + kind + "#" + subject}
}
