package rest_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/caller"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
	"guildhall/pkg/table/mem"
)

// counting is a randomness that repeats: the next bytes of a hash chain.
type counting struct {
	mu sync.Mutex
	n  int
}

func (c *counting) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(p); i += sha256.Size {
		c.n++
		sum := sha256.Sum256(fmt.Append(nil, c.n))
		copy(p[i:], sum[:])
	}
	return len(p), nil
}

// doorman accepts any token of its kind and says who that is.
type doorman struct{ kind caller.Kind }

func (doorman) Accepts(t string) bool     { return t == "rest" }
func (doorman) Rows(id.Token) []table.Key { return nil }
func (d doorman) Verify(_ *op.Call, t id.Token) (caller.Caller, error) {
	return caller.Caller{Kind: d.kind, ID: t.Account, Scopes: []string{"some"}}, nil
}

func token(kind string) string {
	t, _ := id.NewToken(&counting{}, kind, "00000000-0000-4000-8000-000000000001")
	return t.String()
}

type echoIn struct {
	After string `query:"after"`
	Sig   string `header:"X-Sig"`
	Text  string `json:"text"`
}

type idIn struct {
	ID string `path:"id"`
	echoIn
}

type nameIn struct {
	Name string `path:"name"`
	echoIn
}

type fileIn struct {
	ID   string `path:"id"`
	Name string `path:"name"`
	echoIn
}

type echoOut struct {
	ID, Name, After, Sig, Text, Who, Address string
}

func echo(c *op.Call, in echoIn) (echoOut, error) {
	return echoOut{"", "", in.After, in.Sig, in.Text, c.Caller.Key(), c.Address}, nil
}

func echoID(c *op.Call, in idIn) (echoOut, error) {
	out, err := echo(c, in.echoIn)
	out.ID = in.ID
	return out, err
}

func echoName(c *op.Call, in nameIn) (echoOut, error) {
	out, err := echo(c, in.echoIn)
	out.Name = in.Name
	return out, err
}

func echoFile(c *op.Call, in fileIn) (echoOut, error) {
	out, err := echo(c, in.echoIn)
	out.ID, out.Name = in.ID, in.Name
	return out, err
}

type empty struct{}

func nothing(*op.Call, empty) (empty, error) { return empty{}, nil }

type rawOut struct {
	raw    *op.Raw
	status int
	header map[string]string
}

func (r rawOut) Raw() *op.Raw               { return r.raw }
func (r rawOut) StatusCode() int            { return cmp.Or(r.status, 200) }
func (r rawOut) Headers() map[string]string { return r.header }

type streamIn struct {
	Body io.Reader `body:"stream"`
}

type streamOut struct {
	Bytes int64
}

func meta(m op.Meta) op.Meta {
	m.ID, m.Auth, m.Summary = cmp.Or(m.ID, "test."+strings.ToLower(m.Method)+strings.ReplaceAll(m.Path, "/", ".")), cmp.Or(m.Auth, op.Public), "A test."
	return m
}

