// Package dealtest is the exchange in which the tests of deals and of the stewards run: people
// and agents brought to a finalist's bid, a picked deal or a signed one, a processor and a mail
// box.
package dealtest

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

// M is a JSON object.
type M = map[string]any

// Hall is an exchange with a processor and a mail box of its own.
type Hall struct {
	*optest.Exchange
	Bank  *simulated.Processor
	Mails *Postbox

	agents int
}

// HookSecret signs the processor's notices.
const HookSecret = "whsec_for_tests"

// Postbox keeps the mails that go out.
type Postbox struct{ Sent []mail.Mail }

// Send implements mail.Mailer.
func (p *Postbox) Send(_ context.Context, m mail.Mail) error { p.Sent = append(p.Sent, m); return nil }

// New makes an exchange with every clock and side effect of bids, deals and stewards.
func New(t testing.TB, opts ...optest.Option) *Hall {
	w := &Hall{Mails: &Postbox{}}
	timers := append(append(append([]op.TimerKind{}, deals.Timers...), append(money.Timers, steward.Timers...)...), bids.Timers...)
	effects := append(append(append([]op.EffectKind{}, deals.Effects...), money.Effects...), outbox.Effects...)
	var err error
	w.Bank, err = simulated.New(simulated.Options{Clock: func() time.Time { return w.Now() }, BaseURL: "http://guildhall.test", WebhookSecret: HookSecret})
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]optest.Option{optest.WithTimers(timers...), optest.WithEffects(effects...),
		optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
			return outbox.With(pay.With(ctx, w.Bank, HookSecret), outbox.Letters{Mailer: w.Mails, From: "Guildhall <hall@guildhall.test>"})
		})}, opts...)
	w.Exchange = optest.New(t, opts...)
	return w
}

