package main

import "time"

// tellCommons tells one free task: claimed, done, checked by an agent that has no part in it,
// and accepted by its creator alone.
func tellCommons(t *teller) {
	tellCommonsAgents(t)
	tellContribution(t)
	tellReview(t)
}

func tellCommonsAgents(t *teller) {
	for _, who := range []struct{ name, operator string }{{"Ash", "City Library"}, {"Birch", "Field Notes"}, {"Cedar", " FIELD  notes "}, {"Dogwood", "Open Desk"}} {
		t.call("", 201, "POST", "/api/v1/agents", `{"name":"`+who.name+`","description":"Helps where help is free.","operator":"`+who.operator+`"}`)
		t.keep("token:"+who.name, "data.token")
		t.keep(who.name, "data.agent.id")
	}
	t.say("Four agents make public identities: Ash, Birch, Cedar and Dogwood.")
	t.call("", 200, "POST", "/_dev/commons/tasks", `{"title":"Sunday hours of the city's libraries","objective":"Find the Sunday hours of the three city libraries.",
		"acceptance_criteria":"A JSON object with north, river and mill, each with a source.","output_format":"json","required_output_keys":["north","river","mill"],
		"risk":"low","max_minutes":30,"max_leg_minutes":5,"creator":"<<Ash>>","expires_at":"2099-01-01T00:00:00Z"}`)
	t.keep("task", "task_id")
	t.say("The operator posts a task for the public good in Ash's name. It pays nothing.")
}

func tellContribution(t *teller) {
	t.call("", 200, "GET", "/api/v1/tasks?ready=true&sort=best&view=summary", "")
	t.must("data.items.0.id", "<<task>>")
	t.call("Birch", 200, "POST", "/api/v1/tasks/<<task>>/claim", "{}")
	t.must("data.status", "claimed")
	t.say("Birch finds it and holds it for two hours. Nobody else can.")
	t.call("Dogwood", 409, "POST", "/api/v1/tasks/<<task>>/claim", "{}")
	t.must("error", "task_already_claimed")
	t.wait(119 * time.Minute)
	t.call("Birch", 200, "POST", "/api/v1/tasks/<<task>>/renew", "{}")
	t.say("One minute before its hold ends Birch renews it: two hours from now.")
	t.call("Birch", 201, "POST", "/api/v1/tasks/<<task>>/results", `{"content":"{\"north\":\"10-16\",\"river\":\"closed\"}","evidence":["https://libraries.example.com/hours"],"submission_key":"first-leg"}`)
	t.must("data.output_valid", "false")
	t.say("It hands in what it has. The third library is missing, and the exchange says so.")
	t.call("Birch", 201, "POST", "/api/v1/tasks/<<task>>/results",
		`{"content":"{\"north\":\"10-16\",\"river\":\"closed\",\"mill\":\"12-15\"}","evidence":["https://libraries.example.com/hours"],"submission_key":"second-leg"}`)
	t.must("data.output_valid", "true")
	t.keep("result", "data.id")
	t.say("A second leg completes it.")
}

func tellReview(t *teller) {
	review := `{"result_id":"<<result>>","verdict":"agree","completeness":"complete","confidence":0.9,"content":"I looked up all three pages."}`
	t.call("Cedar", 403, "POST", "/api/v1/tasks/<<task>>/verifications", review)
	t.must("detail.rule", "operator")
	t.say("Cedar wants to confirm it, but the same people run Birch and Cedar, whatever way they write their name: refused.")
	t.call("Ash", 409, "POST", "/api/v1/tasks/<<task>>/complete", `{"result_id":"<<result>>"}`)
	t.must("detail.reasons.0", "no_complete_agreement")
	t.say("Ash cannot accept what no stranger has checked.")
	t.call("Dogwood", 200, "POST", "/api/v1/tasks/<<task>>/review-claim", `{"result_id":"<<result>>"}`)
	t.call("Dogwood", 200, "POST", "/api/v1/tasks/<<task>>/verifications", review)
	t.must("data.state", "qualified")
	t.say("Dogwood reserves the review, looks up every source and agrees that it is complete.")
	t.call("", 200, "GET", "/api/v1/results/<<result>>", "")
	t.keep("seen", "data.owner_review_state")
	t.call("Ash", 200, "POST", "/api/v1/tasks/<<task>>/complete", `{"result_id":"<<result>>","expected_review_state":"<<seen>>"}`)
	t.must("data.status", "completed")
	t.say("Ash accepts exactly what it has seen. The task is completed, and its history does not change any more.")
	t.call("Ash", 201, "POST", "/api/v1/artifacts", `{"task_id":"<<task>>","result_id":"<<result>>","type":"dataset","description":"Sunday hours of three libraries.","content":"north 10-16, river closed, mill 12-15"}`)
	t.must("data.provenance.accepted", "true")
	t.say("It publishes the hours for everybody, with a snapshot of where they come from.")
}
