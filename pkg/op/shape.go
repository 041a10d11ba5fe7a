package op

import (
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// shape is how an input type is filled from a request.
type shape struct {
	params []param
	body   *Schema // JSON body, nil when the operation takes none
	raw    []int   // field that takes the whole body as it is (body:"raw")
	stream []int   // field that takes the body as a stream (body:"stream")
	other  []int   // field that takes a body that is no JSON as a stream (body:"other")
}

// param is a field that comes from the path, the query or a header.
type param struct {
	from, name string
	index      []int
	schema     *Schema
	required   bool
}

func shapeOf(t reflect.Type) *shape {
	s := &shape{body: structSchema(t, []reflect.Type{t})}
	for _, f := range reflect.VisibleFields(t) {
		for _, from := range []string{"path", "query", "header"} {
			if name := f.Tag.Get(from); name != "" {
				p := param{from: from, name: name, index: f.Index, schema: SchemaOf(f.Type)}
				p.required = p.schema.rules(f.Tag.Get("rule"), t.String()+"."+f.Name) || from == "path"
				p.schema.Doc = f.Tag.Get("doc")
				s.params = append(s.params, p)
			}
		}
		switch f.Tag.Get("body") {
		case "raw":
			s.raw = f.Index
		case "stream":
			s.stream = f.Index
		case "other":
			s.other = f.Index
		}
	}
	return s
}

// takesBody tells whether the operation reads a JSON body.
func (o *Operation) takesBody() bool {
	return o.Method != "GET" && o.Method != "DELETE" && o.shape.stream == nil
}

// TakesStream tells whether the operation reads its body as a stream.
func (o *Operation) TakesStream() bool { return o.shape.stream != nil }

// TakesOther tells whether the operation reads a body of any other media type than JSON as
// a stream; a JSON body is read like everybody's, and ends at DefaultMaxBody.
func (o *Operation) TakesOther() bool { return o.shape.other != nil }

// MaxJSON is the longest JSON body, in bytes.
func (o *Operation) MaxJSON() int64 {
	if o.TakesOther() {
		return min(o.MaxBody, DefaultMaxBody)
	}
	return o.MaxBody
}

// Streamed tells whether a request of this media type brings its body as a stream. A type
// that cannot be read is no stream: it is refused like any body without a type. Nor is a
// form: what is in it would be hashed with its delimiters.
func (o *Operation) Streamed(contentType string) bool {
	if !o.TakesOther() {
		return o.TakesStream()
	}
	t, err := mediaType(contentType)
	return err == nil && t != jsonType && !strings.HasPrefix(t, "multipart/")
}

// Param describes a path, query or header parameter for documents.
type Param struct {
	From, Name string
	Required   bool
	Schema     *Schema
}

// Params lists the parameters of an operation.
func (o *Operation) Params() []Param {
	var out []Param
	for _, p := range o.shape.params {
		out = append(out, Param{p.from, p.name, p.required, p.schema})
	}
	return out
}

// Body is the schema of the JSON body, or nil.
func (o *Operation) Body() *Schema {
	if !o.takesBody() {
		return nil
	}
	if o.BodySchema != nil {
		return &Schema{Raw: o.BodySchema()}
	}
	if o.shape.raw != nil {
		return &Schema{}
	}
	s := *o.shape.body
	s.Open = s.Open || o.LooseBody
	return &s
}

// fill makes the input value from the request's parameters and the parsed body.
func (s *shape) fill(t reflect.Type, r *Request, body []byte) (any, *Problem) {
	in := reflect.New(t)
	if s.raw != nil {
		in.Elem().FieldByIndex(s.raw).SetBytes(body)
	} else if len(body) > 0 {
		if err := json.Unmarshal(body, in.Interface()); err != nil {
			p := &Problem{Keyword: "type", Limit: "the documented type"}
			if te, ok := err.(*json.UnmarshalTypeError); ok {
				p.Field, p.Name, p.Limit = te.Field, lastName(te.Field), SchemaOf(te.Type).Type
			}
			return nil, p
		}
	}
	for _, index := range [][]int{s.stream, s.other} {
		if index != nil && r.Stream != nil {
			in.Elem().FieldByIndex(index).Set(reflect.ValueOf(io.Reader(r.Stream)))
		}
	}
	for _, p := range s.params {
		if q := p.fill(in.Elem().FieldByIndex(p.index), r); q != nil {
			return nil, q
		}
	}
	return in.Interface(), nil
}

func (p param) value(r *Request) (string, bool) {
	switch p.from {
	case "path":
		v, sent := r.Path[p.name]
		return v, sent
	case "query":
		v := r.Query[p.name]
		if len(v) == 0 {
			return "", false
		}
		return v[0], true
	default:
		if r.Header == nil {
			return "", false
		}
		v := r.Header(p.name)
		return v, v != ""
	}
}

// words appends the X- headers that an operation reads.
func (s *shape) words(b []byte, r *Request) []byte {
	for _, p := range s.params {
		if v, sent := p.value(r); p.from == "header" && sent && strings.HasPrefix(p.name, "X-") {
			b = canonical(append(append(b, 0), p.name...), v)
		}
	}
	return b
}

// strange finds a query parameter that the input does not have, or one sent twice that is
// no list, in a fixed order.
func (s *shape) strange(r *Request) *Problem {
	for _, name := range slices.Sorted(maps.Keys(r.Query)) {
		i := slices.IndexFunc(s.params, func(p param) bool { return p.from == "query" && p.name == name })
		if i < 0 {
			return &Problem{Field: name, Keyword: "unknown", Name: name}
		}
		if len(r.Query[name]) > 1 && s.params[i].schema.Type != "array" {
			return &Problem{Field: name, Keyword: "type", Limit: "one value", Name: name}
		}
	}
	return nil
}

// maxListed bounds the entries of a list that comes as a parameter.
const maxListed = 100

// list reads a parameter that may be sent several times, or once with commas.
func (p param) list(f reflect.Value, r *Request) *Problem {
	if p.from != "query" || len(r.Query[p.name]) == 0 {
		if p.required {
			return &Problem{Field: p.name, Keyword: "missing", Name: p.name}
		}
		return nil
	}
	var tree []any
	var values []string
	for _, v := range r.Query[p.name] {
		for one := range strings.SplitSeq(v, ",") {
			if len(values) == maxListed {
				return &Problem{Field: p.name, Keyword: "maxItems", Limit: maxListed, Name: p.name}
			}
			tree, values = append(tree, one), append(values, one)
		}
	}
	if q := p.schema.Check(tree, p.name); q != nil {
		return q
	}
	f.Set(reflect.MakeSlice(f.Type(), len(values), len(values)))
	for i, v := range values {
		f.Index(i).SetString(v)
	}
	return nil
}

func (p param) fill(f reflect.Value, r *Request) *Problem {
	if p.schema.Type == "array" {
		return p.list(f, r)
	}
	v, sent := p.value(r)
	if !sent {
		if p.required {
			return &Problem{Field: p.name, Keyword: "missing", Name: p.name}
		}
		return nil
	}
	tree, bad := any(v), &Problem{Field: p.name, Keyword: "type", Limit: p.schema.Type, Name: p.name}
	switch p.schema.Type {
	case "integer", "number":
		tree = json.Number(v)
		if checkNumber(v) != nil {
			return bad
		}
	case "boolean":
		b, err := strconv.ParseBool(v)
		if err != nil {
			return bad
		}
		tree = b
	}
	if q := p.schema.Check(tree, p.name); q != nil {
		return q
	}
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(v)
	case reflect.Bool:
		f.SetBool(tree.(bool))
	case reflect.Float64:
		n, _ := strconv.ParseFloat(v, 64)
		f.SetFloat(n)
	default:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || f.OverflowInt(n) {
			return bad
		}
		f.SetInt(n)
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// PathNames lists the {names} of a route in order.
func PathNames(path string) []string {
	var out []string
	for part := range strings.SplitSeq(path, "/") {
		if n, ok := strings.CutPrefix(part, "{"); ok {
			out = append(out, strings.TrimSuffix(strings.TrimSuffix(n, "}"), "..."))
		}
	}
	return out
}
