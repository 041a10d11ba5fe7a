package morning_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "guildhall/pkg/clock/morning"
)

func date(t testing.TB, s string) Date {
	t.Helper()
	d, err := ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestAMorningIsTheFirstInstantOfItsDateFromSixOn(t *testing.T) {
	for _, c := range []struct{ zone, date, want string }{ // want "" for none
		{"UTC", "2026-11-30", "2026-11-30T06:00:00Z"},
		{"Pacific/Kiritimati", "2026-11-30", "2026-11-29T16:00:00Z"},
		{"Pacific/Pago_Pago", "2026-11-30", "2026-11-30T17:00:00Z"},
		{"Asia/Kathmandu", "2026-11-30", "2026-11-30T00:15:00Z"},
		{"America/New_York", "2026-03-07", "2026-03-07T11:00:00Z"}, // the clock goes forward on the 8th
		{"America/New_York", "2026-03-08", "2026-03-08T10:00:00Z"},
		{"America/New_York", "2026-10-31", "2026-10-31T10:00:00Z"}, // and back on 1 November
		{"America/New_York", "2026-11-01", "2026-11-01T11:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-03", "2026-10-02T19:30:00Z"}, // half an hour
		{"Australia/Lord_Howe", "2026-10-04", "2026-10-03T19:00:00Z"},
		{"Antarctica/Troll", "2026-03-28", "2026-03-28T06:00:00Z"}, // two hours
		{"Antarctica/Troll", "2026-03-29", "2026-03-29T04:00:00Z"},
		{"America/Nuuk", "2024-12-31", "2024-12-31T08:00:00Z"}, // the last day of a leap year
		{"Pacific/Apia", "2011-12-29", "2011-12-29T16:00:00Z"}, // one date is left out
		{"Pacific/Apia", "2011-12-30", ""},
		{"Pacific/Apia", "2011-12-31", "2011-12-30T16:00:00Z"},
		{"Pacific/Fakaofo", "2011-12-30", ""},
		{"Pacific/Kwajalein", "1993-08-20", "1993-08-20T18:00:00Z"},
		{"Pacific/Kwajalein", "1993-08-21", ""},
		{"Pacific/Kwajalein", "1993-08-22", "1993-08-21T18:00:00Z"},
		{"Pacific/Kiritimati", "1994-12-31", ""},
		{"Pacific/Enderbury", "1994-12-31", ""},
		{"Asia/Manila", "1844-12-31", ""},
		{"America/Juneau", "1867-10-18", "1867-10-17T14:57:41Z"}, // one that came twice: the first
		{"Factory", "2026-11-30", "2026-11-30T06:00:00Z"},
	} {
		at, ok := Morning(zone(t, c.zone), date(t, c.date))
		if ok != (c.want != "") || ok && !at.Equal(instant(t, c.want)) {
			t.Errorf("%s %s: morning at %v (%v), want %q", c.zone, c.date, at, ok, c.want)
		}
	}
	if at, ok := Morning(time.UTC, Date{2026, 2, 30}); ok {
		t.Errorf("30 February has a morning at %v", at)
	}
}

// moved makes a zone whose clock jumps once, at an instant, from one offset to another: jumps
// over 06:00 that no zone has had yet.
func moved(t testing.TB, at time.Time, before, after time.Duration) *time.Location {
	t.Helper()
	be := func(n int64) []byte { return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)} }
	head := func(version byte, times, types, chars int64) (b []byte) {
		b = append([]byte("TZif"), version)
		b = append(b, make([]byte, 15+12)...)
		return append(append(append(b, be(times)...), be(types)...), be(chars)...)
	}
	b := head(0, 1, 2, 4)
	b = append(append(b, be(at.Unix())...), 1)
	for _, d := range []time.Duration{before, after} {
		b = append(append(b, be(int64(d/time.Second))...), 0, 0)
	}
	loc, err := time.LoadLocationFromTZData("moved", append(b, "XXX\x00"...))
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestAJumpAtSixMovesTheMorningOrRemovesIt(t *testing.T) {
	d := Date{2026, 6, 10}
	for _, c := range []struct {
		name, at      string
		before, after time.Duration
		want          string
	}{
		{"06:00 is skipped", "2026-06-10T05:30:00Z", 0, time.Hour, "2026-06-10T05:30:00Z"},
		{"the jump lands on 06:00", "2026-06-10T05:00:00Z", 0, time.Hour, "2026-06-10T05:00:00Z"},
		{"the jump starts at 06:00", "2026-06-10T06:00:00Z", 0, time.Hour, "2026-06-10T06:00:00Z"},
		{"06:00 comes twice", "2026-06-10T06:30:00Z", 0, -time.Hour, "2026-06-10T06:00:00Z"},
		{"06:00 comes back", "2026-06-10T06:00:00Z", 0, -time.Hour, "2026-06-10T07:00:00Z"},
		{"the rest of the date is skipped", "2026-06-10T05:00:00Z", 0, 19 * time.Hour, ""},
		{"all but its last second is skipped", "2026-06-10T05:00:00Z", 0, 19*time.Hour - time.Second, "2026-06-10T05:00:00Z"},
		{"the whole date is skipped", "2026-06-10T00:00:00Z", 0, 24 * time.Hour, ""},
		{"the date comes twice", "2026-06-11T00:00:00Z", 0, -24 * time.Hour, "2026-06-10T06:00:00Z"},
		{"the date begins late and after 06:00", "2026-06-09T23:00:00Z", 0, 10 * time.Hour, "2026-06-09T23:00:00Z"},
	} {
		loc := moved(t, instant(t, c.at), c.before, c.after)
		at, ok := Morning(loc, d)
		if ok != (c.want != "") || ok && !at.Equal(instant(t, c.want)) {
			t.Errorf("%s: morning at %v (%v), want %q", c.name, at, ok, c.want)
		}
	}
}

