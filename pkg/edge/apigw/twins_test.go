package apigw_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"guildhall/pkg/edge/apigw"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// request is one call, told the same way to both edges.
type request struct {
	method, path, query string
	headers             [][2]string
	body                []byte
}

func (r request) String() string {
	return fmt.Sprintf("%s %s?%s %q %.80q", r.method, r.path, r.query, r.headers, r.body)
}

// result is what a client sees of an answer, as far as it is ours.
type result struct {
	status  int
	headers map[string]string
	cookies []string
	body    []byte
}

// owned are the headers that must not differ between the edges.
var owned = []string{"Content-Type", "Cache-Control", "Content-Disposition", "Location", "Retry-After", "Www-Authenticate", "Allow", "Etag",
	"X-Content-Type-Options", "Content-Security-Policy", "X-Request-Id", "Idempotent-Replayed", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"}

func (a result) differs(b result) string {
	for _, n := range owned {
		if a.headers[n] != b.headers[n] {
			return fmt.Sprintf("%s is %q on net/http, %q on Lambda", n, a.headers[n], b.headers[n])
		}
	}
	switch {
	case a.status != b.status:
		return fmt.Sprintf("status %d on net/http, %d on Lambda", a.status, b.status)
	case !slices.Equal(a.cookies, b.cookies):
		return fmt.Sprintf("cookies %q on net/http, %q on Lambda", a.cookies, b.cookies)
	case !bytes.Equal(a.body, b.body):
		return fmt.Sprintf("body %.200q on net/http, %.200q on Lambda", a.body, b.body)
	}
	return ""
}

func resultOf(status int, h http.Header, body []byte) result {
	r := result{status: status, headers: map[string]string{}, cookies: h.Values("Set-Cookie"), body: body}
	for _, n := range owned {
		if v := h.Values(n); len(v) > 0 {
			r.headers[n] = strings.Join(v, ",")
		}
	}
	return r
}

// serveHTTP sends the request to a real server, byte by byte as it is told.
func serveHTTP(t *testing.T, h http.Handler, r request) result {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quiet
	s.Start()
	defer s.Close()
	return send(t, s.Listener.Addr().String(), r)
}

func send(t *testing.T, addr string, r request) result {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var b bytes.Buffer
	target := r.path
	if r.query != "" {
		target += "?" + r.query
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: exchange.example\r\nConnection: close\r\n", r.method, target)
	for _, h := range r.headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	if len(r.body) > 0 || r.method == "POST" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
	}
	b.WriteString("\r\n")
	b.Write(r.body)
	if _, err := conn.Write(b.Bytes()); err != nil {
		t.Fatalf("%v: %v", r, err)
	}
	in := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: r.method})
		if err != nil {
			t.Fatalf("%v: %v", r, err)
		}
		if res.StatusCode < 200 {
			continue
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatalf("%v: %v", r, err)
		}
		return resultOf(res.StatusCode, res.Header, body)
	}
}

// serveEvent sends the request as API Gateway would: header lines joined with commas,
// cookies apart, bodies that are no text in base64.
func serveEvent(t *testing.T, h http.Handler, r request, coded bool) result {
	t.Helper()
	e := event(r.method, r.path, r.query)
	e.Headers = map[string]string{"host": "exchange.example", "content-length": fmt.Sprint(len(r.body)), "x-forwarded-for": "203.0.113.7"}
	for _, h := range r.headers {
		name := strings.ToLower(h[0])
		if name == "cookie" {
			e.Cookies = append(e.Cookies, strings.Split(h[1], "; ")...)
			continue
		}
		if old, ok := e.Headers[name]; ok {
			e.Headers[name] = old + "," + h[1]
		} else {
			e.Headers[name] = h[1]
		}
	}
	if e.Body = string(r.body); coded || !utf8.Valid(r.body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(r.body), true
	}
	res, err := apigw.Wrap(h, nil)(t.Context(), e)
	if err != nil {
		t.Fatalf("%v: %v", r, err)
	}
	head := http.Header{}
	for n, v := range res.Headers {
		head.Set(n, v)
	}
	for _, c := range res.Cookies {
		head.Add("Set-Cookie", c)
	}
	body := []byte(res.Body)
	if res.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(res.Body); err != nil {
			t.Fatalf("%v: %v", r, err)
		}
	}
	return resultOf(res.StatusCode, head, body)
}

