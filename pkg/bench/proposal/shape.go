package proposal

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"guildhall/pkg/text"
)

// shape is one declaration that both sides read: check enforces it on a value of the tree and answers the form that is
// stored, schema prints it in the served file.
type shape interface {
	check(v any) (any, *problem)
	schema() *jsonschema.Schema
}

// field is one row of the contract's tables.
type field struct {
	name  string
	shape shape
	must  bool
	stage int    // of bench contract 5.11; 0 is inside a nested object, checked with it
	code  string // refusal of a missing or wrong value; empty takes the code of the holder
	ask   string // the field counts only on steps with this ask
	doc   string // schema description
}

// take checks the field in obj and puts the stored form in its place.
func (f field) take(obj map[string]any) *problem {
	v, given := obj[f.name]
	if !given {
		if f.must {
			return wrong("is required").in(f.name).coded(f.code)
		}
		return nil
	}
	stored, p := f.shape.check(v)
	if p != nil {
		return p.in(f.name).coded(f.code)
	}
	obj[f.name] = stored
	return nil
}

// phrase is a text of min to max characters. Zero max is unbounded.
type phrase struct {
	min, max int
	line     bool // line breaks become spaces
	pattern  *pattern
}

// pattern is a form a text must have beyond its length: ok decides, expr says the same in the schema, say tells the agent.
type pattern struct {
	ok   func(string) bool
	expr string
	say  string
}

func (s phrase) check(v any) (any, *problem) {
	str, ok := v.(string)
	if !ok {
		return nil, wrong("must be text, not %s", kindOf(v))
	}
	if s.line {
		str = strings.Join(strings.FieldsFunc(str, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	}
	str = text.Normalize(str)
	if text.HasControl(str) {
		return nil, wrong("must not hold control characters")
	}
	n := text.Len(str)
	switch {
	case n == 0 && s.min > 0:
		return nil, wrong("must not be blank")
	case n < s.min:
		return nil, wrong("must be at least %d characters long and has %d", s.min, n)
	case s.max > 0 && n > s.max:
		return nil, wrong("must be at most %d characters long and has %d", s.max, n)
	case s.pattern != nil && !s.pattern.ok(str):
		return nil, wrong("%s", s.pattern.say)
	}
	return str, nil
}

func (s phrase) schema() *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "string"}
	if s.min > 0 {
		out.MinLength = &s.min
		out.Pattern = `\S`
	}
	if s.max > 0 {
		out.MaxLength = &s.max
	}
	if s.pattern != nil {
		out.Pattern = s.pattern.expr
	}
	return out
}

// whole is an integer between min and max.
type whole struct{ min, max int64 }

func (s whole) check(v any) (any, *problem) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, wrong("must be a whole number, not %s", kindOf(v))
	}
	i, ok := wholeNumber(n)
	switch {
	case !ok:
		return nil, wrong("must be a whole number")
	case i < s.min:
		return nil, wrong("must be at least %d", s.min)
	case i > s.max:
		return nil, wrong("must be at most %d", s.max)
	}
	return i, nil
}

func (s whole) schema() *jsonschema.Schema {
	lo, hi := float64(s.min), float64(s.max)
	return &jsonschema.Schema{Type: "integer", Minimum: &lo, Maximum: &hi}
}

// decimal is a number from 0 to max.
type decimal struct{ max float64 }

func (s decimal) check(v any) (any, *problem) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, wrong("must be a number, not %s", kindOf(v))
	}
	f, ok := finite(n)
	switch {
	case !ok:
		return nil, wrong("must be a finite number")
	case f < 0:
		return nil, wrong("must not be negative")
	case f > s.max:
		return nil, wrong("must be at most %s", strconv.FormatFloat(s.max, 'f', -1, 64))
	}
	return f + 0, nil // minus zero becomes zero
}

func (s decimal) schema() *jsonschema.Schema {
	var zero float64
	return &jsonschema.Schema{Type: "number", Minimum: &zero, Maximum: &s.max}
}

// yesNo is true or false.
type yesNo struct{}

func (yesNo) check(v any) (any, *problem) {
	if _, ok := v.(bool); !ok {
		return nil, wrong("must be true or false, not %s", kindOf(v))
	}
	return v, nil
}

func (yesNo) schema() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }

// oneOf is one word of a closed list.
type oneOf struct{ words []string }

func (s oneOf) check(v any) (any, *problem) {
	w, ok := v.(string)
	if !ok || !slices.Contains(s.words, w) {
		return nil, wrong("must be one of %s", strings.Join(s.words, ", "))
	}
	return w, nil
}

func (s oneOf) schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: anys(s.words)}
}

// someWord is a text whose list of words a later stage enforces.
type someWord struct{ words []string }

