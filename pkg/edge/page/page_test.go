package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"guildhall/pkg/account"
	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

// makeIn makes a thing with a name.
type makeIn struct {
	Name string `json:"name" rule:"required,min=1,max=20"`
}

type made struct {
	ID string `json:"id"`
}

var makeThing = op.Declare(op.Meta{ID: "person.thing.make", Method: "POST", Path: "/api/person/things", Auth: op.Person,
	Idempotent: op.KeyRequired, Summary: "Make a thing."}, func(c *op.Call, in makeIn) (made, error) {
	if in.Name == "broken" {
		return made{}, errors.New("the shelf is broken at row 7")
	}
	m := made{c.NewID()}
	c.Create(table.Key{PK: "person.THING#" + m.ID, SK: "ROOT"}, m)
	return m, nil
})

var publicPeek = op.Declare(op.Meta{ID: "person.thing.peek", Method: "GET", Path: "/api/person/peek", Auth: op.Public, Summary: "Peek."},
	func(*op.Call, struct{}) (made, error) { return made{"seen"}, nil })

// world is a handler over an exchange with one person.
type world struct {
	t      *testing.T
	x      *optest.Exchange
	h      http.Handler
	token  string
	things int // operations that were really carried out
	ids    int
}

// shown is what the pages of these tests render: JSON is enough.
type shown struct {
	View, Token, Refused, Typed string
	Status                      int
}

func newWorld(t *testing.T, change ...func(*page.Options)) *world {
	t.Helper()
	w := &world{t: t, x: optest.New(t)}
	_, w.token = w.x.Person("alice@example.com")
	ops := map[string]*op.Operation{makeThing.ID: makeThing, publicPeek.ID: publicPeek, account.Me.ID: account.Me}
	o := page.Options{Caller: w, Find: func(id string) *op.Operation { return ops[id] }, BaseURL: "http://guildhall.test",
		Keys: id.Keyring{Current: []byte("form key"), Previous: [][]byte{[]byte("form key before")}}, NewID: w.newID, Plain: "broken\n", Render: render,
		Trouble: func(_ *page.Visit, f *fault.Fault) *page.Answer {
			return &page.Answer{View: "trouble", Data: f.Code, Status: f.Kind.Status()}
		}}
	for _, c := range change {
		c(&o)
	}
	w.h = page.Handler(pages(), o)
	return w
}

// Do implements page.Caller.
func (w *world) Do(ctx context.Context, o *op.Operation, r *op.Request) *op.Response {
	res := w.x.Engine.Do(ctx, o, r)
	if res.Fault == nil && !res.Replayed && o == makeThing {
		w.things++
	}
	return res
}

func (w *world) newID() string {
	w.ids++
	return fmt.Sprintf("%08d-0000-4000-8000-000000000000", w.ids)
}

func render(out io.Writer, v *page.Visit, a *page.Answer) error {
	if a.View == "torn" {
		io.WriteString(out, "half a page")
		return errors.New("the view is torn")
	}
	s := shown{View: a.View, Token: v.Token("make"), Status: a.Status}
	if v.Refused != nil {
		s.Refused = v.Refused.Code
	}
	if v.Form != nil {
		s.Typed = v.Form.Get("name")
	}
	return json.NewEncoder(out).Encode(s)
}

