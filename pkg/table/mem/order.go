package mem

import (
	"slices"
	"sort"
)

// blockSize is how many entries a block holds before it splits in two.
const blockSize = 512

// entry is one key with what is stored under it.
type entry struct {
	pk, sk string
	row    *row
}

func (e *entry) before(pk, sk string) bool {
	return e.pk < pk || e.pk == pk && e.sk < sk
}

// order keeps entries sorted by (pk, sk) in blocks of up to blockSize: a B-tree of two
// levels. A million rows are some 4,000 blocks, so finding a row is two binary searches and
// putting one in moves a few kilobytes.
type order struct {
	blocks [][]entry
	size   int
}

// clone copies the order; what is stored under the keys is shared.
func (o *order) clone() order {
	out := order{blocks: make([][]entry, len(o.blocks)), size: o.size}
	for i, b := range o.blocks {
		out.blocks[i] = slices.Clone(b)
	}
	return out
}

// place is a position between entries: before entry i of block b.
type place struct{ b, i int }

// seek finds the place of the first entry at or behind (pk, sk).
func (o *order) seek(pk, sk string) place {
	// The block whose first entry is the last one before the key holds the place, or its end does.
	b := sort.Search(len(o.blocks), func(b int) bool { return !o.blocks[b][0].before(pk, sk) })
	if b == 0 {
		return place{}
	}
	block := o.blocks[b-1]
	i := sort.Search(len(block), func(i int) bool { return !block[i].before(pk, sk) })
	if i == len(block) {
		return place{b, 0}
	}
	return place{b - 1, i}
}

// at returns the entry behind the place, nil at the end.
func (o *order) at(p place) *entry {
	if p.b >= len(o.blocks) {
		return nil
	}
	return &o.blocks[p.b][p.i]
}

// next is the place one entry on.
func (o *order) next(p place) place {
	if p.i++; p.i == len(o.blocks[p.b]) {
		return place{p.b + 1, 0}
	}
	return p
}

// prev is the place one entry back; false at the front.
func (o *order) prev(p place) (place, bool) {
	if p.i > 0 {
		return place{p.b, p.i - 1}, true
	}
	if p.b == 0 {
		return p, false
	}
	return place{p.b - 1, len(o.blocks[p.b-1]) - 1}, true
}

// get returns what is stored under the key, nil when nothing is.
func (o *order) get(pk, sk string) *row {
	if e := o.at(o.seek(pk, sk)); e != nil && e.pk == pk && e.sk == sk {
		return e.row
	}
	return nil
}

// put stores r under the key, in place of what was there.
func (o *order) put(pk, sk string, r *row) {
	p := o.seek(pk, sk)
	if e := o.at(p); e != nil && e.pk == pk && e.sk == sk {
		e.row = r
		return
	}
	o.size++
	if len(o.blocks) == 0 {
		o.blocks = [][]entry{{{pk, sk, r}}}
		return
	}
	if p.i == 0 && p.b > 0 { // the end of the block before does as well, and grows in order
		p = place{p.b - 1, len(o.blocks[p.b-1])}
	}
	block := slices.Insert(o.blocks[p.b], p.i, entry{pk, sk, r})
	o.blocks[p.b] = block
	if len(block) <= blockSize {
		return
	}
	cut := blockSize / 2
	if p.i == blockSize { // filled from the end: leave the block full, as rows in time order want it
		cut = blockSize
	}
	o.blocks[p.b] = slices.Clip(block[:cut:cut])
	o.blocks = slices.Insert(o.blocks, p.b+1, append(make([]entry, 0, blockSize+1), block[cut:]...))
	clear(block[cut:])
}

// drop removes the key; nothing happens when it is not there.
func (o *order) drop(pk, sk string) {
	p := o.seek(pk, sk)
	if e := o.at(p); e == nil || e.pk != pk || e.sk != sk {
		return
	}
	o.size--
	o.blocks[p.b] = slices.Delete(o.blocks[p.b], p.i, p.i+1)
	if len(o.blocks[p.b]) == 0 {
		o.blocks = slices.Delete(o.blocks, p.b, p.b+1)
		return
	}
	o.join(p.b)
}

// join merges a block with the one behind it when both together are less than half full, so
// that a table that shrinks does not keep a block for every row.
func (o *order) join(b int) {
	if b+1 >= len(o.blocks) {
		b--
	}
	if b < 0 || len(o.blocks[b])+len(o.blocks[b+1]) > blockSize/2 {
		return
	}
	o.blocks[b] = append(o.blocks[b], o.blocks[b+1]...)
	o.blocks = slices.Delete(o.blocks, b+1, b+2)
}
