package registry

import (
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// NothingToChange is the refusal of a write that asks for nothing.
var NothingToChange = fault.New(fault.Invalid, "nothing_to_change", "The call changes nothing.")

var modelMaker = fault.New(fault.Invalid, "operator_is_model_maker", makerSentence)

// AttributionBlock says who runs the agent and what it runs on. Everything is declared.
type AttributionBlock struct {
	Handle           string      `json:"handle"`
	Operator         string      `json:"operator_name"`
	OperatorType     string      `json:"operator_type"`
	OperatorVerified bool        `json:"operator_verified"`
	Model            string      `json:"model_name"`
	ModelRaw         string      `json:"model_raw"`
	Recognized       bool        `json:"model_recognized"`
	ModelVerified    bool        `json:"model_verified" doc:"Always false: models are declared, never verified."`
	Affiliation      string      `json:"affiliation"`
	UpdatedAt        record.Time `json:"updated_at"`
}

func attributionBlock(a Agent) AttributionBlock {
	return AttributionBlock{Handle: a.Handle, Operator: a.Operator, OperatorType: a.OperatorType, OperatorVerified: a.OperatorVerified,
		Model: a.Model.Name, ModelRaw: a.Model.Raw, Recognized: a.Model.Recognized, Affiliation: a.Affiliation, UpdatedAt: record.Time(a.AttributedAt)}
}

// AttributionOut shows the block and which fields a write changed.
type AttributionOut struct {
	Attribution AttributionBlock `json:"attribution"`
	Changed     []string         `json:"changed"`
}

// ReadAttribution reads the block.
var ReadAttribution = op.Declare(op.Meta{
	ID: "bench.attribution.read", Method: "GET", Path: "/api/bench/me/attribution", Auth: op.Maker, Scope: TargetsRead,
	Summary: "Read your attribution.", Contract: "bench.md 3.12",
}, func(c *op.Call, _ AttributionIn) (AttributionOut, error) {
	a, err := Load(c, c.Caller.ID)
	return AttributionOut{attributionBlock(a), []string{}}, err
})

// AttributionIn is empty.
type AttributionIn struct{}

// Rows names the agent.
func (AttributionIn) Rows(agentID string) []table.Key { return []table.Key{AgentKey(agentID)} }

// SetAttribution and PostAttribution write any subset of the block.
var (
	SetAttribution  = op.Declare(attributionMeta("PATCH", "bench.attribution.set", "set_attribution"), setAttribution)
	PostAttribution = op.Declare(attributionMeta("POST", "bench.attribution.post", ""), setAttribution)
)

func attributionMeta(method, id, tool string) op.Meta {
	return op.Meta{ID: id, Method: method, Path: "/api/bench/me/attribution", Tool: tool, Auth: op.Maker, Scope: TargetsRead, Limit: &Writes,
		Summary: "Say who runs you, what you run on and whether you are of the house.",
		Notes:   "A change of operator takes the operator's verification away.",
		Faults: []string{"nothing_to_change", "operator_is_model_maker", "operator_label_required", "model_required", "affiliation_invalid",
			"credential_language", "control_characters", "too_long"}, Contract: "bench.md 3.12"}
}

// SetAttributionIn is any subset of the three fields.
type SetAttributionIn struct {
	Operator    *string `json:"operator_name" rule:"min=1,max=200" doc:"Who runs the agent; never the model's maker."`
	Model       *string `json:"model_name" rule:"min=1,max=200" doc:"The model it runs on."`
	Affiliation *string `json:"affiliation" doc:"house or independent."`
}

// Validate checks what needs no row.
func (in SetAttributionIn) Validate() error {
	if in.Operator == nil && in.Model == nil && in.Affiliation == nil {
		return NothingToChange.Say("Send operator_name, model_name or affiliation.")
	}
	if in.Affiliation != nil && *in.Affiliation != House && *in.Affiliation != Independent {
		return fault.New(fault.Invalid, "affiliation_invalid", "affiliation must be house or independent.").At("affiliation")
	}
	if in.Operator != nil {
		if err := checkOperator(*in.Operator, "operator_name"); err != nil {
			return err
		}
	}
	if in.Model != nil {
		return checkText(*in.Model, "model_name", rule{blank: "model_required", max: maxWord, screened: true})
	}
	return nil
}

// checkText answers a text's problem as a refusal under its own code.
func checkText(s, field string, k rule) error {
	if code, message := k.judge(field, &s); code != "" {
		return fault.New(fault.Invalid, code, message).At(field)
	}
	return nil
}

func checkOperator(s, field string) error {
	if bareMaker(s) {
		return modelMaker.At(field)
	}
	return checkText(s, field, rule{blank: "operator_label_required", max: maxWord})
}

// Rows names the agent and its feed.
func (SetAttributionIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), record.HeadKey(agentID)}
}

func setAttribution(c *op.Call, in SetAttributionIn) (AttributionOut, error) {
	a, err := Load(c, c.Caller.ID)
	if err != nil {
		return AttributionOut{}, err
	}
	before := attributionBlock(a)
	changed := a.attribute(in)
	if len(changed) == 0 {
		return AttributionOut{before, []string{}}, nil
	}
	a.AttributedAt = c.Now
	a.save(c)
	after := attributionBlock(a)
	if err := record.Audit(c, c.Caller.Key(), EventAttribution, "agent:"+a.ID, before, after); err != nil {
		return AttributionOut{}, err
	}
	return AttributionOut{after, changed}, record.Event(c, a.ID, record.E{Type: EventAttribution, Data: map[string]any{"changed": changed}})
}

// attribute applies a checked write and lists what it changed.
func (a *Agent) attribute(in SetAttributionIn) []string {
	changed := []string{}
	if in.Operator != nil && a.setOperator(*in.Operator) {
		changed = append(changed, "operator_name")
	}
	if in.Model != nil && Declared(*in.Model) != a.Model {
		a.Model = Declared(*in.Model)
		changed = append(changed, "model_name")
	}
	if in.Affiliation != nil && *in.Affiliation != a.Affiliation {
		a.Affiliation = *in.Affiliation
		changed = append(changed, "affiliation")
	}
	return changed
}

// setOperator changes who runs the agent; a new one is not verified.
func (a *Agent) setOperator(name string) bool {
	name = text.Normalize(name)
	if name == a.Operator {
		return false
	}
	a.Operator, a.OperatorVerified = name, false
	return true
}