func pages() []*page.Page {
	get := func(view string) func(*page.Visit) (*page.Answer, error) {
		return func(*page.Visit) (*page.Answer, error) { return &page.Answer{View: view}, nil }
	}
	return []*page.Page{
		{ID: "home", Path: "/", Auth: op.Public, Get: get("home"), Forms: map[string]func(*page.Visit) (*page.Answer, error){
			"make": func(*page.Visit) (*page.Answer, error) { return &page.Answer{To: "/made"}, nil }}},
		{ID: "thing", Path: "/things/{name}", Auth: op.Person, Calls: []string{makeThing.ID}, Get: func(v *page.Visit) (*page.Answer, error) {
			return &page.Answer{View: "thing " + v.Path["name"]}, v.Do("person.profile.read", page.Call{})
		}, Forms: map[string]func(*page.Visit) (*page.Answer, error){
			"make": func(v *page.Visit) (*page.Answer, error) {
				var m made
				err := v.Do(makeThing.ID, page.Call{Body: map[string]string{"name": v.Form.Get("name")}, Into: &m})
				return &page.Answer{To: "/things/" + m.ID, Cookies: []string{"kept=yes"}}, err
			},
			"sly": func(v *page.Visit) (*page.Answer, error) { return nil, v.Do(publicPeek.ID, page.Call{}) },
		}},
		{ID: "literal", Path: "/things/new", Auth: op.Public, Get: get("new")},
		{ID: "eager", Path: "/eager", Auth: op.Person, Calls: []string{makeThing.ID}, Get: func(v *page.Visit) (*page.Answer, error) {
			return nil, v.Do(makeThing.ID, page.Call{Body: makeIn{"x"}})
		}},
		{ID: "torn", Path: "/torn", Auth: op.Public, Get: get("torn")},
		{ID: "panics", Path: "/panics", Auth: op.Public, Get: func(*page.Visit) (*page.Answer, error) { panic("a page of glass") }},
	}
}

// visit makes a request; the session cookie is sent unless signedOut is set.
func (w *world) visit(method, path string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	w.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequest(method, "http://guildhall.test"+path, body)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.AddCookie(&http.Cookie{Name: "guildhall", Value: w.token})
	for _, c := range change {
		c(r)
	}
	res := httptest.NewRecorder()
	w.h.ServeHTTP(res, r)
	return res
}

func signedOut(r *http.Request) { r.Header.Del("Cookie") }

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func (w *world) shown(res *httptest.ResponseRecorder) (s shown) {
	w.t.Helper()
	if err := json.Unmarshal(res.Body.Bytes(), &s); err != nil {
		w.t.Fatalf("%d %s", res.Code, res.Body)
	}
	return s
}

// form is the form of a page as it was shown.
func (w *world) form(path, name string) url.Values {
	w.t.Helper()
	return url.Values{"form": {"make"}, "name": {name}, "token": {w.shown(w.visit("GET", path, nil)).Token}}
}

func TestEveryAnswerCarriesThePolicy(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/things/a", "/nowhere", "/torn", "/panics", "/eager"} {
		h := w.visit("GET", path, nil).Header()
		for name, want := range map[string]string{"Content-Security-Policy": page.Policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
			}
		}
	}
	if !strings.HasPrefix(page.Policy, "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'") ||
		strings.Contains(page.Policy, "unsafe") {
		t.Errorf("policy %s", page.Policy)
	}
}

func TestAFormSentTwiceHasOneEffect(t *testing.T) {
	w := newWorld(t)
	f := w.form("/things/a", "bell")
	first, second := w.visit("POST", "/things/a", f), w.visit("POST", "/things/a", f)
	if first.Code != 303 || second.Code != 303 || first.Header().Get("Location") != second.Header().Get("Location") {
		t.Errorf("first %d %s, second %d %s", first.Code, first.Header().Get("Location"), second.Code, second.Header().Get("Location"))
	}
	if w.things != 1 {
		t.Errorf("%d things were made", w.things)
	}
	if first.Header().Get("Set-Cookie") != "kept=yes" {
		t.Errorf("cookies %q", first.Header().Values("Set-Cookie"))
	}
	f.Set("name", "book")
	third := w.shown(w.visit("POST", "/things/a", f))
	if third.Refused != "idempotency_conflict" || third.Typed != "book" || third.Status != 409 {
		t.Errorf("the same form with other words: %+v", third)
	}
	again := url.Values{"form": {"make"}, "name": {"book"}, "token": {third.Token}}
	if res := w.visit("POST", "/things/a", again); res.Code != 303 || w.things != 2 {
		t.Errorf("sent from the page as it is now: %d, %d things", res.Code, w.things)
	}
}

func TestARefusedFormShowsItsPageAgain(t *testing.T) {
	w := newWorld(t)
	f := w.form("/things/a", "a name of more than twenty characters")
	res := w.visit("POST", "/things/a", f)
	if s := w.shown(res); res.Code != 422 || s.View != "thing a" || s.Refused != "invalid_field" || s.Typed != f.Get("name") {
		t.Errorf("%d %+v", res.Code, s)
	}
	f.Set("name", "bell") // the token of a refused form is still good
	if res := w.visit("POST", "/things/a", f); res.Code != 303 {
		t.Errorf("sent again: %d %s", res.Code, res.Body)
	}
}

