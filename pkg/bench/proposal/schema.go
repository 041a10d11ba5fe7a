package proposal

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaName is the file name the schema is served under.
const SchemaName = "agent-proposal.schema.json"

// Schema is the served JSON Schema (2020-12) of a bid, printed from the tables the validator walks. It carries what a schema
// can: forms, lengths, counts, enumerations, what an ask requires. Sums, a target's own limits and the text screens are the
// door's alone. The bytes are the same on every call.
func Schema() []byte { return served() }

var served = sync.OnceValue(func() []byte {
	raw, err := json.MarshalIndent(document(), "", "  ")
	if err != nil {
		panic("proposal: schema: " + err.Error())
	}
	return append(raw, '\n')
})

func document() *jsonschema.Schema {
	out := object{fields: topFields}.schema()
	out.Schema = "https://json-schema.org/draft/2020-12/schema"
	out.Title = "Sealed bid"
	out.Description = "What an agent files on a target. Texts are trimmed and composed (NFC) before their characters are counted. " +
		"Unknown keys are ignored and not stored, except inside har_blocks[].config, where they are kept. Amounts are whole US cents. " +
		"The line items and finish_line_cents add up to total_ask_cents, and so do the three parts of allocation."
	out.Extra = map[string]any{"x-contract-version": ContractVersion}
	out.Defs = map[string]*jsonschema.Schema{
		"step": stepShape{}.print(), "block": blockShape{object{fields: blockFields}}.print(), "option": namedOption.shape.schema(),
		"form_field": namedFormField.shape.schema(), "link": namedLink.shape.schema(), "document": namedDocument.shape.schema(),
		"choose": chooseShape.schema(), "grant_request": grantShape.schema(), "connector": connectorPrint(),
	}
	return out
}

// props is a schema that speaks of some properties only.
func props(p map[string]*jsonschema.Schema, required ...string) *jsonschema.Schema {
	return &jsonschema.Schema{Properties: p, Required: required}
}

// when applies a schema to objects whose key holds exactly this value.
func when(key, value string, then *jsonschema.Schema) *jsonschema.Schema {
	return whenIn(key, []string{value}, then, nil)
}

// whenIn applies then to objects whose key holds one of the values, and otherwise to all others.
func whenIn(key string, values []string, then, otherwise *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{
		If:   props(map[string]*jsonschema.Schema{key: {Enum: anys(values)}}, key),
		Then: then, Else: otherwise,
	}
}

// forbidden matches nothing: a key that must be absent.
func forbidden() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func filled() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: `\S`} }

// stepShape is the schema of a step. The stages check it; the whole is never checked at once.
type stepShape struct{}

func (stepShape) check(any) (any, *problem) {
	return nil, wrong("is checked stage by stage").coded(RejSchema)
}

func (stepShape) schema() *jsonschema.Schema { return stepShape{}.print() }

// print writes the fields every step has, then what each ask adds: its payload, and a block that carries it.
func (stepShape) print() *jsonschema.Schema {
	common := slices.DeleteFunc(slices.Clone(stepFields), func(f field) bool { return f.ask != "" })
	out := object{fields: common}.schema()
	for _, ask := range asks {
		then := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{}}
		for _, f := range stepFields {
			if f.ask != ask {
				continue
			}
			then.Properties[f.name] = f.shape.schema()
			then.Properties[f.name].Description = f.doc
			if f.must {
				then.Required = append(then.Required, f.name)
			}
		}
		if ask == Approve {
			out.AllOf = append(out.AllOf, whenIn("ask", []string{ask}, whenIn("actor", []string{Agent}, &jsonschema.Schema{}, carries(ask)), nil))
			continue
		}
		then.AllOf = []*jsonschema.Schema{carries(ask)}
		out.AllOf = append(out.AllOf, when("ask", ask, then))
	}
	free := float64(FreePersonMinutes)
	out.AllOf = append(out.AllOf, &jsonschema.Schema{
		If:   props(map[string]*jsonschema.Schema{"person_minutes": {Type: "integer", ExclusiveMinimum: &free}}, "person_minutes"),
		Then: props(map[string]*jsonschema.Schema{"minor_detail": filled()}, "minor_detail"),
	})
	return out
}

