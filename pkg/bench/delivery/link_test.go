package delivery_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/steward"
	"guildhall/pkg/blob"
	"guildhall/pkg/linkprobe"
	"guildhall/pkg/linkprobe/linkprobetest"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// probing is a shelf with a prober.
func probing(t *testing.T, p linkprobe.Prober) *shelf {
	var w *shelf
	w = newShelf(t, optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
		return linkprobe.With(outbox.With(blob.With(ctx, w.blobs), outbox.Letters{Mailer: silent{}, From: "Guildhall <hall@guildhall.test>"}), p)
	}))
	return w
}

// tunnel is an address that the rules alone hold.
const tunnel = "https://abcd.ngrok.app/album"

func (w *shelf) desk() string {
	w.t.Helper()
	_, token := w.Person("steward@example.test", "steward")
	return token
}

func (w *shelf) cases(token string) optest.Res {
	w.t.Helper()
	return w.Do(steward.ListCases, optest.Req{Token: token}).Want(200)
}

func (w *shelf) decide(token, link, decision string) optest.Res {
	w.t.Helper()
	return w.Do(steward.DecideLink, optest.Req{Token: token, Path: map[string]string{"link_id": link}, Body: fields{"decision": decision}})
}

// told lists the types of the agent's events about links.
func (d *parties) told() (types []string) {
	d.t.Helper()
	d.Run("bench", func(c *op.Call) error {
		list, _, err := record.Feed(c, d.agentID, 0, record.MaxFeedPage)
		for _, e := range list {
			if e.Type == deals.EventLinkReleased || e.Type == deals.EventLinkRejected {
				types = append(types, e.Type)
			}
		}
		return err
	})
	return types
}

func TestALinkShowsItsHostAndTheLine(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	d.pulses()
	r := d.outcome(fields{"note": "The album.", "url": "HTTPS://Example.COM/a/../album", "step_ref": "2"}).Want(201)
	url := "https://example.com/album"
	if r.Str("kind") != deals.KindLink || r.Str("sha256") != sumOf(url) || r.Num("size_bytes") != float64(len(url)) {
		t.Errorf("%s", r.Body)
	}
	s := d.step("2")
	o := "cards.0.outcome."
	if s.Str(o+"url") != url || s.Str(o+"host") != "example.com" || s.Str(o+"link_kind") != "url" || s.Str(o+"gate_line") != deals.GateLine || s.Str("cards.0.title") != "A link to example.com" {
		t.Errorf("%s", s.Body)
	}
	if c := d.current(); c.Str("current_step.outcomes.0.url") != url {
		t.Errorf("%s", c.Body)
	}
}

func TestTheGateRejects(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	d.pulses()
	for url, reason := range map[string]string{"http://example.com/": "scheme", "https://bit.ly/x": "shortener", "https://xn--pple-43d.com/": "punycode", "https://example.com/setup.exe": "executable",
		"https://127.0.0.1/": "ip_literal", "": "malformed", "https://example.com/login": "login_page"} {
		r := d.outcome(fields{"note": "a", "url": url}).Refused(422, "link_rejected")
		if r.Str("link_status") != "rejected" || r.Str("reason") != reason || r.Str("detail") == "" {
			t.Errorf("%q: %s", url, r.Body)
		}
	}
	d.outcome(fields{"note": "a", "url": "https://github.com/", "kind": "repo"}).Refused(422, "link_rejected")
	d.outcome(fields{"note": "a", "url": "https://github.com/someone/album", "kind": "repo"}).Want(201)
}

// TestAHeldLinkIsTheStewards: the filing is refused, the question to the stewards stands.
func TestAHeldLinkIsTheStewards(t *testing.T) {
	w := newShelf(t)
	d, other := w.deal(reviewed()...), w.deal(reviewed()...)
	d.pulses()
	other.pulses()
	desk := w.desk()
	first := d.outcome(fields{"note": "a", "url": tunnel}, "k").Refused(422, "link_held")
	link := first.Str("link_id")
	if first.Str("link_status") != "held" || first.Str("reason") != "tunnel" || link == "" {
		t.Errorf("%s", first.Body)
	}
	d.outcome(fields{"note": "a", "url": tunnel}, "k").Refused(422, "link_held")
	d.outcome(fields{"hold": true, "url": "HTTPS://abcd.ngrok.app/album"}).Refused(422, "link_held")
	if c := d.current(); c.At("current_step.outcomes.0") != nil {
		t.Errorf("%s", c.Body)
	}
	q := w.cases(desk)
	if q.At("cases.1") != nil || q.Str("cases.0.kind") != "link_held" || q.Str("cases.0.evidence.link_id") != link || q.Str("cases.0.evidence.url") != tunnel ||
		q.Str("cases.0.deal_id") != d.id || q.Str("cases.0.subject.maker_id") != d.agentID {
		t.Errorf("%s", q.Body)
	}
	w.decide(d.person, link, "release").Refused(404, "not found")
	w.decide(desk, d.id+".00000000000000000000000000000000", "release").Refused(404, "not found")
	w.decide(desk, "x", "release").Refused(404, "not found")
	w.decide(desk, link, "maybe").Refused(422, "invalid_field")
	r := w.decide(desk, link, "release").Want(200)
	if r.Str("state") != deals.LinkReleased || r.Str("decided_at") == "" || r.Str("url") != tunnel {
		t.Errorf("%s", r.Body)
	}
	w.decide(desk, link, "reject").Refused(409, "already_decided")
	if q := w.cases(desk); q.Str("cases.0.state") != deals.CaseClosed || q.Str("cases.0.finding") != steward.LinkReleased {
		t.Errorf("%s", q.Body)
	}
	if got := d.told(); !slices.Equal(got, []string{deals.EventLinkReleased}) {
		t.Errorf("the agent was told %v", got)
	}
	d.outcome(fields{"note": "a", "url": tunnel}, "k").Want(201)
	other.outcome(fields{"note": "a", "url": tunnel}).Refused(422, "link_held") // a release is for one deal
}

