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
	"guildhall/pkg/table"
)

// Kinds of outcomes.
const (
	KindText     = "text"
	KindDocument = "document"
	KindNote     = "note"   // a note alone, or with one NOTE block
	KindStream   = "stream" // hashed in passing, nothing of it is kept
	KindLink     = "link"
	KindFile     = "file" // an artifact
)

// GateLine stands beside every link that leads away from the platform (bench.md 13.5).
const GateLine = "Nothing that happens off-site counts here."

// Outcome is the head of something filed on a step; its receipt is its id. What the
// platform keeps of it stands in a row of its own.
type Outcome struct {
	ID      string            `json:"id"`
	Kind    string            `json:"kind"`
	Version int               `json:"version"`        // of the hand-over it belongs to
	Held    bool              `json:"held,omitempty"` // an item: it handed nothing over
	Note    string            `json:"note,omitempty"`
	SHA256  string            `json:"sha256"`
	Bytes   int64             `json:"size_bytes"`
	FiledAt time.Time         `json:"filed_at"`
	Options []proposal.Option `json:"options,omitempty"` // tiles that replace the plan's
	// Unanswered is how many messages of the person waited when it was filed (rule 118).
	Unanswered int `json:"unanswered,omitempty"`
	// Of a file or a stream.
	Title       string `json:"title,omitempty"`
	Filename    string `json:"filename,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	// Of a link.
	URL      string `json:"url,omitempty"`
	Host     string `json:"host,omitempty"`
	LinkKind string `json:"link_kind,omitempty"` // url or repo
	// Block tells that a note came with a NOTE block, which is kept.
	Block    bool   `json:"block,omitempty"`
	Schedule string `json:"schedule,omitempty"` // the timed delivery it hands over
	Pieces   int    `json:"pieces,omitempty"`   // how many there are in it
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
	Item       bool              `json:"item" doc:"Attached only: it handed nothing over."`
	Text       *string           `json:"text,omitempty"`
	Document   *Document         `json:"document,omitempty"`
	Title      *string           `json:"title,omitempty"`
	Filename   *string           `json:"filename,omitempty"`
	Type       *string           `json:"content_type,omitempty"`
	URL        *string           `json:"url,omitempty"`
	Host       *string           `json:"host,omitempty" doc:"Where the link leads."`
	LinkKind   *string           `json:"link_kind,omitempty"`
	GateLine   *string           `json:"gate_line,omitempty" doc:"Shown beside every link."`
	Download   *string           `json:"download_url,omitempty" doc:"For the person: where the bytes of an artifact are."`
}

func (o *Outcome) view() OutcomeView {
	v := OutcomeView{ID: o.ID, Kind: o.Kind, Version: o.Version, Note: Given(o.Note), SHA256: o.SHA256, Bytes: o.Bytes,
		FiledAt: record.Time(o.FiledAt), Options: o.Options, Unanswered: o.Unanswered, Item: o.Held, Title: Given(o.Title), Filename: Given(o.Filename),
		Type: Given(o.ContentType), URL: Given(o.URL), Host: Given(o.Host), LinkKind: Given(o.LinkKind)}
	if o.Kind == KindLink {
		v.GateLine = Given(GateLine)
	}
	return v
}

// title is what a card of the delivery is called.
func (o *Outcome) title() string {
	switch {
	case o.Title != "":
		return o.Title
	case o.Kind == KindLink:
		return "A link to " + o.Host
	case o.Kind == KindStream:
		return "A file from the agent's own hosting"
	}
	return "Delivered"
}

// kept tells whether the words of an outcome are kept in a row of their own.
func (o *Outcome) kept() bool { return o.Kind == KindText || o.Kind == KindDocument || o.Block }

// show adds the words of an outcome, and where its bytes are, for the deal's person.
func (v *OutcomeView) show(deal string, k *Kept) {
	if v.Kind == KindFile {
		v.Download = Given(dealPath(deal) + "/artifacts/" + v.ID)
	}
	if k == nil {
		return
	}
	v.Text, v.Document = Given(k.Text), k.Document
	if k.Document != nil {
		k.Document.ShowImages(deal)
	}
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
// more, when not nil, names further rows to read in the same batch, by the deal's id.
func Working(c *op.Call, target string, more func(deal string) []table.Key) (*path.Deal, error) {
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
	keys := OfDeal(r).with(c.Caller.ID, PlanKey)
	if more != nil {
		keys = append(keys, more(r.DealID)...)
	}
	if err := c.Fetch(keys...); err != nil {
		return nil, err
	}
	d, err := Mine(c, r.DealID)
	if err == nil && d.Status != path.Signed {
		err = fault.BareNotFound
	}
	return d, err
}
