package op

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"testing"
	"unicode/utf8"
)

// slowStrict is ParseStrict over the tokens of encoding/json: slower, and easier to believe.
func slowStrict(b []byte) (any, error) {
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

// FuzzStrictTwins holds ParseStrict against its slow twin: the same texts are refused, and
// the others read the same.
func FuzzStrictTwins(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,"\ud83d\ude00",null]}`, `{"a":1,"A":1}`, `"\ud83d`, `"\`, `"\u12`, `"\u00e`, `[1,]`, `[,1]`, `{,}`, `{"a":1,}`, `[1 2]`,
		` {"a" : [1 , {"\u0062\"\\\/\b\f\n\r\t\u00e9":true}], "b":false ,"c":"","d":[ ],"e":{ }} `, `{"B":1,"a":2,"b":3}`, `{"a":1,"B":2,"A":3}`,
		`-`, `-0`, `00`, `1.`, `1.e1`, `1e`, `1E+`, `-1.5e-3`, `tru`, `nul`, `falsey`, `true `, `"a` + "\x00" + `"`, "{}\x00", "\x00", ``, ` `, `{"a"}`, `{"a":}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fast, err := ParseStrict(b)
		slow, err2 := slowStrict(b)
		if (err == nil) != (err2 == nil) || !reflect.DeepEqual(fast, slow) {
			t.Fatalf("%q: read as %#v, %v; the twin reads %#v, %v", b, fast, err, slow, err2)
		}
	})
}