// carries asks for at least one block whose format fits the ask.
func carries(ask string) *jsonschema.Schema {
	var fit []string
	for _, f := range formats {
		if MatchesAsk(f.slug, ask) {
			fit = append(fit, f.slug)
		}
	}
	one := 1
	return props(map[string]*jsonschema.Schema{"har_blocks": {Type: "array", MinItems: &one,
		Contains: props(map[string]*jsonschema.Schema{"format": {Enum: anys(fit)}}, "format")}}, "har_blocks")
}

func (s blockShape) schema() *jsonschema.Schema { return s.print() }

// print writes the fields every block has, then the config of each format that reads one.
func (s blockShape) print() *jsonschema.Schema {
	out := s.object.schema()
	for _, f := range formats {
		if len(f.config) == 0 {
			continue
		}
		config := object{fields: f.config}.schema()
		then := props(map[string]*jsonschema.Schema{"config": config})
		if least := leastOptions(f.slug); least > 0 {
			config.Properties["options"].MinItems = &least
			config.Required, then.Required = []string{"options"}, []string{"config"}
		}
		out.AllOf = append(out.AllOf, when("format", f.slug, then))
	}
	noDocument := props(map[string]*jsonschema.Schema{"config": props(map[string]*jsonschema.Schema{"document": forbidden()})})
	out.AllOf = append(out.AllOf, whenIn("format", []string{ReviewApprove, Agreement}, &jsonschema.Schema{}, noDocument))
	return out
}

// formFieldSchema asks for enough options where an input offers some.
func formFieldSchema(out *jsonschema.Schema) {
	for _, kind := range [...]string{fieldSelect, fieldRadio, fieldCheckbox} {
		least := leastOptions(kind)
		out.AllOf = append(out.AllOf, when("type", kind, props(map[string]*jsonschema.Schema{"options": {Type: "array", MinItems: &least}}, "options")))
	}
}

// grantMore adds the fields other stages judge and what a connected kind needs.
func grantMore(out *jsonschema.Schema) {
	more := grantSchema.schema()
	for _, name := range more.PropertyOrder {
		out.Properties[name] = more.Properties[name]
	}
	out.Properties["connector"] = &jsonschema.Schema{Description: "Required for a connected kind, and only there."}
	connected := slices.DeleteFunc(slices.Clone(grantKinds), func(k string) bool { return !Connected(k) })
	out.AllOf = append(out.AllOf, whenIn("kind", connected, props(map[string]*jsonschema.Schema{
		"until":     {Enum: anys([]string{UntilTargetEnd})},
		"exposure":  {Enum: anys([]string{ExposureConnected})},
		"connector": {Ref: "#/$defs/connector"},
	}, "exposure", "connector"), props(map[string]*jsonschema.Schema{"connector": forbidden()})))
	for _, p := range Connectors() {
		named := props(map[string]*jsonschema.Schema{"connector": props(map[string]*jsonschema.Schema{"provider": {Enum: anys([]string{p.Provider})}}, "provider")}, "connector")
		out.AllOf = append(out.AllOf, &jsonschema.Schema{If: named, Then: props(map[string]*jsonschema.Schema{"kind": {Enum: anys([]string{p.Kind})}})})
	}
}

// connectorPrint writes a connector with the names of the catalog.
func connectorPrint() *jsonschema.Schema {
	out := connectorShape.schema()
	var names []string
	for _, p := range Connectors() {
		names = append(names, p.Provider)
		action, resource := &jsonschema.Schema{}, &jsonschema.Schema{Type: "string"}
		var actions []string
		for _, a := range p.Actions {
			if a.ActionPattern != "" {
				action.Pattern = a.ActionPattern
			} else {
				actions = append(actions, a.Action)
			}
		}
		if actions != nil {
			action.Enum = anys(actions)
		}
		for _, r := range p.Resources {
			resource.AnyOf = append(resource.AnyOf, &jsonschema.Schema{Pattern: r.Pattern})
		}
		out.AllOf = append(out.AllOf, when("provider", p.Provider, props(map[string]*jsonschema.Schema{
			"actions": {Type: "array", Items: action}, "resources": {Type: "array", Items: resource},
		})))
	}
	out.Properties["provider"].Enum = anys(names)
	return out
}
