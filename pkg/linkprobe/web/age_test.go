package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/text/linkgate"
)

func TestADomainIsYoungForThirtyDays(t *testing.T) {
	w := newWorld(t)
	for born, want := range map[time.Time]string{
		now.Add(-linkprobe.YoungAge):                "",
		now.Add(-linkprobe.YoungAge + time.Second):  linkprobe.ReasonYoungDomain,
		now.Add(-time.Hour):                         linkprobe.ReasonYoungDomain,
		now.Add(time.Hour):                          linkprobe.ReasonYoungDomain, // a clock that runs ahead
		time.Date(1990, 1, 2, 3, 4, 5, 0, time.UTC): "",
	} {
		status := linkgate.OK
		if want != "" {
			status = linkgate.Held
		}
		w.born("example.com", born.Format(time.RFC3339))
		if f := w.expect("https://shop.example.com/", status, want); !f.Registered.Equal(born) {
			t.Errorf("born %v, found %v", born, f.Registered)
		}
	}
}

func TestTheYoungestDomainOfTheWayCounts(t *testing.T) {
	w := newWorld(t)
	w.born("example.net", "2026-11-20T00:00:00Z")
	w.moved("shop.example.com/a", "https://other.example.net/b")
	w.moved("other.example.net/b", "https://third.example.org/")
	w.expect("https://shop.example.com/a", linkgate.Held, linkprobe.ReasonYoungDomain)
	w.moved("shop.example.com/a", "https://other.example.net/login")
	w.expect("https://shop.example.com/a", linkgate.Rejected, linkgate.ReasonLoginPage)
	w.moved("shop.example.com/a", "https://other.example.net/nothing")
	w.expect("https://shop.example.com/a", linkgate.Held, linkprobe.ReasonYoungDomain)
}

func TestDatesAreReadAsRegistriesWriteThem(t *testing.T) {
	w := newWorld(t)
	for _, born := range []string{"2001-02-03T04:05:06Z", "2001-02-03T04:05:06.789Z", "2001-02-03T04:05:06+01:00", "2001-02-03T04:05:06", "2001-02-03 04:05:06", "2001-02-03"} {
		w.born("example.com", born)
		w.expect("https://shop.example.com/", linkgate.OK, "")
	}
}

func TestAnUnknownAgeHoldsALink(t *testing.T) {
	w := newWorld(t)
	record := func(code int, body string) {
		w.page("rdap.example.org/v1/domain/example.com", func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(code)
			fmt.Fprint(rw, body)
		})
	}
	for _, body := range []string{"", "no JSON", "{}", `{"events":[]}`, `{"events":[{"eventAction":"registration","eventDate":"yesterday"}]}`,
		`{"events":[{"eventAction":"expiration","eventDate":"2001-02-03T04:05:06Z"}]}`, `{"x":"` + strings.Repeat("x", maxRecord) + `"}`} {
		record(200, body)
		w.expect("https://shop.example.com/", linkgate.Held, linkprobe.ReasonAgeUnknown)
	}
	for _, code := range []int{404, 429, 500} {
		record(code, `{"events":[{"eventAction":"registration","eventDate":"2001-02-03T04:05:06Z"}]}`)
		w.expect("https://shop.example.com/", linkgate.Held, linkprobe.ReasonAgeUnknown)
	}
	w.leads("rdap.example.org")
	w.expect("https://other.example.net/", linkgate.Held, linkprobe.ReasonAgeUnknown)
	w.leads("rdap.example.org", netip.MustParseAddrPort("127.0.0.1:443"))
	w.expect("https://other.example.net/", linkgate.Held, linkprobe.ReasonAgeUnknown)
}

func TestTheRegistryIsFoundThroughTheBootstrapFile(t *testing.T) {
	w := newWorld(t)
	w.moved("rdap.example.org/v1/domain/example.com", "https://rdap.example.org/other/example.com")
	w.text("rdap.example.org/other/example.com", "application/rdap+json", `{"events":[{"eventAction":"registration","eventDate":"2001-02-03T04:05:06Z"}]}`)
	w.expect("https://shop.example.com/", linkgate.OK, "")
	w.moved("rdap.example.org/other/example.com", "http://rdap.example.org/plain")
	w.expect("https://shop.example.com/", linkgate.Held, linkprobe.ReasonAgeUnknown)
	w.moved("rdap.example.org/other/example.com", "https://rdap.example.org/v1/domain/example.com")
	w.expect("https://shop.example.com/", linkgate.Held, linkprobe.ReasonAgeUnknown)
	for _, file := range []string{"", "[]", `{"services":[]}`, `{"services":[[]]}`, `{"services":[[["com"]]]}`, `{"services":[[["com"],["http://rdap.example.org/v1/"]]]}`,
		`{"services":[[["net"],["https://rdap.example.org/v1/"]]]}`} {
		w.text("data.example.org/dns.json", "application/json", file)
		w.expect("https://shop.example.com/", linkgate.Held, linkprobe.ReasonAgeUnknown)
	}
}

func TestTheBootstrapFileIsFetchedOnceADay(t *testing.T) {
	w := newWorld(t)
	p, at := w.prober(), now
	p.now = func() time.Time { return at }
	fetched := func() (n int) {
		for _, r := range w.seen() {
			if r.Host == "data.example.org" {
				n++
			}
		}
		return n
	}
	for i, step := range []time.Duration{0, time.Hour, 22 * time.Hour, time.Hour, time.Minute} {
		at = at.Add(step)
		if f, err := p.Probe(t.Context(), "https://shop.example.com/"); err != nil || f.Status != linkgate.OK {
			t.Fatalf("%+v, %v", f, err)
		}
		if want := 1 + i/3; fetched() != want {
			t.Errorf("after %v fetched %d times, want %d", at.Sub(now), fetched(), want)
		}
	}
}

func TestKnownNamesAreNotAskedAbout(t *testing.T) {
	for host, want := range map[string]bool{"github.com": true, "google.com": true, "zenodo.org": true, "github.io": true, "example.com": false, "evil-github.com": false} {
		if got := linkgate.Established(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	p := New(Options{Now: func() time.Time { return now }})
	v := &visit{Prober: p, ages: map[string]*age{}}
	v.lookUp(t.Context(), linkgate.Check("https://github.com/owner/name", linkgate.Options{}))
	if len(v.ages) != 0 {
		t.Error("the registry is asked how old github.com is")
	}
}
