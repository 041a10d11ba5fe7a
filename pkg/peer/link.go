package peer

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"guildhall/pkg/fault"
)

var (
	invalidURL        = fault.New(fault.Invalid, "invalid_url", "An address begins with https://, names a public host without user, password or another port than 443, and is well formed.")
	duplicateEvidence = fault.New(fault.Invalid, "duplicate_evidence", "Each address may stand here once.")
)

// normalURL is the form in which two addresses are compared: lower-case scheme and host, no
// default port, no fragment. ok is false for what is no public HTTPS address (peer.md 9.3).
// Nothing is ever fetched.
func normalURL(raw string) (normal string, ok bool) {
	if raw == "" || strings.ContainsAny(raw, " \t\n\r\\\"<>`") || hasControl(raw) {
		return "", false
	}
	u, err := url.Parse(raw)
	if err != nil || !strings.EqualFold(u.Scheme, "https") || u.User != nil || u.Opaque != "" {
		return "", false
	}
	if port := u.Port(); port != "" && port != "443" || strings.HasSuffix(u.Host, ":") {
		return "", false
	}
	host, ok := publicHost(u.Hostname())
	if !ok {
		return "", false
	}
	u.Scheme, u.Host, u.Fragment, u.RawFragment = "https", host, "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), true
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// localNames end the names that no public host has.
var localNames = []string{"localhost", "local", "internal"}

// publicHost is a host name in lower-case ASCII; ok is false for addresses in numbers, names
// of one label and local names.
func publicHost(name string) (string, bool) {
	host, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil || host == "" || !strings.Contains(host, ".") || strings.Contains(name, ":") {
		return "", false
	}
	host = strings.ToLower(host)
	if _, err := netip.ParseAddr(host); err == nil {
		return "", false
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return "", false // what resolvers read as a number, too
	}
	for _, l := range localNames {
		if last == l {
			return "", false
		}
	}
	return host, true
}

// checkEvidence refuses addresses that are none and addresses that stand there twice.
func checkEvidence(field string, list []string) error {
	seen := map[string]bool{}
	for i, raw := range list {
		at := field + "[" + strconv.Itoa(i) + "]"
		normal, ok := normalURL(raw)
		switch {
		case !ok:
			return invalidURL.At(at)
		case seen[normal]:
			return duplicateEvidence.At(at)
		}
		seen[normal] = true
	}
	return nil
}
