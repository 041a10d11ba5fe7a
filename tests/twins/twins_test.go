// Package twins holds every tool to its REST twin. The stories of tests/story run against an
// exchange; before each of their calls that has a tool is made, it is tried twice without
// being written, over REST and over MCP, from the same rows, at the same time and with the
// same randomness. Status, body and everything that would have been written must be equal.
package twins

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/catalog"
	"guildhall/pkg/config"
	"guildhall/pkg/edge/mcp"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/wire"
	"guildhall/tests/story"
)

// dry reads a store and keeps what would be written to it.
type dry struct {
	table.Store
	txs []*table.Tx
}

func (d *dry) Commit(_ context.Context, tx *table.Tx) error {
	d.txs = append(d.txs, tx)
	return nil
}

// mirror is an exchange whose calls are tried both ways before they are made.
type mirror struct {
	t       *testing.T
	x       *wire.Exchange
	next    http.Handler
	mu      sync.Mutex
	tries   uint64
	now     time.Time         // of the present try
	tokens  map[string]string // REST token -> MCP token of the same agent
	reached map[string]map[int]bool
}

// try makes an engine that writes nothing, with the randomness of this try.
func (m *mirror) try() (*op.Engine, *dry) {
	d := &dry{Store: m.x.Store}
	e := m.x.Engine
	now := m.now
	var seed [32]byte
	seed[0], seed[1], seed[2] = byte(m.tries), byte(m.tries>>8), byte(m.tries>>16)
	stopped := &op.Signals{}
	stopped.Stop()
	return &op.Engine{Store: d, Now: func() time.Time { return now }, Rand: mathrand.NewChaCha8(seed), Keys: e.Keys, BaseURL: e.BaseURL,
		Tips: e.Tips, Auth: e.Auth, Ports: e.Ports, Signals: stopped}, d
}

// outcome is what a call came to.
type outcome struct {
	status int
	body   string
	txs    []*table.Tx
}

func (o outcome) equal(p outcome) bool {
	return o.status == p.status && o.body == p.body && reflect.DeepEqual(o.txs, p.txs)
}

func requestID() string { return "twin" }

// overREST tries a request as it is.
func (m *mirror) overREST(o *op.Operation, r *http.Request, body []byte) outcome {
	e, d := m.try()
	h := rest.Handler(e, []*op.Operation{o}, rest.Options{BaseURL: e.BaseURL, NewID: requestID})
	c := r.Clone(r.Context())
	c.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, c)
	text := strings.TrimSpace(rec.Body.String())
	if o.Dialect().Data && rec.Code < 300 {
		var wrapped struct{ Data json.RawMessage }
		if err := json.Unmarshal(rec.Body.Bytes(), &wrapped); err != nil {
			m.t.Errorf("%s: %v", o.ID, err)
		}
		text = string(wrapped.Data)
	}
	return outcome{rec.Code, text, d.txs}
}