func (s someWord) check(v any) (any, *problem) {
	if _, ok := v.(string); !ok {
		return nil, wrong("must be text, not %s", kindOf(v))
	}
	return v, nil
}

func (s someWord) schema() *jsonschema.Schema { return oneOf(s).schema() }

// orNull allows null beside the shape.
type orNull struct{ shape }

func (s orNull) check(v any) (any, *problem) {
	if v == nil {
		return nil, nil
	}
	return s.shape.check(v)
}

func (s orNull) schema() *jsonschema.Schema {
	out := s.shape.schema()
	out.Types, out.Type = []string{out.Type, "null"}, ""
	return out
}

// scalar is a text, number or boolean kept as it came.
type scalar struct{}

func (scalar) check(v any) (any, *problem) {
	switch v.(type) {
	case string:
		return phrase{max: MaxOptionValue}.check(v)
	case json.Number, bool:
		return v, nil
	}
	return nil, wrong("must be text, a number, true or false")
}

func (scalar) schema() *jsonschema.Schema {
	limit := MaxOptionValue
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}, MaxLength: &limit}
}

// asIs is a value another declaration judges.
type asIs struct{}

func (asIs) check(v any) (any, *problem) { return v, nil }

func (asIs) schema() *jsonschema.Schema { return &jsonschema.Schema{} }

// list is min to max items of one shape.
type list struct {
	noun     string // what an item is called in a detail
	min, max int
	of       shape
}

func (s list) check(v any) (any, *problem) {
	items, ok := v.([]any)
	if !ok {
		return nil, wrong("must be a list, not %s", kindOf(v))
	}
	switch {
	case s.min == s.max && len(items) != s.min:
		return nil, wrong("must hold exactly %d and holds %d", s.min, len(items))
	case len(items) < s.min:
		return nil, wrong("must hold at least %d and holds %d", s.min, len(items))
	case len(items) > s.max:
		return nil, wrong("must hold at most %d and holds %d", s.max, len(items))
	}
	out := make([]any, len(items))
	for i, item := range items {
		stored, p := s.of.check(item)
		if p != nil {
			return nil, p.at(s.noun, i+1)
		}
		out[i] = stored
	}
	return out, nil
}

func (s list) schema() *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "array", Items: s.of.schema(), MaxItems: &s.max}
	if s.min > 0 {
		out.MinItems = &s.min
	}
	return out
}

// object is a set of declared fields. Other keys are ignored and not stored, unless open.
type object struct {
	fields []field
	open   bool                              // keep other keys, their texts cleaned
	rule   func(obj map[string]any) *problem // what no single field can say
	more   func(out *jsonschema.Schema)      // the rule in the schema, as far as a schema can say it
}

func (s object) check(v any) (any, *problem) {
	given, ok := v.(map[string]any)
	if !ok {
		return nil, wrong("must be an object, not %s", kindOf(v))
	}
	out := make(map[string]any, len(given))
	for _, f := range s.fields {
		v, has := given[f.name]
		if has {
			out[f.name] = v
		}
		if p := f.take(out); p != nil {
			return nil, p
		}
	}
	if s.open {
		if p := keepRest(out, given, s.fields); p != nil {
			return nil, p
		}
	}
	if s.rule != nil {
		if p := s.rule(out); p != nil {
			return nil, p
		}
	}
	return out, nil
}

func keepRest(out, given map[string]any, fields []field) *problem {
	for k, v := range given {
		if slices.ContainsFunc(fields, func(f field) bool { return f.name == k }) {
			continue
		}
		kept, ok := tidy(v)
		if !ok || text.HasControl(k) {
			return wrong("must not hold control characters")
		}
		out[k] = kept
	}
	return nil
}

// tidy normalises every text inside an undeclared value; false when one holds a control character.
func tidy(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		v = text.Normalize(v)
		return v, !text.HasControl(v)
	case []any:
		for i := range v {
			kept, ok := tidy(v[i])
			if !ok {
				return nil, false
			}
			v[i] = kept
		}
	case map[string]any:
		for k := range v {
			kept, ok := tidy(v[k])
			if !ok || text.HasControl(k) {
				return nil, false
			}
			v[k] = kept
		}
	}
	return v, true
}

func (s object) schema() *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, f := range s.fields {
		p := f.shape.schema()
		p.Description = f.doc
		out.Properties[f.name] = p
		out.PropertyOrder = append(out.PropertyOrder, f.name)
		if f.must {
			out.Required = append(out.Required, f.name)
		}
	}
	if s.more != nil {
		s.more(out)
	}
	return out
}

// named is a shape that the schema prints once, under $defs, and refers to everywhere else.
type named struct {
	name string
	shape
}

func (s named) schema() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + s.name} }

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

// kindOf names a JSON value for a person.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
