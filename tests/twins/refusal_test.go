package twins

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/catalog"
	"guildhall/pkg/op"
)

// stranger is an id that nothing has.
const stranger = "99999999-9999-4999-8999-999999999999"

// call is a REST request made from a declaration.
type call struct {
	o       *op.Operation
	path    map[string]string
	query   map[string]string
	body    map[string]any
	headers map[string]string
}

// plausible is a call with a value of the right type everywhere.
func plausible(o *op.Operation, token string) call {
	c := call{o: o, path: map[string]string{}, query: map[string]string{}, headers: map[string]string{"Authorization": "Bearer " + token}}
	for _, p := range o.Params() {
		switch p.From {
		case "path":
			c.path[p.Name] = stranger
		case "query":
			if v, ok := value(p.Schema).(string); ok {
				c.query[p.Name] = v
			} else {
				c.query[p.Name] = "1"
			}
		}
	}
	if b := o.Body(); b != nil {
		c.body = map[string]any{}
		for _, p := range b.Properties {
			if !restOnly(o, p.Name) {
				c.body[p.Name] = value(p.Schema)
			}
		}
		c.headers["Idempotency-Key"] = "refusal"
	}
	return c
}

// value is something of a schema's type.
func value(s *op.Schema) any {
	switch s.Type {
	case "string":
		if len(s.Enum) > 0 {
			return s.Enum[0]
		}
		return strings.Repeat("x", max(1, s.MinLen))
	case "integer", "number":
		if s.Min != nil {
			return *s.Min
		}
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	}
	return map[string]any{}
}

func (c call) with(change func(*call)) call {
	d := call{c.o, maps.Clone(c.path), maps.Clone(c.query), maps.Clone(c.body), maps.Clone(c.headers)}
	change(&d)
	return d
}

// variations of a call: what can be wrong with any of them, and with each of its fields.
func (c call) variations() map[string]call {
	all := map[string]call{
		"as it is":       c,
		"no credential":  c.with(func(d *call) { delete(d.headers, "Authorization") }),
		"bad credential": c.with(func(d *call) { d.headers["Authorization"] += "x" }),
		"no key":         c.with(func(d *call) { delete(d.headers, "Idempotency-Key") }),
		"long key":       c.with(func(d *call) { d.headers["Idempotency-Key"] = strings.Repeat("k", op.MaxKeyLen+1) }),
		"no id":          c.with(func(d *call) { setAll(d.path, "nothing") }),
		"odd id":         c.with(func(d *call) { setAll(d.path, "a b\u202e#%&") }),
		"long id":        c.with(func(d *call) { setAll(d.path, strings.Repeat("a", 901)) }),
		"no query":       c.with(func(d *call) { clear(d.query) }),
		"odd query":      c.with(func(d *call) { setAll(d.query, "\u202e,%&") }),
		"NUL in a query": c.with(func(d *call) { setAll(d.query, "\x00") }),
	}
	if c.body == nil {
		return all
	}
	all["no body"] = c.with(func(d *call) { clear(d.body) })
	if c.o.ToolArg == "" {
		all["further field"] = c.with(func(d *call) { d.body["surprise"] = 1 })
	}
	for name, v := range c.body {
		all["no "+name] = c.with(func(d *call) { delete(d.body, name) })
		all["null "+name] = c.with(func(d *call) { d.body[name] = nil })
		all["long "+name] = c.with(func(d *call) { d.body[name] = strings.Repeat("y", 20000) })
		all["number "+name] = c.with(func(d *call) { d.body[name] = 1.5 })
		all["list of "+name] = c.with(func(d *call) { d.body[name] = []any{v, v} })
		all["object "+name] = c.with(func(d *call) { d.body[name] = map[string]any{"a": v} })
	}
	return all
}

func setAll(m map[string]string, v string) {
	for n := range m {
		m[n] = v
	}
}

// request is the call over HTTP.
func (c call) request() (*http.Request, []byte) {
	path := c.o.Path
	for n, v := range c.path {
		path = strings.ReplaceAll(path, "{"+n+"}", escape(v))
	}
	var body []byte
	if c.body != nil {
		body, _ = json.Marshal(c.body)
	}
	r := httptest.NewRequest(c.o.Method, path, bytes.NewReader(body))
	q := r.URL.Query()
	for n, v := range c.query {
		q.Set(n, v)
	}
	r.URL.RawQuery = q.Encode()
	for n, v := range c.headers {
		r.Header.Set(n, v)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, body
}

const hex = "0123456789ABCDEF"

func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
	}
	return b.String()
}

func TestEveryRefusalIsTheSame(t *testing.T) {
	m, _ := open(t)
	tokens := map[string]string{}
	err := m.x.Engine.Run(context.Background(), m.x.Engine.Now(), "bench", func(c *op.Call) error {
		for _, k := range account.Kinds() {
			if k.Many {
				continue
			}
			s, err := k.Issue(c, "11111111-2222-4333-8444-555555555555", nil, time.Time{})
			if err != nil {
				return err
			}
			tokens[k.Context] = s
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	refusals := map[int]int{}
	for _, o := range catalog.Operations() {
		if o.Tool == "" {
			continue
		}
		t.Run(o.ID, func(t *testing.T) {
			m.t = t
			for name, c := range plausible(o, tokens[o.Context()]).variations() {
				r, body := c.request()
				args, ok := arguments(o, c.path, r, body)
				if !ok {
					continue
				}
				if strings.Contains(o.ToolCase, "{") && strings.HasSuffix(name, " id") {
					continue // what is no path selects nothing; REST's router says so in its own words
				}
				if o.AuthOver("mcp") != o.Auth && name != "as it is" && strings.Contains(name, "credential") {
					continue // the one that differs by contract
				}
				m.compare(o, r, body, args)
			}
			for status := range m.reached[strings.TrimSpace(o.Tool+" "+o.ToolCase)] {
				refusals[status]++
			}
		})
	}
	for _, status := range []int{400, 401, 404, 422} {
		if refusals[status] == 0 {
			t.Errorf("no refusal with %d was tried", status)
		}
	}
}
