// Package audit is the trail of who did what: one form of row for every context, written in
// the commit of what it tells of and never deleted. Each context has partitions of its own;
// they are read together, newest first, by the stewards' desk. It knows no context.
//
// Rows, in partitions that name the context:
//
//	<context>.AUDIT#<shard> / AUDIT#<time>#<id>     an audit row, 4 shards by hash of the subject
package audit

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Contexts are the owners of audit rows, in the order they are read.
var Contexts = []string{"bench", "help", "peer", "commons"}

// Shards is the number of partitions of a context's trail.
const Shards = 4

// Limits of one reading.
const (
	MaxPage      = 100     // rows
	MaxPageBytes = 2 << 20 // of what changed, after which a page ends
)

const prefix = "AUDIT#"

// Row is one row of the trail: who did what to whom, and what it changed.
type Row struct {
	ID      string          `json:"id"`
	At      time.Time       `json:"at"`
	Actor   string          `json:"actor"` // "maker:<id>", "person:<id>", "system:" or "nobody"
	Action  string          `json:"action"`
	Subject string          `json:"subject"` // "agent:<id>", "target:<id>", "request:<id>", …
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
}

// Entry is a row with the context whose trail it stands in.
type Entry struct {
	Context string
	Row
}

// Write stages a row in a context's trail. actor is usually c.Caller.Key(). before and after
// are the changed fields only, nil for none: never a secret, a text of a person or an
// address.
func Write(c *op.Call, context, actor, action, subject string, before, after any) error {
	row := Row{ID: c.NewID(), At: c.Now, Actor: actor, Action: action, Subject: subject}
	for _, f := range []struct {
		to   *json.RawMessage
		from any
	}{{&row.Before, before}, {&row.After, after}} {
		if f.from == nil {
			continue
		}
		b, err := json.Marshal(f.from)
		if err != nil {
			return err
		}
		*f.to = b
	}
	c.Create(table.Key{PK: partition(context, shard(subject)), SK: sortKey(Place{row.At, row.ID})}, row)
	return nil
}

func partition(context string, shard int) string {
	return context + ".AUDIT#" + strconv.Itoa(shard)
}

func shard(subject string) int {
	h := fnv.New32a()
	h.Write([]byte(subject))
	return int(h.Sum32() % Shards)
}

// Place is a position in the merged trail: behind the row with this time and id.
type Place struct {
	At time.Time `json:"at"`
	ID string    `json:"id"`
}

// Place is where the row stands.
func (r Row) Place() Place { return Place{r.At, r.ID} }

func sortKey(p Place) string { return prefix + clock.Stamp(p.At) + "#" + p.ID }

// Read reads up to limit rows of these contexts, newest first, behind a place (the zero Place
// is the beginning), merged by (time, id), and tells whether more follow. A page that ends by
// its bytes is shorter.
func Read(c *op.Call, contexts []string, after Place, limit int) (rows []Entry, more bool, err error) {
	limit = min(limit, MaxPage)
	floor := "" // the merge is complete down to here
	for _, context := range contexts {
		for n := range Shards {
			q := table.Query{PK: partition(context, n), Reverse: true, Limit: limit + 1}.Prefix(prefix)
			if after.ID != "" {
				q.After = sortKey(after)
			}
			p, err := c.Query(q)
			if err != nil {
				return nil, false, err
			}
			for _, r := range p.Rows {
				e := Entry{Context: context}
				if err := op.Decode(r.Data, &e.Row); err != nil {
					return nil, false, err
				}
				rows = append(rows, e)
			}
			if p.More {
				floor, more = max(floor, p.Rows[len(p.Rows)-1].SK), true
			}
		}
	}
	slices.SortFunc(rows, func(a, b Entry) int { return cmp.Compare(sortKey(b.Place()), sortKey(a.Place())) })
	end := fit(rows, floor, limit)
	return rows[:end], more || end < len(rows), nil
}

// fit is how many of the merged rows one page takes.
func fit(rows []Entry, floor string, limit int) int {
	size := 0
	for i, e := range rows {
		if size += len(e.Before) + len(e.After); i == limit || i > 0 && size > MaxPageBytes || sortKey(e.Place()) < floor {
			return i
		}
	}
	return len(rows)
}
