package deals_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// weekly is a bid over $90 whose last step is a week of mornings: 40 and 40, finish line 10.
func weekly() m {
	return dealtest.BidOf(1000, dealtest.Step("The aim", "APPROVE", 3000), dealtest.Step("The plan", "APPROVE", 1000), dealtest.Step("The week", "APPROVE", 4000))
}

func days(n int) m {
	var list []m
	for i := range n {
		list = append(list, m{"title": fmt.Sprintf("Morning %d", i+1), "document": m{"blocks": []m{{"type": "paragraph", "text": "Walk a little more."}}}})
	}
	return m{"pieces": list}
}

// packaged is a deal whose last step is at 100 percent.
func (w *world) packaged(body m) *deal {
	w.T.Helper()
	d := w.signed(body)
	for range 2 {
		d.Deliver()
		d.Yes()
	}
	d.Pulses()
	return d
}

func (d *deal) schedule(body m, key string) optest.Res {
	d.T.Helper()
	return d.world.Do(delivery.FileSchedule, optest.Req{Token: d.Agent, Path: d.Paths(), Body: body, Key: key})
}

// released are the lines of released money by step, with their causes.
func (d *deal) released() (out []string) {
	for _, l := range d.lines() {
		if l.Kind == money.Release {
			out = append(out, fmt.Sprint(d.Stored().Find(l.StepID, false).Number, " ", l.Cents, " ", l.Cause))
		}
	}
	slices.Sort(out)
	return out
}

func TestApprovingATimedDeliveryPaysTheStepAndTheFinishLineOnce(t *testing.T) {
	w := newWorld(t)
	d := w.packaged(weekly())
	d.schedule(days(3), "").Want(201)
	w.Settle()
	mail := w.Mails.Sent[len(w.Mails.Sent)-1]
	if mail.Subject != "Your turn: The week" || !strings.Contains(mail.Text, "$50 is released") || !strings.Contains(mail.Text, "ends the deal") || !strings.Contains(mail.Text, "14 December 2026, 18:20 UTC") {
		t.Errorf("the ask says %s: %s", mail.Subject, mail.Text)
	}
	if a := d.Money(); a.Held != 5000 || a.Released != 4000 {
		t.Fatalf("%+v", a)
	}
	r := d.Answer(4, m{"verdict": "approve", "score": 9}).Want(200)
	if r.Num("released_cents") != 5000 || r.Str("deal_status") != path.Ended || r.Str("end_cause") != path.Resolved {
		t.Errorf("%s", r.Body)
	}
	d.Answer(4, m{"verdict": "approve", "score": 9}).Refused(409, "step_not_waiting")
	d.Answer(5, m{"verdict": "approve", "score": 9}).Refused(409, "step_not_waiting")
	w.Settle()
	if got := d.released(); !slices.Equal(got, []string{"2 3000 person", "3 1000 person", "4 4000 person", "5 1000 person"}) {
		t.Errorf("%v", got)
	}
	if a := d.Money(); a.Held != 0 || a.Released != 9000 || a.Returned != 0 || w.paidOut() != 9000 {
		t.Errorf("%+v, paid out %d", a, w.paidOut())
	}
	wallet := w.Do(deals.Wallet, optest.Req{Token: d.Agent}).Want(200)
	if list, _ := wallet.At("releases").([]any); len(list) != 4 || wallet.Num("balance.held_cents") != 0 {
		t.Errorf("%s", wallet.Body)
	}
	now := d.Current()
	if now.At("current_step") != nil || now.At("your_move") != nil || now.At("next_call") != nil || now.Str("schedule.status") != "delivering" || now.Str("end_cause") != path.Resolved {
		t.Errorf("%s", now.Body)
	}
	if d.TheWant().Status != wants.Resolved {
		t.Errorf("%+v", d.TheWant())
	}
	w.Advance(5 * path.Day)
	events := d.Events()
	for word, n := range map[string]int{"schedule.filed": 1, "schedule.approved": 1, "schedule.completed": 1, "target.resolved": 1, "delivery.released": 0, "step.released": 4} {
		if got := times(events, word); got != n {
			t.Errorf("the agent hears %s %d times, want %d: %v", word, got, n, events)
		}
	}
	pending := d.Pending()
	for word, n := range map[record.Word]int{record.ScheduleFiled: 1, record.ScheduleApproved: 1, record.DeliveryReleased: 3, record.ScheduleCompleted: 1, record.TargetResolved: 1} {
		if got := times(pending, word); got != n {
			t.Errorf("%s stands %d times on record, want %d", word, got, n)
		}
	}
	if a := d.Money(); a.Released != 9000 || w.paidOut() != 9000 {
		t.Errorf("the days moved money: %+v, %d", a, w.paidOut())
	}
}

