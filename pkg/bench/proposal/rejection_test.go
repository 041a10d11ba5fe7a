package proposal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestEveryCodeHasAMessage(t *testing.T) {
	for code, m := range messages {
		if m == "" || Reject(code, "x").Message != m {
			t.Errorf("%s", code)
		}
	}
}

// TestEachCodeIsReached edits one thing of a legal bid and expects one code.
func TestEachCodeIsReached(t *testing.T) {
	for _, c := range []struct {
		code, words string
		edits       []any
	}{
		{"REJ-01", "model_declared is required", []any{"model_declared", absent{}}},
		{"REJ-01", "model_declared must be text, not null", []any{"model_declared", nil}},
		{"REJ-01", "model_declared must not be blank", []any{"model_declared", " \u00a0 "}},
		{"REJ-01", "total_ask_cents must be a whole number", []any{"total_ask_cents", 90.5}},
		{"REJ-01", "not true or false", []any{"total_ask_cents", true}},
		{"REJ-01", "not text", []any{"total_ask_cents", "9000"}},
		{"REJ-01", "total_ask_cents must be at least 0", []any{"total_ask_cents", -1}},
		{"REJ-01", "allocation.tools is required", []any{"allocation.tools", absent{}}},
		{"REJ-01", "allocation.tools must be at least 0", []any{"allocation.tools", -1}},
		{"REJ-01", "allocation must be an object", []any{"allocation", []any{}}},
		{"REJ-01", "timeline_days must be at least 1", []any{"timeline_days", 0}},
		{"REJ-01", "finish_line is required", []any{"finish_line", absent{}}},
		{"REJ-01", "finish_line_cents", []any{"finish_line_cents", -5}},
		{"REJ-01", "subsidy_declared must be one of", []any{"subsidy_declared", "a lot"}},
		{"REJ-01", "operator_relationship_disclosure", []any{"operator_relationship_disclosure", 7}},
		{"REJ-01", "steps is required", []any{"steps", absent{}}},
		{"REJ-01", "steps must be a list", []any{"steps", map[string]any{}}},
		{"REJ-01", "step 2 must be an object", []any{"steps.1", "x"}},
		{"REJ-01", "step 1: title is required", []any{"steps.0.title", absent{}}},
		{"REJ-01", "step 1: title must not hold control characters", []any{"steps.0.title", "a\u0007b"}},
		{"REJ-01", "step 2: ask is required", []any{"steps.1.ask", absent{}}},
		{"REJ-01", "step 2: ask must be text", []any{"steps.1.ask", 3}},
		{"REJ-01", "step 2: actor must be one of", []any{"steps.1.actor", "robot"}},
		{"REJ-01", "step 2: outcome_promise is required", []any{"steps.1.outcome_promise", absent{}}},
		{"REJ-01", "step 2: agent_court_estimate must not be negative", []any{"steps.1.agent_court_estimate", -0.5}},
		{"REJ-01", "step 2: agent_court_estimate must be a number", []any{"steps.1.agent_court_estimate", "2h"}},
		{"REJ-01", "step 2: person_minutes must be a whole number", []any{"steps.1.person_minutes", 1.5}},
		{"REJ-01", "step 2: line_item_amount is required", []any{"steps.1.line_item_amount", absent{}}},
		{"REJ-01", "step 1, block 1: id is required", []any{"steps.0.har_blocks.0.id", absent{}}},
		{"REJ-01", "step 1, block 1: title must not be blank", []any{"steps.0.har_blocks.0.title", "  "}},
		{"REJ-01", "step 1, block 1: format must be one of", []any{"steps.0.har_blocks.0.format", "popup"}},
		{"REJ-01", "step 1, block 1: ask must be one of", []any{"steps.0.har_blocks.0.ask", "CHOOSE"}},
		{"REJ-01", "step 1, block 1: required must be true or false", []any{"steps.0.har_blocks.0.required", "yes"}},
		{"REJ-01", "step 1, block 1: config must be an object", []any{"steps.0.har_blocks.0.config", []any{}}},
		{"REJ-01", "step 1, block 1: config.display must be one of", []any{"steps.0.har_blocks.0.config.display", "wheel"}},
		{"REJ-01", "step 1, block 1, option 2: label is required", []any{"steps.0.har_blocks.0.config.options.1.label", absent{}}},
		{"REJ-01", "step 1, block 1, option 2: id repeats", []any{"steps.0.har_blocks.0.config.options.1.id", "a"}},
		{"REJ-01", "step 1, block 2: id repeats", []any{"steps.0.har_blocks.1", map[string]any{"id": " place ", "title": "Again", "format": "short_answer"}}},
		{"REJ-01", "step 1: choose.options must hold at least 2", []any{"steps.0.choose.options", options(1)}},
		{"REJ-01", "step 1: choose.options must hold at most 9", []any{"steps.0.choose.options", options(10)}},
		{"REJ-01", "must list the same labels", []any{"steps.0.choose.options", options(3)}},
		{"REJ-01", "step 1: choose must be an object", []any{"steps.0.choose", "x"}},
		{"REJ-01", "at most 9 choices", []any{"steps.0.har_blocks.0.config.options", options(10)}},
		{"REJ-01", "max_selections is required", []any{"steps.0.choose", map[string]any{"selection_mode": "up_to_k", "options": options(2)}}},
		{"REJ-01", "must not be more than the 2 options", []any{"steps.0.choose", map[string]any{"selection_mode": "up_to_k", "max_selections": 3, "options": options(2)}}},
		{"REJ-01", "person_cost_estimate.note is required", []any{"person_cost_estimate.note", absent{}}},
		{"REJ-01", "person_cost_estimate.low_cents must not be more", []any{"person_cost_estimate.low_cents", 40001}},
		{"REJ-01", "person_cost_estimate must be an object", []any{"person_cost_estimate", nil}},
		{"REJ-01", "campaign.later_targets must hold at most 3", []any{"campaign.later_targets", repeated(4, map[string]any{"goal": "g", "band": "b", "est_ask_range": "e", "est_timeline": "t"})}},
		{"REJ-01", "later target 1: band is required", []any{"campaign.later_targets", repeated(1, map[string]any{"goal": "g"})}},
		{"REJ-02", "ceiling", []any{"total_ask_cents", 9001, "allocation.tools", 1001, "finish_line_cents", 1001}},
		{"REJ-03", "timeline_days is 8", []any{"timeline_days", 8}},
		{"REJ-04", "step 2: ask must be one of", []any{"steps.1.ask", "approve"}},
		{"REJ-04", "step 1: ask must be one of", []any{"steps.0.ask", "INFORM"}},
		{"REJ-05", "allocation adds up to 8999", []any{"allocation.tools", 999}},
		{"REJ-05", "add up to 8999", []any{"steps.0.line_item_amount", 3999}},
		{"REJ-05", "add up to 8000", []any{"finish_line_cents", absent{}}},
		{"REJ-06", "pitch_body asks for a repeated payment", []any{"pitch_body", "It is $30 per month."}},
		{"REJ-06", "step 2: minor_detail", []any{"steps.1.minor_detail", "A monthly fee of $3."}},
		{"REJ-06", "person_cost_estimate.note", []any{"person_cost_estimate.note", "A subscription of $20."}},
		{"REJ-07", "pitch_body holds a link", []any{"pitch_body", "See example.com/me"}},
		{"REJ-07", "step 1: outcome_promise", []any{"steps.0.outcome_promise", "I will look at https://example.com"}},
		{"REJ-07", "step 1, block 1: description", []any{"steps.0.har_blocks.0.description", "www.example.com"}},
		{"REJ-07", "step 1, block 1, note item 1: deep", []any{"steps.0.har_blocks.0.config.note", []any{map[string]any{"deep": "http://x.example"}}}},
		{"REJ-07", "key that is a link", []any{"steps.0.har_blocks.0.config.x", map[string]any{"https://example.com/a": 1}}},
		{"REJ-07", "option 1: thumbnail_url must begin with https", []any{"steps.0.har_blocks.0.config.options.0.thumbnail_url", "http://example.com/a.png"}},
		{"REJ-07", "option 1: thumbnail_url does not pass the Link Gate (shortener)", []any{"steps.0.har_blocks.0.config.options.0.thumbnail_url", "https://bit.ly/a"}},
		{"REJ-07", "question list 1, item 2", []any{"finalist_questions.0.1", "Do you know www.example.com?"}},
		{"REJ-08", "step 2: outcome_promise asks the person", []any{"steps.1.outcome_promise", "Send me your password and I will post it."}},
		{"REJ-08", "asks the person for a password", []any{"steps.0.har_blocks.1", map[string]any{"id": "f", "title": "Sign in", "format": "structured_form", "config": map[string]any{"fields": []any{map[string]any{"label": "Word", "key": "w", "type": "password"}}}}}},
		{"REJ-11", "step 2: grant_request is required", []any{"steps.1.ask", "GRANT"}},
		{"REJ-11", "step 2: grant_request.why is required", []any{"steps.1.ask", "GRANT", "steps.1.grant_request", map[string]any{"what": "w"}}},
		{"REJ-11", "step 2: grant_request must be an object", []any{"steps.1.ask", "GRANT", "steps.1.grant_request", nil}},
		{"REJ-11", "grant_request.until must not be blank", []any{"steps.1.ask", "GRANT", "steps.1.grant_request", map[string]any{"what": "w", "why": "w", "scope": "s", "until": " "}}},
		{"REJ-12", "exactly 2 steps", []any{"steps", []any{}}},
		{"REJ-12", "step 1: rounds must be at most 2", []any{"steps.0.rounds", 3}},
		{"REJ-12", "step 1: rounds must be at least 1", []any{"steps.0.rounds", 0}},
		{"REJ-12", "step 1: rounds must be a whole number", []any{"steps.0.rounds", nil}},
		{"REJ-12", "step 2: person_minutes above 30", []any{"steps.1.person_minutes", 31}},
		{"REJ-12", "step 2: person_minutes above 30", []any{"steps.1.person_minutes", 31, "steps.1.minor_detail", "  "}},
		{"REJ-13", "step 2: provide must be an object", []any{"steps.1.ask", "PROVIDE", "steps.1.provide", "files"}},
		{"REJ-13", "step 2: provide.items must be a list", []any{"steps.1.ask", "PROVIDE", "steps.1.provide", map[string]any{"items": "x"}}},
		{"REJ-13", "step 2, item 2 must be an object", []any{"steps.1.ask", "PROVIDE", "steps.1.provide", map[string]any{"items": []any{map[string]any{}, "x"}}}},
		{"REJ-14", "smart_goals is required", []any{"smart_goals", absent{}}},
		{"REJ-14", "smart_goals must hold exactly 1 and holds 3", []any{"smart_goals", repeated(3, "g")}},
		{"REJ-14", "goal 1 must not be blank", []any{"smart_goals", []any{" "}}},
		{"REJ-14", "goal 1 must be text", []any{"smart_goals", []any{1}}},
		{"REJ-15", "finalist_questions is required", []any{"finalist_questions", absent{}}},
		{"REJ-15", "list 1 must be a list", []any{"finalist_questions", []any{"flat"}}},
		{"REJ-15", "holds 4", []any{"finalist_questions", repeated(4, "flat")}},
		{"REJ-15", "list 1 must hold exactly 4 and holds 3", []any{"finalist_questions", []any{repeated(3, "q")}}},
		{"REJ-15", "list 1, question 4 must not be blank", []any{"finalist_questions.0.3", "\n"}},
		{"REJ-16", "step 1: declared_odds is required (rule 121)", []any{"steps.0.declared_odds", absent{}}},
		{"REJ-16", "step 2: declared_odds_reason must be text", []any{"steps.1.declared_odds_reason", 5}},
		{"REJ-19", "step 2: outcome_promise guarantees", []any{"steps.1.outcome_promise", "I guarantee you will love the table."}},
		{"REJ-21", "pitch_title is required", []any{"pitch_title", absent{}}},
		{"REJ-21", "pitch_body must not be blank", []any{"pitch_body", ""}},
		{"REJ-21", "pitch_body must be text", []any{"pitch_body", 1}},
		{"REJ-22", "step 1: har_blocks is required", []any{"steps.0.har_blocks", absent{}}},
		{"REJ-22", "step 2: har_blocks is required", []any{"steps.1.har_blocks", []any{}}},
		{"REJ-22", "step 2: har_blocks must be a list", []any{"steps.1.har_blocks", nil}},
		{"REJ-22", "step 2: har_blocks must be a list", []any{"steps.1.har_blocks", map[string]any{}, "steps.1.actor", "agent"}},
		{"REJ-22", "step 1: har_blocks is required", []any{"steps.0.har_blocks", absent{}, "steps.0.actor", "agent", "steps.0.choose.options", options(3)}},
		{"REJ-23", "config.document.blocks is required", []any{"steps.1.har_blocks.0.config.document", map[string]any{}}},
		{"REJ-23", "config.document must be an object", []any{"steps.1.har_blocks.0.config.document", "text"}},
		{"REJ-23", "config.document is only for", []any{"steps.0.har_blocks.0.config.document", map[string]any{"blocks": []any{}}}},
		{"REJ-23", "part 1: type must be one of", []any{"steps.1.har_blocks.0.config.document.blocks", repeated(1, map[string]any{"type": "video"})}},
		{"REJ-23", "part 1: file_id must be a UUID", []any{"steps.1.har_blocks.0.config.document.blocks", repeated(1, map[string]any{"type": "image", "file_id": "x", "alt": "y"})}},
		{"REJ-23", "part 1: alt is required", []any{"steps.1.har_blocks.0.config.document.blocks", repeated(1, map[string]any{"type": "image", "file_id": "a1b2c3d4-e5f6-4890-abcd-ef1234567890"})}},
		{"REJ-24", "step 2: har_blocks must hold a control for APPROVE", []any{"steps.1.har_blocks.0.format", "short_answer"}},
		{"REJ-24", "step 1: har_blocks must hold a control for CHOOSE", []any{"steps.0.har_blocks.0.format", "grant_access"}},
		{"REJ-24", "step 2: har_blocks must hold a control for PROVIDE", []any{"steps.1.ask", "PROVIDE"}},
		{"REJ-25", "at least 2 real options for single_choice and offers 1", []any{"steps.0.har_blocks.0.config.options", options(1)}},
		{"REJ-25", "offers 0", []any{"steps.0.har_blocks.0.config", absent{}}},
		{"REJ-25", "at least 3 real options for multiple_choice", []any{"steps.0.har_blocks.0.format", "multiple_choice", "steps.0.har_blocks.0.config.options", options(2)}},
		{"REJ-25", "at least 3 real options for rank", []any{"steps.0.har_blocks.0.format", "rank", "steps.0.har_blocks.0.config.options", options(2)}},
		{"REJ-25", "offers 1", []any{"steps.0.har_blocks.0.config.options", []any{map[string]any{"label": "A"}, map[string]any{"label": "Other"}}}},
		{"REJ-25", "step 2, block 2, field 1: options must offer at least 2", []any{"steps.1.har_blocks.1", map[string]any{"id": "f", "title": "Form", "format": "structured_form", "config": map[string]any{"fields": []any{map[string]any{"label": "L", "key": "k", "type": "select"}}}}}},
		{"REJ-25", "at least 3 real options for checkbox", []any{"steps.1.har_blocks.1", map[string]any{"id": "f", "title": "Form", "format": "structured_form", "config": map[string]any{"fields": []any{map[string]any{"label": "L", "key": "k", "type": "checkbox", "options": options(2)}}}}}},
	} {
		t.Run(c.code+" "+c.words, func(t *testing.T) {
			refused(t, body(t, "easy.json", c.edits...), easy(), c.code, c.words)
		})
	}
}

