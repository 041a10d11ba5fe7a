package linkgate

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/idna"

	"guildhall/pkg/text"
)

// browserHost is the host that a browser finds in an address, "" when it finds none: the WHATWG URL standard as far as hosts
// go, with all its repairs (tabs dropped, backslashes turned, slashes guessed, percent signs decoded).
func browserHost(raw string) string {
	raw = strings.TrimFunc(raw, func(r rune) bool { return r <= ' ' })
	raw = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(raw)
	name, rest, found := strings.Cut(raw, ":")
	if !found || !strings.EqualFold(name, "https") {
		return ""
	}
	rest = strings.TrimLeft(rest, "/\\")
	if i := strings.IndexAny(rest, "/\\?#"); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") {
		rest = rest[:i]
	}
	host, err := idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.Transitional(false)).ToASCII(decode(rest))
	if err != nil {
		return ""
	}
	return host
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/a/../b?q=%41#f", "HTTPS://EXAMPLE.com:443", "https://example.com/%2e%2e/x", "https://a.github.io/é", "https://example.com/a;b/%2F%5C",
		"https:\\\\example.com", "ht\ttps://example.com", "https://exa\u00admple.com", "https://0x7f.1", "https://example.com:443:443/", "https://[::1]", "https://a@b/",
		"https://example.com/x.tar.gz?file=a.exe", "https://paypal.com.evil.net/", "https://pаypal.com", "https://１２７。0。0。1", "https://example.com/?#", "https://co.uk./",
		"https://volans-.github.io/", "https://example.com//", "https://example.com/.//..", "https://example.com?a/b", "https://example.com#a?b",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, raw, transfer string) {
		checkPromises(t, raw, Options{})
		checkPromises(t, raw, Options{Kind: KindRepo, Transfer: []string{transfer}})
		checkPromises(t, "https://"+raw, Options{})
		checkPromises(t, "https://example.com/"+raw, Options{Transfer: []string{transfer}})
	})
}

// checkPromises holds what a verdict promises for any input.
func checkPromises(t *testing.T, raw string, o Options) {
	v := Check(raw, o)
	if (v.Status == OK) != (v.Reason == "") || (v.Reason == "") != (v.Detail == "") || len(v.URL) > MaxBytes || strings.Contains(v.Detail, v.URL) && v.URL != "" {
		t.Fatalf("Check(%q) is no whole verdict: %+v", raw, v)
	}
	if v.URL == "" {
		if v.Status == OK {
			t.Fatalf("Check(%q) is ok without an address", raw)
		}
		return
	}
	if again := Check(v.URL, o); again != v {
		t.Fatalf("Check(%q) = %+v, and of its own address %+v", raw, v, again)
	}
	if v.Host != browserHost(raw) || v.Host != browserHost(v.URL) {
		t.Fatalf("Check(%q) finds host %q; a browser finds %q, and %q in %q", raw, v.Host, browserHost(raw), browserHost(v.URL), v.URL)
	}
	u, err := url.Parse(v.URL)
	if err != nil || u.Scheme != "https" || u.Host != v.Host || u.Hostname() != v.Host || u.User != nil || u.Opaque != "" {
		t.Fatalf("net/url reads %q as %+v (%v), want host %q", v.URL, u, err, v.Host)
	}
	if u.String() != v.URL {
		t.Fatalf("net/url writes %q as %q", v.URL, u.String())
	}
	if !strings.HasSuffix("."+v.Host, "."+v.Domain) || v.Domain == "" {
		t.Fatalf("domain %q is no part of host %q", v.Domain, v.Host)
	}
}

// TestTheGateIsNoLooserThanTheShapeCheck compares with text.CheckLink, which callers ask for the shape alone.
func TestTheGateIsNoLooserThanTheShapeCheck(t *testing.T) {
	for _, name := range append(rows(t, "honest.txt"), rows(t, "hostile.txt")...) {
		raw, _, _ := strings.Cut(name, "\t")
		v := Check(raw, Options{})
		if v.Status != OK || v.Host == "github.io" || strings.Contains(v.Host, "---") {
			continue // the gate lets a hosting site itself and doubled hyphens through
		}
		if _, err := text.CheckLink(v.URL); err != nil {
			t.Errorf("the gate lets %s through, the shape check says it %v", v.URL, err)
		}
	}
}
