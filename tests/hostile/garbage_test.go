package hostile

import (
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"guildhall/pkg/op"
)

// garbage makes what is thrown, from one seed.
type garbage struct {
	*mathrand.Rand
	w *world
	// dirty are the parts of the present call that are not as they were overheard.
	dirty map[string]bool
}

// soil chooses the dirty parts of a call: mostly one, so that the others carry it deep.
func (g *garbage) soil() {
	g.dirty = map[string]bool{}
	for range 1 + g.IntN(4)/3 + g.IntN(12)/11*3 {
		g.dirty[one(g, []string{"body", "body", "body", "body", "caller", "caller", "path", "path", "query", "headers", "method"})] = true
	}
}

// one picks an entry.
func one[T any](g *garbage, list []T) T { return list[g.IntN(len(list))] }

// in tells true once in n times.
func (g *garbage) in(n int) bool { return g.IntN(n) == 0 }

// words are texts that have broken something somewhere.
var words = []string{"", " ", "\t\n", "null", "true", "0", "-1", "1e309", "NaN", "9223372036854775808", ".", "..", "../../etc/passwd", "a/b", "%2e%2e%2f", "%00", "\x00",
	"\u202e\u2066", "\ufeff", "\u0000end", "ſ", "İ", "e\u0301", "👩\u200d👩\u200d👧", "\U0010ffff", "<script>alert(1)</script>", "' or 1=1 --", `"`, `\`, "{{.}}", "${7*7}", "__proto__", "constructor",
	"http://127.0.0.1/", "https://example.com/\r\nX-Injected: 1", "\r\nSet-Cookie: a=b", "javascript:alert(1)", "data:text/html,x", "sk_live_abcdefghijklmnopqrstuvwx", "ROOT", "#", "bench.AGENT#x",
	"2026-02-30T25:61:61Z", "0000-00-00", "9999-12-31T23:59:59Z", "-0001-01-01T00:00:00Z", "UTC", "Europe/Nowhere", "../localtime", "a@b", "pat@example.com\n", "plk1.0000000000.x",
	"eyJhbGciOiJub25lIn0.e30.", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "ssh-ed25519 AAAA", "-----BEGIN PUBLIC KEY-----"}

// values are JSON texts that are seldom expected.
var values = []string{"null", "true", "false", "0", "-0", "-1", "1", "1.5", "1e400", "-1e-400", "1e18", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616",
	"123456789012345678901234567890", `""`, "[]", "{}", "[null]", "[[]]", `[{}]`, `{"":null}`, `{"a":1,"a":2}`, `"\ud800"`, `"\u0000"`, `["",""]`, `{"ok":true}`, `[1,"a",null,{}]`}

// word is a hostile text.
func (g *garbage) word() string {
	switch g.IntN(8) {
	case 0:
		return strings.Repeat(one(g, []string{"a", "é", "\u0301", "👩", " ", "x\n", "<"}), 1<<g.IntN(15))
	case 1, 2:
		return one(g, g.w.ids)
	case 3:
		return strings.ToUpper(one(g, g.w.ids))
	case 4:
		return one(g, g.w.mails)
	}
	return one(g, words)
}

// value is a hostile JSON text.
func (g *garbage) value() string {
	switch g.IntN(6) {
	case 0, 1:
		b, _ := json.Marshal(g.word()) // never fails on a text
		return string(b)
	case 2:
		return "[" + strings.Repeat(one(g, values)+",", g.IntN(300)) + one(g, values) + "]"
	case 3:
		n := 1 + g.IntN(90)
		return strings.Repeat(`{"a":[`, n) + strings.Repeat(`]}`, n)
	}
	return one(g, values)
}

// body is a body for an operation, and what is said of its form.
func (g *garbage) body(o *op.Operation, from []byte) []byte {
	if !g.dirty["body"] {
		return from
	}
	switch g.IntN(40) {
	case 0:
		return nil
	case 1:
		return []byte(g.value())
	case 2:
		return from[:g.IntN(len(from)+1)]
	case 3:
		return append(append([]byte{}, from...), one(g, []string{"x", "{}", "\x00", " ", "]"})...)
	case 4:
		return append([]byte("\xef\xbb\xbf"), from...)
	case 5:
		return []byte(`{"a":"` + strings.Repeat("b", int(min(o.MaxBody, 4<<20))) + `"}`)
	case 6:
		return twice(from)
	case 7:
		return flipped(g, from)
	case 8:
		return from
	}
	var tree any
	d := json.NewDecoder(strings.NewReader(string(from)))
	d.UseNumber()
	if d.Decode(&tree) != nil {
		return flipped(g, from)
	}
	for range 1 + g.IntN(3) {
		tree = g.mutate(tree)
	}
	b, err := json.Marshal(tree)
	if err != nil {
		return from
	}
	return b
}

// twice names the first member of an object twice.
func twice(from []byte) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(from, &m) != nil {
		return from
	}
	for name, v := range m {
		return append(fmt.Appendf(nil, `{%q:%s,`, name, v), from[1:]...)
	}
	return from
}

func flipped(g *garbage, from []byte) []byte {
	b := append([]byte{}, from...)
	for range min(len(b), 1+g.IntN(4)) {
		b[g.IntN(len(b))] ^= byte(1 << g.IntN(8))
	}
	return b
}

// mutate changes one place of a JSON tree.
func (g *garbage) mutate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return g.mutateObject(v)
	case []any:
		if len(v) == 0 || g.in(6) {
			break
		}
		switch g.IntN(5) {
		case 0:
			return v[:len(v)-1]
		case 1:
			return append(v, v[0])
		case 2:
			for len(v) < 200 {
				v = append(v, v...)
			}
			return v
		}
		i := g.IntN(len(v))
		v[i] = g.mutate(v[i])
		return v
	}
	return json.RawMessage(plain(g.value()))
}

// plain is a value that encoding/json lets pass; what it does not is thrown as a whole body.
func plain(v string) string {
	if !json.Valid([]byte(v)) {
		return "null"
	}
	return v
}

func (g *garbage) mutateObject(m map[string]any) any {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	if len(names) == 0 || g.in(12) {
		m[one(g, []string{"", "extra", "__proto__", "ok", "id", "Want", "person_id", "maker_id"})] = json.RawMessage(plain(g.value()))
		return m
	}
	slices.Sort(names) // the order of a map is not the seed's
	n := one(g, names)
	switch g.IntN(6) {
	case 0:
		delete(m, n)
	case 1:
		m[strings.ToUpper(n)] = m[n]
		delete(m, n)
	default:
		m[n] = g.mutate(m[n])
	}
	return m
}

// generated is a body that fits a schema, roughly.
func (g *garbage) generated(s *op.Schema, depth int) any {
	switch {
	case s == nil || depth > 6:
		return nil
	case len(s.Enum) > 0:
		return one(g, s.Enum)
	case s.Const != nil:
		return s.Const
	}
	switch s.Type {
	case "object":
		m := map[string]any{}
		for _, p := range s.Properties {
			if p.Required || g.in(2) {
				m[p.Name] = g.generated(p.Schema, depth+1)
			}
		}
		return m
	case "array":
		list := []any{}
		for range max(s.MinItems, g.IntN(3)) {
			list = append(list, g.generated(s.Of, depth+1))
		}
		return list
	case "integer", "number":
		if s.Min != nil {
			return *s.Min
		}
		return g.IntN(100)
	case "boolean":
		return g.in(2)
	case "string":
		if g.in(2) {
			return one(g, g.w.ids)
		}
		return strings.Repeat("a b", max(1, s.MinLen/2))
	}
	return map[string]any{"a": "b"}
}

// types are the media types a body may claim.
var types = []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "application/json;;", "application/xml", "a", "*/*", "\x7f"}

// headers are the headers of a call.
func (g *garbage) headers(from http.Header) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	if t := from.Get("Content-Type"); t != "" {
		h.Set("Content-Type", t)
	}
	if g.dirty["headers"] && g.in(3) {
		h.Set("Content-Type", one(g, types))
	}
	if g.dirty["headers"] && g.in(8) {
		h.Set("Content-Encoding", one(g, []string{"gzip", "identity", "br", "x"}))
	}
	n := g.IntN(8)
	if !g.dirty["headers"] && n != 1 {
		n = 3
	}
	switch n {
	case 0:
	case 1:
		h.Set("Idempotency-Key", from.Get("Idempotency-Key"))
	case 2:
		h.Set("Idempotency-Key", one(g, []string{"", " ", "a", strings.Repeat("k", 201), strings.Repeat("é", 200), "\x01", "a#b"}))
	default:
		h.Set("Idempotency-Key", fmt.Sprintf("k-%d", g.Uint64()))
	}
	for n, v := range from {
		if _, taken := h[n]; !taken && (!g.dirty["headers"] || g.in(2)) && n != "Authorization" && n != "Idempotency-Key" && n != "Accept-Encoding" {
			h[n] = v
		}
	}
	return h
}
