package proposal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestTextLimitsCountCharacters fills every limited text to its limit and one beyond, in two-byte letters, padded outside.
func TestTextLimitsCountCharacters(t *testing.T) {
	const one, two, grant = "steps.0.", "steps.1.", "steps.2.grant_request."
	doc := func(parts ...any) map[string]any { return map[string]any{"blocks": parts} }
	for _, c := range []struct {
		code, base, path string
		limit            int
		put              func(s string) any
	}{
		{"REJ-01", "easy.json", "model_declared", 200, nil},
		{"REJ-01", "easy.json", "finish_line", 500, nil},
		{"REJ-01", "easy.json", "operator_relationship_disclosure", 300, nil},
		{"REJ-21", "easy.json", "pitch_title", 120, nil},
		{"REJ-21", "easy.json", "pitch_body", 600, nil},
		{"REJ-14", "easy.json", "smart_goals.0", 300, nil},
		{"REJ-15", "easy.json", "finalist_questions.0.2", 300, nil},
		{"REJ-01", "easy.json", one + "title", 60, nil},
		{"REJ-01", "easy.json", one + "minor_detail", 140, nil},
		{"REJ-01", "easy.json", one + "outcome_promise", 1000, nil},
		{"REJ-16", "easy.json", one + "declared_odds_reason", 300, nil},
		{"REJ-01", "easy.json", one + "har_blocks.0.title", 120, nil},
		{"REJ-22", "easy.json", one + "har_blocks.0.description", 400, nil},
		{"REJ-01", "easy.json", one + "har_blocks.0.config.options.0.label", 200, nil},
		{"REJ-01", "easy.json", "person_cost_estimate.note", 300, nil},
		{"REJ-01", "full.json", "campaign.later_targets.0.goal", 200, nil},
		{"REJ-01", "full.json", "campaign.later_targets.0.band", 60, nil},
		{"REJ-01", "full.json", "campaign.later_targets.0.est_ask_range", 60, nil},
		{"REJ-01", "full.json", "campaign.later_targets.0.est_timeline", 60, nil},
		{"REJ-11", "full.json", grant + "what", 500, nil},
		{"REJ-01", "full.json", "steps.1.har_blocks.4.config.link.title", 80, nil},
		{"REJ-23", "easy.json", two + "har_blocks.0.config.document", 200, func(s string) any {
			d := doc(map[string]any{"type": "heading", "text": "x"})
			d["title"] = s
			return d
		}},
		{"REJ-23", "easy.json", two + "har_blocks.0.config.document", 1000, func(s string) any { return doc(map[string]any{"type": "heading", "text": s}) }},
		{"REJ-23", "easy.json", two + "har_blocks.0.config.document", 1000, func(s string) any { return doc(map[string]any{"type": "paragraph", "text": s}) }},
		{"REJ-23", "easy.json", two + "har_blocks.0.config.document", 200, func(s string) any { return doc(map[string]any{"type": "bullets", "items": []any{s}}) }},
		{"REJ-23", "easy.json", two + "har_blocks.0.config.document", 300, func(s string) any {
			return doc(map[string]any{"type": "image", "file_id": "a1b2c3d4-e5f6-4890-abcd-ef1234567890", "alt": s})
		}},
	} {
		t.Run(fmt.Sprintf("%s at %d", c.path, c.limit), func(t *testing.T) {
			value := func(s string) any {
				if c.put != nil {
					return c.put(s)
				}
				return s
			}
			target := open()
			if c.base == "easy.json" {
				target = easy()
			}
			accepted(t, body(t, c.base, c.path, value(" \n"+chars(c.limit)+"  ")), target)
			accepted(t, body(t, c.base, c.path, value(strings.Repeat("e\u0301", c.limit))), target)
			refused(t, body(t, c.base, c.path, value(chars(c.limit+1))), target, c.code, fmt.Sprintf("at most %d characters", c.limit))
		})
	}
}

func TestCountsHoldAtTheirLimits(t *testing.T) {
	const two = "steps.1.har_blocks.0.config.document.blocks"
	part := map[string]any{"type": "paragraph", "text": "x"}
	image := map[string]any{"type": "image", "file_id": "a1b2c3d4-e5f6-4890-abcd-ef1234567890", "alt": "y"}
	bullets := func(n int) []any { return []any{map[string]any{"type": "bullets", "items": repeated(n, "x")}} }
	for _, c := range []struct {
		code, path string
		last, over any
	}{
		{"REJ-23", two, repeated(40, part), repeated(41, part)},
		{"REJ-23", two, repeated(1, part), []any{}},
		{"REJ-23", two, repeated(6, image), repeated(7, image)},
		{"REJ-23", two, bullets(12), bullets(13)},
		{"REJ-23", two, bullets(1), bullets(0)},
		{"REJ-25", "steps.0.har_blocks.0.config.options", options(2), options(1)},
		{"REJ-01", "steps.0.har_blocks.0.config.options", options(9), options(10)},
		{"REJ-12", "steps.0.rounds", 2, 3},
		{"REJ-12", "steps.0.rounds", 1, 0},
		{"REJ-12", "steps.1.person_minutes", 30, 31},
		{"REJ-01", "timeline_days", 1, 0},
		{"REJ-03", "timeline_days", 7, 8},
		{"REJ-01", "steps.0.agent_court_estimate", 0, -1e-9},
		{"REJ-01", "steps.0.person_minutes", 0, -1},
		{"REJ-01", "campaign", map[string]any{"later_targets": repeated(3, map[string]any{"goal": "g", "band": "b", "est_ask_range": "e", "est_timeline": "t"})}, map[string]any{"later_targets": repeated(4, map[string]any{"goal": "g", "band": "b", "est_ask_range": "e", "est_timeline": "t"})}},
	} {
		accepted(t, body(t, "easy.json", c.path, c.last), easy())
		refused(t, body(t, "easy.json", c.path, c.over), easy(), c.code, "")
	}
	accepted(t, body(t, "easy.json", "steps.1.person_minutes", 31, "steps.1.minor_detail", "Reading takes a while."), easy())
}

