package proposal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parse reads one JSON value strictly: valid UTF-8, no key twice, nothing behind it, at most MaxBodyBytes and MaxDepth.
// Numbers stay json.Number. The transport checks the same before it gets here; a caller without a transport gets it too.
func parse(raw []byte) (any, error) {
	if len(raw) > MaxBodyBytes {
		return nil, fmt.Errorf("the body is larger than %d bytes", MaxBodyBytes)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("the body is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := parseValue(dec, 1)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("the body has text behind its JSON value")
	}
	return v, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, errors.New("the body is not valid JSON")
	}
	if depth > MaxDepth {
		return nil, fmt.Errorf("the body nests deeper than %d levels", MaxDepth)
	}
	switch tok {
	case json.Delim('{'):
		return parseObject(dec, depth)
	case json.Delim('['):
		return parseList(dec, depth)
	}
	return tok, nil
}

func parseObject(dec *json.Decoder, depth int) (any, error) {
	obj := map[string]any{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, errors.New("the body is not valid JSON")
		}
		key := tok.(string) // the decoder allows nothing else before a colon
		if _, twice := obj[key]; twice {
			return nil, errors.New("the body gives a key twice in one object")
		}
		if obj[key], err = parseValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	return obj, closing(dec)
}

func parseList(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := parseValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, closing(dec)
}

func closing(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return errors.New("the body is not valid JSON")
	}
	return nil
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
