package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// tool is one MCP tool: one operation, or several of which an argument selects one.
type tool struct {
	name     string
	selector string // the argument that selects, "" for a tool of one operation
	cases    []*choice
}

// choice is an operation behind a tool with what its declaration says about arguments.
type choice struct {
	op      *op.Operation
	value   string   // of the selecting argument
	pattern []string // the parts of value when it holds {names}
	params  map[string]op.Param
	// ownKey: the operation has an idempotency_key among its own body fields.
	ownKey bool
	body   bool // takes a JSON body
	also   *op.AlsoTool
}

// keyArgument carries the Idempotency-Key, which REST sends as a header.
const keyArgument = "idempotency_key"

// tools groups operations into tools, in the door's order. It panics on declarations that
// cannot be served, so that a mistake shows at start and in every test.
func tools(d *op.Door, ops []*op.Operation) []*tool {
	var all []*tool
	for _, o := range ops {
		if o.Tool == "" {
			continue
		}
		i := slices.IndexFunc(all, func(t *tool) bool { return t.name == o.Tool })
		if i < 0 {
			i = len(all)
			all = append(all, &tool{name: o.Tool})
		}
		all[i].add(o, nil)
		for _, a := range o.Also {
			all = append(all, &tool{name: a.Tool})
			all[len(all)-1].add(o, &a)
		}
	}
	rank := func(t *tool) int {
		if i := slices.Index(d.Order, t.name); i >= 0 {
			return i
		}
		return len(d.Order)
	}
	slices.SortStableFunc(all, func(a, b *tool) int { return rank(a) - rank(b) })
	return all
}

// add enters an operation into a tool; also is set for a further tool of the operation.
func (t *tool) add(o *op.Operation, also *op.AlsoTool) {
	selector, value, _ := strings.Cut(o.ToolCase, "=")
	if len(t.cases) > 0 && (selector == "" || t.selector != selector) {
		panic(fmt.Sprintf("mcp: %s shares the tool %s without naming a value of %q that selects it", o.ID, o.Tool, t.selector))
	}
	t.selector = selector
	c := &choice{op: o, value: value, params: map[string]op.Param{}, body: o.Body() != nil, also: also}
	if strings.Contains(value, "{") {
		c.pattern = strings.Split(value, "/")
	}
	for _, p := range o.Params() {
		if p.From == "path" || p.From == "query" {
			c.params[p.Name] = p
		}
	}
	if c.body && o.ToolArg == "" {
		_, c.ownKey = bodyProperties(o)[keyArgument]
	}
	t.cases = append(t.cases, c)
}

// takes tells whether a body field is an argument of the tool.
func (c *choice) takes(field string) bool {
	if c.also == nil {
		return c.op.ToolArgs == nil || slices.Contains(c.op.ToolArgs, field)
	}
	return slices.Contains(c.also.Args, field)
}

// bodyProperties are the top-level fields of an operation's JSON body, by name, as JSON
// Schema; of a schema that is a choice of objects, those of all of them.
func bodyProperties(o *op.Operation) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	b, err := json.Marshal(o.Body())
	if err != nil {
		return all
	}
	var s struct {
		Properties map[string]json.RawMessage
		OneOf      []struct{ Properties map[string]json.RawMessage }
	}
	if json.Unmarshal(b, &s) == nil {
		for _, branch := range s.OneOf {
			for n, p := range branch.Properties {
				all[n] = p
			}
		}
		for n, p := range s.Properties {
			all[n] = p
		}
	}
	return all
}

// choose finds the operation that the arguments select, and the path values that the
// selecting argument holds. The argument is taken out. Nil when nothing is selected.
func (t *tool) choose(args map[string]json.RawMessage) (*choice, map[string]string) {
	if t.selector == "" {
		return t.cases[0], nil
	}
	raw, sent := args[t.selector]
	delete(args, t.selector)
	value, ok := scalar(raw)
	if !sent || !ok {
		return nil, nil
	}
	for _, c := range t.cases {
		if c.pattern == nil && c.value == value {
			return c, nil
		}
	}
	parts := strings.Split(value, "/")
	for _, c := range t.cases {
		if names, fits := match(c.pattern, parts); fits {
			return c, names
		}
	}
	return nil, nil
}

// match compares a value's parts with a pattern's and returns what its {names} stand for.
func match(pattern, parts []string) (map[string]string, bool) {
	if len(pattern) == 0 || len(pattern) != len(parts) {
		return nil, false
	}
	names := map[string]string{}
	for i, p := range pattern {
		name, is := strings.CutPrefix(p, "{")
		switch {
		case is && legal(parts[i]) && !strings.ContainsAny(parts[i], "?%#"):
			names[strings.TrimSuffix(name, "}")] = parts[i]
		case p != parts[i]:
			return nil, false
		}
	}
	return names, true
}

// unselected is the refusal of arguments that select none of a tool's operations.
func (t *tool) unselected() error {
	for _, c := range t.cases {
		if f := c.op.ToolElse; f != nil {
			return f
		}
	}
	var values []string
	for _, c := range t.cases {
		values = append(values, c.value)
	}
	return t.cases[0].op.Word(&op.Problem{Field: t.selector, Keyword: "enum", Limit: values, Name: t.selector})
}

// scalar is a JSON string, number or boolean as text; ok is false for anything else.
func scalar(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return "", false
	}
	if raw[0] != '"' {
		return string(raw), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// waiter is the type of inputs that may be held.
var waiter = reflect.TypeFor[op.Waiter]()

// holds tells whether an operation may hold its caller.
func holds(o *op.Operation) bool { return o.In.Implements(waiter) }

// faults at the door, worded as the REST edge words them.
var errQuery = fault.New(fault.BadRequest, "invalid_query", "The query string is not well formed.")
