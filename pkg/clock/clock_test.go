package clock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/clock"
)

func TestStampsSortLikeTheirTimes(t *testing.T) {
	zone := time.FixedZone("somewhere", 5*3600+1800)
	times := []time.Time{
		time.Date(1999, 12, 31, 23, 59, 59, 999_000_000, time.UTC), time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC),
		time.Date(2026, 3, 8, 10, 59, 0, 1_000_000, time.UTC), time.Date(2026, 3, 8, 16, 29, 0, 2_000_000, zone), time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	var stamps []string
	for _, at := range times {
		stamps = append(stamps, clock.Stamp(at))
	}
	if !slices.IsSorted(stamps) {
		t.Error(stamps)
	}
	for i, s := range stamps {
		if back, err := clock.Parse(s); err != nil || !back.Equal(times[i]) || len(s) != len(clock.Layout) {
			t.Errorf("%s reads as %v %v", s, back, err)
		}
	}
}

func TestTimesAreCutNeverRoundedUp(t *testing.T) {
	at := time.Date(2026, 11, 30, 18, 20, 59, 999_999_999, time.FixedZone("west", -3600))
	if got := clock.Cut(at); got.Nanosecond() != 999_000_000 || got.Location() != time.UTC {
		t.Error(got)
	}
	if got := clock.Seconds(at); got != "2026-11-30T19:20:59Z" {
		t.Error(got)
	}
}

func TestParseTakesISOTimesWithAZone(t *testing.T) {
	for s, ok := range map[string]bool{
		"2026-11-30T18:20:00Z": true, "2026-11-30T18:20:00.123456+05:30": true, "2026-11-30T18:20:00": false, "2026-11-30": false,
		"2026-13-01T00:00:00Z": false, "2026-02-29T00:00:00Z": false, "": false, "now": false,
	} {
		if _, err := clock.Parse(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestTimersOfASubjectStandInOneShardInDueOrder(t *testing.T) {
	at := time.Date(2026, 11, 30, 18, 20, 0, 0, time.UTC)
	used := map[int]int{}
	for i := range 1600 {
		subject := fmt.Sprintf("subject %d", i)
		a, b := clock.Key("bench", "z", subject, at), clock.Key("bench", "a", subject, at.Add(time.Millisecond))
		if a.PK != b.PK || a.SK >= b.SK || a.PK != clock.Partition("bench", clock.Shard(subject)) {
			t.Fatalf("%v, %v", a, b)
		}
		used[clock.Shard(subject)]++
	}
	if len(used) != clock.Shards {
		t.Errorf("%d shards are used", len(used))
	}
	for s, n := range used {
		if s < 0 || s >= clock.Shards || n > 200 {
			t.Errorf("shard %d holds %d of 1600", s, n)
		}
	}
	if (clock.Timer{}).Set() {
		t.Error("the zero timer is set")
	}
}
