package site

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
)

// maxFile is the largest file the step page takes, in bytes: what the operation takes.
const maxFile = 50 << 20

// maxAttachment is the largest file a want takes, in bytes, and mostAttachments how many.
const (
	maxAttachment   = 20 << 20
	mostAttachments = 5
)

// attachment is a file beside a want: agents read it, under a name of ours.
type attachment struct {
	Filename string `json:"filename"`
	Bytes    int64  `json:"size_bytes"`
}

// FileID is the id behind the name.
func (a attachment) FileID() string { id, _, _ := strings.Cut(a.Filename, "."); return id }

// Download is where the person gets the file back.
func (a attachment) Download() string { return upload{FileID: a.FileID()}.Download() }

// Attaches tells whether the want takes another file.
func (w want) Attaches() bool { return w.Editable && len(w.Attachments) < mostAttachments }

// attachFile puts a file beside a want.
func attachFile(v *page.Visit) (*page.Answer, error) {
	if v.File == nil {
		return nil, noFileChosen
	}
	err := v.Upload("person.want.attach", page.Call{Path: map[string]string{"target_id": v.Path["id"]}})
	return &page.Answer{To: v.At + "?said=attached#files"}, err
}

// stepFile is a file the person uploaded on a step.
type stepFile struct {
	FileID     string     `json:"file_id"`
	Filename   string     `json:"filename"`
	Bytes      int64      `json:"size_bytes"`
	UploadedAt time.Time  `json:"uploaded_at"`
	ReleasedAt *time.Time `json:"released_at"`
}

// named is a file as the answer to a block names it.
type named struct {
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
}

// chosen are the files that are saved as the answer to a block and still there.
func (s *step) chosen(number int) []named {
	out := []named{}
	for _, r := range s.Saved {
		var list []named
		if r.Number != number || json.Unmarshal(r.Value, &list) != nil {
			continue
		}
		for _, f := range list {
			if slices.ContainsFunc(s.Files, func(g stepFile) bool { return g.FileID == f.FileID }) {
				out = append(out, f)
			}
		}
	}
	return out
}

// shelf is a place for files on a step: one for each part that asks for some, or one for
// the step.
type shelf struct {
	Number int // of the block; 0 for the step
	Title  string
}

// Shelves are the places for files on the step, none while it takes no file.
func (s stepView) Shelves() []shelf {
	if s.Step.Notice == nil {
		return nil
	}
	out := []shelf{}
	for _, b := range s.Step.Blocks {
		if b.control() == controlFiles {
			out = append(out, shelf{b.Number, b.Title})
		}
	}
	if len(out) == 0 {
		out = append(out, shelf{0, "Add a file"})
	}
	return out
}

var noFileChosen = fault.New(fault.Invalid, "file_missing", "Choose a file first.").At("file")

// uploadFile lays a file on the step and, where a part asked for it, makes it the answer.
func uploadFile(v *page.Visit) (*page.Answer, error) {
	if v.File == nil {
		return nil, noFileChosen
	}
	s, err := readStep(v)
	if err != nil {
		return nil, err
	}
	var file named
	if err := v.Upload("person.step.upload", page.Call{Path: onStep(v), Into: &file}); err != nil {
		return nil, err
	}
	n := number(v.Form.Get("block"))
	if i := slices.IndexFunc(s.Blocks, func(b block) bool { return b.Number == n }); i >= 0 && s.Blocks[i].control() == controlFiles {
		list := s.chosen(n)
		if !slices.Contains(list, file) { // a button pressed twice finds it there
			list = append(list, file)
		}
		err = v.Do("person.step.save-draft", page.Call{Path: onStep(v), Body: map[string]any{"responses": []answer{{n, list}}}})
	}
	return &page.Answer{To: v.At + "?said=uploaded#files"}, err
}

// deleteFile takes an upload away again.
func deleteFile(v *page.Visit) (*page.Answer, error) {
	err := v.Do("person.file.delete", page.Call{Path: map[string]string{"file_id": v.Form.Get("file_id")}})
	return &page.Answer{To: v.At + "?said=removed#files"}, err
}
