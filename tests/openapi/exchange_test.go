package openapi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"guildhall/pkg/config"
	"guildhall/pkg/pay"
	"guildhall/pkg/wire"
)

// exchange starts an exchange in memory with local controls. around, when not nil, stands
// before its handler.
func exchange(t *testing.T, around func(http.Handler) http.Handler) (*wire.Exchange, string) {
	t.Helper()
	keys, err := config.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	base := "http://" + s.Listener.Addr().String()
	x, err := wire.Open(context.Background(), wire.Options{BaseURL: base, Dev: true, Tips: true, Keys: wire.KeysOf(keys)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { x.Runner.Run(ctx); close(done) }()
	s.Config.Handler = x.Handler()
	if around != nil {
		s.Config.Handler = around(s.Config.Handler)
	}
	s.Start()
	t.Cleanup(func() {
		x.Stop()
		s.Close()
		stop()
		<-done
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x, base
}

// fetch reads an address.
func fetch(t *testing.T, address string) []byte {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", address, res.StatusCode, err)
	}
	return b
}

// heard is an answer on its way out, kept beside.
type heard struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (h *heard) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
	h.ResponseWriter.WriteHeader(status)
}

func (h *heard) Write(p []byte) (int, error) {
	if h.status == 0 {
		h.status = http.StatusOK
	}
	h.body.Write(p)
	return h.ResponseWriter.Write(p)
}

func (h *heard) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// steward makes a steward, as the operator's command does, and returns a session.
func (w *world) steward(email string) string {
	w.t.Helper()
	res, err := http.Post(w.base+"/_dev/stewards", "application/json", strings.NewReader(`{"email":"`+email+`","role":"steward"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct{ Token string }
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || out.Token == "" {
		w.t.Fatalf("%v %+v", err, out)
	}
	return out.Token
}

// pay pays a checkout at the processor.
func (w *world) pay(checkout string) {
	w.t.Helper()
	if err := w.x.Payments.Complete(checkout, pay.Paid); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}
