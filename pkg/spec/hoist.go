package spec

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"guildhall/pkg/op"
)

// hoist moves the $defs of a given schema into the document's components, where its
// references can find them.
func (b *builder) hoist(o *op.Operation, raw []byte) (any, error) {
	var schema object
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	defs, _ := schema["$defs"].(object)
	for _, k := range []string{"$defs", "$schema", "$id"} {
		delete(schema, k)
	}
	name := func(def string) string { return o.Context() + "." + def }
	for def, s := range defs {
		if old, taken := b.schemas[name(def)]; taken && fmt.Sprint(old) != fmt.Sprint(relink(s, name)) {
			return nil, fmt.Errorf("two schemas are called %s", name(def))
		}
		b.schemas[name(def)] = relink(s, name)
	}
	return relink(schema, name), nil
}

var defRef = regexp.MustCompile(`^#/\$defs/(.+)$`)

// relink copies a given schema for the document: references into $defs become references
// into the components, and three forms that the document's linters do not take are written
// in another way: true and false as schemas, a choice of one, and a required member that
// is described elsewhere.
func relink(v any, name func(string) string) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			out[k] = relinkMember(k, e, name)
		}
		describeRequired(out)
		return single(out)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = relink(e, name)
		}
		return out
	}
	return v
}

func relinkMember(key string, v any, name func(string) string) any {
	switch v := v.(type) {
	case string:
		if m := defRef.FindStringSubmatch(v); key == "$ref" && m != nil {
			return "#/components/schemas/" + name(m[1])
		}
	case bool:
		if !slices.Contains([]string{"if", "then", "else", "not", "items"}, key) {
			return v
		}
		if v {
			return object{}
		}
		return object{"not": object{}}
	}
	return relink(v, name)
}

// describeRequired gives every required member a place among the properties.
func describeRequired(schema object) {
	required, _ := schema["required"].([]any)
	props, described := schema["properties"].(object)
	if !described {
		props = object{}
	}
	for _, r := range required {
		n, ok := r.(string)
		if _, there := props[n]; ok && !there {
			props[n] = object{}
		}
	}
	if len(props) > 0 {
		schema["properties"] = props
	}
}

// single puts the one schema of a choice of one in the place of the choice.
func single(schema object) object {
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := schema[k].([]any)
		if len(list) != 1 {
			continue
		}
		only, ok := list[0].(object)
		clash := !ok
		for m := range only {
			if _, there := schema[m]; there {
				clash = true
			}
		}
		if clash {
			continue
		}
		delete(schema, k)
		for m, v := range only {
			schema[m] = v
		}
	}
	return schema
}
