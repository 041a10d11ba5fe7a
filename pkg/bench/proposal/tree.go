package proposal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parse reads one JSON value strictly: valid UTF-8, no key twice, nothing behind it, at most MaxBodyBytes and MaxDepth.
// Numbers stay json.Number. The transport checks the same before it gets here; a caller without a transport gets it too.
func parse(raw []byte) (any, error) {
	switch {
	case len(raw) > MaxBodyBytes:
		return nil, fmt.Errorf("the body is larger than %d bytes", MaxBodyBytes)
	case !utf8.Valid(raw):
		return nil, errors.New("the body is not valid UTF-8")
	case !json.Valid(raw):
		return nil, errors.New("the body is not valid JSON")
	}
	r := reader{raw: raw}
	return r.value(1)
}

// reader walks a text that json.Valid has passed, so that it only has to find where things end.
type reader struct {
	raw []byte
	at  int
}

// next answers the first byte that is neither white space nor a separator, and stays on it.
func (r *reader) next() byte {
	for {
		switch c := r.raw[r.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			r.at++
		default:
			return c
		}
	}
}

func (r *reader) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("the body nests deeper than %d levels", MaxDepth)
	}
	switch c := r.next(); c {
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"':
		return r.text(), nil
	case 't':
		r.at += len("true")
		return true, nil
	case 'f':
		r.at += len("false")
		return false, nil
	case 'n':
		r.at += len("null")
		return nil, nil
	}
	start := r.at
	for r.at < len(r.raw) && strings.IndexByte("+-.eE0123456789", r.raw[r.at]) >= 0 {
		r.at++
	}
	return json.Number(r.raw[start:r.at]), nil
}

func (r *reader) object(depth int) (any, error) {
	r.at++
	out := map[string]any{}
	for r.next() != '}' {
		key := r.text()
		if _, twice := out[key]; twice {
			return nil, errors.New("the body gives a key twice in one object")
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out[key] = v
	}
	r.at++
	return out, nil
}

func (r *reader) list(depth int) (any, error) {
	r.at++
	out := []any{}
	for r.next() != ']' {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	r.at++
	return out, nil
}

// text reads a quoted text; only one with an escape in it needs the decoder.
func (r *reader) text() string {
	start := r.at
	escaped := false
	for r.at++; r.raw[r.at] != '"'; r.at++ {
		if r.raw[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	if !escaped {
		return string(r.raw[start+1 : r.at-1])
	}
	var s string
	_ = json.Unmarshal(r.raw[start:r.at], &s) // valid by json.Valid
	return s
}

// wholeNumber reads a JSON number that is an integer as JSON Schema means it (3, 3.0, 30e-1) and fits int64. It works on the
// digits, so no exponent can make it allocate and no rounding can make 1.00000000000000000001 whole.
func wholeNumber(n json.Number) (int64, bool) {
	s := string(n)
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, true
	}
	s, exponent, hasExp := cutExponent(s)
	exp := 0
	if hasExp {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > 1000 || e < -MaxBodyBytes {
			return 0, strings.Trim(s, "-0.") == ""
		}
		exp = e
	}
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	units, fraction, _ := strings.Cut(s, ".")
	digits := strings.TrimRight(units+fraction, "0")
	exp += len(units) - len(digits) // zeros to put back behind the digits
	if digits == "" {
		return 0, true
	}
	digits = strings.TrimLeft(digits, "0")
	if exp < 0 || len(digits)+exp > 19 {
		return 0, false
	}
	i, err := strconv.ParseInt(sign+digits+strings.Repeat("0", exp), 10, 64)
	return i, err == nil
}

func cutExponent(s string) (mantissa, exponent string, found bool) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, "", false
	}
	return s[:i], strings.TrimPrefix(s[i+1:], "+"), true
}

// finite reads a JSON number as a float; false when it is out of range.
func finite(n json.Number) (float64, bool) {
	f, err := strconv.ParseFloat(string(n), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}
