package deals_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func TestFailingAStep(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	for _, c := range []struct {
		body m
		code string
	}{
		{m{}, "a failure needs a reason"}, {m{"reason": "  "}, "a failure needs a reason"},
		{m{"reason": strings.Repeat("x", 1001)}, "reason must be 1000 characters or fewer"},
		{m{"reason": "password: hunter2hunter2"}, "failure reasons must not contain secrets"},
		{m{"reason": "https://example.com says so"}, "link_not_allowed"},
		{m{"reason": "x", "r109_exception": "person_revoked_access"}, "materiality_test is required with r109_exception"},
		{m{"reason": "x", "materiality_test": "mood"}, "materiality_test must be one of: " + strings.Join(deals.MaterialityTests, ", ")},
		{m{"reason": "x", "materiality_test": "adds_material_risk", "r109_exception": "mood"}, "r109_exception must be one of: " + strings.Join(deals.Exceptions, ", ")},
	} {
		d.OnStep(deals.Fail, "2", c.body).Refused(422, c.code)
	}
	d.OnStep(deals.Fail, "3", m{"reason": "x"}).Refused(409, "step is not agent_working")
	d.OnStep(deals.Fail, "nine", m{"reason": "x"}).Refused(404, "not found")
	d.Deliver()
	d.Yes()
	res := d.OnStep(deals.Fail, d.Steps[2], m{"reason": strings.Repeat("é", 1000)}).Want(200)
	if res.Str("deal_status") != "ended" || res.Str("end_cause") != "agent_failed" || res.Num("steps_cleared") != 1 || res.Num("released_cents") != 4000 ||
		res.Num("returned_cents") != 5000 || res.Num("held_cents") != 0 || res.At("want_resolved") != false || res.At("steward_review") != false ||
		res.Str("integrity_state") != "clear" || res.At("materiality_test") != nil || !strings.Contains(res.Str("repost"), "open for bids again") {
		t.Fatalf("%s", res.Body)
	}
	d.OnStep(deals.Fail, d.Steps[2], m{"reason": "x"}).Refused(409, "deal is not active")
	want := d.TheWant()
	if want.Round != 2 || want.Status != wants.Open || !want.TakesBids() || want.RepostedAt == nil || want.DealID != "" || want.BidID != "" || want.Signed {
		t.Fatalf("%+v", want)
	}
	if p := want.Past[0]; *p.BrokenStep != 3 || *p.OddsAtBid != 0.85 || *p.OddsLatest != 0.85 || *p.Reason != strings.Repeat("é", 1000) {
		t.Fatalf("%+v", p)
	}
	if p := want.Prior[0]; p.StepCount != 4 || *p.EstimateHours != 5 || p.Steps[2].State != "in_progress_at_failure" {
		t.Fatalf("%+v", p)
	}
	if !slices.Contains(d.Events(), "target.reposted") {
		t.Fatalf("%v", d.Events())
	}
}

func TestAClaimedExceptionOpensACaseAndChangesNothingElse(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	res := d.OnStep(deals.Fail, "2", m{"reason": "They took it back.", "materiality_test": "needs_undisclosed_access", "r109_exception": "person_revoked_access"}).Want(200)
	if res.At("steward_review") != true || res.Str("integrity_state") != "under_integrity_review" ||
		res.Str("reason") != "[r109:person_revoked_access] [r108:needs_undisclosed_access] They took it back." || res.Num("returned_cents") != 9000 {
		t.Fatalf("%s", res.Body)
	}
	if w.cases() != 1 {
		t.Fatalf("%d cases", w.cases())
	}
}

