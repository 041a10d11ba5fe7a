package op

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"guildhall/pkg/caller"
	"guildhall/pkg/clock"
	"guildhall/pkg/id"
	"guildhall/pkg/table"
)

// Call is one attempt at an operation: what it may know (who, when, where), what it has
// read, and what it wants written. Nothing is written before the operation returns.
type Call struct {
	context.Context
	// Now is read once per operation, cut to milliseconds.
	Now    time.Time
	Caller caller.Caller
	// Denied is why a credential that was sent to a public operation was not taken; nil where
	// none was sent, or it was good.
	Denied error
	// Address of the client as the transport saw it; "" in jobs.
	Address string
	// Group is the context whose clock this call writes timers under (Operation.Home).
	Group   string
	BaseURL string
	Keys    id.Keyring
	// Tips is the platform's tip flag.
	Tips bool
	// Texts tells whether text messages leave this exchange: where not, nobody is offered one.
	Texts bool

	wakes  []string // further groups it may stage timers of
	store  table.Store
	rand   io.Reader
	commit string
	rows   map[table.Key]table.Row
	writes map[table.Key]*table.Write
	order  []table.Key
	hints  []Hint
	once   *once
	// committing is set before the commit: from then on what was staged may have been written.
	committing bool
	// charged are the staged rows that are written even when the call is refused.
	charged []table.Key
	err     error
}

// Hint asks a queue to look at something soon; losing it changes nothing but timing.
type Hint struct {
	Queue string
	Body  []byte
	Delay time.Duration
}

var (
	errUnread = errors.New("op: a row is written that was not read")
	errTwice  = errors.New("op: a row is created twice")
	errMixed  = errors.New("op: a counter row is written like a row with a value, or the other way round")
)

// gzipFrom is the size in bytes from which a value is stored compressed.
const gzipFrom = 100 << 10

// maxInflated bounds what a stored value may inflate to, in bytes.
const maxInflated = 16 << 20

// NewID makes a UUID from the operation's randomness.
func (c *Call) NewID() string {
	s, err := id.New(c.rand)
	c.fail(err)
	return s
}

// NewToken makes a 256-bit secret of a kind for an account.
func (c *Call) NewToken(kind, account string) id.Token {
	t, err := id.NewToken(c.rand, kind, account)
	c.fail(err)
	return t
}

// Random returns n random bytes.
func (c *Call) Random(n int) []byte {
	b := make([]byte, n)
	_, err := io.ReadFull(c.rand, b)
	c.fail(err)
	return b
}

// CommitID is the id of the commit this attempt will make.
func (c *Call) CommitID() string { return c.commit }

func (c *Call) fail(err error) {
	if err != nil && c.err == nil {
		c.err = err
	}
}

// Staged is how many rows this call has staged so far. It only grows, so it keeps the order
// in which one commit's rows were made, where a list would tie by their random ids.
func (c *Call) Staged() int { return len(c.order) }

// Get reads one row; it sees what this call has staged, additions to counters excepted,
// and reads each row once.
func (c *Call) Get(key table.Key) (table.Row, error) {
	if err := c.Fetch(key); err != nil {
		return table.Row{}, err
	}
	if w := c.writes[key]; w != nil && w.Kind != table.Check && w.Kind != table.Add {
		return staged(w), nil
	}
	return c.rows[key], nil
}

// impossible tells whether no store can hold a key because of a stranger's text in it (a NUL,
// broken UTF-8, too long): such a row is absent, and nobody is asked. An empty part is a
// mistake of the operation and goes on to the store, which says so.
func impossible(k table.Key) bool {
	return k.PK != "" && k.SK != "" && table.ValidKey(k) != nil
}

// Fetch reads rows in one batch so that later Gets find them.
func (c *Call) Fetch(keys ...table.Key) error {
	missing := make([]table.Key, 0, len(keys))
	for _, k := range keys {
		if _, ok := c.rows[k]; ok {
			continue
		}
		c.rows[k] = table.Row{Key: k}
		if !impossible(k) {
			missing = append(missing, k)
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), table.MaxGetKeys)
		rows, err := c.store.Get(c, missing[:n]...)
		if err != nil {
			for _, k := range missing {
				delete(c.rows, k)
			}
			return err
		}
		for _, r := range rows {
			c.rows[r.Key] = r
		}
		missing = missing[n:]
	}
	return nil
}

// Fresh says that rows are absent because this call made the id in their keys: nobody is
// asked. What is put there is created, so the commit fails should one be there all the same.
func (c *Call) Fresh(keys ...table.Key) {
	for _, k := range keys {
		if _, ok := c.rows[k]; !ok {
			c.rows[k] = table.Row{Key: k}
		}
	}
}

