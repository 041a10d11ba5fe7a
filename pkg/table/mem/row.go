package mem

import (
	"bytes"
	"maps"
	"strconv"

	"guildhall/pkg/table"
)

// row is a stored row without its key. It is never changed once stored: a write stores
// another one, so what a read has found stays as it was.
type row struct {
	version  string
	data     []byte
	counters map[string]int64
	expires  int64 // milliseconds since 1970; 0: never
}

// version is that of a row that may be missing.
func version(r *row) string {
	if r == nil {
		return ""
	}
	return r.version
}

// answer copies a row for the caller.
func answer(k table.Key, r *row, keysOnly bool) table.Row {
	out := table.Row{Key: k}
	if r == nil {
		return out
	}
	out.Version, out.Expires = r.version, table.FromMillis(r.expires)
	if !keysOnly {
		out.Data, out.Counters = bytes.Clone(r.data), maps.Clone(r.counters)
	}
	return out
}

// dueKey sorts by time: milliseconds with leading zeros. Times before 1970 sort as 1970.
func dueKey(ms int64) string {
	const width = 19
	s := strconv.FormatInt(max(ms, 0), 10)
	return "0000000000000000000"[:width-len(s)] + s
}
