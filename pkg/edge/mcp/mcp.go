// Package mcp serves operations as the tools of an MCP endpoint: streamable HTTP, stateless,
// one JSON answer per request (bench.md 21.1, surface.md 6).
//
// The protocol is the go-sdk's: what versions there are, how they are negotiated and what a
// message must carry. Around it stands the door: methods, sizes, origins, the bearer token,
// batches, request ids and the log, all in our envelope. Calls and lists of tools that are
// in order in every respect are answered here without a session of the SDK, because such a
// session costs many times the call; everything else takes the SDK's way. A test holds the
// two ways to the same answers.
//
// A tool runs its operation with the request that REST would have made of the same values,
// so a call and its REST twin answer one body and share their keys and limits.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"guildhall/pkg/edge/rest"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
)

// Limits of a request.
const (
	envelope   = 64 << 10         // bytes of a message around its arguments
	maxBatch   = 16               // messages in a batch
	batchLimit = 28 * time.Second // of a whole batch
)

// Options configure a handler. The zero value works.
type Options struct {
	// BaseURL is the public address, scheme included.
	BaseURL string
	// NewID makes request ids; nil takes UUIDs from the engine's randomness.
	NewID func() string
	// Log takes one line per request; nil logs nothing.
	Log *slog.Logger
	// Clock measures durations (never the exchange's own clock); nil logs none.
	Clock func() time.Time
	// Tally, when set, makes a context that counts a call's costs, and returns what it
	// counted as fields of the log line.
	Tally func(ctx context.Context) (context.Context, func() []slog.Attr)
	// Prepare and Extend add features to the SDK's server: the fixtures of the conformance
	// suite.
	Prepare func(*sdk.ServerOptions)
	Extend  func(*sdk.Server)
}

type handler struct {
	engine *op.Engine
	door   *op.Door
	opt    Options
	tools  []*tool
	byName map[string]*tool
	limit  int64 // bytes of a body
	base   *url.URL

	once   sync.Once
	server http.Handler // the SDK's way
	lists  sync.Map     // protocol version -> the result of tools/list
}

// Handler serves the tools of a door: the operations among ops that have one.
func Handler(engine *op.Engine, ops []*op.Operation, d *op.Door, opt Options) http.Handler {
	h := &handler{engine: engine, door: d, opt: opt, tools: tools(d, ops), byName: map[string]*tool{}, limit: op.DefaultMaxBody + envelope}
	for _, t := range h.tools {
		h.byName[t.name] = t
		for _, c := range t.cases {
			h.limit = max(h.limit, c.op.MaxBody+envelope)
		}
	}
	h.base, _ = url.Parse(opt.BaseURL)
	if opt.NewID == nil {
		h.opt.NewID = func() string {
			s, _ := id.New(engine.Rand)
			return cmp.Or(s, "unknown")
		}
	}
	return h
}

// ServeHTTP always answers, and logs one line.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{h: h, w: w, r: r, id: h.opt.NewID(), name: h.door.ID(), address: rest.Address(r.RemoteAddr),
		token: op.Bearer(strings.Join(r.Header.Values("Authorization"), ","))}
	if h.opt.Clock != nil {
		x.started = h.opt.Clock()
	}
	defer x.end()
	x.serve()
}

// serve checks the request and answers its messages.
func (x *exchange) serve() {
	switch x.r.Method {
	case http.MethodPost:
	case http.MethodOptions:
		x.w.Header().Set("Allow", "OPTIONS, POST")
		x.write(http.StatusNoContent, nil)
		return
	default:
		x.w.Header().Set("Allow", "OPTIONS, POST")
		x.refuse(fault.WrongMethod)
		return
	}
	body, err := x.receive()
	if err != nil {
		x.refuse(err)
		return
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		x.batch(body)
		return
	}
	status, answer := x.message(body)
	x.write(status, answer)
}

// Refusals of the door.
var (
	errOrigin = fault.New(fault.Forbidden, "wrong_origin", "This endpoint does not answer pages of other sites or requests for other hosts.")
	errCoded  = fault.BadMediaType.Say("Send the body as it is, without a Content-Encoding.")
	errCut    = fault.New(fault.BadRequest, "body_incomplete", "The body ended before it was complete.")
	errForm   = fault.New(fault.BadRequest, "invalid_message", "The message or its headers do not follow the protocol version they name.")
)

// receive checks what stands around the body and reads it.
func (x *exchange) receive() ([]byte, error) {
	r := x.r
	if !x.sameSite() {
		return nil, errOrigin
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, fault.BadMediaType
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, errCoded
	}
	tooLarge := fault.BodyTooLarge.With("limit_bytes", x.h.limit)
	if r.ContentLength > x.h.limit {
		return nil, tooLarge
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, x.h.limit+1))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over), int64(len(b)) > x.h.limit:
		return nil, tooLarge
	case err != nil:
		return nil, errCut
	}
	return b, nil
}

// sameSite refuses what a browser sends for a page of another site, and, on a loopback
// address, requests under a foreign host name: both are how a page reaches a server that is
// not its own (DNS rebinding).
func (x *exchange) sameSite() bool {
	if a, ok := x.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && a != nil && loopback(a.String()) && !x.ours(x.r.Host) {
		return false
	}
	for _, origin := range x.r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || !x.ours(u.Host) {
			return false
		}
	}
	return true
}

// ours tells whether a host is the public one or this machine.
func (x *exchange) ours(host string) bool {
	return loopback(host) || x.h.base != nil && strings.EqualFold(host, x.h.base.Host)
}

func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback() || strings.EqualFold(host, "localhost")
}
