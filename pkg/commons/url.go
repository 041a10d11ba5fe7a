package commons

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxURL is the length of a URL in characters.
const maxURL = 2000

// hostRules are those of a host name as browsers look it up.
var hostRules = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true), idna.Transitional(false))

// privateNames end the host names that mean something else on every machine (commons.md 9).
var privateNames = []string{"localhost", "local", "internal", "localdomain", "home.arpa"}

// publicURL says which part of the rule for recorded addresses s breaks, "" for none: https, a
// public host name, port 443, no credentials, no IP literal in any spelling (commons.md 9).
// Nothing is looked up.
func publicURL(s string) string {
	if utf8.RuneCountInString(s) > maxURL {
		return "length"
	}
	if s == "" || strings.ContainsAny(s, " \t\r\n\\<>\"`{}|^") || hasControl(s) {
		return "syntax"
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Opaque != "":
		return "syntax"
	case !strings.EqualFold(u.Scheme, "https"):
		return "scheme"
	case u.User != nil:
		return "credentials"
	case u.Port() != "443" && (u.Port() != "" || strings.HasSuffix(u.Host, ":")):
		return "port"
	}
	return publicHost(u.Hostname())
}

func publicHost(name string) string {
	if strings.ContainsAny(name, ":[]%") {
		return "ip_literal"
	}
	host, err := hostRules.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil || host == "" {
		return "host"
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := netip.ParseAddr(host); err == nil || numeric(last) {
		return "ip_literal"
	}
	if last == host {
		return "host"
	}
	for _, p := range privateNames {
		if strings.HasSuffix(host, "."+p) {
			return "host"
		}
	}
	return ""
}

// numeric tells whether a browser would read a name that ends so as an address in numbers.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

func hasControl(s string) bool {
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return true
		}
	}
	return false
}
