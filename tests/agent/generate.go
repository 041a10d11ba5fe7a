package agent

import (
	"crypto/ed25519"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// generator makes values that fit a schema, from the table and what was seen.
type generator struct {
	agent *Agent
	root  object // where references point into
}

// named finds a name of an earlier answer at the beginning of a description.
var named = regexp.MustCompile(`^([a-z]+(?:_[a-z]+)+)\b`)

// says is what the table has for a description.
func (a *Agent) says(description string) (any, bool) {
	v, ok := a.table[description]
	if s, _ := v.(string); strings.HasPrefix(s, "$") {
		return a.compute(s), true
	}
	return v, ok
}

// known is a value that a description asks for.
func (g *generator) known(description string) (any, bool) {
	if v, ok := g.agent.says(description); ok {
		return v, true
	}
	if m := named.FindStringSubmatch(description); m != nil {
		v, ok := g.agent.seen[m[1]]
		return v, ok
	}
	return nil, elsewhere.MatchString(description)
}

// value makes a value for a schema; name is the member it is for.
func (g *generator) value(s object, name string) any {
	s = g.resolve(s)
	description, _ := s["description"].(string)
	if v, ok := g.known(description); ok && v != nil {
		return v
	}
	if full, root := g.agent.fetched(name, description); full != nil {
		return (&generator{g.agent, root}).value(full, name)
	}
	if v, ok := g.agent.seen[name].(string); ok && s["type"] == "string" {
		return v
	}
	if v, ok := s["const"]; ok {
		return v
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		if list, ok := s[choice].([]any); ok && len(list) > 0 {
			return g.value(list[0].(object), name)
		}
	}
	return g.byType(s)
}

func (g *generator) byType(s object) any {
	kind := s["type"]
	if list, ok := kind.([]any); ok && len(list) > 0 {
		kind = list[0]
	}
	switch kind {
	case "object":
		return g.object(s, object{})
	case "array":
		return g.array(s)
	case "boolean":
		return true
	case "integer", "number":
		n, _ := s["minimum"].(float64)
		return n
	}
	return "As agreed."
}

// resolve follows a reference.
func (g *generator) resolve(s object) object {
	ref, ok := s["$ref"].(string)
	if !ok {
		return s
	}
	target := at(g.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	return merge(g.resolve(target), without(s, "$ref"))
}

func without(s object, name string) object {
	out := maps.Clone(s)
	delete(out, name)
	return out
}

// array makes as many entries as are needed; an entry that must be contained is the first.
func (g *generator) array(s object) any {
	items, _ := s["items"].(object)
	n, _ := s["minItems"].(float64)
	if d, _ := s["description"].(string); strings.HasPrefix(d, "Execution steps") {
		n = g.agent.steps()
	}
	out := []any{}
	if c, ok := s["contains"].(object); ok {
		out = append(out, g.value(merge(g.resolve(items), c), ""))
	}
	for float64(len(out)) < n {
		out = append(out, g.value(items, ""))
	}
	return out
}

// object makes the members that are required and those the table knows, and then what the
// conditions of the schema ask for besides.
func (g *generator) object(s, out object) any {
	s = g.resolve(s)
	props, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p, _ := props[name].(object)
		if _, given := out[name]; given || p == nil {
			continue
		}
		description, _ := g.resolve(p)["description"].(string)
		if _, ok := g.known(description); ok || slices.Contains(required, any(name)) {
			out[name] = g.value(p, name)
		}
	}
	conditions, _ := s["allOf"].([]any)
	for _, c := range conditions {
		g.apply(c.(object), props, out)
	}
	return out
}

// apply adds what a condition that holds asks for.
func (g *generator) apply(c, props, out object) {
	if condition, ok := c["if"].(object); ok {
		branch := "else"
		if holds(condition, out) {
			branch = "then"
		}
		if then, ok := c[branch].(object); ok {
			g.apply(then, props, out)
		}
		return
	}
	more, _ := c["properties"].(object)
	required, _ := c["required"].([]any)
	for _, r := range required {
		name, _ := r.(string)
		base, _ := props[name].(object)
		extra, _ := more[name].(object)
		if _, given := out[name]; !given {
			out[name] = g.value(merge(without(g.resolve(base), "description"), extra), name)
		}
	}
	all, _ := c["allOf"].([]any)
	for _, e := range all {
		g.apply(e.(object), props, out)
	}
}

// holds tells whether a condition on members holds; other conditions do not.
func holds(condition, out object) bool {
	required, _ := condition["required"].([]any)
	for _, r := range required {
		if _, ok := out[r.(string)]; !ok {
			return false
		}
	}
	props, _ := condition["properties"].(object)
	for name, v := range props {
		p, _ := v.(object)
		if list, ok := p["enum"].([]any); ok && !slices.Contains(list, out[name]) {
			return false
		}
		if limit, ok := p["exclusiveMinimum"].(float64); ok {
			if n, _ := out[name].(float64); n <= limit {
				return false
			}
		}
	}
	return true
}

// merge lays one schema over another, members of members included.
func merge(a, b object) object {
	out := maps.Clone(a)
	if out == nil {
		out = object{}
	}
	for k, v := range b {
		x, isX := out[k].(object)
		y, isY := v.(object)
		if isX && isY {
			out[k] = merge(x, y)
		} else {
			out[k] = v
		}
	}
	return out
}

// compute makes the values that depend on what was read.
func (a *Agent) compute(what string) any {
	total, n := a.price(), a.steps()
	switch what {
	case "$public key":
		b := a.key.Public().(ed25519.PublicKey)
		return base64.StdEncoding.EncodeToString(b)
	case "$assertion":
		return a.assertion()
	case "$fresh":
		return a.fresh()
	case "$fresh name":
		return strings.ToLower(a.fresh())
	case "$price":
		return total
	case "$each":
		return float64(int(total / (n + 1)))
	case "$rest":
		return total - n*float64(int(total/(n+1)))
	case "$shares":
		return a.shares(total)
	case "$days":
		if d, ok := a.seen["timeline_days"].(float64); ok {
			return d
		}
		return 7.0
	case "$checkpoint":
		return a.checkpoint()
	}
	return nil
}

// price is half of what the person would pay at most, nothing where nothing is paid.
func (a *Agent) price() float64 {
	lane, _ := a.seen["lane"].(object)
	for _, v := range lane {
		if most, ok := v.(float64); ok && lane["kind"] == "paid" {
			return float64(int(most / 2))
		}
	}
	return 0
}

// steps is how many a plan has here: two where the odds are good, else three.
func (a *Agent) steps() float64 {
	if odds, ok := a.seen["frozen_probability"].(float64); ok && odds >= 0.5 {
		return 2
	}
	return 3
}

// shares divides a total over the names the schema lists: all of it is the agent's work.
func (a *Agent) shares(total float64) any {
	out := object{}
	for _, root := range a.schemas {
		props, _ := root["properties"].(object)
		for _, v := range props {
			p, _ := v.(object)
			if d, _ := p["description"].(string); a.table[d] == "$shares" {
				for i, name := range slices.Sorted(maps.Keys(at(p, "properties"))) {
					out[name] = 0.0
					if i == 0 {
						out[name] = total
					}
				}
			}
		}
	}
	return out
}

// checkpoint is the one after the progress of the step in hand.
func (a *Agent) checkpoint() any {
	list, _ := a.seen["checkpoints"].([]any)
	step, _ := a.seen["current_step"].(object)
	have := 0.0
	for name, v := range step {
		if n, ok := v.(float64); ok && strings.HasSuffix(name, "percent") {
			have = n
		}
	}
	for _, c := range list {
		if n, _ := c.(float64); n > have {
			return n
		}
	}
	return have
}
