package path_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
)

// packaged is a deal whose last step waits as a timed delivery.
func packaged(t *testing.T, total bool) (*path.Deal, *path.Step) {
	t.Helper()
	steps, finish := plan(proposal.Approve, proposal.Approve), int64(500)
	if !total {
		for i := range steps {
			steps[i].LineItemAmount = 0
		}
		finish = 0
	}
	d := signed(t, pickOf(steps, finish, 7), start)
	pulse(t, d, start)
	if _, err := d.FileSchedule(start, "s1"); err != path.NotPackage {
		t.Fatalf("a timed delivery on a step that is not the last: %v", err)
	}
	if _, err := d.File(start, "document"); err != nil {
		t.Fatal(err)
	}
	approve(t, d, start)
	pulse(t, d, start)
	s, err := d.FileSchedule(start, "s1")
	if err != nil || s.State != path.Waiting || s.Version != 1 {
		t.Fatalf("%+v %v", s, err)
	}
	run(t, d)
	return d, s
}

func TestApprovingATimedDeliveryApprovesTheFinishAndEndsTheDeal(t *testing.T) {
	d, s := packaged(t, true)
	if err := d.Answer(start, s, path.Answer{Verdict: path.Approve}); err != path.ScoreNeeded {
		t.Errorf("without a score: %v", err)
	}
	if err := d.Answer(start, s, path.Answer{Verdict: path.Approve, Score: 9}); err != nil {
		t.Fatal(err)
	}
	got := words(run(t, d))
	want := []string{"ask.answered", "step.approved", "step.released", "schedule.approved", "step.approved", "step.released", "target.resolved"}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if d.EndCause != path.Resolved || d.Score != 9 || d.Money.Held != 0 || d.Money.Released != d.TotalCents {
		t.Errorf("%+v", d)
	}
}

func TestSilenceAboutATimedDeliveryResolvesAPaidDealAndLapsesAFreeOne(t *testing.T) {
	for _, paid := range []bool{true, false} {
		d, _ := packaged(t, paid)
		d.Settle(start.Add(20 * path.Day))
		got := strings.Join(words(run(t, d)), " ")
		if !strings.Contains(got, string(record.ScheduleApproved)) {
			t.Errorf("paid %v: the schedule was not approved: %s", paid, got)
		}
		want, released := path.Resolved, d.TotalCents
		if !paid {
			want = path.Lapsed
		}
		if d.EndCause != want || d.Score != 0 || d.Money.Released != released || !d.EndedAt.Equal(start.Add(14*path.Day)) {
			t.Errorf("paid %v: %s at %v, released %d", paid, d.EndCause, d.EndedAt, d.Money.Released)
		}
	}
}

func TestAskingForChangesVoidsATimedDelivery(t *testing.T) {
	d, s := packaged(t, true)
	if err := d.Answer(start, s, path.Answer{Verdict: path.RequestChanges}); err != nil {
		t.Fatal(err)
	}
	run(t, d)
	if s.Schedule != "" || s.State != path.Working {
		t.Fatalf("%+v", s)
	}
	pulse(t, d, start)
	if _, err := d.File(start, "document"); err != nil {
		t.Fatal(err)
	}
	if err := d.Answer(start, s, path.Answer{Verdict: path.Approve}); err != nil {
		t.Fatal("a document after a voided schedule needs no score:", err)
	}
	run(t, d)
	if open := d.Open(); open == nil || open.Kind != path.Finish {
		t.Errorf("FINISH did not open: %+v", open)
	}
}

func TestATimedDeliveryNeedsTheLastStepAndAnApproval(t *testing.T) {
	d := signed(t, pick(plan(proposal.Choose)), start)
	_, err := d.FileSchedule(start, "s1")
	if f := fault.From(err); !errors.Is(err, path.Unfinished) || f.Fix != "POST /api/bench/deals/"+d.ID+"/check-ins" {
		t.Errorf("before the last pulse: %v, mended by %q", err, fault.From(err).Fix)
	}
	pulse(t, d, start)
	if _, err := d.FileSchedule(start, "s1"); err != path.NotPackage {
		t.Errorf("on a CHOOSE step: %v", err)
	}
}
