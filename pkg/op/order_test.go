package op_test

import (
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// orderly refuses by existence, then by state.
func orderly(c *op.Call, in thingIn) (thingOut, error) {
	if in.Shelf == "nowhere" {
		return thingOut{}, fault.BareNotFound
	}
	if in.Shelf != "open" {
		return thingOut{}, fault.New(fault.Conflict, "shelf_closed", "The shelf is closed.")
	}
	return makeThing(c, in)
}

// plan is a request before its faults are planted.
type plan struct {
	x       *exchange
	req     req
	account account
	anon    bool
	body    map[string]string // raw JSON by member
	tail    string            // behind the body
	spent   bool              // the limit is used up
	used    bool              // the key was used for another request
}

// refusals are the faults of one request in the order in which they answer. Those of one
// rank exclude each other.
var refusals = []struct {
	name, code string
	rank       int
	plant      func(*plan)
}{
	{"size", "body_too_large", 1, func(p *plan) { p.tail += strings.Repeat(" ", 600) }},
	{"media type", "unsupported_media_type", 2, func(p *plan) { p.req.Type = "text/plain" }},
	{"JSON syntax", "invalid_json", 3, func(p *plan) { p.tail += "}" }},
	{"credential", "unauthorized", 4, func(p *plan) { p.anon = true }},
	{"scope", "unauthorized", 5, func(p *plan) { p.account.Scopes = []string{"other"} }},
	{"restriction", "account_restricted", 6, func(p *plan) { p.account.Restricted = true }},
	{"rate", "rate_limited", 7, func(p *plan) { p.spent = true }},
	{"no key", "idempotency_key_required", 8, func(p *plan) { p.req.Key = "" }},
	{"used key", "idempotency_conflict", 8, func(p *plan) { p.used = true }},
	{"unknown field", "unknown_field", 9, func(p *plan) { p.body["colour"] = `"red"` }},
	{"type", "invalid_field", 10, func(p *plan) { p.body["count"] = `"three"` }},
	{"own value rule", "name_forbidden", 11, func(p *plan) { p.body["name"] = `"forbidden"` }},
	{"general limit", "invalid_field", 12, func(p *plan) { p.body["extra_long"] = "" }},
	{"existence", "not found", 13, func(p *plan) { p.req.Path = shelf("nowhere") }},
	{"state", "shelf_closed", 13, func(p *plan) { p.req.Path = shelf("closed") }},
}

// send builds what the plan says and calls.
func (p *plan) send(o *op.Operation) *op.Response {
	token := p.x.maker()
	if p.used {
		first := p.req
		first.Token, first.Body, first.Path, first.Type = token, `{"name":"other"}`, shelf("open"), "application/json"
		p.x.call(o, first)
	}
	if p.spent {
		for range 3 {
			p.x.call(o, req{Token: token, Key: "fill", Body: `{"name":"fill"}`, Path: shelf("open")})
			p.x.call(o, req{Token: token, Key: "fill again", Body: `{"name":"fill"}`, Path: shelf("open")})
		}
	}
	p.x.become(token, p.account)
	if p.req.Token = token; p.anon {
		p.req.Token = token[:len(token)-1] + "!"
	}
	if _, ok := p.body["extra_long"]; ok {
		delete(p.body, "extra_long")
		p.body["count"] = "77"
	}
	var members []string
	for k, v := range p.body {
		members = append(members, `"`+k+`":`+v)
	}
	p.req.Body = "{" + strings.Join(members, ",") + "}" + p.tail
	return p.x.call(o, p.req)
}

func TestTheFirstOfTwoFaultsAnswers(t *testing.T) {
	m := meta(func(m *op.Meta) {
		m.MaxBody, m.Limit = 512, &limit.Rule{Name: "test.things", N: 2, Per: time.Hour, By: limit.ByAddress, Exact: true}
	})
	o := op.Declare(m, orderly)
	run := func(t *testing.T, want string, plants ...func(*plan)) {
		p := &plan{x: newExchange(t), account: account{Scopes: []string{"things:write"}}, body: map[string]string{"name": `"good"`},
			req: req{Key: "k", Path: shelf("open")}}
		for _, plant := range plants {
			plant(p)
		}
		if got := p.send(o); code(got) != want {
			t.Errorf("answered %d %q, want %q: %s", got.Status, code(got), want, got.Body)
		}
	}
	t.Run("no fault", func(t *testing.T) { run(t, "") })
	for i, a := range refusals {
		t.Run(a.name, func(t *testing.T) { run(t, a.code, a.plant) })
		for _, b := range refusals[i+1:] {
			if b.rank == a.rank || a.name == "type" && b.name == "general limit" {
				continue
			}
			t.Run(a.name+" and "+b.name, func(t *testing.T) { run(t, a.code, a.plant, b.plant) })
		}
	}
}

func TestALimitAnswersBeforeAUsedKeyAndNeverAReplay(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Limit = rule(2) }), makeThing)
	token := x.maker()
	first := req{Token: token, Key: "one", Body: `{"name":"a"}`, Path: shelf("s")}
	a := x.call(o, first)
	x.call(o, req{Token: token, Key: "two", Body: `{"name":"b"}`, Path: shelf("s")})
	other := first
	other.Body = `{"name":"c"}`
	if res := x.call(o, other); code(res) != "rate_limited" || res.Header["Retry-After"] != "3600" {
		t.Errorf("a used key over the limit: %d %s %v", res.Status, res.Body, res.Header)
	}
	for range 5 {
		if res := x.call(o, first); res.Status != 201 || member(t, res.Body, "id") != member(t, a.Body, "id") {
			t.Errorf("a replay over the limit: %d %s", res.Status, res.Body)
		}
	}
	x.advance(time.Hour)
	if res := x.call(o, other); code(res) != "idempotency_conflict" {
		t.Errorf("a used key within the limit: %d %s", res.Status, res.Body)
	}
}