var (
	runs = flag.Int("morning.runs", 300, "random schedules and jumps")
	seed = flag.Uint64("morning.seed", 1, "the first of them")
)

func TestRandomJumpsAgreeWithTheWalk(t *testing.T) {
	start := Date{2026, 6, 10}
	for n := range *runs {
		r := rand.New(rand.NewPCG(*seed+uint64(n), 1))
		minutes := func(limit int) time.Duration { return time.Duration(r.IntN(2*limit)-limit) * time.Minute }
		at := start.Add(r.IntN(3) - 1)
		jump := time.Date(at.Year, at.Month, at.Day, 0, r.IntN(24*60), 0, 0, time.UTC)
		loc := moved(t, jump, minutes(14*60), minutes(14*60))
		truth := walk(loc, number(start)*day-5*day, number(start)*day+5*day)
		for k := -2; k <= 2; k++ {
			want, exists := truth.first[number(start.Add(k))]
			got, ok := Morning(loc, start.Add(k))
			if ok != exists || ok && got.Unix() != want {
				t.Fatalf("%v: morning at %v (%v), the walk found %v (%v)\nreplay with -morning.runs=1 -morning.seed=%d", start.Add(k), got, ok,
					time.Unix(want, 0).UTC(), exists, *seed+uint64(n))
			}
		}
	}
}

