package steward

import (
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Findings about a held link.
const (
	LinkReleased = "link_released"
	LinkRejected = "link_rejected"
)

// LinkIn is a steward's word on a held link.
type LinkIn struct {
	LinkID   string `path:"link_id" doc:"Id of the link, from the evidence of its case."`
	Decision string `json:"decision" rule:"required,enum=release|reject"`
}

// Rows implements op.Prefetcher.
func (in LinkIn) Rows(string) []table.Key {
	return []table.Key{deals.LinkKey(in.LinkID), deals.CaseKey(deals.LinkCase(in.LinkID))}
}

// LinkOut is the link after it.
type LinkOut struct {
	LinkID    string       `json:"link_id"`
	CaseID    string       `json:"case_id"`
	DealID    string       `json:"deal_id"`
	TargetID  string       `json:"target_id"`
	MakerID   string       `json:"maker_id"`
	StepID    string       `json:"step_id"`
	URL       string       `json:"url"`
	Host      string       `json:"host"`
	Reason    string       `json:"reason"`
	State     string       `json:"state"`
	HeldAt    record.Time  `json:"held_at"`
	DecidedAt *record.Time `json:"decided_at"`
}

// DecideLink releases or rejects a link that the Link Gate held. The decision is about this
// address on this deal; its agent is told, and may file a released link again
// (bench.md 13.5).
var DecideLink = op.Declare(meta("link.decide", "POST", "/links/{link_id}", "Release or reject a link that the Link Gate held.", "already_decided"), decideLink)

func decideLink(c *op.Call, in LinkIn) (LinkOut, error) {
	l, found, err := op.Load[deals.Link](c, deals.LinkKey(in.LinkID))
	if err != nil {
		return LinkOut{}, err
	}
	if !found || l.ID != in.LinkID {
		return LinkOut{}, fault.BareNotFound
	}
	k, found, err := op.Load[deals.Case](c, deals.CaseKey(l.CaseID))
	if err != nil {
		return LinkOut{}, err
	}
	if err := c.Fetch(deals.CaseListKey(&k), record.HeadKey(l.AgentID)); err != nil {
		return LinkOut{}, err
	}
	x := &decision{c: c, kase: &k, in: DecideIn{Written: "Decided at the link itself."}, f: finding{name: LinkRejected}}
	if in.Decision == "release" {
		x.f.name = LinkReleased
	}
	if l, err = deals.DecideLink(c, in.LinkID, in.Decision == "release"); err != nil {
		return LinkOut{}, err
	}
	if found && k.State != deals.CaseClosed {
		x.vote()
		k.Save(c)
	}
	if err := record.Audit(c, c.Caller.Key(), "link.decided", "link:"+l.ID, map[string]any{"state": deals.LinkHeld},
		map[string]any{"state": l.State, "url": l.URL}); err != nil {
		return LinkOut{}, err
	}
	return LinkOut{LinkID: l.ID, CaseID: l.CaseID, DealID: l.DealID, TargetID: l.TargetID, MakerID: l.AgentID, StepID: l.StepID, URL: l.URL, Host: l.Host,
		Reason: l.Reason, State: l.State, HeldAt: record.Time(l.HeldAt), DecidedAt: record.At(l.DecidedAt)}, nil
}

// release lets a held link through, and reject does not: the deal itself is not judged.
func (x *decision) release() error { return x.onLink(true) }

func (x *decision) reject() error { return x.onLink(false) }

func (x *decision) onLink(release bool) error {
	x.deal = nil
	link, _ := x.kase.Evidence["link_id"].(string)
	_, err := deals.DecideLink(x.c, link, release)
	return err
}