// overMCP tries the same as a tool call.
func (m *mirror) overMCP(o *op.Operation, tool string, r *http.Request, args map[string]any) outcome {
	e, d := m.try()
	door := m.door(o)
	h := mcp.Handler(e, catalog.Behind(door), door, mcp.Options{BaseURL: e.BaseURL, NewID: requestID})
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
	if err != nil {
		m.t.Fatal(err)
	}
	c := httptest.NewRequest("POST", door.Path, bytes.NewReader(b))
	c.RemoteAddr = r.RemoteAddr
	c.Header.Set("Content-Type", "application/json")
	if t := m.token(r.Header.Get("Authorization")); t != "" {
		c.Header.Set("Authorization", t)
	}
	for _, name := range door.Headers {
		if v := r.Header.Values(name); len(v) > 0 {
			c.Header[http.CanonicalHeaderKey(name)] = v
		}
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, c)
	if rec.Code == http.StatusUnauthorized {
		return outcome{rec.Code, rec.Body.String(), d.txs}
	}
	var got struct {
		Result struct {
			Meta struct {
				Status int `json:"http_status"`
			} `json:"_meta"`
			Body    json.RawMessage `json:"structuredContent"`
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 || got.Result.Meta.Status == 0 {
		m.t.Fatalf("%s: %d %s", tool, rec.Code, rec.Body)
	}
	m.shows(tool, got.Result.Body, got.Result.Content[0].Text)
	if got.Result.IsError != (got.Result.Meta.Status >= 400) {
		m.t.Errorf("%s: isError is %v at %d", tool, got.Result.IsError, got.Result.Meta.Status)
	}
	return outcome{got.Result.Meta.Status, string(got.Result.Body), d.txs}
}

// shows holds the text of a result to its structure.
func (m *mirror) shows(tool string, body json.RawMessage, text string) {
	var a, b any
	if json.Unmarshal(body, &a) != nil || json.Unmarshal([]byte(text), &b) != nil || !reflect.DeepEqual(a, b) {
		m.t.Errorf("%s: the text says something else than the structure: %s", tool, text)
	}
}

func (m *mirror) door(o *op.Operation) *op.Door {
	i := slices.IndexFunc(catalog.Doors(), func(d *op.Door) bool { return d.Context == catalog.Door(o) })
	return catalog.Doors()[i]
}

// token is the MCP credential of whoever an Authorization header names.
func (m *mirror) token(header string) string {
	t, ok := id.ParseToken(op.Bearer(header))
	if !ok || t.Kind != account.AgentToken.Name {
		return header
	}
	// A token that is not good, or not any more, has no twin: the MCP side sends it as it is.
	good := ""
	err := m.x.Engine.Run(context.Background(), m.x.Engine.Now(), "bench", func(c *op.Call) error {
		if _, err := account.AgentToken.Verify(c, t); err != nil {
			return nil
		}
		if good = m.tokens[header]; good != "" {
			return nil
		}
		s, err := account.MCPToken.Issue(c, t.Account, nil, c.Now.Add(10*365*24*time.Hour))
		good = "Bearer " + s
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	if good == "" {
		return header
	}
	m.tokens[header] = good
	return good
}

// ServeHTTP tries a call both ways, then makes it.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		m.t.Error(err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if o, path := m.find(r); o != nil {
		if args, ok := arguments(o, path, r, body); ok {
			m.compare(o, r, body, args)
		}
	}
	m.next.ServeHTTP(w, r)
}

// attempts is how often a difference is looked at again: a clock may have fired between
// the two tries.
const attempts = 3

func (m *mirror) compare(o *op.Operation, r *http.Request, body []byte, args map[string]any) {
	for _, tool := range toolsOf(o, args) {
		var a, b outcome
		for range attempts {
			m.tries++
			m.now = m.x.Engine.Now()
			if a, b = m.overREST(o, r, body), m.overMCP(o, tool, r, args); a.equal(b) || padded(o, a, body) {
				b = a
				break
			}
		}
		way := strings.TrimSpace(tool + " " + o.ToolCase)
		if m.reached[way] == nil {
			m.reached[way] = map[int]bool{}
		}
		m.reached[way][a.status] = true
		if !a.equal(b) {
			sent, _ := json.Marshal(args)
			m.t.Errorf("%s and %s %s differ\narguments %.500s\nREST %d %.900s\nMCP  %d %.900s\nrows %.900s\nrows %.900s", tool, o.Method, o.Path,
				sent, a.status, a.body, b.status, b.body, shown(a.txs), shown(b.txs))
		}
	}
}

// padded tells whether REST refused the size of what only REST has: an address, or white
// space in a body.
func padded(o *op.Operation, a outcome, body []byte) bool {
	var b bytes.Buffer
	if a.status == http.StatusRequestURITooLong {
		return true // arguments are no address
	}
	return a.status == http.StatusRequestEntityTooLarge && json.Compact(&b, body) == nil && int64(b.Len()) <= o.MaxBody
}

func shown(txs []*table.Tx) string {
	var lines []string
	for _, tx := range txs {
		for _, w := range tx.Writes {
			lines = append(lines, w.Key.PK+" "+w.Key.SK)
		}
	}
	return strings.Join(lines, ", ")
}

// toolsOf are the tools that take these arguments to an operation.
func toolsOf(o *op.Operation, args map[string]any) []string {
	names := []string{o.Tool}
	for _, a := range o.Also {
		fits := true
		for _, p := range o.Body().Properties {
			_, sent := args[p.Name]
			fits = fits && (!sent || slices.Contains(a.Args, p.Name))
		}
		if fits {
			names = append(names, a.Tool)
		}
	}
	return names
}

// find is the operation with a tool that a request asks for, with its path values.
func (m *mirror) find(r *http.Request) (*op.Operation, map[string]string) {
	parts := strings.Split(r.URL.Path, "/")
	var found *op.Operation
	var values map[string]string
	for _, o := range catalog.Operations() {
		want := strings.Split(o.Path, "/")
		if o.Tool == "" || o.Method != r.Method || len(want) != len(parts) {
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

// arguments are a request's values as a tool takes them; ok is false for what a tool call
// cannot say.
func arguments(o *op.Operation, path map[string]string, r *http.Request, body []byte) (map[string]any, bool) {
	args := map[string]any{}
	for n, v := range path {
		if v == "" {
			return nil, false
		}
		args[n] = v
	}
	if selector, value, ok := strings.Cut(o.ToolCase, "="); ok {
		for n, v := range path {
			if strings.Contains(value, "{"+n+"}") {
				value = strings.ReplaceAll(value, "{"+n+"}", v)
				delete(args, n)
			}
		}
		args[selector] = value
		if value == "true" || value == "false" {
			args[selector] = value == "true"
		}
	}
	query := queryOf(o, r.URL.Query())
	if o.ToolQuery != "" {
		args[o.ToolQuery] = query
	} else {
		for n, v := range query {
			args[n] = v
		}
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		args["idempotency_key"] = key
	}
	if o.Body() == nil || len(body) == 0 {
		return args, true
	}
	if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Content-Encoding") != "" {
		return nil, false
	}
	if o.ToolArg != "" {
		args[o.ToolArg] = json.RawMessage(body)
		return args, json.Valid(body)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil, false
	}
	for n, v := range members {
		if _, taken := args[n]; taken && n != "idempotency_key" || restOnly(o, n) {
			return nil, false
		}
		args[n] = v
	}
	return args, true
}

// restOnly tells whether a body field is no argument of the operation's tool.
func restOnly(o *op.Operation, field string) bool {
	known := slices.ContainsFunc(o.Body().Properties, func(p op.Property) bool { return p.Name == field })
	return o.ToolArgs != nil && known && !slices.Contains(o.ToolArgs, field)
}

// queryOf keeps the query parameters that the operation knows; most contexts ignore others
// over REST.
func queryOf(o *op.Operation, q url.Values) map[string]string {
	known := map[string]string{}
	if o.Dialect().StrictQuery {
		for n := range q {
			known[n] = q.Get(n)
		}
		return known
	}
	for _, p := range o.Params() {
		if p.From == "query" && q.Has(p.Name) {
			known[p.Name] = q.Get(p.Name)
		}
	}
	return known
}

// start opens an exchange behind a mirror and notes what is reached.
func start(t *testing.T, reached map[string]map[int]bool) string {
	t.Helper()
	m, base := open(t)
	m.reached = reached
	return base
}

func open(t *testing.T) (*mirror, string) {
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
	m := &mirror{t: t, x: x, next: x.Handler(), tokens: map[string]string{}, reached: map[string]map[int]bool{}}
	s.Config.Handler = m
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
	return m, base
}

func TestEveryToolAnswersLikeItsRESTTwin(t *testing.T) {
	files, err := filepath.Glob("../story/scripts/*.txt")
	own, err2 := filepath.Glob("scripts/*.txt")
	if err != nil || err2 != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v %v", err, err2)
	}
	reached := map[string]map[int]bool{}
	for _, f := range append(files, own...) {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { story.Run(t, start(t, reached), f) })
	}
	var unreached []string
	for _, o := range catalog.Operations() {
		for _, tool := range append([]string{o.Tool}, also(o)...) {
			way := strings.TrimSpace(tool + " " + o.ToolCase)
			if tool != "" && !o.ToolOnly && !slices.ContainsFunc(slices.Collect(maps.Keys(reached[way])), func(s int) bool { return s < 300 }) {
				unreached = append(unreached, way)
			}
		}
	}
	if len(unreached) > 0 {
		t.Errorf("no script makes these tools succeed: %v", unreached)
	}
}

func also(o *op.Operation) (names []string) {
	for _, a := range o.Also {
		names = append(names, a.Tool)
	}
	return names
}
