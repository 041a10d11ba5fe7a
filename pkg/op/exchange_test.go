package op_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/url"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/caller"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
	"guildhall/pkg/table/mem"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// exchange is an engine over the store in memory with a clock that stands still and
// credentials that are one row each.
type exchange struct {
	*op.Engine
	t      testing.TB
	mem    *mem.Store
	faults *faulty.Store
	mu     sync.Mutex
	now    time.Time
	rand   *rand.ChaCha8
}

func newExchange(t testing.TB) *exchange {
	x := &exchange{t: t, mem: mem.New(), now: noon, rand: rand.NewChaCha8([32]byte{1})}
	x.faults = faulty.Wrap(x.mem)
	x.Engine = &op.Engine{Store: x.faults, Now: x.time, Rand: x, Keys: id.Keyring{Current: []byte("the current key of these tests")},
		Auth: map[string]op.Authenticator{"agent": simple{}, "person": simple{}}}
	return x
}

// Read makes the exchange a source of randomness that many may read.
func (x *exchange) Read(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rand.Read(p)
}

func (x *exchange) time() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.now
}

func (x *exchange) advance(d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.now = x.now.Add(d)
}

// simple accepts a token whose secret stands in its account's row.
type simple struct{}

type account struct {
	Secret     string
	Scopes     []string
	Roles      []string
	Restricted bool
}

func accountKey(id string) table.Key { return table.Key{PK: "test.ACCOUNT#" + id, SK: "ROOT"} }

func (simple) Accepts(transport string) bool { return transport == "rest" }

func (simple) Rows(t id.Token) []table.Key { return []table.Key{accountKey(t.Account)} }

func (simple) Verify(c *op.Call, t id.Token) (caller.Caller, error) {
	a, found, err := op.Load[account](c, accountKey(t.Account))
	if err != nil {
		return caller.Caller{}, err
	}
	if !found || a.Secret != t.Secret {
		return caller.Caller{}, fault.NoCredential
	}
	kind := caller.Maker
	if t.Kind == "person" {
		kind = caller.Person
	}
	return caller.Caller{Kind: kind, ID: t.Account, Scopes: a.Scopes, Roles: a.Roles, Restricted: a.Restricted}, nil
}

// join makes an account and returns its token.
func (x *exchange) join(kind string, a account) string {
	x.t.Helper()
	var token id.Token
	err := x.Run(context.Background(), x.time(), "test", func(c *op.Call) error {
		token = c.NewToken(kind, c.NewID())
		a.Secret = token.Secret
		c.Create(accountKey(token.Account), a)
		return nil
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return token.String()
}

// become changes what an account may do.
func (x *exchange) become(token string, a account) {
	x.t.Helper()
	t, _ := id.ParseToken(token)
	err := x.Run(context.Background(), x.time(), "test", func(c *op.Call) error {
		if _, err := c.Get(accountKey(t.Account)); err != nil {
			return err
		}
		a.Secret = t.Secret
		c.Put(accountKey(t.Account), a)
		return nil
	})
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *exchange) maker() string {
	x.t.Helper()
	return x.join("agent", account{Scopes: []string{"things:write"}})
}

// req is a request of these tests; Body is sent as it is.
type req struct {
	Token, Key, Body, Type string
	Path                   map[string]string
	Query                  url.Values
	Header                 map[string]string
	Address                string
	Stream                 io.Reader
}

func (x *exchange) call(o *op.Operation, r req) *op.Response {
	q := &op.Request{ID: "r", Transport: "rest", Path: r.Path, Query: r.Query, ContentType: "application/json", Body: []byte(r.Body),
		Stream: r.Stream, Token: r.Token, Key: r.Key, Address: "192.0.2.7", Header: func(n string) string { return r.Header[n] }}
	if r.Type != "" {
		q.ContentType = r.Type
	}
	if r.Address != "" {
		q.Address = r.Address
	}
	return x.Do(context.Background(), o, q)
}

// code is the error code of an answer, "" for a success.
func code(res *op.Response) string {
	if res.Fault == nil {
		return ""
	}
	return res.Fault.Code
}

func member(t testing.TB, body []byte, name string) any {
	t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return m[name]
}

// rows counts the rows of a partition.
func (x *exchange) rows(pk string) int {
	x.t.Helper()
	p, err := x.mem.Query(context.Background(), table.Query{PK: pk})
	if err != nil {
		x.t.Fatal(err)
	}
	return len(p.Rows)
}

type thingIn struct {
	Shelf string `path:"shelf" rule:"max=20"`
	Name  string `json:"name" rule:"required,min=1,max=12"`
	Count int64  `json:"count,omitempty" rule:"min=0,max=9"`
}

func (in thingIn) Validate() error {
	if in.Name == "forbidden" {
		return fault.New(fault.Invalid, "name_forbidden", "Take another name.").At("name")
	}
	return nil
}

type thingOut struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Secret string `json:"secret,omitempty" secret:"true"`
}

type thing struct{ Name string }

// meta is the declaration the tests begin with: a write with a credential, a scope and a
// required key.
func meta(change ...func(*op.Meta)) op.Meta {
	m := op.Meta{ID: "test.thing.make", Method: "POST", Path: "/test/shelves/{shelf}/things", Status: 201, Auth: op.Maker,
		Scope: "things:write", Idempotent: op.KeyRequired, Summary: "Make a thing."}
	for _, c := range change {
		c(&m)
	}
	return m
}

// makeThing stages one row and answers what it made.
func makeThing(c *op.Call, in thingIn) (thingOut, error) {
	out := thingOut{ID: c.NewID(), Name: in.Name, Secret: c.NewToken("thing", c.NewID()).String()}
	c.Create(table.Key{PK: "test.SHELF#" + in.Shelf, SK: "THING#" + out.ID}, thing{in.Name})
	return out, nil
}

func shelf(name string) map[string]string { return map[string]string{"shelf": name} }

func rule(n int) *limit.Rule {
	return &limit.Rule{Name: "test.things", N: n, Per: time.Hour, Exact: true}
}
