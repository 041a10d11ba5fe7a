// Package hostile throws garbage at every operation. Stories of tests/story fill an exchange
// in memory and are overheard: their calls give bodies that are nearly right, ids that are
// real, and callers of every kind. Then each operation is called with mutations of all three.
//
//	go test ./tests/hostile -hostile.calls 1000000 -hostile.seed 7 -timeout 0
package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/catalog"
	"guildhall/pkg/config"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/local"
	"guildhall/pkg/table/mem"
	"guildhall/pkg/wire"
	"guildhall/tests/story"
)

// scripts are the stories that fill the world, in order. The first sets the clock.
var scripts = []string{"timed-delivery", "want", "first-hire", "help-work", "help-offers", "help-knowledge", "peer-answer", "peer-publish", "peer-handoff", "peer-follow"}

// maxKept bounds the overheard bodies of one operation.
const maxKept = 12

// watched is a store that tells what was committed.
type watched struct {
	table.Store
	mu   sync.Mutex
	keys []table.Key
}

func (s *watched) Commit(ctx context.Context, tx *table.Tx) error {
	err := s.Store.Commit(ctx, tx)
	if err == nil {
		s.mu.Lock()
		for _, w := range tx.Writes {
			s.keys = append(s.keys, w.Key)
		}
		s.mu.Unlock()
	}
	return err
}

// taken gives what was committed since it was last asked.
func (s *watched) taken() []table.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.keys
	s.keys = nil
	return keys
}

// caller is somebody who calls: the Authorization header and what kind of token it is.
type caller struct{ kind, header string }

// account is the part of a token that names its kind and its account.
func (c caller) account() string { return c.header[:min(len(c.header), max(0, len(c.header)-43))] }

// overheard is a call of a story that was answered with a success.
type overheard struct {
	path   map[string]string
	query  string
	header http.Header
	body   []byte
}

// world is an exchange with a past.
type world struct {
	t       *testing.T
	x       *wire.Exchange
	store   *watched
	logs    *bytes.Buffer
	handler http.Handler // every operation, its limits taken off
	ops     []*op.Operation
	next    http.Handler
	make    func(*world, *http.Request, []byte) *httptest.ResponseRecorder

	mu      sync.Mutex
	heard   map[string][]overheard
	callers []caller
	ids     []string
	mails   []string
}

var (
	uuid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	tokens  = regexp.MustCompile(`gh_[a-z]+_[0-9a-f-]{36}_[A-Za-z0-9_-]{43}`)
	address = regexp.MustCompile(`[a-z0-9._-]+@[a-z.]*example\.com`)
)

// lockedReader makes seeded randomness safe for an engine.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
}

// open makes a world and plays its past.
func open(t *testing.T, seed uint64) *world { return openWith(t, seed, (*world).once) }

var onDisk = flag.Bool("hostile.disk", false, "keep the worlds in the embedded store instead of in memory")

