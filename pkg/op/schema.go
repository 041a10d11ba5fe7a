package op

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schema is the part of JSON Schema 2020-12 the declarations use.
type Schema struct {
	Type       string // object array string integer number boolean, "" for any value
	Nullable   bool
	Properties []Property
	Open       bool    // further properties are allowed
	Of         *Schema // items of an array, values of a map
	Map        bool
	Enum       []string
	Const      any
	Min, Max   *float64 // numbers
	MinLen     int      // characters, after trimming
	MaxLen     int      // characters, after trimming; 0 is no limit
	MaxBytes   int      // UTF-8 bytes; 0 is no limit
	MinItems   int
	MaxItems   int
	Pattern    *regexp.Regexp
	Format     string
	Doc        string
	Raw        json.RawMessage // a schema given as it is
}

// Property is a named member of an object.
type Property struct {
	Name     string
	Required bool // in an input
	Optional bool // in an output: left out when empty
	Schema   *Schema
}

// Schemer is implemented by types that give their own schema.
type Schemer interface{ JSONSchema() Schema }

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// SchemaOf infers the schema of a Go type from its fields and their tags:
// json:"name,omitempty", rule:"required,min=1,max=120,enum=a|b,pattern=…" (a pattern comes
// last and may hold commas), doc:"…". A type that contains itself needs a Schemer.
func SchemaOf(t reflect.Type) *Schema { return schemaOf(t, nil) }

func schemaOf(t reflect.Type, outer []reflect.Type) *Schema {
	if t.Kind() == reflect.Pointer {
		s := *schemaOf(t.Elem(), outer)
		s.Nullable = true
		return &s
	}
	if s := ownSchema(t); s != nil {
		return s
	}
	switch t.Kind() {
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.Slice, reflect.Array:
		return &Schema{Type: "array", Of: schemaOf(t.Elem(), outer)}
	case reflect.Map:
		return &Schema{Type: "object", Map: true, Of: schemaOf(t.Elem(), outer)}
	case reflect.Struct:
		if slices.Contains(outer, t) {
			panic("op: " + t.String() + " contains itself: it needs a JSONSchema method")
		}
		return structSchema(t, append(slices.Clone(outer), t))
	default:
		if t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 {
			return &Schema{Type: "integer"}
		}
		panic("op: no schema for " + t.String())
	}
}

// ownSchema is the schema of a type that is not described by its kind: it gives its own,
// or it writes itself as text or as JSON nobody knows the form of.
func ownSchema(t reflect.Type) *Schema {
	v := reflect.New(t).Interface()
	if own, ok := v.(Schemer); ok {
		s := own.JSONSchema()
		return &s
	}
	_, isText := v.(encoding.TextMarshaler)
	_, isJSON := v.(json.Marshaler)
	described := t.Kind() == reflect.Struct && tagged(t)
	switch {
	case t == timeType:
		return &Schema{Type: "string", Format: "date-time"}
	case t == rawType, t.Kind() == reflect.Interface, isJSON && !described:
		return &Schema{}
	case isText && !described:
		return &Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return &Schema{Type: "string", Format: "byte"}
	}
	return nil
}

// tagged tells whether a struct has exported fields and names all of them.
func tagged(t reflect.Type) bool {
	some := false
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		if f.Tag.Get("json") == "" && !bound(f) {
			return false
		}
		some = true
	}
	return some
}

func structSchema(t reflect.Type, outer []reflect.Type) *Schema {
	s := &Schema{Type: "object"}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			s.Properties = append(s.Properties, structSchema(inner, outer).Properties...)
			continue
		}
		if !f.IsExported() || name == "-" || bound(f) {
			continue
		}
		p := Property{Name: name, Schema: schemaOf(f.Type, outer)}
		if p.Name == "" {
			panic(fmt.Sprintf("op: field %s.%s has no json name", t, f.Name))
		}
		p.Required = p.Schema.rules(f.Tag.Get("rule"), t.String()+"."+f.Name)
		p.Schema.Doc = f.Tag.Get("doc")
		p.Optional = strings.Contains(opts, "omitempty") || strings.Contains(opts, "omitzero")
		p.Required = p.Required && !p.Optional
		s.Properties = append(s.Properties, p)
	}
	return s
}

// bound tells whether a field comes from somewhere else than the JSON body.
func bound(f reflect.StructField) bool {
	for _, tag := range []string{"path", "query", "header", "body"} {
		if f.Tag.Get(tag) != "" {
			return true
		}
	}
	return false
}