func testOps(hook func(*op.Call) error) []*op.Operation {
	op.Speak("wrapped", op.Dialect{Data: true})
	hooked := func(c *op.Call, _ empty) (empty, error) { return empty{}, hook(c) }
	return []*op.Operation{
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/things/{id}"}), echoID),
		op.Declare(meta(op.Meta{Method: "POST", Path: "/api/things/{id}", MaxBody: 64}), echoID),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/things/open", Cache: "public, max-age=60"}), nothing),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/things/{id}/files/{name}"}), echoFile),
		op.Declare(meta(op.Meta{Method: "DELETE", Path: "/api/things/{id}/files/{name}"}), echoFile),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/tail/{name...}"}), echoName),
		op.Declare(meta(op.Meta{Method: "PATCH", Path: "/api/twin", ID: "test.twin.patch"}), echo),
		op.Declare(meta(op.Meta{Method: "POST", Path: "/api/twin", ID: "test.twin.post"}), echo),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/maker", Auth: op.Maker, Scope: "some"}), echo),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/scoped", Auth: op.Maker, Scope: "other"}), echo),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/person", Auth: op.Person}), echo),
		op.Declare(meta(op.Meta{Method: "POST", Path: "/api/person", Auth: op.Person}), echo),
		op.Declare(meta(op.Meta{Method: "POST", Path: "/api/hook"}), hooked),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/wrapped", ID: "wrapped.it"}), echo),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/refused", ID: "wrapped.refused"}), func(*op.Call, empty) (empty, error) {
			return empty{}, &fault.Fault{Kind: fault.RateLimited, Code: "slow", Message: "Wait.", RetryAfter: 7}
		}),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/raw"}), func(*op.Call, empty) (rawOut, error) {
			return rawOut{raw: &op.Raw{ContentType: "text/csv", Filename: "täglich \"1\".csv", Size: 5, Body: strings.NewReader("a,b\xff\n")}}, nil
		}),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/moved"}), func(*op.Call, empty) (rawOut, error) {
			return rawOut{raw: &op.Raw{Location: "https://elsewhere.example/x"}}, nil
		}),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/tagged"}), func(*op.Call, empty) (rawOut, error) {
			return rawOut{header: map[string]string{"ETag": `"v1"`}}, nil
		}),
		op.Declare(meta(op.Meta{Method: "GET", Path: "/api/broken"}), func(*op.Call, empty) (rawOut, error) {
			return rawOut{raw: &op.Raw{Size: -1, Body: io.MultiReader(strings.NewReader("half"), broken{})}}, nil
		}),
		op.Declare(meta(op.Meta{Method: "POST", Path: "/api/stream", MaxBody: 10}), func(_ *op.Call, in streamIn) (streamOut, error) {
			n, err := io.Copy(io.Discard, in.Body)
			return streamOut{n}, err
		}),
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// site is a served set of test operations.
type site struct {
	*httptest.Server
	log *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newEngine() *op.Engine {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return &op.Engine{Store: mem.New(), Now: func() time.Time { return now }, Rand: &counting{},
		Auth: map[string]op.Authenticator{"agent": doorman{caller.Maker}, "person": doorman{caller.Person}}}
}

func serve(t *testing.T, hook func(*op.Call) error, change func(*rest.Options)) *site {
	t.Helper()
	s := &site{log: &syncBuffer{}}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	opt := rest.Options{BaseURL: "http://exchange.example", Log: slog.New(slog.NewJSONHandler(s.log, nil)), Clock: func() time.Time { return start }}
	if change != nil {
		change(&opt)
	}
	s.Server = httptest.NewServer(rest.Handler(newEngine(), testOps(hook), opt))
	t.Cleanup(s.Close)
	return s
}

// do sends a request written as "METHOD /path" with headers as "Name: value".
func (s *site) do(t *testing.T, line, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	method, target, _ := strings.Cut(line, " ")
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, s.URL+target, r)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		n, v, _ := strings.Cut(h, ": ")
		if v == "" {
			req.Header.Del(n)
			continue
		}
		req.Header.Add(n, v)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return res, string(b) + "<cut>"
	}
	return res, string(b)
}

func TestRoutesAnswerInTheEnvelope(t *testing.T) {
	s := serve(t, nil, nil)
	for _, c := range []struct {
		call   string
		status int
		want   string // part of the body
		allow  string
	}{
		{"GET /api/things/a1", 200, `"ID":"a1"`, ""},
		{"GET /api/things/open", 200, `{"ok":true}`, ""},
		{"POST /api/things/open", 200, `"ID":"open"`, ""},
		{"GET /api/things/a%2Fb", 200, `"ID":"a/b"`, ""},
		{"GET /api/things/a%252Fb", 200, `"ID":"a%2Fb"`, ""},
		{"GET /api/things/%6Fpen", 200, `{"ok":true}`, ""},
		{"GET /api/things/a+b", 200, `"ID":"a+b"`, ""},
		{"GET /api/things/a/files/x%20y.txt", 200, `"Name":"x y.txt"`, ""},
		{"GET /api/tail/a/b%2Fc/d", 200, `"Name":"a/b/c/d"`, ""},
		{"GET /api/things/", 404, `{"ok":false,"error":"not found"}`, ""},
		{"GET /api/things/a/", 404, "not found", ""},
		{"GET /api/things//files/x", 404, "not found", ""},
		{"GET /api//things/a", 404, "not found", ""},
		{"GET /api/things/..", 404, "not found", ""},
		{"GET /api/things/%2e%2E", 404, "not found", ""},
		{"GET /api/things/%00", 404, "not found", ""},
		{"GET /api/things/%FF", 404, "not found", ""},
		{"GET /API/things/a", 404, "not found", ""},
		{"GET /api/things/" + strings.Repeat("x", 901), 404, "not found", ""},
		{"GET /api/tail/" + strings.Repeat("x/", 40), 404, "not found", ""},
		{"GET /", 404, "not found", ""},
		{"PUT /api/things/a", 405, "method_not_allowed", "GET, HEAD, OPTIONS, POST"},
		{"POST /api/maker", 405, "method_not_allowed", "GET, HEAD, OPTIONS"},
		{"BREW /api/twin", 405, "method_not_allowed", "OPTIONS, PATCH, POST"},
		{"get /api/things/a", 405, "method_not_allowed", "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS /api/things/open", 204, "", "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS /nowhere", 404, "not found", ""},
	} {
		res, body := s.do(t, c.call, "")
		if res.StatusCode != c.status || !strings.Contains(body, c.want) || res.Header.Get("Allow") != c.allow {
			t.Errorf("%s: %d %q Allow %q, want %d %q %q", c.call, res.StatusCode, body, res.Header.Get("Allow"), c.status, c.want, c.allow)
		}
	}
}

