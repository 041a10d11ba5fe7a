package text

import (
	"errors"
	"strings"
	"testing"
)

func TestBareURLFindsLinksHoweverTheyAreWritten(t *testing.T) {
	for _, s := range []string{
		"see https://example.com", "HTTP://EXAMPLE.COM", "ftp://files.example.org/x", "www.example.com", "WWW.Example.Com", "go to example.com/book",
		"example.com/", "sub.example.co.uk/path?x=1", "example.com?ref=1", "example.com#top", "example.com:8080/x", "custom+scheme://open",
		"hxxps://example.com", "example[.]com/path", "example (dot) com/path", "https[:]//example.com",
		"ht\u200btps://example.com", "exam\u00adple.com/path", "\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45.com/path", "example\u3002com/path", "example.com\uff0fpath", "https\uff1a//example.com",
		"(example.com/path)", "\"example.com/path\"", "münchen.de/karte", "пример.рф/путь", "xn--e1afmkfd.xn--p1ai/x", "example.com./path",
		"192.0.2.7/admin", "me@example.com/inbox", "user.github.io/repo", "mailto://x", "x://y",
	} {
		if !BareURL(s) {
			t.Errorf("BareURL(%q) = false", s)
		}
	}
}

func TestBareURLLetsPlainWordsAndPlainDomainsPass(t *testing.T) {
	for _, s := range []string{
		"", "cedarrowstudio.com", "I will build it at cedarrow.com.", "Is it example.com?", "and/or", "24/7", "km/h", "w/o sugar", "Node.js/React",
		"1.5/2 cups", "v2.0/beta", "either/or, yes/no.", "a.m./p.m.", "U.S./Canada", "10.0.0.0/8", "10:30/11:00", "ratio 3:4", "http and https",
		"www", "www. is old", "e.g. this/that", "no://", "://", "C#", "section 4.2/4.3", "mail me@example.com", "localhost/admin", "readme.invalid/x",
		"one thing.another/third", "awww.example", "$30/month", "end./start", "....../", "-/-",
	} {
		if BareURL(s) {
			t.Errorf("BareURL(%q) = true", s)
		}
	}
}

func TestCheckLinkTakesPlainHTTPSOnly(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com": "example.com", "https://Example.COM/a?b=c#d": "example.com", "https://sub.example.co.uk/": "sub.example.co.uk",
		"https://user.github.io/x": "user.github.io", "HTTPS://example.com": "example.com", "https://example.com/caf%C3%A9": "example.com", "https://example.com./": "example.com",
	} {
		if host, err := CheckLink(raw); err != nil || host != want {
			t.Errorf("CheckLink(%q) = %q, %v", raw, host, err)
		}
	}
	for raw, want := range map[string]error{
		"": ErrLinkLength, "https://example.com/" + strings.Repeat("a", MaxLinkBytes): ErrLinkLength, "http://example.com": ErrLinkScheme, "ftp://example.com": ErrLinkScheme,
		"example.com": ErrLinkScheme, "//example.com": ErrLinkScheme, "javascript:alert(1)": ErrLinkScheme, "data:text/html,x": ErrLinkScheme, "https:example.com": ErrLinkHost,
		"https://u@example.com": ErrLinkUser, "https://u:p@example.com": ErrLinkUser, "https://example.com:443/": ErrLinkPort, "https://example.com:": ErrLinkPort,
		"https://": ErrLinkHost, "https://localhost/": ErrLinkHost, "https://host.local/": ErrLinkHost, "https://x.test/": ErrLinkHost, "https://1.2.3.4/": ErrLinkHost,
		"https://0x7f.1/": ErrLinkHost, "https://2130706433/": ErrLinkHost, "https://[::1]/": ErrLinkHost, "https://co.uk/": ErrLinkHost, "https://com/": ErrLinkHost,
		"https://abc.onion/": ErrLinkHost, "https://github.io/": ErrLinkHost, "https://-bad-.com/": ErrLinkHost, "https://a_b.com/": ErrLinkHost, "https://xn--e1afmkfd.com/": ErrLinkPunycode, "https://пример.com/": ErrLinkPunycode,
		"https://exa mple.com": ErrLinkSyntax, "https://example.com/\x00": ErrLinkSyntax, "https://example.com\\@evil.com": ErrLinkSyntax, "https://ex\u200bample.com": ErrLinkSyntax, "https://example.com/%zz": ErrLinkSyntax, "https://\uff45xample.com/": ErrLinkSyntax,
	} {
		if host, err := CheckLink(raw); !errors.Is(err, want) {
			t.Errorf("CheckLink(%q) = %q, %v; want %v", raw, host, err, want)
		}
	}
}
