package site_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"guildhall/pkg/catalog"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/site"
	"guildhall/pkg/site/sitetest"
)

// TestPagesAreDeclared holds what a page's function would need: every operation a page calls
// is in the catalog, is a person's or everybody's, and pages need no configuration to be listed.
func TestPagesAreDeclared(t *testing.T) {
	list := site.Pages(site.Config{})
	if len(list) < 20 {
		t.Fatalf("only %d pages", len(list))
	}
	for _, p := range list {
		for _, c := range p.Calls {
			o := catalog.Find(c)
			if o == nil {
				t.Errorf("%s calls %s, which is no operation", p.ID, c)
				continue
			}
			if o.Auth != op.Person && o.Auth != op.Public {
				t.Errorf("%s calls %s, which is for %s", p.ID, c, o.Auth)
			}
			if !o.Reads() && len(p.Forms) == 0 {
				t.Errorf("%s calls %s and has no form to do so", p.ID, c)
			}
		}
		if strings.HasPrefix(p.Path, "/simulated") || strings.HasPrefix(p.Path, "/pay/") {
			t.Errorf("%s is declared where payments are not simulated", p.ID)
		}
	}
}

// TestLinksInMailsAreUsedByAButtonOnly opens mailed links, as a mail scanner does, again and
// again: they stay good until the button is pressed.
func TestLinksInMailsAreUsedByAButtonOnly(t *testing.T) {
	w := sitetest.New(t)
	b := w.Browser()
	b.Get("/sign-in").Form("sign-in").Set("email", "alice@example.com").Send("").Want(200)
	link := w.Link("alice@example.com")
	for range 3 {
		if b.Get(link).Want(200, "Finish signing in"); len(b.Cookies()) != 0 {
			t.Fatal("opening the link signs in")
		}
	}
	f := b.Form("complete")
	f.Send("").Want(200, "Your wants")
	f.Send("").Want(200, "Your wants") // pressed twice
	other := w.Browser()
	other.Get(link).Form("complete").Send("").Want(401, "This link was used already", "Ask for a new link")
	if len(other.Cookies()) != 0 {
		t.Error("a used link signs in")
	}
	w.Call("POST", "/_dev/clock", "", map[string]string{"advance": "1m"})
	b.Get("/sign-in").Form("sign-in").Set("email", "alice@example.com").Send("")
	late := w.Link("alice@example.com")
	w.Call("POST", "/_dev/clock", "", map[string]string{"advance": "15m"})
	other.Get(late).Form("complete").Send("").Want(401, "it is too old")
}

// TestAVisitorComesBackToWhereItWanted follows a mailed link to a page that needs a session.
func TestAVisitorComesBackToWhereItWanted(t *testing.T) {
	w := sitetest.New(t)
	for next, want := range map[string]string{"/me": "/me", "//evil.test": "/wants", "https://evil.test/": "/wants", "/\\evil.test": "/wants", "/deals?after=": "/deals?after="} {
		b := w.Browser()
		f := b.Get("/sign-in").Form("sign-in").Set("next", next)
		f.Set("email", "bob"+id.Format([16]byte{byte(len(next))})+"@example.com").Send("").Want(200, "Look into your mail")
		b.Get(w.Link(f.Values.Get("email"))).Form("complete").Send("").Want(200)
		if b.At != want {
			t.Errorf("after %q the visitor stands at %s, want %s", next, b.At, want)
		}
		if n := len(b.Cookies()); n != 1 {
			t.Errorf("after signing in %d cookies are left", n)
		}
	}
}

// TestAnotherPersonsPagesDoNotExist tries a want, a finalist, a deal and a step of somebody
// else, by reading and by sending forms.
func TestAnotherPersonsPagesDoNotExist(t *testing.T) {
	w := sitetest.New(t)
	a := w.Agent("crow")
	alice, mallory := w.Browser().SignIn("alice@example.com"), w.Browser().SignIn("mallory@example.com")
	target, bid, deal := hired(w, alice, a)
	for _, path := range []string{"/wants/" + target, "/wants/" + target + "/finalists/" + bid, "/deals/" + deal, "/deals/" + deal + "/steps/2", "/deals/" + deal + "/steps/99",
		"/wants/none", "/deals/none", "/wants/" + target + "/finalists/none"} {
		mallory.Get(path).Want(404, "There is nothing here")
	}
	// A form of the person's own page, sent with another's session, is stale before it is anything else.
	f := alice.Get("/deals/" + deal).Form("end")
	f.Set("reason", "Mine now.")
	mallory.Post("/deals/"+deal, f.Values).Want(404)
	if alice.Get("/deals/"+deal).Want(200, "On schedule"); strings.Contains(alice.Text(), "The deal is ended") {
		t.Error("somebody else ended the deal")
	}
	for _, from := range []string{"cross-site", "same-site"} {
		alice.PostFrom(from, "/deals/"+deal, f.Values).Want(403, "came from another website")
	}
}

// TestErrorPagesSpeakPlainly shows each: no code, and the request to name.
func TestErrorPagesSpeakPlainly(t *testing.T) {
	w := sitetest.New(t)
	b := w.Browser()
	b.Get("/nowhere").Want(404, "There is nothing here", b.Header.Get("X-Request-Id"))
	words := strings.ReplaceAll(b.Text(), b.Header.Get("X-Request-Id"), "") // which may hold any digits
	if b.Header.Get("X-Request-Id") == "" || strings.Contains(words, "not found") || strings.Contains(words, "404") {
		t.Errorf("the page of an unknown address says %s", b.Text())
	}
	b.Get("/pay/cs_sim_none").Want(404, "There is nothing here")
	b.Get("/simulated/onboarding/none").Want(404)
	w.Call("POST", "/_dev/faults", "", map[string]any{"target": "store", "mode": "fail_before", "count": 1000})
	b.SignInFails()
	w.Call("POST", "/_dev/faults", "", map[string]any{"target": "store", "mode": "fail_before", "count": 0})
	for range 31 {
		b.Get("/sign-in").Form("sign-in").Set("email", "alice@example.com").Send("")
	}
	b.Want(429, "Too many calls. Please wait and try again.")
	if strings.Contains(b.Text(), "rate_limited") {
		t.Errorf("a code stands on the page: %s", b.Text())
	}
}

// TestWithoutASimulatedProcessor keeps its pages away, and sends a person on by a button.
func TestWithoutASimulatedProcessor(t *testing.T) {
	w := sitetest.New(t)
	h := site.Handler(site.Config{Caller: w.X.Engine, Find: catalog.Find, BaseURL: w.Base, FormKey: id.Keyring{Current: []byte("k")}, NewID: func() string { return "x" }})
	for _, path := range []string{"/pay/x", "/simulated/checkout/x", "/simulated/onboarding/x"} {
		res := httptest.NewRecorder()
		h.ServeHTTP(res, httptest.NewRequest("GET", path, nil))
		if res.Code != 404 {
			t.Errorf("%s: %d", path, res.Code)
		}
	}
}

// TestTheRulesAreStyled lets the documents beside the pages load our style sheet, and nothing more.
func TestTheRulesAreStyled(t *testing.T) {
	w := sitetest.New(t)
	b := w.Browser().Get("/static/the-rules.html").Want(200, "The rules")
	if got := b.Header.Get("Content-Security-Policy"); got != "default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'" {
		t.Errorf("policy %s", got)
	}
	for name, kind := range map[string]string{"site.css": "text/css; charset=utf-8", "site.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		if got := b.Get("/static/" + name).Want(200).Header.Get("Content-Type"); got != kind {
			t.Errorf("%s is %s, want %s", name, got, kind)
		}
	}
}
