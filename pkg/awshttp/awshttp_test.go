package awshttp

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// recorder keeps what reached it.
type recorder struct {
	body  string
	again string
	calls int
}

func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	r.calls++
	if req.Body == nil {
		return &http.Response{StatusCode: 200}, nil
	}
	b, err := io.ReadAll(req.Body)
	r.body = string(b)
	if second, fail := req.GetBody(); fail == nil {
		b, err = io.ReadAll(second)
		r.again = string(b)
	}
	return &http.Response{StatusCode: 200}, err
}

// touchy tells whether anybody closed it.
type touchy struct {
	io.Reader
	closed bool
}

func (t *touchy) Close() error { t.closed = true; return nil }

func TestTheBodyIsCopiedAndTheSDKsOwnIsLeftAlone(t *testing.T) {
	inner := &recorder{}
	body := &touchy{Reader: strings.NewReader("hello")}
	r, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1/", nil)
	r.Body, r.ContentLength = body, 5
	if _, err := Over(inner, 5).Do(r); err != nil {
		t.Fatal(err)
	}
	if inner.body != "hello" || inner.again != "hello" || body.closed {
		t.Errorf("sent %q, again %q, closed %v", inner.body, inner.again, body.closed)
	}
}

func TestABodyOverTheLimitIsNotSent(t *testing.T) {
	inner := &recorder{}
	r, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader("hello!"))
	if _, err := Over(inner, 5).Do(r); err == nil || inner.calls != 0 {
		t.Errorf("%v after %d calls", err, inner.calls)
	}
}

func TestARequestWithoutABodyIsSentAsItIs(t *testing.T) {
	inner := &recorder{}
	r, _ := http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	if _, err := Over(inner, 5).Do(r); err != nil || inner.calls != 1 {
		t.Errorf("%v after %d calls", err, inner.calls)
	}
}