func times[T comparable](list []T, v T) (n int) {
	for _, x := range list {
		if x == v {
			n++
		}
	}
	return n
}

func TestSilenceAboutAPaidTimedDeliveryIsToldOnceWithAllItsDollars(t *testing.T) {
	w := newWorld(t)
	d := w.packaged(weekly())
	d.schedule(days(3), "").Want(201)
	w.Advance(14 * path.Day)
	if got := d.released(); !slices.Equal(got[2:], []string{"4 4000 stale", "5 1000 stale"}) {
		t.Errorf("%v", got)
	}
	var taken []string
	reminders := 0
	for _, one := range w.Mails.Sent {
		if strings.HasPrefix(one.Subject, "Taken as approved") {
			taken = append(taken, one.Text)
		}
		if strings.Contains(one.Subject, "reminder: The week") {
			if reminders++; !strings.Contains(one.Text, "$50 is released") || !strings.Contains(one.Text, "14 December 2026, 18:20 UTC") {
				t.Errorf("a reminder says %s", one.Text)
			}
		}
	}
	if len(taken) != 1 || !strings.Contains(taken[0], "$50 was released") || reminders != 3 {
		t.Errorf("%d reminders, %v", reminders, taken)
	}
	if s := d.Stored(); s.EndCause != path.Resolved || s.Score != 0 || !s.Stale {
		t.Errorf("%+v", s)
	}
}

// TestApprovalAndSilenceAboutATimedDeliveryMeetAndOneOfThemPays, a moment before day 14 and at it.
func TestApprovalAndSilenceAboutATimedDeliveryMeetAndOneOfThemPays(t *testing.T) {
	causes := map[string]int{}
	for i := range 40 {
		w := newWorld(t)
		d := w.packaged(weekly())
		d.schedule(days(2), "").Want(201)
		due := d.Stored().Open().LapseAt()
		w.Advance(due.Sub(w.Now()) - time.Millisecond)
		timer, now := d.Stored().Timer, due
		if i%3 == 0 {
			now = due.Add(-time.Millisecond)
		}
		w.Engine.Now = func() time.Time { return now }
		verdict := []string{"approve", "decline"}[i/4%2]
		person := func() {
			p := d.Paths()
			p["step_id"] = "4"
			w.Do(deals.AnswerStep, optest.Req{Token: d.Person, Path: p, Key: "the answer", Body: m{"verdict": verdict, "score": 4, "reason": "Hm."}})
		}
		var wg sync.WaitGroup
		if i%4 < 2 { // side by side
			wg.Go(person)
		} else {
			person()
		}
		wg.Go(func() {
			_ = w.Engine.Run(t.Context(), due, "bench", func(c *op.Call) error {
				return deals.Fire(c, op.Fired{Kind: timer.Kind, Subject: d.ID, Due: timer.Due})
			})
		})
		wg.Wait()
		s, lines := d.Stored(), d.released()
		causes[s.EndCause+" "+s.Steps[3].Cause]++
		switch {
		case s.EndCause == path.Declined && len(lines) == 2 && d.Money().Returned == 5000:
		case s.EndCause == path.Resolved && len(lines) == 4 && s.Steps[3].Cause == s.Steps[4].Cause && d.Money().Released == 9000:
		default:
			t.Fatalf("%s: %v, %+v", s.EndCause, lines, d.Money())
		}
		if now.Equal(due) && s.Steps[3].Cause == path.ByPerson {
			t.Fatal("the person answered at day 14")
		}
	}
	if causes["resolved person"] == 0 || causes["resolved stale"] == 0 || causes["declined "] == 0 {
		t.Errorf("%v", causes)
	}
}

