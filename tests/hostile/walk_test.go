package hostile

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/catalog"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

var (
	calls = flag.Int("hostile.calls", 4000, "hostile calls to make")
	seed  = flag.Uint64("hostile.seed", 1, "seed of the calls")
)

// strange are authorizations that are nobody's.
var strange = []string{"", "Bearer ", "Bearer x", "bearer gh_agent__", "Basic YTpi", "Bearer gh_person_00000000-0000-4000-8000-000000000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Bearer gh_root_a_b", "Bearer " + "a.b.c"}

// thrown is one hostile call and its answer.
type thrown struct {
	o      *op.Operation
	caller caller
	// owner is whose ids stand in the path, as they were overheard; "" when they are not.
	owner string
	r     *http.Request
	body  []byte
	rec   *httptest.ResponseRecorder
	wrote []table.Key
}

// perWorld is how many calls one world takes: some of them end an account for good, and a
// short run is soon replayed.
const perWorld = 2000

// maxTold bounds the wrong answers that are printed.
const maxTold = 12

func TestHostileCallsAreRefusedInTheEnvelopeAndWriteNothing(t *testing.T) {
	statuses, reached := map[int]int{}, map[string]bool{}
	unlisted := map[string][]string{}
	told := 0
	for n := uint64(0); int(n)*perWorld < *calls && told < maxTold; n++ {
		w := open(t, *seed+n)
		g := &garbage{Rand: mathrand.New(mathrand.NewPCG(*seed+n, 1)), w: w}
		doc := w.documented()
		for i := 0; i < perWorld && told < maxTold; i++ {
			c := w.throw(g, w.ops[(i+int(n)*perWorld)%len(w.ops)])
			if c == nil {
				continue
			}
			statuses[c.rec.Code]++
			if c.rec.Code < 300 {
				reached[c.o.ID] = true
			}
			for _, wrong := range w.judge(c) {
				told++
				t.Errorf("%s\n%s\nreplay: go test ./tests/hostile -hostile.seed %d, call %d", wrong, c, *seed+n, i)
			}
			if u := doc.undocumented(c); u != "" {
				unlisted[u] = append(unlisted[u], c.o.ID)
			}
			w.renew(c)
			if i%500 == 499 {
				w.advance(7 * time.Minute)
			}
		}
		w.judgeLog()
	}
	for u, ids := range unlisted {
		slices.Sort(ids)
		t.Logf("the document does not list %s of %v", u, slices.Compact(ids))
	}
	t.Logf("statuses %v; %d of %d operations also succeeded", statuses, len(reached), len(catalog.Operations()))
	if len(reached) < len(catalog.Operations())/4 {
		t.Errorf("only %d operations ever succeeded: the garbage is not near enough to the truth", len(reached))
	}
}

// String shows a call and its answer.
func (c *thrown) String() string {
	return fmt.Sprintf("%s %s as %s %v\n%q\nanswered %d %v %s", c.r.Method, c.r.URL, c.caller.kind, c.r.Header, c.body[:min(len(c.body), 3000)],
		c.rec.Code, c.rec.Header(), c.rec.Body.String()[:min(c.rec.Body.Len(), 600)])
}

func (w *world) advance(d time.Duration) {
	if _, err := w.x.Runner.Advance(w.t.Context(), func(now time.Time) (time.Time, error) { return now.Add(d), nil }); err != nil {
		w.t.Error(err)
	}
	w.store.taken()
}

// renew takes over the tokens an answer gave.
func (w *world) renew(c *thrown) {
	if c.rec.Code >= 300 {
		return
	}
	for _, s := range tokens.FindAllString(c.rec.Body.String(), -1) {
		fresh := caller{c.caller.kind, "Bearer " + s}
		i := slices.IndexFunc(w.callers, func(old caller) bool { return old.account() == fresh.account() })
		if i >= 0 {
			w.callers[i].header = fresh.header
		}
	}
}

// judgeLog looks for what no log may hold.
func (w *world) judgeLog() {
	for _, secret := range w.secrets() {
		if bytes.Contains(w.logs.Bytes(), []byte(secret)) {
			w.t.Errorf("the log holds %q", secret)
		}
	}
	if bytes.Contains(w.logs.Bytes(), []byte("panic")) {
		w.t.Error("the log tells of a panic")
	}
}

