package sitetest

import (
	"bytes"
	"maps"
	"mime/multipart"
)

// Agent is a registered agent that shows it listens.
type Agent struct {
	w             *World
	Token, ID, No string
	Handle        string
}

// Agent registers one.
func (w *World) Agent(handle string) *Agent {
	w.T.Helper()
	hash := w.Call("GET", "/api/bench/protocol", "", nil).Str("rules_version_hash")
	a := w.Call("POST", "/api/bench/agents/register", "", map[string]any{
		"handle": handle, "skills": "Finds, books and arranges things.",
		"disclosure":        map[string]any{"is_ai": true, "model": "Example Model 1", "operator_label": "Ines Vale", "operator_type": "person"},
		"system_record":     map[string]any{"autonomy": "fully_autonomous", "harness": "none", "base_models": []any{map[string]any{"provider": "Example", "model": "Example Model", "version": "1"}}},
		"responsible_party": map[string]any{"legal_name": "Ines Vale", "jurisdiction": "US-CA", "contact_ref": handle + "@agents.example.com"},
		"rules":             map[string]any{"accepted": true, "version_hash": hash},
	})
	out := &Agent{w: w, Token: a.Str("rest_token"), ID: a.Str("maker_id"), No: a.Str("registry_no"), Handle: handle}
	for range 2 {
		out.Call("POST", "/api/bench/me/pings/ack", nil)
	}
	return out
}

// Call calls the API as the agent; a refusal fails the test.
func (a *Agent) Call(method, path string, body any) Answer {
	a.w.T.Helper()
	return a.w.Call(method, path, a.Token, body)
}

// Steps are a plan of three steps for the table for nine.
func Steps() []map[string]any {
	options := []map[string]any{{"id": "a", "label": "North Hall", "detail": "Vaulted room, open fire"}, {"id": "b", "label": "River Room", "detail": "Quiet, by the water"}, {"label": "Old Mill"}}
	return []map[string]any{
		{"title": "Choose the restaurant", "ask": "CHOOSE", "rounds": 1, "minor_detail": "Three places, one tap.",
			"outcome_promise":      "I will bring three places with a free table for nine, with a menu and a price each.",
			"agent_court_estimate": 3, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.7, "declared_odds_reason": "A table for nine on a Friday is scarce.",
			"har_blocks": []map[string]any{{"id": "place", "title": "Which place?", "format": "single_choice", "ask": "choose", "required": true, "config": map[string]any{"options": options}}}},
		{"title": "Tell me who comes", "ask": "PROVIDE", "outcome_promise": "I will give the house the number of chairs and what each guest cannot eat.",
			"agent_court_estimate": 1, "person_minutes": 10, "line_item_amount": 0, "declared_odds": 0.8,
			"har_blocks": []map[string]any{
				{"id": "who", "title": "Who cannot eat what?", "format": "written_response", "description": "Allergies first. It goes to the kitchen and nowhere else.", "config": map[string]any{"rows": 3, "placeholder": "One guest a line"}},
				{"id": "when", "title": "When do you arrive?", "format": "date_time"},
				{"id": "form", "title": "The guests", "format": "structured_form", "config": map[string]any{"fields": []map[string]any{
					{"label": "How many children?", "key": "children", "type": "number"}, {"label": "High chair", "key": "chair", "type": "radio", "options": []map[string]any{{"id": "y", "label": "Needed"}, {"id": "n", "label": "Not needed"}}}}}},
				{"id": "called", "title": "Call your aunt", "format": "communication"},
				{"id": "room", "title": "A photo of a room you like", "format": "file_upload"},
				{"id": "voice", "title": "The toast, spoken", "format": "media_upload"}}},
		{"title": "Approve the held table", "ask": "APPROVE", "rounds": 1, "outcome_promise": "I will hand you the confirmed hold with date, time and name.",
			"agent_court_estimate": 2, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.85,
			"har_blocks": []map[string]any{{"id": "ok", "title": "Is this the table?", "format": "review_approve", "ask": "approve", "required": true},
				{"id": "sure", "title": "The cancellation terms", "format": "agreement", "ask": "approve", "config": map[string]any{"document": map[string]any{"title": "Terms of the house",
					"blocks": []map[string]any{{"type": "heading", "text": "If you cancel"}, {"type": "bullets", "items": []string{"Free until Thursday noon", "Half the price afterwards"}}}}}}}},
	}
}

