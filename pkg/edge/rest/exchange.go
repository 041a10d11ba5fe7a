package rest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Limits of what a log line says, in bytes.
const (
	maxCause = 300
	maxStack = 4000
)

// exchange is one request and what became of it.
type exchange struct {
	h       *handler
	w       *writer
	r       *http.Request
	id      string
	name    string // operation id, "fallback", or "" when nothing was found
	route   *route
	res     *op.Response
	tally   func() []slog.Attr
	started time.Time
	cause   string // why it failed, for the log only
	stack   string
}

// end recovers a panic into a 500 and writes the log line. A panic that cuts the
// connection goes on to the server.
func (c *exchange) end() {
	p := recover()
	if p != nil && p != http.ErrAbortHandler {
		c.cause, c.stack = fmt.Sprint("panic: ", p), string(debug.Stack())
		if c.w.status == 0 {
			c.clear()
			c.refuse(fault.Wrap(fmt.Errorf("panic")))
			p = nil
		} else {
			p = http.ErrAbortHandler
		}
	}
	c.log(p != nil)
	if p != nil {
		panic(p)
	}
}

// clear takes back headers set for an answer that will not come.
func (c *exchange) clear() {
	clear(c.w.Header())
	c.w.Header().Set("X-Request-Id", c.id)
}

// log writes the one line of a request. It holds no token, text or address of a person.
func (c *exchange) log(aborted bool) {
	if c.h.opt.Log == nil {
		return
	}
	status := cmp.Or(c.w.status, http.StatusOK)
	attrs := []slog.Attr{slog.String("operation", c.name), slog.String("method", c.method()),
		slog.Int("status", status), slog.String("request_id", c.id)}
	if c.h.opt.Clock != nil {
		attrs = append(attrs, slog.Float64("duration_ms", float64(c.h.opt.Clock().Sub(c.started).Microseconds())/1000))
	}
	if c.res != nil {
		attrs = append(attrs, resultAttrs(c.res)...)
	}
	if c.tally != nil {
		attrs = append(attrs, c.tally()...)
	}
	if c.r.Context().Err() != nil {
		attrs = append(attrs, slog.Bool("client_gone", true))
	}
	if aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	level := slog.LevelInfo
	if status >= 500 || aborted {
		level = slog.LevelError
		attrs = append(attrs, slog.String("cause", fault.Scrub(c.why(), maxCause)))
	}
	if c.stack != "" {
		attrs = append(attrs, slog.String("stack", c.stack[:min(len(c.stack), maxStack)]))
	}
	c.h.opt.Log.LogAttrs(context.WithoutCancel(c.r.Context()), level, "request", attrs...)
}

func resultAttrs(res *op.Response) []slog.Attr {
	attrs := []slog.Attr{slog.String("caller", cmp.Or(string(res.Caller.Kind), "nobody"))}
	if res.Attempts > 0 {
		attrs = append(attrs, slog.Int("attempts", res.Attempts))
	}
	if res.Replayed {
		attrs = append(attrs, slog.Bool("replayed", true))
	}
	if res.Fault != nil {
		attrs = append(attrs, slog.String("error", fault.Scrub(res.Fault.Code, maxCause)))
	}
	return attrs
}

// method is the request's method if it is one of HTTP's; a stranger's word is not logged.
func (c *exchange) method() string {
	switch c.r.Method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return c.r.Method
	}
	return "other"
}

func (c *exchange) why() string {
	if c.cause != "" || c.res == nil || c.res.Fault == nil {
		return c.cause
	}
	return c.res.Fault.Error()
}

// writer remembers the status that went out.
type writer struct {
	http.ResponseWriter
	status int
}

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the server's writer.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