func TestWithdrawing(t *testing.T) {
	for kind, onRecord := range map[string]bool{"compliance": false, "abandonment": true} {
		w := newWorld(t)
		d := w.signed(dealtest.Easy())
		call := func(body m) optest.Res {
			return d.Do(deals.Withdraw, optest.Req{Token: d.Agent, Path: d.Paths(), Body: body})
		}
		call(m{"kind": kind}).Refused(422, "a withdrawal needs a reason")
		call(m{"kind": kind, "reason": strings.Repeat("x", 1001)}).Refused(422, "reason must be 1000 characters or fewer")
		call(m{"kind": kind, "reason": "Please tell me your password."}).Refused(422, "withdrawal reasons must not contain secrets")
		call(m{"reason": "x"}).Refused(422, "kind is required and must be one of: compliance, abandonment")
		call(m{"reason": "x", "kind": "mood"}).Refused(422, "kind is required and must be one of: compliance, abandonment")
		call(m{"reason": "x", "kind": kind, "step": 2}).Refused(422, "unknown_field")
		res := call(m{"reason": "I may not do this.", "kind": kind}).Want(200)
		if res.Str("withdrawal_kind") != kind || res.At("on_agent_record") != onRecord || res.Num("returned_cents") != 9000 || res.Str("end_cause") != "agent_withdrew" {
			t.Fatalf("%s", res.Body)
		}
		call(m{"reason": "x", "kind": kind}).Refused(409, "deal is not active")
		if want := d.TheWant(); want.Round != 2 || *want.Past[0].WithdrawalKind != kind {
			t.Fatalf("%+v", want.Past)
		}
	}
}

func TestAPersonCanTurnAutomaticRepostsOff(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	w.Run("bench", func(c *op.Call) error {
		x, _, err := wants.Load(c, d.Target)
		x.AutoRepost, x.Publish = false, false
		if err != nil {
			return err
		}
		return x.Save(c)
	})
	res := d.OnStep(deals.Fail, "2", m{"reason": "x"}).Want(200)
	if !strings.Contains(res.Str("repost"), "decides whether") {
		t.Fatalf("%s", res.Body)
	}
	if want := d.TheWant(); want.Round != 1 || want.Status != wants.Ended || len(want.Answers) != 0 {
		t.Fatalf("%+v", want)
	}
}

func TestRemindersAndTheLapseThroughTheClock(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.BidOf(1000, dealtest.Step("Hold it", "APPROVE", 1000), dealtest.Step("Hold it again", "APPROVE", 2000)))
	d.Deliver()
	w.Settle()
	sent := func() int { return len(w.Mails.Sent) }
	n := sent()
	for _, day := range []int{3, 7, 12} {
		at := d.Stored().Open().WaitingSince.Add(time.Duration(day) * path.Day)
		w.Advance(at.Sub(w.Now()) - time.Second)
		if sent() != n {
			t.Fatalf("day %d: a mail a second early: %v", day, w.Subjects()[n:])
		}
		w.Advance(time.Second)
		if sent() != n+1 || !dealtest.Has(w.Subjects()[n:], "waits for your answer") || !strings.Contains(w.Mails.Sent[n].Text, "$10") || !strings.Contains(w.Mails.Sent[n].Text, "2026") {
			t.Fatalf("day %d: %v", day, w.Subjects()[n:])
		}
		n = sent()
	}
	w.Advance(2*path.Day - time.Second)
	if d.Money().Released != 0 {
		t.Fatal("released a second early")
	}
	w.Advance(time.Second)
	s := d.Stored()
	if s.Money.Released != 1000 || s.Steps[1].Cause != "stale" || s.Open().Number != 3 || !s.Steps[1].ApprovedAt.Equal(w.Now()) {
		t.Fatalf("%+v", s.Steps[1])
	}
	d.Answer(2, m{"verdict": "approve"}).Refused(409, "step_not_waiting")
}

func TestAClockMovedFromDayOneToDayThirtyInOneStep(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.BidOf(1000, dealtest.Step("Choose", "CHOOSE", 1000), dealtest.Step("Hold it", "APPROVE", 2000)))
	d.Deliver()
	opened := w.Now()
	w.Advance(30 * path.Day)
	s := d.Stored()
	if s.EndCause != path.Lapsed || !s.EndedAt.Equal(opened.Add(14*path.Day)) || s.Money.Released != 1000 || s.Money.Returned != 2000+1000 {
		t.Fatalf("%s %v %+v", s.EndCause, s.EndedAt, s.Money)
	}
	days := []string{}
	for _, m := range w.Mails.Sent {
		if strings.Contains(m.Subject, "waits for your answer") {
			days = append(days, m.Subject)
		}
	}
	if len(days) != 3 || !strings.HasPrefix(days[2], "The last reminder") {
		t.Fatalf("%v", days)
	}
	if want := d.TheWant(); want.Status != wants.Ended || want.Round != 1 {
		t.Fatalf("%+v", want)
	}
}

