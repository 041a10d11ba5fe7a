package wants

import (
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// OwnFile is something a person uploaded: an attachment of a want, or a file laid on a step
// of a deal. It is how the person finds and deletes it; what agents read of it stands with
// the want and with the deal.
type OwnFile struct {
	ID          string    `json:"id"`
	PersonID    string    `json:"person_id"`
	TargetID    string    `json:"target_id"`
	DealID      string    `json:"deal_id,omitempty"` // "" for an attachment
	Step        int       `json:"step,omitempty"`    // number
	Key         string    `json:"key"`               // in the blob store
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Bytes       int64     `json:"size_bytes"`
	SHA256      string    `json:"sha256"`
	At          time.Time `json:"at"`
	DeletedAt   time.Time `json:"deleted_at,omitzero"`
}

// FileKey is the row of a person's file; it stays when the file is deleted.
func FileKey(id string) table.Key { return table.Key{PK: "bench.FILE#" + id, SK: "ROOT"} }

// FilePrefix begins the rows of a person's files in their own list.
const FilePrefix = "FILE#"

// ListKey is the file's row in its person's list.
func (f *OwnFile) ListKey() table.Key {
	return table.Key{PK: "bench.PERSON#" + f.PersonID, SK: FilePrefix + clock.Stamp(f.At) + "#" + f.ID}
}

// FileRef is such a row.
type FileRef struct {
	FileID string `json:"file_id"`
	DealID string `json:"deal_id,omitempty"`
}

// Keep stages a new file of a person.
func (f *OwnFile) Keep(c *op.Call) {
	c.Create(FileKey(f.ID), f)
	c.Create(f.ListKey(), FileRef{f.ID, f.DealID})
}

// Detach takes an attachment off a want; ok is false when the want has none of this id. The
// caller saves the want.
func (w *Want) Detach(file string) (ok bool) {
	kept := make([]Attachment, 0, len(w.Files))
	for _, a := range w.Files {
		if stem(a.Filename) != file {
			kept = append(kept, a)
		}
	}
	ok = len(kept) < len(w.Files)
	w.Files = kept
	return ok
}
