package agent

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxTurns bounds one stretch of work: the agent looks at its worklist so often at most.
const maxTurns = 40

// maxChain bounds how far the agent follows next calls before it looks again.
const maxChain = 12

// Work does what the agent owes, then bids on what it can, until there is nothing to do or
// somebody else has to move first.
func (a *Agent) Work() error {
	refused := map[string]bool{}
	for range maxTurns {
		list, err := a.use(a.begin, object{})
		if err != nil {
			return err
		}
		call, about := owed(list)
		if call == "" {
			call, about = offered(list), list
		}
		if call == "" || refused[call] {
			return nil
		}
		if refused[call], err = a.follow(call, about); err != nil {
			return err
		}
	}
	return fmt.Errorf("still not idle after %d looks", maxTurns)
}

// owed is the call of the first thing owed, and what is said about it.
func owed(list object) (string, object) {
	for _, v := range list {
		items, _ := v.([]any)
		for _, i := range items {
			if item, _ := i.(object); item != nil {
				if call, _ := item["call"].(string); call != "" {
					return call, item
				}
			}
		}
	}
	return "", nil
}

// offered is the call that shows what is on offer, when anything is.
func offered(list object) string {
	for _, v := range list {
		if block, _ := v.(object); block != nil {
			call, _ := block["call"].(string)
			if n, _ := block["count"].(float64); n > 0 && call != "" {
				return call
			}
		}
	}
	return ""
}

// follow makes a call and the calls that answers name next, until one leads back to the
// worklist or to nothing. A refusal is followed by the call that repairs it; refused tells
// whether there was one.
func (a *Agent) follow(call string, about object) (refused bool, err error) {
	for range maxChain {
		answer, err := a.make(call, about)
		if err != nil {
			return refused, err
		}
		next, _ := answer["next_call"].(string)
		if answer["ok"] == false {
			refused = true
			if next, _ = answer["fix"].(string); next == "" {
				return refused, fmt.Errorf("%s was refused and no call repairs it: %v", call, answer)
			}
		}
		next = fill(next, answer, a.seen)
		if next == "" || a.leadsBack(next) {
			return refused, nil
		}
		call, about = next, answer
	}
	return refused, nil
}

func (a *Agent) leadsBack(call string) bool {
	found, _ := a.serves(call)
	return slices.ContainsFunc(found, func(t tool) bool { return t.Name == a.begin })
}

// blank is a place for a value in a call.
var blank = regexp.MustCompile(`\{(\w+)\}`)

// fill puts values into a call: of the answer it came in, else of any before.
func fill(call string, answer, seen object) string {
	return blank.ReplaceAllStringFunc(call, func(m string) string {
		name := strings.Trim(m, "{}")
		if v := first(answer, name); v != nil {
			return fmt.Sprint(v)
		}
		return fmt.Sprint(seen[name])
	})
}

// first finds the first value of a name in an answer.
func first(v any, name string) any {
	switch v := v.(type) {
	case object:
		if e, ok := v[name]; ok && e != nil {
			return e
		}
		for _, e := range v {
			if f := first(e, name); f != nil {
				return f
			}
		}
	case []any:
		for _, e := range v {
			if f := first(e, name); f != nil {
				return f
			}
		}
	}
	return nil
}

// serves finds the tools that stand for a REST call, and the values in its path.
func (a *Agent) serves(call string) (found []tool, values object) {
	for _, t := range a.tools {
		for _, pattern := range t.Meta.Rest {
			if vs, ok := match(pattern, call); ok {
				found, values = append(found, t), vs
			}
		}
	}
	return found, values
}

// beside is the tool the agent would rather use than the one a call names, when it differs in
// the last word alone and takes the same values.
func (a *Agent) beside(call string) (found []tool) {
	for _, t := range a.tools {
		for _, pattern := range t.Meta.Rest {
			_, ok := match(path.Dir(pattern), path.Dir(call))
			if ok && a.Rather != "" && strings.HasPrefix(t.Description, a.Rather) {
				found = append(found, t)
			}
		}
	}
	return found
}

func match(pattern, call string) (object, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(call, "/")
	if len(want) != len(have) {
		return nil, false
	}
	values := object{}
	for i, w := range want {
		if m := blank.FindStringSubmatch(w); m != nil {
			values[m[1]] = have[i]
		} else if w != have[i] {
			return nil, false
		}
	}
	return values, true
}

// make makes a call with the tool that stands for it; of several, with the first that is
// not refused.
func (a *Agent) make(call string, about object) (answer object, err error) {
	found, values := a.serves(call)
	if len(found) == 0 {
		return nil, fmt.Errorf("no tool stands for %s", call)
	}
	found = append(a.beside(call), found...)
	a.learn(about)
	for _, t := range found {
		g := generator{agent: a, root: t.InputSchema}
		args, _ := g.object(t.InputSchema, maps.Clone(values)).(object)
		if answer, err = a.use(t.Name, args); err != nil || answer["ok"] != false {
			return answer, err
		}
	}
	return answer, nil
}

// use calls a tool.
func (a *Agent) use(name string, args object) (object, error) {
	result, err := a.ask("tools/call", object{"name": name, "arguments": args})
	if err != nil {
		return nil, err
	}
	answer, _ := result["structuredContent"].(object)
	status := at(result, "_meta")["http_status"]
	a.Answers = append(a.Answers, fmt.Sprint(name, " ", status))
	a.learn(answer)
	return answer, nil
}

// elsewhere finds the tool that returns a schema in full.
var elsewhere = regexp.MustCompile(`(\w+) returns (its schema|the schema)`)

// fetched is the schema of an argument whose description says which tool returns it.
func (a *Agent) fetched(name, description string) (schema, root object) {
	m := elsewhere.FindStringSubmatch(description)
	if m == nil {
		return nil, nil
	}
	root, known := a.schemas[m[1]]
	if !known {
		answer, err := a.use(m[1], object{})
		if err != nil {
			return nil, nil
		}
		root, a.schemas[m[1]] = answer, answer
	}
	if part := at(root, "properties", name); part != nil {
		return part, root
	}
	return root, root
}
