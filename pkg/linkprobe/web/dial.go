package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"guildhall/pkg/linkprobe"
)

// Bounds of one connection.
const (
	maxAddresses   = 4               // of a name, tried one after the other
	maxHeaderBytes = 64 << 10        // of an answer
	dialLimit      = 2 * time.Second // to one address
)

// newTransport makes a transport that goes nowhere by itself: no proxy, no connection kept. There is no client around it, so
// there are no cookies and no redirects either.
func (p *Prober) newTransport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{Proxy: nil, DialContext: p.dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaderBytes,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
}

// lookup asks the system's resolver; the dot keeps search lists out of it. IPv4 comes first: not every machine has IPv6.
func lookup(ctx context.Context, host string) ([]netip.AddrPort, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	out := make([]netip.AddrPort, len(found))
	for i, a := range found {
		out[i] = netip.AddrPortFrom(a.Unmap(), securePort)
	}
	return out, nil
}

// dial connects to a host by the addresses it has now. One address that is not public refuses them all: an honest name has
// none.
func (p *Prober) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != "443" {
		return nil, fmt.Errorf("%w: %s", ErrAddress, address)
	}
	all, err := p.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	for _, to := range all {
		if err := p.allow(to); err != nil {
			return nil, err
		}
	}
	var failed error
	for _, to := range all[:min(len(all), maxAddresses)] {
		conn, err := p.connect(ctx, to)
		if err == nil || errors.Is(err, ErrAddress) {
			return conn, err
		}
		failed = err
	}
	return nil, failed
}

// open connects to one address; the policy is asked again with the address the socket really gets.
func (p *Prober) open(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Timeout: dialLimit, Control: p.control}
	return d.DialContext(ctx, "tcp", to.String())
}

// failure says what an error on the way to an answer means.
func failure(ctx context.Context, err error) *finding {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrAddress):
		return rejected(linkprobe.ReasonPrivateAddress, "The link's domain does not lead to a public address.")
	case ctx.Err() != nil:
		return held(linkprobe.ReasonTimeout, "The link's server did not answer in time.")
	case errors.As(err, &dns):
		return held(linkprobe.ReasonUnresolvable, "The link's domain has no address.")
	case errors.As(err, &cert):
		return held(linkprobe.ReasonCertificate, "The link's server could not prove that it is the one it claims to be.")
	}
	return held(linkprobe.ReasonUnreachable, "The link's server could not be reached.")
}
