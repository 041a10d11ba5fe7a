package op

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"guildhall/pkg/fault"
)

// Problem is one thing wrong with a field of the input.
type Problem struct {
	Field   string // path of the field, dots and [n]
	Keyword string // unknown missing type enum const minLength maxLength maxBytes minimum maximum minItems maxItems pattern format
	Limit   any    // what the keyword allows
	Actual  any    // the measured length, count or value
	Name    string // last part of Field
	// Schema is what the value was held against; nil for an unknown or missing field.
	Schema *Schema
}

// Fault is the default wording of a problem.
func (p Problem) Fault() *fault.Fault {
	if p.Keyword == "unknown" {
		return fault.UnknownField.At(p.Field)
	}
	f := fault.InvalidField.At(p.Field).Say(p.Sentence())
	if p.Keyword == "missing" {
		f.Code = "missing_field"
	}
	return f
}

// Sentence says the problem in plain words.
func (p Problem) Sentence() string {
	limit := ""
	if b, err := json.Marshal(p.Limit); err == nil {
		limit = strings.Trim(string(b), `"`)
	}
	switch p.Keyword {
	case "missing":
		return p.Field + " is required."
	case "type":
		return p.Field + " must be of type " + limit + "."
	case "enum":
		return p.Field + " must be one of: " + limit + "."
	case "const":
		return p.Field + " must be " + limit + "."
	case "minLength":
		return p.Field + " must have at least " + limit + " characters."
	case "maxLength":
		return p.Field + " must have at most " + limit + " characters."
	case "maxBytes":
		return p.Field + " must have at most " + limit + " bytes."
	case "minimum":
		return p.Field + " must be at least " + limit + "."
	case "maximum":
		return p.Field + " must be at most " + limit + "."
	case "minItems":
		return p.Field + " must have at least " + limit + " entries."
	case "maxItems":
		return p.Field + " must have at most " + limit + " entries."
	case "unknown":
		return p.Field + " is not a field of this call."
	default:
		return p.Field + " does not have the right form."
	}
}

// Unknown finds the first field the schema does not name, in a fixed order.
func (s *Schema) Unknown(v any, path string) *Problem {
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" || s.Open {
			return nil
		}
		for _, k := range sortedKeys(v) {
			sub := s.Of
			if !s.Map {
				p, ok := s.Property(k)
				if !ok {
					return &Problem{Field: join(path, k), Keyword: "unknown", Name: k}
				}
				sub = p.Schema
			}
			if sub != nil {
				if p := sub.Unknown(v[k], join(path, k)); p != nil {
					return p
				}
			}
		}
	case []any:
		if s.Of == nil {
			return nil
		}
		for i, e := range v {
			if p := s.Of.Unknown(e, path+"["+strconv.Itoa(i)+"]"); p != nil {
				return p
			}
		}
	}
	return nil
}

// known copies v without the members an object schema does not name. encoding/json
// would fill a field from a member whose name differs in case only, unseen by Check.
func (s *Schema) known(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" || s.Map {
			return v
		}
		m := make(map[string]any, len(v))
		for _, p := range s.Properties {
			if e, sent := v[p.Name]; sent {
				m[p.Name] = p.Schema.known(e)
			}
		}
		return m
	case []any:
		if s.Of == nil {
			return v
		}
		a := make([]any, len(v))
		for i := range v {
			a[i] = s.Of.known(v[i])
		}
		return a
	}
	return v
}

// checkTypes finds the first value of a wrong type and leaves limits, missing members and
// null aside: it says where a value did not fit into the input.
func (s *Schema) checkTypes(v any, path string) *Problem {
	switch t := v.(type) {
	case nil:
		return nil
	case map[string]any:
		if s.Type == "object" {
			return s.checkMembers(t, path)
		}
	case []any:
		if s.Type == "array" {
			for i, e := range t {
				if p := s.Of.checkTypes(e, path+"["+strconv.Itoa(i)+"]"); p != nil {
					return p
				}
			}
			return nil
		}
	}
	bare := Schema{Type: s.Type, Format: s.Format}
	return bare.Check(v, path)
}

func (s *Schema) checkMembers(m map[string]any, path string) *Problem {
	if s.Map {
		for _, k := range sortedKeys(m) {
			if p := s.Of.checkTypes(m[k], join(path, k)); p != nil {
				return p
			}
		}
		return nil
	}
	for _, p := range s.Properties {
		if q := p.Schema.checkTypes(m[p.Name], join(path, p.Name)); q != nil {
			return q
		}
	}
	return nil
}

