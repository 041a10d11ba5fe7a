// Package benchtest is the exchange in which the tests of the bench's packages run: people who
// post, agents that bid, a mail box and a blob store, and a want and a bid with nothing wrong
// in them.
package benchtest

import (
	"context"
	"encoding/json"
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

// Obj is a JSON object.
type Obj = map[string]any

// Mailbox keeps the mails that go out.
type Mailbox struct {
	mu   sync.Mutex
	Sent []mail.Mail
}

// Send implements mail.Mailer.
func (p *Mailbox) Send(_ context.Context, m mail.Mail) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Sent = append(p.Sent, m)
	return nil
}

// To lists the mails to an address, oldest first.
func (p *Mailbox) To(address string) (all []mail.Mail) {
	for _, m := range p.Sent {
		if m.To == address {
			all = append(all, m)
		}
	}
	return all
}

// World is an exchange with a mail box and a blob store.
type World struct {
	*optest.Exchange
	Mails *Mailbox
	Blobs *memblob.Store
	made  int
}

// New makes an exchange with the clocks of bids and the mails of everybody; opts come behind.
func New(t testing.TB, opts ...optest.Option) *World {
	w := &World{Mails: &Mailbox{}}
	w.Blobs = memblob.New(func() time.Time { return w.Now() }, blob.Signer{BaseURL: "http://guildhall.test", Keys: [][]byte{[]byte("sixteen bytes or more")}})
	opts = append([]optest.Option{optest.WithTimers(append(bids.Timers, wants.Timers...)...), optest.WithEffects(append(outbox.Effects, wants.Effects...)...),
		optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
			return outbox.With(blob.With(ctx, w.Blobs), outbox.Letters{Mailer: w.Mails, From: "Guildhall <hall@guildhall.test>"})
		})}, opts...)
	w.Exchange = optest.New(t, opts...)
	return w
}

// Poster is somebody who posts.
type Poster struct{ ID, Token, Email string }

// Poster makes a person.
func (w *World) Poster(name string) Poster {
	w.T.Helper()
	p := Poster{Email: name + "@people.example.test"}
	p.ID, p.Token = w.Person(p.Email)
	return p
}

// Maker is a registered agent: reachable, payout not ready.
type Maker struct{ ID, Token, No string }

// Maker makes an agent.
func (w *World) Maker(handle string) (m Maker) {
	w.T.Helper()
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

// Change edits a stored agent.
func (w *World) Change(m Maker, edit func(*registry.Agent)) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) error {
		a, err := registry.Load(c, m.ID)
		edit(&a)
		c.Put(registry.AgentKey(m.ID), a)
		return err
	})
}

// Posting is a want with nothing wrong in it.
func Posting() Obj {
	return Obj{"want": "A dinner table for nine people on Friday.", "finish_line": Obj{"tile": "booking_on_calendar", "sentence": ""},
		"lane": Obj{"kind": "paid", "ceiling_cents": 20000}}
}

// With changes an object at a dotted path; nil removes.
func With(o Obj, path string, v any) Obj {
	parts := strings.Split(path, ".")
	m := o
	for _, p := range parts[:len(parts)-1] {
		m = m[p].(Obj)
	}
	if last := parts[len(parts)-1]; v == nil {
		delete(m, last)
	} else {
		m[last] = v
	}
	return o
}

// Post posts a want and returns its id; odds, when given, are its frozen estimate.
func (w *World) Post(p Poster, body Obj, odds ...float64) string {
	w.T.Helper()
	id := w.Do(wants.Post, optest.Req{Token: p.Token, Body: body}).Want(201).Str("target_id")
	if len(odds) > 0 {
		w.Run("bench", func(c *op.Call) error { return wants.SetFrozen(c, id, &odds[0]) })
	}
	return id
}

// Easy posts a want that a bid of two steps fits.
func (w *World) Easy(p Poster) string { w.T.Helper(); return w.Post(p, Posting(), 0.55) }

// Want reads a want as it is stored.
func (w *World) Want(id string) (v wants.Want) {
	w.T.Helper()
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

// Edit changes a stored want.
func (w *World) Edit(id string, fn func(*op.Call, *wants.Want) error) {
	w.T.Helper()
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

// Bid is the contract's body that passes every gate (bench.md 5.15).
func Bid() Obj {
	var b Obj
	if err := json.Unmarshal([]byte(GoodBid), &b); err != nil {
		panic(err)
	}
	return b
}

// GoodBid is Bid as text.
const GoodBid = `{
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

// File files the good bid and returns its id.
func (w *World) File(m Maker, target string) string {
	w.T.Helper()
	return w.Do(bids.FileProposal, optest.Req{Token: m.Token, Path: On(target), Body: GoodBid}).Want(201).Str("proposal_id")
}

// Name names a finalist.
func (w *World) Name(p Poster, target, bid string) {
	w.T.Helper()
	w.Do(bids.Name, optest.Req{Token: p.Token, Path: On(target), Body: Obj{"proposal_id": bid}}).Want(201)
}

// Hand sends the person's answers, none of them given.
func (w *World) Hand(p Poster, target, bid string) {
	w.T.Helper()
	w.Do(bids.Answer, optest.Req{Token: p.Token, Path: On(target, bid), Body: Obj{"answers": []Obj{}, "send": true}}).Want(200)
}

// On is the path of a target, and of a bid on it.
func On(target string, bid ...string) map[string]string {
	m := map[string]string{"target_id": target}
	if len(bid) > 0 {
		m["proposal_id"] = bid[0]
	}
	return m
}
