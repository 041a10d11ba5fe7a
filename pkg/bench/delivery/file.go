package delivery

import (
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// DefaultFiles is the length of a page of files where the caller names none.
const DefaultFiles = 50

// FilesIn pages through the person's uploads.
type FilesIn struct {
	After string `query:"after"`
	Limit int    `query:"limit" rule:"min=1,max=100"`
}

// FileLine is an upload of the person: an attachment of a want, or a file on a step.
type FileLine struct {
	FileID      string       `json:"file_id"`
	Filename    string       `json:"filename"`
	ContentType string       `json:"content_type"`
	SizeBytes   int64        `json:"size_bytes"`
	SHA256      string       `json:"sha256"`
	UploadedAt  record.Time  `json:"uploaded_at"`
	TargetID    string       `json:"target_id"`
	DealID      *string      `json:"deal_id"`
	StepID      *string      `json:"step_id"`
	StepNumber  *int         `json:"step_number"`
	ReleasedAt  *record.Time `json:"released_at"`
}

// FilesOut is a page of uploads, newest first.
type FilesOut struct {
	Files      []FileLine `json:"files"`
	NextCursor *string    `json:"next_cursor"`
}

// Files lists what the person uploaded and did not delete, over all wants and deals.
var Files = op.Declare(op.Meta{
	ID: "person.file.list", Method: "GET", Path: "/api/person/files", Auth: op.Person, Summary: "List your uploads, newest first.",
	Faults: []string{"cursor_invalid"}, Contract: "surface.md 3, bench.md 22.1",
}, listFiles)

func listFiles(c *op.Call, in FilesIn) (FilesOut, error) {
	q := table.Query{PK: "bench.PERSON#" + c.Caller.ID, Reverse: true, Limit: DefaultFiles}.Prefix(wants.FilePrefix)
	if in.Limit > 0 {
		q.Limit = in.Limit
	}
	name := "person.files:" + c.Caller.ID
	if in.After != "" && !c.ReadCursor(name, in.After, &q.After) {
		return FilesOut{}, wants.CursorInvalid
	}
	p, err := c.Query(q)
	if err != nil {
		return FilesOut{}, err
	}
	refs, keys := make([]wants.FileRef, len(p.Rows)), []table.Key{}
	for i, r := range p.Rows {
		if err := op.Decode(r.Data, &refs[i]); err != nil {
			return FilesOut{}, err
		}
		keys = append(keys, wants.FileKey(refs[i].FileID))
		if refs[i].DealID != "" {
			keys = append(keys, deals.Key(refs[i].DealID))
		}
	}
	if err := c.Fetch(keys...); err != nil {
		return FilesOut{}, err
	}
	out := FilesOut{Files: []FileLine{}}
	for _, r := range refs {
		f, found, err := op.Load[wants.OwnFile](c, wants.FileKey(r.FileID))
		if err != nil {
			return FilesOut{}, err
		}
		if !found || !f.DeletedAt.IsZero() {
			continue
		}
		line, err := fileLine(c, &f)
		if err != nil {
			return FilesOut{}, err
		}
		out.Files = append(out.Files, line)
	}
	if p.More {
		next := c.Cursor(name, p.Rows[len(p.Rows)-1].SK)
		out.NextCursor = &next
	}
	return out, nil
}

func fileLine(c *op.Call, f *wants.OwnFile) (FileLine, error) {
	l := FileLine{FileID: f.ID, Filename: f.Name, ContentType: f.ContentType, SizeBytes: f.Bytes, SHA256: f.SHA256,
		UploadedAt: record.Time(f.At), TargetID: f.TargetID}
	if f.DealID == "" {
		return l, nil
	}
	d, found, err := deals.Load(c, f.DealID)
	if err != nil || !found {
		return l, err
	}
	l.DealID, l.StepNumber = &f.DealID, &f.Step
	if s := d.Step(f.Step); s != nil {
		l.StepID, l.ReleasedAt = &s.ID, record.At(deals.ReleasedAt(s))
	}
	return l, nil
}

// DeleteOut says since when the file is gone.
type DeleteOut struct {
	FileID    string      `json:"file_id"`
	DeletedAt record.Time `json:"deleted_at"`
}

// OwnIn names an upload of the person.
type OwnIn struct {
	FileID string `path:"file_id" doc:"Id of the file."`
}

// Rows implements op.Prefetcher.
func (in OwnIn) Rows(string) []table.Key {
	if !id.Valid(in.FileID) {
		return nil
	}
	return []table.Key{wants.FileKey(in.FileID)}
}

// ownFile reads an upload of the calling person; another's does not exist.
func ownFile(c *op.Call, file string) (f wants.OwnFile, err error) {
	if !id.Valid(file) {
		return f, fault.BareNotFound
	}
	f, found, err := op.Load[wants.OwnFile](c, wants.FileKey(file))
	if err == nil && (!found || f.PersonID != c.Caller.ID) {
		err = fault.BareNotFound
	}
	return f, err
}

// Own gives a person an upload back.
var Own = op.Declare(op.Meta{
	ID: "person.file.read", Method: "GET", Path: "/api/person/files/{file_id}", Auth: op.Person, Touches: op.Blobs, Timeout: uploadTimeout,
	Summary: "Download one of your uploads.", Contract: "bench.md 22.1, surface.md 7",
}, func(c *op.Call, in OwnIn) (wants.Download, error) {
	f, err := ownFile(c, in.FileID)
	if err != nil || !f.DeletedAt.IsZero() {
		return wants.Download{}, orNotFound(err)
	}
	return serve(c, f.Key, f.Name, f.ContentType, f.Bytes)
})

// Delete takes an upload of the person away: from this commit on nobody is served it, and a
// job removes the bytes. An agent that was handed it keeps its own copy (rule 141). The room
// comes back to the want's budget unless the file was handed over.
var Delete = op.Declare(op.Meta{
	ID: "person.file.delete", Method: "DELETE", Path: "/api/person/files/{file_id}", Destructive: true, Auth: op.Person,
	Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Delete an upload: it is served to nobody any more.",
	Contract: "surface.md 3, bench.md 13.8, 22.1",
}, deleteFile)

func deleteFile(c *op.Call, in OwnIn) (DeleteOut, error) {
	f, err := ownFile(c, in.FileID)
	if err != nil {
		return DeleteOut{}, err
	}
	if f.DeletedAt.IsZero() {
		if err := takeAway(c, &f); err != nil {
			return DeleteOut{}, err
		}
	}
	return DeleteOut{f.ID, record.Time(f.DeletedAt)}, nil
}

// takeAway stages everything that follows from a deletion.
func takeAway(c *op.Call, f *wants.OwnFile) error {
	handed, err := unlay(c, f)
	if err != nil {
		return err
	}
	if !handed {
		if err := wants.GiveBack(c, f.TargetID, f.Bytes); err != nil {
			return err
		}
	}
	f.DeletedAt = c.Now
	c.Put(wants.FileKey(f.ID), f)
	c.Delete(f.ListKey())
	wants.Remove(c, f.ID, f.Key)
	return nil
}

// unlay takes a file off its want or off its step, and tells whether it had been handed over.
func unlay(c *op.Call, f *wants.OwnFile) (handed bool, err error) {
	if f.DealID == "" {
		if err := c.Fetch(wants.Key(f.TargetID), wants.BriefKey(f.TargetID), wants.BudgetKey(f.TargetID), f.ListKey()); err != nil {
			return false, err
		}
		w, err := wants.Own(c, f.PersonID, f.TargetID)
		if err != nil || !w.Detach(f.ID) {
			return false, err
		}
		w.UpdatedAt = c.Now
		return false, w.Save(c)
	}
	if err := c.Fetch(deals.Key(f.DealID), deals.FilesKey(f.DealID), wants.BudgetKey(f.TargetID), f.ListKey()); err != nil {
		return false, err
	}
	files, err := deals.LoadFiles(c, f.DealID)
	if err != nil {
		return false, err
	}
	d, found, err := deals.Load(c, f.DealID)
	if err != nil || !found {
		return false, err
	}
	if files.Remove(f.ID) {
		files.Save(c, f.DealID)
	}
	c.Check(deals.Key(f.DealID)) // an approval that comes first hands the file over
	return !deals.ReleasedAt(d.Step(f.Step)).IsZero(), nil
}
