package op_test

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

func (x *exchange) inject(f faulty.Fault) {
	x.t.Helper()
	if _, err := x.faults.Inject(f); err != nil {
		x.t.Fatal(err)
	}
}

func TestAHundredIdenticalCallsMakeOneRowAndOneAnswer(t *testing.T) {
	const calls = 100
	x := newExchange(t)
	o := op.Declare(meta(), makeThing)
	token := x.maker()
	answers := make([]*op.Response, calls)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = x.call(o, req{Token: token, Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}) })
	}
	wg.Wait()
	if n := x.rows("test.SHELF#s"); n != 1 {
		t.Fatalf("%d rows, want 1", n)
	}
	first, replayed := 0, []byte(nil)
	for _, a := range answers {
		switch {
		case a.Status != 201:
			t.Fatalf("status %d: %s", a.Status, a.Body)
		case !a.Replayed:
			first++
		case replayed == nil:
			replayed = a.Body
		case !bytes.Equal(replayed, a.Body):
			t.Fatalf("two replays differ: %s, %s", replayed, a.Body)
		}
	}
	if first != 1 {
		t.Errorf("%d calls answered as the first", first)
	}
}

func TestAReplayIsTheFirstAnswerWithoutItsSecrets(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), makeThing)
	token := x.maker()
	r := req{Token: token, Key: "k", Body: `{"name":"<a> & \u2028"}`, Path: shelf("s")}
	a, b := x.call(o, r), x.call(o, r)
	secret, _ := member(t, a.Body, "secret").(string)
	if secret == "" || bytes.Contains(b.Body, []byte("secret")) {
		t.Fatalf("first %s, replay %s", a.Body, b.Body)
	}
	bare := strings.Replace(string(a.Body), `,"secret":"`+secret+`"`, "", 1)
	if string(b.Body) != bare || b.Status != a.Status || b.Header["Idempotent-Replayed"] != "true" || !b.Replayed {
		t.Errorf("replay %d %s %v, want %s", b.Status, b.Body, b.Header, bare)
	}
	if c := x.call(o, r); !bytes.Equal(b.Body, c.Body) {
		t.Errorf("the second replay differs: %s", c.Body)
	}
}

type plainOut struct {
	Text  string   `json:"text"`
	Float float64  `json:"float"`
	List  []string `json:"list"`
}

func (plainOut) Headers() map[string]string {
	return map[string]string{"Location": "/things/1", "Set-Cookie": "session=secret"}
}

func TestAReplayWithoutSecretsIsByteIdentical(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Status = 202 }), func(*op.Call, thingIn) (plainOut, error) {
		return plainOut{"<b>&amp;\u2028 \"quoted\" é", 1e21, nil}, nil
	})
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	a, b := x.call(o, r), x.call(o, r)
	if a.Status != 202 || !bytes.Equal(a.Body, b.Body) || b.Status != 202 {
		t.Errorf("first  %d %s\nreplay %d %s", a.Status, a.Body, b.Status, b.Body)
	}
	if b.Header["Location"] != "/things/1" || b.Header["Set-Cookie"] != "" || a.Header["Set-Cookie"] == "" {
		t.Errorf("headers %v, then %v", a.Header, b.Header)
	}
}

func TestALongAnswerIsReplayedWhole(t *testing.T) {
	x := newExchange(t)
	long := strings.Repeat("<line> of text\n", 20000) // 300 KB, stored compressed
	o := op.Declare(meta(), func(*op.Call, thingIn) (plainOut, error) { return plainOut{Text: long}, nil })
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	a, b := x.call(o, r), x.call(o, r)
	if a.Status != 201 || !bytes.Equal(a.Body, b.Body) || !b.Replayed {
		t.Errorf("%d with %d bytes, then %d with %d bytes", a.Status, len(a.Body), b.Status, len(b.Body))
	}
}

func TestOneCallersKeyNeverAnswersAnother(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), makeThing)
	r := req{Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	ids := map[any]bool{}
	for range 3 {
		r.Token = x.maker()
		res := x.call(o, r)
		if res.Status != 201 || res.Replayed {
			t.Fatalf("%d %s", res.Status, res.Body)
		}
		ids[member(t, res.Body, "id")] = true
	}
	if len(ids) != 3 {
		t.Errorf("%d things for 3 callers", len(ids))
	}
}

func TestOneOperationsKeyNeverAnswersAnother(t *testing.T) {
	x := newExchange(t)
	a := op.Declare(meta(), makeThing)
	b := op.Declare(meta(func(m *op.Meta) { m.ID = "test.thing.copy" }), makeThing)
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	if x.call(a, r).Replayed || x.call(b, r).Replayed {
		t.Error("a key was taken for another operation's")
	}
}

