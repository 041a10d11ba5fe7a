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
	"unicode/utf8"
)

// Limits every store enforces alike, so that what fits here fits on AWS.
const (
	MaxTxRows   = 100            // rows touched by one commit
	MaxTxBytes  = 4 << 20        // bytes of all rows of one commit
	MaxRowBytes = 400 << 10      // bytes of one row: keys, version, data and RowOverhead
	MaxGetKeys  = 100            // keys of one Get
	MaxPageRows = 1000           // rows of one Query page
	MaxPage     = 1 << 20        // bytes of rows after which a Query page ends
	MaxKeyPart  = 1024           // bytes of a PK or an SK
	MaxCounter  = int64(1) << 53 // absolute value of a counter field, and of what one Add adds

	// RowOverhead is what a row counts for beyond its own bytes, and counterBytes a counter's
	// value: DynamoDB counts attribute names, Expires and digits as part of its 400 KB.
	RowOverhead  = 64
	counterBytes = 12
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

// Bytes is the size of the row as the limits count it.
func (r Row) Bytes() int {
	n := RowOverhead + len(r.PK) + len(r.SK) + len(r.Version) + len(r.Data)
	for f := range r.Counters {
		n += len(f) + counterBytes
	}
	return n
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

// PrefixEnd is the least key above every key that begins with p ("" when none is). It is
// valid UTF-8 like every key: byte order is code point order, so the last code point
// that can grow grows.
func PrefixEnd(p string) string {
	for p != "" {
		r, n := utf8.DecodeLastRuneInString(p)
		p = p[:len(p)-n]
		switch {
		case r == utf8.MaxRune:
			continue
		case r == 0xd7ff: // the surrogates that follow are no text
			return p + "\ue000"
		}
		return p + string(r+1)
	}
	return ""
}

// Span is the part of the partition that is left to walk once After is taken into account:
// low <= SK (low < SK when open), and SK < high unless high is empty.
func (q Query) Span() (low string, open bool, high string) {
	low, high = q.From, q.To
	switch {
	case q.After == "":
	case q.Reverse && (high == "" || q.After < high):
		high = q.After
	case !q.Reverse && q.After >= low:
		low, open = q.After, true
	}
	return low, open, high
}

// Validate checks what every store refuses alike: a bad partition key, a bound no key can have.
func (q Query) Validate() error {
	if err := validPart(q.PK); err != nil {
		return err
	}
	for _, bound := range []string{q.From, q.To, q.After} {
		if bound == "" {
			continue
		}
		if err := validPart(bound); err != nil {
			return err
		}
	}
	return nil
}

// Page is the answer to a Query.
type Page struct {
	Rows []Row
	More bool // rows of the query follow behind the last one: ask again with After
}

// Store is the table. What a call answers belongs to the caller, and so does what it was
// given: a store copies both ways. A call whose context has ended does nothing and fails.
type Store interface {
	// Get reads up to MaxGetKeys rows strongly, in the order asked; a missing row comes
	// back with its key and no Version, a key named twice twice. It is no snapshot across rows.
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

// Position and ParsePosition are the position of a store that lists in the order of keys:
// the last key listed, its parts with a NUL between, or nothing.
func Position(k Key) string { return k.PK + "\x00" + k.SK }

// ParsePosition takes a Position apart; "" gives the empty parts before all keys.
func ParsePosition(p string) (pk, sk string, err error) {
	if p == "" {
		return "", "", nil
	}
	pk, sk, _ = strings.Cut(p, "\x00")
	return pk, sk, ValidKey(Key{pk, sk})
}

// Purger is a store that forgets rows whose Expires has passed when it is asked to.
type Purger interface {
	// Purge removes up to limit rows that expired before now, and tells how many.
	Purge(ctx context.Context, now time.Time, limit int) (int, error)
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
	Version string           // precondition of Replace, Delete, Check
	Data    []byte           // Create, Replace
	Expires time.Time        // Create, Replace; Add when not zero. Kept to the second, never sooner
	Adds    map[string]int64 // Add
}

// Tx is one commit. ID is unique for ever and becomes the Version of the rows it creates and
// replaces: its marks. A store that finds any marked row carrying this very id knows that its
// own first attempt succeeded: Commit then answers nil and changes nothing, whatever the
// other preconditions say. A Tx of nothing but Add, Delete and Check leaves no mark, so
// sent twice it may count twice: an operation that Adds always writes a marked row too.
type Tx struct {
	ID     string
	Writes []Write
}

// Marks tells whether the write leaves the id of its commit on the row.
func (w Write) Marks() bool { return w.Kind == Create || w.Kind == Replace }

// Validate checks the limits that hold on every store. Adapters call it first.
func (t *Tx) Validate() error {
	if t.ID == "" || t.ID == CounterVersion || !utf8.ValidString(t.ID) || len(t.Writes) == 0 {
		return fmt.Errorf("%w: a commit needs an id of its own and a row", ErrInvalid)
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
		if w.Version == "" || w.Version == id {
			return 0, fmt.Errorf("%w: %v is written without an earlier version", ErrInvalid, w.Key)
		}
	default:
		return 0, fmt.Errorf("%w: unknown write of %v", ErrInvalid, w.Key)
	}
	n := RowOverhead + len(w.Key.PK) + len(w.Key.SK) + len(id) + len(w.Data)
	for f, by := range w.Adds {
		n += len(f) + counterBytes
		if f == "" || !utf8.ValidString(f) || by > MaxCounter || by < -MaxCounter {
			return 0, fmt.Errorf("%w: %v adds %d to field %q", ErrInvalid, w.Key, by, f)
		}
	}
	if w.Kind == Add && len(w.Adds) == 0 {
		return 0, fmt.Errorf("%w: %v adds nothing", ErrInvalid, w.Key)
	}
	if n > MaxRowBytes {
		return 0, fmt.Errorf("%w: row %v has %d bytes, at most %d", ErrTooLarge, w.Key, n, MaxRowBytes)
	}
	return n, nil
}

// ValidKey refuses keys no store takes: empty, over MaxKeyPart bytes, not UTF-8, or with a NUL.
func ValidKey(k Key) error {
	if err := validPart(k.PK); err != nil {
		return err
	}
	return validPart(k.SK)
}

// ValidKeys checks the keys of a Get.
func ValidKeys(keys []Key) error {
	if len(keys) > MaxGetKeys {
		return fmt.Errorf("%w: a Get of %d keys, at most %d", ErrTooLarge, len(keys), MaxGetKeys)
	}
	for _, k := range keys {
		if err := ValidKey(k); err != nil {
			return err
		}
	}
	return nil
}

func validPart(p string) error {
	if p == "" || strings.IndexByte(p, 0) >= 0 || !utf8.ValidString(p) {
		return fmt.Errorf("%w: a key part is empty, not UTF-8 or holds a NUL: %q", ErrInvalid, p[:min(len(p), 80)])
	}
	if len(p) > MaxKeyPart {
		return fmt.Errorf("%w: key of %d bytes, at most %d", ErrTooLarge, len(p), MaxKeyPart)
	}
	return nil
}

// Alive returns nil while ctx lasts, and ErrUnavailable with the reason once it has ended.
func Alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// PageSize returns the rows a Query asks for, within bounds.
func (q Query) PageSize() int {
	if q.Limit <= 0 || q.Limit > MaxPageRows {
		return MaxPageRows
	}
	return q.Limit
}
