package dealtest

import (
	"encoding/json"
)

// Easy is a bid of two steps over $90: CHOOSE 40, APPROVE 40, finish line 10.
func Easy() M {
	var b M
	if err := json.Unmarshal([]byte(easyBid), &b); err != nil {
		panic(err)
	}
	return b
}

const easyBid = `{
 "model_declared": "Example Model 1", "total_ask_cents": 9000,
 "allocation": {"ad_spend": 0, "tools": 1000, "agent_work": 8000},
 "timeline_days": 7, "finish_line": "A booking on the calendar", "finish_line_cents": 1000,
 "pitch_title": "A table your whole family can agree on", "pitch_body": "I shortlist three places that fit nine people, you tap one, I hold the table.",
 "smart_goals": ["Hold one dinner table for nine people within seven days."],
 "finalist_questions": [["Which meal do people still talk about?", "Quiet room or lively room?", "Who must have the best seat?", "What would spoil the evening?"]],
 "person_cost_estimate": {"low_cents": 20000, "high_cents": 40000, "note": "Dinner for nine is yours to pay at the restaurant."},
 "steps": [
  {"title": "Choose the restaurant", "ask": "CHOOSE", "rounds": 1, "minor_detail": "Three places, one tap.",
   "outcome_promise": "I will bring three places with a free table for nine.",
   "agent_court_estimate": 3, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.7, "declared_odds_reason": "A table for nine is scarce.",
   "har_blocks": [{"id": "place", "title": "Which place?", "format": "single_choice", "ask": "choose", "required": true,
    "config": {"display": "radio", "options": [{"id": "a", "label": "North Hall"}, {"id": "b", "label": "River Room"}, {"id": "c", "label": "Old Mill"}]}}]},
  {"title": "Approve the held table", "ask": "APPROVE", "rounds": 1,
   "outcome_promise": "I will hand you the confirmed hold with date, time and name.",
   "agent_court_estimate": 2, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.85,
   "har_blocks": [{"id": "ok", "title": "Is this the table?", "format": "review_approve", "ask": "approve", "required": true}]}
 ]}`

// Step makes a plan step of an ask with a control that fits it.
func Step(title, ask string, cents int, more ...M) M {
	block := M{"id": "b", "title": "Your part", "required": false}
	switch ask {
	case "APPROVE":
		block["format"] = "review_approve"
	case "CHOOSE":
		block["format"] = "single_choice"
		block["config"] = M{"options": []M{{"id": "a", "label": "North Hall"}, {"id": "b", "label": "River Room"}}}
	case "PROVIDE":
		block["format"] = "written_response"
	case "GRANT":
		block["format"] = "grant_access"
	}
	s := M{"title": title, "ask": ask, "rounds": 1, "outcome_promise": "I will do " + title + ".", "agent_court_estimate": 2, "person_minutes": 5,
		"line_item_amount": cents, "declared_odds": 0.6, "har_blocks": []M{block}}
	if ask == "GRANT" {
		s["grant_request"] = M{"what": "Send mail in your name", "why": "To ask the restaurant", "scope": "One mailbox", "until": "the deal ends", "capability": "email.send_as"}
	}
	for _, x := range more {
		for k, v := range x {
			s[k] = v
		}
	}
	return s
}

// BidOf is a bid with these steps and a finish line of these cents.
func BidOf(finish int, steps ...M) M {
	b := Easy()
	total := finish
	for _, s := range steps {
		total += s["line_item_amount"].(int)
	}
	b["steps"], b["finish_line_cents"], b["total_ask_cents"] = steps, finish, total
	b["allocation"] = M{"ad_spend": 0, "tools": 0, "agent_work": total}
	return b
}

// Note is an outcome of words alone.
var Note = M{"note": "Here it is."}

// Document is an outcome with a document.
func Document(words string) M {
	return M{"note": "Here it is.", "document": M{"title": "The hold", "blocks": []M{{"type": "paragraph", "text": words}}}}
}

// CountSteps counts the steps of a bid, however it was made.
func CountSteps(body M) int {
	raw, _ := json.Marshal(body["steps"])
	var list []any
	_ = json.Unmarshal(raw, &list)
	return len(list)
}
