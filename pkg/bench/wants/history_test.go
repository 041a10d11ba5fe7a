package wants_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
)

// ended is an ended deal as its package hands it over.
func ended(cause, reason string, answers ...string) wants.Attempt {
	no, at := "A-0023", time.Date(2026, 12, 24, 8, 0, 0, 0, time.UTC)
	hours, step, odds, latest := 5.0, 3, 0.7, 0.4
	a := wants.Attempt{
		Prior: wants.PriorAttempt{AgentRegistryNo: &no, AgentHandle: "Maker", EndCause: cause, EndedAt: at, EstimateHours: &hours, Steps: []wants.AttemptStep{
			{Ordinal: 1, Title: "Deal signed", State: "completed"}, {Ordinal: 2, Title: "Choose", State: "completed", Tipped: true},
			{Ordinal: 3, Title: "Approve", State: "in_progress_at_failure"}, {Ordinal: 4, Title: "Finish", State: "not_reached"}}},
		Past: wants.PastAttempt{AgentRegistryNo: &no, AgentHandle: "Maker", EndCause: cause, Reason: &reason, BrokenStep: &step, OddsAtBid: &odds, OddsLatest: &latest, EndedAt: at},
	}
	for i, s := range answers {
		a.Answers = append(a.Answers, wants.PublicAnswer{Round: 1, Question: fmt.Sprint("Question ", i), Answer: s, AnsweredAt: at})
	}
	return a
}

// shown is the brief of a want as it stands.
func (w *world) shown(id string, tips bool) (b wants.Brief) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) error {
		v, _, err := wants.LoadBrief(c, id)
		b = v.Show(wants.PersonFacts{}, tips, nil)
		return err
	})
	return b
}

func TestAnEndedDealIsHistory(t *testing.T) {
	w := newWorld(t)
	id := w.Post(w.Poster("ada"), benchtest.Posting())
	w.Edit(id, func(_ *op.Call, v *wants.Want) error {
		v.Remember(ended(wants.AgentFailed, "The place burned down."))
		return nil
	})
	b := w.shown(id, true)
	p := b.Prior[0]
	if *p.AgentRegistryNo != 23 || p.StepCount != 4 || *p.EstimateHours != 5 || !p.Steps[1].Tipped || p.Steps[2].State != "in_progress_at_failure" {
		t.Errorf("%+v", p)
	}
	if *b.Past[0].Reason != "The place burned down." || *b.Past[0].OddsAtBid != 0.7 || *b.Past[0].OddsLatest != 0.4 || *b.Past[0].BrokenStep != 3 {
		t.Errorf("%+v", b.Past[0])
	}
	if w.shown(id, false).Prior[0].Steps[1].Tipped {
		t.Error("with the tip flag off no step was tipped")
	}
}

func TestAPersonsReasonIsNotTheAgents(t *testing.T) {
	w := newWorld(t)
	id := w.Post(w.Poster("ada"), benchtest.Posting())
	for _, cause := range []string{"declined", "lapsed", "expired", "resolved"} {
		w.Edit(id, func(_ *op.Call, v *wants.Want) error { v.Remember(ended(cause, "I found somebody else.")); return nil })
	}
	for _, p := range w.shown(id, true).Past {
		if p.Reason != nil {
			t.Errorf("%s shows %q", p.EndCause, *p.Reason)
		}
	}
}

func TestWhatOfAnAnswerIsPublished(t *testing.T) {
	w := newWorld(t)
	id := w.Post(w.Poster("ada"), benchtest.Posting())
	answers := []string{"The one with the duck.", "Ask ada@example.com", "Call (415) 555-0100", "12 Long Street, second floor", "password: hunter2hunter2", "   ", "Quiet, please."}
	w.Edit(id, func(_ *op.Call, v *wants.Want) error {
		v.Remember(ended(wants.AgentFailed, "x", answers...))
		return nil
	})
	got := w.shown(id, true).Answers
	if len(got) != 2 || got[0].Answer != answers[0] || got[1].Answer != answers[6] || got[1].Question != "Question 6" || got[1].Round != 1 {
		t.Errorf("%+v", got)
	}
	w.Edit(id, func(_ *op.Call, v *wants.Want) error {
		v.Publish = false
		v.Remember(ended(wants.AgentFailed, "x", answers...))
		return nil
	})
	if len(w.shown(id, true).Answers) != 2 {
		t.Error("answers were published though the person said no")
	}
}

