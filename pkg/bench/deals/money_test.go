package deals_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay/simulated"
)

// lines reads the deal's money rows.
func (d *deal) lines() []money.Line {
	d.T.Helper()
	var out []money.Line
	d.Load(func(c *op.Call) (err error) { out, err = money.Lines(c, d.ID); return err })
	return out
}

// paidOut sums what the processor sent to agents.
func (w *world) paidOut() (cents int64) {
	for _, c := range w.Bank.Effects() {
		if c.Kind == simulated.Transfer {
			cents += c.AmountCents
		}
	}
	return cents
}

func TestAnApprovalReleasesOnceHoweverOftenItIsSent(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	d.Deliver()
	body := m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"choice": "a"}}}}
	p := d.Paths()
	p["step_id"] = "2"
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	const calls, lanes = 10_000, 50
	for lane := range lanes {
		wg.Go(func() {
			for i := range calls / lanes {
				key := "one key for all"
				if i%2 == 1 {
					key = fmt.Sprintf("key %d %d", lane, i)
				}
				res := w.Do(deals.AnswerStep, optest.Req{Token: d.Person, Path: p, Body: body, Key: key})
				mu.Lock()
				statuses[res.Status]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for s := range statuses {
		if s != 200 && s != 409 && s != 503 {
			t.Fatalf("%v", statuses)
		}
	}
	if a := d.Money(); a.Released != 4000 || a.Held != 5000 {
		t.Fatalf("%+v", a)
	}
	if n := len(d.lines()); n != 2 {
		t.Fatalf("%d lines", n)
	}
	w.Settle()
	if w.paidOut() != 4000 {
		t.Fatalf("paid out %d", w.paidOut())
	}
}

func TestApprovalAndLapseAtTheSameInstantMakeOneReleaseWithOneCause(t *testing.T) {
	causes := map[string]int{}
	for i := range 100 {
		w := newWorld(t)
		d := w.signed(dealtest.Easy())
		d.Deliver()
		due := d.Stored().Open().LapseAt()
		w.Advance(due.Sub(w.Now()) - time.Millisecond)
		timer := d.Stored().Timer
		now := due
		if i%3 == 0 { // a moment before: the person is in time, the sweep is early
			now = due.Add(-time.Millisecond)
		}
		w.Engine.Now = func() time.Time { return now }
		p := d.Paths()
		p["step_id"] = "2"
		var wg sync.WaitGroup
		person := func() {
			w.Do(deals.AnswerStep, optest.Req{Token: d.Person, Path: p, Key: "the answer", Body: m{"verdict": "approve", "responses": []m{{"block_number": 1, "value": m{"choice": "a"}}}}})
		}
		if i%2 == 0 {
			wg.Go(person)
		}
		wg.Go(func() {
			_ = w.Engine.Run(t.Context(), due, "bench", func(c *op.Call) error {
				return deals.Fire(c, op.Fired{Kind: timer.Kind, Subject: d.ID, Due: timer.Due})
			})
		})
		if i%2 == 1 {
			person()
		}
		wg.Wait()
		released := 0
		for _, l := range d.lines() {
			if l.Kind == money.Release {
				released++
				causes[l.Cause]++
			}
		}
		if released != 1 {
			t.Fatalf("%d releases", released)
		}
		d.Money()
	}
	if causes["person"] == 0 || causes["stale"] == 0 {
		t.Fatalf("%v", causes)
	}
}

func TestProcessorCallsHappenOnceWhateverGoesWrong(t *testing.T) {
	for _, mode := range []simulated.Mode{simulated.ModeFail, simulated.ModeTimeout} {
		for _, bad := range []int{1, 2, 3, 7} {
			w := newWorld(t)
			d := w.signed(dealtest.Easy())
			d.Deliver()
			d.Yes()
			if err := w.Bank.SetMode(mode, bad); err != nil {
				t.Fatal(err)
			}
			w.Settle()
			w.Advance(48 * time.Hour)
			if w.paidOut() != 4000 {
				t.Fatalf("%s %d: paid out %d", mode, bad, w.paidOut())
			}
			i := slices.IndexFunc(d.lines(), func(l money.Line) bool { return l.Kind == money.Release })
			if l := d.lines()[i]; l.State != money.Sent || l.Ref == "" {
				t.Fatalf("%s %d: %+v", mode, bad, l)
			}
			d.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "Enough."}})
			if err := w.Bank.SetMode(mode, bad); err != nil {
				t.Fatal(err)
			}
			w.Settle()
			w.Advance(48 * time.Hour)
			if refunds(w) != 5000 || w.paidOut() != 4000 {
				t.Fatalf("%s %d: returned %d, paid out %d", mode, bad, refunds(w), w.paidOut())
			}
		}
	}
}

