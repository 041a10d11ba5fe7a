package proposal

import (
	"encoding/json"
	"fmt"
	"testing"
)

// faults are one fault for each stage and for each code inside it, in the order of bench contract 5.11. They touch different
// fields, so any two fit into one bid.
var faults = []struct {
	code  string
	edits []any
}{
	{"REJ-01", []any{"subsidy_declared", "gold"}},
	{"REJ-16", []any{"steps.2.declared_odds", 35}},
	{"REJ-12", []any{"steps.2.rounds", 9}},
	{"REJ-02", []any{"total_ask_cents", 45001}},
	{"REJ-05", []any{"allocation.ad_spend", 1}},
	{"REJ-03", []any{"timeline_days", 22}},
	{"REJ-04", []any{"steps.4.ask", "WAIT"}},
	{"REJ-22", []any{"steps.0.har_blocks", []any{}, "steps.0.choose", absent{}}},
	{"REJ-24", []any{"steps.1.har_blocks", []any{map[string]any{"id": "x", "title": "x", "format": "grant_access"}}}},
	{"REJ-26", []any{"steps.2.grant_request.until", "later"}},
	{"REJ-06", []any{"pitch_title", "Only $3 per month"}},
	{"REJ-07", []any{"pitch_body", "see www.example.com"}},
	{"REJ-08", []any{"steps.0.outcome_promise", "Send me your password."}},
	{"REJ-19", []any{"steps.3.outcome_promise", "I guarantee success."}},
	{"REJ-14", []any{"smart_goals", []any{}}},
	{"REJ-15", []any{"finalist_questions", []any{}}},
	{"REJ-21", []any{"operator_relationship_disclosure", nil, "pitch_title", chars(121)}},
}

func TestOfTwoFaultsTheEarlierStageAnswers(t *testing.T) {
	target := Target{LaneKind: LanePaid, CeilingCents: ptr(int64(45000)), TimelineDays: ptr(21)}
	for i, first := range faults {
		refused(t, body(t, "full.json", first.edits...), target, first.code, "")
		for _, second := range faults[i+1:] {
			t.Run(first.code+" before "+second.code, func(t *testing.T) {
				if first.edits[0] == "pitch_title" && second.code == "REJ-21" {
					return // one field cannot hold both
				}
				edits := append(append([]any{}, second.edits...), first.edits...)
				refused(t, body(t, "full.json", edits...), target, first.code, "")
			})
		}
	}
}

func TestWithinAStageStepsGoInOrderAndFieldsInTableOrder(t *testing.T) {
	for _, c := range []struct {
		code, words string
		edits       []any
	}{
		{"REJ-01", "model_declared", []any{"steps.0.title", "", "model_declared", ""}},
		{"REJ-01", "step 1: title", []any{"steps.0.title", "", "campaign", 1, "person_cost_estimate", 1}},
		{"REJ-01", "person_cost_estimate", []any{"campaign", 1, "person_cost_estimate", 1}},
		{"REJ-01", "step 1: line_item_amount", []any{"steps.0.line_item_amount", -1, "steps.1.title", ""}},
		{"REJ-01", "step 1: title", []any{"steps.0.line_item_amount", -1, "steps.0.title", ""}},
		{"REJ-22", "step 1, block 1: description", []any{"steps.0.har_blocks.0.description", chars(401), "steps.1.title", ""}},
		{"REJ-16", "step 1", []any{"steps.1.declared_odds", 2, "steps.0.declared_odds_reason", chars(301)}},
		{"REJ-16", "step 1: declared_odds must", []any{"steps.0.declared_odds", 0, "steps.0.declared_odds_reason", chars(301)}},
		{"REJ-12", "step 1: rounds", []any{"steps.0.rounds", 7, "steps.0.person_minutes", 40, "steps.0.minor_detail", ""}},
		{"REJ-13", "step 1", []any{"steps.0.ask", "PROVIDE", "steps.0.provide", 1, "steps.1.ask", "WAIT"}},
		{"REJ-25", "step 1", []any{"steps.0.har_blocks.0.config.options", options(1), "steps.1.har_blocks", []any{}}},
		{"REJ-08", "step 1: minor_detail", []any{"steps.0.minor_detail", "Send me your password.", "steps.0.outcome_promise", "It is $3 per month."}},
		{"REJ-06", "step 1: outcome_promise", []any{"steps.0.outcome_promise", "It is $3 per month. See www.example.com. Send me your password. I guarantee success."}},
		{"REJ-07", "step 1: outcome_promise", []any{"steps.0.outcome_promise", "See www.example.com. Send me your password. I guarantee success."}},
		{"REJ-08", "step 1: outcome_promise", []any{"steps.0.outcome_promise", "Send me your password. I guarantee success."}},
		{"REJ-07", "pitch_body", []any{"pitch_body", "www.example.com", "steps.0.title", "A monthly fee of $3"}},
		{"REJ-06", "step 1: title", []any{"person_cost_estimate.note", "www.example.com", "steps.0.title", "A monthly fee of $3"}},
	} {
		t.Run(c.code+" "+c.words, func(t *testing.T) { refused(t, body(t, "easy.json", c.edits...), easy(), c.code, c.words) })
	}
}

