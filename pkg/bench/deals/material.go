package deals

import (
	"encoding/json"
	"slices"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of what the person hands over (bench.md 13.8).
const (
	MaxStepFiles = 20 // files of one step
	// ServeAfterEnd is how long the agent can fetch released files after the deal ended.
	ServeAfterEnd = 14 * path.Day
)

// UploadNotice is what the person is told before the first file (rule 141).
const UploadNotice = "What you upload here is handed to the agent with your answer, and not before. From then on the agent has its own copy: " +
	"deleting a file stops us from serving it, but nobody can call it back. The agent may use it for this deal only."

// Laid is a file the person laid on a step. Whether it was released follows from the step.
type Laid struct {
	ID          string    `json:"id"`
	Step        int       `json:"step"` // number
	Key         string    `json:"key"`  // in the blob store
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Bytes       int64     `json:"size_bytes"`
	SHA256      string    `json:"sha256"`
	At          time.Time `json:"at"`
}

// Files are the files on all steps of a deal, oldest first: one row, so that every read of
// the deal has them at once. Deleted ones are not in it.
type Files struct {
	List []Laid `json:"list"`
}

// FilesKey is that row.
func FilesKey(deal string) table.Key { return child(deal, "FILES") }

// LoadFiles reads the files of a deal.
func LoadFiles(c *op.Call, deal string) (Files, error) {
	f, _, err := op.Load[Files](c, FilesKey(deal))
	return f, err
}

// Save stages the row.
func (f *Files) Save(c *op.Call, deal string) { c.Put(FilesKey(deal), f) }

// Of lists the files on a step.
func (f *Files) Of(step int) []Laid {
	out := []Laid{}
	for _, l := range f.List {
		if l.Step == step {
			out = append(out, l)
		}
	}
	return out
}

// Find returns a file; nil when the deal has none of this id.
func (f *Files) Find(id string) *Laid {
	for i := range f.List {
		if f.List[i].ID == id {
			return &f.List[i]
		}
	}
	return nil
}

// Remove takes a file out; ok is false when it is not there.
func (f *Files) Remove(id string) (ok bool) {
	n := len(f.List)
	f.List = slices.DeleteFunc(f.List, func(l Laid) bool { return l.ID == id })
	return len(f.List) < n
}

// TakesFiles tells whether a step asks the person for files: every PROVIDE step does, and
// any other with a block for files.
func TakesFiles(s *path.Step, planned *proposal.Step) bool {
	if planned == nil {
		return false
	}
	return s.Ask == proposal.Provide || slices.ContainsFunc(planned.HARBlocks, func(b proposal.Block) bool { return proposal.TakesFiles(b.Format) })
}

// ReleasedAt is when the files of a step were handed to the agent; zero when they were not.
// The person's own approval hands them over, silence never does (bench.md 12.6).
func ReleasedAt(s *path.Step) time.Time {
	if s == nil || s.State != path.Approved || s.Cause != path.ByPerson {
		return time.Time{}
	}
	return s.ApprovedAt
}

// Serves tells whether the agent can fetch a file now: released, the deal not over for
// longer than ServeAfterEnd, and the person still here. (An account with a live deal cannot
// be closed.)
func Serves(c *op.Call, d *path.Deal, l *Laid) (bool, error) {
	if ReleasedAt(d.Step(l.Step)).IsZero() {
		return false, nil
	}
	if d.EndedAt.IsZero() {
		return true, nil
	}
	if !c.Now.Before(d.EndedAt.Add(ServeAfterEnd)) {
		return false, nil
	}
	closed, err := account.Closed(c, d.PersonID)
	return !closed, err
}

// materials lists what the agent can fetch, oldest first.
func materials(c *op.Call, d *path.Deal) ([]Material, error) {
	files, err := LoadFiles(c, d.ID)
	out := []Material{}
	for i := range files.List {
		l := &files.List[i]
		served, err := Serves(c, d, l)
		if err != nil {
			return nil, err
		}
		if served {
			out = append(out, Material{FileID: l.ID, Filename: l.Name, ContentType: l.ContentType, SizeBytes: l.Bytes, SHA256: l.SHA256,
				ReleasedAt: record.Time(ReleasedAt(d.Step(l.Step))), DownloadURL: "/api/bench/deals/" + d.ID + "/materials/" + l.ID})
		}
	}
	return out, err
}

// StepFile is a file on a step as its person sees it.
type StepFile struct {
	FileID      string       `json:"file_id"`
	Filename    string       `json:"filename"`
	ContentType string       `json:"content_type"`
	SizeBytes   int64        `json:"size_bytes"`
	SHA256      string       `json:"sha256"`
	UploadedAt  record.Time  `json:"uploaded_at"`
	ReleasedAt  *record.Time `json:"released_at"`
}

func stepFiles(s *path.Step, files *Files) []StepFile {
	out := []StepFile{}
	for _, l := range files.Of(s.Number) {
		out = append(out, StepFile{l.ID, l.Name, l.ContentType, l.Bytes, l.SHA256, record.Time(l.At), record.At(ReleasedAt(s))})
	}
	return out
}

// named is a file as an answer names it.
type named struct {
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
}

// laidOnly keeps of an answer to a block for files those that lie on the step, under the
// names they were uploaded with; all tells whether none was left out.
func laidOnly(b proposal.Block, value json.RawMessage, laid []Laid) (kept json.RawMessage, all bool) {
	var list []named
	if !proposal.TakesFiles(b.Format) || json.Unmarshal(value, &list) != nil {
		return value, true
	}
	out := []named{}
	for _, f := range list {
		i := slices.IndexFunc(laid, func(l Laid) bool { return l.ID == f.FileID })
		if i >= 0 && !slices.ContainsFunc(out, func(o named) bool { return o.FileID == f.FileID }) {
			out = append(out, named{laid[i].ID, laid[i].Name})
		}
	}
	kept, err := json.Marshal(out)
	return kept, err == nil && len(out) == len(list)
}

// OwnStep reads a step of a deal of the calling person; another's does not exist.
func OwnStep(c *op.Call, in OfStep) (*path.Deal, *path.Step, error) {
	d, err := Seen(c, in.DealID)
	if err != nil {
		return nil, nil, err
	}
	s, err := stepOf(d, in.StepID, true)
	return d, s, err
}

// WithFiles are the rows of a call on the files of a deal.
func (in OfDeal) WithFiles() []table.Key { return in.with("", PlanKey, FilesKey) }

// WithDocument are the rows of a call on what is kept of an outcome.
func (in OfDeal) WithDocument(receipt string) []table.Key {
	return in.with("", func(deal string) table.Key { return DocKey(deal, receipt) })
}
