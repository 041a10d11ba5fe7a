package ddb

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// doer is what the SDK wants of an HTTP client.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// ownBody sends a copy of the request's body. The SDK closes the body as soon as the head of
// the answer is there, while net/http may still be looking for the body's end; the error it
// then meets makes it close the connection under an answer that is still being read. That
// loses answers of more than a few KB now and then, with "use of closed network connection".
type ownBody struct{ inner doer }

// Do sends one request.
func (c ownBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return c.inner.Do(r)
	}
	var copied bytes.Buffer
	if r.ContentLength > 0 {
		copied.Grow(int(min(r.ContentLength, maxRequest)) + bytes.MinRead)
	}
	n, err := copied.ReadFrom(io.LimitReader(r.Body, maxRequest+1))
	if err != nil {
		return nil, fmt.Errorf("ddb: read the request: %w", err)
	}
	if n > maxRequest {
		return nil, fmt.Errorf("ddb: a request of more than %d bytes", maxRequest)
	}
	sent := r.Clone(r.Context())
	sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(copied.Bytes())), nil }
	sent.Body, _ = sent.GetBody()
	return c.inner.Do(sent)
}
