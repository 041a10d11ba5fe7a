package delivery_test

import (
	"testing"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/linkprobe/linkprobetest"
)

// TestARejectionIsNotDodgedByAnotherSpelling: the stewards' word is about where a link leads.
func TestARejectionIsNotDodgedByAnotherSpelling(t *testing.T) {
	w := newShelf(t)
	d, token := w.deal(reviewed()...), w.desk()
	d.pulses()
	held := d.outcome(fields{"note": "a", "url": tunnel}).Refused(422, "link_held")
	spellings := []string{tunnel + "#1", tunnel + "?", tunnel + "?#x", "https://ABCD.ngrok.app:443/album", "https://abcd.ngrok.app/x/../album", "https://abcd.ngrok.app/%61lbum", "https://abcd.ngrok.app/a%6Cbum#y"}
	for _, url := range spellings {
		if r := d.outcome(fields{"note": "a", "url": url}).Refused(422, "link_held"); r.Str("link_id") != held.Str("link_id") {
			t.Errorf("%s is asked about a second time: %s", url, r.Body)
		}
	}
	w.decide(token, held.Str("link_id"), "reject").Want(200)
	for _, url := range spellings {
		if r := d.outcome(fields{"note": "a", "url": url}).Refused(422, "link_rejected"); r.Str("reason") != "steward" {
			t.Errorf("%s: %s", url, r.Body)
		}
	}
	w.decide(token, held.Str("link_id"), "release").Refused(409, "already_decided")
	d.outcome(fields{"note": "a", "url": tunnel + "/other"}).Refused(422, "link_held") // another page is another question
}

// TestAReleaseIsForOneDeal: neither another deal nor a page that asks for a login has part in it.
func TestAReleaseIsForOneDeal(t *testing.T) {
	w := newShelf(t)
	one, two, token := w.deal(reviewed()...), w.deal(reviewed()...), w.desk()
	one.pulses()
	two.pulses()
	held := one.outcome(fields{"note": "a", "url": tunnel}).Refused(422, "link_held")
	w.decide(token, held.Str("link_id"), "release").Want(200)
	two.outcome(fields{"note": "a", "url": tunnel}).Refused(422, "link_held")
	if r := one.outcome(fields{"note": "a", "url": tunnel + "#/login"}).Refused(422, "link_rejected"); r.Str("reason") != "login_page" {
		t.Errorf("%s", r.Body)
	}
	one.outcome(fields{"note": "a", "url": tunnel}).Want(201)
}

// TestAFragmentIsNoNewQuestionForTheNet.
func TestAFragmentIsNoNewQuestionForTheNet(t *testing.T) {
	p := &linkprobetest.Fake{}
	w := probing(t, p)
	p.Now = w.Now
	p.Findings = map[string]linkprobe.Finding{"https://example.com/a": linkprobetest.Held(linkprobe.ReasonYoungDomain)}
	d := w.deal(reviewed()...)
	d.pulses()
	for _, url := range []string{"https://example.com/a", "https://example.com/a#1", "https://example.com/%61#2"} {
		d.outcome(fields{"note": "a", "url": url}).Refused(422, "link_held")
	}
	if n := len(p.Asked()); n != 1 {
		t.Errorf("asked %d times: %v", n, p.Asked())
	}
}