func TestAProcessorDownForDaysPaysInTheEndAndOnce(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	d.Deliver()
	d.Yes()
	d.Deliver() // the ball is the person's, so that D does not run out meanwhile
	if err := w.Bank.SetMode(simulated.ModeTimeout, 1); err != nil {
		t.Fatal(err)
	}
	w.Settle() // the transfer went out, its answer did not come back
	if err := w.Bank.SetMode(simulated.ModeFail, 10_000); err != nil {
		t.Fatal(err)
	}
	w.Advance(5 * path.Day) // by now the processor has forgotten the key
	if err := w.Bank.SetMode(simulated.ModeOK, 0); err != nil {
		t.Fatal(err)
	}
	w.Advance(3 * path.Day)
	if w.paidOut() != 4000 {
		t.Fatalf("paid out %d", w.paidOut())
	}
	if l := d.lines()[1]; l.State != money.Sent {
		t.Fatalf("%+v", l)
	}
}

func TestARefusedTransferIsTriedAgainUnderANewAttempt(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	d.Deliver()
	if err := w.Bank.SetReady(d.AgentID, false); err != nil {
		t.Fatal(err)
	}
	d.Yes()
	w.Settle()
	if l := d.lines()[1]; l.State != money.Intended || l.Refused == "" || w.paidOut() != 0 {
		t.Fatalf("%+v", l)
	}
	if err := w.Bank.SetReady(d.AgentID, true); err != nil {
		t.Fatal(err)
	}
	w.Advance(26 * time.Hour)
	if l := d.lines()[1]; l.State != money.Sent || w.paidOut() != 4000 {
		t.Fatalf("%+v, paid out %d", l, w.paidOut())
	}
}

func TestTheWalletAddsUp(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	d.Deliver()
	d.Yes()
	purse := func() optest.Res { return d.Do(deals.Wallet, optest.Req{Token: d.Agent}).Want(200) }
	got := purse()
	if got.Num("balance.held_cents") != 5000 || got.Num("balance.released_cents") != 4000 || got.Num("balance.pending_transfer_cents") != 4000 ||
		got.Str("releases.0.cause") != "person" || got.At("releases.0.transferred_at") != nil || got.At("payout.ready") != true {
		t.Fatalf("%s", got.Body)
	}
	w.Settle()
	d.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "Enough."}}).Want(200)
	got = purse()
	if got.Num("balance.held_cents") != 0 || got.Num("balance.transferred_cents") != 4000 || got.Num("returned.0.amount_cents") != 5000 || got.Str("releases.0.transferred_at") == "" {
		t.Fatalf("%s", got.Body)
	}
	w.Engine.Tips = false
	if purse().At("tips") != nil {
		t.Fatal("tips are shown with the flag off")
	}
	d.Do(deals.Wallet, optest.Req{Token: d.Agent, Query: map[string][]string{"after": {"nonsense"}}}).Refused(422, "cursor_invalid")
	d.Do(deals.ListDeals, optest.Req{Token: d.Person, Query: map[string][]string{"after": {"nonsense"}}}).Refused(422, "cursor_invalid")
}

func TestPayoutDoors(t *testing.T) {
	w := newWorld(t)
	_, token := w.Agent("Maker")
	link := func() optest.Res { return w.Do(deals.OnboardingLink, optest.Req{Token: token, Body: m{}}) }
	first, second := link().Want(200), link().Want(200)
	if first.Str("url") == second.Str("url") || first.At("connected") != true || first.Str("expires_at") == "" {
		t.Fatalf("%s %s", first.Body, second.Body)
	}
	accounts := 0
	for _, c := range w.Bank.Effects() {
		if c.Kind == simulated.Account {
			accounts++
		}
	}
	if accounts > 1 {
		t.Fatalf("%d accounts", accounts)
	}
	if err := w.Bank.SetMode(simulated.ModeFail, 1); err != nil {
		t.Fatal(err)
	}
	link().Refused(502, "stripe_unavailable")
	w.Do(deals.PayoutSession, optest.Req{Token: token, Body: m{"email": "no address"}}).Refused(422, "email_invalid")
	res := w.Do(deals.PayoutSession, optest.Req{Token: token, Body: m{"email": "boss@example.test"}}).Want(201)
	_, secret, _ := cut(res.Str("url"), "#")
	attest := func(body m) optest.Res { return w.Do(deals.Attest, optest.Req{Body: body}) }
	attest(m{"token": secret}).Refused(422, "attestation_required")
	attest(m{"token": "x", "attested": true}).Refused(401, "link_expired")
	if got := attest(m{"token": secret, "attested": true}).Want(200); got.Str("url") == "" {
		t.Fatalf("%s", got.Body)
	}
	attest(m{"token": secret, "attested": true}).Refused(401, "link_expired")
	if got := w.Do(deals.SyncPayout, optest.Req{Token: token, Body: m{}}).Want(200); got.At("payout.ready") != true {
		t.Fatalf("%s", got.Body)
	}
	if err := w.Bank.SetMode(simulated.ModeFail, 1); err != nil {
		t.Fatal(err)
	}
	w.Do(deals.SyncPayout, optest.Req{Token: token, Body: m{}}).Refused(502, "stripe_unavailable")
}

func TestAChargebackOpensACase(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	if err := w.Bank.Dispute(d.Stored().Charge, "fraudulent"); err != nil {
		t.Fatal(err)
	}
	w.Hooks()
	if w.cases() != 1 {
		t.Fatalf("%d cases", w.cases())
	}
}

func cut(s, sep string) (string, string, bool) {
	for i := range s {
		if s[i:i+1] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}
