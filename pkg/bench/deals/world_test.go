package deals_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/bench/steward"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
)

// m is a JSON object.
type m = map[string]any

// world is an exchange with a processor and a mail box of its own.
type world struct {
	*optest.Exchange
	t     testing.TB
	bank  *simulated.Processor
	mails *postbox

	agents int
}

const hookSecret = "whsec_for_tests"

type postbox struct{ sent []mail.Mail }

func (p *postbox) Send(_ context.Context, m mail.Mail) error { p.sent = append(p.sent, m); return nil }

func newWorld(t testing.TB, opts ...optest.Option) *world {
	w := &world{t: t, mails: &postbox{}}
	timers := append(append(append([]op.TimerKind{}, deals.Timers...), append(money.Timers, steward.Timers...)...), bids.Timers...)
	effects := append(append(append([]op.EffectKind{}, deals.Effects...), money.Effects...), outbox.Effects...)
	var err error
	w.bank, err = simulated.New(simulated.Options{Clock: func() time.Time { return w.Now() }, BaseURL: "http://guildhall.test", WebhookSecret: hookSecret})
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]optest.Option{optest.WithTimers(timers...), optest.WithEffects(effects...),
		optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
			return outbox.With(pay.With(ctx, w.bank, hookSecret), outbox.Letters{Mailer: w.mails, From: "Guildhall <hall@guildhall.test>"})
		})}, opts...)
	w.Exchange = optest.New(t, opts...)
	return w
}

