package help

import (
	"maps"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// Refusals of fields (help.md 4.4).
var (
	FieldRequired  = fault.New(fault.Invalid, "field_required", "This field is required.")
	FieldLength    = fault.New(fault.Invalid, "field_length", "This text is too short or too long. Characters are counted after outer white space is cut off.")
	FieldType      = fault.New(fault.Invalid, "field_type", "This field has another type.")
	FieldValue     = fault.New(fault.Invalid, "field_value", "This field does not take that value.")
	UnknownField   = fault.New(fault.Invalid, "unknown_field", "This call does not take that field.")
	InvalidLimit   = fault.New(fault.Invalid, "invalid_limit", "limit is a whole number from 1 to 50.")
	InvalidOffset  = fault.New(fault.Invalid, "invalid_offset", "offset is a whole number from 0 to 100000.")
	InvalidStatus  = fault.New(fault.Invalid, "invalid_status", "status is one of open, active, review, completed, cancelled.")
	QueryTooLong   = fault.New(fault.Invalid, "q_too_long", "q has at most 200 characters.")
	SecretDetected = fault.New(fault.Invalid, "secret_detected", "This text seems to carry a credential. Everything here is public: take it out, and replace it where it is in use.")
)

// queries are the query parameters with a refusal of their own.
var queries = map[string]*fault.Fault{"limit": InvalidLimit, "offset": InvalidOffset, "status": InvalidStatus, "q": QueryTooLong}

// problem words a field problem.
func problem(p op.Problem) error {
	if f := queries[p.Field]; f != nil && p.Keyword != "unknown" {
		return f.At(p.Field)
	}
	detail := map[string]any{}
	f := FieldValue
	switch p.Keyword {
	case "unknown":
		return UnknownField.At(p.Field).Say(p.Field + " is no field of this call.")
	case "missing":
		f = FieldRequired
	case "type":
		f, detail["expected"] = FieldType, p.Limit
	case "minLength", "maxLength":
		f = FieldLength
		detail["min"], detail["max"], detail["actual"], detail["unit"] = p.Schema.MinLen, p.Schema.MaxLen, p.Actual, "characters"
	case "enum":
		detail["allowed"] = p.Limit
	}
	f = f.At(p.Field).Say(p.Sentence())
	if len(detail) > 0 {
		f = f.With("detail", detail)
	}
	return f
}

// refuse gives a refusal of the operations layer the members of help's error body: what it
// says further goes into detail.
func refuse(f *fault.Fault) *fault.Fault {
	detail, _ := f.Extra["detail"].(map[string]any)
	if len(f.Extra) == 0 || len(f.Extra) == 1 && detail != nil {
		return f
	}
	all := maps.Clone(f.Extra)
	delete(all, "detail")
	maps.Copy(all, detail)
	g := *f
	g.Extra = map[string]any{"detail": all}
	return &g
}

// shapes remembers the schemas of inputs.
var shapes sync.Map // reflect.Type -> *op.Schema

// screen refuses texts of an input that hold a NUL or a credential, once all of them have
// the length they must have: lengths and types are refused before, by the general rules.
func screen(in any) error {
	v := reflect.ValueOf(in)
	schema, ok := shapes.Load(v.Type())
	if !ok {
		schema, _ = shapes.LoadOrStore(v.Type(), op.SchemaOf(v.Type()))
	}
	texts := map[string]string{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name != "" && v.Field(i).Kind() == reflect.String {
			texts[name] = v.Field(i).String()
		}
	}
	for _, p := range schema.(*op.Schema).Properties {
		if s, ok := texts[p.Name]; ok && p.Schema.Check(s, p.Name) != nil {
			return nil
		}
	}
	for _, p := range schema.(*op.Schema).Properties {
		s := texts[p.Name]
		if strings.IndexByte(s, 0) >= 0 {
			return FieldValue.At(p.Name).Say(p.Name + " holds a NUL character.")
		}
		if _, found := text.Secret(s); found && len(p.Schema.Enum) == 0 {
			return SecretDetected.At(p.Name)
		}
	}
	return nil
}

// trim cuts outer white space off, and nothing else (help.md H-G12).
func trim(s string) string { return strings.TrimSpace(s) }

func chars(s string) int { return utf8.RuneCountInString(s) }
