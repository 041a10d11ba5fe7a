package deals

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text/linkgate"
)

// States of a link that waits for the stewards.
const (
	LinkHeld     = "held"
	LinkReleased = "released"
	LinkRejected = "rejected"
)

// Words an agent's feed has for what became of its link.
const (
	EventLinkReleased = "link.released"
	EventLinkRejected = "link.rejected"
)

// Link is a link the gate held on a deal: its stewards release or reject it, for this deal.
type Link struct {
	ID        string    `json:"id"`
	DealID    string    `json:"deal_id"`
	TargetID  string    `json:"target_id"`
	AgentID   string    `json:"agent_id"`
	StepID    string    `json:"step_id"`
	URL       string    `json:"url"`
	Host      string    `json:"host"`
	Reason    string    `json:"reason"`
	CaseID    string    `json:"case_id"`
	State     string    `json:"state"`
	HeldAt    time.Time `json:"held_at"`
	DecidedAt time.Time `json:"decided_at,omitzero"`
}

// linkHash is how many hex digits of an address's hash name it.
const linkHash = 32

// LinkID names an address on a deal, however it is written: what the stewards said of it is
// not lost by a fragment.
func LinkID(deal, url string) string {
	sum := sha256.Sum256([]byte(linkgate.Same(url)))
	return deal + "." + hex.EncodeToString(sum[:])[:linkHash]
}

// LinkKey is the row of a link by its id; of an id that can be none, a row that is absent.
func LinkKey(link string) table.Key {
	deal, hash, ok := strings.Cut(link, ".")
	if !ok || !id.Valid(deal) || len(hash) != linkHash {
		deal, hash = "none", "none"
	}
	return child(deal, "LINK#"+hash)
}

// LinkCase names the case about a held link.
func LinkCase(link string) string { return link + "." + CaseLinkHeld }

// HoldLink stages a link that waits for the stewards, with its case. Both stand although
// the filing is refused.
func HoldLink(c *op.Call, d *path.Deal, s *path.Step, l Link, why string) {
	l.DealID, l.TargetID, l.AgentID, l.StepID, l.State, l.HeldAt = d.ID, d.TargetID, d.AgentID, s.ID, LinkHeld, c.Now
	l.CaseID = LinkCase(l.ID)
	k := Case{ID: l.CaseID, Kind: CaseLinkHeld, AgentID: d.AgentID, TargetID: d.TargetID, DealID: d.ID, OpenedAt: c.Now,
		Evidence: map[string]any{"link_id": l.ID, "url": l.URL, "host": l.Host, "reason": l.Reason, "detail": why, "step": s.Number}}
	c.Put(LinkKey(l.ID), l)
	OpenCase(c, k)
	c.Stand(LinkKey(l.ID), CaseKey(k.ID), CaseListKey(&k))
}

// PassLink closes the question about a held link that the gate lets through by now.
func PassLink(c *op.Call, l *Link) error {
	l.State, l.DecidedAt = LinkReleased, c.Now
	c.Put(LinkKey(l.ID), l)
	k, found, err := LoadCase(c, l.CaseID)
	if err != nil || !found || k.State == CaseClosed {
		return err
	}
	k.State, k.Finding, k.ClosedAt = CaseClosed, "the link gate lets it through by now", c.Now
	k.Save(c)
	return nil
}

// LinkDecided refuses a second decision about a link.
var LinkDecided = fault.New(fault.Conflict, "already_decided", "This link is decided. Decisions are not taken back.")

// DecideLink releases or rejects a held link and tells the agent. The caller saves the case.
func DecideLink(c *op.Call, link string, release bool) (Link, error) {
	l, found, err := op.Load[Link](c, LinkKey(link))
	switch {
	case err != nil:
		return l, err
	case !found:
		return l, fault.BareNotFound
	case l.State != LinkHeld:
		return l, LinkDecided
	}
	word := EventLinkRejected
	if l.State = LinkRejected; release {
		l.State, word = LinkReleased, EventLinkReleased
	}
	l.DecidedAt = c.Now
	c.Put(LinkKey(link), l)
	return l, record.Event(c, l.AgentID, record.E{Type: word, TargetID: l.TargetID, DealID: l.DealID, StepID: l.StepID, At: c.Now,
		Data: map[string]any{"link_id": l.ID, "url": l.URL}})
}