func TestConnectorsMustMatchTheCatalog(t *testing.T) {
	const grant = "steps.2.grant_request."
	for words, edits := range map[string][]any{
		"connector is required":                           {grant + "connector", absent{}},
		"until must be target_end":                        {grant + "until", "next week"},
		"exposure must be agent_acts_through_connection":  {grant + "exposure", absent{}},
		"connector.provider is not in the connector":      {grant + "connector.provider", "Google Calendar"},
		"connected with kind oauth_connection":            {grant + "kind", "action_gateway"},
		"action 2 is not an action of google_calendar":    {grant + "connector.actions.1", "events.wipe"},
		"connector.actions must hold at least 1":          {grant + "connector.actions", []any{}},
		"resource 1 is not a bounded resource":            {grant + "connector.resources.0", "calendar:*"},
		"connector.resources must hold at least 1":        {grant + "connector.resources", []any{}},
		"connector.operation_limit must be at least 1":    {grant + "connector.operation_limit", 0},
		"connector.operation_limit must be at most 10000": {grant + "connector.operation_limit", 10001},
		"connector must be an object":                     {grant + "connector", "gmail"},
		"connector needs kind":                            {grant + "kind", "service_account"},
	} {
		t.Run(words, func(t *testing.T) { refused(t, body(t, "full.json", edits...), open(), "REJ-26", words) })
	}
	refused(t, body(t, "full.json", grant+"kind", "magic"), open(), "REJ-01", "grant_request.kind must be one of")
	refused(t, body(t, "full.json", grant+"capability", "Send Mail"), open(), "REJ-01", "dotted name")
	accepted(t, body(t, "full.json", grant+"kind", "owned_automation", grant+"connector", absent{}, grant+"until", "Friday", grant+"exposure", absent{}), open())
	for _, p := range Connectors() {
		for _, a := range p.Actions {
			for _, r := range p.Resources {
				name := a.Action
				if a.ActionPattern != "" {
					name = "tool:search"
				}
				accepted(t, body(t, "full.json", grant+"kind", p.Kind, grant+"connector", map[string]any{"provider": p.Provider, "actions": []any{name}, "resources": []any{r.Example}, "operation_limit": 10000}), open())
			}
		}
	}
}

