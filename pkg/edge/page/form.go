package page

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"guildhall/pkg/fault"
)

// Fields every form carries.
const (
	FieldForm  = "form"  // its name
	FieldToken = "token" // what Visit.Token gave it
	FieldFile  = "file"  // the file, in forms that take one: the last field
)

// Refusals of a form itself.
var (
	errOrigin = fault.New(fault.Forbidden, "cross_origin", "This form came from another website, so nothing was done.")
	errStale  = fault.New(fault.Forbidden, "form_stale", "This page was open for too long, or you have signed in anew since. Nothing was done yet: please check what you typed and send it again.")
	errType   = fault.New(fault.MediaType, "unsupported_media_type", "This page takes a form as browsers send it, and nothing else.")
	errForm   = fault.New(fault.BadRequest, "form_unreadable", "The form could not be read. Nothing was done.")
	errNoForm = fault.New(fault.BadRequest, "form_unknown", "This page has no such form. Nothing was done.")
	errLarge  = fault.BodyTooLarge.Say("You sent more than this page takes. Nothing was done.")
)

const tokenPurpose = "form"

// sign makes the token of one form: a number used once, and a code that only this session
// on this page can have.
func (h *handler) sign(session, path, form, nonce string) string {
	return nonce + "." + h.Keys.MAC(tokenPurpose, session+"\n"+path+"\n"+form+"\n"+nonce)
}

// verify returns the number in a token of this session, page and form.
func (h *handler) verify(session, path, form, token string) (nonce string, ok bool) {
	nonce, code, found := strings.Cut(token, ".")
	if !found || nonce == "" || strings.Contains(nonce, "\n") {
		return "", false
	}
	return nonce, h.Keys.Verify(tokenPurpose, session+"\n"+path+"\n"+form+"\n"+nonce, code)
}

// readForm reads a sent form within its limits.
func (p *Page) readForm(w http.ResponseWriter, r *http.Request) (url.Values, *File, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "multipart/form-data":
		return p.readFile(w, r, params["boundary"])
	case err != nil || kind != "application/x-www-form-urlencoded":
		return nil, nil, errType
	}
	v, err := readFields(w, r)
	return v, nil, err
}

func readFields(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errLarge
	case err != nil:
		return nil, errForm
	}
	return parse(string(body))
}

func parse(encoded string) (url.Values, error) {
	v, err := url.ParseQuery(encoded)
	if err != nil {
		return nil, errForm
	}
	n := 0
	for name, values := range v {
		n += len(values)
		for _, s := range append(values, name) {
			if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				return nil, errForm
			}
		}
	}
	if n > maxFields {
		return nil, errLarge
	}
	return v, nil
}
