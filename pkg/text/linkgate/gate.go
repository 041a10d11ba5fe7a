// Package linkgate judges a web address before anybody can click on it: the Link Gate of bench (contract 13.5). It is pure:
// no network, no clock, the same answer everywhere. What only the network can tell (the age of a domain, where a redirect
// ends, what a server really sends) is the work of pkg/linkprobe, which runs every hop through Check again.
//
// How an operation uses it:
//
//	v := linkgate.Check(link.URL, linkgate.Options{Kind: link.Kind})
//	if v.Status != linkgate.OK {
//		// 422 {ok:false, error: v.Detail, link_status: v.Status, reason: v.Reason}
//	}
//	// store and show v.URL, never what was sent; v.Domain groups links by owner
//
// A zero Options means kind url and the built-in transfer list. Status is OK, Rejected or Held. The rules alone hold only
// addresses of tunnels (ReasonTunnel); the probe holds more, with reasons of its own. A held link waits for a steward: after
// a release the caller accepts the same v.URL without asking again, but still asks Check, because a rejection is never released.
//
// Reasons are stable codes, safe to store and to compare. Details are whole sentences for a person or an agent to read; they
// may change and never repeat the address.
package linkgate

import (
	"strings"

	"guildhall/pkg/text"
)

// MaxBytes is the length of an address in bytes, as sent and as normalised.
const MaxBytes = text.MaxLinkBytes

// Statuses of a verdict (bench contract 13.5).
const (
	OK       = "ok"
	Rejected = "rejected"
	Held     = "held"
)

// Kinds of a link.
const (
	KindURL  = text.LinkURL
	KindRepo = text.LinkRepo
)

// Reasons of a verdict that is not OK.
const (
	ReasonTooLong        = "too_long"
	ReasonMalformed      = "malformed"       // no web address at all
	ReasonCharacters     = "characters"      // control, invisible or white characters, backslashes, quotes
	ReasonScheme         = "scheme"          // not https
	ReasonUserInfo       = "userinfo"        // user:password@
	ReasonPort           = "port"            // another port than 443
	ReasonEncodedHost    = "encoded_host"    // percent signs in the host
	ReasonHost           = "host"            // no legal host name
	ReasonIPLiteral      = "ip_literal"      // an address in numbers, in any spelling
	ReasonPunycode       = "punycode"        // an international name, written either way
	ReasonMixedScript    = "mixed_script"    // letters of several scripts in one label
	ReasonLookalike      = "lookalike"       // pretends to be a well-known name
	ReasonBareSuffix     = "bare_suffix"     // co.uk
	ReasonUnlistedSuffix = "unlisted_suffix" // no public suffix
	ReasonSpecialSuffix  = "special_suffix"  // .local, .onion, and public names for private addresses
	ReasonShortener      = "shortener"
	ReasonRedirector     = "redirector" // a page whose only work is to send people elsewhere
	ReasonLoginPage      = "login_page"
	ReasonExecutable     = "executable"
	ReasonDirectDownload = "direct_download" // an archive or image outside the transfer list
	ReasonNotARepo       = "not_a_repo"      // kind repo, and no repository in the path
	ReasonTunnel         = "tunnel"          // held: a name for somebody's own machine, made and gone in minutes
)

// Options of a check. The zero value is a link of kind url and the built-in transfer list.
type Options struct {
	Transfer []string // hosts (with their subdomains) that archives may be fetched from; nil: DefaultTransfer
	Kind     string   // KindURL or KindRepo; "" is KindURL
}

// Transfers says whether archives may be fetched from a host.
func (o Options) Transfers(host string) bool {
	if o.Transfer == nil {
		return transfer().hosts(host)
	}
	return setOf(o.Transfer).hosts(host)
}

// Verdict is what the gate says of one address.
type Verdict struct {
	Status string // OK, Rejected or Held
	Reason string // one of the Reason constants; "" when OK
	Detail string // a plain sentence; "" when OK
	URL    string // normalised: ASCII, lower-case scheme and host, no port, dot segments resolved; "" when rejected before it was read
	Host   string // lower-case ASCII; "" when rejected before it was read
	Domain string // who is responsible: the registrable domain of Host, or the customer's name below a hosting site (foo.github.io)
	Bought string // the domain as a registry sells it: github.io for foo.github.io, else Domain. It has an age
}

// Established says whether the domain of a host has long been known: well-known names at home, code hosts, the built-in
// transfer list. Nobody needs to ask how old these are.
func Established(host string) bool {
	return guard().homes.hosts(host) || codeHosts().hosts(host) || transfer().hosts(host)
}

// Name judges a file name that a server gives for what it sends (Content-Disposition): ReasonExecutable, ReasonDirectDownload
// for an archive, or "".
func Name(name string) (reason string) {
	e := extensions(fileName(name))
	switch {
	case len(e) == 0:
		return ""
	case executables()[e[0]]:
		return ReasonExecutable
	}
	stream, _, _ := strings.Cut(name, ":") // a.exe::$DATA is a.exe to some file systems
	for _, inner := range append(e, extensions(fileName(stream))...) {
		if executables()[inner] && !alsoNames[inner] {
			return ReasonExecutable
		}
	}
	if archives()[e[0]] {
		return ReasonDirectDownload
	}
	return ""
}

// problem is a refusal before it becomes a verdict.
type problem struct{ reason, detail string }

// Check judges one address. An OK verdict is a fixed point: Check(v.URL) is OK with the same URL. It never panics and reads
// at most MaxBytes of its input.
func Check(raw string, o Options) Verdict {
	a, p := parse(raw)
	if p == nil {
		p = a.judge(o)
	}
	v := Verdict{Status: OK}
	if a != nil {
		v.URL, v.Host, v.Domain, v.Bought = a.String(), a.host, a.domain, below(a.host, a.icann)
	}
	if p == nil {
		return v
	}
	v.Status, v.Reason, v.Detail = Rejected, p.reason, p.detail
	if p.reason == ReasonTunnel {
		v.Status = Held
	}
	return v
}

// judge asks every rule about an address that could be read. The order decides which reason is told when several apply: what
// the host is comes before what the path names; holding comes last, so that nothing rejected is ever only held.
func (a *address) judge(o Options) *problem {
	for _, rule := range []func(Options) *problem{
		a.redirects, a.pretends, a.signsIn, a.executes, a.downloads, a.isRepo, a.tunnels,
	} {
		if p := rule(o); p != nil {
			return p
		}
	}
	return nil
}
