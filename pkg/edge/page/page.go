// Package page serves declared pages over HTTP: addresses that people open in a browser,
// and forms they send from them.
//
// A page calls the operations of the exchange in this process, the very ones the API
// serves, and nothing else. It works without JavaScript. A GET changes nothing: what
// changes something is a form, sent from our own page, with a token that only this session
// and this page can have; the token is also the Idempotency-Key of what the form does, so
// that a form sent twice has one effect. How pages look is the caller's (Options.Render).
package page

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"guildhall/pkg/account"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
)

// Page is one address of the site and what can be done there.
type Page struct {
	// ID is "<noun>.<what>", unique among pages; it stands in the log.
	ID string
	// Path is the address with {names}, each one part between slashes.
	Path string
	// Auth is op.Person for pages of a signed-in person, op.Public for everybody's. No
	// other caller opens pages.
	Auth op.Auth
	// Calls are the ids of the operations the page calls; others are refused. What a
	// page's function needs on AWS is the union of theirs.
	Calls []string
	// Get shows the page. After a form was refused it shows it again: Visit.Refused says
	// why, Visit.Form what was typed.
	Get func(*Visit) (*Answer, error)
	// Forms are what the page's forms do, by the name in their "form" field. An answer
	// that is not a redirect is shown in place of the page.
	Forms map[string]func(*Visit) (*Answer, error)
	// MaxFile is how many bytes the file of a form on this page may have; zero where no form
	// has one.
	MaxFile int64
}

// Answer is what a visit ends with: a view to show or, with To, an address to go to.
type Answer struct {
	Status int    // 200 when zero
	View   string // name of the view, for Options.Render
	Title  string // of the document
	Data   any
	To     string // path on this site; the visitor is sent there with 303
	// Cookies are Set-Cookie values beyond those of the operations.
	Cookies []string
}

// Caller runs an operation in this process; *op.Engine is one.
type Caller interface {
	Do(ctx context.Context, o *op.Operation, r *op.Request) *op.Response
}

// Options configure a handler.
type Options struct {
	Caller Caller
	// Find returns an operation by its id, nil for none.
	Find func(id string) *op.Operation
	// BaseURL is the public address: it decides the session cookie's name and is the origin
	// whose forms are taken.
	BaseURL string
	// Keys sign forms.
	Keys id.Keyring
	// NewID makes UUIDs: request ids, where the server in front gave none, and form tokens.
	NewID func() string
	// Render writes an answer's view. It is called with everything decided: an error here is
	// a broken view, and the visitor gets Plain instead.
	Render func(w io.Writer, v *Visit, a *Answer) error
	// Trouble is the answer to a refusal that no page shows itself.
	Trouble func(v *Visit, f *fault.Fault) *Answer
	// Plain is sent when even a view fails.
	Plain string
	// Log takes what went wrong; nil logs nothing.
	Log *slog.Logger
}

// Limits of a page.
const (
	maxBody   = 256 << 10 // bytes of a form
	maxFields = 500       // fields of a form
	maxNested = 24        // parts of a path
	maxPart   = 300       // bytes of one part of a path
)

type handler struct {
	Options
	pages   []*Page
	cookie  string
	origins *http.CrossOriginProtection
}

// Handler serves pages. It panics on a declaration that cannot be served: two pages with
// one address, an operation nobody has.
func Handler(pages []*Page, o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{Options: o, pages: pages, cookie: account.CookieName(o.BaseURL), origins: http.NewCrossOriginProtection()}
	if u, err := url.Parse(o.BaseURL); err == nil && u.Scheme != "" && u.Host != "" {
		if err := h.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			panic("page: base URL: " + err.Error())
		}
	}
	for i, p := range pages {
		if err := p.check(o.Find); err != nil {
			panic("page: " + err.Error())
		}
		twice := func(q *Page) bool { return q.ID == p.ID || shape(q.Path) == shape(p.Path) }
		if slices.ContainsFunc(pages[:i], twice) {
			panic("page: " + p.ID + " is declared twice, or its address is")
		}
	}
	return h
}

func (p *Page) check(find func(string) *op.Operation) error {
	if p.ID == "" || p.Path == "" || p.Path[0] != '/' || p.Get == nil || p.Auth != op.Public && p.Auth != op.Person {
		return fmt.Errorf("incomplete declaration %q %q", p.ID, p.Path)
	}
	for _, c := range p.Calls {
		if find(c) == nil {
			return fmt.Errorf("%s calls %s, which is no operation", p.ID, c)
		}
	}
	return nil
}