// secrets are texts no log may hold: tokens and addresses.
func (w *world) secrets() []string {
	var all []string
	for _, c := range w.callers {
		all = append(all, strings.TrimPrefix(c.header, "Bearer "))
	}
	return append(all, w.mails...)
}

// throw makes one hostile call; nil when it cannot even be sent.
func (w *world) throw(g *garbage, o *op.Operation) *thrown {
	from := overheard{header: http.Header{}}
	if heard := w.heard[o.ID]; len(heard) > 0 && !g.in(6) {
		from = one(g, heard)
	} else if s := o.Body(); s != nil {
		from.body, _ = json.Marshal(g.generated(s, 0)) // a tree of plain values
	}
	g.soil()
	c := &thrown{o: o, caller: w.caller(g, o, from)}
	target := w.path(g, o, from)
	if !g.dirty["path"] && from.path != nil {
		c.owner = caller{header: from.header.Get("Authorization")}.account()
	}
	if q := w.query(g, o, from); q != "" {
		target += "?" + q
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil
	}
	if o.Body() != nil || o.TakesStream() || g.in(20) {
		c.body = g.body(o, from.body)
	}
	method := o.Method
	if g.dirty["method"] {
		method = one(g, []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE", "get"})
	}
	c.r = httptest.NewRequest(method, "/", bytes.NewReader(c.body))
	c.r.URL, c.r.RequestURI = u, target
	c.r.Header = g.headers(from.header)
	if c.caller.header != "" {
		c.r.Header.Set("Authorization", c.caller.header)
	}
	c.r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:99", g.IntN(256), g.IntN(256), g.IntN(256))
	w.store.taken()
	c.rec = httptest.NewRecorder()
	w.handler.ServeHTTP(c.rec, c.r)
	c.wrote = w.store.taken()
	return c
}

// caller is who calls: mostly the one who made the call before, or one of the same kind.
func (w *world) caller(g *garbage, o *op.Operation, from overheard) caller {
	own := from.header.Get("Authorization")
	switch n := g.IntN(10); {
	case (n < 5 || !g.dirty["caller"]) && own != "":
		i := slices.IndexFunc(w.callers, func(c caller) bool { return c.account() == caller{header: own}.account() })
		if i >= 0 {
			return w.callers[i]
		}
	case n < 7:
		kinds := map[op.Auth]string{op.Maker: "agent", op.Person: "person", op.Steward: "steward", op.Admin: "platform_admin", op.Account: "help", op.Visitor: "peer", op.Agent: "commons"}
		var fit []caller
		for _, c := range w.callers {
			if c.kind == kinds[o.Auth] {
				fit = append(fit, c)
			}
		}
		if len(fit) > 0 {
			return one(g, fit)
		}
	case n == 7:
		return caller{"nobody", one(g, strange)}
	}
	return one(g, w.callers)
}

// path fills the names of a path.
func (w *world) path(g *garbage, o *op.Operation, from overheard) string {
	path := o.Path
	for _, name := range op.PathNames(o.Path) {
		v := from.path[name]
		if v == "" || g.dirty["path"] {
			v = one(g, w.ids)
		}
		v = url.PathEscape(v)
		if g.dirty["path"] && g.in(2) {
			v = url.PathEscape(g.word())
			v = v[:min(len(v), 3000)]
			if g.in(4) {
				v = one(g, []string{"%ff", "%2F", "%", "%00", "..;", "*", "a%20b", "%C0%AF"})
			}
		}
		path = strings.Replace(path, "{"+name+"}", v, 1)
	}
	return path
}

// query makes query parameters, known ones and others.
func (w *world) query(g *garbage, o *op.Operation, from overheard) string {
	if !g.dirty["query"] {
		return from.query
	}
	q := url.Values{}
	for _, p := range o.Params() {
		if p.From == "query" && g.in(2) {
			q.Add(p.Name, one(g, []string{g.word(), "1", "50", "2", "true", "open", "a"}))
		}
	}
	if g.in(12) {
		q.Add(one(g, []string{"x", "limit", "after", "cursor", "wait", "offset"}), g.word())
	}
	s := q.Encode()
	s = s[:min(len(s), 4000)]
	if g.in(40) {
		s += one(g, []string{"&%", "&a;b", "&%ff=1", "&=", "&limit=1&limit=2"})
	}
	return s
}

// judge tells what is wrong with an answer.
func (w *world) judge(c *thrown) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	code, h := c.rec.Code, c.rec.Header()
	if code >= 500 {
		say("a fault of ours")
	}
	for _, name := range []string{"X-Request-Id", "Cache-Control", "X-Content-Type-Options"} {
		if h.Get(name) == "" {
			say("no %s", name)
		}
	}
	for name, v := range h {
		if strings.ContainsAny(strings.Join(v, ""), "\r\n") || name == "X-Injected" {
			say("a header was injected")
		}
	}
	if code == 401 && h.Get("WWW-Authenticate") == "" || code == 405 && h.Get("Allow") == "" || (code == 429 || code == 503) && h.Get("Retry-After") == "" {
		say("a header that belongs to %d is missing", code)
	}
	if c.r.Method == c.o.Method {
		wrong = append(wrong, c.access()...)
	}
	if code >= 400 {
		wrong = append(wrong, c.refused()...)
	}
	return append(wrong, w.leaks(c)...)
}