func TestATokenIsGoodForOneSessionPageAndForm(t *testing.T) {
	w := newWorld(t)
	_, other := w.x.Person("bob@example.com")
	good := w.form("/things/a", "bell")
	cases := map[string]struct {
		path   string
		change func(url.Values)
		as     func(*http.Request)
	}{
		"of another session": {"/things/a", func(url.Values) {}, header("Cookie", "guildhall="+other)},
		"of another page":    {"/things/b", func(url.Values) {}, nil},
		"of another form":    {"/things/a", func(v url.Values) { v.Set("form", "sly") }, nil},
		"missing":            {"/things/a", func(v url.Values) { v.Del("token") }, nil},
		"forged":             {"/things/a", func(v url.Values) { v.Set("token", v.Get("token")[:40]+"0000") }, nil},
		"with another nonce": {"/things/a", func(v url.Values) { v.Set("token", "x"+v.Get("token")) }, nil},
	}
	for name, c := range cases {
		f := url.Values{}
		for k, v := range good {
			f[k] = v
		}
		c.change(f)
		change := []func(*http.Request){}
		if c.as != nil {
			change = append(change, c.as)
		}
		if res := w.visit("POST", c.path, f, change...); res.Code != 403 || w.shown(res).Refused != "form_stale" || w.shown(res).Typed != "bell" {
			t.Errorf("a token %s: %d %s", name, res.Code, res.Body)
		}
	}
	if w.things != 0 {
		t.Errorf("%d things were made", w.things)
	}
}

func TestAKeyThatWasChangedStillVerifies(t *testing.T) {
	old := newWorld(t, func(o *page.Options) { o.Keys = id.Keyring{Current: []byte("form key before")} })
	w := newWorld(t)
	if w.token != old.token {
		t.Fatal("the worlds differ")
	}
	if res := w.visit("POST", "/things/a", old.form("/things/a", "bell")); res.Code != 303 {
		t.Errorf("a form made under the key before: %d %s", res.Code, res.Body)
	}
}

func TestFormsComeFromOurOwnPages(t *testing.T) {
	w := newWorld(t)
	f := w.form("/things/a", "bell")
	for name, headers := range map[string][]func(*http.Request){
		"cross-site":               {header("Sec-Fetch-Site", "cross-site")},
		"same-site":                {header("Sec-Fetch-Site", "same-site")},
		"another origin":           {func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, header("Origin", "http://evil.test")},
		"a hidden origin":          {func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, header("Origin", "null")},
		"another port of our name": {func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, header("Origin", "http://guildhall.test:81")},
	} {
		if res := w.visit("POST", "/things/a", f, headers...); res.Code != 403 || w.things != 0 {
			t.Errorf("%s: %d, %d things", name, res.Code, w.things)
		}
	}
	ours := []func(*http.Request){func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, header("Origin", "http://guildhall.test")}
	if res := w.visit("POST", "/things/a", f, ours...); res.Code != 303 {
		t.Errorf("our own origin: %d %s", res.Code, res.Body)
	}
}

