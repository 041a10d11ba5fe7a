// Package linkprobe is the network stage of the Link Gate (bench contract 13.5): what only asking can tell about an address
// that the rules of pkg/text/linkgate let through. It is a port, and off unless the exchange is configured to ask.
//
// How an operation uses it (it declares op.Links among its Touches):
//
//	v := linkgate.Check(raw, linkgate.Options{Kind: kind, Transfer: list})
//	// v.Status is not OK: answer v.Status and v.Reason, nothing is asked
//	// a finding for v.URL is stored and Fresh(c.Now): use it
//	f, err := linkprobe.From(ctx).Probe(linkprobe.WithTransfer(ctx, list), v.URL)
//	// err: the caller itself gave up; nothing was learned, nothing is to be stored
//	// f.Status is linkgate.OK, Rejected or Held, f.Reason and f.Detail say why
//
// The prober is always there: where probing is off, or a test put none into the context, From answers Off, whose findings are
// OK and Skipped. Probing takes up to Limit, so ask before reading rows, and once per operation: an attempt that is decided
// again after a lost race must not ask again.
//
// A Finding is small and plain JSON: store it under the hash of its URL and keep it while Fresh. It never holds anything the
// page said but its content type. A steward's release answers Held findings only; what is Rejected stays rejected.
package linkprobe

import (
	"context"
	"time"

	"guildhall/pkg/text/linkgate"
)

// Bounds of one probe.
const (
	Limit        = 5 * time.Second // in all: names, every hop, the page, the domain's age
	MaxRedirects = 5               // hops after the first
	MaxBody      = 1 << 20         // bytes of the page that are looked at
	YoungAge     = 30 * 24 * time.Hour
)

// How long a finding stands for its address.
const (
	Keep        = 24 * time.Hour
	KeepFailure = 10 * time.Minute // nothing was learned of the link: its server may be back soon
)

// Reasons of a finding, beside those of linkgate (each hop goes through the gate, so any of them may come back).
const (
	ReasonPrivateAddress = "private_address" // rejected: the name leads to an address that is not on the public net
	ReasonYoungDomain    = "young_domain"    // held: registered less than YoungAge ago
	ReasonAgeUnknown     = "age_unknown"     // held: the registry does not say when
	ReasonUnresolvable   = "unresolvable"    // held: the name has no address
	ReasonUnreachable    = "unreachable"     // held: no connection, or no answer in HTTP
	ReasonCertificate    = "certificate"     // held: the server cannot prove its name
	ReasonTimeout        = "timeout"         // held: no whole answer within Limit
	ReasonRedirects      = "redirects"       // held: more than MaxRedirects, or one that leads nowhere
	ReasonNoPage         = "no_page"         // held: another status than success
	ReasonUnreadable     = "unreadable"      // held: encoded in a way that was not asked for
)

// Finding is what one probe told.
type Finding struct {
	URL         string    `json:"url"`    // as asked
	Status      string    `json:"status"` // linkgate.OK, Rejected or Held
	Reason      string    `json:"reason,omitempty"`
	Detail      string    `json:"detail,omitempty"` // a sentence of ours, "" when OK
	Final       string    `json:"final,omitempty"`  // where the last hop was, normalised
	Hops        int       `json:"hops,omitempty"`   // redirects followed
	Code        int       `json:"code,omitempty"`   // HTTP status of the last hop
	ContentType string    `json:"content_type,omitempty"`
	Registered  time.Time `json:"registered,omitzero"` // when the youngest domain of the hops was registered; zero when not looked up
	At          time.Time `json:"at,omitzero"`
	Skipped     bool      `json:"skipped,omitempty"` // nothing was asked
}

// Fresh says whether a stored finding still stands.
func (f Finding) Fresh(now time.Time) bool {
	if f.Skipped || f.At.IsZero() {
		return false
	}
	keep := Keep
	switch f.Reason {
	case ReasonUnresolvable, ReasonUnreachable, ReasonTimeout, ReasonNoPage, ReasonAgeUnknown:
		keep = KeepFailure
	}
	return now.Before(f.At.Add(keep))
}

// Prober asks the net about one address.
type Prober interface {
	// Probe judges a URL that linkgate.Check let through, as normalised. Everything that is wrong with the link, its server
	// or the way there is in the finding; the error is only the end of the caller's own context.
	Probe(ctx context.Context, url string) (Finding, error)
}

// Off is the prober of an exchange that asks nobody: every address that passed the rules is OK.
type Off struct{}

// Probe implements Prober.
func (Off) Probe(_ context.Context, url string) (Finding, error) {
	return Finding{URL: url, Final: url, Status: linkgate.OK, Skipped: true}, nil
}
