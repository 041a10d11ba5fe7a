package roll

import (
	"slices"
	"strings"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// counts are a list's members by block.
type counts struct {
	starts  []int64 // of the blocks, oldest first
	members map[int64]int64
	shards  []map[int64]int64
	total   int64
}

func (r Roll) counts(c *op.Call) (counts, error) {
	n := counts{members: map[int64]int64{}}
	keys := r.CountKeys()
	if err := c.Fetch(keys...); err != nil {
		return n, err
	}
	for _, key := range keys {
		row, err := c.Get(key)
		if err != nil {
			return n, err
		}
		shard := map[int64]int64{}
		for field, by := range row.Counters {
			start, ok := r.block(field)
			if !ok {
				continue
			}
			shard[start] = by
			n.members[start] += by
			n.total += by
		}
		n.shards = append(n.shards, shard)
	}
	for start := range n.members {
		n.starts = append(n.starts, start)
	}
	slices.Sort(n.starts)
	return n, nil
}

// span is the part of the list a page lies in.
type span struct {
	from, to int64 // times in Unix milliseconds, to exclusive; 0: open
	skip     int   // members of it before the page
	block    int64 // in which the page begins
}

// find adds up counts until it knows the block an offset falls into.
func (n counts) find(offset int, oldest bool) (s span) {
	passed := int64(0)
	for i := range n.starts {
		at := i
		if !oldest {
			at = len(n.starts) - 1 - i
		}
		block := n.members[n.starts[at]]
		if passed+block > int64(offset) {
			s.block = n.starts[at]
			if oldest {
				s.from = n.starts[at]
			} else if at+1 < len(n.starts) {
				s.to = n.starts[at+1]
			}
			break
		}
		passed += block
	}
	s.skip = offset - int(passed)
	return s
}

// holds tells whether a shard has members in a span.
func (s span) holds(shard map[int64]int64) bool {
	for start, n := range shard {
		if n > 0 && start >= s.from && (s.to == 0 || start < s.to) {
			return true
		}
	}
	return false
}

// Page reads the ids of at most limit members behind the first offset ones, the list's
// total, and whether more follow. It reads the counter rows in one batch, and the part of
// one block that leads to the page, once per shard.
func (r Roll) Page(c *op.Call, offset, limit int) (ids []string, total int64, more bool, err error) {
	n, err := r.counts(c)
	if err != nil || int64(offset) >= n.total {
		return nil, max(0, n.total), false, err
	}
	s := n.find(offset, r.Oldest)
	var members []string
	for shard := range n.shards {
		if !s.holds(n.shards[shard]) {
			continue
		}
		// Behind the block in which the page begins, no shard gives more than the page.
		need := min(s.skip, int(max(0, n.shards[shard][s.block]))) + limit + 1
		some, err := r.walk(c, shard, s, need)
		if err != nil {
			return nil, 0, false, err
		}
		members = append(members, some...)
	}
	slices.Sort(members)
	if !r.Oldest {
		slices.Reverse(members)
	}
	members = members[min(s.skip, len(members)):]
	more = len(members) > limit
	for _, m := range members[:min(limit, len(members))] {
		ids = append(ids, m[len(clock.Layout)+1:])
	}
	return ids, n.total, more, nil
}

// walk reads the first n members of a span in one shard, as "<time>#<id>".
func (r Roll) walk(c *op.Call, shard int, s span, n int) (members []string, err error) {
	q := table.Query{PK: r.partition(shard), Reverse: !r.Oldest, KeysOnly: true}.Prefix(r.Member)
	if s.from > 0 {
		q.From = r.Member + clock.Stamp(time.UnixMilli(s.from))
	}
	if s.to > 0 {
		q.To = r.Member + clock.Stamp(time.UnixMilli(s.to))
	}
	for len(members) < n {
		q.Limit = min(n-len(members), table.MaxPageRows)
		p, err := c.Query(q)
		if err != nil {
			return nil, err
		}
		for _, row := range p.Rows {
			members = append(members, strings.TrimPrefix(row.SK, r.Member))
		}
		if !p.More || len(p.Rows) == 0 {
			break
		}
		q.After = p.Rows[len(p.Rows)-1].SK
	}
	return members, nil
}
