package deals_test

import (
	"slices"
	"testing"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/op/optest"
)

func TestTheCountersignature(t *testing.T) {
	w := newWorld(t)
	d := w.picked(dealtest.Easy())
	if err := w.Bank.SetReady(d.AgentID, false); err != nil {
		t.Fatal(err)
	}
	w.Hooks()
	d.Sign().Refused(409, "payout_not_ready")
	if err := w.Bank.SetReady(d.AgentID, true); err != nil {
		t.Fatal(err)
	}
	w.Hooks()
	res := d.Sign().Want(200)
	if res.Str("deal_id") != d.ID || res.Str("agent_signed_at") == "" {
		t.Fatalf("%s", res.Body)
	}
	d.Sign().Refused(409, "already_signed")
	d.Do(deals.DeclineDeal, optest.Req{Token: d.Agent, Path: d.Paths(), Body: m{}}).Refused(409, "already_signed")
	if !d.TheWant().Signed {
		t.Fatal("plans of others are not frozen")
	}
}

func TestTheOtherFinalistsEndWithTheSignature(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	rivalID, rival := w.Agent("Rival")
	_ = rivalID
	p := d.Paths()
	second := d.Do(bids.FileProposal, optest.Req{Token: rival, Path: p, Body: dealtest.Easy()}).Want(201).Str("proposal_id")
	d.Do(bids.Name, optest.Req{Token: d.Person, Path: p, Body: m{"proposal_id": second}}).Want(201)
	d.Pick()
	if b := d.TheBid(); b.Status != bids.Accepted || b.DealID != d.ID {
		t.Fatal(b.Status)
	}
	mine := func() string {
		return d.Do(bids.Mine, optest.Req{Token: rival}).Want(200).Str("proposals.0.status")
	}
	if mine() != "filed" {
		t.Fatal("a pick that may still be declined leaves the others alone")
	}
	d.Sign().Want(200)
	if got := mine(); got != "expired" {
		t.Fatal(got)
	}
}

func TestAnAgentDeclinesBeforeItSigns(t *testing.T) {
	w := newWorld(t)
	d := w.picked(dealtest.Easy())
	call := func(body m) optest.Res {
		return d.Do(deals.DeclineDeal, optest.Req{Token: d.Agent, Path: d.Paths(), Body: body})
	}
	call(m{"reason": string(make([]byte, 281))}).Want(422)
	call(m{"reason": "My password is hunter2hunter2 password: hunter2hunter2"}).Refused(422, "withdrawal reasons must not contain secrets")
	call(m{"reason": "See https://example.com/why"}).Refused(422, "link_not_allowed")
	res := call(m{"reason": "Too far away."}).Want(200)
	if res.Str("proposal_status") != "declined_by_agent" {
		t.Fatalf("%s", res.Body)
	}
	if a := d.Money(); a.Returned != 9000 || d.TheBid().Status != bids.DeclinedByAgent {
		t.Fatal(a)
	}
	want := d.TheWant()
	if slices.Contains(want.Finalists[:], d.Bid) {
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
	d.Sign().Refused(409, "deal is not active")
	d.Do(deals.Withdraw, optest.Req{Token: d.Agent, Path: d.Paths(), Body: m{"reason": "x", "kind": "compliance"}}).Refused(409, "deal is not active")
}

func TestAPickNobodySignsCanBeDroppedAndDropsByItself(t *testing.T) {
	w := newWorld(t)
	d := w.picked(dealtest.Easy())
	end := func() optest.Res {
		return d.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "They are silent."}})
	}
	res := end().Refused(409, "countersign_pending")
	if res.Str("possible_at") == "" {
		t.Fatalf("%s", res.Body)
	}
	w.Advance(path.SignDrop - time.Second)
	end().Refused(409, "countersign_pending")
	w.Advance(time.Second)
	if !dealtest.Has(w.Subjects(), "has not signed yet") {
		t.Fatalf("%v", w.Subjects())
	}
	if got := end().Want(200); got.Num("returned_cents") != 9000 || got.Str("deal_status") != "ended" {
		t.Fatalf("%s", got.Body)
	}
	if d.TheBid().Status != bids.Expired || !d.TheWant().TakesBids() {
		t.Fatal("the slot is not free")
	}
	end().Refused(409, "deal is not active")

	e := w.picked(dealtest.Easy())
	w.Advance(path.SignEnd - time.Second)
	if e.Stored().Status != path.Picked {
		t.Fatal("dropped early")
	}
	w.Advance(time.Second)
	if s := e.Stored(); s.Status != path.Ended || s.EndCause != path.PickLapsed || !s.EndedAt.Equal(s.PickedAt.Add(path.SignEnd)) || s.Timer.Set() {
		t.Fatalf("%+v", s)
	}
	if e.TheWant().Prior != nil {
		t.Fatal("a pick that was never signed is no attempt")
	}
}

func TestADealIsEndedAtNowEvenWhenNoSweepRan(t *testing.T) {
	w := newWorld(t)
	d := w.picked(dealtest.Easy())
	late := w.Now().Add(path.SignEnd)
	w.Engine.Now = func() time.Time { return late } // time has passed, and nothing fired
	d.Sign().Refused(409, "deal is not active")
	got := d.Do(deals.ReadDeal, optest.Req{Token: d.Person, Path: d.Paths()}).Want(200)
	if got.Str("status") != "ended" || got.Num("money.returned_cents") != 9000 {
		t.Fatalf("%s", got.Body)
	}
}
