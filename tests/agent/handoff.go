package agent

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Reader is an agent at an endpoint of tools, with a plan in plain words and nothing else:
// which tool a step of the plan needs it finds in the tools' descriptions, what to send in
// their schemas, and what to send it with in the answers before.
type Reader struct{ *Agent }

// Reach reads the endpoint's list of tools. The token is kept by the program around it.
func Reach(base, door, token string, now func() time.Time) (*Reader, error) {
	a, err := New(base, nil, now)
	if err != nil {
		return nil, err
	}
	r := &Reader{a}
	r.door, r.token = base+door, token
	if _, err := r.ask("initialize", object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "reader", "version": "1"}}); err != nil {
		return nil, err
	}
	list, err := r.ask("tools/list", nil)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(list["tools"])
	if err == nil {
		err = json.Unmarshal(b, &r.tools)
	}
	return r, err
}

// Step takes a step of the plan: the tool whose description begins with these words, used
// in the way the wishes say.
func (r *Reader) Step(words string, wishes ...string) (object, error) {
	for _, t := range r.tools {
		if !strings.HasPrefix(t.Description, words) {
			continue
		}
		answer, err := r.use(t.Name, r.object(t.InputSchema, wishes))
		if err == nil && answer["error"] != nil {
			err = fmt.Errorf("%s %v: %v", t.Name, wishes, answer)
		}
		return answer, err
	}
	return nil, fmt.Errorf("no tool's description begins with %q", words)
}

// spoken is a name as a plan would say it.
func spoken(name any) string { return strings.ReplaceAll(fmt.Sprint(name), "_", " ") }

// object makes the members that are required or wished for. Of a choice of objects it takes
// the one that a wish names.
func (r *Reader) object(s object, wishes []string) object {
	props, required := at(s, "properties"), s["required"]
	if choices, _ := s["oneOf"].([]any); len(choices) > 0 {
		for _, c := range choices {
			branch, _ := c.(object)
			if slices.ContainsFunc(slices.Collect(maps.Values(at(branch, "properties"))), func(p any) bool { return slices.Contains(wishes, spoken(at(p)["const"])) }) {
				needed, _ := required.([]any)
				more, _ := branch["required"].([]any)
				props, required = merge(props, at(branch, "properties")), append(slices.Clone(needed), more...)
				break
			}
		}
	}
	needed, _ := required.([]any)
	out := object{}
	for name, p := range props {
		if slices.Contains(needed, any(name)) || slices.Contains(wishes, spoken(name)) {
			out[name] = r.value(name, at(p), wishes)
		}
	}
	return out
}

func (r *Reader) value(name string, s object, wishes []string) any {
	if c, ok := s["const"]; ok {
		return c
	}
	if list, _ := s["enum"].([]any); len(list) > 0 {
		for _, v := range list {
			if slices.Contains(wishes, spoken(v)) {
				return v
			}
		}
		return list[0]
	}
	words, _ := s["description"].(string)
	kind := s["type"]
	if list, ok := kind.([]any); ok && len(list) > 0 {
		kind = list[0]
	}
	switch kind {
	case "object":
		return r.object(s, wishes)
	case "array":
		return []any{}
	case "boolean":
		return true
	}
	if v, ok := r.says(words); ok {
		return v
	}
	if v := r.remembered(name); v != nil && !strings.Contains(words, "<") { // a form with blanks is filled in anew
		return v
	}
	if kind == "integer" {
		return s["minimum"]
	}
	return r.text(words)
}

// remembered is what an answer named so, or nearly so.
func (r *Reader) remembered(name string) any {
	if v, ok := r.seen[name]; ok {
		return v
	}
	near := ""
	for _, have := range slices.Sorted(maps.Keys(r.seen)) {
		if strings.HasSuffix(have, "_"+name) {
			return r.seen[have]
		}
		if strings.HasSuffix(name, "_"+have) && len(have) > len(near) {
			near = have
		}
	}
	if v, ok := r.seen[near]; ok {
		return v
	}
	return r.part(name)
}

// text writes what the words about a field ask for.
func (r *Reader) text(words string) string {
	if form, _, ok := strings.Cut(words, ". "); ok && strings.Contains(form, "<") {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return strings.NewReplacer("<unix seconds>", fmt.Sprint(r.now().Unix()),
			"<UUIDv4>", fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])).Replace(form)
	}
	if strings.Contains(words, "YYYY-MM-DDTHH:mm:ss.sssZ") {
		return r.now().UTC().Add(24 * time.Hour).Format("2006-01-02T15:04:05.000Z")
	}
	return "As agreed."
}
