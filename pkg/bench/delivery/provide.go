package delivery

import (
	"io"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// MaxFile is the largest file that changes hands on a deal (bench.md 13.6, 13.8).
const MaxFile = 50 << 20 // bytes

// uploadTimeout leaves a slow connection time for a large file.
const uploadTimeout = 29 * time.Second

// Refusals of a file for a step.
var (
	NoFiles      = fault.New(fault.Conflict, "step_takes_no_files", "This step asks you for no files.")
	TooManyFiles = fault.New(fault.Conflict, "too_many_files", "A step takes 20 files. Delete one first, or pack several into a zip.")
)

// UploadIn is a file for a step, in either form of an upload.
type UploadIn struct {
	deals.OfStep
	ContentType string    `header:"Content-Type"`
	Body        io.Reader `body:"stream"`
}

// Rows implements op.Prefetcher.
func (in UploadIn) Rows(string) []table.Key { return in.WithFiles() }

// UploadOut is the stored file, or the ticket of an announced one. Notice says what handing
// over means (rule 141): whoever announces a file reads it before the bytes are sent, and
// the step says it before that.
type UploadOut struct {
	FileID    string `json:"file_id,omitempty"`
	Filename  string `json:"filename,omitempty"`
	SizeBytes int64  `json:"size_bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	ticket
	Notice string `json:"notice"`
}

// Upload lays a file of the person on a step that waits for them. The agent sees nothing of
// it before the step is approved (bench.md 13.8).
var Upload = op.Declare(op.Meta{
	ID: "person.step.upload", Method: "POST", Path: "/api/person/deals/{deal_id}/steps/{step_id}/files", Status: 201, OrStatus: 200,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Touches: op.Blobs, MaxBody: MaxFile + wants.MultipartOverhead,
	Timeout: uploadTimeout, Summary: "Lay a file on a step; your approval hands it over.",
	Notes:    "Either the file as multipart/form-data, or JSON {filename, content_type, size_bytes, sha256} for an upload address, and later {upload_id}.",
	Faults:   append([]string{"step_not_waiting", NoFiles.Code, TooManyFiles.Code, wants.OverBudget.Code}, wants.UploadFaults...),
	Contract: "surface.md 3, 7, bench.md 13.8",
}, upload)

func upload(c *op.Call, in UploadIn) (UploadOut, error) {
	d, s, err := deals.OwnStep(c, in.OfStep)
	if err != nil {
		return UploadOut{}, err
	}
	plan, err := deals.LoadPlan(c, d.ID)
	if err != nil {
		return UploadOut{}, err
	}
	files, err := deals.LoadFiles(c, d.ID)
	if err != nil {
		return UploadOut{}, err
	}
	switch {
	case d.Open() != s || s.State != path.Waiting:
		return UploadOut{}, path.NotWaiting
	case !deals.TakesFiles(s, plan.Of(s)):
		return UploadOut{}, NoFiles
	case len(files.Of(s.Number)) >= deals.MaxStepFiles:
		return UploadOut{}, TooManyFiles
	}
	f, t, err := wants.TakeUpload(c, in.Body, in.ContentType,
		wants.UploadRule{MaxBytes: MaxFile, Handed: true, Prefix: "materials/" + d.ID + "/" + s.ID, Target: d.TargetID})
	if err != nil {
		return UploadOut{}, err
	}
	c.Check(deals.Key(d.ID)) // an answer that comes first takes no more files
	if t != nil {
		return UploadOut{ticket: ticketOf(t), Notice: deals.UploadNotice}, nil
	}
	own := wants.OwnFile{ID: f.ID, PersonID: d.PersonID, TargetID: d.TargetID, DealID: d.ID, Step: s.Number, Key: f.Key, Name: f.Name,
		ContentType: f.ContentType, Bytes: f.Size, SHA256: f.SHA256, At: c.Now}
	own.Keep(c)
	files.List = append(files.List, deals.Laid{ID: f.ID, Step: s.Number, Key: f.Key, Name: f.Name, ContentType: f.ContentType, Bytes: f.Size,
		SHA256: f.SHA256, At: c.Now})
	files.Save(c, d.ID)
	return UploadOut{FileID: f.ID, Filename: f.Name, SizeBytes: f.Size, SHA256: f.SHA256, Notice: deals.UploadNotice}, nil
}