// plain is a legal bid of n APPROVE steps that costs nothing.
func plain(t testing.TB, n int) []byte {
	step := map[string]any{"title": "Approve", "ask": "APPROVE", "outcome_promise": "I will do a part.", "agent_court_estimate": 1, "person_minutes": 1,
		"line_item_amount": 0, "declared_odds": 0.5, "har_blocks": []any{map[string]any{"id": "a", "title": "Fine?", "format": "confirm_correct"}}}
	steps := make([]any, n)
	for i := range steps {
		steps[i] = step
	}
	return body(t, "easy.json", "steps", steps, "total_ask_cents", 0, "finish_line_cents", 0, "allocation.tools", 0, "allocation.agent_work", 0)
}

func TestTheBandDecidesTheNumberOfSteps(t *testing.T) {
	for _, c := range []struct {
		odds        *float64
		least, most int
	}{{nil, 3, 15}, {ptr(0.0), 3, 15}, {ptr(0.4999), 3, 15}, {ptr(0.5), 2, 2}, {ptr(1.0), 2, 2}} {
		target := Target{LaneKind: LaneFree, CeilingCents: ptr(int64(0)), FrozenProbability: c.odds}
		for n := 1; n <= 17; n++ {
			if n >= c.least && n <= c.most {
				accepted(t, plain(t, n), target)
			} else {
				refused(t, plain(t, n), target, "REJ-12", fmt.Sprint("and hold ", n))
			}
			if target.HoldsSteps(n) != (n >= c.least && n <= c.most) {
				t.Errorf("HoldsSteps(%d)", n)
			}
		}
	}
}

func TestMoneyIsHeldToTheCeilingAndTheSums(t *testing.T) {
	at := func(ceiling *int64, lane string) Target {
		return Target{LaneKind: lane, CeilingCents: ceiling, FrozenProbability: ptr(0.9)}
	}
	raw := body(t, "easy.json")
	accepted(t, raw, at(ptr(int64(9000)), LanePaid))
	refused(t, raw, at(ptr(int64(8999)), LanePaid), "REJ-02", "8999")
	accepted(t, raw, at(nil, LaneOpen))
	refused(t, raw, at(ptr(int64(0)), LaneFree), "REJ-02", "free")
	refused(t, raw, at(nil, LaneFree), "REJ-02", "free")
	accepted(t, plain(t, 2), at(ptr(int64(0)), LaneFree))
	huge := json.RawMessage("1000000000000")
	accepted(t, body(t, "easy.json", "total_ask_cents", huge, "allocation.agent_work", huge, "allocation.tools", 0, "steps.0.line_item_amount", huge, "steps.1.line_item_amount", 0, "finish_line_cents", 0), at(nil, LaneOpen))
	for _, n := range []string{"1000000000001", "9223372036854775807", "9223372036854775808", "1e30", "1e999999999"} {
		refused(t, bodyRaw(t, "total_ask_cents", n), at(nil, LaneOpen), "REJ-01", "total_ask_cents must be")
	}
}

func TestWholeNumbersAreReadAsJSONSchemaReadsThem(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "-0": 0, "3": 3, "3.0": 3, "3.000": 3, "30e-1": 3, "0.3e1": 3, "3E0": 3, "1e2": 100, "1.5e1": 15, "-2.0": -2, "0e999999999": 0, "0.0e-999999999": 0, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63, "100e-2": 1, "0.00001e5": 1, "922337203685477580.7e1": 1<<63 - 1} {
		if got, ok := wholeNumber(json.Number(in)); !ok || got != want {
			t.Errorf("%s = %d, %v", in, got, ok)
		}
	}
	for _, in := range []string{"0.5", "3.1", "1e-1", "1e19", "9223372036854775808", "1e999999999", "1e-999999999", "1.00000000000000000001", "0.1e0", "1e99999999999999999999"} {
		if got, ok := wholeNumber(json.Number(in)); ok {
			t.Errorf("%s = %d", in, got)
		}
	}
}