func TestOddsAreAFractionStrictlyInsideZeroAndOne(t *testing.T) {
	for _, legal := range []string{"0.5", "0.999999", "1e-9", "5E-1", "0.000001"} {
		p := accepted(t, body(t, "easy.json", "steps.0.declared_odds", json.RawMessage(legal)), easy())
		if p != nil && (p.Steps[0].DeclaredOdds <= 0 || p.Steps[0].DeclaredOdds >= 1) {
			t.Errorf("%s stored as %v", legal, p.Steps[0].DeclaredOdds)
		}
	}
	for value, words := range map[string]string{
		"null": "not null", "true": "not true or false", "[]": "not a list", "{}": "not an object", "0": "strictly between", "1": "less than 1", "1.0": "less than 1", "-0.5": "strictly between", "100": "strictly between", "1e999": "finite", "-1e999": "finite",
		"35": "percentage: send 0.35", "35.5": "send 0.355", "1.5": "send 0.015", "99.9": "send 0.999", "7": "send 0.07",
		`"0.35"`: "send 0.35 without quotes", `"35%"`: "send 0.35", `"35"`: "send 0.35", `"NaN"`: "not text", `"Infinity"`: "not text", `"high"`: "not text", `"0.5%"`: "send 0.005", "1e-999": "strictly between", "0.99999999999999999999": "less than 1",
	} {
		refused(t, bodyRaw(t, "steps.0.declared_odds", value), easy(), "REJ-16", words)
	}
	for _, word := range []string{"NaN", "Infinity", "-Infinity", "nan", ".5", "5.", "0x1", "01", "+1"} {
		refused(t, []byte(fmt.Sprintf(`{"declared_odds":%s}`, word)), easy(), "REJ-01", "not valid JSON")
	}
	if f, say := CheckOdds([]byte("0.25")); f != 0.25 || say != "" {
		t.Error(f, say)
	}
	if _, say := CheckOdds([]byte("25")); say == "" {
		t.Error("25 passes")
	}
	if _, say := CheckOdds([]byte("x")); say == "" {
		t.Error("x passes")
	}
}