// Check finds the first value the schema refuses, members in declared order.
func (s *Schema) Check(v any, path string) *Problem {
	at := func(keyword string, limit, actual any) *Problem {
		return &Problem{Field: path, Keyword: keyword, Limit: limit, Actual: actual, Name: lastName(path), Schema: s}
	}
	if v == nil {
		if s.Nullable || s.Type == "" {
			return nil
		}
		return at("type", s.Type, nil)
	}
	if s.Const != nil && v != s.Const {
		return at("const", s.Const, v)
	}
	switch s.Type {
	case "":
		return nil
	case "object":
		return s.checkObject(v, path, at)
	case "array":
		return s.checkArray(v, path, at)
	case "string":
		return s.checkString(v, at)
	case "boolean":
		if _, ok := v.(bool); !ok {
			return at("type", s.Type, nil)
		}
		return nil
	default:
		return s.checkNumber(v, at)
	}
}

type reporter = func(keyword string, limit, actual any) *Problem

func (s *Schema) checkObject(v any, path string, at reporter) *Problem {
	m, ok := v.(map[string]any)
	if !ok {
		return at("type", s.Type, nil)
	}
	if s.Map {
		for _, k := range sortedKeys(m) {
			if p := s.Of.Check(m[k], join(path, k)); p != nil {
				return p
			}
		}
		return nil
	}
	for _, p := range s.Properties {
		e, sent := m[p.Name]
		if !sent || (e == nil && !p.Required && p.Schema.Nullable) {
			if p.Required {
				return &Problem{Field: join(path, p.Name), Keyword: "missing", Name: p.Name}
			}
			continue
		}
		if q := p.Schema.Check(e, join(path, p.Name)); q != nil {
			return q
		}
	}
	return nil
}

func (s *Schema) checkArray(v any, path string, at reporter) *Problem {
	a, ok := v.([]any)
	if !ok {
		return at("type", s.Type, nil)
	}
	if len(a) < s.MinItems {
		return at("minItems", s.MinItems, len(a))
	}
	if s.MaxItems > 0 && len(a) > s.MaxItems {
		return at("maxItems", s.MaxItems, len(a))
	}
	for i, e := range a {
		if p := s.Of.Check(e, path+"["+strconv.Itoa(i)+"]"); p != nil {
			return p
		}
	}
	return nil
}

func (s *Schema) checkString(v any, at reporter) *Problem {
	t, ok := v.(string)
	if !ok {
		return at("type", s.Type, nil)
	}
	if s.MaxBytes > 0 && len(t) > s.MaxBytes {
		return at("maxBytes", s.MaxBytes, len(t))
	}
	if s.MinLen > 0 || s.MaxLen > 0 {
		n := utf8.RuneCountInString(strings.TrimSpace(t))
		if n < s.MinLen {
			return at("minLength", s.MinLen, n)
		}
		if s.MaxLen > 0 && n > s.MaxLen {
			return at("maxLength", s.MaxLen, n)
		}
	}
	if len(s.Enum) > 0 && !has(s.Enum, t) {
		return at("enum", s.Enum, t)
	}
	if s.Pattern != nil && !s.Pattern.MatchString(t) {
		return at("pattern", s.Pattern.String(), nil)
	}
	if s.Format == "date-time" {
		if _, err := time.Parse(time.RFC3339, t); err != nil {
			return at("format", s.Format, nil)
		}
	}
	return nil
}

func (s *Schema) checkNumber(v any, at reporter) *Problem {
	n, ok := v.(json.Number)
	if !ok {
		return at("type", s.Type, nil)
	}
	f, err := n.Float64()
	if err != nil || s.Type == "integer" && strings.ContainsAny(string(n), ".eE") {
		return at("type", s.Type, nil)
	}
	if s.Min != nil && f < *s.Min {
		return at("minimum", *s.Min, f)
	}
	if s.Max != nil && f > *s.Max {
		return at("maximum", *s.Max, f)
	}
	if len(s.Enum) > 0 && !has(s.Enum, strconv.FormatFloat(f, 'f', -1, 64)) {
		return at("enum", s.Enum, f)
	}
	return nil
}

func has(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
