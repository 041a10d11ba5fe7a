// Package table is the one table of the exchange: rows ordered by (PK, SK), read
// strongly, written in all-or-nothing commits whose every write has a precondition.
//
// The port has the shape of DynamoDB and of any ordered key-value store. Three stores
// implement it (mem, local, ddb) and pass the same exported suite (tabletest).
package table

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limits every store enforces alike, so that what fits here fits on AWS.
const (
	MaxTxRows   = 100            // rows touched by one commit
	MaxTxBytes  = 4 << 20        // bytes of all rows of one commit
	MaxRowBytes = 400 << 10      // bytes of one row: keys, version and data
	MaxGetKeys  = 100            // keys of one Get
	MaxPageRows = 1000           // rows of one Query page
	MaxPage     = 1 << 20        // bytes of rows after which a Query page ends
	MaxKeyPart  = 1024           // bytes of a PK or an SK
	MaxCounter  = int64(1) << 53 // absolute value of a counter field
)

// Errors of a store. Anything else is an internal error.
var (
	// ErrConflict: a precondition did not hold; nothing was written.
	ErrConflict = errors.New("table: a precondition failed")
	// ErrUnavailable: the store is down, throttled or did not answer; a commit may or may
	// not have happened.
	ErrUnavailable = errors.New("table: the store is unavailable")
	// ErrTooLarge: a row, a commit or a key is over a limit; nothing was written.
	ErrTooLarge = errors.New("table: over a size limit")
	// ErrInvalid: the call itself is wrong (empty key, row named twice, no commit id).
	ErrInvalid = errors.New("table: invalid call")
)

// Key names a row.
type Key struct{ PK, SK string }

func (k Key) String() string { return k.PK + " / " + k.SK }

// Row is a stored row. A missing row has an empty Version.
type Row struct {
	Key
	// Version is the id of the commit that wrote the row last; opaque, never empty on a
	// stored row except a counter row, whose Version is always "counter".
	Version string
	// Data is the row's value, opaque to the store. Nil on counter rows.
	Data []byte
	// Counters holds the fields of a counter row (written only by Add). Nil elsewhere.
	Counters map[string]int64
	// Expires lets a store forget the row after that time (zero: never). It is rubbish
	// collection only: whoever reads the row checks the time itself.
	Expires time.Time
}

// Found tells whether the row was there.
func (r Row) Found() bool { return r.Version != "" }

// CounterVersion is the Version of every counter row.
const CounterVersion = "counter"

// Query asks for the rows of one partition whose SK lies in [From, To), in order.
type Query struct {
	PK       string
	From     string // inclusive; empty: from the first
	To       string // exclusive; empty: to the last
	Reverse  bool   // last first
	After    string // resume behind this SK (exclusive, in the direction of the walk)
	Limit    int    // 1..MaxPageRows; 0 means MaxPageRows
	KeysOnly bool   // Data and Counters may be left out
}

// Prefix sets From and To to all SKs that begin with p.
func (q Query) Prefix(p string) Query {
	q.From, q.To = p, PrefixEnd(p)
	return q
}

// PrefixEnd is the least string above every string that begins with p ("" when none is).
func PrefixEnd(p string) string {
	b := []byte(p)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return ""
}

// Page is the answer to a Query.
type Page struct {
	Rows []Row
	More bool // rows may follow behind the last one: ask again with After
}

// Store is the table.
type Store interface {
	// Get reads up to MaxGetKeys rows strongly, in the order asked; a missing row comes
	// back with its key and no Version. It is no snapshot across rows.
	Get(ctx context.Context, keys ...Key) ([]Row, error)
	// Query reads one page of a partition strongly.
	Query(ctx context.Context, q Query) (Page, error)
	// Commit applies all of tx or nothing of it.
	Commit(ctx context.Context, tx *Tx) error
}

// Lister is what the export and a purge need of a store: every row, in any stable order.
type Lister interface {
	// List returns the rows behind the opaque position after ("" at first) and the next
	// position ("" at the end).
	List(ctx context.Context, after string, limit int) ([]Row, string, error)
}

// Kind tells what a write does.
type Kind uint8

// The writes of a commit.
const (
	Create  Kind = iota + 1 // put, the row must be absent
	Replace                 // put, the row must have Version
	Delete                  // remove, the row must have Version
	Check                   // no write: the row must have Version, or be absent when it is empty
	Add                     // add to counter fields; the row is a counter row or absent
)

// Write is one row of a commit.
type Write struct {
	Kind    Kind
	Key     Key
	Version string // precondition of Replace, Delete, Check
	Data    []byte // Create, Replace
	Expires time.Time
	Adds    map[string]int64 // Add
}

// Tx is one commit. ID is unique for ever and becomes the Version of the rows it writes;
// a store that finds a row with this very id knows that its own first attempt succeeded.
type Tx struct {
	ID     string
	Writes []Write
}

// Validate checks the limits that hold on every store. Adapters call it first.
func (t *Tx) Validate() error {
	if t.ID == "" || len(t.Writes) == 0 {
		return fmt.Errorf("%w: a commit needs an id and a row", ErrInvalid)
	}
	if len(t.Writes) > MaxTxRows {
		return fmt.Errorf("%w: %d rows in a commit, at most %d", ErrTooLarge, len(t.Writes), MaxTxRows)
	}
	seen := make(map[Key]bool, len(t.Writes))
	total := 0
	for _, w := range t.Writes {
		if seen[w.Key] {
			return fmt.Errorf("%w: row %v is named twice", ErrInvalid, w.Key)
		}
		seen[w.Key] = true
		n, err := w.validate(t.ID)
		if err != nil {
			return err
		}
		total += n
	}
	if total > MaxTxBytes {
		return fmt.Errorf("%w: %d bytes in a commit, at most %d", ErrTooLarge, total, MaxTxBytes)
	}
	return nil
}

func (w Write) validate(id string) (int, error) {
	if err := ValidKey(w.Key); err != nil {
		return 0, err
	}
	switch w.Kind {
	case Create, Check, Add:
	case Replace, Delete:
		if w.Version == "" {
			return 0, fmt.Errorf("%w: %v is written without a version", ErrInvalid, w.Key)
		}
	default:
		return 0, fmt.Errorf("%w: unknown write of %v", ErrInvalid, w.Key)
	}
	n := len(w.Key.PK) + len(w.Key.SK) + len(id) + len(w.Data)
	for f := range w.Adds {
		n += len(f) + 8
	}
	if w.Kind == Add && len(w.Adds) == 0 {
		return 0, fmt.Errorf("%w: %v adds nothing", ErrInvalid, w.Key)
	}
	if n > MaxRowBytes {
		return 0, fmt.Errorf("%w: row %v has %d bytes, at most %d", ErrTooLarge, w.Key, n, MaxRowBytes)
	}
	return n, nil
}

// ValidKey refuses keys no store takes: empty, over MaxKeyPart bytes, or with a NUL byte.
func ValidKey(k Key) error {
	for _, p := range []string{k.PK, k.SK} {
		if p == "" || strings.IndexByte(p, 0) >= 0 {
			return fmt.Errorf("%w: empty key or NUL in it: %q", ErrInvalid, k.String())
		}
		if len(p) > MaxKeyPart {
			return fmt.Errorf("%w: key of %d bytes, at most %d", ErrTooLarge, len(p), MaxKeyPart)
		}
	}
	return nil
}

// Limit returns the page size a Query asks for, within bounds.
func (q Query) PageSize() int {
	if q.Limit <= 0 || q.Limit > MaxPageRows {
		return MaxPageRows
	}
	return q.Limit
}
