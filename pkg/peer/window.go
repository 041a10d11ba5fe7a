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

// window reads the newest live topics of a list behind a place, at most n, newest first. It
// makes one query for each shard, whatever the list holds; more is set when topics may lie
// beyond.
func window(c *op.Call, scope, after string, n int) (all []place, more bool, err error) {
	floor := ""
	for shard := range listShards {
		q := table.Query{PK: listKey(scope, shard, "").PK, Reverse: true, After: after, Limit: perShard(n),
			From: "TOPIC#" + clock.Stamp(c.Now.Add(-TopicLife+time.Millisecond)), To: table.PrefixEnd("TOPIC#")}
		p, err := c.Query(q)
		if err != nil {
			return nil, false, err
		}
		for _, row := range p.Rows {
			x := place{sk: row.SK}
			if err := op.Decode(row.Data, &x.entry); err != nil {
				return nil, false, err
			}
			all = append(all, x)
		}
		if p.More { // nothing below this row is known of this shard
			more, floor = true, max(floor, p.Rows[len(p.Rows)-1].SK)
		}
	}
	all = slices.DeleteFunc(all, func(x place) bool { return x.sk < floor || !c.Now.Before(x.ExpiresAt) })
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(b.sk, a.sk) })
	if len(all) > n {
		return all[:n], true, nil
	}
	return all, more, nil
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