// Bid files a bid on a want and returns its id.
func (a *Agent) Bid(target, title string) string {
	a.w.T.Helper()
	return a.Call("POST", "/api/bench/targets/"+target+"/proposals", map[string]any{
		"model_declared": "Example Model 1", "total_ask_cents": 9000, "allocation": map[string]any{"ad_spend": 0, "tools": 1000, "agent_work": 8000},
		"timeline_days": 7, "finish_line": "A booking on the calendar", "finish_line_cents": 1000,
		"pitch_title": title, "pitch_body": "I shortlist three places that fit nine people, you tap one, and I hold the table.\n\nNobody has to call around.",
		"smart_goals":          []string{"Hold one dinner table for nine people within seven days."},
		"finalist_questions":   [][]string{{"Which meal do people still talk about?", "Quiet room or lively room?", "Who must have the best seat?", "What would spoil the evening?"}},
		"person_cost_estimate": map[string]any{"low_cents": 30000, "high_cents": 45000, "note": "The dinner itself, paid at the table."},
		"steps":                Steps(),
	}).Str("proposal_id")
}

// Plan files the informed plan of a bid.
func (a *Agent) Plan(target, bid string) {
	a.w.T.Helper()
	a.Call("POST", "/api/bench/targets/"+target+"/proposals/"+bid+"/plan", map[string]any{"steps": Steps(), "accept_rules": true})
}

// Deal is the id of the agent's running deal on a want.
func (a *Agent) Deal(target string) string {
	a.w.T.Helper()
	list, _ := a.Call("GET", "/api/bench/me/attention", nil).At("attention").([]any)
	for _, one := range list {
		if m, _ := one.(map[string]any); m["target_id"] == target && m["deal_id"] != nil {
			return m["deal_id"].(string)
		}
	}
	a.w.T.Fatalf("%s has no deal on %s", a.Handle, target)
	return ""
}

// Ready reports the agent's payout account ready.
func (a *Agent) Ready() {
	a.w.T.Helper()
	a.w.Call("POST", "/_dev/payments/payout-ready", "", map[string]any{"maker_id": a.ID, "ready": true})
}

// Work gives the signs of life of one step, up to its last.
func (a *Agent) Work(deal string) {
	a.w.T.Helper()
	for _, percent := range []int{25, 50, 75, 100} {
		a.Call("POST", "/api/bench/deals/"+deal+"/check-ins", map[string]any{"changed": "Called two more houses.", "now": "Comparing the menus.", "next": "Hand over.", "progress_percent": percent})
	}
}

// Deliver hands a step over.
func (a *Agent) Deliver(target string, body map[string]any) {
	a.w.T.Helper()
	a.Call("POST", "/api/bench/targets/"+target+"/outcomes", body)
}

// Daily hands the last step over day by day.
func (a *Agent) Daily(target string, body map[string]any) {
	a.w.T.Helper()
	a.Call("POST", "/api/bench/targets/"+target+"/delivery-schedule", body)
}

// Upload sends a file as multipart/form-data, as an artifact or an image is sent.
func (a *Agent) Upload(path, name string, content []byte) Answer {
	a.w.T.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	p, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = p.Write(content)
	}
	if err != nil || m.Close() != nil {
		a.w.T.Fatal(err)
	}
	return a.raw(path, body.Bytes(), map[string]string{"Content-Type": m.FormDataContentType()})
}

// Stream delivers bytes the agent keeps itself; held ones hand nothing over.
func (a *Agent) Stream(target string, content []byte, headers map[string]string) {
	a.w.T.Helper()
	all := map[string]string{"Content-Type": "application/octet-stream"}
	maps.Copy(all, headers)
	a.raw("/api/bench/targets/"+target+"/outcomes", content, all)
}

// raw posts a body that is not JSON; a refusal fails the test.
func (a *Agent) raw(path string, body []byte, headers map[string]string) Answer {
	a.w.T.Helper()
	out := a.w.send("POST", path, a.Token, bytes.NewReader(body), headers)
	if out.Status >= 300 {
		a.w.T.Fatalf("%s: %d %v", path, out.Status, out.JSON)
	}
	return out
}
