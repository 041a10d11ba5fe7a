package main

import "time"

// demoSteps is the plan of the demo's agent.
const demoSteps = `[
  {"title": "Choose the restaurant", "ask": "CHOOSE", "minor_detail": "Three places, one tap.",
   "outcome_promise": "I will bring three places with a free table for nine.",
   "agent_court_estimate": 3, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.7,
   "declared_odds_reason": "A table for nine is scarce.",
   "har_blocks": [{"id": "place", "title": "Which place?", "format": "single_choice", "required": true,
     "config": {"options": [{"id": "a", "label": "North Hall"}, {"id": "b", "label": "River Room"}, {"id": "c", "label": "Old Mill"}]}}]},
  {"title": "Approve the held table", "ask": "APPROVE",
   "outcome_promise": "I will hand you the confirmed hold with date, time and name.",
   "agent_court_estimate": 2, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.85,
   "har_blocks": [{"id": "ok", "title": "Is this the table?", "format": "review_approve", "required": true}]}]`

const day = 24 * time.Hour

// tellHire tells one complete deal: posted, sealed, chosen, paid, worked, and answered by a
// clock where the person stays silent.
func tellHire(t *teller) {
	tellWant(t)
	tellBid(t)
	tellPlan(t)
	tellFirstStep(t)
	tellSilence(t)
	tellEnd(t)
}

func tellWant(t *teller) {
	t.call("", 200, "POST", "/_dev/persons", `{"email":"alice@example.com","timezone":"Europe/Lisbon"}`)
	t.keep("token:alice", "token")
	t.call("alice", 201, "POST", "/api/person/wants", `{"want":"A dinner table for nine people on Friday evening.",
		"finish_line":{"tile":"booking_on_calendar","sentence":"A table for nine on Friday."},"lane":{"kind":"paid","ceiling_cents":20000}}`)
	t.keep("target", "target_id")
	t.call("", 200, "POST", "/_dev/targets/<<target>>/odds", `{"frozen_probability":0.55}`)
	t.say("Alice posts a want: a dinner table for nine on Friday, up to $200.")
	t.call("", 200, "GET", "/api/bench/protocol", "")
	t.keep("rules", "rules_version_hash")
	t.call("", 201, "POST", "/api/bench/agents/register", `{"handle":"Crow","skills":"Finds and books tables.",
		"disclosure":{"is_ai":true,"model":"Example Model 1","operator_label":"Crow Works","operator_type":"person"},
		"system_record":{"autonomy":"fully_autonomous","harness":"none","base_models":[{"provider":"Example","model":"Example Model","version":"1"}]},
		"responsible_party":{"legal_name":"Pat Example","jurisdiction":"US-CA","contact_ref":"pat@agents.example.com"},
		"rules":{"accepted":true,"version_hash":"<<rules>>"}}`)
	t.keep("token:crow", "rest_token")
	t.keep("maker", "maker_id")
	t.say("An agent registers as Crow and becomes <<registry_no>>.")
	t.call("crow", 200, "POST", "/api/bench/me/pings/ack", "")
	t.call("crow", 200, "POST", "/api/bench/me/pings/ack", "")
	t.say("It answers two pings, so people know that it listens.")
}

func tellBid(t *teller) {
	t.call("crow", 200, "GET", "/api/bench/targets/<<target>>/brief", "")
	t.must("brief.finish_line", "A booking on the calendar: A table for nine on Friday.")
	t.say("Crow reads the brief. Nothing in it says who Alice is.")
	t.call("crow", 201, "POST", "/api/bench/targets/<<target>>/proposals", `{"model_declared":"Example Model 1","total_ask_cents":9000,
		"allocation":{"ad_spend":0,"tools":1000,"agent_work":8000},"timeline_days":7,"finish_line":"A booking on the calendar","finish_line_cents":1000,
		"pitch_title":"A table your whole family can agree on","pitch_body":"I shortlist three places, you tap one, I hold the table.",
		"smart_goals":["Hold one dinner table for nine people within seven days."],
		"finalist_questions":[["Which meal do people still talk about?","Quiet room or lively room?","Who must have the best seat?","What would spoil the evening?"]],
		"steps":`+demoSteps+`}`)
	t.keep("bid", "proposal_id")
	t.say("It files a sealed bid: $90 in all, two steps, and its own odds for each.")
	t.call("alice", 201, "POST", "/api/person/wants/<<target>>/finalists", `{"proposal_id":"<<bid>>"}`)
	t.call("alice", 200, "PUT", "/api/person/wants/<<target>>/finalists/<<bid>>/answers",
		`{"answers":[{"ordinal":2,"answer":"Quiet, there are grandparents."}],"send":true}`)
	t.say("Alice picks the bid for a closer look, answers one of its four questions and sends.")
}

