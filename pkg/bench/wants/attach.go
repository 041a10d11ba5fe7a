package wants

import (
	"io"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of a want's files (bench.md 4.1).
const (
	MaxAttachments     = 5
	MaxAttachmentBytes = 20 << 20 // bytes of one
)

// TooManyFiles refuses an attachment too many.
var TooManyFiles = fault.New(fault.Conflict, "too_many_attachments", "A want takes five files.")

// AttachIn is a file for a want, in either form of an upload.
type AttachIn struct {
	TargetID    string    `path:"target_id"`
	ContentType string    `header:"Content-Type"`
	Body        io.Reader `body:"stream"`
}

// Rows implements op.Prefetcher.
func (in AttachIn) Rows(string) []table.Key { return OneIn{in.TargetID}.Rows("") }

// AttachOut is the stored file, or the ticket of an announced one.
type AttachOut struct {
	Filename    string `json:"filename,omitempty"`
	SizeBytes   int64  `json:"size_bytes,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	UploadURL   string `json:"upload_url,omitempty"`
	UploadID    string `json:"upload_id,omitempty"`
	ExpiresAt   *Time  `json:"expires_at,omitempty"`
}

// StatusCode implements op.Statuser: a ticket is no file yet.
func (o AttachOut) StatusCode() int {
	if o.UploadID != "" {
		return 200
	}
	return 201
}

// Attach puts a picture or a document beside a want that has no bid yet (surface.md 3, 7).
// Agents read it; its own name is not kept, for it may say who the person is.
var Attach = op.Declare(op.Meta{
	ID: "person.want.attach", Method: "POST", Path: "/api/person/wants/{target_id}/attachments", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &PersonWrites, Touches: op.Blobs, MaxBody: MaxAttachmentBytes + MultipartOverhead,
	Timeout: uploadTimeout, Summary: "Put a file beside a want.",
	Notes:    "Either the file as multipart/form-data, or JSON {filename, content_type, size_bytes, sha256} for an upload address, and later {upload_id}.",
	Faults:   append([]string{"has_bids", "not_open", TooManyFiles.Code, OverBudget.Code}, UploadFaults...),
	Contract: "surface.md 3, 7",
}, attach)

// uploadTimeout leaves a slow connection time for a large file.
const uploadTimeout = 29 * time.Second

func attach(c *op.Call, in AttachIn) (AttachOut, error) {
	w, err := Own(c, c.Caller.ID, in.TargetID)
	if err != nil {
		return AttachOut{}, err
	}
	switch {
	case w.Status != Open:
		return AttachOut{}, NotLive
	case w.HasBids:
		return AttachOut{}, HasBids
	case len(w.Files) >= MaxAttachments:
		return AttachOut{}, TooManyFiles
	}
	f, t, err := TakeUpload(c, in.Body, in.ContentType, UploadRule{MaxBytes: MaxAttachmentBytes, Kind: DocumentKind, Prefix: attachmentPrefix(w.ID), Target: w.ID})
	if err != nil {
		return AttachOut{}, err
	}
	if t != nil {
		return AttachOut{UploadURL: t.UploadURL, UploadID: t.UploadID, ExpiresAt: At(&t.ExpiresAt)}, nil
	}
	own := OwnFile{ID: f.ID, PersonID: w.PersonID, TargetID: w.ID, Key: f.Key, Name: f.Stored, ContentType: f.ContentType, Bytes: f.Size,
		SHA256: f.SHA256, At: c.Now}
	own.Keep(c)
	w.Files = append(w.Files, Attachment{f.Stored, f.ContentType, f.Size, f.SHA256})
	w.UpdatedAt = c.Now
	return AttachOut{Filename: f.Stored, SizeBytes: f.Size, ContentType: f.ContentType}, w.Save(c)
}

func attachmentPrefix(target string) string { return "attachments/" + target }

// FindFile looks an attachment up by its stored name; any other name finds nothing.
func (w *Want) FindFile(filename string) (a Attachment, key string, ok bool) {
	for _, f := range w.Files {
		if f.Filename == filename {
			return f, attachmentPrefix(w.ID) + "/" + stem(filename), true
		}
	}
	return a, "", false
}

// stem is a stored name without its ending.
func stem(filename string) string {
	for i := range len(filename) {
		if filename[i] == '.' {
			return filename[:i]
		}
	}
	return filename
}

// Limits of a served file (surface.md 7).
const (
	directBytes = 4 << 20         // larger ones are fetched from where they lie, where that is possible
	linkLife    = 5 * time.Minute // of such a link
)

// Download is the answer that hands a stored file out as an attachment.
type Download struct{ raw *op.Raw }

// Raw implements op.Rawer.
func (d Download) Raw() *op.Raw { return d.raw }

// Serve opens a stored file. Over 4 MB it answers with a link of five minutes where the
// store gives one.
func Serve(c *op.Call, key, filename, contentType string, size int64) (Download, error) {
	store := blob.From(c)
	if size > directBytes {
		link, err := store.SignGet(c, key, blob.Download{Filename: filename, ContentType: contentType, Expires: c.Now.Add(linkLife)})
		if err != nil {
			return Download{}, err
		}
		if link != "" {
			return Download{&op.Raw{Location: link}}, nil
		}
	}
	o, err := store.Get(c, key, blob.Range{})
	if err != nil {
		return Download{}, err
	}
	return Download{&op.Raw{ContentType: contentType, Filename: filename, Size: o.Size, Body: o.Body}}, nil
}
