package stub

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// value is an attribute value as the API writes it: {"S": "text"}, {"N": "12"}, {"B": "..."}.
type value map[string]any

// item is a stored item by attribute name.
type item map[string]value

func (v value) text(kind string) (string, bool) {
	s, ok := v[kind].(string)
	return s, ok
}

func (i item) pk() string { s, _ := i["PK"].text("S"); return s }
func (i item) sk() string { s, _ := i["SK"].text("S"); return s }

// bytes is the size of the item by AWS's rules: names and values, in UTF-8.
func (i item) bytes() int {
	n := 0
	for name, v := range i {
		n += len(name) + v.bytes()
	}
	return n
}

func (v value) bytes() int {
	if s, ok := v.text("S"); ok {
		return len(s)
	}
	if s, ok := v.text("N"); ok {
		return numberBytes(s)
	}
	if s, ok := v.text("B"); ok {
		return base64.StdEncoding.DecodedLen(len(s)) - strings.Count(s, "=")
	}
	return 0
}

// numberBytes is a byte for two significant digits, one more, and one more for a sign.
func numberBytes(s string) int {
	digits := strings.Trim(strings.TrimPrefix(s, "-"), "0")
	n := (len(digits)+1)/2 + 1
	if strings.HasPrefix(s, "-") {
		n++
	}
	return n
}

// key orders the items.
type key struct{ pk, sk string }

func (i item) key() key { return key{i.pk(), i.sk()} }

func compareKeys(a, b key) int { return cmp.Or(cmp.Compare(a.pk, b.pk), cmp.Compare(a.sk, b.sk)) }

func (s *Server) load(k key) item { return s.items[k] }

func (s *Server) store(i item) {
	k := i.key()
	if at, there := slices.BinarySearchFunc(s.order, k, compareKeys); !there {
		s.order = slices.Insert(s.order, at, k)
	}
	s.items[k] = i
}

func (s *Server) remove(k key) {
	if at, there := slices.BinarySearchFunc(s.order, k, compareKeys); there {
		s.order = slices.Delete(s.order, at, at+1)
	}
	delete(s.items, k)
}

func (i item) project(names []string) item {
	if len(names) == 0 {
		return i
	}
	out := item{}
	for _, n := range names {
		if v, ok := i[n]; ok {
			out[n] = v
		}
	}
	return out
}

func (i item) clone() item { return maps.Clone(i) }

// keyOf checks a key given in a request.
func keyOf(i item) (key, *refusal) {
	k := i.key()
	switch {
	case k.pk == "" || k.sk == "":
		return k, invalid("The provided key element does not match the schema")
	case len(k.pk) > 2*maxSortKey || len(k.sk) > maxSortKey:
		return k, invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", maxSortKey)
	}
	return k, nil
}

// Units of capacity.
const (
	readUnit  = 4 << 10 // bytes
	writeUnit = 1 << 10 // bytes
)

func units(bytes, unit int) float64 { return float64(max(1, (bytes+unit-1)/unit)) }

// consumed adds to the table's totals and is the ConsumedCapacity of an answer.
func (s *Server) consumed(reads, writes float64) map[string]any {
	s.reads += reads
	s.writes += writes
	return map[string]any{"TableName": "stub", "CapacityUnits": reads + writes}
}

// readUnits is the price of reading n bytes at once; weak reads cost half and are counted.
func (s *Server) readUnits(n int, consistent bool) float64 {
	if consistent {
		return units(n, readUnit)
	}
	s.weak++
	return units(n, readUnit) / 2
}
