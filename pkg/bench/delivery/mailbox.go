package delivery

import (
	"errors"
	"io"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text/filekind"
)

// MaxImage is the largest image of the mailbox (bench.md 13.7).
const MaxImage = 10 << 20 // bytes

// MailboxIn is an image for the documents of a deal, in either form of an upload.
type MailboxIn struct {
	deals.OfDeal
	ContentType string    `header:"Content-Type"`
	Body        io.Reader `body:"stream"`
}

// MailboxOut is the stored image, or the ticket of an announced one.
type MailboxOut struct {
	FileID      string `json:"file_id,omitempty"`
	SHA256      string `json:"sha256,omitempty"`
	SizeBytes   int64  `json:"size_bytes,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	ticket
	Used   int64 `json:"target_usage_bytes"`
	Budget int64 `json:"target_budget_bytes"`
}

// PutImage stores an image that documents of the deal may show; nobody sees it before one
// does (bench.md 13.7).
var PutImage = op.Declare(op.Meta{
	ID: "bench.mailbox.put", Method: "POST", Path: "/api/bench/deals/{deal_id}/mailbox", Status: 201, OrStatus: 200, Auth: op.Maker, Scope: "deals:write",
	Idempotent: op.KeyOptional, Limit: &registry.Writes, Touches: op.Blobs, MaxBody: MaxImage + wants.MultipartOverhead, Timeout: uploadTimeout,
	Summary: "Upload an image for your documents: png, jpg, webp or gif.",
	Notes: "Either the image as multipart/form-data with one part named file, or JSON {filename, content_type, size_bytes, sha256} for an upload address, " +
		"and later {upload_id}.",
	Faults:   append([]string{wants.OverBudget.Code}, wants.UploadFaults...),
	Contract: "bench.md 13.7, surface.md 7",
}, putImage)

// imageKind takes pictures by their content.
func imageKind(head []byte) (wants.FileKind, bool) {
	k, ok := filekind.Image(head)
	return wants.FileKind{ContentType: k.ContentType, Ending: k.Ending}, ok
}

func putImage(c *op.Call, in MailboxIn) (MailboxOut, error) {
	d, err := running(c, in.DealID)
	if err != nil {
		return MailboxOut{}, err
	}
	f, t, err := wants.TakeUpload(c, in.Body, in.ContentType, wants.UploadRule{MaxBytes: MaxImage, Kind: imageKind, Prefix: "agent-images/" + d.ID, Target: d.TargetID})
	if errors.Is(err, wants.TypeNotAllowed) {
		err = wants.TypeNotAllowed.Say("An image for a document is a png, jpg, webp or gif. What a file is counts, not its name; other files are artifacts.").
			FixedBy("POST /api/bench/deals/" + d.ID + "/artifacts")
	}
	if err != nil {
		return MailboxOut{}, err
	}
	c.Check(deals.Key(d.ID)) // an ending that comes first takes no more images
	used, err := wants.UsedBytes(c, d.TargetID)
	if t != nil || err != nil {
		out := MailboxOut{Used: used, Budget: wants.MaxFileBytes}
		if t != nil {
			out.ticket = ticketOf(t)
		}
		return out, err
	}
	c.Create(deals.ImageKey(d.ID, f.ID), deals.KeptFile{Key: f.Key, Filename: f.Stored, ContentType: f.ContentType, Bytes: f.Size})
	return MailboxOut{FileID: f.ID, SHA256: f.SHA256, SizeBytes: f.Size, ContentType: f.ContentType, Used: used, Budget: wants.MaxFileBytes}, nil
}

// ImageIn names an image of a document.
type ImageIn struct {
	deals.OfDeal
	FileID string `path:"file_id" doc:"Id of the image, from the document that shows it."`
}

// Rows implements op.Prefetcher.
func (in ImageIn) Rows(account string) []table.Key {
	keys := in.OfDeal.Rows("")
	if keys == nil || !id.Valid(in.FileID) {
		return keys
	}
	return append(keys, deals.ImageKey(in.DealID, in.FileID))
}

// ReadImage hands an image of a document to the deal's person: as an attachment, which a
// page shows all the same and which is never opened as a page of ours.
var ReadImage = op.Declare(op.Meta{
	ID: "person.image.read", Method: "GET", Path: "/api/person/deals/{deal_id}/images/{file_id}", Auth: op.Person, Touches: op.Blobs,
	Timeout: uploadTimeout, Summary: "See an image of a document.", Contract: "bench.md 13.3, 13.7, surface.md 7",
}, readImage)

func readImage(c *op.Call, in ImageIn) (wants.Download, error) {
	d, err := deals.Seen(c, in.DealID)
	if err != nil {
		return wants.Download{}, err
	}
	if !id.Valid(in.FileID) {
		return wants.Download{}, fault.BareNotFound
	}
	k, found, err := op.Load[deals.KeptFile](c, deals.ImageKey(d.ID, in.FileID))
	if err != nil || !found {
		return wants.Download{}, orNotFound(err)
	}
	return serve(c, k.Key, k.Filename, k.ContentType, k.Bytes)
}
