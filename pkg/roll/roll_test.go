package roll_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/roll"
)

func list(shards int, oldest bool) roll.Roll {
	return roll.Roll{PK: "test.ROLL#things", Member: "MEMBER#", Count: "COUNT", Field: "n_", Shards: shards, Oldest: oldest}
}

// member is a member as the model of these tests knows it.
type member struct {
	id   string
	p    roll.Place
	mark string
	at   time.Time
}

// book is a roll with its model.
type book struct {
	*optest.Exchange
	r       roll.Roll
	members []member
}

func (b *book) add(shard int) {
	b.T.Helper()
	var m member
	b.Run("test", func(c *op.Call) (err error) {
		m = member{id: c.NewID(), at: c.Now}
		m.p, err = b.r.Open(c, shard)
		m.mark = b.r.Add(c, m.id, m.p)
		c.Create(opKey(m.id), struct{}{})
		return err
	})
	b.members = append(b.members, m)
}

func (b *book) drop(i int) {
	b.T.Helper()
	b.Run("test", func(c *op.Call) error {
		m := b.members[i]
		b.r.Drop(c, m.id, m.p, m.mark)
		if _, err := c.Get(opKey(m.id)); err != nil {
			return err
		}
		c.Put(opKey(m.id), "dropped")
		return nil
	})
	b.members = slices.Delete(b.members, i, i+1)
}

// want is the list as it must read.
func (b *book) want() []string {
	all := slices.Clone(b.members)
	slices.SortFunc(all, func(x, y member) int {
		n := cmp.Or(x.at.Compare(y.at), cmp.Compare(x.id, y.id))
		if !b.r.Oldest {
			return -n
		}
		return n
	})
	ids := make([]string, len(all))
	for i, m := range all {
		ids[i] = m.id
	}
	return ids
}

func (b *book) page(offset, limit int) (ids []string, total int64, more bool) {
	b.T.Helper()
	b.Run("test", func(c *op.Call) (err error) {
		ids, total, more, err = b.r.Page(c, offset, limit)
		return err
	})
	return ids, total, more
}

func (b *book) check(offset, limit int) {
	b.T.Helper()
	want := b.want()
	ids, total, more := b.page(offset, limit)
	end := min(len(want), offset+limit)
	part := want[min(offset, len(want)):max(min(offset, len(want)), end)]
	if !slices.Equal(ids, part) || total != int64(len(want)) || more != (end < len(want) && offset < len(want)) {
		b.T.Fatalf("page at %d of %d: %d rows, total %d, more %v; want %d rows\n%v\n%v", offset, len(want), len(ids), total, more, len(part), ids, part)
	}
}

func TestAnyPageOfAnyListReadsAsTheSortedRows(t *testing.T) {
	for _, oldest := range []bool{false, true} {
		for _, shards := range []int{0, 4} {
			t.Run(fmt.Sprintf("oldest first %v, %d shards", oldest, shards), func(t *testing.T) {
				for seed := range uint64(3) {
					rnd := rand.New(rand.NewPCG(seed, 7))
					b := &book{Exchange: optest.Seeded(t, seed), r: list(shards, oldest)}
					b.check(0, 20)
					for range 300 {
						switch n := rnd.IntN(10); {
						case n < 1 && len(b.members) > 0:
							b.drop(rnd.IntN(len(b.members)))
						case n < 3:
							b.Advance(time.Duration(rnd.IntN(3)) * time.Minute)
						default:
							b.add(rnd.IntN(max(1, shards)))
						}
						if rnd.IntN(8) == 0 {
							b.check(rnd.IntN(len(b.members)+3), 1+rnd.IntN(30))
						}
					}
					for offset := 0; offset < len(b.members)+20; offset += 17 {
						b.check(offset, 17)
					}
				}
			})
		}
	}
}

func TestPagesAreRightAcrossBlocks(t *testing.T) {
	for _, shards := range []int{0, 4} {
		b := &book{Exchange: optest.New(t), r: list(shards, false)}
		for i := range 4*roll.BlockRows*max(1, shards) - 3 {
			b.add(i % max(1, shards))
			b.Advance(time.Second)
		}
		blocks := map[int64]int{}
		for _, m := range b.members {
			blocks[m.p.Block]++
		}
		if len(blocks) != 4 {
			t.Errorf("%d shards: blocks of %v", shards, blocks)
		}
		for i := 0; i < len(b.members); i += 97 { // an old member leaves its block
			b.drop(i)
		}
		for _, offset := range []int{0, 1, 799, 800, 801, 1600, len(b.members) / 2, len(b.members) - 21, len(b.members) - 20, len(b.members) - 1, len(b.members), len(b.members) + 1} {
			b.check(offset, 20)
			b.r.Oldest = true
			b.check(offset, 20)
			b.r.Oldest = false
		}
		b.check(0, 1000)
		b.check(1500, 1000)
	}
}

func TestLateAndEarlyClocksAgreeOnBlocks(t *testing.T) {
	b := &book{Exchange: optest.New(t), r: list(0, false)}
	for range roll.BlockRows + 1 {
		b.add(0)
	}
	b.Advance(roll.Ahead - time.Millisecond)
	b.add(0)
	b.Advance(time.Millisecond)
	b.add(0)
	last := b.members[len(b.members)-1].p.Block
	if before := b.members[len(b.members)-2].p.Block; before != 0 || last != optest.Start.Add(roll.Ahead).UnixMilli() {
		t.Errorf("blocks %d and %d", before, last)
	}
	b.check(0, 20)
	b.check(1, 20)
	b.check(790, 20)
}
