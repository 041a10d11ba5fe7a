package drip

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/clock/morning"
)

var noon = time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)

func filed(pieces int) *Schedule {
	s := &Schedule{ID: "s", PersonID: "p", Status: Filed, FiledAt: noon}
	for range pieces {
		s.Pieces = append(s.Pieces, Heading{Title: "Day"})
	}
	return s
}

// in is a person's only zone.
func in(zone string) []account.Stay { return []account.Stay{{Zone: zone}} }

func dates(s *Schedule) (out []string) {
	for _, d := range s.Released {
		out = append(out, d.Date.String())
	}
	return out
}

func TestDayOneFallsOnTheLaterOfStartsOnAndTheDateAfterTheApproval(t *testing.T) {
	const zone = "America/New_York"
	for _, c := range []struct{ starts, first string }{{"", "2026-03-07"}, {"2026-03-01", "2026-03-07"}, {"2026-03-20", "2026-03-20"}} {
		s := filed(1)
		if c.starts != "" {
			s.StartsOn, _ = morning.ParseDate(c.starts)
		}
		s.Approve(noon, in(zone), nil, false)
		if d, at, ok := s.Next(); !ok || d.String() != c.first || at.In(morning.Zone(zone)).Hour() != 6 {
			t.Errorf("starts_on %q: %v at %v", c.starts, d, at)
		}
	}
}

func TestAWeekAcrossADaylightSavingChangeLandsAtSixEachMorning(t *testing.T) {
	const zone = "America/New_York" // clocks go forward on 2026-03-08
	s := filed(7)
	s.Approve(noon, in(zone), nil, false)
	for n := 1; n <= 7; n++ {
		_, at, _ := s.Next()
		if got := s.Settle(at.Add(-time.Second), in(zone)); got != nil {
			t.Fatalf("day %d came early", n)
		}
		if got := s.Settle(at, in(zone)); !slices.Equal(got, []int{n}) {
			t.Fatalf("day %d: %v", n, got)
		}
		if got := s.Settle(at, in(zone)); got != nil {
			t.Fatalf("day %d came twice", n)
		}
		if local := at.In(morning.Zone(zone)); local.Hour() != 6 || local.Minute() != 0 {
			t.Errorf("day %d at %v", n, local)
		}
	}
	if s.Status != Completed || s.Released[0].At.Sub(s.Released[1].At) != -23*time.Hour {
		t.Errorf("%+v", s)
	}
}

func TestAnOutageReleasesWhatWasMissedOldestFirstAndMarksItLate(t *testing.T) {
	s := filed(5)
	s.Approve(noon, in(""), nil, false)
	_, first, _ := s.Next()
	got := s.Settle(first.Add(72*time.Hour), in(""))
	if !slices.Equal(got, []int{1, 2, 3, 4}) || !slices.Equal(dates(s), []string{"2026-03-07", "2026-03-08", "2026-03-09", "2026-03-10"}) {
		t.Fatalf("%v %v", got, dates(s))
	}
	for i, late := range []bool{true, true, true, false} {
		if s.Released[i].Late != late {
			t.Errorf("day %d: late %v", i+1, s.Released[i].Late)
		}
	}
}

func TestAPausedDeliveryWaitsForTheFirstMorningAfterItIsResumed(t *testing.T) {
	s := filed(3)
	s.Approve(noon, in(""), nil, false)
	_, at, _ := s.Next()
	s.Settle(at, in(""))
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if got := s.Settle(at.Add(100*time.Hour), in("")); got != nil {
		t.Fatal("a paused piece was released")
	}
	resumed := at.Add(100*time.Hour + time.Minute)
	if err := s.Resume(resumed); err != nil {
		t.Fatal(err)
	}
	if d, next, ok := s.Next(); !ok || !next.After(resumed) || next.Sub(resumed) > 24*time.Hour || next.Hour() != 6 {
		t.Errorf("%v %v", d, next)
	}
	if s.Released[0].Late {
		t.Error("a pause is no fault")
	}
	if err := s.Stop(resumed); err != nil || s.Status != Stopped {
		t.Error(err)
	}
	if s.Pause() != NotDelivering || s.Resume(resumed) != NotPaused || s.Stop(resumed) != nil || s.Announce(nil) != NotDelivering {
		t.Error("a stopped delivery takes no more")
	}
}

