package proposal

import (
	"github.com/google/jsonschema-go/jsonschema"

	"guildhall/pkg/text"
)

// provideShape refuses only a broken structure (REJ-13): no object, items that are no list, an entry that is no object. What
// is not text where text is expected is left out.
type provideShape struct{}

func (provideShape) check(v any) (any, *problem) {
	given, ok := v.(map[string]any)
	if !ok {
		return nil, wrong("must be an object, not %s", kindOf(v))
	}
	out := map[string]any{}
	keepTexts(out, given, "intro", "what", "why")
	if formats := formatTexts(given["accepted_formats"]); len(formats) > 0 {
		out["accepted_formats"] = formats
	}
	raw, has := given["items"]
	if !has {
		return out, nil
	}
	items, ok := raw.([]any)
	if !ok {
		return nil, wrong("must be a list, not %s", kindOf(raw)).in("items")
	}
	kept := make([]any, len(items))
	for i, item := range items {
		entry, ok := item.(map[string]any)
		if !ok {
			return nil, wrong("must be an object, not %s", kindOf(item)).at("item", i+1)
		}
		one := map[string]any{}
		keepTexts(one, entry, "label", "why")
		if required, _ := entry["required"].(bool); required {
			one["required"] = true
		}
		kept[i] = one
	}
	out["items"] = kept
	return out, nil
}

// keepTexts copies the named texts, without the control characters nothing here refuses.
func keepTexts(out, given map[string]any, names ...string) {
	for _, name := range names {
		if s, ok := given[name].(string); ok {
			if s = text.Printable(text.Normalize(s)); s != "" {
				out[name] = s
			}
		}
	}
}

// formatTexts reads accepted_formats as a list of texts or as one text.
func formatTexts(v any) []any {
	given, ok := v.([]any)
	if !ok {
		given = []any{v}
	}
	var out []any
	for _, f := range given {
		if s, ok := f.(string); ok {
			if s = text.Printable(text.Normalize(s)); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

func (provideShape) schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
		"items": {Type: "array", Items: &jsonschema.Schema{Type: "object"}},
	}}
}
