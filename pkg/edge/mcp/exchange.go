package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Limits of what a log line says, in bytes.
const (
	maxCause = 300
	maxStack = 4000
)

// exchange is one HTTP request and what became of it.
type exchange struct {
	h              *handler
	w              http.ResponseWriter
	r              *http.Request
	id             string
	token, address string
	name           string       // operation id of the last call, else the door's
	res            *op.Response // of the last call
	batched        bool
	denied         *answer // what HTTP itself must answer
	status         int
	started        time.Time
	tally          func() []slog.Attr
	cause, stack   string // why it failed, for the log only
}

// write sends the answer: JSON, or nothing.
func (x *exchange) write(status int, body []byte) {
	h := x.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Request-Id", x.id)
	if x.res != nil && !x.batched {
		for n, v := range x.res.Header {
			if strings.HasPrefix(n, "RateLimit-") || n == "Retry-After" {
				h.Set(n, v)
			}
		}
	}
	if len(body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	if status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.status = status
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		x.w.Write(body) // the client may be gone; there is nobody to tell
	}
}

// refuse answers in the operations' envelope, outside any message.
func (x *exchange) refuse(err error) {
	f := fault.From(err)
	x.challenge(f)
	x.write(f.Kind.Status(), op.FaultBody(f))
}

// challenge tells a client without a good credential where to get one (RFC 6750, 9728).
func (x *exchange) challenge(f *fault.Fault) {
	if f.Kind != fault.Unauthorized {
		return
	}
	s := `Bearer realm="` + x.h.door.Context + `"`
	if m := x.h.door.Metadata; m != "" {
		s = `Bearer resource_metadata="` + strings.TrimSuffix(x.h.opt.BaseURL, "/") + m + `"`
	}
	if scope, ok := f.Extra["missing_scope"].(string); ok {
		s += `, error="insufficient_scope", scope="` + scope + `"`
	} else if x.token != "" {
		s += `, error="invalid_token"`
	}
	x.w.Header().Set("WWW-Authenticate", s)
}

// end recovers a panic into a 500 and writes the log line.
func (x *exchange) end() {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler || x.status != 0 {
			x.log(true)
			panic(p)
		}
		x.cause, x.stack = fmt.Sprint("panic: ", p), string(debug.Stack())
		x.res = nil
		x.refuse(fault.Wrap(errors.New("panic")).With("request_id", x.id))
	}
	x.log(false)
}

// log writes the one line of a request. It holds no token, argument or text.
func (x *exchange) log(aborted bool) {
	if x.h.opt.Log == nil {
		return
	}
	attrs := []slog.Attr{slog.String("operation", x.name), slog.String("transport", "mcp"), slog.String("method", "POST"),
		slog.Int("status", cmp.Or(x.status, http.StatusOK)), slog.String("request_id", x.id)}
	if x.h.opt.Clock != nil {
		attrs = append(attrs, slog.Float64("duration_ms", float64(x.h.opt.Clock().Sub(x.started).Microseconds())/1000))
	}
	if x.res != nil {
		attrs = append(attrs, x.result()...)
	}
	if x.tally != nil {
		attrs = append(attrs, x.tally()...)
	}
	if aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	level := slog.LevelInfo
	if x.failed() || aborted {
		level = slog.LevelError
		attrs = append(attrs, slog.String("cause", fault.Scrub(x.why(), maxCause)))
	}
	if x.stack != "" {
		attrs = append(attrs, slog.String("stack", x.stack[:min(len(x.stack), maxStack)]))
	}
	x.h.opt.Log.LogAttrs(context.WithoutCancel(x.r.Context()), level, "request", attrs...)
}

// result is what the operation came to: MCP answers 200 around it.
func (x *exchange) result() []slog.Attr {
	attrs := []slog.Attr{slog.String("caller", cmp.Or(string(x.res.Caller.Kind), "nobody")), slog.Int("tool_status", x.res.Status)}
	if x.res.Attempts > 0 {
		attrs = append(attrs, slog.Int("attempts", x.res.Attempts))
	}
	if x.res.Replayed {
		attrs = append(attrs, slog.Bool("replayed", true))
	}
	if x.res.Fault != nil {
		attrs = append(attrs, slog.String("error", fault.Scrub(x.res.Fault.Code, maxCause)))
	}
	return attrs
}

func (x *exchange) failed() bool {
	return x.status >= 500 || x.res != nil && x.res.Status >= 500
}

func (x *exchange) why() string {
	if x.cause != "" || x.res == nil || x.res.Fault == nil {
		return x.cause
	}
	return x.res.Fault.Error()
}
