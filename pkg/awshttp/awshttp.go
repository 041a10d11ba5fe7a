// Package awshttp is the HTTP client of the AWS adapters.
package awshttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	transport "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// doer is what the SDK wants of an HTTP client.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Client sends a copy of each request's body. The SDK closes the body as soon as the head of
// the answer is there, while net/http may still be looking for the body's end; the error it
// then meets makes it close the connection under an answer that is still being read. That
// loses answers of more than a few KB now and then, with "use of closed network connection".
type Client struct {
	inner doer
	max   int64
}

// New makes a client whose attempts end after a time, so that a hung connection leaves time
// for another, and that refuses bodies of more than maxRequest bytes.
func New(attempt time.Duration, maxRequest int64) Client {
	return Over(transport.NewBuildableClient().WithTimeout(attempt), maxRequest)
}

// Over makes a client that sends through another one.
func Over(inner doer, maxRequest int64) Client { return Client{inner, maxRequest} }

// Do sends one request.
func (c Client) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return c.inner.Do(r)
	}
	var copied bytes.Buffer
	if r.ContentLength > 0 {
		copied.Grow(int(min(r.ContentLength, c.max)) + bytes.MinRead)
	}
	n, err := copied.ReadFrom(io.LimitReader(r.Body, c.max+1))
	if err != nil {
		return nil, fmt.Errorf("awshttp: read the request: %w", err)
	}
	if n > c.max {
		return nil, fmt.Errorf("awshttp: a request of more than %d bytes", c.max)
	}
	sent := r.Clone(r.Context())
	sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(copied.Bytes())), nil }
	sent.Body, _ = sent.GetBody()
	return c.inner.Do(sent)
}
