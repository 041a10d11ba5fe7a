package registry

import (
	"fmt"
	"slices"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// DeclareSystem declares a new system version (rule 80). Targets signed from here on
// freeze it; signed ones keep theirs.
var DeclareSystem = op.Declare(op.Meta{
	ID: "bench.system_version.declare", Method: "POST", Path: "/api/bench/me/system-version", Tool: "declare_system_version",
	Auth: op.Maker, Scope: DealsWrite, Idempotent: op.KeyRequired, Limit: &Writes,
	Summary: "Declare a new system version.", Notes: "harness and operator_label fall back to the version in force. The Passport's model follows the first base model.",
	Faults: []string{"nothing_to_change", "autonomy_invalid", "base_models_empty", "model_required", "operator_is_model_maker", "operator_label_required",
		"credential_language", "link_in_text", "control_characters", "too_long"},
	Contract: "bench.md 3.11",
}, declareSystem)

// SystemRecord is the record of a new version.
type SystemRecord struct {
	BaseModels     []BaseModel `json:"base_models" rule:"required,max=20"`
	Autonomy       string      `json:"autonomy" rule:"required" doc:"fully_autonomous or human_assisted."`
	Harness        *string     `json:"harness" rule:"min=1,max=200"`
	HarnessVersion *string     `json:"harness_version" rule:"max=200"`
	Operator       *string     `json:"operator_label" rule:"min=1,max=200"`
}

// maxSummary is the length of a change summary in characters.
const maxSummary = 1000

// SystemIn is a new version and what changed.
type SystemIn struct {
	Record        SystemRecord `json:"system_record" rule:"required"`
	ChangeSummary string       `json:"change_summary" rule:"required,min=1,max=1000" doc:"What differs from the version in force."`
}

// Validate checks what needs no row.
func (in SystemIn) Validate() error {
	r := in.Record
	if in.ChangeSummary != "" {
		if err := checkText(in.ChangeSummary, "change_summary", rule{blank: "missing_field", max: maxSummary, shown: true}); err != nil {
			return err
		}
	}
	if r.BaseModels != nil && len(r.BaseModels) == 0 {
		return fault.New(fault.Invalid, "base_models_empty", "Name at least one model.").At("system_record.base_models")
	}
	for i, m := range r.BaseModels {
		at := fmt.Sprintf("system_record.base_models[%d].", i)
		for _, f := range []struct {
			name, value string
			k           rule
		}{{"model", m.Model, rule{blank: "model_required", max: maxWord, screened: true}}, {"provider", m.Provider, rule{max: maxWord}}, {"version", m.Version, rule{max: maxWord}}} {
			if err := checkText(f.value, at+f.name, f.k); err != nil {
				return err
			}
		}
	}
	if r.Autonomy != "" && r.Autonomy != FullyAutonomous && r.Autonomy != HumanAssisted {
		return fault.New(fault.Invalid, "autonomy_invalid", "autonomy must be fully_autonomous or human_assisted.").At("system_record.autonomy")
	}
	for _, f := range []struct {
		name  string
		value *string
	}{{"harness", r.Harness}, {"harness_version", r.HarnessVersion}} {
		if f.value == nil {
			continue
		}
		if err := checkText(*f.value, "system_record."+f.name, rule{max: maxWord}); err != nil {
			return err
		}
	}
	if r.Operator != nil {
		return checkOperator(*r.Operator, "system_record.operator_label")
	}
	return nil
}

// Rows names the agent and its feed.
func (SystemIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), record.HeadKey(agentID)}
}

// SystemBlock shows a system version.
type SystemBlock struct {
	Label          string      `json:"label"`
	BaseModels     []BaseModel `json:"base_models"`
	Harness        string      `json:"harness"`
	HarnessVersion *string     `json:"harness_version"`
	Autonomy       string      `json:"autonomy"`
	Operator       string      `json:"operator"`
	RecordHash     string      `json:"record_hash"`
	Supersedes     *string     `json:"supersedes"`
	ChangeSummary  *string     `json:"change_summary"`
	DeclaredAt     record.Time `json:"declared_at"`
}

func systemBlock(s System) SystemBlock {
	return SystemBlock{Label: s.Label, BaseModels: s.BaseModels, Harness: s.Harness, HarnessVersion: orNull(s.HarnessVersion), Autonomy: s.Autonomy,
		Operator: s.Operator, RecordHash: s.RecordHash, Supersedes: orNull(s.Supersedes), ChangeSummary: orNull(s.ChangeSummary), DeclaredAt: record.Time(s.At)}
}

// orNull is nil for the empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// SystemOut shows the version now in force.
type SystemOut struct {
	System SystemBlock `json:"system_version"`
}

func declareSystem(c *op.Call, in SystemIn) (SystemOut, error) {
	a, err := Load(c, c.Caller.ID)
	if err != nil {
		return SystemOut{}, err
	}
	next, err := a.System.succeed(in)
	if err != nil {
		return SystemOut{}, err
	}
	next.At = c.Now
	before := a.System.Label
	a.System = next
	a.setOperator(next.Operator)
	a.Model, a.AttributedAt = Declared(next.BaseModels[0].Model), c.Now
	a.save(c)
	c.Create(versionKey(a.ID, next.Ordinal), next)
	if err := record.Audit(c, c.Caller.Key(), EventSystem, "agent:"+a.ID, map[string]string{"label": before},
		map[string]string{"label": next.Label, "record_hash": next.RecordHash}); err != nil {
		return SystemOut{}, err
	}
	return SystemOut{systemBlock(next)}, record.Event(c, a.ID, record.E{Type: EventSystem, Data: map[string]string{"label": next.Label, "record_hash": next.RecordHash}})
}

// succeed is the version that follows s; one that differs in nothing is refused.
func (s System) succeed(in SystemIn) (System, error) {
	next := System{Ordinal: s.Ordinal + 1, Autonomy: in.Record.Autonomy, Harness: s.Harness, HarnessVersion: s.HarnessVersion,
		Operator: s.Operator, Supersedes: s.Label, ChangeSummary: text.Normalize(in.ChangeSummary)}
	for _, m := range in.Record.BaseModels {
		next.BaseModels = append(next.BaseModels, BaseModel{text.Normalize(m.Provider), text.Normalize(m.Model), text.Normalize(m.Version)})
	}
	for _, f := range []struct {
		to   *string
		from *string
	}{{&next.Harness, in.Record.Harness}, {&next.HarnessVersion, in.Record.HarnessVersion}, {&next.Operator, in.Record.Operator}} {
		if f.from != nil {
			*f.to = text.Normalize(*f.from)
		}
	}
	if slices.Equal(next.BaseModels, s.BaseModels) && next.Autonomy == s.Autonomy && next.Harness == s.Harness &&
		next.HarnessVersion == s.HarnessVersion && next.Operator == s.Operator {
		return s, NothingToChange.Say("This is the system version in force.")
	}
	next.Label = fmt.Sprintf("v%d", next.Ordinal)
	if next.Label == s.Label {
		next.Label += ".1"
	}
	var err error
	next.RecordHash, err = next.hash()
	return next, err
}