func TestTheNextPieceFallsDue(t *testing.T) {
	rel := func(d, at string) *Release { return &Release{date(t, d), instant(t, at)} }
	for _, c := range []struct {
		name, zone      string
		last            *Release
		notBefore, from string
		date, at        string
	}{
		{"day 1 waits for its date", "Europe/Paris", nil, "2026-11-30T10:00:00Z", "2026-12-05", "2026-12-05", "2026-12-05T05:00:00Z"},
		{"day 1 waits for the approval", "Europe/Paris", nil, "2026-12-09T12:00:00Z", "2026-12-05", "2026-12-10", "2026-12-10T05:00:00Z"},
		{"the day after", "Europe/Paris", rel("2026-12-05", "2026-12-05T05:00:00Z"), "2026-11-30T10:00:00Z", "2026-12-05", "2026-12-06", "2026-12-06T05:00:00Z"},
		{"a missed day is due in the past", "Europe/Paris", rel("2026-12-05", "2026-12-05T05:00:00Z"), "2026-11-30T10:00:00Z", "2026-12-05", "2026-12-06", "2026-12-06T05:00:00Z"},
		{"resumed before 06:00", "UTC", rel("2026-12-05", "2026-12-05T06:00:00Z"), "2026-12-09T05:59:59.999Z", "2026-12-01", "2026-12-09", "2026-12-09T06:00:00Z"},
		{"resumed at 06:00", "UTC", rel("2026-12-05", "2026-12-05T06:00:00Z"), "2026-12-09T06:00:00Z", "2026-12-01", "2026-12-09", "2026-12-09T06:00:00Z"},
		{"resumed after 06:00", "UTC", rel("2026-12-05", "2026-12-05T06:00:00Z"), "2026-12-09T06:00:00.001Z", "2026-12-01", "2026-12-10", "2026-12-10T06:00:00Z"},
		{"paused and resumed on the day of a release", "UTC", rel("2026-12-05", "2026-12-05T06:00:00Z"), "2026-12-05T09:00:00Z", "2026-12-01", "2026-12-06", "2026-12-06T06:00:00Z"},
		{"a date that does not exist", "Pacific/Apia", rel("2011-12-29", "2011-12-29T16:00:00Z"), "2011-12-01T00:00:00Z", "2011-12-01", "2011-12-31", "2011-12-30T16:00:00Z"},
		{"moved east within the day", "Europe/Paris", rel("2026-12-05", "2026-12-05T11:00:00Z"), "2026-12-06T01:00:00Z", "2026-12-01", "2026-12-06", "2026-12-06T05:00:00Z"},
		{"moved east less than 12 hours before", "Asia/Tokyo", rel("2026-12-05", "2026-12-05T14:00:00Z"), "2026-12-05T15:00:00Z", "2026-12-01", "2026-12-07", "2026-12-06T21:00:00Z"},
		{"exactly 12 hours apart", "Etc/GMT-4", rel("2026-12-05", "2026-12-05T14:00:00Z"), "2026-12-05T15:00:00Z", "2026-12-01", "2026-12-06", "2026-12-06T02:00:00Z"},
		{"an hour less than 12 hours apart", "Etc/GMT-5", rel("2026-12-05", "2026-12-05T14:00:00Z"), "2026-12-05T15:00:00Z", "2026-12-01", "2026-12-07", "2026-12-07T01:00:00Z"},
		{"moved over the date line to the east", "Pacific/Pago_Pago", rel("2026-12-05", "2026-12-04T16:00:00Z"), "2026-12-04T17:00:00Z", "2026-12-01", "2026-12-06", "2026-12-06T17:00:00Z"},
		{"moved over the date line to the west", "Pacific/Kiritimati", rel("2026-12-05", "2026-12-05T17:00:00Z"), "2026-12-05T18:00:00Z", "2026-12-01", "2026-12-07", "2026-12-06T16:00:00Z"},
	} {
		d, at := Next(zone(t, c.zone), c.last, instant(t, c.notBefore), date(t, c.from))
		if d != date(t, c.date) || !at.Equal(instant(t, c.at)) {
			t.Errorf("%s: %v at %v, want %s at %s", c.name, d, at, c.date, c.at)
		}
	}
}

func TestThreeMissedDaysAreDueAtOnceOldestFirstAndLate(t *testing.T) {
	loc := zone(t, "America/New_York")
	last := &Release{date(t, "2026-10-30"), instant(t, "2026-10-30T10:00:00Z")}
	now := instant(t, "2026-11-02T11:00:00Z") // the clock went back in between
	got := Due(loc, last, time.Time{}, date(t, "2026-10-01"), now, 60)
	want := []Release{{Date{2026, 10, 31}, instant(t, "2026-10-31T10:00:00Z")}, {Date{2026, 11, 1}, instant(t, "2026-11-01T11:00:00Z")},
		{Date{2026, 11, 2}, instant(t, "2026-11-02T11:00:00Z")}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("due are %v, want %v", got, want)
	}
	for i, late := range []bool{true, true, false} {
		if Late(got[i].At, now) != late {
			t.Errorf("%v is late: %v, want %v", got[i].Date, !late, late)
		}
	}
	if few := Due(loc, last, time.Time{}, date(t, "2026-10-01"), now, 2); fmt.Sprint(few) != fmt.Sprint(want[:2]) {
		t.Errorf("the first two are %v", few)
	}
	if none := Due(loc, &want[2], time.Time{}, date(t, "2026-10-01"), now.Add(23*time.Hour), 60); len(none) != 0 {
		t.Errorf("due twice: %v", none)
	}
	if at := want[2].At; Late(at, at.Add(Grace)) || !Late(at, at.Add(Grace+time.Millisecond)) {
		t.Error("the grace is not what it says")
	}
}

