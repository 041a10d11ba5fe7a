package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/linkprobe"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// names are the hosts the test's server has a certificate for.
var names = []string{"shop.example.com", "other.example.net", "third.example.org", "inside.example.com", "files.example.com", "rdap.example.org", "data.example.org"}

// bootstrap is the address of the registries' list in the test's net.
const bootstrap = "https://data.example.org/dns.json"

// world is a small net on this machine: one server that is every host, a resolver, registries and a clock.
type world struct {
	t      *testing.T
	server *httptest.Server
	roots  *x509.CertPool
	cert   tls.Certificate

	mu       sync.Mutex
	pages    map[string]http.HandlerFunc // by host and path
	at       map[string][]netip.AddrPort // what a name resolves to; the server when it is not here
	births   map[string]string           // dates of registration
	requests []*http.Request
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, pages: map[string]http.HandlerFunc{}, at: map[string][]netip.AddrPort{},
		births: map[string]string{"example.com": "1995-08-14T04:00:00Z", "example.net": "1995-08-14T04:00:00Z", "example.org": "1995-08-31T04:00:00Z"}}
	w.certify()
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	w.server.TLS = &tls.Config{Certificates: []tls.Certificate{w.cert}}
	w.server.Config.ErrorLog = nil
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	w.pages["data.example.org/dns.json"] = func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(rw, `{"version":"1.0","services":[[["xyz"],["http://rdap.example.org/"]],[["com","net","org"],["http://rdap.example.org/","https://rdap.example.org/v1/"]]]}`)
	}
	return w
}

func (w *world) certify() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, IsCA: true, BasicConstraintsValid: true, NotBefore: now.AddDate(-30, 0, 0),
		NotAfter: now.AddDate(30, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		w.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		w.t.Fatal(err)
	}
	w.roots = x509.NewCertPool()
	w.roots.AddCert(leaf)
	w.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// page serves a host's path.
func (w *world) page(at string, h http.HandlerFunc) { w.change(func() { w.pages[at] = h }) }

// change changes the world between requests.
func (w *world) change(how func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	how()
}

// born sets a domain's date of registration.
func (w *world) born(domain, date string) { w.change(func() { w.births[domain] = date }) }

// leads sets what a name resolves to; nothing at all without addresses.
func (w *world) leads(host string, to ...netip.AddrPort) { w.change(func() { w.at[host] = to }) }

// seen are the requests so far.
func (w *world) seen() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// moved serves a redirect.
func (w *world) moved(at, to string) {
	w.page(at, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Location", to)
		rw.WriteHeader(http.StatusFound)
	})
}

// text serves a body with a content type.
func (w *world) text(at, contentType, body string) {
	w.page(at, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", contentType)
		_, _ = rw.Write([]byte(body))
	})
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests = append(w.requests, r)
	h := w.pages[r.Host+r.URL.Path]
	born, known := w.births[strings.TrimPrefix(r.URL.Path, "/v1/domain/")]
	w.mu.Unlock()
	switch {
	case h != nil:
		h(rw, r)
	case r.Host == "rdap.example.org" && known:
		_ = json.NewEncoder(rw).Encode(map[string]any{"events": []map[string]string{{"eventAction": "last changed", "eventDate": "2026-11-29T00:00:00Z"},
			{"eventAction": "registration", "eventDate": born}}})
	case r.URL.Path == "/":
		fmt.Fprint(rw, "<!doctype html><title>Welcome</title><p>Welcome")
	default:
		http.NotFound(rw, r)
	}
}

// asked lists the hosts and paths that were requested, those of registries left out.
func (w *world) asked() []string {
	var out []string
	for _, r := range w.seen() {
		if r.Host != "rdap.example.org" && r.Host != "data.example.org" {
			out = append(out, r.Host+r.URL.Path)
		}
	}
	return out
}

func (w *world) addr() netip.AddrPort {
	return netip.MustParseAddrPort(w.server.Listener.Addr().String())
}

func (w *world) resolve(_ context.Context, host string) ([]netip.AddrPort, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all, found := w.at[host]; found {
		return all, nil
	}
	return []netip.AddrPort{w.addr()}, nil
}

// prober stands in this world: the server's own address counts as public, everything else is judged as usual.
func (w *world) prober() *Prober {
	return New(Options{Now: func() time.Time { return now }, Bootstrap: bootstrap, Resolve: w.resolve, Roots: w.roots, Allow: func(to netip.AddrPort) error {
		if to == w.addr() {
			return nil
		}
		return Public(to)
	}})
}

func (w *world) probe(url string) linkprobe.Finding {
	w.t.Helper()
	f, err := w.prober().Probe(w.t.Context(), url)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// expect probes and compares status and reason.
func (w *world) expect(url, status, reason string) linkprobe.Finding {
	w.t.Helper()
	f := w.probe(url)
	if f.Status != status || f.Reason != reason || (reason == "") != (f.Detail == "") {
		w.t.Errorf("%s: %s for %q (%s), want %s for %q", url, f.Status, f.Reason, f.Detail, status, reason)
	}
	return f
}
