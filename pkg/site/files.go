package site

import (
	"net/url"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/op"
)

// upload is a file of the person, beside a want or on a step of a deal (person.file.list).
type upload struct {
	FileID     string     `json:"file_id"`
	Filename   string     `json:"filename"`
	Bytes      int64      `json:"size_bytes"`
	UploadedAt time.Time  `json:"uploaded_at"`
	TargetID   string     `json:"target_id"`
	DealID     *string    `json:"deal_id"`
	StepID     *string    `json:"step_id"`
	ReleasedAt *time.Time `json:"released_at"`
}

// Download is where the person gets the file back.
func (u upload) Download() string { return "/api/person/files/" + url.PathEscape(u.FileID) }

// Place is the page of what the file belongs to.
func (u upload) Place() string {
	if u.DealID != nil && u.StepID != nil {
		return "/deals/" + url.PathEscape(*u.DealID) + "/steps/" + url.PathEscape(*u.StepID)
	}
	return "/wants/" + url.PathEscape(u.TargetID)
}

// filePages: everything the person uploaded.
func (s *site) filePages() []*page.Page {
	return []*page.Page{{ID: "file.list", Path: "/files", Auth: op.Person, Calls: []string{"person.file.list", "person.file.delete"},
		Get: filesPage, Forms: forms{"remove": deleteFile}}}
}

func filesPage(v *page.Visit) (*page.Answer, error) {
	var out struct {
		Files []upload `json:"files"`
		Next  *string  `json:"next_cursor"`
	}
	q := url.Values{}
	if after := v.Query.Get("after"); after != "" {
		q.Set("after", after)
	}
	if err := v.Do("person.file.list", page.Call{Query: q, Into: &out}); err != nil {
		return nil, err
	}
	return &page.Answer{View: "files", Title: "Your files", Data: out}, nil
}
