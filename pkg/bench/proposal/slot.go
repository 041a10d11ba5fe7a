package proposal

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Slot is one time the person can pick on a schedule block.
type Slot struct {
	ID    string `json:"id,omitempty"`
	Label string `json:"label"`
}

// UnmarshalJSON reads a slot written as an object or as its bare label.
func (s *Slot) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &s.Label)
	}
	type plain Slot
	return json.Unmarshal(b, (*plain)(s))
}

// slotShape is a text or {id?, label}.
type slotShape struct{}

var slotObject = object{open: true, fields: []field{
	{name: "label", shape: phrase{min: 1, max: MaxOptionLabel}, must: true},
	{name: "id", shape: phrase{min: 1, max: MaxOptionID}},
}}

func (slotShape) check(v any) (any, *problem) {
	if _, ok := v.(string); ok {
		return phrase{min: 1, max: MaxOptionLabel}.check(v)
	}
	return slotObject.check(v)
}

func (slotShape) schema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{phrase{min: 1, max: MaxOptionLabel}.schema(), slotObject.schema()}}
}
