package apigw_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"guildhall/pkg/edge/apigw"
)

// event is a request as API Gateway hands it over.
func event(method, path, query string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RouteKey: "$default", RawPath: path, RawQueryString: query, Headers: map[string]string{"host": "exchange.example"}}
	e.RequestContext.DomainName, e.RequestContext.RequestID = "exchange.example", "gw-1"
	e.RequestContext.HTTP = events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method, Path: path, SourceIP: "127.0.0.1"}
	return e
}

// call runs one event through a handler and returns the answer and the log.
func call(t *testing.T, h http.HandlerFunc, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, string) {
	t.Helper()
	var log bytes.Buffer
	res, err := apigw.Wrap(h, slog.New(slog.NewJSONHandler(&log, nil)))(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return res, log.String()
}

func TestHeadersArriveWhole(t *testing.T) {
	e := event("POST", "/x", "")
	e.Headers = map[string]string{"host": "h.example", "x-sig": "t=1,v1=abc, v0=d", "if-none-match": `"a,b", "c"`, "date": "Mon, 30 Nov 2026 12:00:00 GMT", "accept": "a/b, c/d", "cookie": "stale=1"}
	e.Cookies = []string{"a=1", "b=2,3"}
	call(t, func(w http.ResponseWriter, r *http.Request) {
		for name, want := range map[string]string{"X-Sig": "t=1,v1=abc, v0=d", "If-None-Match": `"a,b", "c"`, "Date": "Mon, 30 Nov 2026 12:00:00 GMT", "Accept": "a/b, c/d", "Cookie": "a=1; b=2,3", "Host": ""} {
			if got := strings.Join(r.Header.Values(name), "|"); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if r.Host != "h.example" || r.RemoteAddr != "127.0.0.1:0" {
			t.Errorf("host %q, remote %q", r.Host, r.RemoteAddr)
		}
	}, e)
}

func TestAnyPathAndQueryArrive(t *testing.T) {
	for raw, want := range map[string]string{"/a%2Fb": "/a%2Fb", "/100%": "/100%25", "/a b/ü": "/a%20b/%C3%BC", "/a?b#c": "/a%3Fb%23c", "": "/", "x": "/x", "//x//": "//x//",
		"/%zz%4": "/%25zz%254", "/\x00\n": "/%00%0A", "/{id}": "/%7Bid%7D", "/a:b@c": "/a:b@c", "http://e.example/": "/http://e.example/"} {
		seen := false
		call(t, func(w http.ResponseWriter, r *http.Request) {
			seen = true
			if got := r.URL.EscapedPath(); got != want || r.URL.RawQuery != "q=a b#c&q=%" || r.URL.Host != "" {
				t.Errorf("%q arrived as %q ?%q", raw, got, r.URL.RawQuery)
			}
		}, event("GET", raw, "q=a b#c&q=%"))
		if !seen {
			t.Errorf("%q did not arrive", raw)
		}
	}
}

func TestTheMethodArrivesAsSent(t *testing.T) {
	for _, m := range []string{"get", "BREW", "", "A B"} {
		call(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != m {
				t.Errorf("%q arrived as %q", m, r.Method)
			}
		}, event(m, "/", ""))
	}
}

func TestBodiesAreDecodedAndHaveTheirLength(t *testing.T) {
	for _, coded := range []bool{false, true} {
		for _, body := range []string{"", "plain", "\xff\x00\x01"} {
			e := event("POST", "/", "")
			e.Body, e.IsBase64Encoded = body, coded
			if coded {
				e.Body = base64.StdEncoding.EncodeToString([]byte(body))
			}
			call(t, func(w http.ResponseWriter, r *http.Request) {
				if b, err := io.ReadAll(r.Body); string(b) != body || err != nil || r.ContentLength != int64(len(body)) {
					t.Errorf("%q arrived as %q, length %d, %v", body, b, r.ContentLength, err)
				}
			}, e)
		}
	}
	e := event("POST", "/", "")
	e.Body, e.IsBase64Encoded = "no base64!", true
	if res, _ := call(t, func(http.ResponseWriter, *http.Request) { t.Error("served") }, e); res.StatusCode != 400 || !strings.Contains(res.Body, `"ok":false`) {
		t.Errorf("bad base64: %d %s", res.StatusCode, res.Body)
	}
}

func TestAPanicIsA500AndTheNextCallIsServed(t *testing.T) {
	for _, p := range []any{"secret of jane@example.org", http.ErrAbortHandler} {
		res, log := call(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "half=1")
			io.WriteString(w, "half an answer")
			panic(p)
		}, event("GET", "/", ""))
		if res.StatusCode != 500 || !strings.Contains(res.Body, "internal_error") || len(res.Cookies) != 0 {
			t.Errorf("%v: %+v", p, res)
		}
		if strings.Count(log, "\n") != 1 || strings.Contains(log, "jane") || !strings.Contains(log, "gw-1") {
			t.Errorf("%v: log %s", p, log)
		}
	}
}