func TestADryRunSeesEverythingButThePitch(t *testing.T) {
	for _, f := range faults {
		_, rej := Validate(body(t, "full.json", f.edits...), Target{LaneKind: LanePaid, CeilingCents: ptr(int64(45000)), TimelineDays: ptr(21)}, DryRun)
		switch hidden := f.code == "REJ-14" || f.code == "REJ-15" || f.code == "REJ-21"; {
		case hidden && rej != nil:
			t.Errorf("dry run answers %s", rej.Code)
		case !hidden && (rej == nil || rej.Code != f.code):
			t.Errorf("dry run answers %v, not %s", rej, f.code)
		}
	}
	if fmt.Sprint(NotChecked()) != "[REJ-14 REJ-15 REJ-21]" {
		t.Error(NotChecked())
	}
}

func TestWhatTheContractForgives(t *testing.T) {
	for name, edits := range map[string][]any{
		"unknown keys":             {"agent_id", "me", "target_id", 4, "finish_line_odds", "1", "steps.0.colour", "see www.example.com", "allocation.gifts", -1, "campaign", map[string]any{"later_targets": []any{}, "x": 1}},
		"no disclosure":            {"operator_relationship_disclosure", absent{}},
		"no subsidy":               {"subsidy_declared", absent{}},
		"no estimate":              {"person_cost_estimate", absent{}},
		"no rounds":                {"steps.0.rounds", absent{}},
		"no block ask":             {"steps.0.har_blocks.0.ask", absent{}},
		"provide of no form":       {"steps.0.ask", "PROVIDE", "steps.0.provide", map[string]any{"intro": 4, "accepted_formats": 9, "items": []any{map[string]any{"label": 1}}}, "steps.0.har_blocks.0.format", "file_upload", "steps.0.har_blocks.0.config", absent{}},
		"payload of another ask":   {"steps.1.provide", 5, "steps.1.grant_request", "x", "steps.1.choose", "y"},
		"agent step without block": {"steps.1.actor", "agent", "steps.1.har_blocks", absent{}},
		"agent step, empty blocks": {"steps.1.actor", "agent", "steps.1.har_blocks", []any{}},
		"person step":              {"steps.1.actor", "person"},
		"integers with a point":    {"total_ask_cents", json.RawMessage("9000.0"), "timeline_days", json.RawMessage("7e0")},
		"a finish line of its own": {"finish_line", "Something else"},
		"config keys":              {"steps.1.har_blocks.0.config.theme", map[string]any{"a": []any{1, nil, true}}},
		"no finish money":          {"finish_line_cents", absent{}, "steps.0.line_item_amount", 5000},
	} {
		t.Run(name, func(t *testing.T) {
			p := accepted(t, body(t, "easy.json", edits...), easy())
			if p == nil {
				return
			}
			if p.SubsidyDeclared != NonePlanned || p.Steps[0].Rounds != 1 || p.Steps[0].HARBlocks[0].Ask != "choose" && p.Steps[0].Ask == Choose {
				t.Errorf("defaults: %+v", p)
			}
		})
	}
}

func TestOnlyDeclaredKeysAreStored(t *testing.T) {
	p := accepted(t, body(t, "easy.json", "secret_sauce", 1, "steps.0.colour", "red", "steps.0.har_blocks.0.size", 3, "steps.0.har_blocks.0.config.theme", map[string]any{"deep": "e\u0301 "}), easy())
	raw, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Sauce any `json:"secret_sauce"`
		Steps []struct {
			Colour any `json:"colour"`
			Blocks []struct {
				Size   any            `json:"size"`
				Config map[string]any `json:"config"`
			} `json:"har_blocks"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	if stored.Sauce != nil || stored.Steps[0].Colour != nil || stored.Steps[0].Blocks[0].Size != nil {
		t.Errorf("unknown keys stored: %s", raw)
	}
	if fmt.Sprint(stored.Steps[0].Blocks[0].Config["theme"]) != "map[deep:\u00e9]" {
		t.Errorf("config key lost: %s", raw)
	}
}

func TestAnActorNeverDodgesTheAsk(t *testing.T) {
	for ask, held := range map[string]bool{Approve: false, Choose: true, Provide: true, Grant: true} {
		if got := PersonHeld(Step{Ask: ask, Actor: Agent}); got != held {
			t.Errorf("%s by the agent: %v", ask, got)
		}
		if !PersonHeld(Step{Ask: ask}) || !PersonHeld(Step{Ask: ask, Actor: Person}) {
			t.Errorf("%s is not held by the person", ask)
		}
	}
	refused(t, body(t, "easy.json", "steps.0.actor", "agent", "steps.0.har_blocks", absent{}), easy(), "REJ-22", "step 1")
	refused(t, body(t, "easy.json", "steps.1.actor", "agent", "steps.1.har_blocks.0.description", chars(401)), easy(), "REJ-22", "step 2")
}

func TestThePersonsOwnFinishLineIsNotScreened(t *testing.T) {
	target := easy()
	target.FinishLine = " something else: my page example.com/shop shows a monthly fee of $9 "
	accepted(t, body(t, "easy.json", "finish_line", target.FinishLine), target)
	refused(t, body(t, "easy.json", "finish_line", target.FinishLine+"!"), target, "REJ-06", "finish_line")
	refused(t, body(t, "easy.json", "finish_line", "see example.com/shop"), target, "REJ-07", "finish_line")
}
