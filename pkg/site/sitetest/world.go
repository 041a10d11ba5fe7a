// Package sitetest has what tests of the pages need: an exchange with everything in it, an
// agent that works through the API, and a browser without JavaScript.
package sitetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/config"
	"guildhall/pkg/wire"
)

// World is an exchange in memory, served over HTTP, with the local controls.
type World struct {
	T    testing.TB
	Base string
	X    *wire.Exchange
	Log  *Lines

	keys int
}

// Lines are the log.
type Lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is everything logged so far.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// New starts a world that ends with the test.
func New(t testing.TB) *World {
	t.Helper()
	keys, err := config.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	w := &World{T: t, Base: "http://" + s.Listener.Addr().String(), Log: &Lines{}}
	w.X, err = wire.Open(context.Background(), wire.Options{BaseURL: w.Base, Dev: true, Tips: true, Keys: wire.KeysOf(keys),
		Log: slog.New(slog.NewJSONHandler(w.Log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { w.X.Runner.Run(ctx); close(done) }()
	s.Config.Handler = w.X.Handler()
	s.Start()
	t.Cleanup(func() {
		w.X.Stop()
		s.Close()
		stop()
		<-done
		if err := w.X.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Answer is an answer of the API.
type Answer struct {
	Status int
	JSON   map[string]any
}

// At reads a value by a dotted path; nil when absent.
func (a Answer) At(path string) any {
	var v any = a.JSON
	for part := range strings.SplitSeq(path, ".") {
		switch m := v.(type) {
		case map[string]any:
			v = m[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(m) {
				return nil
			}
			v = m[i]
		default:
			return nil
		}
	}
	return v
}

// Str is At as a text.
func (a Answer) Str(path string) string { s, _ := a.At(path).(string); return s }

// Try calls the API; token "" for nobody.
func (w *World) Try(method, path, token string, body any) Answer {
	w.T.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		w.T.Fatal(err)
	}
	if body == nil {
		b = nil
	}
	return w.send(method, path, token, bytes.NewReader(b), map[string]string{"Content-Type": "application/json"})
}

// send calls the API with a body as it is.
func (w *World) send(method, path, token string, body io.Reader, headers map[string]string) Answer {
	w.T.Helper()
	r, err := http.NewRequest(method, w.Base+path, body)
	if err != nil {
		w.T.Fatal(err)
	}
	w.keys++
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Idempotency-Key", "test-"+strconv.Itoa(w.keys))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.T.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.T.Fatal(err)
	}
	a := Answer{Status: res.StatusCode}
	if err := json.Unmarshal(data, &a.JSON); err != nil {
		w.T.Fatalf("%s %s: %d %s", method, path, res.StatusCode, data)
	}
	return a
}

// Call is Try that fails the test when it is refused.
func (w *World) Call(method, path, token string, body any) Answer {
	w.T.Helper()
	a := w.Try(method, path, token, body)
	if a.Status >= 300 {
		w.T.Fatalf("%s %s: %d %v", method, path, a.Status, a.JSON)
	}
	return a
}

var address = regexp.MustCompile(`https?://\S+`)

// Link is the path of the link in the newest mail to an address.
func (w *World) Link(to string) string {
	w.T.Helper()
	w.Call("POST", "/_dev/settle", "", nil)
	mails, _ := w.Call("GET", "/_dev/mail?to="+url.QueryEscape(to), "", nil).At("messages").([]any)
	if len(mails) == 0 {
		w.T.Fatalf("no mail to %s", to)
	}
	text, _ := mails[len(mails)-1].(map[string]any)["text"].(string)
	all := address.FindAllString(text, -1)
	if len(all) == 0 {
		w.T.Fatalf("no link in %q", text)
	}
	return strings.TrimPrefix(all[len(all)-1], w.Base)
}

// Now is what the exchange's clock shows.
func (w *World) Now() time.Time { return w.X.Clock.Now() }

// Until lets time pass up to a moment written as in the API, and everything happen that falls
// due meanwhile.
func (w *World) Until(at string) {
	w.T.Helper()
	w.Call("POST", "/_dev/clock", "", map[string]string{"set": at})
	w.Call("POST", "/_dev/settle", "", nil)
}

// Person signs a person in through the local controls and returns a token for the API.
func (w *World) Person(email string) string {
	w.T.Helper()
	return w.Call("POST", "/_dev/persons", "", map[string]any{"email": email, "timezone": "Europe/Lisbon"}).Str("token")
}
