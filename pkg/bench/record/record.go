// Package record keeps what happened: each agent's private event feed, the events that wait
// for the public ledger, and the audit trail. It imports no other package of the bench.
//
// Rows:
//
//	bench.FEED#<agent id> / HEAD                  the number of the agent's newest event
//	bench.FEED#<agent id> / EVENT#<12 digits>     one event of the agent's feed
//	bench.LEDGER#<shard> / PENDING#<time>#<rank>#<id>  a public event that is not sequenced yet, 4 shards
//	bench.AUDIT#<shard> / AUDIT#<time>#<id>       an audit row, 4 shards, never deleted
package record

import (
	"hash/fnv"
	"strconv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
)

// Time is how bench prints a time: ISO-8601 in UTC, whole seconds, with a Z (bench.md 2.12).
type Time time.Time

// MarshalJSON prints whole seconds.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, clock.Seconds(time.Time(t))), nil
}

// UnmarshalJSON reads a Z or an offset.
func (t *Time) UnmarshalJSON(b []byte) error {
	s, err := strconv.Unquote(string(b))
	if err != nil {
		return err
	}
	u, err := clock.Parse(s)
	*t = Time(u)
	return err
}

// JSONSchema says that a Time is a date-time string.
func (Time) JSONSchema() op.Schema { return op.Schema{Type: "string", Format: "date-time"} }

// At is t for a field that is null while nothing happened.
func At(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	u := Time(t)
	return &u
}

// Shards is the number of partitions of the pending ledger and of the audit trail.
const Shards = 4

func shard(subject string) string {
	h := fnv.New32a()
	h.Write([]byte(subject))
	return strconv.Itoa(int(h.Sum32() % Shards))
}