type in struct {
	After string `query:"after"`
	Wait  int    `query:"wait"`
	Sig   string `header:"Stripe-Signature"`
	Note  string `header:"X-Delivery-Note"`
	Text  string `json:"text"`
}

type idIn struct {
	ID string `path:"id"`
	in
}

type out struct {
	ID, After, Sig, Note, Text, Who, Address string
	Wait                                     int
}

func echo(c *op.Call, in in) (out, error) {
	return out{"", in.After, in.Sig, in.Note, in.Text, c.Caller.Key(), c.Address, in.Wait}, nil
}

func echoID(c *op.Call, in idIn) (out, error) {
	o, err := echo(c, in.in)
	o.ID = in.ID
	return o, err
}

type raw struct{ r *op.Raw }

func (r raw) Raw() *op.Raw    { return r.r }
func (r raw) StatusCode() int { return 200 }
func (r raw) Headers() map[string]string {
	return map[string]string{"Etag": `"a,b"`, "Set-Cookie": "guildhall=x; Path=/; HttpOnly"}
}

type binary struct {
	Body []byte `body:"raw"`
}

type upload struct {
	Body io.Reader `body:"stream"`
}

func operations() []*op.Operation {
	m := func(method, path string, auth op.Auth) op.Meta {
		return op.Meta{ID: "person." + strings.ToLower(method) + strings.NewReplacer("/", ".", "{", "", "}", "").Replace(path), Method: method, Path: path, Auth: auth, Summary: "A test."}
	}
	write := m("POST", "/t/{id}/write", op.Public)
	write.Idempotent, write.MaxBody = op.KeyOptional, 200
	return []*op.Operation{
		op.Declare(m("GET", "/t/{id}", op.Public), echoID),
		op.Declare(m("POST", "/t/{id}", op.Person), echoID),
		op.Declare(m("DELETE", "/t/{id}", op.Person), echoID),
		op.Declare(write, echoID),
		op.Declare(m("GET", "/me", op.Person), echo),
		op.Declare(m("POST", "/hook", op.Webhook), func(_ *op.Call, b binary) (out, error) { return out{Text: fmt.Sprintf("%x", b.Body)}, nil }),
		op.Declare(m("POST", "/stream", op.Public), func(_ *op.Call, u upload) (out, error) {
			b, err := io.ReadAll(u.Body)
			return out{Text: fmt.Sprintf("%x", b)}, err
		}),
		op.Declare(m("GET", "/raw", op.Public), func(*op.Call, struct{}) (raw, error) {
			return raw{&op.Raw{ContentType: "application/pdf", Filename: "bericht é.pdf", Size: 6, Body: strings.NewReader("%PDF\xff\x00")}}, nil
		}),
		op.Declare(m("GET", "/text", op.Public), func(*op.Call, struct{}) (raw, error) {
			return raw{&op.Raw{ContentType: "application/jsonl", Size: -1, Body: strings.NewReader("{}\n{}\n")}}, nil
		}),
		op.Declare(m("GET", "/moved", op.Public), func(*op.Call, struct{}) (raw, error) {
			return raw{&op.Raw{Location: "https://elsewhere.example/?a=b,c"}}, nil
		}),
		op.Declare(m("GET", "/boom", op.Public), func(*op.Call, struct{}) (raw, error) { panic("boom") }),
	}
}

