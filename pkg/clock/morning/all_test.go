package morning_test

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	. "guildhall/pkg/clock/morning"
)

var all = flag.Bool("morning.all", false, "every zone, not the hard ones alone")

// The years of the proof, and how many zones a run has at least.
const (
	firstYear = 2024
	lastYear  = 2035
	leastAll  = 590
)

// TestMain takes the zones from Go's own database where there is one: what is proved and
// drawn does not depend on the machine's.
func TestMain(m *testing.M) {
	//lint:ignore SA1019 a test runs where it was built
	zip := filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip")
	if _, err := os.Stat(zip); err == nil && os.Getenv("ZONEINFO") == "" {
		os.Setenv("ZONEINFO", zip)
	}
	os.Exit(m.Run())
}

//go:embed testdata/zones.txt
var zoneList string

// names are all zone names of the database.
func names() (out []string) {
	for line := range strings.Lines(zoneList) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			out = append(out, name)
		}
	}
	return out
}

// hard are zones in which a calendar goes wrong most easily: far from UTC, odd offsets, changes
// of half an hour, of two, at odd hours, by the moon, or abolished a moment ago.
var hard = []string{
	"Africa/Cairo", "Africa/Casablanca", "Africa/El_Aaiun", "Africa/Monrovia", "America/Adak", "America/Anchorage",
	"America/Asuncion", "America/Chicago", "America/Godthab", "America/Havana", "America/Mexico_City", "America/Miquelon",
	"America/New_York", "America/Nuuk", "America/Santiago", "America/Scoresbysund", "America/St_Johns", "Antarctica/Casey",
	"Antarctica/Troll", "Antarctica/Vostok", "Asia/Almaty", "Asia/Beirut", "Asia/Famagusta", "Asia/Gaza", "Asia/Hebron",
	"Asia/Jerusalem", "Asia/Kathmandu", "Asia/Kolkata", "Asia/Tehran", "Australia/Eucla", "Australia/Lord_Howe",
	"Europe/Chisinau", "Europe/Dublin", "Europe/London", "Pacific/Apia", "Pacific/Chatham", "Pacific/Easter",
	"Pacific/Kiritimati", "Pacific/Kwajalein", "Pacific/Marquesas", "Pacific/Norfolk", "Pacific/Pago_Pago", "UTC",
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// tally counts what a run has looked at.
type tally struct{ zones, dates, mornings, moved, absent int }

func (a *tally) add(b tally) {
	a.zones, a.dates, a.mornings = a.zones+b.zones, a.dates+b.dates, a.mornings+b.mornings
	a.moved, a.absent = a.moved+b.moved, a.absent+b.absent
}

// check compares Morning and a whole run of Next with the walk, over every date of the years.
func check(loc *time.Location, from, to int) (n tally, err error) {
	first, end := Date{from, 1, 1}, Date{to + 1, 1, 1}
	truth := walk(loc, number(first)*day-3*day, number(end)*day+3*day)
	n.zones = 1
	var last *Release
	for d := first; d != end; d = d.Add(1) {
		n.dates++
		want, exists := truth.first[number(d)]
		at, ok := Morning(loc, d)
		if ok != exists || ok && at.Unix() != want {
			return n, fmt.Errorf("%v %v: morning at %v (%v), the walk found %v (%v)", loc, d, at, ok, time.Unix(want, 0).UTC(), exists)
		}
		if !exists {
			n.absent++
			continue
		}
		n.mornings++
		if local := at.In(loc); local.Hour() != Hour || local.Minute() != 0 {
			n.moved++
		}
		next, due := Next(loc, last, time.Time{}, first)
		if next != d || due.Unix() != want {
			return n, fmt.Errorf("%v: after %v the next is %v at %v, want %v at %v", loc, last, next, due, d, at)
		}
		last = &Release{next, due}
	}
	return n, nil
}

func TestEveryZoneHasOneReleasePerLocalDateNeverEarly(t *testing.T) {
	list := hard
	if *all {
		list = names()
		if len(list) < leastAll {
			t.Fatalf("%d zones in the list, want at least %d", len(list), leastAll)
		}
	}
	var mu sync.Mutex
	var sum tally
	var work sync.WaitGroup
	next := make(chan string)
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for name := range next {
				n, err := check(zone(t, name), firstYear, lastYear)
				mu.Lock()
				if sum.add(n); err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range list {
		next <- name
	}
	close(next)
	work.Wait()
	if want := len(list) * int(number(Date{lastYear + 1, 1, 1})-number(Date{firstYear, 1, 1})); sum.dates != want && !t.Failed() {
		t.Errorf("%d dates looked at, want %d", sum.dates, want)
	}
	t.Logf("%d zones, %d local dates %d to %d: %d mornings, %d of them after 06:00, %d dates without one",
		sum.zones, sum.dates, firstYear, lastYear, sum.mornings, sum.moved, sum.absent)
}
