package simulated

import (
	"testing"

	"guildhall/pkg/pay"
)

// A person's card is the same in every checkout, an operator's bank account as long as it
// names no other, and one name makes a card and an account one instrument.
func TestOneNameIsOneInstrument(t *testing.T) {
	p := open(t, newClock(), nil)
	with := func(key, email, card string) pay.Instrument {
		t.Helper()
		c, err := p.CreateCheckout(t.Context(), pay.CheckoutRequest{Key: key, AmountCents: 500, Description: "d", CustomerEmail: email,
			SuccessURL: "https://example.com/a", CancelURL: "https://example.com/b"})
		ok(t, err)
		ok(t, p.CompleteWith(c.ID, pay.Paid, card))
		paid, err := p.GetCheckout(t.Context(), c.ID)
		ok(t, err)
		i, err := p.PaidWith(t.Context(), paid.PaymentID)
		ok(t, err)
		return i
	}
	account, err := p.CreateAccount(t.Context(), pay.AccountRequest{Key: "a", MakerID: "m1"})
	ok(t, err)
	bank := func(ready bool, name string) pay.Instrument {
		t.Helper()
		ok(t, p.SetReadyWith("m1", ready, name))
		list, err := p.PaidOutTo(t.Context(), account.ID)
		ok(t, err)
		if len(list) == 0 {
			return pay.Instrument{}
		}
		return list[0]
	}
	ada := with("1", "Ada@example.org", "")
	if ada != with("2", "ada@example.org", "") || ada == with("3", "bob@example.org", "") || with("4", "", "") == with("5", "", "") {
		t.Error("cards are not their persons'")
	}
	if bank(false, "").Known() {
		t.Error("an account that was never ready has a bank account")
	}
	own := bank(true, "")
	if !own.Known() || own == ada || own != bank(false, "") {
		t.Error("an operator's account is not its own, or was forgotten")
	}
	if bank(true, "joint") != with("6", "ada@example.org", "joint") || bank(true, "") == own {
		t.Error("a name is not one instrument")
	}
}
