package bids_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// at are the times of an agent's events of a type, as spans from the start.
func (w *world) at(m maker, kind string) (spans []time.Duration) {
	for _, e := range w.feed(m) {
		if e.Type == kind {
			spans = append(spans, e.At.Sub(optest.Start))
		}
	}
	return spans
}

func TestTheQuietClockToTheSecond(t *testing.T) {
	for _, silent := range []bool{true, false} {
		w := newWorld(t)
		_, m, _, bid := w.finalist()
		// The agent's own reads are signs of life, so look from outside.
		w.Advance(12*time.Hour - time.Second)
		if got := w.at(m, "finalist.reminder"); len(got) != 0 {
			t.Fatalf("reminded after %v", got)
		}
		w.Advance(time.Second)
		if got := w.at(m, "finalist.reminder"); !slices.Equal(got, []time.Duration{12 * time.Hour}) {
			t.Fatalf("reminded at %v", got)
		}
		w.Advance(12*time.Hour - time.Second)
		if b := w.stored(bid); b.Status != bids.Filed {
			t.Fatalf("a second too early: %+v", b)
		}
		if !silent {
			w.Do(bids.Mine, optest.Req{Token: m.Token}).Want(200) // in the last second
		}
		w.Advance(time.Second)
		b := w.stored(bid)
		if silent != (b.Status == bids.Expired) {
			t.Errorf("silent %v: %+v", silent, b)
		}
		if silent && (!b.EndedAt.Equal(optest.Start.Add(24*time.Hour)) || !b.Lapsed || b.Ordinal != 1) {
			t.Errorf("%+v", b)
		}
	}
}

func TestTheQuietExpiryIsTestedOnceAndCallsBeforeTheHandoffDoNotCount(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	w.Name(p, target, bid)
	w.Do(bids.Mine, optest.Req{Token: m.Token}).Want(200)
	w.Advance(time.Minute)
	w.Hand(p, target, bid)
	w.Advance(24*time.Hour - time.Second)
	if w.stored(bid).Status != bids.Filed {
		t.Error("early")
	}
	w.Advance(time.Second)
	if w.stored(bid).Status != bids.Expired {
		t.Error("a call before the handoff was taken for a sign of life")
	}
}

func TestAnyDoorIsASignOfLife(t *testing.T) {
	doors := map[string]func(w *world, m maker, target, bid string){
		"rest read": func(w *world, m maker, target, bid string) {
			w.Do(bids.ReadAnswers, optest.Req{Token: m.Token, Path: benchtest.On(target, bid)}).Want(200)
		},
		"mcp read": func(w *world, m maker, target, bid string) {
			w.Do(bids.Mine, optest.Req{Token: w.mcp(m), Transport: "mcp"}).Want(200)
		},
		"mcp tool": func(w *world, m maker, target, bid string) {
			w.Do(bids.EstimateReleases, optest.Req{Token: w.mcp(m), Transport: "mcp", Body: benchtest.GoodBid}).Want(200)
		},
		"a refused read": func(w *world, m maker, target, bid string) {
			w.Do(bids.Mine, optest.Req{Token: m.Token}).Want(200)
		},
	}
	for name, call := range doors {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, m, target, bid := w.finalist()
			w.Advance(3 * time.Hour)
			call(w, m, target, bid)
			w.Advance(33*time.Hour - time.Second)
			if b := w.stored(bid); b.Status != bids.Filed || b.Reminded || !b.Heard {
				t.Fatalf("%+v", b)
			}
			if got := w.at(m, "finalist.reminder"); len(got) != 0 {
				t.Errorf("reminded though it was heard: %v", got)
			}
			w.Advance(time.Second)
			if got := w.at(m, "finalist.plan-due"); !slices.Equal(got, []time.Duration{36 * time.Hour}) {
				t.Errorf("warned of the plan at %v", got)
			}
			w.Advance(12*time.Hour - time.Second)
			if w.stored(bid).Status != bids.Filed {
				t.Error("the plan deadline came early")
			}
			w.Advance(time.Second)
			if b := w.stored(bid); b.Status != bids.Expired || !b.EndedAt.Equal(optest.Start.Add(48*time.Hour)) {
				t.Errorf("active, but without a plan: %+v", b)
			}
		})
	}
}