func TestASweepThatIsLateOrRunsTwiceSaysEverythingOnce(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.BidOf(1000, dealtest.Step("Hold it", "APPROVE", 1000), dealtest.Step("Hold it again", "APPROVE", 2000)))
	d.Deliver()
	w.Settle()
	n, opened := len(w.Mails.Sent), w.Now()
	due := d.Stored().Timer
	late := opened.Add(14*path.Day + time.Hour)
	for range 2 {
		err := w.Engine.Run(t.Context(), late, "bench", func(c *op.Call) error {
			return deals.Fire(c, op.Fired{Kind: due.Kind, Subject: d.ID, Due: due.Due})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s := d.Stored()
	if !s.Steps[1].ApprovedAt.Equal(opened.Add(14*path.Day)) || s.Open().Number != 3 {
		t.Fatalf("%v", s.Steps[1].ApprovedAt)
	}
	w.Advance(late.Sub(w.Now()))
	for _, m := range w.Mails.Sent[n:] {
		if strings.Contains(m.Subject, "waits for your answer") {
			t.Fatalf("an overtaken reminder was mailed: %s", m.Subject)
		}
	}
	reminded := 0
	for _, e := range d.Events() {
		if e == "ask.reminded" {
			reminded++
		}
	}
	if reminded != 3 {
		t.Fatalf("%d reminders are on record", reminded)
	}
}

func TestAgentTimeExpiresTheDeal(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	w.Advance(7*path.Day - time.Second)
	if d.Stored().Status != path.Signed {
		t.Fatal("a second early")
	}
	w.Advance(time.Second)
	s := d.Stored()
	if s.EndCause != path.Expired || s.Money.Returned != 9000 || count(d.Events(), "deal.time-warned") != 2 {
		t.Fatalf("%s %v", s.EndCause, d.Events())
	}
	if want := d.TheWant(); want.Status != wants.Ended || want.Round != 1 {
		t.Fatal("an expired deal is not reposted")
	}
	var p account.Person
	d.Load(func(c *op.Call) (err error) {
		p, _, err = op.Load[account.Person](c, account.PersonKey(d.PersonID))
		return err
	})
	if p.Facts.Ended != 1 || p.Facts.Finished != 0 || p.Facts.Answers != 0 {
		t.Fatalf("%+v", p.Facts)
	}
	if n := w.timers(); n != 1 { // the liveness review of the silence is still open for a day
		t.Fatalf("%d timers", n)
	}
	w.Advance(path.Day)
	if n := w.timers(); n != 0 {
		t.Fatalf("%d timers wait for nothing", n)
	}
}

// timers counts the clock rows of the bench.
func (w *world) timers() int {
	n := 0
	for s := range 16 {
		p, err := w.Store.Query(w.T.Context(), table.Query{PK: "bench.CLOCK#" + string([]byte{byte('0' + s/10), byte('0' + s%10)})})
		if err != nil {
			w.T.Fatal(err)
		}
		n += len(p.Rows)
	}
	return n
}

func TestAPersonsRecordIsCounted(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	d.Deliver()
	w.Advance(4 * time.Hour)
	d.Yes()
	d.Deliver()
	w.Advance(2 * time.Hour)
	d.Yes()
	d.Yes()
	var p account.Person
	d.Load(func(c *op.Call) (err error) {
		p, _, err = op.Load[account.Person](c, account.PersonKey(d.PersonID))
		return err
	})
	if p.Facts.Answers != 3 || p.Facts.AnswerSeconds != 6*3600 || p.Facts.Ended != 1 || p.Facts.Finished != 1 {
		t.Fatalf("%+v", p.Facts)
	}
}

func TestTheSealLaw(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	_, rival := w.Agent("Rival")
	_, stranger := w.Person("stranger@example.test")
	bodies := map[string]m{"bench.deal.check-in": {"changed": "a", "now": "b", "next": "c", "progress_percent": 0}, "bench.message.post": {"reply": "x"},
		"bench.step.restate-odds": {"declared_odds": 0.5}, "bench.step.flag": {"blocked": "a", "assuming": "b"}, "bench.step.fail": {"reason": "x"},
		"bench.deal.withdraw": {"reason": "x", "kind": "compliance"}, "bench.outcome.file": {"note": "x"}, "person.step.answer": {"verdict": "approve"},
		"person.step.save-draft": {"responses": []m{}}, "person.deal.end": {"reason": "x"}, "person.message.post": {"body": "x"}, "person.bid.accept": {"accept_rules": true}, "person.deal.report": {"text": "x"}, "bench.grant.swap": {"from": "a", "to": "b", "why": "c"}}
	for _, o := range slices.Concat(deals.Operations, []*op.Operation{delivery.File}) {
		token, good := rival, d.Agent
		if o.Auth == op.Person {
			token, good = stranger, d.Person
		}
		if !strings.Contains(o.Path, "{") {
			continue
		}
		p := d.Paths()
		p["step_id"], p["grant_id"] = d.Steps[1], "none"
		var body any
		if b := bodies[o.ID]; b != nil {
			body = b
		} else if !o.Reads() {
			body = m{}
		}
		theirs := w.Do(o, optest.Req{Token: token, Path: p, Body: body})
		q := map[string]string{}
		for k := range p {
			q[k] = "11111111-1111-4111-8111-111111111111"
		}
		nothing := w.Do(o, optest.Req{Token: good, Path: q, Body: body})
		for k := range q {
			q[k] = strings.Repeat("x", 3000)
		}
		absurd := w.Do(o, optest.Req{Token: good, Path: q, Body: body})
		for name, res := range map[string]optest.Res{"another's": theirs, "a missing one": nothing, "nonsense": absurd} {
			if res.Status != 404 || string(res.Body) != `{"ok":false,"error":"not found"}` {
				t.Errorf("%s: %s answers %d %s", o.ID, name, res.Status, res.Body)
			}
		}
	}
}

func TestAnAccountStaysOpenWhileADealRuns(t *testing.T) {
	w := newWorld(t)
	d := w.picked(dealtest.Easy())
	w.Do(account.CloseAccount, optest.Req{Token: d.Person, Body: m{}}).Refused(409, "live_deal")
	d.Sign().Want(200)
	w.Do(account.CloseAccount, optest.Req{Token: d.Person, Body: m{}}).Refused(409, "live_deal")
	d.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "Enough."}}).Want(200)
	w.Do(account.CloseAccount, optest.Req{Token: d.Person, Body: m{}}).Want(200)

	e := w.finalist(dealtest.Easy())
	id := e.Accept().Want(201).Str("checkout_id")
	w.Do(account.CloseAccount, optest.Req{Token: e.Person, Body: m{}}).Want(200)
	if err := w.Bank.Complete(id, "paid"); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	before := refunds(w)
	w.Hooks()
	w.Settle()
	if refunds(w) != before+9000 {
		t.Fatal("a payment of a closed account made a deal")
	}
}

