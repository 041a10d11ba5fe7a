package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/edge/rest"
	"guildhall/pkg/op"
)

// Where the way to an operation carries less than the operation takes, a longer file is
// told of the other way (surface.md 7). Bodies that have no other way are left alone.
func TestALongFileIsToldOfTheUploadAddress(t *testing.T) {
	count := func(_ *op.Call, in streamIn) (streamOut, error) {
		n, err := io.Copy(io.Discard, in.Body)
		return streamOut{n}, err
	}
	const direct, form = 1000, 64 << 10
	ops := []*op.Operation{
		op.Declare(meta(op.Meta{Method: "POST", Path: "/api/file", MaxBody: 1 << 20, Touches: op.Blobs}), count),
		op.Declare(meta(op.Meta{Method: "POST", Path: "/api/other", MaxBody: 1 << 20}), count),
	}
	e := newEngine()
	e.Ports = func(ctx context.Context, _ op.Touch) context.Context { return ctx }
	const octets, parts = "application/octet-stream", "Multipart/Form-Data; boundary=x"
	for name, c := range map[string]struct {
		direct     int64
		path, kind string
		bytes      int
		status     int
		want       string
	}{
		"stream at the limit":       {direct, "/api/file", octets, direct, 200, `"Bytes":1000`},
		"stream one over":           {direct, "/api/file", octets, direct + 1, 413, `"error":"use_upload_url"`},
		"it says what to do":        {direct, "/api/file", octets, direct + 1, 413, `POST /api/file`},
		"a form may have more":      {direct, "/api/file", parts, direct + form, 200, `"Bytes":66536`},
		"a form one over":           {direct, "/api/file", parts, direct + form + 1, 413, `"limit_bytes":1000`},
		"over the operation's own":  {direct, "/api/file", octets, 1<<20 + 1, 413, "body_too_large"},
		"an operation with no file": {direct, "/api/other", octets, direct + 1, 200, `"Bytes":1001`},
		"in one process":            {0, "/api/file", octets, direct + form + 1, 200, `"Bytes":66537`},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(strings.Repeat("x", c.bytes)))
		r.Header.Set("Content-Type", c.kind)
		w := httptest.NewRecorder()
		rest.Handler(e, ops, rest.Options{DirectBytes: c.direct}).ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s, want %d %s", name, w.Code, w.Body, c.status, c.want)
		}
	}
}

// A file may take longer than a decision, where the way to the operation lets it.
func TestAFileHasTimeOfItsOwn(t *testing.T) {
	var ends time.Time
	note := func(c *op.Call, in streamIn) (streamOut, error) {
		ends, _ = c.Deadline()
		n, err := io.Copy(io.Discard, in.Body)
		return streamOut{n}, err
	}
	plain := func(c *op.Call, _ empty) (empty, error) {
		ends, _ = c.Deadline()
		return empty{}, nil
	}
	ops := []*op.Operation{op.Declare(meta(op.Meta{Method: "POST", Path: "/api/file"}), note), op.Declare(meta(op.Meta{Method: "POST", Path: "/api/plain"}), plain)}
	for _, c := range []struct {
		path, body string
		more       time.Duration
		long       bool
	}{{"/api/file", "x", time.Hour, true}, {"/api/file", "x", 0, false}, {"/api/plain", "{}", time.Hour, false}} {
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		rest.Handler(newEngine(), ops, rest.Options{BodyTime: c.more}).ServeHTTP(w, r)
		if long := time.Until(ends) > 30*time.Minute; w.Code != 200 || long != c.long {
			t.Errorf("%+v: %d %s, until %v", c, w.Code, w.Body, ends)
		}
	}
}
