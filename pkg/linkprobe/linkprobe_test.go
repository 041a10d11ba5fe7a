package linkprobe_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/linkprobe/linkprobetest"
	"guildhall/pkg/text/linkgate"
)

const page = "https://example.com/"

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestWithoutAProberNothingIsAskedAndNothingKept(t *testing.T) {
	f, err := linkprobe.From(t.Context()).Probe(t.Context(), page)
	if err != nil || f.Status != linkgate.OK || !f.Skipped || f.Fresh(now) {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAFindingStandsADayAndAFailureTenMinutes(t *testing.T) {
	for reason, keep := range map[string]time.Duration{
		"": 24 * time.Hour, linkprobe.ReasonYoungDomain: 24 * time.Hour, linkgate.ReasonExecutable: 24 * time.Hour, linkprobe.ReasonPrivateAddress: 24 * time.Hour,
		linkprobe.ReasonTimeout: 10 * time.Minute, linkprobe.ReasonUnresolvable: 10 * time.Minute, linkprobe.ReasonUnreachable: 10 * time.Minute,
	} {
		f := linkprobe.Finding{Reason: reason, At: now}
		if !f.Fresh(now.Add(keep-time.Millisecond)) || f.Fresh(now.Add(keep)) {
			t.Errorf("%q does not stand for %v", reason, keep)
		}
	}
}

func TestAFindingSurvivesStorage(t *testing.T) {
	want := linkprobe.Finding{URL: page, Status: linkgate.Held, Reason: linkprobe.ReasonYoungDomain, Detail: "d", Final: page, Hops: 1, Code: 200,
		ContentType: "text/html", Registered: now.Add(-time.Hour), At: now}
	b, err := json.Marshal(want)
	var got linkprobe.Finding
	if err != nil || json.Unmarshal(b, &got) != nil || got != want {
		t.Errorf("%s: %+v, %v", b, got, err)
	}
}

func TestTheFakeAnswersFromItsTableAndRemembers(t *testing.T) {
	fake := &linkprobetest.Fake{Findings: map[string]linkprobe.Finding{page: linkprobetest.Held(linkprobe.ReasonYoungDomain)}, Now: func() time.Time { return now }}
	ctx := linkprobe.WithTransfer(linkprobe.With(t.Context(), fake), []string{"example.org"})
	held, err := linkprobe.From(ctx).Probe(ctx, page)
	if err != nil || held.Status != linkgate.Held || held.URL != page || held.At != now {
		t.Errorf("%+v, %v", held, err)
	}
	if ok, err := linkprobe.From(ctx).Probe(ctx, page+"x"); err != nil || ok.Status != linkgate.OK {
		t.Errorf("%+v, %v", ok, err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := fake.Probe(over, page); err == nil {
		t.Error("a caller who gave up is answered")
	}
	if got := fake.Asked(); len(got) != 3 || got[1] != page+"x" || linkprobe.Transfer(ctx)[0] != "example.org" {
		t.Errorf("asked %v", got)
	}
}