func TestDatesStandInThePersonsZone(t *testing.T) {
	w := newWorld(t)
	d := w.finalist(dealtest.Easy())
	d.Load(func(c *op.Call) error {
		p, _, err := op.Load[account.Person](c, account.PersonKey(d.PersonID))
		p.Timezone = "Asia/Tokyo"
		p.Save(c)
		return err
	})
	d.Pick()
	d.Sign().Want(200)
	d.Deliver()
	w.Settle()
	for _, mail := range w.Mails.Sent {
		if strings.HasPrefix(mail.Subject, "Your turn") && !strings.Contains(mail.Text, "15 December 2026, 03:20 JST") {
			t.Fatal(mail.Text)
		}
	}
	if !dealtest.Has(w.Subjects(), "Your turn") {
		t.Fatal(w.Subjects())
	}
}

func TestAPersonReportsAnAgent(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	call := func(body m) optest.Res {
		return d.Do(deals.Report, optest.Req{Token: d.Person, Path: d.Paths(), Body: body})
	}
	call(m{}).Refused(422, "missing_field")
	call(m{"text": "x", "wall": 12}).Refused(422, "invalid_field")
	call(m{"text": strings.Repeat("x", 1001)}).Refused(422, "invalid_field")
	if res := call(m{"text": "It asked for my password.", "wall": 1}).Want(201); res.Str("case_id") == "" {
		t.Fatalf("%s", res.Body)
	}
	call(m{"text": "Again."}).Refused(409, "already_reported")
	if w.cases() != 1 {
		t.Fatalf("%d cases", w.cases())
	}
}