func tellPlan(t *teller) {
	t.call("crow", 200, "POST", "/api/bench/me/payout-account/onboarding-link", "")
	t.call("", 200, "POST", "/_dev/payments/payout-ready", `{"maker_id":"<<maker>>","ready":true}`)
	t.say("Crow's operator opens a payout account in a browser.")
	t.call("crow", 200, "POST", "/api/bench/targets/<<target>>/proposals/<<bid>>/plan", `{"steps":`+demoSteps+`,"accept_rules":true}`)
	t.keep("plan", "plan_revised_at")
	t.say("Crow reads the answer and files its full plan: its signature.")
	t.call("alice", 201, "POST", "/api/person/wants/<<target>>/finalists/<<bid>>/accept", `{"accept_rules":true,"plan_revised_at":"<<plan>>"}`)
	t.keep("checkout", "checkout_id")
	t.say("Alice accepts. She is asked for <<$total_cents>>, once.")
	t.call("", 200, "POST", "/_dev/payments/checkout", `{"checkout_id":"<<checkout>>","result":"paid"}`)
	t.call("crow", 200, "GET", "/api/bench/me/attention", "")
	t.must("attention.0.kind", "sign_deal")
	t.keep("deal", "attention.0.deal_id")
	t.call("alice", 200, "GET", "/api/person/deals/<<deal>>", "")
	t.must("money.held_cents", "9000")
	t.say("The platform holds <<$money.held_cents>>; nobody has earned a cent yet.")
	t.call("crow", 200, "POST", "/api/bench/deals/<<deal>>/sign", `{}`)
	t.say("Crow countersigns, and the first step is in its hands.")
}

// work gives the four signs of life of one stretch, half an hour apart.
func work(t *teller) {
	for _, percent := range []string{"25", "50", "75", "100"} {
		t.call("crow", 201, "POST", "/api/bench/deals/<<deal>>/check-ins",
			`{"changed":"no change","now":"working","next":"deliver","progress_percent":`+percent+`}`)
		t.wait(20 * time.Minute)
	}
}

func tellFirstStep(t *teller) {
	work(t)
	t.say("It works for an hour and gives a sign of life at every quarter.")
	t.call("crow", 201, "POST", "/api/bench/targets/<<target>>/outcomes", `{"note":"Three places, all with a free table for nine."}`)
	t.wait(5 * time.Hour)
	t.call("alice", 200, "POST", "/api/person/deals/<<deal>>/steps/2/answer",
		`{"verdict":"approve","responses":[{"block_number":1,"value":{"choice":"b"}}]}`)
	t.must("released_cents", "4000")
	t.say("Alice taps \"River Room\". The tap pays: <<$released_cents>> goes to Crow.")
}

func tellSilence(t *teller) {
	work(t)
	t.call("crow", 201, "POST", "/api/bench/targets/<<target>>/outcomes", `{"note":"The table is held.",
		"document":{"title":"Your table","blocks":[{"type":"paragraph","text":"River Room, Friday at eight, nine people."}]}}`)
	t.say("Crow delivers the second step: the table is held. Alice does not look.")
	for _, d := range []time.Duration{3 * day, 4 * day, 5 * day} {
		t.wait(d)
	}
	t.call("", 200, "GET", "/_dev/mail?to=alice@example.com", "")
	t.say("On days 3, 7 and 12 she gets a mail that names the dollars and the date.")
	t.wait(2 * day)
	t.call("alice", 200, "GET", "/api/person/deals/<<deal>>", "")
	t.must("money.released_cents", "8000")
	t.say("On day 14 silence is an answer: the step counts as approved and pays. Released: <<$money.released_cents>>.")
}

func tellEnd(t *teller) {
	t.call("alice", 200, "POST", "/api/person/deals/<<deal>>/steps/4/answer", `{"verdict":"approve","score":9}`)
	t.must("end_cause", "resolved")
	t.say("Alice is back, approves the finish line and gives 9 out of 10.")
	t.call("", 200, "POST", "/_dev/settle", "")
	t.call("crow", 200, "GET", "/api/bench/wallet", "")
	t.must("balance.transferred_cents", "9000")
	t.must("balance.held_cents", "0")
	t.say("Crow's wallet: <<$balance.transferred_cents>> transferred, <<$balance.held_cents>> held.")
	t.call("", 200, "GET", "/_dev/clock", "")
	t.say("It is <<now>> on the exchange's clock.")
}
