package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/linkprobe"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text/linkgate"
)

// Refusals of the Link Gate (bench.md 13.5). Both carry link_status and reason.
var (
	LinkRejected = fault.New(fault.Invalid, "link_rejected", "This link does not pass the Link Gate.").At("url")
	LinkHeld     = fault.New(fault.Invalid, "link_held", "A steward looks at this link first. File it again when your events say that it was released.").At("url")
)

// reasonSteward is the reason of a link that a steward rejected.
const reasonSteward = "steward"

// heldRule bounds how many links of a deal the stewards are asked about.
var heldRule = limit.Rule{Name: "bench.link.held", N: 20, Per: 24 * time.Hour, Exact: true}

func gateFault(f *fault.Fault, status, reason, detail string) *fault.Fault {
	if detail != "" {
		f = f.With("detail", detail)
	}
	return f.With("link_status", status).With("reason", reason)
}

// gate asks the rules about the link.
func (f *filing) gate() {
	if f.in.Kind == "" {
		f.in.Kind = linkgate.KindURL
	}
	f.verdict = linkgate.Check(*f.in.URL, linkgate.Options{Kind: f.in.Kind, Transfer: linkprobe.Transfer(f.c)})
}

// link lets a link through the gate. The rules alone come first; then what the stewards
// said of it on this deal; then the network, where a probe is configured.
func (f *filing) link() error {
	if f.form != formLink {
		return nil
	}
	v := f.verdict
	if v.Status == linkgate.Rejected {
		return gateFault(LinkRejected, v.Status, v.Reason, v.Detail)
	}
	key := deals.LinkKey(deals.LinkID(f.d.ID, v.URL))
	known, found, err := op.Load[deals.Link](f.c, key)
	switch {
	case err != nil:
		return err
	case found && known.State == deals.LinkRejected:
		return gateFault(LinkRejected, linkgate.Rejected, reasonSteward, "A steward looked at this link and rejected it for this deal.")
	case found && known.State == deals.LinkReleased:
	case v.Status == linkgate.OK:
		if v, err = f.probe(v); err != nil {
			return err
		}
	}
	switch {
	case found && known.State == deals.LinkReleased:
	case v.Status == linkgate.Rejected:
		return gateFault(LinkRejected, v.Status, v.Reason, v.Detail)
	case v.Status == linkgate.Held && found:
		return gateFault(LinkHeld, v.Status, v.Reason, v.Detail).With("link_id", known.ID)
	case v.Status == linkgate.Held:
		return f.holdLink(v)
	case found: // its server is back, or its domain has come of age
		if err := deals.PassLink(f.c, &known); err != nil {
			return err
		}
	}
	f.o.Kind, f.o.URL, f.o.Host, f.o.LinkKind = deals.KindLink, v.URL, v.Host, f.in.Kind
	return nil
}

// holdLink asks the stewards. The question stands although the filing is refused.
func (f *filing) holdLink(v linkgate.Verdict) error {
	if err := f.c.Charge(heldRule, f.d.ID); err != nil {
		return err
	}
	link := deals.LinkID(f.d.ID, v.URL)
	deals.HoldLink(f.c, f.d, f.s, deals.Link{ID: link, URL: v.URL, Host: v.Host, Reason: v.Reason}, v.Detail)
	return gateFault(LinkHeld, v.Status, v.Reason, v.Detail).With("link_id", link)
}

func probeKey(url string) table.Key {
	sum := sha256.Sum256([]byte(linkgate.Same(url)))
	return table.Key{PK: "bench.LINKCHECK#" + hex.EncodeToString(sum[:16]), SK: "ROOT"}
}

// probe asks the network about an address that the rules let through, unless a finding
// about it still stands. What was found stands also when the filing is refused.
func (f *filing) probe(v linkgate.Verdict) (linkgate.Verdict, error) {
	key := probeKey(v.URL)
	old, found, err := op.Load[linkprobe.Finding](f.c, key)
	if err != nil {
		return v, err
	}
	if !found || !old.Fresh(f.c.Now) {
		got, err := f.c.Once("probe", func() (any, error) { return linkprobe.From(f.c).Probe(f.c, v.URL) })
		if err != nil {
			return v, err
		}
		if old = got.(linkprobe.Finding); !old.Skipped {
			f.c.PutUntil(key, old, f.c.Now.Add(linkprobe.Keep))
			f.c.Stand(key)
		}
	}
	v.Status, v.Reason, v.Detail = old.Status, old.Reason, old.Detail
	return v, nil
}