// Known gives the call rows that were read a moment ago, absent ones included: they count as
// read. One that has changed since makes the commit fail, and the next attempt reads it anew.
func (c *Call) Known(rows ...table.Row) {
	for _, r := range rows {
		if _, ok := c.rows[r.Key]; !ok {
			c.rows[r.Key] = r
		}
	}
}

// Refresh brings rows that were read earlier up to what this call has read and, now that it
// is committed, written. A counter it added to is dropped from them.
func (c *Call) Refresh(rows map[table.Key]table.Row) {
	for key := range rows {
		w := c.writes[key]
		switch {
		case w == nil || w.Kind == table.Check:
			if r, ok := c.rows[key]; ok {
				rows[key] = r
			}
		case w.Kind == table.Add:
			delete(rows, key)
		case w.Kind == table.Delete:
			rows[key] = table.Row{Key: key}
		default:
			rows[key] = table.Row{Key: key, Version: c.commit, Data: w.Data, Expires: w.Expires}
		}
	}
}

// Scan reads up to table.MaxGetKeys rows as they are stored and remembers none of them: for
// looking through many rows that are not written.
func (c *Call) Scan(keys ...table.Key) ([]table.Row, error) { return c.store.Get(c, keys...) }

// Query reads a page of a partition as it is stored; staged writes do not show in it.
// The rows count as read.
func (c *Call) Query(q table.Query) (table.Page, error) {
	if impossible(table.Key{PK: q.PK, SK: q.PK}) {
		return table.Page{}, nil
	}
	p, err := c.store.Query(c, q)
	if err == nil && !q.KeysOnly {
		for _, r := range p.Rows {
			if _, ok := c.rows[r.Key]; !ok {
				c.rows[r.Key] = r
			}
		}
	}
	return p, err
}

func staged(w *table.Write) table.Row {
	if w.Kind == table.Delete {
		return table.Row{Key: w.Key}
	}
	return table.Row{Key: w.Key, Version: "staged", Data: w.Data, Expires: w.Expires}
}

func (c *Call) stage(w table.Write) {
	if old := c.writes[w.Key]; old != nil {
		c.merge(old, w)
		return
	}
	c.writes[w.Key] = &w
	c.order = append(c.order, w.Key)
}

// merge folds a second write of a row into the first, which keeps its precondition.
func (c *Call) merge(old *table.Write, w table.Write) {
	switch {
	case (old.Kind == table.Add) != (w.Kind == table.Add):
		c.fail(fmt.Errorf("%w: %v", errMixed, w.Key))
	case w.Kind == table.Check:
	case w.Kind == table.Add:
		for f, n := range w.Adds {
			old.Adds[f] += n
		}
	case old.Kind == table.Check && old.Version == "":
		if w.Kind != table.Delete {
			old.Kind, old.Data, old.Expires = table.Create, w.Data, w.Expires
		}
	case old.Kind == table.Check && w.Kind != table.Delete:
		old.Kind, old.Data, old.Expires = table.Replace, w.Data, w.Expires
	case w.Kind == table.Delete && old.Kind == table.Create:
		old.Kind, old.Version, old.Data = table.Check, "", nil
	case w.Kind == table.Delete:
		old.Kind, old.Data = table.Delete, nil
	case old.Kind == table.Delete:
		old.Kind, old.Data, old.Expires = table.Replace, w.Data, w.Expires
	default:
		old.Data, old.Expires = w.Data, w.Expires
	}
}

// Create stages a row that must be absent.
func (c *Call) Create(key table.Key, v any) { c.CreateUntil(key, v, time.Time{}) }

// CreateUntil is Create with a time after which the store may forget the row.
func (c *Call) CreateUntil(key table.Key, v any, expires time.Time) {
	data, err := Encode(v)
	c.fail(err)
	if old := c.writes[key]; old != nil && (old.Kind == table.Create || old.Kind == table.Replace || old.Kind == table.Check && old.Version != "") {
		c.fail(fmt.Errorf("%w: %v", errTwice, key))
	}
	c.stage(table.Write{Kind: table.Create, Key: key, Data: data, Expires: expires})
}

// Put stages a row that this call has read: replaced when it was there, created when it
// was not. The row must be unchanged since.
func (c *Call) Put(key table.Key, v any) { c.PutUntil(key, v, time.Time{}) }

// PutUntil is Put with a time after which the store may forget the row.
func (c *Call) PutUntil(key table.Key, v any, expires time.Time) {
	data, err := Encode(v)
	c.fail(err)
	c.put(key, data, expires)
}

// put stages the stored form of a value.
func (c *Call) put(key table.Key, data []byte, expires time.Time) {
	w := table.Write{Kind: table.Create, Key: key, Data: data, Expires: expires}
	r, read := c.rows[key]
	switch {
	case c.writes[key] != nil:
	case !read:
		c.fail(fmt.Errorf("%w: %v", errUnread, key))
	case r.Found():
		w.Kind, w.Version = table.Replace, r.Version
	}
	c.stage(w)
}

