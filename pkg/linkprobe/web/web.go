// Package web is the prober that really asks (see pkg/linkprobe): it fetches a page the way a person's browser would begin to,
// and asks the registry how old its domain is. It is written so that a link cannot turn it against the exchange:
//
//   - a name is resolved once, every address it has must be public, and the socket is checked again when it is connected, so
//     a name that changes between check and use (DNS rebinding) gains nothing;
//   - only port 443, only TLS with a certificate for the name, proxies of the environment ignored, connections never reused;
//   - redirects, those in the page included, are followed by hand, at most five, each through linkgate.Check;
//   - no cookies, no credentials, no referrer, one fixed User-Agent; the answer says nothing of the page but its type;
//   - five seconds and one MiB in all, headers at most 64 KiB.
package web

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/text/linkgate"
)

// UserAgent is what servers see.
const UserAgent = "Guildhall-LinkGate/1.0"

// DefaultBootstrap is the list that says which registry answers for which suffix (RFC 9224).
const DefaultBootstrap = "https://data.iana.org/rdap/dns.json"

// Options of a prober. Now is required.
type Options struct {
	Now func() time.Time
	// Bootstrap is the URL of the RDAP bootstrap file; "" is DefaultBootstrap.
	Bootstrap string
	// Resolve finds the addresses of a host, nil: the system's resolver and port 443.
	Resolve func(ctx context.Context, host string) ([]netip.AddrPort, error)
	// Allow is the policy for addresses, nil: Public. Tests stand for the public net on this machine with it.
	Allow func(netip.AddrPort) error
	// Roots are the authorities that servers' certificates come from, nil: the system's.
	Roots *x509.CertPool
}

// Prober implements linkprobe.Prober. It keeps no state but the registries' bootstrap file.
type Prober struct {
	now       func() time.Time
	bootstrap string
	resolve   func(ctx context.Context, host string) ([]netip.AddrPort, error)
	allow     func(netip.AddrPort) error
	connect   func(context.Context, netip.AddrPort) (net.Conn, error)
	transport *http.Transport
	registry  registry
}

var _ linkprobe.Prober = (*Prober)(nil)

// New makes a prober.
func New(o Options) *Prober {
	p := &Prober{now: o.Now, bootstrap: o.Bootstrap, resolve: o.Resolve, allow: o.Allow, registry: registry{turn: make(chan struct{}, 1)}}
	if p.bootstrap == "" {
		p.bootstrap = DefaultBootstrap
	}
	if p.resolve == nil {
		p.resolve = lookup
	}
	if p.allow == nil {
		p.allow = Public
	}
	p.connect = p.open
	p.transport = p.newTransport(o.Roots)
	return p
}

// finding is a judgement on the way to a Finding; nil is none.
type finding struct{ status, reason, detail string }

func held(reason, detail string) *finding { return &finding{linkgate.Held, reason, detail} }

func rejected(reason, detail string) *finding { return &finding{linkgate.Rejected, reason, detail} }

// visit is one probe under way.
type visit struct {
	*Prober
	gate  linkgate.Options
	out   linkprobe.Finding
	ages  map[string]*age // by domain
	looks sync.WaitGroup
}

// Probe implements linkprobe.Prober.
func (p *Prober) Probe(parent context.Context, url string) (linkprobe.Finding, error) {
	ctx, cancel := context.WithTimeout(parent, linkprobe.Limit)
	defer cancel()
	v := &visit{Prober: p, gate: linkgate.Options{Transfer: linkprobe.Transfer(ctx)}, ages: map[string]*age{}}
	v.out = linkprobe.Finding{URL: url, Status: linkgate.OK, At: p.now()}
	bad := v.walk(ctx, url)
	if bad != nil && bad.status == linkgate.Rejected {
		cancel() // nobody needs the ages
	}
	v.looks.Wait()
	if err := parent.Err(); err != nil {
		return linkprobe.Finding{}, err
	}
	if bad = v.aged(bad); bad != nil {
		v.out.Status, v.out.Reason, v.out.Detail = bad.status, bad.reason, bad.detail
	}
	return v.out, nil
}

// walk follows an address to its page and judges every hop.
func (v *visit) walk(ctx context.Context, url string) *finding {
	for hop := 0; ; hop++ {
		g := linkgate.Check(url, v.gate)
		if g.Status != linkgate.OK {
			detail := g.Detail
			if hop > 0 {
				detail = "The link leads on to another address. " + detail
			}
			return &finding{g.Status, g.Reason, detail}
		}
		v.out.Final, v.out.Hops = g.URL, hop
		v.lookUp(ctx, g)
		next, bad := v.fetch(ctx, g)
		if bad != nil || next == "" {
			return bad
		}
		if hop == linkprobe.MaxRedirects {
			return held(linkprobe.ReasonRedirects, "The link leads on more than five times.")
		}
		url = next
	}
}