func TestAPlanStopsTheClockForGood(t *testing.T) {
	w := newWorld(t)
	_, m, target, bid := w.finalist()
	w.ready(m)
	w.Advance(24*time.Hour - time.Second)
	w.plan(m, target, bid, goodPlan()).Want(200)
	w.Advance(30 * 24 * time.Hour)
	b := w.mine(m, bid)
	if b.Str("status") != "filed" || b.At("your_move") != nil || b.Num("finalist_ordinal") != 1 || b.At("finalist_health.expired") != false || b.Str("plan_revised_at") != "2026-12-01T18:19:59Z" {
		t.Errorf("%v", b.JSON)
	}
}

func TestThePersonsClock(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	w.Settle()
	w.Name(p, target, bid)
	mails := len(w.Mails.To(p.Email))
	w.Do(bids.Answer, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"answers": []obj{{"ordinal": 3, "answer": "My mother."}}, "send": false}}).Want(200)
	w.Advance(24*time.Hour - time.Second)
	if n := len(w.Mails.To(p.Email)); n != mails {
		t.Errorf("%d mails", n)
	}
	w.Advance(time.Second)
	if m := w.Mails.To(p.Email); len(m) != mails+1 || m[mails].Subject != "An agent is waiting for your answers" || !strings.Contains(m[mails].Text, "3 December 2026, 18:20 UTC") {
		t.Errorf("%+v", m)
	}
	w.Advance(48*time.Hour - time.Second)
	if b := w.mine(m, bid); b.At("finalist_health") != nil || len(b.At("finalist_answers.answers").([]any)) != 0 {
		t.Errorf("the drafts stay with the person: %v", b.JSON)
	}
	w.Advance(time.Second)
	b := w.mine(m, bid)
	if b.Str("finalist_health.answered_at") != "2026-12-03T18:20:00Z" || b.Str("finalist_health.expires_at") != "2026-12-04T18:20:00Z" ||
		b.Str("finalist_health.plan_deadline_at") != "2026-12-05T18:20:00Z" || b.Str("finalist_answers.answers.0.answer") != "My mother." {
		t.Errorf("%v", b.JSON)
	}
	if got := w.at(m, "finalist.handoff"); !slices.Equal(got, []time.Duration{72 * time.Hour}) {
		t.Errorf("%v", got)
	}
	w.Do(bids.Answer, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"answers": []obj{}, "send": true}}).Refused(409, "already_handed_off")
}

func TestNobodyAnswersAndNobodyCalls(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	w.Name(p, target, bid)
	w.Advance(30 * 24 * time.Hour)
	b := w.stored(bid)
	if b.Status != bids.Expired || b.EndedAt.Sub(optest.Start) != 96*time.Hour {
		t.Errorf("%+v", b)
	}
	if got := w.events(m, bid); !slices.Equal(got, []string{"bid.filed", "finalist.named", "finalist.handoff", "finalist.reminder", "finalist.expired"}) {
		t.Error(got)
	}
	if got := w.ledger(target); !slices.Equal(got, []string{"target.posted", "bid.filed", "finalist.named", "finalist.handoff", "finalist.expired"}) {
		t.Error(got)
	}
	mails := w.Mails.To(p.Email)
	if last := mails[len(mails)-1]; last.Subject != "A finalist ran out of time" || strings.Contains(last.Text, "Maker") {
		t.Errorf("%+v", last)
	}
	if v := w.Want(target); v.Finalists[0] != "" {
		t.Error("the slot is free")
	}
	w.File(m, target) // and the agent may refile
}

func TestALateSweepShowsAndPermitsNothingWrong(t *testing.T) {
	w := newWorld(t)
	p, m, target, bid := w.finalist()
	w.ready(m)
	for _, c := range []struct {
		after    time.Duration
		status   string
		reminder bool
	}{{12*time.Hour - time.Second, "filed", false}, {12 * time.Hour, "filed", true}, {24*time.Hour - time.Second, "filed", true}, {24 * time.Hour, "expired", true}} {
		end := w.late(c.after)
		cards := w.Do(bids.Cards, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
		if got := cards.Str("bids.0.status"); got != c.status {
			t.Errorf("after %v the person reads %s", c.after, got)
		}
		end()
	}
	end := w.late(24 * time.Hour)
	// The agent's very call comes at the deadline: too late for a sign of life before it? No: both ends count.
	if r := w.plan(m, target, bid, goodPlan()); r.Status != 200 {
		t.Errorf("%s", r.Body)
	}
	end()

	p, m, target, bid = w.finalist()
	w.ready(m)
	end = w.late(24*time.Hour + time.Second)
	w.plan(m, target, bid, goodPlan()).Refused(409, "cannot revise a expired bid")
	w.withdraw(m, bid).Refused(409, "cannot withdraw a expired bid")
	w.Do(bids.Ask, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"question": "Still there?"}}).Refused(409, "not_finalist")
	w.reject(p, target, bid, "Too late.").Refused(409, "not_filed")
	w.tryName(p, target, bid).Refused(409, "not_filed")
	b := w.mine(m, bid)
	if b.Str("status") != "expired" || b.At("your_move") != nil || b.At("finalist_health.expired") != true || b.Num("finalist_ordinal") != 1 {
		t.Errorf("%v", b.JSON)
	}
	end()
	w.Advance(25 * time.Hour)
	if b := w.stored(bid); !b.EndedAt.Equal(b.HandedAt.Add(24 * time.Hour)) {
		t.Errorf("the late sweep stamps the due time: %+v", b)
	}
}

