// Package apigw puts an http.Handler behind an API Gateway HTTP API or a Lambda function
// address (payload format 2.0).
//
// The conversion is aws-lambda-go-api-proxy's; around it stands what makes a handler see
// and answer the same as under net/http, which the library alone does not:
//
//   - request headers arrive whole, not split at commas; cookies are one header
//   - any path arrives, also one that is not well escaped, and the query as it was sent
//   - the remote address has a port, the body its length, the method its spelling
//   - a silent handler answers 200, the first WriteHeader wins, headers set after it are
//     late, a length that was promised is kept or the answer fails
//   - a panic is a 500 and the process lives on
//
// What stays different: API Gateway decodes the path before the function sees it, so an
// escaped slash is a slash there, and of several header lines of one name there is one with
// commas. There is no flushing: the answer leaves as a whole.
package apigw

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Limits of an answer.
const (
	// MaxPayload is what a function may answer, in bytes of its JSON: 6 MB at AWS, less
	// some room.
	MaxPayload = 6_291_000
	// surelySmall is a body that fits however it is encoded: JSON writes at most six
	// bytes for one.
	surelySmall = MaxPayload/6 - 64<<10
	// Margin is kept of the function's deadline to send an answer that was cut short.
	Margin = 500 * time.Millisecond
	// maxStack bounds the stack in the log, in bytes.
	maxStack = 4000
)

var errTooLarge = fault.New(fault.Internal, "answer_too_large", "The answer is larger than one call can carry. Ask for less, or for a page of it.")

// Handler is what aws-lambda-go starts.
type Handler = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// Wrap makes a handler serve Lambda events. It always answers; its error is always nil. The
// log takes what no answer shows: panics of h and answers that could not be sent; nil logs
// nothing.
func Wrap(h http.Handler, log *slog.Logger) Handler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if deadline, ok := ctx.Deadline(); ok {
			early, cancel := context.WithDeadline(ctx, deadline.Add(-Margin))
			defer cancel()
			ctx = early
		}
		c := &call{ctx: ctx, event: e, handler: h, log: log}
		return c.answer(), nil
	}
}

// call is one event on its way through the handler.
type call struct {
	ctx     context.Context
	event   events.APIGatewayV2HTTPRequest
	body    string // decoded
	handler http.Handler
	log     *slog.Logger
}

// memory is a body that is there as a whole and can be read again.
type memory struct{ *strings.Reader }

func (memory) Close() error { return nil }

func (c *call) answer() events.APIGatewayV2HTTPResponse {
	plain, err := c.plain()
	c.body = plain.Body
	if err != nil {
		return refusal(fault.BadRequest, "invalid_body", "The body is not well encoded.")
	}
	res, err := httpadapter.NewV2(http.HandlerFunc(c.serve)).ProxyWithContext(c.ctx, plain)
	if err != nil {
		c.failed("conversion failed", err.Error(), nil)
		return internal()
	}
	if len(res.Body) > surelySmall {
		if b, err := json.Marshal(res); err != nil || len(b) > MaxPayload {
			c.failed("answer too large", fmt.Sprintf("%d bytes of body", len(res.Body)), nil)
			return refusal(errTooLarge.Kind, errTooLarge.Code, errTooLarge.Message)
		}
	}
	return res
}

// plain is the event without anything the library reads otherwise than net/http would, and
// with its body decoded; serve puts the rest back.
func (c *call) plain() (events.APIGatewayV2HTTPRequest, error) {
	body := c.event.Body
	if c.event.IsBase64Encoded {
		b, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return c.event, err
		}
		body = string(b)
	}
	e := events.APIGatewayV2HTTPRequest{RawPath: "/", Body: body, RequestContext: c.event.RequestContext}
	e.RequestContext.DomainName, e.RequestContext.HTTP.Method = "", http.MethodGet
	return e, nil
}

// serve runs the handler on the request as net/http would have made it.
func (c *call) serve(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{header: http.Header{}, head: c.event.RequestContext.HTTP.Method == http.MethodHead}
	c.restore(r)
	if c.guarded(rec, r) && rec.finish() {
		rec.copyTo(w)
		return
	}
	rec = &recorder{header: http.Header{}, head: rec.head}
	f := fault.Wrap(nil)
	rec.header.Set("Content-Type", "application/json")
	rec.header.Set("Cache-Control", "no-store")
	rec.WriteHeader(f.Kind.Status())
	rec.Write(op.FaultBody(f))
	rec.finish()
	rec.copyTo(w)
}

// guarded runs the handler; false when it panicked.
func (c *call) guarded(rec *recorder, r *http.Request) (ok bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			c.failed("answer cut short", "the handler aborted", nil)
		default:
			c.failed("handler panicked", fmt.Sprint(p), debug.Stack())
		}
	}()
	c.handler.ServeHTTP(rec, r)
	return true
}

// restore gives the request what the event says, spelled as it was sent.
func (c *call) restore(r *http.Request) {
	e := c.event
	r.Method = e.RequestContext.HTTP.Method
	r.URL = target(e)
	r.RequestURI = r.URL.RequestURI()
	r.RemoteAddr = net.JoinHostPort(e.RequestContext.HTTP.SourceIP, "0")
	r.Header = make(http.Header, len(e.Headers)+1)
	if c.body != "" {
		r.Body = memory{strings.NewReader(c.body)}
	}
	r.Host = e.RequestContext.DomainName
	for name, value := range e.Headers {
		if strings.EqualFold(name, "Host") {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
}

// target is the address of an event.
func target(e events.APIGatewayV2HTTPRequest) *url.URL {
	path := e.RawPath
	if path == "" {
		path = e.RequestContext.HTTP.Path
	}
	path = Escaped(path)
	u := &url.URL{Path: path, RawQuery: e.RawQueryString}
	if p, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = p, path
	}
	return u
}

// Escaped makes any text a well escaped path. API Gateway hands paths over decoded, other
// senders as they came: what can stand in an escaped path stays, everything else is
// escaped, so that both arrive.
func Escaped(path string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	if !strings.HasPrefix(path, "/") {
		b.WriteByte('/')
	}
	for i := range len(path) {
		c := path[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("/-._~!$&'()*+,;=:@", c) >= 0,
			c == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]):
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// failed logs what the answer does not show: never the body, the query or a header.
func (c *call) failed(what, cause string, stack []byte) {
	attrs := []slog.Attr{slog.String("request_id", c.event.RequestContext.RequestID), slog.String("cause", fault.Scrub(cause, maxCause))}
	if stack != nil {
		attrs = append(attrs, slog.String("stack", string(stack[:min(len(stack), maxStack)])))
	}
	c.log.LogAttrs(context.WithoutCancel(c.ctx), slog.LevelError, what, attrs...)
}

// maxCause bounds a cause in the log, in bytes.
const maxCause = 300

func internal() events.APIGatewayV2HTTPResponse {
	f := fault.Wrap(nil)
	return refusal(f.Kind, f.Code, f.Message)
}

func refusal(k fault.Kind, code, message string) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{StatusCode: k.Status(), Body: string(op.FaultBody(fault.New(k, code, message))),
		Headers: map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}}
}
