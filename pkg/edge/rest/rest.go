// Package rest serves operations over HTTP: on net/http in one process, and behind
// edge/apigw on Lambda, from the same declarations.
//
// It routes, reads the credential and the body within their limits, runs the operation and
// writes the answer. It knows no rule of any context. Timeouts of the connection, the limit
// on headers and draining at shutdown are the server's.
package rest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
)

// APIPrefix begins the paths whose unknown members are answered in the envelope even when
// there is a Fallback.
const APIPrefix = "/api/"

// Options configure a handler. The zero value works.
type Options struct {
	// BaseURL is the public address, scheme included: it decides the name of the session
	// cookie and is an origin that may send it.
	BaseURL string
	// NewID makes request ids; nil takes UUIDs from the engine's randomness.
	NewID func() string
	// Log takes one line per request; nil logs nothing.
	Log *slog.Logger
	// Clock measures durations (never the exchange's own clock, which may stand still);
	// nil logs none.
	Clock func() time.Time
	// Tally, when set, makes a context that counts a call's costs, and returns what it
	// counted as fields of the log line.
	Tally func(ctx context.Context) (context.Context, func() []slog.Attr)
	// DirectBytes bounds a file that comes as the body of an operation that touches blobs,
	// where the way to it carries no more; longer ones are told to use an upload address
	// (surface.md 7). 0 leaves it to the operation.
	DirectBytes int64
	// BodyTime is added to an operation's deadline where its body comes as a stream: a file
	// may take longer than a decision. 0 where the way itself ends sooner.
	BodyTime time.Duration
	// Fallback serves what no operation claims: pages, static files, other doors. Nil
	// answers 404. It never sees paths below APIPrefix.
	Fallback http.Handler
}

type handler struct {
	engine  *op.Engine
	opt     Options
	tree    *tree[*route]
	cookie  string
	origins *http.CrossOriginProtection
}

// route is an operation with what its declaration says about requests, worked out once.
type route struct {
	op    *op.Operation
	names []string
	// reads the body: as JSON (or raw bytes), as a stream, or not at all.
	body, stream bool
	// cookie: the session cookie is a credential for it.
	cookie bool
}

// Handler serves operations. It panics on two operations with one method and path.
func Handler(engine *op.Engine, ops []*op.Operation, opt Options) http.Handler {
	h := &handler{engine: engine, opt: opt, tree: &tree[*route]{}, cookie: CookieName(opt.BaseURL),
		origins: http.NewCrossOriginProtection()}
	if opt.NewID == nil {
		h.opt.NewID = func() string {
			s, _ := id.New(engine.Rand)
			return cmp.Or(s, "unknown")
		}
	}
	if origin, ok := originOf(opt.BaseURL); ok {
		if err := h.origins.AddTrustedOrigin(origin); err != nil {
			panic("rest: base URL: " + err.Error())
		}
	}
	for _, o := range ops {
		r := &route{op: o, body: o.Body() != nil, stream: o.TakesStream() || o.TakesOther(), cookie: takesCookie(o)}
		r.names = h.tree.add(o.Method, o.Path, r)
	}
	return h
}

// ServeHTTP always answers, and logs one line.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &exchange{h: h, w: &writer{ResponseWriter: w}, r: r, id: h.opt.NewID()}
	if h.opt.Clock != nil {
		c.started = h.opt.Clock()
	}
	c.w.Header().Set("X-Request-Id", c.id)
	defer c.end()
	c.serve()
}

// serve finds the operation and runs it, or answers for the router.
func (c *exchange) serve() {
	segments, ok := split(c.r.URL.EscapedPath())
	if !ok {
		c.unknown()
		return
	}
	found, values, allow := c.h.tree.find(c.r.Method, segments)
	switch {
	case found != nil && *found == nil: // another process serves it, and was not asked
		c.refuse(fault.RouteNotFound)
	case found != nil:
		c.route = *found
		c.run(values)
	case len(allow) == 0:
		c.unknown()
	case c.r.Method == http.MethodOptions:
		c.w.Header().Set("Allow", strings.Join(allow, ", "))
		c.answer(&op.Response{Status: http.StatusNoContent})
	default:
		c.w.Header().Set("Allow", strings.Join(allow, ", "))
		c.refuse(fault.WrongMethod)
	}
}

// unknown answers a path no operation has.
func (c *exchange) unknown() {
	if c.h.opt.Fallback == nil || strings.HasPrefix(c.r.URL.Path, APIPrefix) {
		c.refuse(fault.RouteNotFound)
		return
	}
	c.name = "fallback"
	c.h.opt.Fallback.ServeHTTP(c.w, c.r)
}

// run does the operation within its deadline.
func (c *exchange) run(values []string) {
	o := c.route.op
	c.name = o.ID
	ctx, cancel := context.WithTimeout(c.r.Context(), c.allowance())
	defer cancel()
	if c.h.opt.Tally != nil {
		ctx, c.tally = c.h.opt.Tally(ctx)
	}
	req, err := c.request(values)
	if err != nil {
		c.refuse(err)
		return
	}
	c.answer(c.h.engine.Do(ctx, o, req))
}

// allowance is how long the call may last.
func (c *exchange) allowance() time.Duration {
	if o := c.route.op; !o.Streamed(c.header("Content-Type")) {
		return o.Timeout
	}
	return c.route.op.Timeout + c.h.opt.BodyTime
}

// refuse answers a refusal of the edge itself, in the envelope of the operations.
func (c *exchange) refuse(err error) {
	var f *fault.Fault
	if !errors.As(err, &f) {
		f = fault.Wrap(err)
	}
	c.answer(&op.Response{Status: f.Kind.Status(), Fault: f, Body: op.FaultBody(f)})
}

// takesCookie tells whether the session cookie is a credential for an operation: those of
// people and stewards. Everywhere else only a bearer token counts.
func takesCookie(o *op.Operation) bool {
	return slices.Contains([]op.Auth{op.Person, op.Steward, op.Admin}, o.Auth) ||
		slices.Contains([]string{"person", "steward"}, o.Context())
}