func TestARejectedLinkStaysRejected(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	d.pulses()
	desk := w.desk()
	d.outcome(fields{"note": "a", "url": tunnel}).Refused(422, "link_held")
	k := w.cases(desk)
	w.Do(steward.Decide, optest.Req{Token: desk, Path: map[string]string{"case_id": k.Str("cases.0.case_id")},
		Body: fields{"finding": steward.LinkRejected, "written": "Somebody's own machine."}}).Want(200)
	r := d.outcome(fields{"note": "a", "url": tunnel}).Refused(422, "link_rejected")
	if r.Str("link_status") != "rejected" || r.Str("reason") != "steward" || r.Str("detail") == "" {
		t.Errorf("%s", r.Body)
	}
	if got := d.told(); !slices.Equal(got, []string{deals.EventLinkRejected}) {
		t.Errorf("the agent was told %v", got)
	}
	if d.current().Str("deal_status") != "signed" {
		t.Error("a rejected link is no judgement of the deal")
	}
}

// TestTheStewardsAreAskedABoundedNumberOfTimes by one deal.
func TestTheStewardsAreAskedABoundedNumberOfTimes(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	d.pulses()
	for i := range 21 {
		r := d.outcome(fields{"hold": true, "url": tunnel + "/" + string(rune('a'+i))})
		if want := 422; i == 20 {
			r.Refused(429, "rate_limited")
		} else if r.Status != want {
			t.Fatalf("%d: %d %s", i, r.Status, r.Body)
		}
	}
}

// TestTheNetworkIsAskedOnceADay, and what it said stands although the filing is refused.
func TestTheNetworkIsAskedOnceADay(t *testing.T) {
	url := "https://example.com/young"
	fake := &linkprobetest.Fake{Findings: map[string]linkprobe.Finding{url: linkprobetest.Held(linkprobe.ReasonYoungDomain),
		"https://example.com/private": {Status: "rejected", Reason: linkprobe.ReasonPrivateAddress, Detail: "It leads into a private network."}}}
	w := probing(t, fake)
	fake.Now = w.Now
	d := w.deal(reviewed()...)
	d.outcome(fields{"hold": true, "url": "https://example.com/good"}).Want(201)
	d.outcome(fields{"hold": true, "url": "https://example.com/good"}).Want(201)
	d.outcome(fields{"hold": true, "url": url}).Refused(422, "link_held")
	if r := d.outcome(fields{"hold": true, "url": url}).Refused(422, "link_held"); r.Str("reason") != linkprobe.ReasonYoungDomain {
		t.Errorf("%s", r.Body)
	}
	for range 2 {
		d.outcome(fields{"hold": true, "url": "https://example.com/private"}).Refused(422, "link_rejected")
	}
	d.outcome(fields{"hold": true, "url": "https://bit.ly/x"}).Refused(422, "link_rejected") // the rules come first
	if got := fake.Asked(); len(got) != 3 {
		t.Errorf("asked about %v", got)
	}
	desk := w.desk()
	w.decide(desk, w.cases(desk).Str("cases.0.evidence.link_id"), "release").Want(200)
	d.outcome(fields{"hold": true, "url": url}).Want(201)
	if got := fake.Asked(); len(got) != 3 {
		t.Errorf("a released link asks nobody: %v", got)
	}
	d.Advance(25 * time.Hour)
	d.outcome(fields{"hold": true, "url": "https://example.com/good"}).Want(201)
	if got := fake.Asked(); len(got) != 4 {
		t.Errorf("a day later the network is asked again: %v", got)
	}
}

// TestALinkWhoseServerIsBackPasses without a steward, and closes the question.
func TestALinkWhoseServerIsBackPasses(t *testing.T) {
	url := "https://example.com/slow"
	fake := &linkprobetest.Fake{Findings: map[string]linkprobe.Finding{url: linkprobetest.Held(linkprobe.ReasonTimeout)}}
	w := probing(t, fake)
	fake.Now = w.Now
	d := w.deal(reviewed()...)
	d.outcome(fields{"hold": true, "url": url}).Refused(422, "link_held")
	delete(fake.Findings, url)
	d.Advance(linkprobe.KeepFailure)
	d.outcome(fields{"hold": true, "url": url}).Want(201)
	if q := w.cases(w.desk()); q.Str("cases.0.state") != deals.CaseClosed {
		t.Errorf("%s", q.Body)
	}
}