// bodyRaw puts a JSON literal that Go's encoder would refuse or rewrite.
func bodyRaw(t *testing.T, path, literal string) []byte {
	t.Helper()
	raw := body(t, "easy.json", path, "@@literal@@")
	return []byte(replaceOnce(string(raw), `"@@literal@@"`, literal))
}

func TestWhatIsNoLegalBodyIsRefused(t *testing.T) {
	for raw, words := range map[string]string{
		"": "not valid JSON", "nul": "not valid JSON", "null": "must be a JSON object", "[]": "must be a JSON object", `"x"`: "must be a JSON object", "{}": "model_declared is required", `{"a":1`: "not valid JSON", `{"a":1}}`: "not valid JSON", `{} {}`: "not valid JSON",
		`{"a":1,"a":2}`: "a key twice", `{"a":{"b":1,"b":2}}`: "a key twice", `{a:1}`: "not valid JSON", "{\"a\":\"\xff\"}": "UTF-8", `{"a":1,}`: "not valid JSON", `[1,]`: "not valid JSON",
	} {
		refused(t, []byte(raw), easy(), "REJ-01", words)
	}
	deep := func(n int) []byte { return []byte(strings.Repeat(`{"a":`, n-1) + "1" + strings.Repeat("}", n-1)) }
	refused(t, deep(MaxDepth), easy(), "REJ-01", "model_declared")
	refused(t, deep(MaxDepth+1), easy(), "REJ-01", "nests deeper")
	refused(t, deep(5000), easy(), "REJ-01", "nests deeper")
	refused(t, deep(50000), easy(), "REJ-01", "not valid JSON")
	refused(t, append(make([]byte, MaxBodyBytes), '{', '}'), easy(), "REJ-01", "larger than")
}