func TestHeadAnswersLikeGetWithoutABody(t *testing.T) {
	s := serve(t, nil, nil)
	for _, path := range []string{"/api/things/a1", "/api/things/open", "/api/raw", "/api/moved", "/api/refused", "/api/nowhere"} {
		get, body := s.do(t, "GET "+path, "")
		head, none := s.do(t, "HEAD "+path, "")
		if head.StatusCode != get.StatusCode || none != "" || head.ContentLength != int64(len(body)) {
			t.Errorf("HEAD %s: %d, %d bytes named, GET %d with %d", path, head.StatusCode, head.ContentLength, get.StatusCode, len(body))
		}
	}
}

func TestMethodTwinsAreSeparateOperations(t *testing.T) {
	s := serve(t, nil, nil)
	s.do(t, "PATCH /api/twin", `{"text":"a"}`)
	s.do(t, "POST /api/twin", `{"text":"a"}`)
	for _, want := range []string{`"operation":"test.twin.patch"`, `"operation":"test.twin.post"`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, s.log)
		}
	}
}

func TestADuplicateRouteDoesNotStart(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two operations on one route were accepted")
		}
	}()
	a := op.Declare(meta(op.Meta{Method: "GET", Path: "/a/{x}"}), nothing)
	b := op.Declare(meta(op.Meta{Method: "GET", Path: "/a/{y}"}), nothing)
	rest.Handler(newEngine(), []*op.Operation{a, b}, rest.Options{})
}

func TestBodiesEndAtTheirLimit(t *testing.T) {
	s := serve(t, nil, nil)
	full := `{"text":"` + strings.Repeat("x", 64-11) + `"}`
	for _, c := range []struct {
		name, call, body string
		status           int
		want             string
		headers          []string
	}{
		{"at the limit", "POST /api/things/a", full, 200, `"Text":"x`, nil},
		{"one over", "POST /api/things/a", full + " ", 413, `"limit_bytes":64`, nil},
		{"far over", "POST /api/things/a", strings.Repeat(" ", 1<<20), 413, "body_too_large", nil},
		{"compressed", "POST /api/things/a", full, 415, "Content-Encoding", []string{"Content-Encoding: gzip"}},
		{"identity", "POST /api/things/a", full, 200, `"Text":"x`, []string{"Content-Encoding: identity"}},
		{"another type", "POST /api/things/a", full, 415, "unsupported_media_type", []string{"Content-Type: ", "Content-Type: text/plain"}},
		{"two types", "POST /api/things/a", full, 415, "unsupported_media_type", []string{"Content-Type: text/plain"}},
		{"type with a charset", "POST /api/things/a", full, 200, `"Text":"x`, []string{"Content-Type: ", "Content-Type: application/json; charset=utf-8"}},
		{"no body", "POST /api/things/a", "", 200, `"Text":""`, nil},
		{"a GET's body is not looked at", "GET /api/things/a", "{{{", 200, `"ID":"a"`, nil},
		{"stream at the limit", "POST /api/stream", "0123456789", 200, `"Bytes":10`, nil},
		{"stream one over", "POST /api/stream", "0123456789x", 413, `"limit_bytes":10`, nil},
		{"compressed stream", "POST /api/stream", "0123", 415, "Content-Encoding", []string{"Content-Encoding: br"}},
	} {
		res, body := s.do(t, c.call, c.body, c.headers...)
		if res.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %q, want %d %q", c.name, res.StatusCode, body, c.status, c.want)
		}
	}
}

