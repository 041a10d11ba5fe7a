package proposal

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// absent as a value removes the key.
type absent struct{}

// body is a sample with edits: pairs of a path ("steps.0.title") and the value to put there. A literal NaN or huge number
// comes as json.RawMessage.
func body(t testing.TB, name string, edits ...any) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(read(t, name), &v); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(edits); i += 2 {
		v = put(t, v, strings.Split(edits[i].(string), "."), edits[i+1])
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func put(t testing.TB, v any, path []string, value any) any {
	t.Helper()
	if len(path) == 0 {
		return value
	}
	switch v := v.(type) {
	case map[string]any:
		if _, gone := value.(absent); gone && len(path) == 1 {
			delete(v, path[0])
			return v
		}
		child, ok := v[path[0]]
		if !ok {
			child = map[string]any{}
		}
		v[path[0]] = put(t, child, path[1:], value)
		return v
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i > len(v) {
			t.Fatalf("no item %s", path[0])
		}
		if i == len(v) {
			return append(v, put(t, map[string]any{}, path[1:], value))
		}
		v[i] = put(t, v[i], path[1:], value)
		return v
	}
	t.Fatalf("cannot go into %T by %v", v, path)
	return nil
}

func repeated(n int, item any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = item
	}
	return out
}

func options(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = map[string]any{"id": "o" + strconv.Itoa(i), "label": "Option " + strconv.Itoa(i)}
	}
	return out
}

func chars(n int) string { return strings.Repeat("é", n) }

// refused fails the test unless the bid is refused with the code, and the detail holds the words.
func refused(t *testing.T, raw []byte, target Target, code, words string) {
	t.Helper()
	_, rej := Validate(raw, target, Bid)
	switch {
	case rej == nil:
		t.Errorf("accepted; want %s", code)
	case rej.Code != code || !strings.Contains(rej.Detail, words):
		t.Errorf("%s %q; want %s with %q", rej.Code, rej.Detail, code, words)
	case rej.Message == "":
		t.Errorf("%s has no message", rej.Code)
	}
}

func accepted(t *testing.T, raw []byte, target Target) *Proposal {
	t.Helper()
	p, rej := Validate(raw, target, Bid)
	if rej != nil {
		t.Errorf("refused: %s %s", rej.Code, rej.Detail)
	}
	return p
}

func replaceOnce(s, old, new string) string { return strings.Replace(s, old, new, 1) }

func contains(s, part string) bool { return strings.Contains(s, part) }
