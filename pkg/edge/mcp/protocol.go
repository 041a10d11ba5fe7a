package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// exchangeKey finds the exchange behind a call that came through the SDK.
type exchangeKey struct{}

// protocol is the SDK's server, made when the first message needs it.
func (h *handler) protocol() http.Handler {
	h.once.Do(func() {
		opt := &sdk.ServerOptions{Instructions: h.door.Instructions,
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, SetCacheable: fresh}
		if h.opt.Prepare != nil {
			h.opt.Prepare(opt)
		}
		s := sdk.NewServer(h.implementation(), opt)
		list := []*sdk.Tool{}
		for _, t := range h.tools {
			d := h.describe(t)
			list = append(list, d)
			s.AddTool(d, through(t))
		}
		if h.opt.Extend != nil {
			h.opt.Extend(s)
		} else {
			s.AddReceivingMiddleware(inOrder(list))
		}
		h.server = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: h.limit, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true}) // the door looks itself, and knows the public host
	})
	return h.server
}

// listTTL is how long a client may keep a list: tools change with a deployment only.
const listTTL = time.Hour

func fresh(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
	c.TTLMs, c.CacheScope = int(listTTL.Milliseconds()), "public"
}

func (h *handler) implementation() *sdk.Implementation {
	return &sdk.Implementation{Name: "guildhall-" + h.door.Context, Title: h.door.Title, Version: h.door.Version, WebsiteURL: h.opt.BaseURL}
}

// identity is the server's name as JSON.
func (h *handler) identity() string {
	b, err := json.Marshal(h.implementation())
	if err != nil {
		return "{}"
	}
	return string(b)
}

// inOrder lists the tools as the door orders them; the SDK would sort them by name.
func inOrder(list []*sdk.Tool) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, req)
			if r, ok := res.(*sdk.ListToolsResult); ok && err == nil {
				r.Tools = list
			}
			return res, err
		}
	}
}

// through runs a tool for a call that came through the SDK, on a goroutine of the SDK's:
// a panic must not leave it.
func through(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (out *sdk.CallToolResult, err error) {
		x := ctx.Value(exchangeKey{}).(*exchange)
		var a *answer
		func() {
			defer func() {
				if p := recover(); p != nil {
					x.cause, x.stack = fmt.Sprint("panic: ", p), string(debug.Stack())
					a = x.refused(t.cases[0].op, errors.New("panic"))
				}
			}()
			a = x.call(ctx, t, req.Params.Arguments)
		}()
		x.refusal(a)
		return &sdk.CallToolResult{Meta: sdk.Meta{"http_status": a.status}, Content: []sdk.Content{&sdk.TextContent{Text: shown(a.body)}},
			StructuredContent: json.RawMessage(a.body), IsError: a.failed}, nil
	}
}

// refusal remembers an answer that HTTP itself must give.
func (x *exchange) refusal(a *answer) {
	if a.status == http.StatusUnauthorized && !x.batched {
		x.denied = a
	}
}

// forward hands a message to the SDK and takes its answer. What the SDK says in plain text
// is said in our words.
func (x *exchange) forward(m *message) (int, []byte) {
	r := x.r.Clone(context.WithValue(x.r.Context(), exchangeKey{}, x))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(m.raw)), int64(len(m.raw))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Del("Last-Event-Id")
	if acceptsJSON(x.r.Header.Values("Accept")) {
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	rec := &recorder{header: http.Header{}}
	x.denied = nil
	x.h.protocol().ServeHTTP(rec, r)
	if a := x.denied; a != nil {
		x.challenge(a.res.Fault)
		return a.status, a.body
	}
	body := bytes.TrimSpace(rec.body.Bytes())
	switch {
	case len(body) == 0:
		return rec.status, nil
	case !strings.HasPrefix(rec.header.Get("Content-Type"), "application/json"):
		return http.StatusBadRequest, failure(m.id, codeRequest, errForm.Message)
	}
	if m.method == "tools/list" && x.inOrder(m) && len(m.params["cursor"]) == 0 && rec.status == http.StatusOK {
		var res struct{ Result json.RawMessage }
		if json.Unmarshal(body, &res) == nil && len(res.Result) > 0 {
			x.h.lists.Store(m.version, []byte(res.Result))
		}
	}
	return rec.status, body
}

// acceptsJSON tells whether an Accept header admits JSON; one that is absent does.
func acceptsJSON(values []string) bool {
	if len(values) == 0 {
		return true
	}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		t, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		switch strings.ToLower(strings.TrimSpace(t)) {
		case "", "*/*", "application/*", "application/json":
			return true
		}
	}
	return false
}

// recorder keeps the SDK's answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}
