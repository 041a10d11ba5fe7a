package proposal

import "github.com/google/jsonschema-go/jsonschema"

func when(key string, value string, then *jsonschema.Schema) *jsonschema.Schema {
	var v any = value
	return &jsonschema.Schema{
		If:   &jsonschema.Schema{Required: []string{key}, Properties: map[string]*jsonschema.Schema{key: {Const: &v}}},
		Then: then,
	}
}

var stepList = list{noun: "step", min: EasySteps, max: MaxSteps, of: object{fields: nil}}

func (slotShape) schema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{phrase{min: 1, max: MaxOptionLabel}.schema(), slotObject.schema()}}
}