func TestAKeyStandsForOnePathAndBody(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), makeThing)
	token := x.maker()
	x.call(o, req{Token: token, Key: "k", Body: `{"name":"a","count":1}`, Path: shelf("s")})
	cases := []struct{ name, body, shelf, want string }{
		{"the same", `{"name":"a","count":1}`, "s", ""},
		{"members in another order", `{"count":1,"name":"a"}`, "s", ""},
		{"white space", ` { "name" : "a" , "count" : 1 } `, "s", ""},
		{"an escape", `{"name":"\u0061","count":1}`, "s", ""},
		{"another value", `{"name":"b","count":1}`, "s", "idempotency_conflict"},
		{"a member less", `{"name":"a"}`, "s", "idempotency_conflict"},
		{"another path", `{"name":"a","count":1}`, "t", "idempotency_conflict"},
		{"another body that is refused too", `{"name":"forbidden","count":1}`, "s", "idempotency_conflict"},
	}
	for _, c := range cases {
		res := x.call(o, req{Token: token, Key: "k", Body: c.body, Path: shelf(c.shelf)})
		if code(res) != c.want || res.Replayed != (c.want == "") {
			t.Errorf("%s: %d %s", c.name, res.Status, res.Body)
		}
	}
	if n := x.rows("test.SHELF#s"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestAFaultAfterTheCommitAndARetryGiveTheFirstAnswer(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), makeThing)
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	x.inject(faulty.Fault{Mode: faulty.FailAfter, Op: faulty.Commit})
	if res := x.call(o, r); res.Status != 503 || code(res) != "unavailable" || res.Header["Retry-After"] == "" {
		t.Fatalf("%d %s %v", res.Status, res.Body, res.Header)
	}
	if res := x.call(o, r); res.Status != 201 || !res.Replayed || x.rows("test.SHELF#s") != 1 {
		t.Errorf("%d %s, %d rows", res.Status, res.Body, x.rows("test.SHELF#s"))
	}
}

func TestAFaultBeforeTheCommitAndARetryDoTheCall(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), makeThing)
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	for _, f := range []faulty.Fault{{Mode: faulty.FailBefore, Op: faulty.Get}, {Mode: faulty.FailBefore, Op: faulty.Commit}, {Mode: faulty.Throttle, Op: faulty.Commit}} {
		x.inject(f)
		if res := x.call(o, r); res.Status != 503 {
			t.Fatalf("%d %s", res.Status, res.Body)
		}
	}
	if res := x.call(o, r); res.Status != 201 || res.Replayed || x.rows("test.SHELF#s") != 1 {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

// A cookie or a header of an answer that was not committed must not go out.
func TestAFailedCommitAnswersNoHeaderOfTheSuccess(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Limit = rule(5) }), func(*op.Call, thingIn) (plainOut, error) { return plainOut{}, nil })
	token := x.maker()
	x.inject(faulty.Fault{Mode: faulty.FailBefore, Op: faulty.Commit})
	res := x.call(o, req{Token: token, Key: "k", Body: `{"name":"a"}`, Path: shelf("s")})
	if res.Status != 503 || res.Header["Set-Cookie"] != "" || res.Header["Location"] != "" || res.Header["RateLimit-Limit"] != "5" {
		t.Errorf("%d %v", res.Status, res.Header)
	}
}

func TestARefusalIsNotKept(t *testing.T) {
	x := newExchange(t)
	refuse := true
	o := op.Declare(meta(), func(c *op.Call, in thingIn) (thingOut, error) {
		out, err := makeThing(c, in)
		if refuse {
			err = fault.New(fault.Conflict, "not_yet", "Not yet.")
		}
		return out, err
	})
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	if res := x.call(o, r); code(res) != "not_yet" || x.rows("test.SHELF#s") != 0 {
		t.Fatalf("%d %s", res.Status, res.Body)
	}
	refuse = false
	if res := x.call(o, r); res.Status != 201 || res.Replayed {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

func TestAKeyIsForgottenAfterThirtyDays(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(), makeThing)
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	a := x.call(o, r)
	x.advance(op.KeepReplays - time.Millisecond)
	if res := x.call(o, r); !res.Replayed || member(t, res.Body, "id") != member(t, a.Body, "id") {
		t.Errorf("a millisecond before: %s", res.Body)
	}
	x.advance(time.Millisecond)
	b := x.call(o, r)
	if b.Replayed || b.Status != 201 || x.rows("test.SHELF#s") != 2 {
		t.Errorf("after 30 days: %d %s", b.Status, b.Body)
	}
	if res := x.call(o, r); !res.Replayed || member(t, res.Body, "id") != member(t, b.Body, "id") {
		t.Errorf("the key stands for the newer call: %s", res.Body)
	}
}

func TestAContextCanKeepKeysForAnotherTime(t *testing.T) {
	op.Speak("brief", op.Dialect{OK: true, Keep: 24 * time.Hour})
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.ID = "brief.thing.make" }), makeThing)
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	x.call(o, r)
	x.advance(24*time.Hour - time.Millisecond)
	if !x.call(o, r).Replayed {
		t.Error("forgotten too early")
	}
	x.advance(time.Millisecond)
	if x.call(o, r).Replayed {
		t.Error("kept too long")
	}
}