func TestBodiesHaveLimits(t *testing.T) {
	w := newWorld(t)
	raw := func(kind, body string) *httptest.ResponseRecorder {
		return w.visit("POST", "/things/a", url.Values{}, header("Content-Type", kind), func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(body)) })
	}
	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		res  *httptest.ResponseRecorder
		want int
	}{
		"a form of the largest size":  {raw(form, "form=make&x="+strings.Repeat("a", 256<<10-len("form=make&x="))), 403},
		"one byte more":               {raw(form, "form=make&x="+strings.Repeat("a", 256<<10-len("form=make&x=")+1)), 413},
		"five hundred fields":         {raw(form, "form=make"+strings.Repeat("&a=1", 499)), 403},
		"one more":                    {raw(form, "form=make"+strings.Repeat("&a=1", 500)), 413},
		"JSON":                        {raw("application/json", "{}"), 415},
		"no type":                     {raw("", "form=make"), 415},
		"files":                       {raw("multipart/form-data; boundary=x", "--x--"), 415},
		"a broken escape":             {raw(form, "form=%zz"), 400},
		"no text":                     {raw(form, "form=make&name=%ff%fe"), 400},
		"a zero byte":                 {raw(form, "form=make&name=%00"), 400},
		"an unknown form":             {raw(form, "form=take"), 400},
		"nothing":                     {raw(form, ""), 400},
		"a type with more behind it":  {raw(form+"; charset=utf-8", "form=make"), 403},
		"a semicolon between fields ": {raw(form, "form=make;name=x"), 400},
	} {
		if c.res.Code != c.want {
			t.Errorf("%s: %d, want %d", name, c.res.Code, c.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]struct {
		status int
		view   string
	}{
		"/": {200, "home"}, "/things/a": {200, "thing a"}, "/things/new": {200, "new"}, "/things/a%2Fb": {200, "thing a/b"}, "/things/%E2%82%AC": {200, "thing €"},
		"/things/": {404, "trouble"}, "/things": {404, "trouble"}, "/things/a/": {404, "trouble"}, "//": {404, "trouble"}, "/things/%ff": {404, "trouble"},
		"/things/" + strings.Repeat("a", 300): {200, "thing " + strings.Repeat("a", 300)}, "/things/" + strings.Repeat("a", 301): {404, "trouble"},
		"/things/a?x=%zz": {404, "trouble"}, "/things/a?x=1": {200, "thing a"}, "/things/..": {200, "thing .."},
	} {
		res := w.visit("GET", path, nil)
		if res.Code != want.status || w.shown(res).View != want.view {
			t.Errorf("%s: %d %s, want %d %s", path, res.Code, w.shown(res).View, want.status, want.view)
		}
	}
	if res := w.visit("HEAD", "/", nil); res.Code != 200 || res.Body.Len() != 0 || res.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("HEAD: %d, %d bytes", res.Code, res.Body.Len())
	}
	for _, m := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} {
		if res := w.visit(m, "/", nil); res.Code != 405 || res.Header().Get("Allow") != "GET, HEAD, POST" {
			t.Errorf("%s: %d", m, res.Code)
		}
	}
}

func TestAPageOfAPersonNeedsASession(t *testing.T) {
	w := newWorld(t)
	if res := w.visit("GET", "/things/a%2Fb", nil, signedOut); res.Code != 303 || res.Header().Get("Location") != "/sign-in?next=%2Fthings%2Fa%252Fb" {
		t.Errorf("without a session: %d %s", res.Code, res.Header().Get("Location"))
	}
	for name, cookie := range map[string]string{"no token": "abc", "a wrong secret": w.token[:len(w.token)-4] + "AAAA", "another's id": strings.Replace(w.token, "gh_person", "gh_agent", 1)} {
		res := w.visit("GET", "/things/a", nil, header("Cookie", "guildhall="+cookie))
		if res.Code != 303 || !strings.HasPrefix(res.Header().Get("Location"), "/sign-in?next=") || !strings.Contains(res.Header().Get("Set-Cookie"), "guildhall=; ") {
			t.Errorf("%s: %d %s %q", name, res.Code, res.Header().Get("Location"), res.Header().Get("Set-Cookie"))
		}
	}
	w.x.Run("person", func(c *op.Call) error { return account.Session.Revoke(c, strings.Split(w.token, "_")[2]) })
	f := url.Values{"form": {"make"}, "name": {"bell"}, "token": {w.shown(w.visit("GET", "/", nil)).Token}}
	if res := w.visit("POST", "/things/a", f); w.things != 0 || res.Code != 303 && res.Code != 403 {
		t.Errorf("a session that is over makes things: %d", res.Code)
	}
}

func TestACookieOfHTTPSHasTheStrictName(t *testing.T) {
	w := newWorld(t, func(o *page.Options) { o.BaseURL = "https://guildhall.test" })
	if res := w.visit("GET", "/things/a", nil); res.Code != 303 {
		t.Errorf("the plain cookie opens a page served over https: %d", res.Code)
	}
	if res := w.visit("GET", "/things/a", nil, header("Cookie", "__Host-guildhall="+w.token)); res.Code != 200 {
		t.Errorf("the strict cookie: %d", res.Code)
	}
}