func TestAnswersOverTheLimitAreA500(t *testing.T) {
	for _, c := range []struct {
		name   string
		part   string
		count  int
		status int
	}{
		{"text at 5 MB", "x", 5 << 20, 200},
		{"text over 6 MB", "x", apigw.MaxPayload + 1, 500},
		{"quotes that double", `"`, apigw.MaxPayload/2 + 1, 500},
		{"binary of 4.4 MB", "\xff", 4_400_000, 200},
		{"binary of 5 MB", "\xff", 5 << 20, 500},
	} {
		body := strings.Repeat(c.part, c.count)
		res, log := call(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }, event("GET", "/", ""))
		b, err := json.Marshal(res)
		if res.StatusCode != c.status || len(b) > apigw.MaxPayload || err != nil {
			t.Errorf("%s: %d with %d bytes", c.name, res.StatusCode, len(b))
		}
		if c.status == 500 && (!strings.Contains(res.Body, "answer_too_large") || !strings.Contains(log, "answer too large")) {
			t.Errorf("%s: %s, log %s", c.name, res.Body, log)
		}
	}
}

func TestTheDeadlineLeavesRoomForAnAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	whole, _ := ctx.Deadline()
	h := func(w http.ResponseWriter, r *http.Request) {
		if d, ok := r.Context().Deadline(); !ok || !d.Equal(whole.Add(-apigw.Margin)) {
			t.Errorf("deadline %v of %v", d, whole)
		}
	}
	if _, err := apigw.Wrap(http.HandlerFunc(h), nil)(ctx, event("GET", "/", "")); err != nil {
		t.Error(err)
	}
}

// manners are handlers whose answer depends on the writer's behaviour.
var manners = map[string]http.HandlerFunc{
	"silent":        func(http.ResponseWriter, *http.Request) {},
	"second status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(500) },
	"late header": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Etag", "early")
		io.WriteString(w, "x")
		w.Header().Set("Etag", "late")
		w.Header().Set("Location", "late")
	},
	"early hints":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(404) },
	"no content":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204); io.WriteString(w, "dropped") },
	"not modified":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304); io.WriteString(w, "dropped") },
	"sniffed html":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
	"sniffed binary": func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte{0xff, 0xfe, 0, 1}) },
	"empty write":    func(w http.ResponseWriter, _ *http.Request) { w.Write(nil) },
	"two cookies": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2; Path=/")
		w.WriteHeader(200)
	},
	"split header": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/x\r\nSet-Cookie: evil=1")
		w.WriteHeader(302)
	},
	"html with type": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "<html>")
	},
	"latin text": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "caf\xe9")
	},
	"everything sent": func(w http.ResponseWriter, r *http.Request) {
		for _, ofTheConnection := range []string{"Connection", "Content-Length", "X-Forwarded-For"} {
			r.Header.Del(ofTheConnection)
		}
		fmt.Fprintf(w, "%s %s %q %v", r.Method, r.RequestURI, r.Host, r.Header)
	},
}

func TestTheWriterHasNetHTTPsManners(t *testing.T) {
	for name, h := range manners {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			rec := serveHTTP(t, h, request{method: method, path: "/a", query: "b=c", headers: [][2]string{{"X-One", "1"}}})
			got := serveEvent(t, h, request{method: method, path: "/a", query: "b=c", headers: [][2]string{{"X-One", "1"}}}, false)
			if diff := rec.differs(got); diff != "" {
				t.Errorf("%s %s: %s", method, name, diff)
			}
		}
	}
}

func TestAnUnkeptLengthIsAFailedAnswer(t *testing.T) {
	for _, parts := range [][]string{{"ab"}, {"abcd"}, {"abcd", "abc"}, {"ab", "cd"}} {
		h := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			for _, p := range parts {
				io.WriteString(w, p)
			}
		}
		if res, _ := call(t, h, event("GET", "/", "")); res.StatusCode != 500 {
			t.Errorf("%q: %+v", parts, res)
		}
		s := httptest.NewServer(http.HandlerFunc(h))
		res, err := http.Get(s.URL)
		if err == nil {
			_, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		if err == nil {
			t.Errorf("%q: net/http does not cut the connection any more: the wrapper should follow", parts)
		}
		s.Close()
	}
}

func FuzzEvent(f *testing.F) {
	f.Add("GET", "/a%2Fb", "x=%", "v", []byte("body"), true)
	f.Add("", "100%", "", ",", []byte{0xff}, false)
	h := apigw.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Path", r.URL.EscapedPath())
		w.Write(b)
	}), nil)
	f.Fuzz(func(t *testing.T, method, path, query, header string, body []byte, coded bool) {
		e := event(method, path, query)
		e.Headers["x-h"], e.Body, e.IsBase64Encoded = header, string(body), coded
		if coded {
			e.Body = base64.StdEncoding.EncodeToString(body)
		}
		res, err := h(t.Context(), e)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%d %v", res.StatusCode, err)
		}
		got := []byte(res.Body)
		if res.IsBase64Encoded {
			got, err = base64.StdEncoding.DecodeString(res.Body)
		}
		if err != nil || method != "HEAD" && !bytes.Equal(got, body) {
			t.Errorf("body %q came back as %q", body, got)
		}
	})
}