// Delete stages the removal of a row this call has read; a missing row stays missing.
func (c *Call) Delete(key table.Key) {
	r, read := c.rows[key]
	switch {
	case c.writes[key] != nil:
		c.stage(table.Write{Kind: table.Delete, Key: key})
	case !read:
		c.fail(fmt.Errorf("%w: %v", errUnread, key))
	case r.Found():
		c.stage(table.Write{Kind: table.Delete, Key: key, Version: r.Version})
	default:
		c.stage(table.Write{Kind: table.Check, Key: key})
	}
}

// Drop stages the removal of a row that was not read, by the id of the commit that wrote it
// last (CommitID): its subject remembers it, as it remembers a timer.
func (c *Call) Drop(key table.Key, commit string) {
	c.stage(table.Write{Kind: table.Delete, Key: key, Version: commit})
}

// Check stages the condition that a row this call has read is unchanged at the commit.
func (c *Call) Check(key table.Key) {
	r, read := c.rows[key]
	if !read && c.writes[key] == nil {
		c.fail(fmt.Errorf("%w: %v", errUnread, key))
	}
	c.stage(table.Write{Kind: table.Check, Key: key, Version: r.Version})
}

// Add stages an addition to a counter. Counter rows guard no decision.
func (c *Call) Add(key table.Key, field string, n int64) {
	c.stage(table.Write{Kind: table.Add, Key: key, Adds: map[string]int64{field: n}})
}

// Arm stages a timer of this call's context and returns what the subject remembers of it.
func (c *Call) Arm(kind, subject string, due time.Time) clock.Timer {
	return c.arm(kind, subject, due, nil)
}

// ArmIn stages a timer of another group, which fires it: how one context tells another that
// something changed. It cannot be taken back. Meta.Wakes names the group.
func (c *Call) ArmIn(group, kind, subject string, due time.Time) {
	if !slices.Contains(c.wakes, group) {
		c.fail(fmt.Errorf("op: a timer of %s, which the operation does not declare that it wakes", group))
	}
	own := c.Group
	c.Group = group
	c.arm(kind, subject, due, nil)
	c.Group = own
}

func (c *Call) arm(kind, subject string, due time.Time, payload json.RawMessage) clock.Timer {
	t := clock.Timer{Kind: kind, Subject: subject, Due: clock.Cut(due), Version: c.commit}
	c.Create(clock.Key(c.Group, kind, subject, t.Due), Fired{Kind: kind, Subject: subject, Due: t.Due, Payload: payload})
	if !due.After(c.Now.Add(time.Minute)) {
		c.hints = append(c.hints, SweepHint(c.Group, clock.Shard(subject), max(0, due.Sub(c.Now))))
	}
	return t
}

// Disarm stages the removal of a timer the subject remembers. The zero Timer is ignored.
func (c *Call) Disarm(t clock.Timer) {
	if !t.Set() {
		return
	}
	key := clock.Key(c.Group, t.Kind, t.Subject, t.Due)
	if w := c.writes[key]; w != nil && w.Kind == table.Delete {
		return
	}
	c.stage(table.Write{Kind: table.Delete, Key: key, Version: t.Version})
}

// Effect stages a side effect: it is done by a job after the commit, under a key that
// makes it happen once.
func (c *Call) Effect(kind, key string, payload any) {
	b, err := json.Marshal(payload)
	c.fail(err)
	c.arm(kind, key, c.Now, b)
}

// Hint asks a queue to look soon.
func (c *Call) Hint(h Hint) { c.hints = append(c.hints, h) }

// Load reads a row's value. found is false, with a zero value, when the row is missing.
func Load[T any](c *Call, key table.Key) (v T, found bool, err error) {
	r, err := c.Get(key)
	if err != nil || !r.Found() {
		return v, false, err
	}
	err = Decode(r.Data, &v)
	return v, true, err
}

// Encode makes the stored form of a value: JSON, compressed when it is large.
func Encode(v any) ([]byte, error) {
	b, err := marshal(v)
	if err != nil {
		return nil, err
	}
	return pack(b)
}

// pack compresses what is large.
func pack(b []byte) ([]byte, error) {
	if len(b) < gzipFrom {
		return b, nil
	}
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	_, err := z.Write(b)
	if err == nil {
		err = z.Close()
	}
	return buf.Bytes(), err
}

// Decode reads the stored form of a value.
func Decode(data []byte, v any) error {
	if len(data) > 1 && data[0] == 0x1f && data[1] == 0x8b {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		if data, err = io.ReadAll(io.LimitReader(z, maxInflated)); err != nil {
			return err
		}
	}
	return json.Unmarshal(data, v)
}

// RawValue is a stored value kept as its JSON bytes.
type RawValue = json.RawMessage