// endless is a body that counts how much of it was read.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) { e.n += int64(len(p)); return len(p), nil }
func (e *endless) Close() error               { return nil }

func TestNoMoreThanOneByteOverTheLimitIsRead(t *testing.T) {
	for _, path := range []string{"/api/things/a", "/api/stream"} {
		for _, length := range []int64{-1, 5, 1 << 40} {
			r, body := httptest.NewRequest("POST", path, nil), &endless{}
			r.Body, r.ContentLength = body, length
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			rest.Handler(newEngine(), testOps(nil), rest.Options{}).ServeHTTP(w, r)
			if w.Code != 413 || body.n > 65 {
				t.Errorf("%s with Content-Length %d: %d after %d bytes", path, length, w.Code, body.n)
			}
		}
	}
}

type cutBody struct{ r io.Reader }

func (c cutBody) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
func (cutBody) Close() error { return nil }

func TestABodyShorterThanItsLengthIsRefused(t *testing.T) {
	for _, path := range []string{"/api/things/a", "/api/stream"} {
		r := httptest.NewRequest("POST", path, nil)
		r.Body, r.ContentLength = cutBody{strings.NewReader("{}")}, 9
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		rest.Handler(newEngine(), testOps(nil), rest.Options{}).ServeHTTP(w, r)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "body_incomplete") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

type seekable struct{ *strings.Reader }

func (seekable) Close() error { return nil }

func TestAStreamThatCanBeginAgainSurvivesALostRace(t *testing.T) {
	for name, c := range map[string]struct {
		body   io.ReadCloser
		status int
	}{"in memory": {seekable{strings.NewReader("0123456789")}, 200}, "over its limit, in memory": {seekable{strings.NewReader("0123456789x")}, 413}, "from the network": {io.NopCloser(io.MultiReader(strings.NewReader("0123456789"))), 503}} {
		e := newEngine()
		store := faulty.Wrap(e.Store)
		e.Store = store
		if _, err := store.Inject(faulty.Fault{Mode: faulty.Conflict}); err != nil {
			t.Fatal(err)
		}
		o := op.Declare(meta(op.Meta{Method: "POST", Path: "/stored", MaxBody: 10}), func(c *op.Call, in streamIn) (streamOut, error) {
			n, err := io.Copy(io.Discard, in.Body)
			c.Create(table.Key{PK: "test.STORED", SK: "ROOT"}, n)
			return streamOut{n}, err
		})
		r := httptest.NewRequest("POST", "/stored", nil)
		r.Body, r.ContentLength = c.body, -1
		w := httptest.NewRecorder()
		rest.Handler(e, []*op.Operation{o}, rest.Options{}).ServeHTTP(w, r)
		if w.Code != c.status || c.status == 200 && !strings.Contains(w.Body.String(), `"Bytes":10`) {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.status)
		}
	}
}

