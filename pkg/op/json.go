package op

import (
	"bytes"
	"encoding/json"
	"errors"
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
	w := walker{s: string(b) + "\x00"}
	v, ok := w.value(0)
	if !ok || w.next() != 0 || w.i != len(b) {
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

// walker reads one JSON value. Its text ends with a NUL, which is good JSON nowhere, so
// that there is always a byte to look at. Strings without escapes share the text's memory.
type walker struct {
	s string
	i int
}

// next goes behind white space and tells the byte that stands there.
func (w *walker) next() byte {
	for {
		switch c := w.s[w.i]; c {
		case ' ', '\t', '\r', '\n':
			w.i++
		default:
			return c
		}
	}
}

func (w *walker) value(depth int) (any, bool) {
	c := w.next()
	if (c == '{' || c == '[') && depth >= MaxDepth {
		return nil, false
	}
	switch c {
	case '{':
		return w.object(depth + 1)
	case '[':
		return w.array(depth + 1)
	case '"':
		return w.text()
	case 't':
		return true, w.word("true")
	case 'f':
		return false, w.word("false")
	case 'n':
		return nil, w.word("null")
	}
	n, ok := w.number()
	return json.Number(n), ok && checkNumber(n) == nil
}

// word goes behind a word that must stand here.
func (w *walker) word(s string) bool {
	ok := strings.HasPrefix(w.s[w.i:], s)
	w.i += len(s)
	return ok
}

// more goes to the next member and tells whether there is one. The first stands behind the
// opening bracket, another behind a comma.
func (w *walker) more(end byte, first bool) (more, ok bool) {
	if first {
		w.i++
	}
	switch c := w.next(); {
	case c == end:
		w.i++
		return false, true
	case first:
		return true, true
	case c != ',':
		return false, false
	}
	w.i++
	return true, w.next() != end
}

func (w *walker) object(depth int) (any, bool) {
	m := map[string]any{}
	names := names{plain: m}
	for first := true; ; first = false {
		if more, ok := w.more('}', first); !more || !ok {
			return m, ok
		}
		k, ok := w.text()
		if !ok || !names.add(k) || w.next() != ':' {
			return nil, false
		}
		w.i++
		v, ok := w.value(depth)
		if !ok {
			return nil, false
		}
		m[k] = v
	}
}

func (w *walker) array(depth int) (any, bool) {
	a := []any{}
	for first := true; ; first = false {
		if more, ok := w.more(']', first); !more || !ok {
			return a, ok
		}
		v, ok := w.value(depth)
		if !ok {
			return nil, false
		}
		a = append(a, v)
	}
}

// names tells whether a name, or one that folds to the same, was there before. As long as
// every name is its own fold, the object itself knows.
type names struct {
	plain  map[string]any
	folded map[string]bool
}

func (n *names) add(k string) bool {
	f := fold(k)
	if f != k && n.folded == nil {
		n.folded = make(map[string]bool, len(n.plain)+1)
		for seen := range n.plain {
			n.folded[seen] = true
		}
	}
	if n.folded == nil {
		_, twice := n.plain[f]
		return !twice
	}
	twice := n.folded[f]
	n.folded[f] = true
	return !twice
}

// text reads a string.
func (w *walker) text() (string, bool) {
	if w.s[w.i] != '"' {
		return "", false
	}
	start, plain := w.i+1, true
	for w.i = start; w.s[w.i] != '"'; w.i++ {
		switch c := w.s[w.i]; {
		case c < ' ': // the NUL at the end among them
			return "", false
		case c == '\\':
			if !w.escape() {
				return "", false
			}
			plain = false
		}
	}
	w.i++
	if plain {
		return w.s[start : w.i-1], true
	}
	return unescape(w.s[start : w.i-1]), true
}

// escape goes to the last byte of an escape.
func (w *walker) escape() bool {
	if w.s[w.i+1] != 'u' {
		w.i++
		return strings.IndexByte(`"\/bfnrt`, w.s[w.i]) >= 0
	}
	ok := escaped([]byte(w.s[w.i:min(w.i+6, len(w.s))])) >= 0
	w.i += 5
	return ok
}

// number reads a number as JSON writes it: no plus, no leading zero, digits on both sides
// of a point.
func (w *walker) number() (string, bool) {
	start := w.i
	if w.s[w.i] == '-' {
		w.i++
	}
	if w.s[w.i] == '0' {
		w.i++
	} else if !w.digits() {
		return "", false
	}
	if w.s[w.i] == '.' {
		if w.i++; !w.digits() {
			return "", false
		}
	}
	if c := w.s[w.i]; c == 'e' || c == 'E' {
		if w.i++; w.s[w.i] == '+' || w.s[w.i] == '-' {
			w.i++
		}
		if !w.digits() {
			return "", false
		}
	}
	return w.s[start:w.i], true
}

// digits goes behind one digit or more.
func (w *walker) digits() bool {
	start := w.i
	for w.s[w.i] >= '0' && w.s[w.i] <= '9' {
		w.i++
	}
	return w.i > start
}

// unescape replaces the escapes of a string that is known to have only good ones.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return string(append(b, s...))
		}
		b, s = append(b, s[:i]...), s[i:]
		c, n := s[1], 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := escaped([]byte(s[:6]))
			if n = 6; utf16.IsSurrogate(r) {
				r, n = utf16.DecodeRune(r, escaped([]byte(s[6:12]))), 12
			}
			b, s = utf8.AppendRune(b, r), s[n:]
			continue
		}
		b, s = append(b, c), s[n:]
	}
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
			b = append(appendText(b, k), ':')
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
	case string:
		return appendText(b, v)
	case json.Number:
		if v != "" {
			return append(b, v...)
		}
	case bool:
		return strconv.AppendBool(b, v)
	}
	e, _ := json.Marshal(v)
	return append(b, e...)
}

// appendText appends a string as json.Marshal writes it, without its detours where the
// string is what most strings are.
func appendText(b []byte, s string) []byte {
	start := len(b)
	b = append(slices.Grow(b, len(s)+2), '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~' || c == '<' || c == '>' || c == '&':
			e, _ := json.Marshal(s)
			return append(b[:start], e...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
