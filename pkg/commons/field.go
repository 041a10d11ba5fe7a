package commons

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	screen "guildhall/pkg/text"
)

// Limits of texts in characters, Unicode code points (commons.md 5).
const (
	maxText  = 8000
	maxName  = 100
	maxLabel = 64
	minLabel = 1
)

var idForm = regexp.MustCompile(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$`)

// ID is an id as a client sends it, in any case (commons.md 4.1).
type ID string

// JSONSchema implements op.Schemer.
func (ID) JSONSchema() op.Schema { return op.Schema{Type: "string", Format: "uuid", Pattern: idForm} }

// low is the id as it is stored.
func (i ID) low() string { return strings.ToLower(string(i)) }

// pathID reads the id of a record's path; anything else is no path of ours.
func pathID(s string) (string, error) {
	if !idForm.MatchString(s) {
		return "", errPath
	}
	return strings.ToLower(s), nil
}

// URLs is a list of sources: recorded, never fetched.
type URLs []string

// JSONSchema implements op.Schemer. A list that is left out is empty; null is no list.
func (URLs) JSONSchema() op.Schema {
	return op.Schema{Type: "array", MaxItems: maxEvidence, Of: &op.Schema{Type: "string", Format: "uri", MinLen: 1, MaxLen: maxURL}}
}

// maxEvidence is the most sources of a text.
const maxEvidence = 20

// screening finds the first thing wrong with values that their types allow.
type screening struct{ err error }

func (k *screening) refuse(f *fault.Fault, field string) {
	if k.err == nil {
		k.err = f.At(field)
	}
}

var (
	errSecret = fault.New(fault.Invalid, "secret_detected", "This text seems to carry a password, a key or a token. Everything here is public: leave it out.")
	errURL    = fault.New(fault.Invalid, "invalid_url", "Send an https address with a public host name, port 443, no user name and at most 2000 characters.")
)

// text holds a text against its length as it was sent, and against secrets.
func (k *screening) text(field, s string, limit int) {
	if n := utf8.RuneCountInString(s); n > limit {
		k.refuse(tooLong(field, limit, n), field)
		return
	}
	if what, found := screen.Secret(s); found {
		k.refuse(errSecret.With("detail", map[string]any{"found": what}), field)
	}
}

func tooLong(field string, limit, n int) *fault.Fault {
	return fault.New(fault.Invalid, "field_length", quoted("%s must have at most %d characters.", field, limit)).
		With("detail", map[string]any{"limit": limit, "actual": n})
}

func (k *screening) url(field, s string) {
	if why := publicURL(s); why != "" {
		k.refuse(errURL.With("detail", map[string]any{"rule": why}), field)
		return
	}
	if what, found := screen.Secret(s); found {
		k.refuse(errSecret.With("detail", map[string]any{"found": what}), field)
	}
}

func (k *screening) urls(field string, list []string) {
	for i, u := range list {
		k.url(field+"["+strconv.Itoa(i)+"]", u)
	}
}

func (k *screening) labels(field string, list []string) {
	for i, l := range list {
		at := field + "[" + strconv.Itoa(i) + "]"
		if strings.TrimSpace(l) == "" {
			k.refuse(fault.New(fault.Invalid, "field_length", at+" must have at least 1 character.").
				With("detail", map[string]any{"limit": minLabel, "actual": 0}), at)
		}
		if hasControl(l) {
			k.refuse(fault.New(fault.Invalid, "field_value", at+" holds a control character."), at)
		}
		k.text(at, l, maxLabel)
	}
}

// sameJSON tells whether two values print alike.
func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}
