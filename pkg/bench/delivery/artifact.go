package delivery

import (
	"io"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// MaxTitle is the length of an artifact's title in characters (bench.md 2.11).
const MaxTitle = 80

// TitleTooLong refuses a title; it is not cut, for it is the agent's word.
var TitleTooLong = fault.New(fault.Invalid, "title_too_long", "The title of an artifact is at most 80 characters.").At("title")

// ArtifactFileIn is a file of the agent, in either form of an upload.
type ArtifactFileIn struct {
	deals.OfDeal
	ContentType string    `header:"Content-Type"`
	Title       string    `header:"X-Artifact-Title" doc:"At most 80 characters; the file's name when left out."`
	StepRef     string    `header:"X-Step-Ref" doc:"Number, id or title of the step; the one you hold when left out."`
	Body        io.Reader `body:"stream"`
}

// ArtifactFileOut is the receipt of an artifact, or the ticket of an announced one.
type ArtifactFileOut struct {
	ReceiptID   string       `json:"receipt_id,omitempty"`
	Kind        string       `json:"kind,omitempty"`
	SHA256      string       `json:"sha256,omitempty"`
	SizeBytes   int64        `json:"size_bytes,omitempty"`
	Filename    string       `json:"filename,omitempty"`
	Title       string       `json:"title,omitempty"`
	ContentType string       `json:"content_type,omitempty"`
	StepID      string       `json:"step_id,omitempty"`
	FiledAt     *record.Time `json:"filed_at,omitempty"`
	ticket
	Used   int64 `json:"target_usage_bytes"`
	Budget int64 `json:"target_budget_bytes"`
}

// FileArtifact attaches a file to the step the agent holds. It shows on the step at once and
// is the person's; it stops no clock and opens no ask (bench.md 13.6).
var FileArtifact = op.Declare(op.Meta{
	ID: "bench.artifact.file", Method: "POST", Path: "/api/bench/deals/{deal_id}/artifacts", Status: 201, OrStatus: 200, Auth: op.Maker, Scope: "deals:write",
	Idempotent: op.KeyOptional, Limit: &registry.Writes, Touches: op.Blobs, MaxBody: MaxFile + wants.MultipartOverhead, Timeout: uploadTimeout,
	Summary: "Attach a file to the step you hold.",
	Notes: "Either the file as multipart/form-data with one part named file, or JSON {filename, content_type, size_bytes, sha256} for an upload address, " +
		"and later {upload_id}. Programs, installers, scripts, source code and archives that hold them or cannot be looked into are refused.",
	Faults: append([]string{"out_of_turn_filing", "one_ball_violation", "too_many_items", "title_too_long", "outcome_secret", "outcome_off_platform_payment",
		"outcome_credential_request", "link_in_outcome_text", wants.OverBudget.Code}, wants.UploadFaults...),
	Contract: "bench.md 13.6, surface.md 7",
}, fileArtifact)

func fileArtifact(c *op.Call, in ArtifactFileIn) (ArtifactFileOut, error) {
	d, err := running(c, in.DealID)
	if err != nil {
		return ArtifactFileOut{}, err
	}
	s, err := holds(d, in.StepRef)
	if err != nil {
		return ArtifactFileOut{}, err
	}
	title, err := readTitle(in.Title)
	if err != nil {
		return ArtifactFileOut{}, err
	}
	f, t, err := wants.TakeUpload(c, in.Body, in.ContentType, wants.UploadRule{MaxBytes: MaxFile, Handed: true, Prefix: "agent-artifacts/" + d.ID,
		Target: d.TargetID, Fields: []string{"title", "step_ref"}})
	if err != nil {
		return ArtifactFileOut{}, err
	}
	if t != nil {
		used, err := wants.UsedBytes(c, d.TargetID)
		return ArtifactFileOut{ticket: ticketOf(t), Used: used, Budget: wants.MaxFileBytes}, err
	}
	if ref := f.Fields["step_ref"]; in.StepRef == "" {
		if s, err = holds(d, ref); err != nil {
			return ArtifactFileOut{}, err
		}
	}
	if title == "" {
		if title, err = readTitle(f.Fields["title"]); err != nil {
			return ArtifactFileOut{}, err
		}
	}
	return keepArtifact(c, d, s, f, title)
}

// running reads a signed deal of the calling agent; the bare 404 for any other.
func running(c *op.Call, deal string) (*path.Deal, error) {
	d, err := deals.Mine(c, deal)
	if err == nil && d.Status != path.Signed {
		err = fault.BareNotFound
	}
	return d, err
}

// holds is the step that an item would be attached to.
func holds(d *path.Deal, ref string) (*path.Step, error) {
	s, err := d.CanFile(text.Normalize(ref), true)
	if err == nil && s.Items >= MaxItems {
		err = TooManyItems
	}
	return s, err
}

func readTitle(s string) (string, error) {
	s = text.Normalize(s)
	if text.Len(s) > MaxTitle {
		return "", TitleTooLong
	}
	return s, screenOutcome("title", s)
}

// keepArtifact attaches a received file.
func keepArtifact(c *op.Call, d *path.Deal, s *path.Step, f *wants.File, title string) (ArtifactFileOut, error) {
	name := plainName(f.Name)
	if name == "" {
		name = f.Stored
	}
	if title == "" {
		title = name
	}
	o := &deals.Outcome{ID: c.NewID(), Kind: deals.KindFile, Version: s.Version + 1, Held: true, SHA256: f.SHA256, Bytes: f.Size, FiledAt: c.Now,
		Unanswered: s.Unread, Title: title, Filename: name, ContentType: f.ContentType}
	if _, err := d.Attach(c.Now, record.ArtifactFiled); err != nil {
		return ArtifactFileOut{}, err
	}
	deals.PutOutcome(c, d, s, o, &deals.Kept{File: &deals.KeptFile{Key: f.Key, Filename: name, ContentType: f.ContentType, Bytes: f.Size}})
	used, err := wants.UsedBytes(c, d.TargetID)
	if err != nil {
		return ArtifactFileOut{}, err
	}
	return ArtifactFileOut{ReceiptID: o.ID, Kind: o.Kind, SHA256: o.SHA256, SizeBytes: o.Bytes, Filename: name, Title: title, ContentType: o.ContentType,
			StepID: s.ID, FiledAt: record.At(o.FiledAt), Used: used, Budget: wants.MaxFileBytes},
		deals.Commit(c, d, map[record.Word]map[string]any{record.ArtifactFiled: {"receipt_id": o.ID, "sha256": o.SHA256, "kind": o.Kind}})
}
