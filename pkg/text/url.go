package text

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxHostBytes bounds how far a host name is read back from the slash behind it.
const maxHostBytes = 255

// BareURL says whether s holds a link outside a LinkObject (bench contract 2.10): a scheme (anything://x), www.name, or a
// public domain followed by a path or a query. A plain domain ("cedarrow.com") is legal.
func BareURL(s string) bool {
	if isASCII(s) && !strings.ContainsAny(s, "/?#wW") {
		return false
	}
	s = defang(strings.ToLower(Fold(s)))
	return hasScheme(s) || hasWWW(s) || hasDomainPath(s)
}

// defang undoes the spellings people use to slip a link past a filter: hxxp, [.] and (dot).
func defang(s string) string {
	if !strings.ContainsAny(s, "[({") {
		return s
	}
	return defanged.Replace(s)
}

var defanged = strings.NewReplacer("[.]", ".", "(.)", ".", "{.}", ".", "[dot]", ".", "(dot)", ".", " [dot] ", ".", " (dot) ", ".", "[:]", ":", "[/]", "/")

func hasScheme(s string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			return false
		}
		i += at
		at = i + len("://")
		if i > 0 && alnum(s[i-1]) && at < len(s) && !isSpace(s[at]) {
			return true
		}
	}
}

func hasWWW(s string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], "www.")
		if i < 0 {
			return false
		}
		i += at
		at = i + len("www.")
		if i > 0 && alnum(s[i-1]) {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(s[at:]); at < len(s) && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return true
		}
	}
}

// hasDomainPath looks back from each slash, question mark, hash sign or port at the name before it. A name holds none of
// these, so no byte is read twice.
func hasDomainPath(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '/':
		case '?', '#':
			if i+1 >= len(s) || !alnum(s[i+1]) {
				continue
			}
		case ':':
			if n := run(s[i+1:], isDigit, 6); n < 2 || i+1+n >= len(s) || s[i+1+n] != '/' {
				continue
			}
		default:
			continue
		}
		if host := hostBefore(s, i); host != "" && publicHost(host, s[i+1:]) {
			return true
		}
	}
	return false
}

func hostBefore(s string, end int) string {
	start := end
	for start > 0 && end-start < maxHostBytes {
		r, size := utf8.DecodeLastRuneInString(s[:start])
		if r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		start -= size
	}
	return strings.Trim(s[start:end], ".-_")
}

// publicHost says whether a name would resolve on the public net: it ends in a listed suffix, or is an address in numbers
// with a path of letters (so that 10.0.0.0/8 stays a network and 24/7 a habit).
func publicHost(host, after string) bool {
	if !strings.Contains(host, ".") {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return after != "" && lower(after[0])
	}
	if !isASCII(host) {
		ascii, err := idna.Punycode.ToASCII(host)
		if err != nil {
			return false
		}
		host = ascii
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	if !icann && !strings.Contains(suffix, ".") {
		return false
	}
	return suffix != host
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
