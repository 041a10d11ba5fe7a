package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"

	"guildhall/pkg/account"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// SignIn is the address a visitor without a session is sent to; its "next" value is where
// to go afterwards.
const SignIn = "/sign-in"

// ServeHTTP always answers with a page or a redirect.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := h.visit(w, r)
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD, POST")
		h.write(w, r, v, h.trouble(v, fault.WrongMethod.Say("This address shows a page and takes its forms.")))
		return
	}
	h.write(w, r, v, h.serve(w, r, v))
}

func (h *handler) visit(w http.ResponseWriter, r *http.Request) *Visit {
	v := &Visit{Context: r.Context(), At: r.URL.EscapedPath(), h: h, address: rest.Address(r.RemoteAddr),
		RequestID: w.Header().Get("X-Request-Id")}
	v.agent = func(name string) string {
		if name == "Cookie" {
			return strings.Join(r.Header.Values(name), "; ")
		}
		return strings.ToValidUTF8(strings.Join(r.Header.Values(name), ","), "\ufffd")
	}
	if v.RequestID == "" {
		v.RequestID = h.NewID()
	}
	v.session = cookieOf(v.agent("Cookie"), h.cookie)
	v.Page, v.Path = h.find(v.At)
	return v
}

// cookieOf reads one cookie of a Cookie header.
func cookieOf(header, name string) string {
	cookies, err := http.ParseCookie(header)
	if err != nil {
		return ""
	}
	for _, c := range cookies {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// serve finds out what to answer. A panic of a page becomes an answer too.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, v *Visit) (a *Answer) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.log(v, "panic", fmt.Sprint(p), slog.String("stack", string(debug.Stack())))
			a = h.Trouble(v, fault.Wrap(errors.New("panic")))
		}
	}()
	if v.Page == nil {
		return h.trouble(v, fault.RouteNotFound)
	}
	var err error
	if v.Query, err = parse(r.URL.RawQuery); err != nil {
		return h.trouble(v, fault.RouteNotFound)
	}
	post := r.Method == http.MethodPost
	if post && h.origins.Check(r) != nil {
		return h.trouble(v, errOrigin)
	}
	if v.Page.Auth == op.Person && v.session == "" {
		return h.signIn(v)
	}
	if !post {
		a, err = v.Page.Get(v)
		return h.settle(v, a, err)
	}
	v.Form, v.File, err = v.Page.readForm(w, r)
	defer v.File.drain()
	if err != nil {
		return h.trouble(v, err)
	}
	return h.act(v)
}

// act does what a form asks for, or shows its page again with the reason why not.
func (h *handler) act(v *Visit) *Answer {
	v.Sent = v.Form.Get(FieldForm)
	do := v.Page.Forms[v.Sent]
	if do == nil {
		return h.trouble(v, errNoForm)
	}
	nonce, ok := h.verify(v.session, v.At, v.Sent, v.Form.Get(FieldToken))
	if !ok {
		return h.again(v, errStale)
	}
	v.nonce = nonce
	a, err := do(v)
	var f *fault.Fault
	if err != nil && errors.As(err, &f) && f.Kind != fault.Internal && !ended(v, f) {
		return h.again(v, f)
	}
	return h.settle(v, a, err)
}

// ended tells whether a refusal means that the session is over.
func ended(v *Visit, f *fault.Fault) bool {
	return v.Page != nil && v.Page.Auth == op.Person && f.Kind == fault.Unauthorized
}

// again shows the page of a refused form, with the reason and what was typed.
func (h *handler) again(v *Visit, f *fault.Fault) *Answer {
	if errors.Is(f, fault.KeyConflict) {
		f = f.Say("This form was sent before with other words in it, and that counted. Please look at the page as it is now, and send it again only if something is left to do.")
	}
	v.Refused, v.nonce = f, ""
	a, err := v.Page.Get(v)
	if err != nil {
		return h.settle(v, nil, err)
	}
	if a.To == "" {
		a.Status = f.Kind.Status()
	}
	return a
}

// settle turns an error into the answer to it.
func (h *handler) settle(v *Visit, a *Answer, err error) *Answer {
	if err == nil {
		return a
	}
	f := fault.From(err)
	if ended(v, f) {
		return h.signIn(v)
	}
	return h.trouble(v, f)
}

// trouble is the page of a refusal. Only what is our own fault is logged.
func (h *handler) trouble(v *Visit, err error) *Answer {
	f := fault.From(err)
	if f.Kind == fault.Internal {
		h.log(v, f.Code, f.Error())
	}
	a := h.Trouble(v, f)
	if a.Status == 0 {
		a.Status = f.Kind.Status()
	}
	return a
}

const maxCause = 300 // bytes of a logged cause

func (h *handler) log(v *Visit, what, cause string, more ...slog.Attr) {
	name := ""
	if v.Page != nil {
		name = v.Page.ID
	}
	attrs := append([]slog.Attr{slog.String("operation", "page."+name), slog.String("request_id", v.RequestID),
		slog.String("error", what), slog.String("cause", fault.Scrub(cause, maxCause))}, more...)
	h.Log.LogAttrs(context.WithoutCancel(v), slog.LevelError, "page failed", attrs...)
}

// signIn sends a visitor without a session to the sign-in page and, after a GET, back.
func (h *handler) signIn(v *Visit) *Answer {
	to := SignIn + "?next=" + url.QueryEscape(v.At)
	a := &Answer{To: to}
	if v.session != "" {
		a.Cookies = []string{account.SessionCookie(h.BaseURL, "", 0)}
	}
	return a
}

// Policy is the content policy of every page: our own style sheet, script and images, and
// forms to ourselves.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// write sends an answer.
func (h *handler) write(w http.ResponseWriter, r *http.Request, v *Visit, a *Answer) {
	head := w.Header()
	for name, value := range map[string]string{
		"Content-Security-Policy": Policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Request-Id": v.RequestID,
		// Nothing of an address reaches another site. To ourselves it is sent, because a
		// browser that may send no referrer hides a form's origin too.
		"Referrer-Policy":    "same-origin",
		"Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
	} {
		head.Set(name, value)
	}
	for _, c := range append(v.cookies, a.Cookies...) {
		head.Add("Set-Cookie", c)
	}
	if a.To != "" {
		head.Set("Location", Local(a.To))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	var body bytes.Buffer
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	kind := "text/html; charset=utf-8"
	if err := h.Render(&body, v, a); err != nil {
		h.log(v, "view", err.Error())
		body.Reset()
		body.WriteString(h.Plain)
		status, kind = http.StatusInternalServerError, "text/plain; charset=utf-8"
	}
	head.Set("Content-Type", kind)
	head.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body.Bytes()) // the visitor may be gone; there is nobody to tell
	}
}

// Local is a path on this site, "/" for anything else: a redirect leads nowhere else.
func Local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(to, "/") ||
		strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}