func TestTheQueryArrivesAsSent(t *testing.T) {
	s := serve(t, nil, nil)
	for query, want := range map[string]string{
		"after=a%2Bb%2Fc%3D":          `"After":"a+b/c="`,
		"after=a+b":                   `"After":"a b"`,
		"after=1&after=2":             `"After":"1"`,
		"after=":                      `"After":""`,
		"other=1":                     `"After":""`,
		"after=%zz":                   "invalid_query",
		"after=%ff":                   "invalid_query",
		"after=a%00":                  "invalid_query",
		"after=a;b=c":                 "invalid_query",
		"after=%E2%82%AC%F0%9F%8E%89": `"After":"€🎉"`,
	} {
		if _, body := s.do(t, "GET /api/things/a?"+query, ""); !strings.Contains(body, want) {
			t.Errorf("?%s: %s, want %s", query, body, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	agent, person := token("agent"), token("person")
	s := serve(t, nil, nil)
	tls := serve(t, nil, func(o *rest.Options) { o.BaseURL = "https://exchange.example" })
	for _, c := range []struct {
		name    string
		site    *site
		call    string
		status  int
		want    string
		headers []string
	}{
		{"bearer", s, "GET /api/maker", 200, `"Who":"maker:`, []string{"Authorization: Bearer " + agent}},
		{"scheme in any case", s, "GET /api/maker", 200, `"Who":"maker:`, []string{"Authorization: bearer " + agent}},
		{"two tokens", s, "GET /api/maker", 401, "unauthorized", []string{"Authorization: Bearer " + agent, "Authorization: Bearer " + agent}},
		{"no token", s, "GET /api/maker", 401, "unauthorized", nil},
		{"cookie is no agent's credential", s, "GET /api/maker", 401, "unauthorized", []string{"Cookie: guildhall=" + agent}},
		{"missing scope", s, "GET /api/scoped", 401, `"missing_scope":"other"`, []string{"Authorization: Bearer " + agent}},
		{"person's bearer", s, "GET /api/person", 200, `"Who":"person:`, []string{"Authorization: Bearer " + person}},
		{"cookie", s, "GET /api/person", 200, `"Who":"person:`, []string{"Cookie: x=y; guildhall=" + person}},
		{"cookie of the other scheme", s, "GET /api/person", 401, "unauthorized", []string{"Cookie: __Host-guildhall=" + person}},
		{"cookie under TLS", tls, "GET /api/person", 200, `"Who":"person:`, []string{"Cookie: __Host-guildhall=" + person}},
		{"plain cookie under TLS", tls, "GET /api/person", 401, "unauthorized", []string{"Cookie: guildhall=" + person}},
		{"bearer before cookie", s, "GET /api/person", 401, "unauthorized", []string{"Authorization: Bearer " + agent, "Cookie: guildhall=" + person}},
		{"write with the cookie from our page", s, "POST /api/person", 200, `"Who":"person:`, []string{"Cookie: guildhall=" + person, "Sec-Fetch-Site: same-origin"}},
		{"write with the cookie from our public address", s, "POST /api/person", 200, `"Who":"person:`, []string{"Cookie: guildhall=" + person, "Origin: http://exchange.example"}},
		{"write with the cookie from elsewhere", s, "POST /api/person", 403, "cross_origin", []string{"Cookie: guildhall=" + person, "Sec-Fetch-Site: cross-site"}},
		{"write with the cookie from another origin", s, "POST /api/person", 403, "cross_origin", []string{"Cookie: guildhall=" + person, "Origin: https://evil.example"}},
		{"write with a bearer from elsewhere", s, "POST /api/person", 200, `"Who":"person:`, []string{"Authorization: Bearer " + person, "Sec-Fetch-Site: cross-site"}},
	} {
		res, body := c.site.do(t, c.call, "", c.headers...)
		if res.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.name, res.StatusCode, body, c.status, c.want)
		}
	}
}

func TestA401SaysWhereACredentialIsFound(t *testing.T) {
	s := serve(t, nil, nil)
	where := `Bearer resource_metadata="http://exchange.example/.well-known/oauth-protected-resource"`
	for _, c := range []struct{ call, auth, want string }{
		{"GET /api/maker", "", where},
		{"GET /api/maker", "Bearer nonsense", where + `, error="invalid_token"`},
		{"GET /api/scoped", "Bearer " + token("agent"), where + `, error="insufficient_scope", scope="other"`},
	} {
		res, _ := s.do(t, c.call, "", "Authorization: "+c.auth)
		if got := res.Header.Get("WWW-Authenticate"); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.call, c.auth, got, c.want)
		}
	}
}

func TestEveryAnswerCarriesTheEdgesHeaders(t *testing.T) {
	s := serve(t, nil, nil)
	for path, want := range map[string]map[string]string{
		"/api/things/a":    {"Cache-Control": "no-store", "Content-Type": "application/json"},
		"/api/things/open": {"Cache-Control": "public, max-age=60"},
		"/api/refused":     {"Cache-Control": "no-store", "Retry-After": "7"},
		"/api/nowhere":     {"Cache-Control": "no-store", "Content-Type": "application/json"},
		"/api/raw":         {"Content-Type": "text/csv", "Content-Length": "5", "Content-Disposition": `attachment; filename="t_glich _1_.csv"; filename*=UTF-8''t%C3%A4glich%20%221%22.csv`},
		"/api/moved":       {"Location": "https://elsewhere.example/x"},
	} {
		res, _ := s.do(t, "GET "+path, "")
		for n, v := range want {
			if got := res.Header.Get(n); got != v {
				t.Errorf("%s: %s is %q, want %q", path, n, got, v)
			}
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" || !id.Valid(res.Header.Get("X-Request-Id")) {
			t.Errorf("%s: headers %v", path, res.Header)
		}
	}
}