// hooks delivers the processor's notices.
func (w *world) hooks() {
	w.t.Helper()
	_, err := w.bank.Deliver(context.Background(), func(_ context.Context, h simulated.Webhook) error {
		res := w.Do(deals.Hook, optest.Req{Body: h.Body, Header: m2s(m{"Stripe-Signature": h.Signature})})
		if res.Status != 200 {
			return fmt.Errorf("status %d: %s", res.Status, res.Body)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func m2s(in m) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		out[k] = v.(string)
	}
	return out
}

// agent registers a reachable agent whose payouts are ready, and returns its id and token.
func (w *world) agent(handle string) (id, token string) {
	w.t.Helper()
	w.agents++
	res := w.Do(registry.Register, optest.Req{Address: fmt.Sprintf("192.0.2.%d", w.agents), Body: m{"handle": fmt.Sprintf("%s-%d", handle, w.agents), "skills": "Booking tables.",
		"disclosure":        m{"is_ai": true, "model": "Example Model 1", "operator_label": "Two Cooks", "operator_type": "person"},
		"system_record":     m{"autonomy": "fully_autonomous", "harness": "custom", "base_models": []m{{"provider": "example", "model": "one", "version": "1"}}},
		"responsible_party": m{"legal_name": "Ann Other", "jurisdiction": "US-CA", "contact_ref": fmt.Sprintf("owner%d@example.test", w.agents)},
		"rules":             m{"accepted": true, "version_hash": rulebook.Hash()}}}).Want(201)
	id, token = res.Str("maker_id"), res.Str("rest_token")
	for range 2 {
		w.Do(registry.AckPing, optest.Req{Token: token, Body: m{}}).Want(200)
	}
	if err := w.bank.SetReady(id, true); err != nil {
		w.t.Fatal(err)
	}
	w.hooks()
	return id, token
}

// deal is a deal in a test with everybody in it.
type deal struct {
	*world
	person, agent     string // tokens
	personID, agentID string
	target, bid, id   string
	steps             []string // ids
	body              m
}

// easy is a bid of two steps over $90: CHOOSE 40, APPROVE 40, finish line 10.
func easy() m {
	var b m
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

// step makes a plan step of an ask with a control that fits it.
func step(title, ask string, cents int, more ...m) m {
	block := m{"id": "b", "title": "Your part", "required": false}
	switch ask {
	case "APPROVE":
		block["format"] = "review_approve"
	case "CHOOSE":
		block["format"] = "single_choice"
		block["config"] = m{"options": []m{{"id": "a", "label": "North Hall"}, {"id": "b", "label": "River Room"}}}
	case "PROVIDE":
		block["format"] = "written_response"
	case "GRANT":
		block["format"] = "grant_access"
	}
	s := m{"title": title, "ask": ask, "rounds": 1, "outcome_promise": "I will do " + title + ".", "agent_court_estimate": 2, "person_minutes": 5,
		"line_item_amount": cents, "declared_odds": 0.6, "har_blocks": []m{block}}
	if ask == "GRANT" {
		s["grant_request"] = m{"what": "Send mail in your name", "why": "To ask the restaurant", "scope": "One mailbox", "until": "the deal ends", "capability": "email.send_as"}
	}
	for _, x := range more {
		for k, v := range x {
			s[k] = v
		}
	}
	return s
}

// bidOf is a bid with these steps and a finish line of these cents.
func bidOf(finish int, steps ...m) m {
	b := easy()
	total := finish
	for _, s := range steps {
		total += s["line_item_amount"].(int)
	}
	b["steps"], b["finish_line_cents"], b["total_ask_cents"] = steps, finish, total
	b["allocation"] = m{"ad_spend": 0, "tools": 0, "agent_work": total}
	return b
}

// finalist posts a want and brings one bid to the point where it can be accepted.
func (w *world) finalist(body m) *deal {
	w.t.Helper()
	d := w.posted(body)
	d.target, d.bid = d.want(body), ""
	d.file(body)
	return d
}

func (w *world) posted(body m) *deal {
	d := &deal{world: w, body: body}
	w.agents++
	d.personID, d.person = w.Person(fmt.Sprintf("person%d@example.test", w.agents))
	d.agentID, d.agent = w.agent("Maker")
	return d
}

func (d *deal) want(body m) string {
	d.t.Helper()
	lane := m{"kind": "open"}
	if fmt.Sprint(body["total_ask_cents"]) == "0" {
		lane = m{"kind": "free"}
	}
	res := d.Do(wants.Post, optest.Req{Token: d.person, Body: m{"want": "A dinner table for nine on Friday.", "lane": lane,
		"finish_line": m{"tile": "booking_on_calendar", "sentence": "Nine chairs."}}}).Want(201)
	target := res.Str("target_id")
	if countSteps(body) == 2 {
		d.Run("bench", func(c *op.Call) error {
			x, _, err := wants.Load(c, target)
			odds := 0.55
			x.Frozen = &odds
			if err != nil {
				return err
			}
			return x.Save(c)
		})
	}
	return target
}

// file brings the bid through naming, handoff and informed plan.
func (d *deal) file(body m) {
	d.t.Helper()
	d.bid = d.Do(bids.FileProposal, optest.Req{Token: d.agent, Path: m2s(m{"target_id": d.target}), Body: body}).Want(201).Str("proposal_id")
	p := d.paths()
	d.Do(bids.Name, optest.Req{Token: d.person, Path: p, Body: m{"proposal_id": d.bid}}).Want(201)
	d.Do(bids.Answer, optest.Req{Token: d.person, Path: p, Body: m{"answers": []m{{"ordinal": 1, "answer": "The one with the duck."}}, "send": true}}).Want(200)
	d.Do(bids.FilePlan, optest.Req{Token: d.agent, Path: p, Body: m{"steps": body["steps"], "accept_rules": true}}).Want(200)
}

func (d *deal) paths() map[string]string {
	return map[string]string{"target_id": d.target, "proposal_id": d.bid, "deal_id": d.id}
}

func (d *deal) accept() optest.Res {
	d.t.Helper()
	return d.Do(deals.Accept, optest.Req{Token: d.person, Path: d.paths(), Body: m{"accept_rules": true}})
}

// picked accepts and pays.
func (w *world) picked(body m) *deal {
	w.t.Helper()
	d := w.finalist(body)
	d.pick()
	return d
}

func (d *deal) pick() {
	d.t.Helper()
	res := d.accept().Want(201)
	if id := res.Str("checkout_id"); id != "" {
		if err := d.bank.Complete(id, pay.Paid); err != nil {
			d.t.Fatal(err)
		}
		d.hooks()
	}
	d.id = d.Do(deals.ListDeals, optest.Req{Token: d.person}).Want(200).Str("deals.0.deal_id")
	if d.id == "" {
		d.t.Fatal("the payment made no deal")
	}
	d.steps = nil
	for _, s := range d.stored().Steps {
		d.steps = append(d.steps, s.ID)
	}
}

// signed picks and countersigns.
func (w *world) signed(body m) *deal {
	w.t.Helper()
	d := w.picked(body)
	d.sign().Want(200)
	return d
}

func (d *deal) sign() optest.Res {
	d.t.Helper()
	return d.Do(deals.Sign, optest.Req{Token: d.agent, Path: d.paths(), Body: m{}})
}

func (d *deal) pulse(percent int) optest.Res {
	d.t.Helper()
	return d.Do(deals.CheckIn, optest.Req{Token: d.agent, Path: d.paths(),
		Body: m{"changed": "no change", "now": "Working.", "next": "More work.", "progress_percent": percent}})
}

// pulses goes through every checkpoint.
func (d *deal) pulses() {
	d.t.Helper()
	for _, p := range path.Checkpoints {
		d.pulse(p).Want(201)
	}
}

func (d *deal) outcome(body m) optest.Res {
	d.t.Helper()
	return d.Do(delivery.File, optest.Req{Token: d.agent, Path: d.paths(), Body: body})
}

var note = m{"note": "Here it is."}

func document(words string) m {
	return m{"note": "Here it is.", "document": m{"title": "The hold", "blocks": []m{{"type": "paragraph", "text": words}}}}
}

// deliver works on the held step and files the form its ask takes.
func (d *deal) deliver() optest.Res {
	d.t.Helper()
	d.pulses()
	s := d.stored().Open()
	if s.Ask == "APPROVE" {
		return d.outcome(document("It is done.")).Want(201)
	}
	return d.outcome(note).Want(201)
}

func (d *deal) answer(number int, body m) optest.Res {
	d.t.Helper()
	p := d.paths()
	p["step_id"] = fmt.Sprint(number)
	return d.Do(deals.AnswerStep, optest.Req{Token: d.person, Path: p, Body: body})
}

// yes approves the step that waits, with what its blocks need.
func (d *deal) yes() optest.Res {
	d.t.Helper()
	s := d.stored().Open()
	body := m{"verdict": "approve"}
	if s.Kind == path.Finish {
		body["score"] = 9
	} else if s.Ask == "CHOOSE" {
		body["responses"] = []m{{"block_number": 1, "value": m{"choice": "a"}}}
	}
	return d.answer(s.Number, body).Want(200)
}

func (d *deal) current() optest.Res {
	d.t.Helper()
	return d.Do(deals.Current, optest.Req{Token: d.agent, Path: d.paths()}).Want(200)
}

// onStep calls an operation of the agent on a step.
func (d *deal) onStep(o *op.Operation, ref string, body m) optest.Res {
	d.t.Helper()
	p := d.paths()
	p["step_id"] = ref
	return d.Do(o, optest.Req{Token: d.agent, Path: p, Body: body})
}

// stored is the deal as it is stored.
func (d *deal) stored() *path.Deal {
	d.t.Helper()
	var got path.Deal
	d.Run("bench", func(c *op.Call) error {
		x, found, err := op.Load[path.Deal](c, deals.Key(d.id))
		if err == nil && !found {
			err = fmt.Errorf("no deal %s", d.id)
		}
		got = x
		return err
	})
	return &got
}

func (d *deal) load(fn func(c *op.Call) error) { d.t.Helper(); d.Run("bench", fn) }

func (d *deal) theWant() *wants.Want {
	var out wants.Want
	d.load(func(c *op.Call) (err error) { out, _, err = wants.Load(c, d.target); return err })
	return &out
}

func (d *deal) theBid() bids.Bid {
	var out bids.Bid
	d.load(func(c *op.Call) (err error) { out, _, err = bids.Load(c, d.bid); return err })
	return out
}

// events lists the types of the agent's feed about deals, in order.
func (d *deal) events() []string {
	d.t.Helper()
	var out []string
	d.load(func(c *op.Call) error {
		after := int64(0)
		for {
			list, more, err := record.Feed(c, d.agentID, after, record.MaxFeedPage)
			if err != nil {
				return err
			}
			for _, e := range list {
				after = e.Seq
				if e.DealID != "" {
					out = append(out, e.Type)
				}
			}
			if !more {
				return nil
			}
		}
	})
	return out
}

// money checks the law of the deal's money and returns it.
func (d *deal) money() money.Account {
	d.t.Helper()
	a := d.stored().Money
	if err := a.Check(); err != nil {
		d.t.Fatal(err)
	}
	return a
}

func (w *world) subjects() []string {
	var out []string
	for _, m := range w.mails.sent {
		out = append(out, m.Subject)
	}
	return out
}

func has(list []string, part string) bool {
	for _, s := range list {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// countSteps counts the steps of a bid, however it was made.
func countSteps(body m) int {
	raw, _ := json.Marshal(body["steps"])
	var list []any
	_ = json.Unmarshal(raw, &list)
	return len(list)
}

// common are the refusals any operation can answer.
var common = []string{"not found", "unauthorized", "invalid_json", "unsupported_media_type", "idempotency_key_required", "idempotency_conflict",
	"unknown_field", "invalid_field", "missing_field", "body_too_large", "rate_limited", "busy", "unavailable"}

// Do makes a call and holds its refusal against the declaration.
func (w *world) Do(o *op.Operation, r optest.Req) optest.Res {
	w.t.Helper()
	res := w.Exchange.Do(o, r)
	if code := res.Str("error"); res.Status >= 400 && !slices.Contains(common, code) && !slices.Contains(o.Faults, code) {
		w.t.Errorf("%s answers %q, which it does not declare", o.ID, code)
	}
	return res
}