// TestRandomZoneChangesNeverDoubleADateNorComeEarly lets a person travel, pause and resume at
// random while pieces fall due, and looks at each release with the walk.
func TestRandomZoneChangesNeverDoubleADateNorComeEarly(t *testing.T) {
	for n := range *runs / 3 {
		if err := travel(t, *seed+uint64(n)); err != nil {
			t.Fatalf("%v\nreplay with -morning.runs=3 -morning.seed=%d", err, *seed+uint64(n))
		}
	}
}

// pieces is how many releases a journey has.
const pieces = 20

func travel(t *testing.T, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	now := time.Date(2024, 1, 1, 0, r.IntN(3*366*24*60), 0, 0, time.UTC)
	loc, notBefore := zone(t, hard[r.IntN(len(hard))]), now
	from := Tomorrow(loc, now).Add(r.IntN(3))
	var last *Release
	for range pieces {
		d, at := Next(loc, last, notBefore, from)
		for r.IntN(3) == 0 { // before it falls due, the zone changes or the drip is paused
			gap := max(at.Sub(now), time.Minute)
			now = now.Add(time.Duration(r.Int64N(int64(gap))))
			notBefore, loc = now, zone(t, hard[r.IntN(len(hard))])
			d, at = Next(loc, last, notBefore, from)
		}
		if err := allowed(loc, last, notBefore, from, d, at); err != nil {
			return err
		}
		last, now = &Release{d, at}, at
	}
	return nil
}

// allowed checks that a release keeps every rule and is the first that does.
func allowed(loc *time.Location, last *Release, notBefore time.Time, from, d Date, at time.Time) error {
	truth := walk(loc, at.Truncate(time.Hour).Unix()-5*day, at.Truncate(time.Hour).Unix()+2*day)
	keeps := func(n, unix int64) bool {
		t := time.Unix(unix, 0)
		return n >= number(from) && !t.Before(notBefore) && (last == nil || n > number(last.Date) && t.Sub(last.At) >= Apart)
	}
	if first, ok := truth.first[number(d)]; !ok || first != at.Unix() || !keeps(number(d), first) {
		return fmt.Errorf("%v: %v at %v is not allowed after %v, not before %v, from %v", loc, d, at, last, notBefore, from)
	}
	low := number(d) - 3 // the walk has the whole of these dates
	for n := low; n < number(d); n++ {
		if first, ok := truth.first[n]; ok && keeps(n, first) {
			return fmt.Errorf("%v: %v at %v, although %v was allowed after %v, not before %v, from %v", loc, d, at, time.Unix(first, 0).UTC(), last, notBefore, from)
		}
	}
	return nil
}

func TestAZoneIsKnownByNameAndUTCOtherwise(t *testing.T) {
	for name, want := range map[string]string{"": "UTC", "Local": "UTC", "Mars/Olympus": "UTC", "../etc/passwd": "UTC", "UTC": "UTC",
		"Asia/Kathmandu": "Asia/Kathmandu", "Pacific/Kiritimati": "Pacific/Kiritimati"} {
		for range 2 {
			if got := Zone(name).String(); got != want {
				t.Errorf("zone %q is %s, want %s", name, got, want)
			}
		}
	}
	for _, name := range names() {
		if Zone(name) == time.UTC && name != "UTC" {
			t.Errorf("zone %s is not known", name)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	loc := zone(b, "America/New_York")
	last := &Release{Date{2026, 11, 1}, time.Date(2026, 11, 1, 11, 0, 0, 0, time.UTC)}
	b.ReportAllocs()
	for b.Loop() {
		Next(loc, last, time.Time{}, last.Date)
	}
}