func TestBodiesAreWrappedOnSuccessOnly(t *testing.T) {
	s := serve(t, nil, nil)
	if _, body := s.do(t, "GET /api/wrapped", ""); !strings.HasPrefix(body, `{"data":{"ID"`) {
		t.Errorf("success: %s", body)
	}
	if _, body := s.do(t, "GET /api/refused", ""); !strings.HasPrefix(body, `{"ok":false,"error":"slow"`) {
		t.Errorf("refusal: %s", body)
	}
}

func TestAnAnswerTheClientHasIsNotSentAgain(t *testing.T) {
	s := serve(t, nil, nil)
	for list, status := range map[string]int{`"v1"`: 304, `"v0", W/"v1"`: 304, `*`: 304, `"v2"`: 200, ``: 200} {
		if res, _ := s.do(t, "GET /api/tagged", "", "If-None-Match: "+list); res.StatusCode != status {
			t.Errorf("If-None-Match %s: %d, want %d", list, res.StatusCode, status)
		}
	}
}

func TestAPanicIsA500AndTheServerLivesOn(t *testing.T) {
	s := serve(t, func(*op.Call) error { panic("bid text of jane@example.org") }, nil)
	res, body := s.do(t, "POST /api/hook", "")
	rid := res.Header.Get("X-Request-Id")
	if res.StatusCode != 500 || !strings.Contains(body, `"request_id":"`+rid+`"`) || strings.Contains(body, "jane") {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	if res, _ := s.do(t, "GET /api/things/a", ""); res.StatusCode != 200 {
		t.Fatalf("after the panic: %d", res.StatusCode)
	}
	log := s.log.String()
	if strings.Count(log, "panic: ") != 1 || strings.Contains(log, "jane") || !strings.Contains(log, "rest_test.go") {
		t.Errorf("log %s", log)
	}
}

func TestAnInternalErrorStaysInside(t *testing.T) {
	s := serve(t, func(*op.Call) error { return fmt.Errorf("row x of gh_agent_1_2 is odd") }, nil)
	res, body := s.do(t, "POST /api/hook", "")
	if res.StatusCode != 500 || strings.Contains(body, "odd") || !strings.Contains(body, `"request_id"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if log := s.log.String(); !strings.Contains(log, "is odd") || strings.Contains(log, "gh_agent") {
		t.Errorf("log %s", log)
	}
}

func TestAHalfSentAnswerCutsTheConnection(t *testing.T) {
	s := serve(t, nil, nil)
	res, err := http.Get(s.URL + "/api/broken")
	if err == nil {
		defer res.Body.Close()
		_, err = io.ReadAll(res.Body)
	}
	if err == nil {
		t.Error("the client took half an answer for whole")
	}
	if log := s.log.String(); !strings.Contains(log, `"aborted":true`) || strings.Count(log, "\n") != 1 {
		t.Errorf("log %s", log)
	}
}

func TestOneLinePerRequestWithoutSecrets(t *testing.T) {
	s := serve(t, nil, func(o *rest.Options) {
		o.Tally = func(ctx context.Context) (context.Context, func() []slog.Attr) {
			return ctx, func() []slog.Attr { return []slog.Attr{slog.Int("table_calls", 3)} }
		}
	})
	secret := token("agent")
	s.do(t, "GET /api/maker?after=secretquery", "", "Authorization: Bearer "+secret, "X-Sig: secretsig")
	lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
	var got map[string]any
	if len(lines) != 1 || json.Unmarshal([]byte(lines[0]), &got) != nil {
		t.Fatalf("log %s", s.log)
	}
	for k, v := range map[string]any{"operation": "test.get.api.maker", "caller": "maker", "status": 200.0, "attempts": 1.0, "table_calls": 3.0, "duration_ms": 0.0} {
		if got[k] != v {
			t.Errorf("%s is %v, want %v", k, got[k], v)
		}
	}
	if strings.Contains(lines[0], "secret") || strings.Contains(lines[0], secret) {
		t.Errorf("log %s", lines[0])
	}
}

func TestTheDeadlineReachesTheOperation(t *testing.T) {
	o := op.Declare(meta(op.Meta{Method: "GET", Path: "/wait", Timeout: time.Nanosecond}), func(c *op.Call, _ empty) (empty, error) {
		<-c.Done()
		return empty{}, c.Err()
	})
	w := httptest.NewRecorder()
	rest.Handler(newEngine(), []*op.Operation{o}, rest.Options{}).ServeHTTP(w, httptest.NewRequest("GET", "/wait", nil))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestAClientThatLeavesEndsItsOperation(t *testing.T) {
	started, ended := make(chan bool), make(chan error, 1)
	s := serve(t, func(c *op.Call) error {
		close(started)
		<-c.Done()
		ended <- c.Err()
		return c.Err()
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/api/hook", nil)
	go http.DefaultClient.Do(req)
	<-started
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("ended with %v", err)
	}
}

func TestTheFallbackServesWhatNoOperationClaims(t *testing.T) {
	s := serve(t, nil, func(o *rest.Options) {
		o.Fallback = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/panic" {
				w.Header().Set("Content-Type", "text/html")
				panic("page")
			}
			io.WriteString(w, "page "+r.URL.Path)
		})
	})
	for call, want := range map[string]string{"GET /home": "page /home", "GET /api/nowhere": `"not found"`, "PUT /api/maker": "method_not_allowed",
		"GET /panic": "internal_error", "GET /": "page /", "GET /a/../b": "page /a/../b"} {
		if _, body := s.do(t, call, ""); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", call, body, want)
		}
	}
}

func TestTheAddressIsTheTransports(t *testing.T) {
	for remote, want := range map[string]string{"192.0.2.1:99": "192.0.2.1", "[2001:db8::1%eth0]:1": "2001:db8::1", "[::ffff:192.0.2.1]:5": "192.0.2.1", "192.0.2.1": "192.0.2.1", "2001:DB8:0::1": "2001:db8::1", "": "", "@": "@"} {
		if got := rest.Address(remote); got != want {
			t.Errorf("%q: %q, want %q", remote, got, want)
		}
	}
	s := serve(t, nil, nil)
	if _, body := s.do(t, "GET /api/things/a", "", "X-Forwarded-For: 203.0.113.9", "X-Real-Ip: 203.0.113.9", "Forwarded: for=203.0.113.9"); !strings.Contains(body, `"Address":"127.0.0.1"`) {
		t.Errorf("the address came from a header: %s", body)
	}
}

func TestAttachmentNames(t *testing.T) {
	for name, want := range map[string]string{
		"a.pdf":              `attachment; filename="a.pdf"`,
		"../../etc/passwd":   `attachment; filename="passwd"`,
		`C:\x\y.txt`:         `attachment; filename="y.txt"`,
		"a\r\nSet-Cookie: x": `attachment; filename="aSet-Cookie: x"; filename*=UTF-8''aSet-Cookie%3A%20x`,
		"100%.txt":           `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`,
		"日本":                 `attachment; filename="__"; filename*=UTF-8''%E6%97%A5%E6%9C%AC`,
		"\xff":               `attachment; filename="_"`,
		"dir/":               `attachment; filename="download"`,
	} {
		if got := rest.Attachment(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func FuzzRouter(f *testing.F) {
	for _, seed := range []string{"/api/things/a", "/api/things/%2F", "//", "/%", "/api/tail/a//b", "*", "", "/api/things/%2e%2e/files/x"} {
		f.Add("GET", seed, "after=1")
	}
	h := rest.Handler(newEngine(), testOps(func(*op.Call) error { return nil }), rest.Options{})
	f.Fuzz(func(t *testing.T, method, path, query string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Method, r.URL.Path, r.URL.RawPath, r.URL.RawQuery = method, path, path, query
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200, 204, 302, 304, 400, 401, 404, 405, 413, 415, 422, 429:
		default:
			t.Errorf("%q %q ?%q: %d %s", method, path, query, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && method != "HEAD" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q %q: %s", method, path, w.Body)
		}
	})
}
