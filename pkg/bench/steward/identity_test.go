package steward_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
	"guildhall/pkg/table"
)

// payWith accepts the bid and pays with a card by its name.
func (d *deal) payWith(card string) {
	d.T.Helper()
	if err := d.Bank.CompleteWith(d.Accept().Want(201).Str("checkout_id"), pay.Paid, card); err != nil {
		d.T.Fatal(err)
	}
	d.Hooks()
	d.ID = d.Do(deals.ListDeals, optest.Req{Token: d.Person}).Want(200).Str("deals.0.deal_id")
}

// paidOutTo names the bank account of the deal's agent.
func (d *deal) paidOutTo(bank string) {
	d.T.Helper()
	if err := d.Bank.SetReadyWith(d.AgentID, true, bank); err != nil {
		d.T.Fatal(err)
	}
	d.Hooks()
}

// suspicions reads the cases of self-dealing, newest first.
func (w *world) suspicions(steward string) []any {
	w.T.Helper()
	return w.cases(steward, url.Values{"kind": {"self_deal"}}).At("cases").([]any)
}

func TestOneInstrumentOnBothSidesOpensOneCase(t *testing.T) {
	w := newWorld(t)
	ann := w.steward("ann@hall.test")
	d := w.finalist(dealtest.Easy())
	d.paidOutTo("joint account")
	d.payWith("joint account")
	w.Settle()
	list := w.cases(ann, url.Values{"kind": {"self_deal"}})
	if n := len(list.At("cases").([]any)); n != 1 || list.Str("cases.0.deal_id") != d.ID || list.At("cases.0.evidence.shared_payment_identity") != true {
		t.Fatalf("%d cases: %s", n, list.Body)
	}
	if !slices.Contains(d.Pending(), record.IntegrityOpened) {
		t.Errorf("the record does not say so: %v", d.Pending())
	}
	// Neither a repeated notice nor another look nor another word of the account opens one more.
	again := w.Bank.Repeat(t.Context(), func(_ context.Context, h simulated.Webhook) error {
		w.Do(deals.Hook, optest.Req{Body: h.Body, Header: dealtest.Strings(m{"Stripe-Signature": h.Signature})}).Want(200)
		return nil
	})
	if again == 0 {
		t.Fatal("nothing was repeated")
	}
	d.paidOutTo("joint account")
	w.Advance(48 * time.Hour)
	if n := len(w.suspicions(ann)); n != 1 {
		t.Errorf("%d cases", n)
	}
}

func TestWhoHasNothingInCommonIsNotSuspected(t *testing.T) {
	w := newWorld(t)
	ann := w.steward("ann@hall.test")
	w.signed(dealtest.Easy())
	w.picked(dealtest.BidOf(0, dealtest.Step("Part 1", "APPROVE", 0), dealtest.Step("Part 2", "APPROVE", 0))) // nothing is paid: nothing is asked
	w.Settle()
	if n := len(w.suspicions(ann)); n != 0 {
		t.Errorf("%d cases", n)
	}
}

func TestWhatPaidJoinsTheCaseOfADeclaredTie(t *testing.T) {
	w := newWorld(t)
	ann := w.steward("ann@hall.test")
	body := dealtest.Easy()
	body["operator_relationship_disclosure"] = "The poster is my operator's sister."
	d := w.finalist(body)
	d.paidOutTo("joint account")
	d.payWith("joint account")
	if n := len(w.suspicions(ann)); n != 1 {
		t.Fatalf("%d cases before the processor was asked", n)
	}
	w.Settle()
	list := w.cases(ann, url.Values{"kind": {"self_deal"}})
	if n := len(list.At("cases").([]any)); n != 1 || list.At("cases.0.evidence.shared_payment_identity") != true || list.Str("cases.0.evidence.disclosure") == "" {
		t.Errorf("%d cases: %s", n, list.Body)
	}
}

func TestAPayoutAccountThatBecomesThePayersIsNoticed(t *testing.T) {
	w := newWorld(t)
	ann := w.steward("ann@hall.test")
	d := w.finalist(dealtest.Easy())
	d.payWith("the person's card")
	w.Settle()
	if n := len(w.suspicions(ann)); n != 0 {
		t.Fatalf("%d cases at first", n)
	}
	d.paidOutTo("another account")
	w.Settle()
	if n := len(w.suspicions(ann)); n != 0 {
		t.Fatalf("%d cases with a third account", n)
	}
	d.paidOutTo("the person's card")
	w.Settle()
	list := w.cases(ann, url.Values{"kind": {"self_deal"}})
	if n := len(list.At("cases").([]any)); n != 1 || list.Str("cases.0.deal_id") != d.ID {
		t.Fatalf("%d cases: %s", n, list.Body)
	}
	// What was cleared stays cleared.
	w.decide(ann, list.Str("cases.0.case_id"), "self_deal_cleared").Want(200)
	d.paidOutTo("the person's card")
	w.Settle()
	if list := w.cases(ann, url.Values{"kind": {"self_deal"}}); len(list.At("cases").([]any)) != 1 || list.Str("cases.0.state") != "decided" {
		t.Errorf("%s", list.Body)
	}
}

func TestAProcessorThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	w := newWorld(t)
	ann := w.steward("ann@hall.test")
	d := w.finalist(dealtest.Easy())
	d.paidOutTo("joint account")
	d.payWith("joint account")
	if err := w.Bank.SetMode(simulated.ModeFail, 3); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	w.Advance(48 * time.Hour)
	if n := len(w.suspicions(ann)); n != 1 {
		t.Errorf("%d cases", n)
	}
}

func TestNoFingerprintIsKeptOrShown(t *testing.T) {
	w := newWorld(t)
	ann := w.steward("ann@hall.test")
	d := w.finalist(dealtest.Easy())
	d.paidOutTo("joint account")
	d.payWith("joint account")
	w.Settle()
	d.paidOutTo("joint account")
	w.Settle()
	var prints []string
	for _, read := range []func() (pay.Instrument, error){
		func() (pay.Instrument, error) { return w.Bank.PaidWith(t.Context(), d.Stored().Charge) },
		func() (pay.Instrument, error) {
			list, err := w.Bank.PaidOutTo(t.Context(), d.Stored().Payout)
			return list[0], err
		},
	} {
		i, err := read()
		if err != nil || !i.Known() {
			t.Fatal(err)
		}
		prints = append(prints, i.Fingerprint())
	}
	if prints[0] != prints[1] {
		t.Fatal("two instruments")
	}
	var kept table.Row
	d.Load(func(c *op.Call) (err error) {
		kept, err = c.Get(table.Key{PK: deals.Key(d.ID).PK, SK: "PAYER"})
		return err
	})
	if !kept.Found() || strings.Contains(string(kept.Data), prints[0]) {
		t.Errorf("kept as %s", kept.Data)
	}
	for _, body := range []string{
		string(w.cases(ann, nil).Body),
		string(d.Do(deals.ReadDeal, optest.Req{Token: d.Person, Path: d.Paths()}).Want(200).Body),
		string(d.Do(deals.Current, optest.Req{Token: d.Agent, Path: d.Paths()}).Want(200).Body),
		string(d.Do(deals.Wallet, optest.Req{Token: d.Agent}).Want(200).Body),
	} {
		if strings.Contains(body, prints[0]) || strings.Contains(body, "fp_sim") {
			t.Errorf("shown in %s", body)
		}
	}
}
