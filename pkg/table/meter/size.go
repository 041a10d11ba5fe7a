// Package meter counts what calls of the table cost on DynamoDB, whatever the store behind
// them: calls, rows, and capacity units by AWS's published rules. Emulators get the units
// wrong, so counted tests and the cost tables are made with this.
//
// The rules: a strong read costs one unit for each started 4 KB, of an item for Get and of
// the sum of all items for a page of Query; a write costs one unit for each started 1 KB of
// the larger of the item before and after; everything in a transaction, checks included,
// costs twice that. A refused write costs as much as the item it found.
//
// The units are those of package ddb, which reads one row behind a page to know whether any
// follows. Not counted: repetitions after a fault, and that answers over 1 MB are rounded up
// megabyte by megabyte.
package meter

import (
	"strconv"
	"strings"

	"guildhall/pkg/table"
)

// Sizes of capacity units.
const (
	readUnitBytes  = 4 << 10
	writeUnitBytes = 1 << 10
	transaction    = 2 // what everything in a transaction costs, times
)

// Bytes of the attribute names of package ddb.
const (
	keyNames       = len("PK") + len("SK")
	versionName    = len("v")
	dataName       = len("d")
	expiresName    = len("x")
	counterPrefix  = len("c_") // of a field named in letters, digits and underscores
	digitsPerByte  = 2
	numberOverhead = 1 // bytes
)

// ItemBytes is the size of the item a row is stored as: names and values of its attributes;
// 0 for a missing row.
func ItemBytes(r table.Row) int {
	if !r.Found() {
		return 0
	}
	n := keyNames + len(r.PK) + len(r.SK) + versionName + len(r.Version)
	if len(r.Data) > 0 {
		n += dataName + len(r.Data)
	}
	if !r.Expires.IsZero() {
		n += expiresName + numberBytes(r.Expires.Unix())
	}
	for field, value := range r.Counters {
		n += counterPrefix + len(field) + numberBytes(value)
	}
	return n
}

// numberBytes is AWS's size of a number: a byte for two digits, zeros at either end left
// out, one more, and one more for a sign.
func numberBytes(n int64) int {
	s := strconv.FormatInt(n, 10)
	digits := strings.Trim(strings.TrimPrefix(s, "-"), "0")
	size := (len(digits)+digitsPerByte-1)/digitsPerByte + numberOverhead
	if n < 0 {
		size++
	}
	return size
}

// ReadUnits is the price of reading that many bytes strongly in one piece; a missing item
// costs one unit too.
func ReadUnits(bytes int) int { return max(1, (bytes+readUnitBytes-1)/readUnitBytes) }

// WriteUnits is the price of writing an item of that many bytes outside a transaction.
func WriteUnits(bytes int) int { return max(1, (bytes+writeUnitBytes-1)/writeUnitBytes) }

// CommitUnits is the price of a commit that finds the rows before, in the order of its
// writes; refused tells that it was refused with ErrConflict.
func CommitUnits(tx *table.Tx, before []table.Row, refused bool) (reads, writes int) {
	if len(tx.Writes) == 1 {
		switch w := tx.Writes[0]; w.Kind {
		case table.Check:
			return ReadUnits(ItemBytes(before[0])), 0
		case table.Add: // goes as a transaction, see ddb
		default:
			return 0, writeUnits(w, tx.ID, before[0], refused)
		}
	}
	for i, w := range tx.Writes {
		writes += transaction * writeUnits(w, tx.ID, before[i], refused && !holds(w, before[i]))
	}
	return 0, writes
}

// holds tells whether the precondition of a write holds on the row before it.
func holds(w table.Write, before table.Row) bool {
	switch w.Kind {
	case table.Create:
		return !before.Found()
	case table.Add:
		return !before.Found() || before.Version == table.CounterVersion
	}
	return before.Version == w.Version
}

func writeUnits(w table.Write, id string, before table.Row, refused bool) int {
	if refused {
		return WriteUnits(ItemBytes(before))
	}
	return WriteUnits(max(ItemBytes(before), ItemBytes(after(w, id, before))))
}

// after is the row a write leaves.
func after(w table.Write, id string, before table.Row) table.Row {
	switch w.Kind {
	case table.Create, table.Replace:
		return table.Row{Key: w.Key, Version: id, Data: w.Data, Expires: w.Expires}
	case table.Check:
		return before
	case table.Add:
		sum := table.Row{Key: w.Key, Version: table.CounterVersion, Expires: before.Expires,
			Counters: make(map[string]int64, len(before.Counters)+len(w.Adds))}
		if !w.Expires.IsZero() {
			sum.Expires = w.Expires
		}
		for field, n := range before.Counters {
			sum.Counters[field] = n
		}
		for field, n := range w.Adds {
			sum.Counters[field] += n
		}
		return sum
	}
	return table.Row{Key: w.Key}
}
