package story

import (
	"bytes"
	"io"
	"mime/multipart"
	"strings"
)

// upload is a body that is no JSON: bytes as they are, or a form with a file.
type upload struct {
	kind  string // media type, "" when the body is JSON
	bytes string
	form  bytes.Buffer
	parts *multipart.Writer
}

// take reads a line that says what is sent; false for any other line.
func (u *upload) take(line string, fill func(string) string) bool {
	word, rest, _ := strings.Cut(line, " ")
	name, content, ok := strings.Cut(rest, ` "`)
	if !ok || strings.Contains(name, " ") || name == "is" || name == "contains" { // a check of a member called so
		return false
	}
	name, content = fill(name), fill(unquote(`"`+content))
	switch word {
	case "raw":
		u.kind, u.bytes = name, content
		return true
	case "file", "field":
		u.part(word == "file", name, content)
		return true
	}
	return false
}

func (u *upload) part(file bool, name, content string) {
	if u.parts == nil {
		u.parts = multipart.NewWriter(&u.form)
		u.kind = u.parts.FormDataContentType()
	}
	create := u.parts.CreateFormField
	if file {
		create = func(name string) (io.Writer, error) { return u.parts.CreateFormFile("file", name) }
	}
	if w, err := create(name); err == nil {
		_, _ = w.Write([]byte(content)) // into memory
	}
}

// body is what is sent.
func (u *upload) body() string {
	if u.parts == nil {
		return u.bytes
	}
	_ = u.parts.Close() // in memory
	return u.form.String()
}