// rules applies a rule tag and reports whether the field is required.
func (s *Schema) rules(tag, where string) (required bool) {
	tag, pattern, found := strings.Cut(","+tag, ",pattern=")
	if found {
		s.Pattern = regexp.MustCompile(pattern)
	}
	for r := range strings.SplitSeq(tag, ",") {
		k, v, _ := strings.Cut(r, "=")
		switch k {
		case "":
		case "required":
			required = true
		case "enum":
			s.Enum = strings.Split(v, "|")
		case "format":
			s.Format = v
		case "true":
			s.Const = true
		case "nonnull": // a pointer that is absent or a value, never null
			s.Nullable = false
		default:
			s.bound(k, v, where)
		}
	}
	return required
}

func (s *Schema) bound(k, v, where string) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil {
		panic("op: bad rule " + k + "=" + v + " on " + where)
	}
	n := int(f)
	switch {
	case k == "min" && s.Type == "string":
		s.MinLen = n
	case k == "max" && s.Type == "string":
		s.MaxLen = n
	case k == "bytes":
		s.MaxBytes = n
	case k == "min" && s.Type == "array":
		s.MinItems = n
	case k == "max" && s.Type == "array":
		s.MaxItems = n
	case k == "min":
		s.Min = &f
	case k == "max":
		s.Max = &f
	case k == "each" && s.Of != nil:
		s.Of.MaxLen = n
	case k == "eachbytes" && s.Of != nil:
		s.Of.MaxBytes = n
	default:
		panic("op: unknown rule " + k + " on " + where)
	}
}

// Property finds a member by name.
func (s *Schema) Property(name string) (Property, bool) {
	i := slices.IndexFunc(s.Properties, func(p Property) bool { return p.Name == name })
	if i < 0 {
		return Property{}, false
	}
	return s.Properties[i], true
}

// MarshalJSON writes the schema as JSON Schema.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.Raw != nil {
		return s.Raw, nil
	}
	m := map[string]any{}
	put := func(k string, v any, when bool) {
		if when {
			m[k] = v
		}
	}
	typ := any(s.Type)
	if s.Nullable && s.Type != "" {
		typ = []string{s.Type, "null"}
	}
	put("type", typ, s.Type != "")
	doc := s.describe()
	put("description", doc, doc != "")
	put("format", s.Format, s.Format != "")
	put("const", s.Const, s.Const != nil)
	put("minLength", s.MinLen, s.MinLen > 0)
	put("maxLength", s.maxLength(), s.maxLength() > 0)
	put("minItems", s.MinItems, s.MinItems > 0)
	put("maxItems", s.MaxItems, s.MaxItems > 0)
	put("minimum", s.Min, s.Min != nil)
	put("maximum", s.Max, s.Max != nil)
	if s.Pattern != nil {
		m["pattern"] = s.Pattern.String()
	}
	if len(s.Enum) > 0 {
		m["enum"] = s.enum()
	}
	switch {
	case s.Map:
		m["additionalProperties"] = s.Of
	case s.Type == "array":
		m["items"] = s.Of
	case s.Type == "object":
		s.object(m)
	}
	return json.Marshal(m)
}

// describe is the text of the schema. JSON Schema counts characters: a limit in bytes is said
// in words beside it.
func (s *Schema) describe() string {
	if s.MaxBytes == 0 {
		return s.Doc
	}
	return strings.TrimSpace(s.Doc + " At most " + strconv.Itoa(s.MaxBytes) + " UTF-8 bytes.")
}

// maxLength is the limit in characters; what fits into n bytes has at most n of them.
func (s *Schema) maxLength() int {
	if s.MaxBytes > 0 && (s.MaxLen == 0 || s.MaxBytes < s.MaxLen) {
		return s.MaxBytes
	}
	return s.MaxLen
}

func (s *Schema) enum() []any {
	var out []any
	for _, e := range s.Enum {
		if n, err := strconv.Atoi(e); err == nil && s.Type == "integer" {
			out = append(out, n)
			continue
		}
		out = append(out, e)
	}
	if s.Nullable {
		out = append(out, nil)
	}
	return out
}

func (s *Schema) object(m map[string]any) {
	props, required := map[string]*Schema{}, []string{}
	for _, p := range s.Properties {
		props[p.Name] = p.Schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	m["properties"] = props
	if len(required) > 0 {
		m["required"] = required
	}
	if !s.Open {
		m["additionalProperties"] = false
	}
}
