package linkgate

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// address is a web address that was read without doubt: every parser that people use finds the same host in it.
type address struct {
	host     string // lower-case ASCII
	domain   string // registrable, or the customer's name below a hosting site
	icann    string // the public suffix of the registry the name is bought from
	path     string // escaped, begins with a slash, no dot segments
	query    string // escaped, without the question mark
	fragment string // escaped, without the hash sign; an empty one is dropped
	asks     bool   // there is a question mark
}

const scheme = "https://"

// String is the normalised address.
func (a *address) String() string {
	s := scheme + a.host + a.path
	if a.asks {
		s += "?" + a.query
	}
	if a.fragment != "" {
		s += "#" + a.fragment
	}
	return s
}

// parse reads an address strictly: what a browser would silently repair (backslashes, tabs, missing slashes) is refused,
// because what is repaired is read differently by different programs. The address is nil when the host could not be read.
func parse(raw string) (*address, *problem) {
	if raw == "" {
		return nil, &problem{ReasonMalformed, "The link is empty."}
	}
	if len(raw) > MaxBytes {
		return nil, &problem{ReasonTooLong, "The link is longer than 2048 bytes."}
	}
	if p := characters(raw); p != nil {
		return nil, p
	}
	rest, p := afterScheme(raw)
	if p != nil {
		return nil, p
	}
	a := &address{}
	rest, a.fragment, _ = strings.Cut(rest, "#")
	rest, a.query, a.asks = strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if p := a.readHost(authority); p != nil {
		return nil, p
	}
	if p := a.readRest(path); p != nil {
		return nil, p
	}
	if len(a.String()) > MaxBytes {
		return nil, &problem{ReasonTooLong, "The link is longer than 2048 bytes once its letters are encoded."}
	}
	if u, err := url.Parse(a.String()); err != nil || u.Host != a.host || u.User != nil {
		return nil, &problem{ReasonMalformed, "The link is not a web address."}
	}
	return a, nil
}

// characters refuses what no honest address holds, wherever it stands.
func characters(s string) *problem {
	if !utf8.ValidString(s) {
		return &problem{ReasonMalformed, "The link is not valid UTF-8."}
	}
	for _, r := range s {
		switch {
		case r == '\\':
			return &problem{ReasonCharacters, "The link holds a backslash, which browsers and servers read differently."}
		case unicode.IsSpace(r):
			return &problem{ReasonCharacters, "The link holds white space."}
		case strings.ContainsRune("\"<>`", r):
			return &problem{ReasonCharacters, "The link holds a quote or an angle bracket; encode it with percent signs."}
		case hidden(r):
			return &problem{ReasonCharacters, "The link holds a character that cannot be seen."}
		}
	}
	return nil
}

// hidden says whether a character prints nothing, or changes how others are printed.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// afterScheme cuts https:// off.
func afterScheme(raw string) (string, *problem) {
	if len(raw) >= len(scheme) && strings.EqualFold(raw[:len(scheme)], scheme) && raw[0] < utf8.RuneSelf {
		return raw[len(scheme):], nil
	}
	if len(raw) >= len("https:") && strings.EqualFold(raw[:len("https:")], "https:") {
		return "", &problem{ReasonMalformed, "The link must have two slashes behind https: and a domain behind them."}
	}
	return "", &problem{ReasonScheme, "The link must begin with https://."}
}

// readHost reads user, host and port.
func (a *address) readHost(authority string) *problem {
	switch {
	case authority == "":
		return &problem{ReasonMalformed, "The link names no domain."}
	case strings.Contains(authority, "@"):
		return &problem{ReasonUserInfo, "The link carries a user name or password in front of its domain."}
	case strings.Contains(authority, "%"):
		return &problem{ReasonEncodedHost, "The link writes its domain with percent signs."}
	case authority[0] == '[' || strings.Count(authority, ":") > 1:
		return &problem{ReasonIPLiteral, "The link names an address in numbers, not a domain."}
	}
	host, port, named := strings.Cut(authority, ":")
	if p := a.setHost(host); p != nil {
		return p
	}
	if named && port != "443" {
		return &problem{ReasonPort, "The link names a port; only the usual one of https is served to people."}
	}
	return nil
}

// readRest normalises path, query and fragment.
func (a *address) readRest(path string) *problem {
	if path == "" {
		path = "/"
	}
	var ok [3]bool
	path, ok[0] = encode(path, pathBytes)
	a.query, ok[1] = encode(a.query, queryBytes)
	a.fragment, ok[2] = encode(a.fragment, queryBytes)
	if !ok[0] || !ok[1] || !ok[2] {
		return &problem{ReasonMalformed, "The link holds a percent sign that encodes nothing."}
	}
	a.path = resolve(path)
	if !decent(a.path, true) || !decent(a.query, false) || !decent(a.fragment, false) {
		return &problem{ReasonCharacters, "The link hides a character that cannot be seen behind percent signs."}
	}
	return nil
}
