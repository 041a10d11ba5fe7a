package lambdalocal

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// Limits of an HTTP API.
const (
	maxRequest     = 10 << 20 // bytes of a request's body
	maxHeaderLine  = 10_240   // bytes of the request line and the headers
	gatewayTimeout = 30 * time.Second
)

// gateway is the HTTP API: it finds the route, makes the event of payload format 2.0 and
// answers as the function says.
type gateway struct {
	runner *Runner
	routes []route // the most exact first
}

type route struct {
	key    string
	method string // "" for $default
	parts  []string
}

func newGateway(r *Runner) *gateway {
	g := &gateway{runner: r}
	for key := range r.deployment.Routes {
		method, path, _ := strings.Cut(key, " ")
		if key == "$default" {
			method = ""
		}
		g.routes = append(g.routes, route{key, method, strings.Split(strings.TrimPrefix(path, "/"), "/")})
	}
	slices.SortFunc(g.routes, func(a, b route) int { return strings.Compare(a.rank(), b.rank()) })
	return g
}

// rank orders routes by how exact they are, part by part: a word, a {name}, a {name+}.
func (r route) rank() string {
	if r.method == "" {
		return "~"
	}
	var b strings.Builder
	for _, p := range r.parts {
		switch {
		case strings.HasSuffix(p, "+}"):
			b.WriteByte('3')
		case strings.HasPrefix(p, "{"):
			b.WriteByte('2')
		default:
			b.WriteByte('1')
		}
	}
	if r.method == "ANY" {
		b.WriteByte('~') // behind the route that names the method
	}
	return b.String() + r.key
}

// match returns the path values of a request on this route.
func (r route) match(method, path string) (values map[string]string, ok bool) {
	if r.method == "" {
		return nil, true
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if r.method != method && r.method != "ANY" {
		return nil, false
	}
	values = map[string]string{}
	for n, p := range r.parts {
		if n >= len(parts) {
			return nil, false
		}
		name, isName := strings.CutPrefix(strings.TrimSuffix(p, "}"), "{")
		name, isTail := strings.CutSuffix(name, "+")
		switch {
		case isName && isTail:
			values[name] = strings.Join(parts[n:], "/")
			return values, values[name] != ""
		case isName && parts[n] != "":
			values[name] = parts[n]
		case p != parts[n]:
			return nil, false
		}
	}
	return values, len(parts) == len(r.parts)
}

// ServeHTTP implements http.Handler.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, route := range g.routes {
		if values, ok := route.match(r.Method, r.URL.Path); ok {
			g.call(w, r, route.key, values)
			return
		}
	}
	plain(w, http.StatusNotFound, "Not Found")
}

// plain is how API Gateway itself answers.
func plain(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}

func (g *gateway) call(w http.ResponseWriter, r *http.Request, key string, values map[string]string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	switch {
	case err != nil:
		return
	case len(body) > maxRequest:
		plain(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	case headerBytes(r) > maxHeaderLine:
		plain(w, http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large")
		return
	}
	event, err := json.Marshal(newEvent(r, key, values, body))
	if err != nil || len(event) > maxPayload {
		plain(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), gatewayTimeout)
	defer cancel()
	f := g.runner.deployment.Routes[key]
	out, err := g.runner.pools[f.Name].invoke(ctx, event)
	var res events.APIGatewayV2HTTPResponse
	if err == nil {
		err = json.Unmarshal(out, &res)
	}
	switch {
	case r.Context().Err() != nil:
		return
	case errors.Is(err, errThrottled), errors.Is(err, context.DeadlineExceeded):
		plain(w, http.StatusServiceUnavailable, "Service Unavailable")
	case err != nil:
		g.runner.log.Error("function failed", slog.String("function", f.Name), slog.String("cause", err.Error()))
		plain(w, http.StatusInternalServerError, "Internal Server Error")
	default:
		respond(w, res)
	}
}

func headerBytes(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return n
}

// newEvent is a request in payload format 2.0: header names in small letters, values of one
// name joined, cookies apart, the path decoded, the body as text or base64.
func newEvent(r *http.Request, key string, values map[string]string, body []byte) events.APIGatewayV2HTTPRequest {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	now := time.Now().UTC()
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RouteKey: key, RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery,
		Headers: map[string]string{"host": r.Host}, PathParameters: values}
	for name, vs := range r.Header {
		if name == "Cookie" {
			for _, c := range vs {
				e.Cookies = append(e.Cookies, strings.Split(c, "; ")...)
			}
			continue
		}
		e.Headers[strings.ToLower(name)] = strings.Join(vs, ",")
	}
	if query := r.URL.Query(); len(query) > 0 {
		e.QueryStringParameters = map[string]string{}
		for name, vs := range query {
			e.QueryStringParameters[name] = strings.Join(vs, ",")
		}
	}
	e.RequestContext = events.APIGatewayV2HTTPRequestContext{AccountID: Account, APIID: "local", Stage: "$default", RouteKey: key, RequestID: randomID(),
		DomainName: r.Host, Time: now.Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: host, UserAgent: r.UserAgent()}}
	if len(body) > 0 {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
		if isText(r.Header.Get("Content-Type")) && utf8.Valid(body) {
			e.Body, e.IsBase64Encoded = string(body), false
		}
	}
	return e
}

// isText tells whether an HTTP API hands a body of this type over as text.
func isText(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (strings.HasPrefix(t, "text/") || slices.Contains([]string{"application/json", "application/javascript", "application/xml"}, t))
}

// respond sends a function's answer.
func respond(w http.ResponseWriter, res events.APIGatewayV2HTTPResponse) {
	body := []byte(res.Body)
	if res.IsBase64Encoded {
		b, err := base64.StdEncoding.DecodeString(res.Body)
		if err != nil {
			plain(w, http.StatusInternalServerError, "Internal Server Error")
			return
		}
		body = b
	}
	for name, v := range res.Headers {
		w.Header().Set(name, v)
	}
	for name, vs := range res.MultiValueHeaders {
		w.Header()[http.CanonicalHeaderKey(name)] = vs
	}
	for _, c := range res.Cookies {
		w.Header().Add("Set-Cookie", c)
	}
	if res.StatusCode < 100 || res.StatusCode > 999 {
		plain(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(body)
}
