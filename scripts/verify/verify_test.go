package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"guildhall/pkg/config"
	"guildhall/pkg/wire"
)

// served serves an exchange, with an edit of what it answers for one path.
func served(t *testing.T, path string, edit func([]byte) []byte) string {
	t.Helper()
	keys, err := config.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x, err := wire.Open(context.Background(), wire.Options{BaseURL: "http://guildhall.test", Keys: wire.KeysOf(keys)})
	if err != nil {
		t.Fatal(err)
	}
	h := x.Handler()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			h.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		_, _ = w.Write(edit(rec.Body.Bytes()))
	}))
	t.Cleanup(func() { s.Close(); _ = x.Close() })
	return s.URL
}

func TestAnExchangePublishesWhatItsManifestSays(t *testing.T) {
	n, err := verify(t.Context(), served(t, "", nil))
	if err != nil || n != 5 {
		t.Errorf("%d documents, %v", n, err)
	}
}

func TestAnyChangedByteIsTold(t *testing.T) {
	for path, want := range map[string]string{
		"/static/the-rules.html": "the-rules.html has the hash", "/static/agent-api.openapi.json": "agent-api.openapi.json has the hash",
		"/static/rules.json": "the rules have the hash", "/api/bench/protocol": "cannot be read",
	} {
		_, err := verify(t.Context(), served(t, path, func(b []byte) []byte { return bytes.ToUpper(b[1:]) }))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s changed: %v", path, err)
		}
	}
}
