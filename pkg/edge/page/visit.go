package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Visit is one request to a page.
type Visit struct {
	context.Context
	Page  *Page             // nil where no page has the address
	At    string            // the path as it was asked for
	Path  map[string]string // its values
	Query url.Values
	// Form is what was typed, nil on a GET; Sent the name of the form.
	Form url.Values
	Sent string
	// File came with the form; nil where none was chosen.
	File *File
	// Refused says why the form was not accepted: the page is shown again with it.
	Refused *fault.Fault
	// RequestID names the visit in the log.
	RequestID string
	// Memo is the site's, for the length of the visit.
	Memo any

	h       *handler
	session string // cookie value, not verified
	nonce   string // of the form that was sent
	writes  int    // calls made under it
	address string
	agent   func(string) string // request headers
	cookies []string
}

// HasSession tells whether the visitor sent a session cookie. It may be an old one: only a
// call tells.
func (v *Visit) HasSession() bool { return v.session != "" }

// Cookie reads another cookie of the visitor; "" without it.
func (v *Visit) Cookie(name string) string { return cookieOf(v.agent("Cookie"), name) }

// Token is what the "token" field of a form on this page must hold.
func (v *Visit) Token(form string) string { return v.TokenFor(v.At, form) }

// TokenFor is the token of a form that is sent to another page.
func (v *Visit) TokenFor(path, form string) string {
	return v.h.sign(v.session, path, form, v.h.NewID())
}

// Call is a call of an operation.
type Call struct {
	Path  map[string]string
	Query url.Values
	Body  any // encoded as JSON; nil for none
	Into  any // the answer is decoded into it; nil to leave it
}

// Do calls an operation as the visitor. A refusal comes back as a *fault.Fault.
func (v *Visit) Do(id string, c Call) error {
	o, err := v.operation(id)
	if err != nil {
		return err
	}
	req := &op.Request{ID: v.RequestID, Transport: "page", Path: c.Path, Query: c.Query, Header: v.agent,
		ContentType: "application/json", Token: v.session, Address: v.address}
	if c.Body != nil {
		if req.Body, err = json.Marshal(c.Body); err != nil {
			return fmt.Errorf("page: %s: %w", id, err)
		}
	}
	if !o.Reads() {
		v.writes++
		req.Key = v.nonce + "." + v.Sent + "." + strconv.Itoa(v.writes)
	}
	res := v.h.Caller.Do(v, o, req)
	if res.Fault != nil {
		return res.Fault
	}
	if s := res.Header["Set-Cookie"]; s != "" {
		v.cookies = append(v.cookies, s)
	}
	if c.Into == nil || len(res.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(res.Body, c.Into); err != nil {
		return fmt.Errorf("page: the answer of %s: %w", id, err)
	}
	return nil
}

// operation finds an operation that the page declared. What only the frame of every page
// needs is found too: reads without a declaration are refused like the rest.
func (v *Visit) operation(id string) (*op.Operation, error) {
	o := v.h.Find(id)
	switch {
	case o == nil:
		return nil, fmt.Errorf("page: there is no operation %s", id)
	case !v.declares(id):
		return nil, fmt.Errorf("page: %s was not declared", id)
	case !o.Reads() && v.nonce == "":
		return nil, fmt.Errorf("page: %s changes something, and no form was sent", id)
	}
	return o, nil
}

// frame is what the frame around every page may call.
const frame = "person.profile.read"

func (v *Visit) declares(id string) bool {
	if id == frame {
		return true
	}
	if v.Page == nil {
		return false
	}
	for _, c := range v.Page.Calls {
		if c == id {
			return true
		}
	}
	return false
}
