package deals

import (
	"fmt"
	"time"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
)

// Kinds of outcomes.
const (
	KindText     = "text"
	KindDocument = "document"
	KindNote     = "note"
)

// Outcome is the head of something filed on a step; its receipt is its id. What the
// platform keeps of it stands in a row of its own.
type Outcome struct {
	ID      string            `json:"id"`
	Kind    string            `json:"kind"`
	Version int               `json:"version"` // of the hand-over it belongs to
	Held    bool              `json:"held,omitempty"`
	Note    string            `json:"note,omitempty"`
	SHA256  string            `json:"sha256"`
	Bytes   int64             `json:"size_bytes"`
	FiledAt time.Time         `json:"filed_at"`
	Options []proposal.Option `json:"options,omitempty"` // tiles that replace the plan's
	// Unanswered is how many messages of the person waited when it was filed (rule 118).
	Unanswered int    `json:"unanswered,omitempty"`
	Schedule   string `json:"schedule,omitempty"` // the timed delivery it hands over
}

// OutcomeView is an outcome on the wire.
type OutcomeView struct {
	ID         string            `json:"receipt_id"`
	Kind       string            `json:"kind"`
	Version    int               `json:"version"`
	Note       *string           `json:"note"`
	SHA256     string            `json:"sha256"`
	Bytes      int64             `json:"size_bytes"`
	FiledAt    record.Time       `json:"filed_at"`
	Options    []proposal.Option `json:"options,omitempty"`
	Unanswered int               `json:"unanswered_at_filing"`
	Text       *string           `json:"text,omitempty"`
	Document   *Document         `json:"document,omitempty"`
}

func (o *Outcome) view() OutcomeView {
	return OutcomeView{ID: o.ID, Kind: o.Kind, Version: o.Version, Note: given(o.Note), SHA256: o.SHA256, Bytes: o.Bytes,
		FiledAt: record.Time(o.FiledAt), Options: o.Options, Unanswered: o.Unanswered}
}

// Kept is what the platform keeps of an outcome.
type Kept struct {
	Text     string    `json:"text,omitempty"`
	Document *Document `json:"document,omitempty"`
	// File is where the bytes of an artifact lie; its person downloads them by the receipt.
	File *KeptFile `json:"file,omitempty"`
}

// KeptFile is a file in the blob store and how it is handed out.
type KeptFile struct {
	Key         string `json:"key"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Bytes       int64  `json:"size_bytes"`
}

// PutOutcome stages an outcome and what is kept of it.
func PutOutcome(c *op.Call, d *path.Deal, s *path.Step, o *Outcome, kept *Kept) {
	c.Create(child(d.ID, stamped(outPrefix(s.Number), o.FiledAt, fmt.Sprintf("%06d#%s", d.Events, o.ID))), o)
	if kept != nil {
		c.Create(DocKey(d.ID, o.ID), kept)
	}
}

// Working reads the signed deal of the calling agent on a target; the bare 404 without one.
func Working(c *op.Call, target string) (*path.Deal, error) {
	if !id.Valid(target) {
		return nil, fault.BareNotFound
	}
	r, found, err := op.Load[Ref](c, OnTargetKey(target, c.Caller.ID))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.BareNotFound
	}
	if err := c.Fetch(OfDeal(r).with(c.Caller.ID, PlanKey)...); err != nil {
		return nil, err
	}
	d, err := Mine(c, r.DealID)
	if err == nil && d.Status != path.Signed {
		err = fault.BareNotFound
	}
	return d, err
}
