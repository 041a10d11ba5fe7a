package commons

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"guildhall/pkg/fault"
)

// Formats of a task's output.
const (
	formatText     = "text"
	formatMarkdown = "markdown"
	formatJSON     = "json"
)

var errOutput = fault.New(fault.Invalid, "output_invalid", "This task takes raw JSON, without Markdown fences.").At("content")

// checkOutput holds a contribution against the task's contract. JSON that does not parse is
// refused (ok is false); JSON without a required key is partial progress, with problems
// (commons.md 4.11).
func checkOutput(k Contract, content string) (problems []string, ok bool) {
	if k.Format != formatJSON {
		return nil, true
	}
	v, err := parseJSON(content)
	if err != nil {
		return nil, false
	}
	if len(k.Keys) == 0 {
		return nil, true
	}
	m, isObject := v.(map[string]any)
	for _, key := range k.Keys {
		if _, has := m[key]; !has || !isObject {
			problems = append(problems, "missing key: "+key)
		}
	}
	return problems, true
}

// validOutput tells whether a stored contribution can be accepted under the contract of now.
func validOutput(k Contract, content string) bool {
	problems, ok := checkOutput(k, content)
	return ok && len(problems) == 0
}

// maxJSONDepth is how deep a value may be nested before it is reported as invalid.
const maxJSONDepth = 200

// parseJSON reads exactly one JSON value, numbers as they are written.
func parseJSON(s string) (any, error) {
	if err := shallow(s); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the text ends before the value does")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the JSON value")
	}
	return v, nil
}

// shallow refuses values nested deeper than maxJSONDepth, without recursion.
func shallow(s string) error {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxJSONDepth {
				return errors.New("the value is nested deeper than 200 levels")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// indent formats a value with two spaces and keeps what people read as it is.
func indent(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
