package op_test

import (
	"encoding/json"
	"testing"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// receipts is a context's own use of keys: the first answer under a key stands for it.
func receipts(c *op.Call, e op.Early) (any, error) {
	if e.Key == "bad" {
		return nil, fault.New(fault.Invalid, "invalid_key", "No such key.")
	}
	out, found, err := op.Load[thingOut](c, table.Key{PK: "test.KEY#" + c.Caller.ID + e.Key, SK: "ROOT"})
	if err != nil || !found {
		return nil, err
	}
	out.Name += string(e.Canonical("count"))
	return out, nil
}

func keyedThing() *op.Operation {
	return op.Declare(meta(func(m *op.Meta) {
		m.Idempotent, m.Early, m.Limit, m.MaxBody = op.KeyIgnored, receipts, rule(1), 512
	}), func(c *op.Call, in thingIn) (thingOut, error) {
		out, err := makeThing(c, in)
		c.Create(table.Key{PK: "test.KEY#" + c.Caller.ID + "k", SK: "ROOT"}, out)
		return out, err
	})
}

func TestAnEarlyAnswerEndsTheCall(t *testing.T) {
	x, o := newExchange(t), keyedThing()
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	first := x.call(o, r)
	if first.Status != 201 || first.Replayed {
		t.Fatalf("%d %s", first.Status, first.Body)
	}
	// The limit is used up, a field is unknown: a replay is neither charged nor checked.
	r.Body = `{"name":"a","colour":"red","count":3}`
	again := x.call(o, r)
	if again.Status != 201 || !again.Replayed || again.Header["Idempotent-Replayed"] != "true" || member(t, again.Body, "id") != member(t, first.Body, "id") {
		t.Errorf("%d %v %s", again.Status, again.Header, again.Body)
	}
	if got := member(t, again.Body, "name"); got != `a{"colour":"red","name":"a"}` {
		t.Errorf("the canonical body is %v", got)
	}
	if x.rows("test.SHELF#s") != 1 {
		t.Error("a replay wrote something")
	}
}

func TestEarlyRefusalsStandBetweenCredentialAndLimit(t *testing.T) {
	x, o := newExchange(t), keyedThing()
	token := x.maker()
	for _, c := range []struct{ token, key, body, want string }{
		{"", "bad", `{"colour":1}`, "unauthorized"},
		{token, "bad", `{"colour":1}`, "invalid_key"},
		{token, "x", `{"colour":1}`, "unknown_field"},
		{token, "x", `{"name":"a"}`, ""},
		{token, "bad", `{"colour":1}`, "invalid_key"},
		{token, "y", `{"colour":1}`, "rate_limited"},
		{token, "x", `{"name":`, "invalid_json"},
	} {
		if got := code(x.call(o, req{Token: c.token, Key: c.key, Body: c.body, Path: shelf("s")})); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestWhyACredentialIsNotTaken(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Auth, m.Scope, m.Idempotent = op.Public, "", op.KeyIgnored }), func(c *op.Call, _ thingIn) (thingOut, error) {
		if c.Denied != nil {
			return thingOut{}, c.Denied
		}
		return thingOut{ID: c.Caller.ID}, nil
	})
	token := x.maker()
	for sent, want := range map[string]string{token: "", "": "", token[:len(token)-1] + "!": "unauthorized", "nonsense": ""} {
		if got := code(x.call(o, req{Token: sent, Body: `{"name":"a"}`, Path: shelf("s")})); got != want {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
}

type askIn struct {
	Q    string   `query:"q"`
	Tags []string `query:"tags" rule:"min=1,max=3,eachbytes=4"`
	On   bool     `query:"on" rule:"true"`
}

type askOut struct {
	Tags []string `json:"tags"`
}

func asking(id string) *op.Operation {
	return op.Declare(op.Meta{ID: id, Method: "GET", Path: "/" + id, Auth: op.Public, MaxQuery: 40, Summary: "Ask."},
		func(_ *op.Call, in askIn) (askOut, error) { return askOut{in.Tags}, nil })
}

func TestListsInAQuery(t *testing.T) {
	x, o := newExchange(t), asking("test.thing.ask")
	for _, c := range []struct {
		query map[string][]string
		want  string
	}{
		{map[string][]string{}, "null"}, {map[string][]string{"tags": {"a"}}, `["a"]`}, {map[string][]string{"tags": {"a,b"}}, `["a","b"]`},
		{map[string][]string{"tags": {"a", "b,c"}}, `["a","b","c"]`}, {map[string][]string{"tags": {"a,b,c,d"}}, "invalid_field"},
		{map[string][]string{"tags": {"abcde"}}, "invalid_field"}, {map[string][]string{"on": {"false"}}, "invalid_field"}, {map[string][]string{"on": {"true"}}, "null"},
	} {
		res := x.call(o, req{Query: c.query})
		got := code(res)
		if got == "" {
			b, _ := json.Marshal(member(t, res.Body, "tags"))
			got = string(b)
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.query, got, c.want)
		}
	}
}

func TestAStrictQuery(t *testing.T) {
	op.Speak("strict", op.Dialect{StrictQuery: true})
	x := newExchange(t)
	strict, loose := asking("strict.thing.ask"), asking("test.other.ask")
	for _, c := range []struct {
		query map[string][]string
		want  string
	}{{map[string][]string{"colour": {"red"}}, "unknown_field"}, {map[string][]string{"q": {"a", "b"}}, "invalid_field"}, {map[string][]string{"tags": {"a", "b"}}, ""}} {
		if got := code(x.call(strict, req{Query: c.query})); got != c.want {
			t.Errorf("%v: %q, want %q", c.query, got, c.want)
		}
		if got := code(x.call(loose, req{Query: c.query})); got != "" {
			t.Errorf("%v: %q where nothing is refused", c.query, got)
		}
	}
	if res := x.Do(t.Context(), strict, &op.Request{Transport: "rest", QueryBytes: 41}); res.Status != 414 || code(res) != "query_too_long" {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

func TestADialectShapesItsRefusals(t *testing.T) {
	op.Speak("shaped", op.Dialect{Refuse: func(f *fault.Fault) *fault.Fault { return f.With("detail", nil) }})
	x := newExchange(t)
	res := x.call(asking("shaped.thing.ask"), req{Query: map[string][]string{"on": {"no"}}})
	if res.Status != 422 || member(t, res.Body, "detail") != nil || code(res) != "invalid_field" {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

func TestSeveralLimitsAreTakenTogether(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) {
		m.Auth, m.Scope, m.Idempotent = op.Public, "", op.KeyIgnored
		m.Limit = &limit.Rule{Name: "hour", N: 2, Per: time.Hour, Exact: true, Also: []*limit.Rule{{Name: "day", N: 3, Per: 24 * time.Hour, Exact: true}},
			Nobody: &limit.Rule{Name: "address", N: 1, Per: time.Hour, By: limit.ByAddress, Exact: true}}
	}), makeThing)
	token := x.maker()
	call := func(token, address string) string {
		return code(x.call(o, req{Token: token, Address: address, Body: `{"name":"a"}`, Path: shelf("s")}))
	}
	steps := []struct {
		token, address, want string
		wait                 time.Duration
	}{{token, "a", "", 0}, {token, "b", "", 0}, {token, "a", "rate_limited", 0}, {"", "a", "", 0}, {"", "a", "rate_limited", 0}, {"", "b", "", 0},
		{token, "a", "", time.Hour}, {token, "a", "rate_limited", 0}, {token, "a", "rate_limited", time.Hour}, {token, "a", "", 23 * time.Hour}}
	for i, s := range steps {
		x.advance(s.wait)
		if got := call(s.token, s.address); got != s.want {
			t.Errorf("step %d: %q, want %q", i, got, s.want)
		}
	}
}

func TestALocalLimitWritesNothing(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(op.Meta{ID: "test.local.read", Method: "GET", Path: "/local", Auth: op.Public, Summary: "Read.",
		Limit: &limit.Rule{Name: "local", N: 2, Per: time.Minute, By: limit.ByAddress, Local: true}}, func(*op.Call, struct{}) (askOut, error) { return askOut{}, nil })
	call := func(address string) string { return code(x.call(o, req{Address: address})) }
	for i, want := range []string{"", "", "rate_limited"} {
		if got := call("a"); got != want {
			t.Errorf("call %d of an address: %q, want %q", i+1, got, want)
		}
	}
	if call("b") != "" {
		t.Error("another address is refused")
	}
	x.advance(30 * time.Second)
	if call("a") != "" || call("a") != "rate_limited" {
		t.Error("one more after half a minute")
	}
	if x.mem.Len() != 0 {
		t.Errorf("%d rows", x.mem.Len())
	}
}

func TestALimitInBytesIsSaid(t *testing.T) {
	b, err := json.Marshal(asking("test.bytes.ask").Params()[1].Schema.Of)
	if err != nil || string(b) != `{"description":"At most 4 UTF-8 bytes.","maxLength":4,"type":"string"}` {
		t.Errorf("%s %v", b, err)
	}
}
