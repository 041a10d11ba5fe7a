package ddb

import (
	"github.com/guregu/dynamo/v2"

	"guildhall/pkg/table"
)

// bounds is the part of a partition that one DynamoDB query may read. DynamoDB takes one
// condition on the sort key, and its BETWEEN includes both ends, while a table.Query leaves
// out To and After. So the row at a bound may have to be read and dropped.
type bounds struct {
	lo, hi         string // empty: open
	above          bool   // lo itself is left out
	dropLo, dropHi bool   // the row at that bound is read, but not wanted
}

// boundsOf turns what is left of a query into bounds. Not ok: nothing is left.
func boundsOf(q table.Query) (b bounds, ok bool) {
	b.lo, b.above, b.hi = q.Span()
	if b.hi != "" && b.lo >= b.hi {
		return b, false
	}
	b.narrow()
	return b, true
}

// narrow makes the bounds fit one condition. The successor of a key in byte order is the key
// and a NUL, so a lower end that is left out can be written as one that is included, if
// DynamoDB's limit on keys leaves room for the NUL. There is no such form for an upper end.
func (b *bounds) narrow() {
	if b.lo == "" || b.hi == "" {
		return
	}
	b.dropHi = true
	switch {
	case !b.above:
	case len(b.lo) < table.MaxKeyPart:
		b.lo, b.above = b.lo+"\x00", false
	default:
		b.dropLo = true
	}
}

// apply puts the condition on a query.
func (b bounds) apply(q *dynamo.Query) *dynamo.Query {
	switch {
	case b.lo != "" && b.hi != "":
		return q.Range(attrSK, dynamo.Between, b.lo, b.hi)
	case b.hi != "":
		return q.Range(attrSK, dynamo.Less, b.hi)
	case b.lo != "" && b.above:
		return q.Range(attrSK, dynamo.Greater, b.lo)
	case b.lo != "":
		return q.Range(attrSK, dynamo.GreaterOrEqual, b.lo)
	}
	return q
}

// drops tells that a row was read only because BETWEEN includes its ends.
func (b bounds) drops(sk string) bool {
	return b.dropLo && sk == b.lo || b.dropHi && sk == b.hi
}

// extra is how many rows at the start of a walk may have to be dropped.
func (b bounds) extra(reverse bool) int {
	if reverse && b.dropHi || !reverse && b.dropLo {
		return 1
	}
	return 0
}