func TestTwoFilingsAtOnceMakeOneHandOver(t *testing.T) {
	for i := range 20 {
		w := newWorld(t)
		d := w.packaged(weekly())
		statuses := map[string]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		note := func(what string, r optest.Res) {
			mu.Lock()
			defer mu.Unlock()
			statuses[fmt.Sprint(what, r.Status, r.Str("error"), r.Str("schedule_id") != "")]++
		}
		for range 2 {
			wg.Go(func() { note("one key ", d.schedule(days(2), "k")) })
			wg.Go(func() { note("another key ", d.schedule(days(3), fmt.Sprint("k", i))) })
		}
		wg.Go(func() { note("document ", d.Outcome(dealtest.Document("It is done."))) })
		wg.Wait()
		filed := 0
		for _, s := range d.Pending() {
			if s == record.ScheduleFiled || s == record.OutcomeFiled {
				filed++
			}
		}
		if s := d.Stored().Open(); s.Version != 1 || s.State != path.Waiting || filed != 3 { // two steps came before
			t.Fatalf("version %d, %d filed: %v", s.Version, filed, statuses)
		}
		for answer := range statuses {
			if !strings.Contains(answer, "201") && !strings.Contains(answer, "schedule_exists") && !strings.Contains(answer, "out_of_turn_filing") {
				t.Fatalf("%v", statuses)
			}
		}
	}
}

// TestATimedDeliveryAfterTheRoundsAreUsedUp: changes of the last round void it for good, and the
// FINISH that came back takes none.
func TestATimedDeliveryAfterTheRoundsAreUsedUp(t *testing.T) {
	w := newWorld(t)
	d := w.packaged(weekly())
	d.schedule(days(2), "").Want(201)
	d.Answer(4, m{"verdict": "request_changes", "reason": "Slower."}).Want(200)
	d.Pulses()
	first := d.schedule(days(2), "").Want(201)
	d.Answer(4, m{"verdict": "request_changes", "reason": "Slower."}).Refused(409, "rounds_used_up")
	d.Answer(4, m{"verdict": "approve"}).Refused(422, "score_required")
	if first.Num("version") != 2 {
		t.Errorf("%s", first.Body)
	}
	d.Answer(4, m{"verdict": "approve", "score": 5}).Want(200)

	e := w.packaged(weekly())
	e.Outcome(dealtest.Document("It is done.")).Want(201)
	e.Answer(4, m{"verdict": "approve"}).Want(200)
	e.Answer(5, m{"verdict": "request_changes", "reason": "Not yet."}).Want(200)
	e.Pulses()
	e.schedule(days(2), "").Refused(422, "schedule_invalid")
	e.Outcome(dealtest.Document("Now it is.")).Want(201)
	e.Answer(5, m{"verdict": "approve", "score": 5}).Want(200)
}

// TestADealThatEndsWhileItsTimedDeliveryWaits voids it and returns what is held.
func TestADealThatEndsWhileItsTimedDeliveryWaits(t *testing.T) {
	for name, end := range map[string]func(d *deal) optest.Res{
		path.Declined: func(d *deal) optest.Res { return d.Answer(4, m{"verdict": "decline", "reason": "No."}) },
		"ended": func(d *deal) optest.Res {
			return d.world.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "No."}})
		},
		path.AgentWithdrew: func(d *deal) optest.Res {
			return d.world.Do(deals.Withdraw, optest.Req{Token: d.Agent, Path: d.Paths(), Body: m{"reason": "I cannot.", "kind": "abandonment"}})
		},
	} {
		w := newWorld(t)
		d := w.packaged(weekly())
		d.schedule(days(2), "").Want(201)
		d.OnStep(deals.Fail, "4", m{"reason": "I cannot."}).Refused(409, "step is not agent_working")
		end(d).Want(200)
		w.Advance(30 * path.Day)
		if a := d.Money(); a.Held != 0 || a.Released != 4000 || a.Returned != 5000 {
			t.Errorf("%s: %+v", name, a)
		}
		if s := d.Current(); s.Str("schedule.status") != "voided" || s.At("schedule.badge") != nil || s.At("schedule.next_at") != nil {
			t.Errorf("%s: %v", name, s.At("schedule"))
		}
		d.schedule(days(2), "").Refused(404, "not found")
		if n := times(d.Pending(), record.DeliveryReleased) + times(d.Pending(), record.ScheduleApproved); n != 0 {
			t.Errorf("%s: %v", name, d.Pending())
		}
	}
}