func TestFieldProblemsAnswerInOneOrder(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Idempotent = op.KeyIgnored }), makeThing)
	token := x.maker()
	cases := []struct{ body, code, field string }{
		{`{"name":"a","zz":1,"aa":1}`, "unknown_field", "aa"},
		{`{"count":"x","name":5}`, "invalid_field", "name"},
		{`{"name":"forbidden","count":1.5}`, "invalid_field", "count"},
		{`{"name":"forbidden","count":10}`, "name_forbidden", "name"},
		{`{"count":10}`, "missing_field", "name"},
		{`{"name":"","count":10}`, "invalid_field", "name"},
		{`{"name":"   ","count":10}`, "invalid_field", "name"},
		{`{"name":null}`, "invalid_field", "name"},
		{`{"name":"a","count":null}`, "invalid_field", "count"},
		{`{"NAME":"a"}`, "unknown_field", "NAME"},
		{`[]`, "invalid_json", ""},
		{`"a"`, "invalid_json", ""},
		{``, "missing_field", "name"},
		{`{"name":"twelve chars"}`, "", ""},
		{`{"name":"thirteenchars"}`, "invalid_field", "name"},
		{`{"name":"a","count":9}`, "", ""},
		{`{"name":"a","count":-1}`, "invalid_field", "count"},
		{`{"name":"a","count":9e0}`, "invalid_field", "count"},
	}
	for _, c := range cases {
		res := x.call(o, req{Token: token, Body: c.body, Path: shelf("s")})
		field := ""
		if res.Fault != nil {
			field = res.Fault.Field
		}
		if code(res) != c.code || field != c.field {
			t.Errorf("%s: %q at %q, want %q at %q", c.body, code(res), field, c.code, c.field)
		}
	}
}

type looseIn struct {
	Note string `json:"note,omitempty" rule:"max=3"`
}

