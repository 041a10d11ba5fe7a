package drip

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

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
		s.Approve(noon, zone, nil, false)
		if d, at, ok := s.Next(); !ok || d.String() != c.first || at.In(morning.Zone(zone)).Hour() != 6 {
			t.Errorf("starts_on %q: %v at %v", c.starts, d, at)
		}
	}
}

func TestAWeekAcrossADaylightSavingChangeLandsAtSixEachMorning(t *testing.T) {
	const zone = "America/New_York" // clocks go forward on 2026-03-08
	s := filed(7)
	s.Approve(noon, zone, nil, false)
	for n := 1; n <= 7; n++ {
		_, at, _ := s.Next()
		if got := s.Settle(at.Add(-time.Second), zone, time.Time{}); got != nil {
			t.Fatalf("day %d came early", n)
		}
		if got := s.Settle(at, zone, time.Time{}); !slices.Equal(got, []int{n}) {
			t.Fatalf("day %d: %v", n, got)
		}
		if got := s.Settle(at, zone, time.Time{}); got != nil {
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
	s.Approve(noon, "", nil, false)
	_, first, _ := s.Next()
	got := s.Settle(first.Add(72*time.Hour), "", time.Time{})
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
	s.Approve(noon, "", nil, false)
	_, at, _ := s.Next()
	s.Settle(at, "", time.Time{})
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if got := s.Settle(at.Add(100*time.Hour), "", time.Time{}); got != nil {
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
	s.Approve(noon, "", nil, false)
	if _, err := s.Share(1, noon); err != NotReleased {
		t.Error(err)
	}
	s.Settle(noon.Add(24*time.Hour), "", time.Time{})
	if ok, err := s.Share(1, noon); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := s.Share(1, noon); ok || err != nil {
		t.Error(ok, err)
	}
	for _, n := range []int{0, 3, -1} {
		if _, err := s.Share(n, noon); err == nil {
			t.Errorf("day %d", n)
		}
	}
}

var zones = []string{"", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "America/Nuuk"}

// TestWhateverThePersonAndTheSweepDoEachDateHasOnePieceAtLeastTwelveHoursApart walks random
// schedules through late sweeps, pauses and journeys.
func TestWhateverThePersonAndTheSweepDoEachDateHasOnePieceAtLeastTwelveHoursApart(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := filed(1 + r.IntN(30))
		now := noon.Add(time.Duration(r.IntN(400*24)) * time.Hour)
		zone, since := zones[r.IntN(len(zones))], time.Time{}
		s.Approve(now, zone, nil, false)
		for range 200 {
			now = now.Add(time.Duration(r.IntN(40)) * time.Hour)
			switch r.IntN(12) {
			case 0:
				if z := zones[r.IntN(len(zones))]; z != zone {
					s.Settle(now, zone, since) // a sweep was just here, or will be late
					zone, since = z, now
				}
			case 1:
				zone, since = zones[r.IntN(len(zones))], now
			case 2:
				s.Settle(now, zone, since)
				_ = s.Pause()
			case 3:
				_ = s.Resume(now)
			}
			if s.Settle(now, zone, since); s.Settle(now, zone, since) != nil {
				t.Fatalf("seed %d: a second look released more", seed)
			}
			if _, at, ok := s.Next(); ok && !at.After(now) {
				t.Fatalf("seed %d: settled, and something is due at %v", seed, at)
			}
		}
		for i := 1; i < len(s.Released); i++ {
			a, b := s.Released[i-1], s.Released[i]
			if !b.Date.After(a.Date) || b.At.Sub(a.At) < morning.Apart || b.ReleasedAt.Before(b.At) {
				t.Fatalf("seed %d: %+v then %+v", seed, a, b)
			}
		}
		if len(s.Released) > len(s.Pieces) || (s.Status == Completed) != (len(s.Released) == len(s.Pieces)) {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
}