// edge is a fresh exchange behind the REST edge; both twins start from the same seed.
func edge(t *testing.T) (http.Handler, string) {
	x := optest.New(t)
	_, token := x.Person("jane@example.org")
	h := rest.Handler(x.Engine, operations(), rest.Options{BaseURL: "http://exchange.example", NewID: func() string { return "one" },
		Fallback: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "page %s", r.URL.EscapedPath()) })})
	return h, token
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// random makes one request out of everything that could be read differently.
func random(r *rand.Rand, token string) request {
	q := request{method: pick(r, "GET", "GET", "POST", "POST", "HEAD", "DELETE", "OPTIONS", "PUT"),
		path:  pick(r, "/t/a1", "/t/a%2Fb", "/t/a%20b", "/t/%E2%82%AC", "/t/100%25", "/t/", "/t/a/write", "/t/a/write", "/t/a/write", "/me", "/hook", "/stream", "/raw", "/text", "/moved", "/boom", "/x/y", "//t/a", "/t/..", "/api/none", "/t/a+b", "/t/%00"),
		query: pick(r, "", "", "after=a%2Bb%2Fc%3D%3D", "after=1&after=2", "after=x+y", "wait=3", "wait=x", "wait=-", "after=%zz", "after=%ff", "after", "&&", "after=a;b", "q="+strings.Repeat("x", 500))}
	add := func(name string, values ...string) {
		if v := pick(r, append(values, "")...); v != "" && r.IntN(2) == 0 {
			q.headers = append(q.headers, [2]string{name, v})
		}
	}
	add("Authorization", "Bearer "+token, "bearer "+token, "Bearer nonsense", "Basic eDp5", "Bearer")
	add("Cookie", "guildhall="+token, "a=1; guildhall="+token+"; b=2", "guildhall=", "__Host-guildhall="+token)
	add("Sec-Fetch-Site", "same-origin", "cross-site", "none")
	add("Origin", "http://exchange.example", "https://evil.example", "null")
	add("Stripe-Signature", "t=1492774577,v1=5257a869e7,v0=6ffbb59b22", "a, b", "x")
	add("X-Delivery-Note", "one", "two, three", "caf\xe9")
	add("X-Delivery-Note", "again")
	add("If-None-Match", `"a,b"`, `"z", W/"a,b"`, "*", `"x"`)
	add("Idempotency-Key", "k1", "k2", "k,3", strings.Repeat("k", 201))
	add("Accept", "text/html,application/json;q=0.9")
	add("Content-Encoding", "gzip", "identity")
	if q.method != "GET" && q.method != "HEAD" && r.IntN(4) > 0 {
		q.body = pick(r, []byte(`{"text":"hello"}`), []byte(`{"text":"h\u00e9llo, \"you\""}`), []byte(`{"text":1}`), []byte(`{"text":"a","more":1}`), []byte(`{`), []byte("\xff\xfe\x00"), []byte(`{"text":"`+strings.Repeat("x", 200)+`"}`), bytes.Repeat([]byte{0}, 3000))
		q.headers = append(q.headers, [2]string{"Content-Type", pick(r, "application/json", "application/json", "application/json; charset=utf-8", "text/plain", "a/b, c/d")})
	}
	return q
}

// twinCalls is how many generated requests both edges answer.
const twinCalls = 1500

func TestBothEdgesAnswerAlike(t *testing.T) {
	const seed = 20261130
	plain, token := edge(t)
	lambda, _ := edge(t)
	s := httptest.NewUnstartedServer(plain)
	s.Config.ErrorLog = quiet
	s.Start()
	defer s.Close()
	r := rand.New(rand.NewPCG(seed, 0))
	seen := map[int]int{}
	for i := range twinCalls {
		q := random(r, token)
		want := send(t, s.Listener.Addr().String(), q)
		got := serveEvent(t, lambda, q, r.IntN(2) == 0)
		if diff := want.differs(got); diff != "" {
			t.Fatalf("seed %d, call %d: %v\n%s", seed, i, q, diff)
		}
		seen[want.status]++
	}
	for _, status := range []int{200, 204, 302, 304, 400, 401, 403, 404, 405, 409, 413, 415, 422, 500} {
		if seen[status] == 0 {
			t.Errorf("no call was answered %d: the comparison is poorer than it should be (%v)", status, seen)
		}
	}
}

// quiet takes what net/http says about the odd calls made here.
var quiet = log.New(io.Discard, "", 0)