func TestALateHandoffDoesNotPunishSilenceNobodyListenedTo(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	bid := w.File(m, target)
	w.Name(p, target, bid)
	w.ready(m)
	end := w.late(72*time.Hour + 30*time.Hour) // handoff and quiet expiry both passed without a sweep
	if b := w.mine(m, bid); b.Str("status") != "filed" || b.Str("finalist_health.answered_at") != "2026-12-03T18:20:00Z" {
		t.Errorf("%v", b.JSON)
	}
	w.plan(m, target, bid, goodPlan()).Want(200)
	if got := w.events(m, bid); !slices.Equal(got, []string{"bid.filed", "finalist.named", "finalist.handoff", "plan.filed"}) {
		t.Errorf("what passed before is told with the plan: %v", got)
	}
	if got := w.at(m, "finalist.handoff"); got[0] != 72*time.Hour {
		t.Errorf("%v", got)
	}
	end()
	second := w.Easy(p)
	other := w.Maker("Other")
	bid = w.File(other, second)
	w.Name(p, second, bid)
	end = w.late(72*time.Hour + 48*time.Hour)
	if b := w.mine(other, bid); b.Str("status") != "expired" {
		t.Errorf("the plan deadline knows no excuse: %v", b.JSON)
	}
	end()
}

func TestAQuietAgentsPartyIsMailed(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	r := w.Do(registry.Register, optest.Req{Body: registration("Listener")}).Want(201)
	m := maker{ID: r.Str("maker_id"), Token: r.Str("rest_token"), No: r.Str("registry_no")}
	w.Change(m, func(a *registry.Agent) { a.ReachableAt = w.Now() })
	target := w.Easy(p)
	bid := w.File(m, target)
	w.Name(p, target, bid)
	w.Hand(p, target, bid)
	w.Advance(12 * time.Hour)
	mails := w.Mails.To("ops@ninedoors.example.com")
	if last := mails[len(mails)-1]; !strings.Contains(last.Subject, "Listener is a finalist and silent") || !strings.Contains(last.Text, "1 December 2026, 18:20 UTC") {
		t.Errorf("%+v", last)
	}
	w.Run("bench", func(c *op.Call) error { return registry.Suppress(c, "ops@ninedoors.example.com", registry.Everything) })
	second := w.Easy(p)
	bid = w.File(m, second)
	w.Name(p, second, bid)
	w.Hand(p, second, bid)
	n := len(w.Mails.To("ops@ninedoors.example.com"))
	w.Advance(13 * time.Hour)
	if got := w.Mails.To("ops@ninedoors.example.com"); len(got) != n {
		t.Errorf("mailed though it wants none: %+v", got[n:])
	}
}

func TestClocksOfManyFinalistsDoNotMeet(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	target := w.Easy(p)
	var filed []string
	for i := range 3 {
		m := w.Maker(fmt.Sprint("Maker", i))
		filed = append(filed, w.File(m, target))
		w.Name(p, target, filed[i])
		w.Hand(p, target, filed[i])
		w.Advance(time.Hour)
	}
	w.Advance(21*time.Hour - time.Second)
	for i, b := range filed {
		if s := w.stored(b).Status; s != bids.Filed {
			t.Errorf("%d is %s", i, s)
		}
	}
	for i := range 3 {
		w.Advance(time.Second)
		if s := w.stored(filed[i]).Status; s != bids.Expired {
			t.Errorf("%d is %s", i, s)
		}
		w.Advance(time.Hour - time.Second)
	}
	if v := w.Want(target); v.FreeSlot() != 1 || v.Finalists != [3]string{} {
		t.Errorf("%v", v.Finalists)
	}
}
