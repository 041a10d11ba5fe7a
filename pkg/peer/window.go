package peer

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// MaxQ bounds a search term, in UTF-8 bytes after its ASCII white space is trimmed.
const MaxQ = 128

// asciiSpace is what is trimmed from a term.
const asciiSpace = " \t\n\v\f\r"

var qTooLong = fault.New(fault.Invalid, "q_too_long", "A term has at most 128 UTF-8 bytes once the white space around it is gone.").At("q")

// term is a literal to look for, folded; "" looks for nothing.
type term string

func readTerm(q string) (term, error) {
	q = strings.Trim(q, asciiSpace)
	if len(q) > MaxQ {
		return "", with(qTooLong, object{"limit": MaxQ, "actual": len(q), "unit": "utf8_bytes"})
	}
	return term(folded(q)), nil
}

// in tells whether a text holds the term. Every character stands for itself, in any case.
func (t term) in(text string) bool { return strings.Contains(folded(text), string(t)) }

// folded maps letters that differ in case only to one of them (Unicode simple folding).
func folded(s string) string { return strings.Map(least, s) }

// least is the smallest rune that folds to r.
func least(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'a' && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	low := r
	for n := unicode.SimpleFold(r); n != r; n = unicode.SimpleFold(n) {
		low = min(low, n)
	}
	return low
}

// place is a topic in a list.
type place struct {
	entry
	sk string
}

// places decodes rows of a list.
func places(rows []table.Row) ([]place, error) {
	all := make([]place, len(rows))
	for i, row := range rows {
		all[i].sk = row.SK
		if err := op.Decode(row.Data, &all[i].entry); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// window reads the newest live topics of a list behind a place, at most n, newest first. It
// makes one query for each shard, whatever the list holds; more is set when topics may lie
// beyond. A topic lives from its place in the list on for as long as all do, so the range of
// the keys holds live ones only.
func window(c *op.Call, scope, after string, n int) (rows []table.Row, more bool, err error) {
	floor := ""
	for shard := range listShards {
		p, err := c.Query(table.Query{PK: listKey(scope, shard, "").PK, Reverse: true, After: after, Limit: perShard(n),
			From: "TOPIC#" + clock.Stamp(c.Now.Add(-TopicLife+time.Millisecond)), To: table.PrefixEnd("TOPIC#")})
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, p.Rows...)
		if p.More { // nothing below this row is known of this shard
			more, floor = true, max(floor, p.Rows[len(p.Rows)-1].SK)
		}
	}
	rows = slices.DeleteFunc(rows, func(r table.Row) bool { return r.SK < floor })
	slices.SortFunc(rows, func(a, b table.Row) int { return strings.Compare(b.SK, a.SK) })
	if len(rows) > n {
		return rows[:n], true, nil
	}
	return rows, more, nil
}

// walk goes through the newest live topics of a list: a few first, which is often enough,
// then all that may be looked at.
type walk struct {
	c     *op.Call
	scope string
	after string
	steps []int // how many topics are still to be looked at, by step
	rows  []table.Row
	more  bool // topics may lie beyond what was read
	empty bool // nothing more may be read
}

// next returns the next topics, at most a chunk; none at the end.
func (w *walk) next() ([]place, error) {
	for len(w.rows) == 0 {
		if len(w.steps) == 0 || w.empty {
			return nil, nil
		}
		var err error
		if w.rows, w.more, err = window(w.c, w.scope, w.after, w.steps[0]); err != nil {
			return nil, err
		}
		w.steps = w.steps[1:]
		if w.empty = !w.more; len(w.rows) > 0 {
			w.after = w.rows[len(w.rows)-1].SK
		}
	}
	n := min(chunk, len(w.rows))
	all, err := places(w.rows[:n])
	w.rows = w.rows[n:]
	return all, err
}

// perShard is how many rows of one shard are read to have n of all of them: its part, and four
// deviations more.
func perShard(n int) int {
	part := float64(n) / listShards
	return min(table.MaxPageRows, int(math.Ceil(part+4*math.Sqrt(part*(listShards-1)/listShards)))+1)
}

// pageCursor is a place in a list of topics.
type pageCursor struct {
	Filters string `json:"f"`
	Until   int64  `json:"u"` // unix seconds
	After   string `json:"a"`
}

// CursorLife is how long a page cursor is taken.
const CursorLife = 24 * time.Hour

var cursorExpired = fault.New(fault.Gone, "cursor_expired", "This cursor is older than 24 hours. Begin again without it.").At("cursor")

// cursorFaults are what a page cursor can be answered with.
var cursorFaults = []string{"invalid_cursor", "cursor_filter_mismatch", "cursor_expired", "field_bytes", "field_pattern", "q_too_long", "rate_limited"}

// filterHash tells filters apart.
func filterHash(filters ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(filters, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// nextPage signs the cursor of the page behind a place.
func nextPage(c *op.Call, list, filters, after string) *string {
	s := c.Cursor(list, pageCursor{filters, c.Now.Add(CursorLife).Unix(), after})
	return &s
}

// openPage reads a page cursor; the place is "" without one.
func openPage(c *op.Call, list, filters, cursor string) (after string, err error) {
	if cursor == "" {
		return "", nil
	}
	var p pageCursor
	switch {
	case !c.ReadCursor(list, cursor, &p):
		return "", invalidCursor
	case p.Filters != filters:
		return "", otherFilters
	case c.Now.Unix() > p.Until:
		return "", cursorExpired
	}
	return p.After, nil
}

// chunk is how many topics are looked at in one batch.
const chunk = 100

// scan reads rows of many topics in one batch, by topic.
func scan[T any](c *op.Call, places []place, key func(ID) table.Key) (map[ID]T, error) {
	keys := make([]table.Key, len(places))
	for i, p := range places {
		keys[i] = key(p.ID)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := c.Scan(keys...)
	if err != nil {
		return nil, err
	}
	out := make(map[ID]T, len(rows))
	for i, r := range rows {
		if !r.Found() {
			continue
		}
		var v T
		if err := op.Decode(r.Data, &v); err != nil {
			return nil, err
		}
		out[places[i].ID] = v
	}
	return out, nil
}