func TestKeysAreOneToTwoHundredCharacters(t *testing.T) {
	x := newExchange(t)
	token := x.maker()
	cases := []struct {
		key      string
		required string
		optional string
	}{
		{"", "idempotency_key_required", ""},
		{"k", "", ""},
		{strings.Repeat("k", 200), "", ""},
		{strings.Repeat("é", 200), "", ""},
		{strings.Repeat("k", 201), "idempotency_key_required", "idempotency_key_required"},
		{"\xff", "idempotency_key_required", "idempotency_key_required"},
		{"# / ROOT", "", ""},
	}
	for i, c := range cases {
		for kind, want := range map[op.Idempotency]string{op.KeyRequired: c.required, op.KeyOptional: c.optional, op.KeyIgnored: ""} {
			o := op.Declare(meta(func(m *op.Meta) { m.ID, m.Idempotent = fmt.Sprintf("test.thing.make%d", kind), kind }), makeThing)
			if res := x.call(o, req{Token: token, Key: c.key, Body: `{"name":"a"}`, Path: shelf(fmt.Sprint(i))}); code(res) != want {
				t.Errorf("key %.20q (%d): %q, want %q", c.key, kind, code(res), want)
			}
		}
	}
}

func TestAnIgnoredKeyKeepsNothing(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Idempotent = op.KeyIgnored }), makeThing)
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	for range 2 {
		if x.call(o, r).Replayed {
			t.Error("a key that the operation ignores was honoured")
		}
	}
	if n := x.rows("test.SHELF#s"); n != 2 {
		t.Errorf("%d rows", n)
	}
}

func TestAPublicCallKeepsItsKeyUnderNobody(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Auth, m.Scope = op.Public, "" }), makeThing)
	r := req{Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	a := x.call(o, r)
	r.Token = x.maker()
	if b := x.call(o, r); !b.Replayed || member(t, b.Body, "id") != member(t, a.Body, "id") || bytes.Contains(b.Body, []byte("secret")) {
		t.Errorf("first %s, then with a token %s", a.Body, b.Body)
	}
}

// The idempotency record costs no round trip of its own: one read, one commit.
func TestAWriteIsOneReadAndOneCommit(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.Limit = rule(50) }), makeThing)
	token := x.maker()
	calls := map[faulty.Op]int{}
	x.Store = counted{x.mem, calls}
	x.call(o, req{Token: token, Key: "k", Body: `{"name":"a"}`, Path: shelf("s")})
	if calls[faulty.Get] != 1 || calls[faulty.Commit] != 1 || calls[faulty.Query] != 0 {
		t.Errorf("a first call took %v", calls)
	}
	clear(calls)
	x.call(o, req{Token: token, Key: "k", Body: `{"name":"a"}`, Path: shelf("s")})
	if calls[faulty.Get] != 1 || calls[faulty.Commit] != 0 {
		t.Errorf("a replay took %v", calls)
	}
}

// A call that read what its twin did, but not that it was its twin, is not refused for it.
func TestACallIsNotRefusedForWhatItsTwinDid(t *testing.T) {
	done := table.Key{PK: "test.DONE", SK: "ROOT"}
	x := newExchange(t)
	token, first := x.maker(), true
	call := func(o *op.Operation, key string) *op.Response {
		return x.call(o, req{Token: token, Key: key, Body: `{"name":"a"}`, Path: shelf("s")})
	}
	var o *op.Operation
	o = op.Declare(meta(), func(c *op.Call, in thingIn) (thingOut, error) {
		if first {
			first = false
			if twin := call(o, "k"); twin.Status != 201 {
				t.Errorf("%d %s", twin.Status, twin.Body)
			}
		}
		if r, err := c.Get(done); err != nil || r.Found() {
			return thingOut{}, cmp.Or(err, error(fault.New(fault.Conflict, "done_already", "")))
		}
		c.Put(done, in.Name)
		return makeThing(c, in)
	})
	if r := call(o, "k"); r.Status != 201 || !r.Replayed || r.Attempts != 2 {
		t.Errorf("%d after %d attempts: %s", r.Status, r.Attempts, r.Body)
	}
	if r := call(o, "other"); code(r) != "done_already" || r.Attempts != 1 {
		t.Errorf("another call: %d after %d attempts: %s", r.Status, r.Attempts, r.Body)
	}
}
