package mcp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"guildhall/pkg/op"
)

// maxText bounds a tool's description, in characters.
const maxText = 299

// schema is a JSON Schema under construction.
type schema = map[string]any

// describe makes a tool's entry in the list: everything from the declarations, nothing that
// a stranger wrote.
func (h *handler) describe(t *tool) *sdk.Tool {
	var routes []string
	for _, c := range t.cases {
		if !c.op.ToolOnly {
			routes = append(routes, c.op.Method+" "+c.op.Path)
		}
	}
	meta := sdk.Meta{"rest": routes}
	if len(routes) == 0 {
		meta = nil
	}
	return &sdk.Tool{Name: t.name, Title: title(t.name), Description: t.description(), InputSchema: portable(h.input(t)), OutputSchema: portable(t.output()),
		Annotations: t.annotations(), Meta: meta}
}

// title is a tool's name for people.
func title(name string) string {
	s := strings.ReplaceAll(strings.TrimPrefix(name, "peerlookup_"), "_", " ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// description is the tool's text, else its operation's summary with as many sentences of its
// notes as fit, and the REST call it stands for: answers name next calls that way.
func (t *tool) description() string {
	if a := t.cases[0].also; a != nil {
		return a.Text
	}
	for _, c := range t.cases {
		if c.op.ToolText != "" {
			return c.op.ToolText
		}
	}
	o := t.cases[0].op
	text, twin := o.Summary, ""
	if !o.ToolOnly {
		twin = " REST: " + o.Method + " " + o.Path
	}
	room := maxText - len([]rune(twin))
	for s := range strings.SplitAfterSeq(o.Notes, ". ") {
		if s = strings.TrimSpace(s); s == "" || len([]rune(text))+1+len([]rune(s)) > room {
			break
		}
		text += " " + s
	}
	return text + twin
}

// annotations say what a client may assume before it calls.
func (t *tool) annotations() *sdk.ToolAnnotations {
	a, destructive, closed := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}, false, false
	for _, c := range t.cases {
		o := c.op
		a.ReadOnlyHint = a.ReadOnlyHint && (o.Reads() || o.ToolOnly && o.Idempotent == op.KeyIgnored) // a dry run writes nothing
		a.IdempotentHint = a.IdempotentHint && o.Idempotent != op.KeyOptional
		destructive = destructive || o.Destructive || o.Method == "PUT" || o.Method == "DELETE"
	}
	a.DestructiveHint, a.OpenWorldHint = &destructive, &closed
	return a
}

// input is the schema of a tool's arguments.
func (h *handler) input(t *tool) schema {
	var all []argument
	var defs schema
	for i, c := range t.cases {
		args := h.arguments(c)
		if t.selector != "" && c.op.ToolArg != "" {
			if defs == nil {
				defs = schema{}
			}
			defs[c.value] = c.op.Body()
		}
		all = union(all, args, i == 0)
	}
	props, required := schema{}, []string{}
	if t.selector != "" {
		props[t.selector] = t.selection()
		required = append(required, t.selector)
	}
	for _, a := range all {
		props[a.name] = a.schema
		if a.required {
			required = append(required, a.name)
		}
	}
	t.queries(props)
	s := schema{"type": "object", "properties": props, "additionalProperties": slices.ContainsFunc(t.cases, func(c *choice) bool { return c.open() })}
	if len(required) > 0 {
		s["required"] = required
	}
	if defs != nil {
		s["$defs"] = defs
	}
	if one := t.cases[0]; len(t.cases) == 1 {
		if branches := h.branches(one); branches != nil {
			s["oneOf"] = branches
		}
	}
	return s
}

// open tells whether arguments that are not named are ignored.
func (c *choice) open() bool { return c.op.LooseBody && c.op.ToolArg == "" }

// selection is the schema of the argument that selects a tool's operation.
func (t *tool) selection() schema {
	var values []any
	kind := "string"
	patterns := false
	for _, c := range t.cases {
		patterns = patterns || c.pattern != nil
		switch c.value {
		case "true", "false":
			kind = "boolean"
			values = append(values, c.value == "true")
		default:
			values = append(values, c.value)
		}
	}
	switch {
	case kind == "boolean":
		return schema{"type": kind}
	case patterns:
		var names []string
		for _, v := range values {
			names = append(names, v.(string))
		}
		return schema{"type": kind, "description": "One of: " + strings.Join(names, ", ") + "."}
	}
	return schema{"type": kind, "enum": values}
}

// argument is one argument of a tool.
type argument struct {
	name     string
	required bool
	schema   any
}

// union merges the arguments of another operation of a tool: required is what all require.
func union(all, more []argument, first bool) []argument {
	for i := range all {
		all[i].required = all[i].required && slices.ContainsFunc(more, func(a argument) bool { return a.name == all[i].name && a.required })
	}
	for _, a := range more {
		if !slices.ContainsFunc(all, func(b argument) bool { return a.name == b.name }) {
			a.required = a.required && first
			all = append(all, a)
		}
	}
	return all
}

// arguments lists what an operation takes, in the order of its declaration.
func (h *handler) arguments(c *choice) []argument {
	var all []argument
	for _, p := range c.op.Params() {
		if _, is := c.params[p.Name]; !is || p.From == "query" && c.op.ToolQuery != "" || slices.Contains(c.pattern, "{"+p.Name+"}") {
			continue
		}
		if p.Schema.Doc == "" && strings.HasSuffix(p.Name, "_id") {
			named := *p.Schema
			named.Doc = "Id of the " + strings.ReplaceAll(strings.TrimSuffix(p.Name, "_id"), "_", " ") + "."
			p.Schema = &named
		}
		var s any = p.Schema
		if p.Name == "wait" && holds(c.op) {
			s = schema{"type": "integer", "minimum": 0, "maximum": int(op.MaxWait.Seconds()), "description": p.Schema.Doc}
		}
		all = append(all, argument{p.Name, p.Required, s})
	}
	if q := c.op.ToolQuery; q != "" {
		all = append(all, argument{q, false, querySchema(c.op)})
	}
	switch {
	case c.op.ToolArg != "":
		all = append(all, argument{c.op.ToolArg, true, h.brief(c.op.ToolArg, c.op.Body(), c.pattern == nil && c.value != "")})
	case c.body:
		all = append(all, slices.DeleteFunc(h.fields(c.op), func(a argument) bool { return !c.takes(a.name) })...)
	}
	if !c.ownKey && c.op.Idempotent != op.KeyIgnored {
		all = append(all, argument{keyArgument, c.op.Idempotent == op.KeyRequired,
			schema{"type": "string", "minLength": 1, "maxLength": op.MaxKeyLen, "description": "Yours; the same when you repeat this call."}})
	}
	return all
}

// queries names in the object of query parameters, where several operations share it, the
// parameters of them all: a reader of the list sees nothing else of them.
func (t *tool) queries(props schema) {
	if len(t.cases) < 2 {
		return
	}
	for _, c := range t.cases {
		q, ok := props[c.op.ToolQuery].(schema)
		if !ok {
			continue
		}
		known, ok := q["properties"].(schema)
		if !ok {
			known = schema{}
			q["properties"] = known
		}
		for _, p := range c.op.Params() {
			if p.From != "query" {
				continue
			}
			s := schema{"type": "string"}
			if p.Schema.Doc != "" {
				s["description"] = p.Schema.Doc
			}
			if known[p.Name] == nil || s["description"] != nil {
				known[p.Name] = s
			}
		}
	}
}

// querySchema is the object of query parameters, all of them strings.
func querySchema(o *op.Operation) schema {
	return schema{"type": "object", "additionalProperties": schema{"type": "string"},
		"description": "Query parameters, all of them strings; what a path does not use has no effect."}
}

// fields are the members of a JSON body as arguments.
func (h *handler) fields(o *op.Operation) []argument {
	body := o.Body()
	var all []argument
	if body.Raw == nil {
		for _, p := range body.Properties {
			all = append(all, argument{p.Name, p.Required, h.brief(p.Name, p.Schema, false)})
		}
		return all
	}
	type branch struct {
		Required   []string
		Properties map[string]any
	}
	var given struct {
		Required []string
		OneOf    []branch
	}
	_ = json.Unmarshal(body.Raw, &given)
	objects := slices.DeleteFunc(given.OneOf, func(b branch) bool { return b.Properties == nil })
	if len(objects) == 1 {
		given.Required = append(given.Required, objects[0].Required...)
	}
	props := bodyProperties(o)
	names := make([]string, 0, len(props))
	for n := range props {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		all = append(all, argument{n, slices.Contains(given.Required, n), h.brief(n, &op.Schema{Raw: props[n]}, false)})
	}
	return all
}

// brief is an argument's schema, or, where that is too long for a list, its type and the
// call that returns it in full.
func (h *handler) brief(name string, s *op.Schema, byCase bool) any {
	where, long := h.door.Elsewhere[name]
	switch {
	case byCase:
		return schema{"type": "object", "description": "The fields of the selected call; $defs describes each by its name."}
	case !long:
		return s
	}
	kind := s.Type
	if kind == "" {
		kind = "object"
		if name == "steps" {
			kind = "array"
		}
	}
	return schema{"type": kind, "description": strings.TrimSpace(s.Doc + " " + where)}
}

// branches are the objects of a body that is a choice of objects, each with the arguments
// that stand beside the body.
func (h *handler) branches(c *choice) []any {
	body := c.op.Body()
	if body == nil || body.Raw == nil || c.op.ToolArg != "" {
		return nil
	}
	var given struct{ OneOf []schema }
	if json.Unmarshal(body.Raw, &given) != nil || slices.ContainsFunc(given.OneOf, func(b schema) bool { return b["properties"] == nil }) {
		return nil
	}
	beside := schema{}
	for _, a := range h.arguments(c) {
		if _, inBody := bodyProperties(c.op)[a.name]; !inBody {
			beside[a.name] = schema{}
		}
	}
	var out []any
	for _, b := range given.OneOf {
		if props, ok := b["properties"].(map[string]any); ok {
			for n, s := range beside {
				props[n] = s
			}
		}
		out = append(out, b)
	}
	return out
}

// output names the top-level fields of a tool's answers and their types.
func (t *tool) output() schema {
	props := schema{}
	for _, c := range t.cases {
		if c.op.Dialect().OK {
			props["ok"] = schema{"type": "boolean"}
		}
		if c.op.Out.Implements(rawer) {
			continue
		}
		for _, p := range op.SchemaOf(c.op.Out).Properties {
			s := schema{}
			if p.Schema.Type != "" && p.Schema.Raw == nil {
				s["type"] = p.Schema.Type
				if p.Schema.Nullable || p.Schema.Type == "array" || p.Schema.Map {
					s["type"] = []string{p.Schema.Type, "null"}
				}
			}
			if old, twice := props[p.Name]; twice && !reflect.DeepEqual(old, s) {
				s = schema{}
			}
			props[p.Name] = s
		}
	}
	return schema{"type": "object", "properties": props}
}

// rawer is the type of outputs that give their own document.
var rawer = reflect.TypeFor[op.Rawer]()

// portable spells a schema so that clients with a smaller dialect read it too: a type that
// may be null is a choice of two instead of a list of types.
func portable(s schema) any {
	b, err := json.Marshal(s)
	if err != nil {
		panic("mcp: " + err.Error()) // a declaration that cannot be written down
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		panic("mcp: " + err.Error())
	}
	return respell(v)
}

func respell(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = respell(v[i])
		}
	case schema:
		for k := range v {
			v[k] = respell(v[k])
		}
		return split(v)
	}
	return v
}

// split makes {"type": [T, "null"], …} a choice between T and null; the description stays
// outside.
func split(s schema) schema {
	types, ok := s["type"].([]any)
	if !ok || len(types) != 2 || types[1] != "null" {
		return s
	}
	s["type"] = types[0]
	if values, ok := s["enum"].([]any); ok {
		s["enum"] = slices.DeleteFunc(values, func(e any) bool { return e == nil })
	}
	out := schema{"anyOf": []any{s, schema{"type": "null"}}}
	if doc, ok := s["description"]; ok {
		out["description"] = doc
		delete(s, "description")
	}
	return out
}