// access holds the answer to who may call at all.
func (c *thrown) access() (wrong []string) {
	fits := map[op.Auth][]string{op.Maker: {"agent"}, op.Person: {"person", "steward", "platform_admin"}, op.Steward: {"steward", "platform_admin", "person"}, op.Admin: {"platform_admin", "person"},
		op.Account: {"help"}, op.Visitor: {"peer"}, op.Agent: {"commons"}}
	kinds, known := fits[c.o.Auth]
	if known && c.rec.Code < 400 && !slices.Contains(kinds, c.caller.kind) {
		wrong = append(wrong, "a caller of the wrong kind was served")
	}
	if c.trespass() {
		wrong = append(wrong, "one account was served what belongs to another")
	}
	if known && c.caller.kind == "nobody" && !slices.Contains([]int{400, 401, 404, 413, 414, 415}, c.rec.Code) {
		wrong = append(wrong, "nobody was told more than that a credential is missing")
	}
	return wrong
}

// private are the names in a path of what belongs to one account.
var private = map[op.Auth][]string{op.Person: {"target_id", "deal_id", "file_id", "approval_id"}, op.Maker: {"deal_id", "proposal_id"}}

// trespass tells whether somebody was served what is another's.
func (c *thrown) trespass() bool {
	names := op.PathNames(c.o.Path)
	return c.rec.Code < 400 && c.owner != "" && c.owner != c.caller.account() &&
		slices.ContainsFunc(private[c.o.Auth], func(n string) bool { return slices.Contains(names, n) })
}

// refused holds a refusal to its envelope, and to having written nothing.
func (c *thrown) refused() (wrong []string) {
	wrong = wroteNothing(c.wrote)
	if c.r.Method == http.MethodHead {
		return wrong
	}
	var body map[string]any
	if err := json.Unmarshal(c.rec.Body.Bytes(), &body); err != nil || c.rec.Header().Get("Content-Type") != "application/json" {
		return append(wrong, "no JSON object")
	}
	if e, ok := body["error"]; !ok || e == "" || e == nil {
		wrong = append(wrong, "no error member: "+strings.Join(slices.Sorted(maps.Keys(body)), " "))
	}
	if ok, has := body["ok"]; has && ok != false {
		wrong = append(wrong, "ok is not false")
	}
	return wrong
}

// leaks looks for what belongs to others: tokens, and addresses that the caller did not send.
func (w *world) leaks(c *thrown) (wrong []string) {
	text := c.rec.Body.String()
	for _, other := range w.callers {
		if token := strings.TrimPrefix(other.header, "Bearer "); strings.Contains(text, token) && token != "" {
			wrong = append(wrong, "the answer holds a token of a "+other.kind)
		}
	}
	if c.rec.Code < 400 {
		return wrong
	}
	sent := string(c.body) + c.r.URL.String()
	for _, m := range w.mails {
		if strings.Contains(text, m) && !strings.Contains(sent, m) && !strings.Contains(sent, url.QueryEscape(m)) {
			wrong = append(wrong, "the refusal holds the address "+m)
		}
	}
	for _, id := range uuid.FindAllString(text, -1) {
		if !strings.Contains(strings.ToLower(sent), id) && slices.Contains(w.ids, id) && c.rec.Code != 409 {
			wrong = append(wrong, "the refusal holds an id that was not sent: "+id)
		}
	}
	return wrong
}
