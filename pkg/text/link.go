package text

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// MaxLinkBytes is the length of a link; MaxLinkTitle the characters of its title (bench contract 2.10).
const (
	MaxLinkBytes = 2048
	MaxLinkTitle = 80
)

// Kinds of a LinkObject.
const (
	LinkURL  = "url"
	LinkRepo = "repo"
)

// What is wrong with a link's shape. The texts are parts of a sentence that begins with the field's name.
var (
	ErrLinkLength   = errors.New("must be 1 to 2048 bytes long")
	ErrLinkSyntax   = errors.New("is not a web address")
	ErrLinkScheme   = errors.New("must begin with https://")
	ErrLinkUser     = errors.New("must not carry a user name or password")
	ErrLinkPort     = errors.New("must not name a port")
	ErrLinkHost     = errors.New("must name a public domain")
	ErrLinkPunycode = errors.New("must name its domain in plain letters, not in xn-- form")
)

var hostProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.CheckHyphens(true), idna.CheckJoiners(true),
	idna.VerifyDNSLength(true), idna.Transitional(false))

// CheckLink looks at the shape of a link alone: https, no user, no port, a host under a public suffix. It answers the host
// in lower-case ASCII. What needs the network, and what the name may pretend to be, is the link gate's work.
func CheckLink(raw string) (host string, err error) {
	if len(raw) == 0 || len(raw) > MaxLinkBytes {
		return "", ErrLinkLength
	}
	if strings.ContainsAny(raw, " \t\n\r\\\"<>`") || HasControl(raw) || Fold(raw) != raw {
		return "", ErrLinkSyntax
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", ErrLinkSyntax
	}
	switch {
	case !strings.EqualFold(u.Scheme, "https"):
		return "", ErrLinkScheme
	case u.User != nil:
		return "", ErrLinkUser
	case u.Port() != "" || strings.HasSuffix(u.Host, ":"):
		return "", ErrLinkPort
	}
	return checkHost(u.Hostname())
}

func checkHost(name string) (string, error) {
	host, err := hostProfile.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil || host == "" {
		return "", ErrLinkHost
	}
	if strings.HasPrefix(host, "xn--") || strings.Contains(host, ".xn--") {
		return "", ErrLinkPunycode
	}
	if _, err := netip.ParseAddr(host); err == nil || numericLast(host) {
		return "", ErrLinkHost
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	if !icann && !strings.Contains(suffix, ".") || suffix == host || suffix == "onion" {
		return "", ErrLinkHost
	}
	return host, nil
}

// numericLast catches addresses that browsers read as numbers (1.2.3, 0x7f.1).
func numericLast(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "" || isDigit(last[0])
}
