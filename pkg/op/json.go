package op

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

var errJSON = errors.New("not one strict JSON value")

// ParseStrict reads one JSON value into maps, slices, strings, json.Numbers, bools and
// nil. It refuses what different readers read differently: duplicate keys, keys that
// differ in case only, bytes behind the value, nesting over MaxDepth, invalid UTF-8 (half
// surrogate pairs too), and numbers outside int64 and float64.
func ParseStrict(b []byte) (any, error) {
	if !utf8.Valid(b) || halfPair(b) {
		return nil, errJSON
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err != nil {
		return nil, errJSON
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errJSON
	}
	return v, nil
}

// halfPair tells whether an escape in b is one half of a surrogate pair without the other.
func halfPair(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return false
		}
		r := escaped(b[i:])
		b = b[i+2:]
		if !utf16.IsSurrogate(r) {
			continue
		}
		if len(b) < 4 || utf16.DecodeRune(r, escaped(b[4:])) == unicode.ReplacementChar {
			return true
		}
		b = b[4+6:]
	}
}

// escaped reads the code unit that b begins with (\uXXXX); -1 for anything else.
func escaped(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if depth >= MaxDepth {
			return nil, errJSON
		}
		if t == '{' {
			return parseObject(d, depth+1)
		}
		return parseArray(d, depth+1)
	case json.Number:
		return t, checkNumber(string(t))
	default:
		return t, nil
	}
}

func parseObject(d *json.Decoder, depth int) (any, error) {
	m := map[string]any{}
	var folded map[string]bool
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		k := t.(string)
		if folded == nil {
			folded = map[string]bool{}
		}
		f := fold(k)
		if folded[f] {
			return nil, errJSON
		}
		folded[f] = true
		if m[k], err = parseValue(d, depth); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return m, err
}

// fold maps names that encoding/json takes for one another to one name.
func fold(k string) string {
	for i := range len(k) {
		if k[i] >= utf8.RuneSelf {
			return strings.Map(least, k)
		}
	}
	return strings.ToLower(k)
}

// least is the smallest lower-case rune that folds to r ('k' for the Kelvin sign).
func least(r rune) rune {
	low := unicode.ToLower(r)
	for n := unicode.SimpleFold(r); n != r; n = unicode.SimpleFold(n) {
		low = min(low, unicode.ToLower(n))
	}
	return low
}

func parseArray(d *json.Decoder, depth int) (any, error) {
	a := []any{}
	for d.More() {
		v, err := parseValue(d, depth)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
	_, err := d.Token()
	return a, err
}

func checkNumber(s string) error {
	if !strings.ContainsAny(s, ".eE") {
		_, err := strconv.ParseInt(s, 10, 64)
		return err
	}
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && math.IsInf(f, 0) {
		err = errJSON
	}
	return err
}

// canonical appends v with sorted keys and no white space: the form that is hashed.
func canonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b = append(b, '{')
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(canonical(b, k), ':')
			b = canonical(b, v[k])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = canonical(b, e)
		}
		return append(b, ']')
	default:
		e, _ := json.Marshal(v)
		return append(b, e...)
	}
}
