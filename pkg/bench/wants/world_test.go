package wants_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/blob/memblob"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// obj is a JSON object.
type obj = map[string]any

// postbox keeps the mails that go out.
type postbox struct {
	mu   sync.Mutex
	sent []mail.Mail
}

func (p *postbox) Send(_ context.Context, m mail.Mail) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, m)
	return nil
}

func (p *postbox) to(address string) (all []mail.Mail) {
	for _, m := range p.sent {
		if m.To == address {
			all = append(all, m)
		}
	}
	return all
}

// world is an exchange with a mail box and a blob store.
type world struct {
	*optest.Exchange
	t     testing.TB
	mails *postbox
	blobs *memblob.Store
	made  int
}

func newWorld(t testing.TB, opts ...optest.Option) *world {
	w := &world{t: t, mails: &postbox{}}
	w.blobs = memblob.New(func() time.Time { return w.Now() }, blob.Signer{BaseURL: "http://guildhall.test", Keys: [][]byte{[]byte("sixteen bytes or more")}})
	opts = append([]optest.Option{optest.WithTimers(bids.Timers...), optest.WithEffects(outbox.Effects...),
		optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
			return outbox.With(blob.With(ctx, w.blobs), outbox.Letters{Mailer: w.mails, From: "Guildhall <hall@guildhall.test>"})
		})}, opts...)
	w.Exchange = optest.New(t, opts...)
	return w
}

// person is somebody who posts.
type person struct{ ID, Token, Email string }

func (w *world) person(name string) person {
	w.t.Helper()
	p := person{Email: name + "@people.example.test"}
	p.ID, p.Token = w.Person(p.Email)
	return p
}

// maker is a registered agent: reachable, payout not ready.
type maker struct{ ID, Token, No string }

func (w *world) maker(handle string) (m maker) {
	w.t.Helper()
	w.made++
	w.Run("bench", func(c *op.Call) (err error) {
		m.ID = c.NewID()
		a := registry.Agent{ID: m.ID, Number: w.made, Handle: handle, ReachableAt: c.Now, At: c.Now, Affiliation: registry.Independent,
			Operator: "Nine Doors Labs", Model: registry.Declared("Example Model 1"), System: registry.System{Label: "v1"}}
		m.No = a.No()
		c.Create(registry.AgentKey(m.ID), a)
		m.Token, err = account.AgentToken.Issue(c, m.ID, nil, time.Time{})
		return err
	})
	return m
}

// posting is a want with nothing wrong in it.
func posting() obj {
	return obj{"want": "A dinner table for nine people on Friday.", "finish_line": obj{"tile": "booking_on_calendar", "sentence": ""},
		"lane": obj{"kind": "paid", "ceiling_cents": 20000}}
}

// with changes an object at a dotted path; nil removes.
func with(o obj, path string, v any) obj {
	parts := strings.Split(path, ".")
	m := o
	for _, p := range parts[:len(parts)-1] {
		m = m[p].(obj)
	}
	if last := parts[len(parts)-1]; v == nil {
		delete(m, last)
	} else {
		m[last] = v
	}
	return o
}

// post posts a want and returns its id; odds, when given, are its frozen estimate.
func (w *world) post(p person, body obj, odds ...float64) string {
	w.t.Helper()
	id := w.Do(wants.Post, optest.Req{Token: p.Token, Body: body}).Want(201).Str("target_id")
	if len(odds) > 0 {
		w.Run("bench", func(c *op.Call) error { return wants.SetFrozen(c, id, &odds[0]) })
	}
	return id
}

// easy posts a want that a bid of two steps fits.
func (w *world) easy(p person) string { w.t.Helper(); return w.post(p, posting(), 0.55) }

func (w *world) want(id string) (v wants.Want) {
	w.t.Helper()
	w.Run("bench", func(c *op.Call) error {
		var found bool
		var err error
		if v, found, err = wants.Load(c, id); err == nil && !found {
			err = fmt.Errorf("no want %s", id)
		}
		return err
	})
	return v
}

func (w *world) edit(id string, fn func(*op.Call, *wants.Want) error) {
	w.t.Helper()
	w.Run("bench", func(c *op.Call) error {
		v, _, err := wants.Load(c, id)
		if err != nil {
			return err
		}
		if err := fn(c, &v); err != nil {
			return err
		}
		return v.Save(c)
	})
}

const goodBid = `{
 "model_declared": "Example Model 1", "total_ask_cents": 9000,
 "allocation": {"ad_spend": 0, "tools": 1000, "agent_work": 8000},
 "timeline_days": 7, "finish_line": "A booking on the calendar", "finish_line_cents": 1000,
 "subsidy_declared": "none_planned", "operator_relationship_disclosure": null,
 "pitch_title": "A table your whole family can agree on", "pitch_body": "I shortlist three places that fit nine people, you tap one, I hold the table.",
 "smart_goals": ["Hold one dinner table for nine people within seven days."],
 "finalist_questions": [["Which meal do people still talk about?", "Quiet room or lively room?", "Who must have the best seat?", "What would spoil the evening?"]],
 "person_cost_estimate": {"low_cents": 20000, "high_cents": 40000, "note": "Dinner for nine is yours to pay at the restaurant."},
 "steps": [
  {"title": "Choose the restaurant", "ask": "CHOOSE", "rounds": 1, "minor_detail": "Three places, one tap.",
   "outcome_promise": "I will bring three places with a free table for nine. I will not bring places over your budget.",
   "agent_court_estimate": 3, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.7,
   "declared_odds_reason": "A table for nine is scarce.",
   "har_blocks": [{"id": "place", "title": "Which place?", "format": "single_choice", "ask": "choose", "required": true,
     "config": {"display": "radio", "options": [{"id": "a", "label": "North Hall"}, {"id": "b", "label": "River Room"}, {"id": "c", "label": "Old Mill"}]}}]},
  {"title": "Approve the held table", "ask": "APPROVE", "rounds": 1,
   "outcome_promise": "I will hand you the confirmed hold with date, time and name.",
   "agent_court_estimate": 2, "person_minutes": 5, "line_item_amount": 4000, "declared_odds": 0.85,
   "har_blocks": [{"id": "ok", "title": "Is this the table?", "format": "review_approve", "ask": "approve", "required": true}]}
 ]
}`

// file files the good bid and returns its id.
func (w *world) file(m maker, target string) string {
	w.t.Helper()
	return w.Do(bids.FileProposal, optest.Req{Token: m.Token, Path: on(target), Body: goodBid}).Want(201).Str("proposal_id")
}

// name names a finalist.
func (w *world) name(p person, target, bid string) {
	w.t.Helper()
	w.Do(bids.Name, optest.Req{Token: p.Token, Path: on(target), Body: obj{"proposal_id": bid}}).Want(201)
}

// on is the path of a target, and of a bid on it.
func on(target string, bid ...string) map[string]string {
	m := map[string]string{"target_id": target}
	if len(bid) > 0 {
		m["proposal_id"] = bid[0]
	}
	return m
}

// used is what the files of a want weigh together.
func (w *world) used(target string) (n int64) {
	w.t.Helper()
	w.Run("bench", func(c *op.Call) (err error) { n, err = wants.UsedBytes(c, target); return err })
	return n
}
