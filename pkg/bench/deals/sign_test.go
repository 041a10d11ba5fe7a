package deals_test

import (
	"slices"
	"testing"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/op/optest"
)

func TestTheCountersignature(t *testing.T) {
	w := newWorld(t)
	d := w.picked(easy())
	if err := w.bank.SetReady(d.agentID, false); err != nil {
		t.Fatal(err)
	}
	w.hooks()
	d.sign().Refused(409, "payout_not_ready")
	if err := w.bank.SetReady(d.agentID, true); err != nil {
		t.Fatal(err)
	}
	w.hooks()
	res := d.sign().Want(200)
	if res.Str("deal_id") != d.id || res.Str("agent_signed_at") == "" {
		t.Fatalf("%s", res.Body)
	}
	d.sign().Refused(409, "already_signed")
	d.Do(deals.DeclineDeal, optest.Req{Token: d.agent, Path: d.paths(), Body: m{}}).Refused(409, "already_signed")
	if !d.theWant().Signed {
		t.Fatal("plans of others are not frozen")
	}
}

func TestTheOtherFinalistsEndWithTheSignature(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(easy())
	rivalID, rival := w.agent("Rival")
	_ = rivalID
	p := d.paths()
	second := d.Do(bids.FileProposal, optest.Req{Token: rival, Path: p, Body: easy()}).Want(201).Str("proposal_id")
	d.Do(bids.Name, optest.Req{Token: d.person, Path: p, Body: m{"proposal_id": second}}).Want(201)
	d.pick()
	if b := d.theBid(); b.Status != bids.Accepted || b.DealID != d.id {
		t.Fatal(b.Status)
	}
	mine := func() string {
		return d.Do(bids.Mine, optest.Req{Token: rival}).Want(200).Str("proposals.0.status")
	}
	if mine() != "filed" {
		t.Fatal("a pick that may still be declined leaves the others alone")
	}
	d.sign().Want(200)
	if got := mine(); got != "expired" {
		t.Fatal(got)
	}
}

func TestAnAgentDeclinesBeforeItSigns(t *testing.T) {
	w := newWorld(t)
	d := w.picked(easy())
	call := func(body m) optest.Res {
		return d.Do(deals.DeclineDeal, optest.Req{Token: d.agent, Path: d.paths(), Body: body})
	}
	call(m{"reason": string(make([]byte, 281))}).Want(422)
	call(m{"reason": "My password is hunter2hunter2 password: hunter2hunter2"}).Refused(422, "withdrawal reasons must not contain secrets")
	call(m{"reason": "See https://example.com/why"}).Refused(422, "link_not_allowed")
	res := call(m{"reason": "Too far away."}).Want(200)
	if res.Str("proposal_status") != "declined_by_agent" {
		t.Fatalf("%s", res.Body)
	}
	if a := d.money(); a.Returned != 9000 || d.theBid().Status != bids.DeclinedByAgent {
		t.Fatal(a)
	}
	want := d.theWant()
	if slices.Contains(want.Finalists[:], d.bid) {
		t.Fatal("the slot is not free")
	}
	if want.BidID != "" || want.DealID != "" || !want.TakesBids() || len(want.Prior) != 0 || want.Round != 1 {
		t.Fatalf("%+v", want)
	}
	w.Settle()
	if refunds(w) != 9000 {
		t.Fatal("the money did not go back")
	}
	call(m{}).Refused(409, "deal is not active")
	d.sign().Refused(409, "deal is not active")
	d.Do(deals.Withdraw, optest.Req{Token: d.agent, Path: d.paths(), Body: m{"reason": "x", "kind": "compliance"}}).Refused(409, "deal is not active")
}

func TestAPickNobodySignsCanBeDroppedAndDropsByItself(t *testing.T) {
	w := newWorld(t)
	d := w.picked(easy())
	end := func() optest.Res {
		return d.Do(deals.EndDeal, optest.Req{Token: d.person, Path: d.paths(), Body: m{"reason": "They are silent."}})
	}
	res := end().Refused(409, "countersign_pending")
	if res.Str("possible_at") == "" {
		t.Fatalf("%s", res.Body)
	}
	w.Advance(path.SignDrop - time.Second)
	end().Refused(409, "countersign_pending")
	w.Advance(time.Second)
	if !has(w.subjects(), "has not signed yet") {
		t.Fatalf("%v", w.subjects())
	}
	if got := end().Want(200); got.Num("returned_cents") != 9000 || got.Str("deal_status") != "ended" {
		t.Fatalf("%s", got.Body)
	}
	if d.theBid().Status != bids.Expired || !d.theWant().TakesBids() {
		t.Fatal("the slot is not free")
	}
	end().Refused(409, "deal is not active")

	e := w.picked(easy())
	w.Advance(path.SignEnd - time.Second)
	if e.stored().Status != path.Picked {
		t.Fatal("dropped early")
	}
	w.Advance(time.Second)
	if s := e.stored(); s.Status != path.Ended || s.EndCause != path.PickLapsed || !s.EndedAt.Equal(s.PickedAt.Add(path.SignEnd)) || s.Timer.Set() {
		t.Fatalf("%+v", s)
	}
	if e.theWant().Prior != nil {
		t.Fatal("a pick that was never signed is no attempt")
	}
}

func TestADealIsEndedAtNowEvenWhenNoSweepRan(t *testing.T) {
	w := newWorld(t)
	d := w.picked(easy())
	late := w.Now().Add(path.SignEnd)
	w.Engine.Now = func() time.Time { return late } // time has passed, and nothing fired
	d.sign().Refused(409, "deal is not active")
	got := d.Do(deals.ReadDeal, optest.Req{Token: d.person, Path: d.paths()}).Want(200)
	if got.Str("status") != "ended" || got.Num("money.returned_cents") != 9000 {
		t.Fatalf("%s", got.Body)
	}
}
