// Package openapi reads the exchange's OpenAPI document the way a stranger does: it knows no
// address and no shape that does not stand in it.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Document is a read document.
type Document struct {
	Operations map[string]*Operation // by operationId

	components struct {
		Schemas    map[string]json.RawMessage `json:"schemas"`
		Parameters map[string]Parameter       `json:"parameters"`
		Headers    map[string]json.RawMessage `json:"headers"`
	}
	mu       sync.Mutex
	compiled map[string]*jsonschema.Resolved
}

// Operation is one operation.
type Operation struct {
	ID         string                `json:"operationId"`
	Parameters []Parameter           `json:"parameters"`
	Body       *Body                 `json:"requestBody"`
	Responses  map[string]Response   `json:"responses"`
	Security   []map[string][]string `json:"security"`

	Method, Path string `json:"-"`
}

// Parameter is a path, query or header parameter.
type Parameter struct {
	Ref      string          `json:"$ref"`
	Name     string          `json:"name"`
	In       string          `json:"in"`
	Required bool            `json:"required"`
	Schema   json.RawMessage `json:"schema"`
}

// Body is a request body.
type Body struct {
	Required bool             `json:"required"`
	Content  map[string]Media `json:"content"`
}

// Media is one form of a body.
type Media struct {
	Schema json.RawMessage `json:"schema"`
}

// Response is what an operation answers with a status.
type Response struct {
	Content map[string]Media `json:"content"`
}

// Read reads a document.
func Read(raw []byte) (*Document, error) {
	var doc struct {
		OpenAPI    string                                `json:"openapi"`
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components json.RawMessage                       `json:"components"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		return nil, fmt.Errorf("openapi %q", doc.OpenAPI)
	}
	d := &Document{Operations: map[string]*Operation{}, compiled: map[string]*jsonschema.Resolved{}}
	if err := json.Unmarshal(doc.Components, &d.components); err != nil {
		return nil, err
	}
	for path, methods := range doc.Paths {
		for method, raw := range methods {
			o := &Operation{Method: strings.ToUpper(method), Path: path}
			if err := json.Unmarshal(raw, o); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			if d.Operations[o.ID] != nil || o.ID == "" {
				return nil, fmt.Errorf("two operations are called %q", o.ID)
			}
			for i, p := range o.Parameters {
				if p.Ref != "" {
					o.Parameters[i] = d.components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
				}
			}
			d.Operations[o.ID] = o
		}
	}
	return d, nil
}

// At finds the operation behind a request; nil where the document has none.
func (d *Document) At(method, path string) *Operation {
	var best *Operation
	for _, o := range d.Operations {
		if o.Method == method && fits(o.Path, path) && (best == nil || literals(o.Path) > literals(best.Path)) {
			best = o
		}
	}
	return best
}

func literals(template string) (n int) {
	for part := range strings.SplitSeq(template, "/") {
		if !strings.HasPrefix(part, "{") {
			n++
		}
	}
	return n
}

func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !strings.HasPrefix(want[i], "{") && want[i] != got[i] {
			return false
		}
	}
	return true
}

// Address fills an operation's path and query from arguments and returns those that are
// left, which go into headers and the body.
func (o *Operation) Address(args map[string]any) (string, map[string]any, error) {
	path, query, rest := o.Path, url.Values{}, map[string]any{}
	for name, value := range args {
		p := o.parameter(name)
		switch {
		case p == nil || p.In == "header":
			rest[name] = value
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(fmt.Sprint(value)))
		case p.In == "query":
			query.Set(name, fmt.Sprint(value))
		}
	}
	if strings.Contains(path, "{") {
		return "", nil, fmt.Errorf("%s: %s lacks an argument", o.ID, path)
	}
	for _, p := range o.Parameters {
		if p.In == "query" && p.Required && query.Get(p.Name) == "" {
			return "", nil, fmt.Errorf("%s: lacks %s", o.ID, p.Name)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path, rest, nil
}

func (o *Operation) parameter(name string) *Parameter {
	i := slices.IndexFunc(o.Parameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Parameters[i]
}

// Sends tells whether a JSON body fits the operation.
func (d *Document) Sends(o *Operation, body []byte) error {
	if o.Body == nil {
		return fmt.Errorf("%s takes no body", o.ID)
	}
	media, ok := o.Body.Content["application/json"]
	if !ok {
		return fmt.Errorf("%s takes no JSON", o.ID)
	}
	return d.valid(o.ID+" request", media.Schema, body)
}

// Answers tells whether an answer is one the document announces.
func (d *Document) Answers(o *Operation, status int, contentType string, body []byte) error {
	r, ok := o.Responses[strconv.Itoa(status)]
	if !ok {
		return fmt.Errorf("%s answers %d, which the document does not name", o.ID, status)
	}
	if len(r.Content) == 0 {
		if len(body) > 0 && status < 300 {
			return fmt.Errorf("%s answers %d with a body the document does not name", o.ID, status)
		}
		return nil
	}
	kind, _, _ := strings.Cut(contentType, ";")
	media, ok := r.Content[kind]
	if !ok {
		if _, any := r.Content["application/octet-stream"]; any {
			return nil // bytes of any kind
		}
		return fmt.Errorf("%s answers %d as %s, which the document does not name", o.ID, status, kind)
	}
	if kind != "application/json" {
		return nil
	}
	return d.valid(o.ID+" "+strconv.Itoa(status), media.Schema, body)
}

// valid checks JSON against a schema of the document, with the components beside it.
func (d *Document) valid(name string, schema json.RawMessage, body []byte) error {
	resolved, err := d.compile(name, schema)
	if err != nil {
		return fmt.Errorf("%s: the schema: %w", name, err)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return fmt.Errorf("%s: no JSON: %w", name, err)
	}
	if err := resolved.Validate(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (d *Document) compile(name string, schema json.RawMessage) (*jsonschema.Resolved, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.compiled[name]; r != nil {
		return r, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(inward(schema), &s); err != nil {
		return nil, err
	}
	s.Defs = map[string]*jsonschema.Schema{}
	if err := d.define(s.Defs, schema); err != nil {
		return nil, err
	}
	r, err := s.Resolve(nil)
	if err == nil {
		d.compiled[name] = r
	}
	return r, err
}

const componentRef = "#/components/schemas/"

var reference = regexp.MustCompile(`"\$ref": ?"` + componentRef + `([^"]+)"`)

// inward points references to components at the definitions beside a schema.
func inward(schema []byte) []byte {
	return bytes.ReplaceAll(schema, []byte(componentRef), []byte("#/$defs/"))
}

// define adds the components that a schema refers to, and theirs.
func (d *Document) define(defs map[string]*jsonschema.Schema, schema []byte) error {
	for _, m := range reference.FindAllSubmatch(schema, -1) {
		name := string(m[1])
		if defs[name] != nil {
			continue
		}
		raw, ok := d.components.Schemas[name]
		if !ok {
			return fmt.Errorf("no component %s", name)
		}
		defs[name] = &jsonschema.Schema{}
		if err := json.Unmarshal(inward(raw), defs[name]); err != nil {
			return err
		}
		if err := d.define(defs, raw); err != nil {
			return err
		}
	}
	return nil
}
