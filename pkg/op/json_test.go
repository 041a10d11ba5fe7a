package op_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"guildhall/pkg/op"
)

// nested is n arrays in one another.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestParseStrictRefusesWhatReadersDisagreeOn(t *testing.T) {
	cases := []struct{ name, json string }{
		{"nothing", ``},
		{"white space only", " \n"},
		{"duplicate key", `{"a":1,"a":2}`},
		{"duplicate key, escaped", `{"a":1,"\u0061":2}`},
		{"duplicate key deep inside", `{"a":[{"b":{"c":1,"c":1}}]}`},
		{"keys that differ in case", `{"name":1,"Name":2}`},
		{"keys that fold together: Kelvin sign", "{\"k\":1,\"\u212a\":2}"},
		{"keys that fold together: long s", "{\"s\":1,\"\u017f\":2}"},
		{"keys that fold together: Greek sigma", "{\"σ\":1,\"ς\":2}"},
		{"bytes behind the value", `{} x`},
		{"a second value", `{}{}`},
		{"a NUL behind the value", "{}\x00"},
		{"65 levels", nested(65)},
		{"65 levels of objects", strings.Repeat(`{"a":`, 65) + `1` + strings.Repeat(`}`, 65)},
		{"100000 levels, never closed", strings.Repeat("[", 100000)},
		{"int64 and one more", `9223372036854775808`},
		{"int64 and one less", `-9223372036854775809`},
		{"float64 overflow", `1e309`},
		{"leading zero", `01`},
		{"leading plus", `+1`},
		{"hexadecimal", `0x1`},
		{"bare fraction", `.5`},
		{"trailing point", `1.`},
		{"NaN", `NaN`},
		{"Infinity", `-Infinity`},
		{"trailing comma in an object", `{"a":1,}`},
		{"trailing comma in an array", `[1,]`},
		{"missing colon", `{"a" 1}`},
		{"missing comma", `[1 2]`},
		{"wrong bracket", `[1}`},
		{"unclosed", `{"a":1`},
		{"single quotes", `{'a':1}`},
		{"bare key", `{a:1}`},
		{"number as key", `{1:1}`},
		{"comment", `{} // end`},
		{"invalid UTF-8", "\"\xff\""},
		{"overlong UTF-8", "\"\xc0\x80\""},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\""},
		{"first half of a pair", `"\ud83d"`},
		{"second half of a pair", `"\udc00"`},
		{"halves in the wrong order", `"\udc00\ud83d"`},
		{"first half and a letter", `"\ud83dx"`},
		{"first half and another escape", `"\ud83d\n\udc00"`},
		{"byte order mark", "\ufeff{}"},
		{"control character in a string", "\"a\nb\""},
		{"unknown escape", `"\x41"`},
		{"capital literal", `True`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if v, err := op.ParseStrict([]byte(c.json)); err == nil {
				t.Errorf("accepted as %v", v)
			}
		})
	}
}

func TestParseStrictReadsEverythingElse(t *testing.T) {
	for _, s := range []string{
		`{}`, `[]`, `null`, `true`, `"text"`, ` {"a" : [ 1 , 2.5 , -0 , 1e3 ] } `, nested(64),
		`9223372036854775807`, `-9223372036854775808`, `1.7976931348623157e308`, `1e-400`,
		`{"a":{"A":1},"b":{"a":2}}`, `"\ud83d\ude00"`, `"\\ud83d"`, `"\u0000"`, `"\\\ud83d\ude00"`, `{"":1}`, `{"ß":1,"ss":2}`,
	} {
		if _, err := op.ParseStrict([]byte(s)); err != nil {
			t.Errorf("%.60s: %v", s, err)
		}
	}
}

func FuzzParseStrict(f *testing.F) {
	for _, s := range []string{` {"a" : [1 , {"\u0062\"\\\/\b\f\n\r\t\u00e9":true}, false,null,"",[],{}]}`, `{"a":[1,"\ud83d\ude00",null]}`, `{"a":1,"A":1}`, nested(65), `"\ud83d`, `"\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := op.ParseStrict(b)
		if err != nil {
			return
		}
		var same any
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if err := d.Decode(&same); err != nil || !reflect.DeepEqual(v, same) {
			t.Fatalf("%q: read as %#v, others read %#v, %v", b, v, same, err)
		}
		data, err := op.Encode(v)
		if err != nil {
			t.Fatalf("%q: read and cannot be written: %v", b, err)
		}
		if _, err := op.ParseStrict(data); err != nil && len(data) < 100<<10 {
			t.Fatalf("%q: written as %q and refused", b, data)
		}
	})
}