func TestIgnoredFieldsStayIgnoredWhateverTheirCase(t *testing.T) {
	x := newExchange(t)
	m := op.Meta{ID: "test.note.write", Method: "POST", Path: "/n", Auth: op.Public, Summary: "Write a note.", LooseBody: true}
	o := op.Declare(m, func(_ *op.Call, in looseIn) (looseIn, error) { return in, nil })
	if res := x.call(o, req{Body: `{"NOTE":"far too long","other":{"deep":1}}`}); res.Status != 200 || string(res.Body) != `{"ok":true}` {
		t.Errorf("%d %s", res.Status, res.Body)
	}
	if res := x.call(o, req{Body: `{"note":"far too long","other":1}`}); code(res) != "invalid_field" {
		t.Errorf("%d %s", res.Status, res.Body)
	}
	if res := x.call(o, req{Body: `{"note":"abc","other":1}`}); string(res.Body) != `{"ok":true,"note":"abc"}` {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

type queryIn struct {
	Limit int    `query:"limit" rule:"min=1,max=50"`
	After string `query:"after" rule:"max=5"`
	All   *bool  `query:"all"`
	Note  string `header:"X-Note" rule:"max=4"`
}

type queryOut struct {
	Limit int    `json:"limit"`
	After string `json:"after"`
	All   *bool  `json:"all"`
	Note  string `json:"note"`
}

func TestParametersAreCheckedLikeFields(t *testing.T) {
	x := newExchange(t)
	m := op.Meta{ID: "test.thing.list", Method: "GET", Path: "/t", Auth: op.Public, Summary: "List things."}
	o := op.Declare(m, func(_ *op.Call, in queryIn) (queryOut, error) { return queryOut(in), nil })
	cases := []struct{ query, note, want string }{
		{"", "", `{"ok":true,"limit":0,"after":"","all":null,"note":""}`},
		{"limit=50&after=abcde&all=true", "1234", `{"ok":true,"limit":50,"after":"abcde","all":true,"note":"1234"}`},
		{"limit=1&limit=99", "", `{"ok":true,"limit":1,"after":"","all":null,"note":""}`},
		{"limit=0", "", "limit"}, {"limit=51", "", "limit"}, {"limit=x", "", "limit"}, {"limit=1.5", "", "limit"},
		{"limit=", "", "limit"}, {"limit=99999999999999999999", "", "limit"}, {"limit=1e1", "", "limit"},
		{"after=abcdef", "", "after"}, {"all=maybe", "", "all"}, {"", "12345", "X-Note"},
	}
	for _, c := range cases {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		res := x.call(o, req{Query: q, Header: map[string]string{"X-Note": c.note}})
		got := string(res.Body)
		if res.Fault != nil {
			got = res.Fault.Field
		}
		if got != c.want {
			t.Errorf("?%s: %s, want %s", c.query, got, c.want)
		}
	}
}

func TestNobodyIsServedWithoutADeclaredAuth(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Auth = "" }), makeThing)
	for _, token := range []string{"", x.maker(), x.join("person", account{Roles: []string{"platform_admin"}})} {
		if res := x.call(o, req{Token: token, Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}); res.Status != 401 {
			t.Errorf("served %d to %.8s", res.Status, token)
		}
	}
}

func TestEachAuthServesItsOwnCallersOnly(t *testing.T) {
	x := newExchange(t)
	tokens := map[string]string{
		"nobody": "", "garbage": "gh_agent_x", "agent": x.maker(), "person": x.join("person", account{}),
		"steward": x.join("person", account{Roles: []string{"steward"}}), "admin": x.join("person", account{Roles: []string{"platform_admin"}}),
	}
	all := map[string]int{"nobody": 401, "garbage": 401, "agent": 401, "person": 401, "steward": 401, "admin": 401}
	with := func(m map[string]int) map[string]int {
		out := maps.Clone(all)
		maps.Copy(out, m)
		return out
	}
	cases := map[op.Auth]map[string]int{
		op.Public:  {"nobody": 201, "garbage": 201, "agent": 201, "person": 201, "steward": 201, "admin": 201},
		op.Maker:   with(map[string]int{"agent": 201}),
		op.Person:  with(map[string]int{"person": 201, "steward": 201, "admin": 201}),
		op.Steward: with(map[string]int{"person": 404, "steward": 201, "admin": 201}),
		op.Admin:   with(map[string]int{"person": 404, "steward": 404, "admin": 201}),
		op.Account: all, op.Visitor: all, op.Agent: all,
	}
	for auth, want := range cases {
		o := op.Declare(meta(func(m *op.Meta) { m.Auth, m.Scope, m.Idempotent = auth, "", op.KeyIgnored }), makeThing)
		for who, status := range want {
			if res := x.call(o, req{Token: tokens[who], Body: `{"name":"a"}`, Path: shelf("s")}); res.Status != status {
				t.Errorf("%s serves %s with %d, want %d", auth, who, res.Status, status)
			}
		}
	}
}

func TestTheBareNotFoundIsExactlyThat(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), orderly)
	res := x.call(o, req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("nowhere")})
	if res.Status != 404 || string(res.Body) != `{"ok":false,"error":"not found"}` {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

func TestAnUnlistedErrorShowsNothingOfItself(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), func(c *op.Call, in thingIn) (thingOut, error) {
		_, err := c.Query(table.Query{})
		return thingOut{}, err
	})
	res := x.call(o, req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")})
	if res.Status != 500 || code(res) != "internal_error" || strings.Contains(string(res.Body), "table") {
		t.Errorf("%d %s", res.Status, res.Body)
	}
	if res.Fault.Unwrap() == nil {
		t.Error("the log gets the cause")
	}
}
