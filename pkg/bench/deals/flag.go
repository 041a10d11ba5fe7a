package deals

import (
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// MaxFlagText is the length of each text of a flag, in characters.
const MaxFlagText = 500

// FlagIn names a gap of the platform and the assumption taken.
type FlagIn struct {
	OfStep
	Blocked  string `json:"blocked,omitempty" doc:"What the platform does not let you do, at most 500 characters."`
	Assuming string `json:"assuming,omitempty" doc:"What you assume so that you can carry on, at most 500 characters."`
}

// Validate implements op.Validator.
func (in FlagIn) Validate() error {
	for _, f := range []struct{ name, value, why string }{
		{"blocked", in.Blocked, "Say what the platform does not let you do."},
		{"assuming", in.Assuming, "Say what you assume, so that you can carry on."}} {
		n := text.Len(text.Normalize(f.value))
		if n == 0 {
			return fault.New(fault.Invalid, f.name+" is required", f.why).At(f.name)
		}
		if n > MaxFlagText {
			return fault.New(fault.Invalid, f.name+" must be 500 characters or fewer", "Shorten it.").At(f.name)
		}
		if err := screen(f.name, "flags", f.value); err != nil {
			return err
		}
	}
	return nil
}

// FlagOut answers a flag: carry on.
type FlagOut struct {
	DealID   string `json:"deal_id"`
	StepID   string `json:"step_id"`
	Number   int    `json:"step_number"`
	State    string `json:"state"`
	Blocked  string `json:"blocked"`
	Assuming string `json:"assuming"`
	CarryOn  bool   `json:"carry_on"`
}

// Flag records a gap of the platform (bench.md 11): an audit row and a line of the thread,
// never a ledger event, and no effect on anything else.
var Flag = op.Declare(op.Meta{
	ID: "bench.step.flag", Method: "POST", Path: "/api/bench/deals/{deal_id}/steps/{step_id}/flag", Tool: "flag_step",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Name a gap of the platform and carry on.",
	Faults: []string{"blocked is required", "assuming is required", "blocked must be 500 characters or fewer",
		"assuming must be 500 characters or fewer", "flags must not contain secrets", "link_not_allowed", "deal is not active"},
	Contract: "bench.md 11",
}, flag)

func flag(c *op.Call, in FlagIn) (FlagOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return FlagOut{}, err
	}
	s, err := stepOf(d, in.StepID, false)
	if err != nil {
		return FlagOut{}, err
	}
	if err := d.Flag(c.Now, s); err != nil {
		return FlagOut{}, err
	}
	out := FlagOut{d.ID, s.ID, s.Number, s.State, text.Normalize(in.Blocked), text.Normalize(in.Assuming), true}
	data := map[string]any{"blocked": out.Blocked, "assuming": out.Assuming, "deal_id": d.ID, "step_id": s.ID, "step_number": s.Number, "step_state": s.State}
	if err := record.Audit(c, c.Caller.Key(), string(path.FlagFiled), s.ID, nil, data); err != nil {
		return FlagOut{}, err
	}
	putMessage(c, d, s, Message{ID: c.NewID(), Who: path.WhoPlatform, At: c.Now,
		Body: "The agent names a gap: " + out.Blocked + " It carries on, assuming: " + out.Assuming})
	return out, Commit(c, d, map[record.Word]map[string]any{path.FlagFiled: {"blocked": out.Blocked, "assuming": out.Assuming, "step_state": s.State}})
}
