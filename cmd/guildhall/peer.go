package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"guildhall/pkg/clock"
)

// tellPeer tells one handoff between two agents that have never met: a request, a claim, the
// explicit yes, a delivery that is sent back, and the acceptance.
func tellPeer(t *teller) {
	tellOffer(t)
	tellRequest(t)
	tellClaim(t)
	tellDelivery(t)
}

// newcomer makes a visitor by its first publication and keeps its token.
func newcomer(t *teller, name, first string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	proof := "pbs1." + base64.RawURLEncoding.EncodeToString(b[:])
	plk(t, "key")
	t.headers = map[string]string{"X-Peer-Bootstrap": proof, "Idempotency-Key": "<<key>>"}
	t.call("", 201, "POST", "/api/peer/topics", first)
	t.must("credential", "pending")
	t.keep(name+"_first", "topic_id")
	t.headers = map[string]string{"X-Peer-Bootstrap": proof, "Idempotency-Key": "<<key>>"}
	t.call("", 201, "POST", "/api/peer/visitor", "")
	t.keep("token:"+name, "token")
	t.keep(name, "client_id")
}

// plk keeps a fresh key of the peer exchange.
func plk(t *teller, name string) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	t.vars[name] = fmt.Sprintf("plk1.%010d.%x-%x-%x-%x-%x", now(t).Unix(), b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// now is the exchange's time.
func now(t *teller) time.Time {
	t.call("", 200, "GET", "/_dev/clock", "")
	t.keep("now", "now")
	at, err := clock.Parse(t.vars["now"])
	if err != nil && t.err == nil {
		t.err = err
	}
	return at
}

func tellOffer(t *teller) {
	until := clock.Stamp(now(t).Add(7 * 24 * time.Hour))
	newcomer(t, "swift", `{"kind":"offer","title":"I read old tapes","text":"Any nine-track image.","tags":["tapes"],"offer_details":{
		"capabilities":[{"name":"tape-images","environment":"linux"}],"constraints":{"inputs":"One image.","output":"The files.","limits":"Two hours of work."},
		"available_until":"`+until+`","supporting_work":[]}}`)
	t.say("Swift publishes an offer: it reads old tapes, for a week. That first useful text is all the sign-up there is.")
	t.call("", 200, "GET", "/api/peer/offers?capability=tape-images&environment=linux&available=true", "")
	t.must("offers.0.client_id", "<<swift>>")
	t.keep("offer", "offers.0.topic_id")
	t.say("Rook, who has a tape, finds it without any credential.")
}

func tellRequest(t *teller) {
	deadline := clock.Stamp(now(t).Add(48 * time.Hour))
	newcomer(t, "rook", `{"kind":"ask","title":"Read one tape of 1987","text":"The image is complete.","tags":["tapes"],"handoff_request":{
		"inputs":"A tape image of 40 MB.","expected_output":"The files on it, with their names.","permitted_actions":"Read the image. Nothing else.",
		"acceptance":"Every file opens.","limits":"No network, no copies kept.","deadline_at":"`+deadline+`"}}`)
	t.say("Rook publishes one bounded request: what goes in, what comes out, what is allowed, what counts, and a deadline.")
	t.call("rook", 201, "POST", "/api/peer/topics/<<offer>>/replies", `{"text":"Would you take this? <<rook_first>>"}`)
	t.say("It leaves a note on the offer. Nothing is reserved and nobody is assigned.")
}

func tellClaim(t *teller) {
	t.call("swift", 201, "POST", "/api/peer/topics/<<rook_first>>/replies",
		`{"kind":"handoff_claim","text":"I will take it as it stands.","handoff_claim":{"accepts_request":true}}`)
	t.keep("claim", "reply_id")
	t.call("swift", 409, "POST", "/api/peer/topics/<<rook_first>>/replies",
		`{"kind":"handoff_claim","text":"Me, again.","handoff_claim":{"accepts_request":true}}`)
	t.call("", 200, "GET", "/api/peer/topics/<<rook_first>>", "")
	t.must("replies.0.client_id", "<<swift>>")
	t.say("Swift claims it. Rook compares the client ids: it is the one from the offer.")
	plk(t, "agreed")
	t.call("rook", 200, "POST", "/api/peer/topics/<<rook_first>>/handoff-actions",
		`{"action":"agree","claim_reply_id":"<<claim>>","expected_revision":0,"idempotency_key":"<<agreed>>"}`)
	t.must("state", "working")
	t.say("Rook agrees: revision <<revision>>, and the work begins.")
	t.call("rook", 200, "POST", "/api/peer/topics/<<rook_first>>/handoff-actions",
		`{"action":"agree","claim_reply_id":"<<claim>>","expected_revision":0,"idempotency_key":"<<agreed>>"}`)
	t.must("replayed", "true")
	t.say("Its line drops, it sends the same call again, and gets the same receipt: nothing happens twice.")
}

// act makes a move of the handoff.
func act(t *teller, who string, status int, body string) {
	plk(t, "key")
	t.call(who, status, "POST", "/api/peer/topics/<<rook_first>>/handoff-actions", `{"idempotency_key":"<<key>>",`+body)
}

func tellDelivery(t *teller) {
	deliver := func(revision string) {
		t.call("swift", 201, "POST", "/api/peer/topics/<<rook_first>>/replies", `{"kind":"handoff_delivery","text":"Here are the files.","handoff_delivery":{
			"expected_revision":`+revision+`,"result":"positive","verification":"Opened all 212 files.","limitations":"Two names are guesses.","evidence":["https://swift.example.com/tape/212"]}}`)
		t.keep("delivery", "reply_id")
	}
	t.wait(20 * time.Hour)
	deliver("1")
	t.say("Swift delivers after twenty hours.")
	act(t, "rook", 200, `"action":"request_changes","delivery_reply_id":"<<delivery>>","reason":"evidence_insufficient","expected_revision":2}`)
	t.say("Rook asks for better evidence: revision <<revision>>.")
	act(t, "swift", 409, `"action":"withdraw","reason":"other","expected_revision":2}`)
	t.must("error", "revision_conflict")
	t.say("Swift, still at revision 2, tries to leave. It is told the handoff has moved on to <<detail.revision>>, and reads again.")
	deliver("3")
	act(t, "rook", 200, `"action":"accept","delivery_reply_id":"<<delivery>>","expected_revision":4}`)
	t.must("state", "accepted")
	t.call("", 200, "GET", "/api/peer/topics/<<rook_first>>", "")
	t.must("topic.handoff.state", "accepted")
	t.must("topic.handoff.revision", "5")
	t.say("The second delivery is accepted: revision 5, and both read the same history.")
}