// store is where a world is kept.
func store(t *testing.T) table.Store {
	t.Helper()
	if !*onDisk {
		return mem.New()
	}
	s, err := local.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// openWith is open with a way of making each call of the past.
func openWith(t *testing.T, seed uint64, make func(*world, *http.Request, []byte) *httptest.ResponseRecorder) *world {
	t.Helper()
	var s [32]byte
	copy(s[:], fmt.Sprint("hostile ", seed))
	random := &lockedReader{r: mathrand.NewChaCha8(s)}
	keys, err := config.NewKeys(random)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	w := &world{t: t, make: make, store: &watched{Store: store(t)}, logs: &bytes.Buffer{}, heard: map[string][]overheard{}}
	w.x, err = wire.Open(context.Background(), wire.Options{Table: w.store, BaseURL: "http://" + server.Listener.Addr().String(), Dev: true, Tips: true,
		Keys: wire.KeysOf(keys), Log: slog.New(slog.NewJSONHandler(&lockedWriter{w: w.logs}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w.x.Engine.Rand = random
	w.next = w.x.Handler()
	server.Config.Handler = w
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if err := w.x.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range scripts {
		w.play(server.URL, name)
		w.advance(time.Second) // lists are newest first, and the clock stands where it was set
	}
	w.settle(server.URL)
	return w
}

// play plays a story with agents and people of its own: a name can be taken once.
func (w *world) play(base, name string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "story", "scripts", name+".txt"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, l := range strings.Split(string(text), "\n") {
		if who, is := strings.CutPrefix(l, "agent "); is {
			text = regexp.MustCompile(`\b`+who+`(_|\b)`).ReplaceAll(text, []byte(who+"of"+strings.ReplaceAll(name, "-", "")+"${1}"))
		}
	}
	text = bytes.ReplaceAll(text, []byte("@example.com"), []byte("."+name+"@example.com"))
	file := filepath.Join(w.t.TempDir(), name+".txt")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	story.Run(w.t, base, file)
}

// lockedWriter keeps log lines of several requests apart.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// settle adds the callers no story has, stops what waits, and takes the limits off.
func (w *world) settle(base string) {
	w.t.Helper()
	for _, role := range []string{"steward", "platform_admin"} {
		res, err := http.Post(base+"/_dev/stewards", "application/json", strings.NewReader(`{"email":"`+role+`@stewards.example.com","role":"`+role+`"}`))
		if err != nil {
			w.t.Fatal(err)
		}
		var got struct{ Token string }
		err = json.NewDecoder(res.Body).Decode(&got)
		res.Body.Close()
		if err != nil || got.Token == "" {
			w.t.Fatalf("no steward: %v", err)
		}
		w.callers = append(w.callers, caller{role, "Bearer " + got.Token})
	}
	res, err := http.Post(base+"/api/v1/agents", "application/json", strings.NewReader(`{"name":"Ash","description":"Helps where help is free.","operator":"City Library"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	var got struct{ Data struct{ Token string } }
	err = json.NewDecoder(res.Body).Decode(&got)
	res.Body.Close()
	if err != nil || got.Data.Token == "" {
		w.t.Fatalf("no agent of the commons: %v", err)
	}
	w.callers = append(w.callers, caller{"commons", "Bearer " + got.Data.Token})
	w.x.Stop()
	for _, o := range catalog.Operations() {
		free := *o
		free.Limit = nil
		w.ops = append(w.ops, &free)
	}
	w.handler = rest.Handler(w.x.Engine, w.ops, rest.Options{BaseURL: w.x.BaseURL, Log: w.x.Log})
}

// ServeHTTP answers a story and keeps what can be learned of it.
func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
		return
	}
	rec := w.make(w, r, body)
	for n, v := range rec.Header() {
		out.Header()[n] = v
	}
	out.WriteHeader(rec.Code)
	_, _ = out.Write(rec.Body.Bytes())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learn(r, body, rec)
}

func (w *world) learn(r *http.Request, body []byte, rec *httptest.ResponseRecorder) {
	for _, text := range []string{r.URL.Path, string(body), rec.Body.String()} {
		w.ids = add(w.ids, uuid.FindAllString(text, -1)...)
		w.mails = add(w.mails, address.FindAllString(text, -1)...)
	}
	if h := r.Header.Get("Authorization"); h != "" && rec.Code < 300 {
		kind, _, _ := strings.Cut(strings.TrimPrefix(h, "Bearer gh_"), "_")
		if c := (caller{kind, h}); !slices.Contains(w.callers, c) {
			w.callers = append(w.callers, c)
		}
	}
	o, path := find(r)
	if o == nil || rec.Code >= 300 || len(w.heard[o.ID]) >= maxKept {
		return
	}
	w.heard[o.ID] = append(w.heard[o.ID], overheard{path, r.URL.RawQuery, r.Header.Clone(), body})
}

func add(list []string, more ...string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// find is the operation a request asks for, with its path values.
func find(r *http.Request) (*op.Operation, map[string]string) {
	parts := strings.Split(r.URL.Path, "/")
	var found *op.Operation
	var values map[string]string
	for _, o := range catalog.Operations() {
		want := strings.Split(o.Path, "/")
		if o.Method != r.Method || len(want) != len(parts) {
			continue
		}
		vs, fits := map[string]string{}, true
		for i, p := range want {
			if name, is := strings.CutPrefix(p, "{"); is {
				vs[strings.TrimSuffix(name, "}")] = parts[i]
			} else if p != parts[i] {
				fits = false
			}
		}
		if fits && (found == nil || len(vs) < len(values)) {
			found, values = o, vs
		}
	}
	return found, values
}
