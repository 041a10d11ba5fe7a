package textindex

import "encoding/binary"

// list is the newest part of the documents that hold a trigram. Numbers ascend.
type list struct {
	N    int64  `json:"n"`    // documents in all rows
	Full int64  `json:"full"` // full rows behind this one
	Len  int    `json:"len"`  // documents in this row
	Last int64  `json:"last"` // the newest document
	Docs []byte `json:"docs"` // differences, as varints
}

// fullRow is an older part.
type fullRow struct {
	Docs []byte `json:"docs"`
}

// add appends a document newer than all before.
func (l *list) add(number int64) {
	before := l.Last
	if l.Len == 0 {
		before = 0
	}
	l.Docs = binary.AppendUvarint(l.Docs, uint64(number-before))
	l.N, l.Len, l.Last = l.N+1, l.Len+1, number
}

// turn empties the row into a full one.
func (l *list) turn() fullRow {
	f := fullRow{l.Docs}
	l.Full, l.Len, l.Docs = l.Full+1, 0, nil
	return f
}

// numbers reads the documents of one row, oldest first.
func numbers(docs []byte) (all []int64) {
	last := int64(0)
	for len(docs) > 0 {
		d, n := binary.Uvarint(docs)
		if n <= 0 {
			return all
		}
		last += int64(d)
		all = append(all, last)
		docs = docs[n:]
	}
	return all
}