// Hooks delivers the processor's notices.
func (w *Hall) Hooks() {
	w.T.Helper()
	_, err := w.Bank.Deliver(context.Background(), func(_ context.Context, h simulated.Webhook) error {
		res := w.Do(deals.Hook, optest.Req{Body: h.Body, Header: Strings(M{"Stripe-Signature": h.Signature})})
		if res.Status != 200 {
			return fmt.Errorf("status %d: %s", res.Status, res.Body)
		}
		return nil
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// Strings makes a path or a header of an object of strings.
func Strings(in M) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		out[k] = v.(string)
	}
	return out
}

// Agent registers a reachable agent whose payouts are ready, and returns its id and token.
func (w *Hall) Agent(handle string) (id, token string) {
	w.T.Helper()
	w.agents++
	res := w.Do(registry.Register, optest.Req{Address: fmt.Sprintf("192.0.2.%d", w.agents), Body: M{"handle": fmt.Sprintf("%s-%d", handle, w.agents), "skills": "Booking tables.",
		"disclosure":        M{"is_ai": true, "model": "Example Model 1", "operator_label": "Two Cooks", "operator_type": "person"},
		"system_record":     M{"autonomy": "fully_autonomous", "harness": "custom", "base_models": []M{{"provider": "example", "model": "one", "version": "1"}}},
		"responsible_party": M{"legal_name": "Ann Other", "jurisdiction": "US-CA", "contact_ref": fmt.Sprintf("owner%d@example.test", w.agents)},
		"rules":             M{"accepted": true, "version_hash": rulebook.Hash()}}}).Want(201)
	id, token = res.Str("maker_id"), res.Str("rest_token")
	for range 2 {
		w.Do(registry.AckPing, optest.Req{Token: token, Body: M{}}).Want(200)
	}
	if err := w.Bank.SetReady(id, true); err != nil {
		w.T.Fatal(err)
	}
	w.Hooks()
	return id, token
}

// Deal is a deal in a test with everybody in it.
type Deal struct {
	Person, Agent     string // tokens
	PersonID, AgentID string
	Target, Bid, ID   string
	Steps             []string // ids
	Body              M

	hall *Hall
}

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

// Finalist posts a want and brings one bid to the point where it can be accepted.
func (w *Hall) Finalist(body M) *Deal {
	w.T.Helper()
	d := w.Posted(body)
	d.Target, d.Bid = d.Want(body), ""
	d.File(body)
	return d
}

// Posted makes a person and an agent; nothing else is there yet.
func (w *Hall) Posted(body M) *Deal {
	d := &Deal{hall: w, Body: body}
	w.agents++
	d.PersonID, d.Person = w.Person(fmt.Sprintf("person%d@example.test", w.agents))
	d.AgentID, d.Agent = w.Agent("Maker")
	return d
}

// Want posts a want that the bid fits and returns its id.
func (d *Deal) Want(body M) string {
	d.hall.T.Helper()
	lane := M{"kind": "open"}
	if fmt.Sprint(body["total_ask_cents"]) == "0" {
		lane = M{"kind": "free"}
	}
	res := d.hall.Do(wants.Post, optest.Req{Token: d.Person, Body: M{"want": "A dinner table for nine on Friday.", "lane": lane,
		"finish_line": M{"tile": "booking_on_calendar", "sentence": "Nine chairs."}}}).Want(201)
	target := res.Str("target_id")
	if CountSteps(body) == 2 {
		d.hall.Run("bench", func(c *op.Call) error {
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

// File brings the bid through naming, handoff and informed plan.
func (d *Deal) File(body M) {
	d.hall.T.Helper()
	d.Bid = d.hall.Do(bids.FileProposal, optest.Req{Token: d.Agent, Path: Strings(M{"target_id": d.Target}), Body: body}).Want(201).Str("proposal_id")
	p := d.Paths()
	d.hall.Do(bids.Name, optest.Req{Token: d.Person, Path: p, Body: M{"proposal_id": d.Bid}}).Want(201)
	d.hall.Do(bids.Answer, optest.Req{Token: d.Person, Path: p, Body: M{"answers": []M{{"ordinal": 1, "answer": "The one with the duck."}}, "send": true}}).Want(200)
	d.hall.Do(bids.FilePlan, optest.Req{Token: d.Agent, Path: p, Body: M{"steps": body["steps"], "accept_rules": true}}).Want(200)
}

// Paths are the ids a path may name.
func (d *Deal) Paths() map[string]string {
	return map[string]string{"target_id": d.Target, "proposal_id": d.Bid, "deal_id": d.ID}
}

// Accept is the person's acceptance.
func (d *Deal) Accept() optest.Res {
	d.hall.T.Helper()
	return d.hall.Do(deals.Accept, optest.Req{Token: d.Person, Path: d.Paths(), Body: M{"accept_rules": true}})
}

// Picked accepts and pays.
func (w *Hall) Picked(body M) *Deal {
	w.T.Helper()
	d := w.Finalist(body)
	d.Pick()
	return d
}

// Pick accepts, pays and finds the deal.
func (d *Deal) Pick() {
	d.hall.T.Helper()
	res := d.Accept().Want(201)
	if id := res.Str("checkout_id"); id != "" {
		if err := d.hall.Bank.Complete(id, pay.Paid); err != nil {
			d.hall.T.Fatal(err)
		}
		d.hall.Hooks()
	}
	d.ID = d.hall.Do(deals.ListDeals, optest.Req{Token: d.Person}).Want(200).Str("deals.0.deal_id")
	if d.ID == "" {
		d.hall.T.Fatal("the payment made no deal")
	}
	d.Steps = nil
	for _, s := range d.Stored().Steps {
		d.Steps = append(d.Steps, s.ID)
	}
}

// Signed picks and countersigns.
func (w *Hall) Signed(body M) *Deal {
	w.T.Helper()
	d := w.Picked(body)
	d.Sign().Want(200)
	return d
}

// Sign is the agent's countersignature.
func (d *Deal) Sign() optest.Res {
	d.hall.T.Helper()
	return d.hall.Do(deals.Sign, optest.Req{Token: d.Agent, Path: d.Paths(), Body: M{}})
}

// Pulse is a sign of life.
func (d *Deal) Pulse(percent int) optest.Res {
	d.hall.T.Helper()
	return d.hall.Do(deals.CheckIn, optest.Req{Token: d.Agent, Path: d.Paths(),
		Body: M{"changed": "no change", "now": "Working.", "next": "More work.", "progress_percent": percent}})
}

// Pulses goes through every checkpoint.
func (d *Deal) Pulses() {
	d.hall.T.Helper()
	for _, p := range path.Checkpoints {
		d.Pulse(p).Want(201)
	}
}

// Outcome files an outcome on the held step.
func (d *Deal) Outcome(body M) optest.Res {
	d.hall.T.Helper()
	return d.hall.Do(delivery.File, optest.Req{Token: d.Agent, Path: d.Paths(), Body: body})
}

// Note is an outcome of words alone.
var Note = M{"note": "Here it is."}

// Document is an outcome with a document.
func Document(words string) M {
	return M{"note": "Here it is.", "document": M{"title": "The hold", "blocks": []M{{"type": "paragraph", "text": words}}}}
}

// Deliver works on the held step and files the form its ask takes.
func (d *Deal) Deliver() optest.Res {
	d.hall.T.Helper()
	d.Pulses()
	s := d.Stored().Open()
	if s.Ask == "APPROVE" {
		return d.Outcome(Document("It is done.")).Want(201)
	}
	return d.Outcome(Note).Want(201)
}

// Answer is the person's answer to a step.
func (d *Deal) Answer(number int, body M) optest.Res {
	d.hall.T.Helper()
	p := d.Paths()
	p["step_id"] = fmt.Sprint(number)
	return d.hall.Do(deals.AnswerStep, optest.Req{Token: d.Person, Path: p, Body: body})
}

// Yes approves the step that waits, with what its blocks need.
func (d *Deal) Yes() optest.Res {
	d.hall.T.Helper()
	s := d.Stored().Open()
	body := M{"verdict": "approve"}
	if s.Kind == path.Finish {
		body["score"] = 9
	} else if s.Ask == "CHOOSE" {
		body["responses"] = []M{{"block_number": 1, "value": M{"choice": "a"}}}
	}
	return d.Answer(s.Number, body).Want(200)
}

// Current is where the deal stands, as its agent reads it.
func (d *Deal) Current() optest.Res {
	d.hall.T.Helper()
	return d.hall.Do(deals.Current, optest.Req{Token: d.Agent, Path: d.Paths()}).Want(200)
}

// OnStep calls an operation of the agent on a step.
func (d *Deal) OnStep(o *op.Operation, ref string, body M) optest.Res {
	d.hall.T.Helper()
	p := d.Paths()
	p["step_id"] = ref
	return d.hall.Do(o, optest.Req{Token: d.Agent, Path: p, Body: body})
}

// Stored is the deal as it is stored.
func (d *Deal) Stored() *path.Deal {
	d.hall.T.Helper()
	var got path.Deal
	d.hall.Run("bench", func(c *op.Call) error {
		x, found, err := op.Load[path.Deal](c, deals.Key(d.ID))
		if err == nil && !found {
			err = fmt.Errorf("no deal %s", d.ID)
		}
		got = x
		return err
	})
	return &got
}

// Load runs a function that reads or writes the store.
func (d *Deal) Load(fn func(c *op.Call) error) { d.hall.T.Helper(); d.hall.Run("bench", fn) }

// TheWant is the deal's want as it is stored.
func (d *Deal) TheWant() *wants.Want {
	var out wants.Want
	d.Load(func(c *op.Call) (err error) { out, _, err = wants.Load(c, d.Target); return err })
	return &out
}

// TheBid is the deal's bid as it is stored.
func (d *Deal) TheBid() bids.Bid {
	var out bids.Bid
	d.Load(func(c *op.Call) (err error) { out, _, err = bids.Load(c, d.Bid); return err })
	return out
}

// Pending lists the words of the public ledger about the deal that wait for their place.
func (d *Deal) Pending() (words []record.Word) {
	d.hall.T.Helper()
	d.Load(func(c *op.Call) error {
		for _, shard := range []string{"0", "1", "2", "3"} {
			events, _, err := record.PendingPage(c, shard, 200)
			if err != nil {
				return err
			}
			for _, e := range events {
				if e.Refs.DealID == d.ID {
					words = append(words, e.Event)
				}
			}
		}
		return nil
	})
	return words
}

// Events lists the types of the agent's feed about deals, in order.
func (d *Deal) Events() []string {
	d.hall.T.Helper()
	var out []string
	d.Load(func(c *op.Call) error {
		after := int64(0)
		for {
			list, more, err := record.Feed(c, d.AgentID, after, record.MaxFeedPage)
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

// Money checks the law of the deal's money and returns it.
func (d *Deal) Money() money.Account {
	d.hall.T.Helper()
	a := d.Stored().Money
	if err := a.Check(); err != nil {
		d.hall.T.Fatal(err)
	}
	return a
}

// Subjects are those of the mails, oldest first.
func (w *Hall) Subjects() []string {
	var out []string
	for _, m := range w.Mails.Sent {
		out = append(out, m.Subject)
	}
	return out
}

// Has tells whether one of the texts holds a part.
func Has(list []string, part string) bool {
	for _, s := range list {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// CountSteps counts the steps of a bid, however it was made.
func CountSteps(body M) int {
	raw, _ := json.Marshal(body["steps"])
	var list []any
	_ = json.Unmarshal(raw, &list)
	return len(list)
}

// common are the refusals any operation can answer.
var common = []string{"not found", "unauthorized", "invalid_json", "unsupported_media_type", "idempotency_key_required", "idempotency_conflict",
	"unknown_field", "invalid_field", "missing_field", "body_too_large", "rate_limited", "busy", "unavailable"}

// Do makes a call and holds its refusal against the declaration.
func (w *Hall) Do(o *op.Operation, r optest.Req) optest.Res {
	w.T.Helper()
	res := w.Exchange.Do(o, r)
	if code := res.Str("error"); res.Status >= 400 && !slices.Contains(common, code) && !slices.Contains(o.Faults, code) {
		w.T.Errorf("%s answers %q, which it does not declare", o.ID, code)
	}
	return res
}

// Another is another attempt of the same agent at the same want: nothing is filed yet.
func (d *Deal) Another() *Deal {
	a := *d
	a.Bid, a.ID, a.Steps = "", "", nil
	return &a
}
