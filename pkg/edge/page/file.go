package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"guildhall/pkg/op"
)

// File is the file a form was sent with. It is read once, while the form is acted on.
type File struct {
	Name string
	body io.Reader
}

// multipartRoom is what a form with a file may add to it: fields, delimiters, headers.
const multipartRoom = maxBody

// readFile reads a form with a file (enctype multipart/form-data) up to its file, which is
// the form's last field. File is nil where none was chosen.
func (p *Page) readFile(w http.ResponseWriter, r *http.Request, boundary string) (url.Values, *File, error) {
	if p.MaxFile == 0 || boundary == "" {
		return nil, nil, errType
	}
	parts := multipart.NewReader(http.MaxBytesReader(w, r.Body, p.MaxFile+multipartRoom), boundary)
	fields, left := url.Values{}, int64(maxBody)
	for range maxFields {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			v, err := parse(fields.Encode())
			return v, nil, err
		case err != nil:
			return nil, nil, errForm
		case part.FormName() == FieldFile && part.FileName() != "":
			v, err := parse(fields.Encode())
			return v, &File{Name: browserQuotes.Replace(part.FileName()), body: limited{part}}, err
		}
		b, err := io.ReadAll(io.LimitReader(part, left+1))
		if left -= int64(len(b)); err != nil || left < 0 {
			return nil, nil, errLarge
		}
		fields.Add(part.FormName(), string(b))
	}
	return nil, nil, errLarge
}

// browserQuotes undoes what browsers do to a quotation mark in a file's name; line ends,
// which they write alike, no name needs.
var browserQuotes = strings.NewReplacer("%22", `"`)

// limited words the end of a body that is longer than the page takes.
type limited struct{ io.Reader }

// Read implements io.Reader.
func (l limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		err = errLarge
	}
	return n, err
}

// drain reads what is left of a file that nobody wanted: a browser shows no answer before it
// has sent everything.
func (f *File) drain() {
	if f != nil {
		_, _ = io.Copy(io.Discard, f.body)
	}
}

// Upload calls an operation with the form's file, as the visitor. A refusal comes back as a
// *fault.Fault.
func (v *Visit) Upload(id string, c Call) error {
	o, err := v.operation(id)
	if err != nil {
		return err
	}
	if v.File == nil {
		return fmt.Errorf("page: %s was sent without a file", id)
	}
	boundary := "guildhall-" + v.h.NewID()
	head := "--" + boundary + "\r\nContent-Disposition: " +
		mime.FormatMediaType("form-data", map[string]string{"name": FieldFile, "filename": v.File.Name}) + "\r\n\r\n"
	kind := "multipart/form-data; boundary=" + boundary
	v.writes++
	res := v.h.Caller.Do(v, o, &op.Request{ID: v.RequestID, Transport: "page", Path: c.Path, Query: c.Query, ContentType: kind, Token: v.session,
		Address: v.address, Key: v.nonce + "." + v.Sent + "." + strconv.Itoa(v.writes),
		Header: func(name string) string {
			if name == "Content-Type" {
				return kind
			}
			return v.agent(name)
		},
		Stream: io.MultiReader(strings.NewReader(head), v.File.body, strings.NewReader("\r\n--"+boundary+"--\r\n"))})
	if res.Fault != nil {
		return res.Fault
	}
	if c.Into == nil {
		return nil
	}
	if err := json.Unmarshal(res.Body, c.Into); err != nil {
		return fmt.Errorf("page: the answer of %s: %w", id, err)
	}
	return nil
}
