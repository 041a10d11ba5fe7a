package page_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

type keepIn struct {
	ContentType string    `header:"Content-Type"`
	Body        io.Reader `body:"stream"`
}

type keptFile struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

var keepFile = op.Declare(op.Meta{ID: "person.file.keep", Method: "POST", Path: "/api/person/keep", Auth: op.Person, Idempotent: op.KeyRequired,
	Summary: "Keep a file.", MaxBody: 1 << 20}, func(c *op.Call, in keepIn) (keptFile, error) {
	got, err := c.Once("file", func() (any, error) {
		_, p, err := mime.ParseMediaType(in.ContentType)
		if err != nil {
			return nil, err
		}
		part, err := multipart.NewReader(in.Body, p["boundary"]).NextPart()
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(part)
		return keptFile{part.FileName(), len(b)}, err
	})
	if err != nil {
		return keptFile{}, err
	}
	k := got.(keptFile)
	if k.Name == "bad.png" {
		return k, fault.InvalidField.Say("Not this one.")
	}
	c.Create(table.Key{PK: "person.KEPT#" + c.NewID(), SK: "ROOT"}, k)
	return k, nil
})

// filing is a world with one page that takes files of at most 1000 bytes.
func filing(t *testing.T) (w *world, kept *[]keptFile) {
	var o page.Options
	w, kept = newWorld(t, func(made *page.Options) { o = *made }), &[]keptFile{}
	find := o.Find
	o.Find = func(id string) *op.Operation {
		if id == keepFile.ID {
			return keepFile
		}
		return find(id)
	}
	get := func(*page.Visit) (*page.Answer, error) { return &page.Answer{View: "shelf"}, nil }
	w.h = page.Handler([]*page.Page{
		{ID: "shelf", Path: "/shelf", Auth: op.Person, Calls: []string{keepFile.ID}, MaxFile: 1000, Get: get, Forms: map[string]func(*page.Visit) (*page.Answer, error){
			"make": func(v *page.Visit) (*page.Answer, error) {
				if v.File == nil {
					return nil, fault.InvalidField.Say("Choose a file.")
				}
				var k keptFile
				err := v.Upload(keepFile.ID, page.Call{Into: &k})
				if err == nil {
					*kept = append(*kept, k)
				}
				return &page.Answer{To: "/shelf"}, err
			}}},
		{ID: "plain", Path: "/plain", Auth: op.Person, Get: get},
	}, o)
	return w, kept
}

// post sends a form with a file; the token stands before it, as on our pages.
func (w *world) post(path, token, name, content string) *httptest.ResponseRecorder {
	w.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	_ = m.WriteField("form", "make")
	_ = m.WriteField("token", token)
	p, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(p, content)
	}
	if err != nil || m.Close() != nil {
		w.t.Fatal(err)
	}
	return w.visit("POST", path, url.Values{}, func(r *http.Request) {
		r.Header.Set("Content-Type", m.FormDataContentType())
		r.Body, r.ContentLength = io.NopCloser(&b), int64(b.Len())
	})
}

func TestAFormCarriesAFileToAnOperation(t *testing.T) {
	w, kept := filing(t)
	token := w.shown(w.visit("GET", "/shelf", nil)).Token
	if r := w.post("/shelf", token, "Zoë \"at\" sea.png", "the bytes"); r.Code != 303 {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	rows := w.x.Store.Len()
	if r := w.post("/shelf", token, "Zoë \"at\" sea.png", "the bytes"); r.Code != 303 { // sent twice
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	if len(*kept) != 2 || (*kept)[0] != (keptFile{"Zoë \"at\" sea.png", 9}) || (*kept)[0] != (*kept)[1] || w.x.Store.Len() != rows {
		t.Errorf("%+v", *kept)
	}
	if r := w.post("/shelf", token, "a.png", "other bytes"); r.Code != 409 { // another file under one token
		t.Errorf("%d %s", r.Code, r.Body)
	}
}

func TestRefusalsOfAFormWithAFile(t *testing.T) {
	w, kept := filing(t)
	token := func() string { return w.shown(w.visit("GET", "/shelf", nil)).Token }
	for name, c := range map[string]struct {
		path, token, file, content string
		want                       int
	}{
		"no file was chosen":        {"/shelf", token(), "", "", 422},
		"the operation refuses":     {"/shelf", token(), "bad.png", "x", 422},
		"another page's token":      {"/shelf", "made.up", "a.png", "x", 403},
		"a page that takes none":    {"/plain", token(), "a.png", "x", 415},
		"more than the page's size": {"/shelf", token(), "a.png", strings.Repeat("a", 300<<10), 413},
	} {
		if r := w.post(c.path, c.token, c.file, c.content); r.Code != c.want {
			t.Errorf("%s: %d, want %d: %s", name, r.Code, c.want, r.Body)
		}
	}
	if len(*kept) != 0 {
		t.Errorf("%+v", *kept)
	}
}