func TestADayIsSharedOnceAndOnlyWhenItWasReleased(t *testing.T) {
	s := filed(2)
	s.Approve(noon, in(""), nil, false)
	if _, err := s.Share(1, "Oak", noon); err != NotReleased {
		t.Error(err)
	}
	s.Settle(noon.Add(24*time.Hour), in(""))
	if _, err := s.Share(1, "", noon); err != NoHouse {
		t.Error(err)
	}
	if first, err := s.Share(1, "Oak", noon); !first || err != nil {
		t.Error(first, err)
	}
	for _, house := range []string{"Oak", "Elm", ""} {
		if first, err := s.Share(1, house, noon); first || err != nil || s.Released[0].SharedIn != "Oak" {
			t.Error(first, err)
		}
	}
	for _, n := range []int{0, 3, -1} {
		if _, err := s.Share(n, "Oak", noon); err == nil {
			t.Errorf("day %d", n)
		}
	}
}

var zones = []string{"", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "America/Nuuk"}

// TestWhateverThePersonAndTheSweepDoEachDateHasOnePieceAtLeastTwelveHoursApart walks random
// schedules through late sweeps, pauses and journeys. A second one, that is looked at all the
// time, has the same days: what falls due never depends on who looks when.
func TestWhateverThePersonAndTheSweepDoEachDateHasOnePieceAtLeastTwelveHoursApart(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := filed(1 + r.IntN(30))
		now := noon.Add(time.Duration(r.IntN(400*24)) * time.Hour)
		p := account.Person{Timezone: zones[r.IntN(len(zones))]}
		s.Approve(now, p.Stays(), nil, false)
		watched := *s
		for range 200 {
			now = now.Add(time.Duration(r.IntN(40)) * time.Hour)
			switch r.IntN(12) {
			case 0, 1, 2:
				watched.Settle(now, p.Stays())
				if p.Move(zones[r.IntN(len(zones))], now); r.IntN(3) > 0 {
					continue // no sweep was there
				}
			case 3:
				watched.Settle(now, p.Stays())
				s.Settle(now, p.Stays())
				_, _ = s.Pause(), watched.Pause()
			case 4:
				_, _ = s.Resume(now), watched.Resume(now)
			}
			watched.Settle(now, p.Stays())
			if s.Settle(now, p.Stays()); s.Settle(now, p.Stays()) != nil {
				t.Fatalf("seed %d: a second look released more", seed)
			}
			if _, at, ok := s.Next(); ok && !at.After(now) {
				t.Fatalf("seed %d: settled, and something is due at %v", seed, at)
			}
			if !slices.Equal(dates(s), dates(&watched)) {
				t.Fatalf("seed %d: who looks seldom sees %v, who looks often %v", seed, dates(s), dates(&watched))
			}
		}
		for i := 1; i < len(s.Released); i++ {
			a, b := s.Released[i-1], s.Released[i]
			if !b.Date.After(a.Date) || b.At.Sub(a.At) < morning.Apart || b.ReleasedAt.Before(b.At) {
				t.Fatalf("seed %d: %+v then %+v", seed, a, b)
			}
			if !b.At.Equal(watched.Released[i].At) {
				t.Fatalf("seed %d: %+v, and %+v for who looks often", seed, b, watched.Released[i])
			}
		}
		if len(s.Released) > len(s.Pieces) || (s.Status == Completed) != (len(s.Released) == len(s.Pieces)) {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
}

// TestAnApprovalCountsInTheZoneOfItsMoment however late it is written.
func TestAnApprovalCountsInTheZoneOfItsMoment(t *testing.T) {
	p := account.Person{Timezone: "Asia/Tokyo"}
	p.Move("America/Los_Angeles", noon.Add(12*time.Hour)) // noon in UTC is 21:00 in Tokyo; the next morning there is nine hours later
	s := filed(2)
	s.Approve(noon, p.Stays(), nil, true)
	if s.Settle(noon.Add(12*time.Hour), p.Stays()); !slices.Equal(dates(s), []string{"2026-03-07"}) || s.Released[0].At.Sub(noon) != 9*time.Hour {
		t.Errorf("%+v", s.Released)
	}
	if s.Settle(noon.Add(72*time.Hour), p.Stays()); !slices.Equal(dates(s), []string{"2026-03-07", "2026-03-08"}) || s.Zone != "America/Los_Angeles" {
		t.Errorf("%+v in %s", s.Released, s.Zone)
	}
}

func TestTheFeedIsToldInCommitsThatFit(t *testing.T) {
	s := filed(50)
	s.Approve(noon, in(""), nil, false)
	s.Settle(noon.Add(45*24*time.Hour), in(""))
	var all []int
	for _, n := range []int{MaxAtOnce, MaxAtOnce, 5, 0} {
		got := s.Tell()
		if len(got) != n {
			t.Errorf("%d days at once, want %d", len(got), n)
		}
		all = append(all, got...)
	}
	if s.Behind != 0 || len(all) != 45 || !slices.IsSorted(all) || all[0] != 1 || all[44] != 45 || s.Together() != 45 {
		t.Errorf("%v, %d behind, %d together", all, s.Behind, s.Together())
	}
}
