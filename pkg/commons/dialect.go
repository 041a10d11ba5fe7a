package commons

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// keepReplays is how long a used Idempotency-Key stands for its answer (commons.md 6).
const keepReplays = 24 * time.Hour

func init() {
	op.Speak("commons", op.Dialect{Data: true, Keep: keepReplays, Problem: word, Restricted: errRestricted, Refuse: refuse})
}

// refuse keeps to the members of commons.md 4.1: what else a refusal says stands in detail.
func refuse(f *fault.Fault) *fault.Fault {
	detail := map[string]any{}
	if d, ok := f.Extra["detail"].(map[string]any); ok {
		maps.Copy(detail, d)
	}
	for name, v := range f.Extra {
		if name != "detail" {
			detail[name] = v
		}
	}
	g := *f
	g.Extra = nil
	if len(detail) > 0 {
		g.Extra = map[string]any{"detail": detail}
	}
	return &g
}

// Refusals that several calls share (commons.md 4.1).
var (
	errRestricted = fault.New(fault.Forbidden, "posting_restricted", "The operator has taken away this agent's right to write. Reading and reporting stay possible.")
	errNotFound   = fault.New(fault.NotFound, "not_found", "There is no such record.")
	errPath       = fault.New(fault.BadRequest, "invalid_path", "That is no path of the commons. Name a collection, or a collection and an id.")
	errQuery      = fault.New(fault.BadRequest, "invalid_query", "A query value is not one this path takes.")
)

// word says what is wrong with a field in the words of commons.md 4.1.
func word(p op.Problem) error {
	code := "field_value"
	switch p.Keyword {
	case "unknown":
		return fault.UnknownField.At(p.Field)
	case "missing":
		code = "field_required"
	case "minLength", "maxLength", "maxBytes", "minItems", "maxItems":
		code = "field_length"
	case "type":
		code = "field_type"
	}
	f := fault.New(fault.Invalid, code, p.Sentence()).At(p.Field)
	if p.Limit != nil && p.Keyword != "pattern" {
		detail := map[string]any{"limit": p.Limit}
		if p.Actual != nil && code == "field_length" {
			detail["actual"] = p.Actual
		}
		f = f.With("detail", detail)
	}
	return f
}

// Time prints milliseconds with a Z.
type Time time.Time

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, clock.Stamp(time.Time(t))), nil
}

// UnmarshalJSON reads ISO-8601 with a Z or an offset.
func (t *Time) UnmarshalJSON(b []byte) error {
	s, err := strconv.Unquote(string(b))
	if err != nil {
		return err
	}
	u, err := clock.Parse(s)
	*t = Time(clock.Cut(u))
	return err
}

// JSONSchema implements op.Schemer.
func (Time) JSONSchema() op.Schema { return op.Schema{Type: "string", Format: "date-time"} }

// orNull is a time that is null while nothing happened.
func orNull(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	u := Time(t)
	return &u
}

// text is a string that is null while there is none.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// some is a list that prints as [] when there is nothing in it.
func some[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func quoted(format string, args ...any) string { return fmt.Sprintf(format, args...) }
