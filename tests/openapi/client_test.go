package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/wire"
	"guildhall/tests/openapi"
)

type args = map[string]any

// client calls operations by their operationId and knows nothing else of the exchange but
// the document.
type client struct {
	t     *testing.T
	base  string
	doc   *openapi.Document
	keys  int
	calls map[string]int
}

// actor is who calls: a credential for each security scheme it has one for.
type actor map[string]string

var anyone = actor{}

// call calls an operation and returns its answer, which has been held against the
// document. Arguments go where the document places them; those it does not name as
// parameters make the body.
func (c *client) call(who actor, id string, in args) answer {
	c.t.Helper()
	o := c.doc.Operations[id]
	if o == nil {
		c.t.Fatalf("the document has no operation %s", id)
	}
	path, rest, err := o.Address(in)
	if err != nil {
		c.t.Fatal(err)
	}
	var body io.Reader
	if o.Body != nil && (len(rest) > 0 || o.Body.Required) {
		b, _ := json.Marshal(rest)
		if err := c.doc.Sends(o, b); err != nil {
			c.t.Fatalf("%v\nbody %s", err, b)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequest(o.Method, c.base+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.headers(o, req)
	c.sign(o, req, who)
	return c.send(o, req)
}

// headers sets the header parameters a document asks for.
func (c *client) headers(o *openapi.Operation, req *http.Request) {
	for _, p := range o.Parameters {
		if p.In != "header" || !p.Required {
			continue
		}
		if p.Name != "Idempotency-Key" {
			c.t.Fatalf("%s asks for the header %s, which nobody gave", o.ID, p.Name)
		}
		c.keys++
		req.Header.Set(p.Name, fmt.Sprint("client-", c.keys))
	}
}

func (c *client) sign(o *openapi.Operation, req *http.Request, who actor) {
	for _, option := range o.Security {
		for scheme := range option {
			if token := who[scheme]; token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
				return
			}
		}
	}
	if len(o.Security) > 0 {
		c.t.Fatalf("%s asks for one of %v, which the actor lacks", o.ID, o.Security)
	}
}

func (c *client) send(o *openapi.Operation, req *http.Request) answer {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.doc.Answers(o, res.StatusCode, res.Header.Get("Content-Type"), b); err != nil {
		c.t.Errorf("%v\n%s", err, b)
	}
	if res.StatusCode >= 300 {
		c.t.Fatalf("%s: %d %s", o.ID, res.StatusCode, b)
	}
	c.calls[o.ID]++
	var v map[string]any
	_ = json.Unmarshal(b, &v)
	return answer{c.t, v}
}

type answer struct {
	t *testing.T
	v any
}

// at reads a member by a dotted path.
func (a answer) at(path string) any {
	a.t.Helper()
	v := a.v
	for part := range strings.SplitSeq(path, ".") {
		switch m := v.(type) {
		case map[string]any:
			v = m[part]
		case []any:
			if len(m) == 0 {
				a.t.Fatalf("no entries at %s", path)
			}
			v = m[0]
		default:
			a.t.Fatalf("no %s in %v", path, a.v)
		}
	}
	return v
}

func (a answer) text(path string) string {
	a.t.Helper()
	s, ok := a.at(path).(string)
	if !ok {
		a.t.Fatalf("%s is no text but %v", path, a.at(path))
	}
	return s
}

func (a answer) is(path string, want any) {
	a.t.Helper()
	if got := a.at(path); fmt.Sprint(got) != fmt.Sprint(want) {
		a.t.Errorf("%s is %v, want %v", path, got, want)
	}
}

// world is an exchange, a client of its document, and its mail and payments, which are no
// part of the API.
type world struct {
	*client
	x *wire.Exchange
}

func newWorld(t *testing.T) *world {
	x, base := exchange(t, nil)
	doc, err := openapi.Read(fetch(t, base+"/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	return &world{client: &client{t: t, base: base, doc: doc, calls: map[string]int{}}, x: x}
}

// settle lets effects happen.
func (w *world) settle() {
	w.t.Helper()
	if _, err := w.x.Runner.Settle(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// mailed is the token of the newest link mailed to an address.
func (w *world) mailed(to string) string {
	w.t.Helper()
	w.settle()
	all := w.x.Box.Messages(to)
	if len(all) == 0 {
		w.t.Fatalf("no mail to %s", to)
	}
	_, rest, ok := strings.Cut(all[len(all)-1].Text, "token=")
	if !ok {
		w.t.Fatalf("no link in %q", all[len(all)-1].Text)
	}
	return strings.Fields(rest)[0]
}

// person signs in with a mailed link.
func (w *world) person(email string) actor {
	w.call(anyone, "person.session.request", args{"email": email})
	in := w.call(anyone, "person.session.complete", args{"token": w.mailed(email)})
	return actor{"personToken": in.text("token")}
}

// agent registers an agent and shows that it listens.
func (w *world) agent(handle string) (actor, string) {
	protocol := w.call(anyone, "bench.protocol.read", nil)
	record := args{
		"handle": handle, "skills": "Finds, books and arranges things.",
		"disclosure":        args{"is_ai": true, "model": "Example Model 1", "operator_label": "Works", "operator_type": "person"},
		"system_record":     args{"autonomy": "fully_autonomous", "harness": "none", "base_models": []args{{"provider": "Example", "model": "Example Model", "version": "1"}}},
		"responsible_party": args{"legal_name": "Pat Example", "jurisdiction": "US-CA", "contact_ref": handle + "@agents.example.com"},
		"rules":             args{"accepted": true, "version_hash": protocol.text("rules_version_hash")},
	}
	w.call(anyone, "bench.agent.validate", record).is("would_register", true)
	made := w.call(anyone, "bench.agent.register", record)
	who := actor{"agentToken": made.text("rest_token")}
	w.call(anyone, "bench.contact.confirm", args{"token": w.mailed(handle + "@agents.example.com")}).is("confirmed", true)
	w.call(who, "bench.ping.ack", nil)
	w.call(who, "bench.ping.ack", nil).text("reachable_at")
	w.call(anyone, "bench.agent.list", nil)
	w.call(anyone, "bench.agent.read", args{"registry_no": made.text("registry_no")})
	w.call(who, "bench.me.read", nil).is("handle", handle)
	return who, made.text("maker_id")
}

func block(id, format, ask string, more args) args {
	b := args{"id": id, "title": "Which one?", "format": format, "ask": ask, "required": true}
	for k, v := range more {
		b[k] = v
	}
	return b
}

func steps() []args {
	return []args{
		{"title": "Choose the restaurant", "ask": "CHOOSE", "rounds": 1, "minor_detail": "Three places, one tap.",
			"outcome_promise":      "I will bring three places with a free table for nine. I will not bring places over your budget.",
			"agent_court_estimate": 3, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.7, "declared_odds_reason": "A table for nine is scarce.",
			"har_blocks": []args{block("place", "single_choice", "choose", args{"config": args{"display": "radio",
				"options": []args{{"id": "a", "label": "North Hall"}, {"id": "b", "label": "River Room"}, {"id": "c", "label": "Old Mill"}}}})}},
		{"title": "Approve the held table", "ask": "APPROVE", "rounds": 1, "outcome_promise": "I will hand you the confirmed hold with date, time and name.",
			"agent_court_estimate": 2, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.85,
			"har_blocks": []args{block("ok", "review_approve", "approve", nil)}},
	}
}

// TestAStrangersClientHiresFromTheDocumentAlone is the first hire, by a client that was
// given /openapi.json and nothing else.
func TestAStrangersClientHiresFromTheDocumentAlone(t *testing.T) {
	w := newWorld(t)
	alice := w.person("alice@example.com")
	crow, makerID := w.agent("crow")
	target := w.post(alice)
	deal := w.hire(alice, crow, makerID, target)
	w.work(alice, crow, target, deal)
	w.call(alice, "person.session.end", nil)
	w.unused(t)
}

// post posts a want and finds it on the board.
func (w *world) post(alice actor) (target string) {
	steward := actor{"personToken": w.steward("sam@example.com")}
	w.call(steward, "steward.odds.set", args{"tile": "booking_on_calendar", "lane_kind": "paid", "probability": 0.55})
	w.call(steward, "steward.odds.list", nil)
	target = w.call(alice, "person.want.post", args{
		"want": "A dinner table for nine people on Friday evening.", "finish_line": args{"tile": "booking_on_calendar", "sentence": "A table for nine on Friday."},
		"lane": args{"kind": "paid", "ceiling_cents": 20000}, "baseline": []args{{"question": "Any allergies?", "answer": ""}}, "location": "Lisbon"}).text("target_id")
	w.call(anyone, "bench.board.read", nil).is("wants.0.id", target)
	w.call(alice, "person.want.list", nil)
	w.call(alice, "person.want.read", args{"target_id": target})
	return target
}

// hire carries a bid from the brief to the signature.
func (w *world) hire(alice, crow actor, makerID, target string) (deal string) {
	w.call(crow, "bench.target.open", nil)
	w.call(crow, "bench.target.brief", args{"target_id": target}).is("brief.your_bid", nil)
	bid := w.call(crow, "bench.proposal.file", args{"target_id": target,
		"model_declared": "Example Model 1", "total_ask_cents": 9000, "allocation": args{"ad_spend": 0, "tools": 1000, "agent_work": 8000},
		"timeline_days": 7, "finish_line": "A booking on the calendar", "finish_line_cents": 1000,
		"pitch_title": "A table your whole family can agree on", "pitch_body": "I shortlist three places that fit nine people, you tap one, I hold the table.",
		"smart_goals":        []string{"Hold one dinner table for nine people within seven days."},
		"finalist_questions": [][]string{{"Which meal do people still talk about?", "Quiet room or lively room?", "Who must have the best seat?", "What would spoil the evening?"}},
		"steps":              steps()}).text("proposal_id")
	w.call(crow, "bench.proposal.mine", nil)
	one := args{"target_id": target, "proposal_id": bid}
	w.call(alice, "person.want.bids", args{"target_id": target})
	w.call(alice, "person.want.bid", one)
	w.call(alice, "person.finalist.name", one)
	w.call(alice, "person.finalist.answers-save", args{"target_id": target, "proposal_id": bid, "send": true,
		"answers": []args{{"ordinal": 1, "answer": "The lamb of last Easter."}}})
	w.call(crow, "bench.proposal.answers", one)
	w.call(crow, "bench.payout.link", nil)
	if err := w.x.Payments.SetReady(makerID, true); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
	plan := w.call(crow, "bench.proposal.plan", args{"target_id": target, "proposal_id": bid, "steps": steps(), "accept_rules": true})
	held := w.call(alice, "person.bid.accept", args{"target_id": target, "proposal_id": bid, "accept_rules": true, "plan_revised_at": plan.text("plan_revised_at")})
	w.pay(held.text("checkout_id"))
	next := w.call(crow, "bench.me.attention", nil)
	next.is("attention.0.kind", "sign_deal")
	deal = next.text("attention.0.deal_id")
	w.call(alice, "person.deal.read", args{"deal_id": deal}).is("money.held_cents", 9000)
	w.call(crow, "bench.deal.sign", args{"deal_id": deal, "accept_rules": true})
	return deal
}

// work delivers every step and ends with the money where it belongs.
func (w *world) work(alice, crow actor, target, deal string) {
	deliver := func(outcome args) {
		for _, percent := range []int{25, 50, 75, 100} {
			w.call(crow, "bench.deal.check-in", args{"deal_id": deal, "changed": "more done", "now": "calling", "next": "your tap", "progress_percent": percent})
		}
		outcome["target_id"] = target
		w.call(crow, "bench.outcome.file", outcome)
	}
	deliver(args{"note": "Three places, all with a free table for nine."})
	w.call(alice, "person.step.read", args{"deal_id": deal, "step_id": "2"})
	w.call(alice, "person.step.answer", args{"deal_id": deal, "step_id": "2", "verdict": "approve",
		"responses": []args{{"block_number": 1, "value": args{"choice": "b"}}}}).is("released_cents", 4000)
	w.call(crow, "bench.step.current", args{"deal_id": deal}).is("current_step.step_number", 3)
	deliver(args{"note": "The table is held.", "document": args{"title": "Your table", "blocks": []args{{"type": "paragraph", "text": "River Room, Friday at eight."}}}})
	w.call(alice, "person.step.answer", args{"deal_id": deal, "step_id": "3", "verdict": "approve",
		"responses": []args{{"block_number": 1, "value": args{"verdict": "approve"}}}})
	w.call(alice, "person.step.answer", args{"deal_id": deal, "step_id": "4", "verdict": "approve", "score": 9}).is("end_cause", "resolved")
	w.settle()
	w.call(crow, "bench.wallet.read", nil).is("balance.released_cents", 9000)
	w.call(crow, "bench.event.list", nil)
	w.call(alice, "person.deal.list", nil)
	w.call(alice, "person.deal.read", args{"deal_id": deal}).is("money.released_cents", 9000)
}

// unused tells what the document has that the path did not walk.
func (w *world) unused(t *testing.T) {
	var left []string
	for id := range w.doc.Operations {
		if (strings.HasPrefix(id, "bench.") || strings.HasPrefix(id, "person.")) && w.calls[id] == 0 {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	t.Logf("%d operations called; not on this path: %s", len(w.calls), strings.Join(left, " "))
}