func TestOnlyWhatTheAgentDidReposts(t *testing.T) {
	for cause, want := range map[string]bool{"agent_failed": true, "agent_withdrew": true, "declined": false, "lapsed": false, "expired": false,
		"resolved": false, "declined_by_agent": false, "pick_lapsed": false, "": false} {
		if v := (&wants.Want{AutoRepost: true}); v.ReopensAfter(cause) != want {
			t.Errorf("%s reposts: %v", cause, !want)
		}
		if v := (&wants.Want{}); v.ReopensAfter(cause) {
			t.Errorf("%s reposts though the person said no", cause)
		}
	}
}

func TestRejectionsSayNothingOfWhoseBidItWas(t *testing.T) {
	w := newWorld(t)
	id := w.Post(w.Poster("ada"), benchtest.Posting())
	reasons := []string{"Too slow for Friday.", "Nine-Doors was dear", "No to ＮＩＮＥ-doors", "A-0023 never answered", "Write to me at ada@example.com", "My token: abcdefgh12345"}
	for i, r := range reasons {
		w.Edit(id, func(c *op.Call, v *wants.Want) error { v.Reject(c.Now, i+1, r, "Nine-Doors", "A-0023"); return nil })
	}
	got := w.shown(id, true).Rejected
	if len(got) != 6 || got[5].Reason != reasons[0] || got[5].Round != 1 || got[0].Round != 6 {
		t.Fatalf("newest first: %+v", got)
	}
	for _, r := range got[:5] {
		if r.Reason != "The person's reason is not shown." {
			t.Errorf("%q says who it was", r.Reason)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	w := newWorld(t)
	id := w.Post(w.Poster("ada"), benchtest.Posting())
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string { // nothing a compressor could help with
		var b strings.Builder
		for range n {
			b.WriteRune(rune(0x4e00 + r.IntN(0x5000)))
		}
		return b.String()
	}
	for i := range 120 {
		w.Edit(id, func(c *op.Call, v *wants.Want) error {
			a := ended(wants.AgentFailed, random(1000))
			a.Prior.Steps = nil
			for n := range 17 {
				a.Prior.Steps = append(a.Prior.Steps, wants.AttemptStep{Ordinal: n + 1, Title: random(60), State: "completed"})
			}
			for range 4 {
				a.Answers = append(a.Answers, wants.PublicAnswer{Round: i, Question: random(300), Answer: random(1000)})
			}
			v.Remember(a)
			v.Reject(c.Now, i, random(500))
			v.DealIDs = append(v.DealIDs, c.NewID(), c.NewID())
			return nil
		})
	}
	v := w.Want(id)
	if len(v.Prior) == 0 || len(v.Prior) > wants.MaxAttempts || len(v.Past) == 0 || len(v.Rejected) == 0 || len(v.Rejected) > wants.MaxRejected ||
		len(v.Answers) == 0 || len(v.Answers) > wants.MaxAnswers || len(v.DealIDs) != wants.MaxDeals {
		t.Errorf("%d prior, %d past, %d rejected, %d answers, %d deals", len(v.Prior), len(v.Past), len(v.Rejected), len(v.Answers), len(v.DealIDs))
	}
	if v.Answers[len(v.Answers)-1].Round != 119 || v.Rejected[0].Round != 119 {
		t.Error("the newest stay")
	}
	short := w.Post(w.Poster("bob"), benchtest.Posting())
	for range 300 {
		w.Edit(short, func(c *op.Call, v *wants.Want) error {
			v.Remember(ended(wants.AgentFailed, "x", "yes", "no"))
			v.Reject(c.Now, 1, "No.")
			return nil
		})
	}
	if v := w.Want(short); len(v.Prior) != wants.MaxAttempts || len(v.Past) != wants.MaxAttempts || len(v.Rejected) != wants.MaxRejected || len(v.Answers) != wants.MaxAnswers {
		t.Errorf("%d prior, %d past, %d rejected, %d answers", len(v.Prior), len(v.Past), len(v.Rejected), len(v.Answers))
	}
}

func TestAWantRemembersItsLastRounds(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	for range wants.MaxReposts + 5 {
		w.Advance(time.Minute)
		w.repost(p, id, nil).Want(200)
	}
	v := w.Want(id)
	at := func(round int) time.Duration { return v.SupersededAt(round).Sub(v.PostedAt) }
	if v.Round != wants.MaxReposts+6 || len(v.Reposts) != wants.MaxReposts || at(v.Round-1) != 105*time.Minute || at(6) != 6*time.Minute {
		t.Errorf("round %d, %d remembered, %v and %v", v.Round, len(v.Reposts), at(v.Round-1), at(6))
	}
	if v.SupersededAt(v.Round) != nil || at(1) != 6*time.Minute {
		t.Error("the oldest bids were put aside when the oldest repost we know of happened")
	}
}