func TestNothingOfAMistakeIsShown(t *testing.T) {
	w := newWorld(t)
	for name, res := range map[string]*httptest.ResponseRecorder{
		"a page that panics": w.visit("GET", "/panics", nil), "a view that fails": w.visit("GET", "/torn", nil),
		"a GET that would change something": w.visit("GET", "/eager", nil), "an operation that fails": w.visit("POST", "/things/a", w.form("/things/a", "broken"))} {
		if res.Code != 500 || strings.Contains(res.Body.String(), "glass") || strings.Contains(res.Body.String(), "row 7") || strings.Contains(res.Body.String(), "half a page") {
			t.Errorf("%s: %d %s", name, res.Code, res.Body)
		}
	}
	sly := w.form("/things/a", "x")
	sly.Set("form", "sly")
	sly.Set("token", w.slyToken())
	if res := w.visit("POST", "/things/a", sly); res.Code != 500 {
		t.Errorf("a call the page did not declare: %d %s", res.Code, res.Body)
	}
	if w.things != 0 {
		t.Errorf("%d things were made", w.things)
	}
}

// slyToken signs a form the render function of these tests does not show.
func (w *world) slyToken() string {
	k := id.Keyring{Current: []byte("form key")}
	return "n." + k.MAC("form", w.token+"\n/things/a\nsly\nn")
}

func TestARedirectStaysHere(t *testing.T) {
	for to, want := range map[string]string{"/wants": "/wants", "/a?b=c#d": "/a?b=c#d", "": "/", "wants": "/", "//evil.test": "/", "/\\evil.test": "/", "http://evil.test": "/",
		"javascript:alert(1)": "/", "/a\nb": "/", "/%2F/evil": "/%2F/evil", "///evil.test": "/"} {
		if got := page.Local(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

func TestDeclarationsThatCannotBeServedPanic(t *testing.T) {
	get := func(*page.Visit) (*page.Answer, error) { return &page.Answer{}, nil }
	good := page.Page{ID: "a", Path: "/a", Auth: op.Public, Get: get}
	for name, list := range map[string][]*page.Page{
		"no id":                {{Path: "/a", Auth: op.Public, Get: get}},
		"no auth":              {{ID: "a", Path: "/a", Get: get}},
		"an agent's page":      {{ID: "a", Path: "/a", Auth: op.Maker, Get: get}},
		"nothing to show":      {{ID: "a", Path: "/a", Auth: op.Public}},
		"an unknown operation": {{ID: "a", Path: "/a", Auth: op.Public, Get: get, Calls: []string{"no.such.thing"}}},
		"one id twice":         {&good, {ID: "a", Path: "/b", Auth: op.Public, Get: get}},
		"one address twice":    {{ID: "a", Path: "/a/{x}", Auth: op.Public, Get: get}, {ID: "b", Path: "/a/{y}", Auth: op.Public, Get: get}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is served", name)
				}
			}()
			page.Handler(list, page.Options{Find: func(string) *op.Operation { return nil }})
		}()
	}
}

func FuzzForms(f *testing.F) {
	f.Add("form=make&token=a.b&name=x", "/things/a")
	f.Add("form=make&form=sly&token=%E2%80%AE.", "/things/%2e%2e")
	f.Add("=&=&;&%", "//x")
	f.Fuzz(func(t *testing.T, body, path string) {
		w := newWorld(t)
		r := httptest.NewRequest("POST", "http://guildhall.test/", strings.NewReader(body))
		u, err := url.Parse("http://guildhall.test" + path)
		if err != nil {
			return
		}
		r.URL = u
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.AddCookie(&http.Cookie{Name: "guildhall", Value: w.token})
		res := httptest.NewRecorder()
		w.h.ServeHTTP(res, r)
		if res.Code >= 500 || res.Code == 0 || w.things != 0 {
			t.Errorf("%d, %d things: %q at %q", res.Code, w.things, body, path)
		}
	})
}
