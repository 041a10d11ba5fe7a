package dealtest

import (
	"fmt"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay"
)

// Deal is a deal in a test with everybody in it.
type Deal struct {
	Person, Agent     string // tokens
	PersonID, AgentID string
	Target, Bid, ID   string
	Steps             []string // ids
	Body              M

	hall *Hall
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

// Another is another attempt of the same agent at the same want: nothing is filed yet.
func (d *Deal) Another() *Deal {
	a := *d
	a.Bid, a.ID, a.Steps = "", "", nil
	return &a
}
