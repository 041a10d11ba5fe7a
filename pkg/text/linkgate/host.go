package linkgate

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/unicode/norm"
)

const (
	maxHostBytes  = 253
	maxLabelBytes = 63
)

// setHost judges the name itself and takes it over.
func (a *address) setHost(host string) *problem {
	host = strings.ToLower(host)
	if !ascii(host) {
		return foreign(host)
	}
	if endsInNumber(host) {
		return &problem{ReasonIPLiteral, "The link names an address in numbers, not a domain."}
	}
	if detail := badName(host); detail != "" {
		return &problem{ReasonHost, detail}
	}
	if strings.HasPrefix(host, "xn--") || strings.Contains(host, ".xn--") {
		return &problem{ReasonPunycode, "The link's domain is an international name in xn-- form."}
	}
	if special().hosts(host) {
		return &problem{ReasonSpecialSuffix, "The link's domain does not lead to the public web."}
	}
	return a.setDomain(host)
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// endsInNumber says whether browsers read a host as an IPv4 address: its last label is a number, in decimal, octal or hex.
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, found := strings.CutPrefix(last, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// badName says what keeps a host from being a name in the domain system, "" when nothing does.
func badName(host string) string {
	if len(host) > maxHostBytes {
		return "The link's domain is too long."
	}
	if strings.HasSuffix(host, ".") {
		return "The link's domain ends in a dot."
	}
	for label := range strings.SplitSeq(host, ".") {
		switch {
		case label == "":
			return "The link's domain has two dots in a row or begins with one."
		case len(label) > maxLabelBytes:
			return "A part of the link's domain is longer than 63 letters."
		case label[0] == '-': // one at the end is against the rules too, but such names are in use
			return "A part of the link's domain begins with a hyphen."
		case strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
			return "The link's domain holds a character that no domain may hold."
		}
	}
	return ""
}

// foreign tells why a host that is not plain ASCII is refused; each is, because none can be told from a look-alike by
// everybody who reads it. The closest reason is told: numbers, a well-known name, a mix, or just an international name.
func foreign(host string) *problem {
	plain := strings.Map(dots, strings.ToLower(norm.NFKC.String(strings.Map(dots, host))))
	switch {
	case endsInNumber(plain):
		return &problem{ReasonIPLiteral, "The link names an address in numbers, not a domain."}
	case ascii(plain):
		return &problem{ReasonLookalike, "The link's domain is written in letters that only look like plain ones."}
	}
	if _, err := idna.Lookup.ToASCII(plain); err != nil && !strings.ContainsFunc(plain, unicode.IsLetter) {
		return &problem{ReasonHost, "The link's domain holds a character that no domain may hold."}
	}
	for label := range strings.SplitSeq(plain, ".") {
		if protectedName(label) != nil {
			return &problem{ReasonLookalike, "The link's domain is drawn like a well-known name and is another one."}
		}
	}
	for label := range strings.SplitSeq(plain, ".") {
		if mixed(label) {
			return &problem{ReasonMixedScript, "The link's domain mixes letters of different scripts."}
		}
	}
	return &problem{ReasonPunycode, "The link's domain is an international name; only names in plain letters are let through."}
}

// dots makes a full stop of what browsers take for one.
func dots(r rune) rune {
	if r == '\u3002' || r == '\uff0e' || r == '\uff61' {
		return '.'
	}
	return r
}

// mixtures are the scripts that one language writes together.
var mixtures = []set{
	setOf([]string{"Latin", "Han", "Hiragana", "Katakana"}), setOf([]string{"Latin", "Han", "Bopomofo"}), setOf([]string{"Latin", "Han", "Hangul"}),
}

// mixed says whether a label is written in scripts that no language mixes (UTS 39, highly restrictive).
func mixed(label string) bool {
	found := set{}
	for _, r := range label {
		if s := script(r); s != "" {
			found[s] = true
		}
	}
	if len(found) < 2 {
		return false
	}
	for _, m := range mixtures {
		fits := true
		for s := range found {
			fits = fits && m[s]
		}
		if fits {
			return false
		}
	}
	return true
}

// script names the script of a letter, "" for what all scripts share.
func script(r rune) string {
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return ""
	}
	if unicode.Is(unicode.Latin, r) {
		return "Latin"
	}
	for name, t := range unicode.Scripts {
		if unicode.Is(t, r) {
			return name
		}
	}
	return ""
}

// setDomain finds the registrable domain. Only suffixes of the list's ICANN section sell names; below a private one
// (github.io) each customer has a name of their own, and the suffix itself is an ordinary site.
func (a *address) setDomain(host string) *problem {
	suffix, listed := publicsuffix.PublicSuffix(host)
	private := ""
	for !listed && strings.Contains(suffix, ".") {
		if private == "" {
			private = suffix
		}
		_, parent, _ := strings.Cut(suffix, ".")
		suffix, listed = publicsuffix.PublicSuffix(parent)
	}
	switch {
	case !listed:
		return &problem{ReasonUnlistedSuffix, "The link's domain ends in no public suffix."}
	case suffix == host:
		return &problem{ReasonBareSuffix, "The link names a public suffix, not a domain below one."}
	}
	a.host, a.icann, a.domain = host, suffix, below(host, suffix)
	if private != "" && private != host && strings.HasSuffix(host, "."+private) {
		a.domain = below(host, private)
	}
	return nil
}

// below is the part of a host that is one label longer than a suffix of it.
func below(host, suffix string) string {
	rest := strings.TrimSuffix(host, "."+suffix)
	return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix
}