func TestAPracticeTimedDeliveryLandsAndNothingOfItIsPublic(t *testing.T) {
	w := newWorld(t)
	d := w.posted(weekly())
	d.Target = d.Want(weekly())
	d.Load(func(c *op.Call) error {
		x, _, err := wants.Load(c, d.Target)
		if err != nil {
			return err
		}
		x.Practice = true
		return x.Save(c)
	})
	d.File(weekly())
	d.Pick()
	d.Sign().Want(200)
	for range 2 {
		d.Deliver()
		d.Yes()
	}
	d.Pulses()
	before := len(d.Pending())
	d.schedule(days(2), "").Want(201)
	d.Answer(4, m{"verdict": "approve", "score": 9}).Want(200)
	w.Advance(5 * path.Day)
	if got := d.Pending(); len(got) != before {
		t.Errorf("%v", got[before:])
	}
	if s := d.Current(); s.Str("schedule.status") != "completed" || s.Num("schedule.released_count") != 2 {
		t.Errorf("%v", s.At("schedule"))
	}
}

// TestAPersonWhoComesAfterAnApprovalThatNobodySawAndSevenWeeksIsServed: the end of a paid deal
// and twenty late days are more than one commit holds.
func TestAPersonWhoComesAfterAnApprovalThatNobodySawAndSevenWeeksIsServed(t *testing.T) {
	for _, o := range []*op.Operation{delivery.SetChannels, delivery.Pause, delivery.Stop} {
		w := newWorld(t)
		d := w.packaged(weekly())
		d.schedule(days(60), "").Want(201)
		w.Skip(64 * path.Day)
		body := m{}
		if o == delivery.SetChannels {
			body["channels"] = []string{"email"}
		}
		if r := w.Do(o, optest.Req{Token: d.Person, Path: d.Paths(), Body: body}).Want(200); r.Num("released_count") != 50 {
			t.Errorf("%s: %s", o.ID, r.Body)
		}
		w.Settle()
		if n := times(d.Pending(), record.DeliveryReleased); n != 50 {
			t.Errorf("%s: %d of 50 days stand on record", o.ID, n)
		}
		if a := d.Money(); a.Released != 9000 {
			t.Errorf("%s: %+v", o.ID, a)
		}
	}
}

// TestAnAskReachesItsPersonWhateverItsTitleHolds: a tab or a line's end in the title of a step
// would make a mail that no mailer sends, and silence would pay.
func TestAnAskReachesItsPersonWhateverItsTitleHolds(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.BidOf(1000, dealtest.Step("The\taim", "APPROVE", 3000), dealtest.Step("The\u2028plan", "APPROVE", 1000), dealtest.Step("The week", "APPROVE", 4000)))
	d.Deliver()
	w.Advance(13 * path.Day)
	d.Yes()
	d.Deliver()
	w.Advance(13 * path.Day)
	asks := 0
	for _, one := range w.Mails.Sent {
		if one.From = "Guildhall <hall@guildhall.test>"; one.Valid() != nil {
			t.Errorf("%q cannot be sent: %v", one.Subject, one.Valid())
		}
		if strings.Contains(one.Subject, "The aim") || strings.Contains(one.Subject, "The plan") {
			asks++
		}
	}
	if asks != 8 { // two asks with three reminders each
		t.Errorf("%d mails about the two steps: %q", asks, w.Subjects())
	}
}
