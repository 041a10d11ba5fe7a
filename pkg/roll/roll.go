// Package roll keeps lists that are read by offset: page k and the total of a list cost the
// same few calls of the store however long the list is.
//
// A member is a key-only row, ordered by (time, id). The list is cut into blocks by the
// members' times, and a counter row holds how many members each block has, so a reader
// adds up counts until it knows the block its offset falls into, and walks rows only
// inside that one. Counts are changed in the commit that adds or drops the member, so
// total and rows agree.
//
// Blocks are cut ahead of time: a writer that finds the newest block full announces that a
// new one begins in a minute. Whoever adds a member later than that reads the
// announcement, whoever adds one earlier is not concerned: no row is ever counted anew and
// writers need no lock. Several lists of one collection (all requests, the open ones …)
// share their cuts, so a member moves between them within its block.
//
// Rows, in partitions the owner names:
//
//	<list>[#<shard>] / <member prefix><time>#<id>   a member
//	<list>[#<shard>] / <count row>                  members by block: <field prefix><start of the block, base 36>
package roll

import (
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of a roll.
const (
	// BlockRows is how many members of one shard make its newest block full.
	BlockRows = 800
	// Ahead is how long before its first member a block is announced: longer than any
	// operation lasts and any two clocks of the exchange differ.
	Ahead = time.Minute
)

// Roll is the lists of one collection.
type Roll struct {
	PK     string // partition of a list: "help.REQUEST#<id>", or with Shards "help.ROLL#requests#<list>"
	Member string // begins the SK of members: "OFFER#"
	Count  string // SK of the counter row
	Field  string // begins the names of its fields; letters, digits and _ only
	Shards int    // partitions of a list, "#<shard>" added to each; 0: PK alone
	Oldest bool   // pages begin with the oldest member
}

// Place is where a member stands in its lists. It never changes; the member's own row
// keeps it.
type Place struct {
	At    time.Time `json:"at"`
	Block int64     `json:"block,omitempty"` // start of the block, Unix milliseconds
	Shard int       `json:"shard,omitempty"`
}

func (r Roll) partition(shard int) string {
	if r.Shards == 0 {
		return r.PK
	}
	return r.PK + "#" + strconv.Itoa(shard)
}

// CountKey is the counter row of a shard.
func (r Roll) CountKey(shard int) table.Key {
	return table.Key{PK: r.partition(shard), SK: r.Count}
}

// CountKeys are the counter rows of all shards, for a batch read.
func (r Roll) CountKeys() []table.Key {
	keys := make([]table.Key, max(1, r.Shards))
	for i := range keys {
		keys[i] = r.CountKey(i)
	}
	return keys
}

func (r Roll) key(id string, p Place) table.Key {
	return table.Key{PK: r.partition(p.Shard), SK: r.Member + clock.Stamp(p.At) + "#" + id}
}

func (r Roll) field(block int64) string { return r.Field + strconv.FormatInt(block, 36) }

// block reads a field of a counter row; ok is false for a field of another list.
func (r Roll) block(field string) (start int64, ok bool) {
	s, ok := strings.CutPrefix(field, r.Field)
	if !ok {
		return 0, false
	}
	start, err := strconv.ParseInt(s, 36, 64)
	return start, err == nil
}

// Open finds the place of a member that is made now in the collection's main list, and
// announces the next block when the newest one is full. It reads one counter row
// (CountKey of the shard).
func (r Roll) Open(c *op.Call, shard int) (Place, error) {
	row, err := c.Get(r.CountKey(shard))
	if err != nil {
		return Place{}, err
	}
	now := c.Now.UnixMilli()
	p, count, announced := Place{At: c.Now, Shard: shard}, int64(0), false
	for field, n := range row.Counters {
		start, ok := r.block(field)
		switch {
		case !ok:
		case start > now:
			announced = true
		case start >= p.Block:
			p.Block, count = start, n
		}
	}
	if count >= BlockRows && !announced {
		for s := range max(1, r.Shards) {
			c.Add(r.CountKey(s), r.field(now+Ahead.Milliseconds()), 0)
		}
	}
	return p, nil
}

// Add stages a member and its count. The mark it returns is what Drop needs: the member's
// own row keeps it.
func (r Roll) Add(c *op.Call, id string, p Place) (mark string) {
	c.Create(r.key(id, p), struct{}{})
	c.Add(r.CountKey(p.Shard), r.field(p.Block), 1)
	return c.CommitID()
}

// Drop stages that a member leaves the list.
func (r Roll) Drop(c *op.Call, id string, p Place, mark string) {
	c.Drop(r.key(id, p), mark)
	c.Add(r.CountKey(p.Shard), r.field(p.Block), -1)
}

// Sum is how many members a counter row counts.
func (r Roll) Sum(row table.Row) (n int64) {
	for field, by := range row.Counters {
		if _, ok := r.block(field); ok {
			n += by
		}
	}
	return n
}

// Total is how many members the list has. It reads the counter rows.
func (r Roll) Total(c *op.Call) (int64, error) {
	counts, err := r.counts(c)
	return counts.total, err
}
