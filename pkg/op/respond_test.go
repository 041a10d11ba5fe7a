package op_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

type key struct {
	Public string `json:"public"`
	Secret string `json:"secret,omitempty" secret:"true"`
}

type keysOut struct {
	At    time.Time `json:"at"`
	Key   key       `json:"key"`
	Other *key      `json:"other"`
	None  *key      `json:"none"`
}

func TestSecretsAreLeftOutOfReplaysAtAnyDepth(t *testing.T) {
	for name, declare := range map[string]func(op.Meta) *op.Operation{
		"a struct": func(m op.Meta) *op.Operation {
			return op.Declare(m, func(*op.Call, thingIn) (keysOut, error) {
				return keysOut{noon, key{"p", "hush"}, &key{"q", "hush"}, nil}, nil
			})
		},
		"a pointer": func(m op.Meta) *op.Operation {
			return op.Declare(m, func(*op.Call, thingIn) (*keysOut, error) {
				return &keysOut{noon, key{"p", "hush"}, &key{"q", "hush"}, nil}, nil
			})
		},
	} {
		x := newExchange(t)
		o := declare(meta())
		r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
		first, replay := string(x.call(o, r).Body), string(x.call(o, r).Body)
		if strings.Count(first, "hush") != 2 || strings.Contains(replay, "hush") || !strings.Contains(replay, `"other":{"public":"q"},"none":null`) {
			t.Errorf("%s: first %s, replay %s", name, first, replay)
		}
	}
}

type rawBody struct {
	Body json.RawMessage `body:"raw"`
	Sign string          `header:"Signature"`
}

type pageOut struct{ raw *op.Raw }

func (o pageOut) Raw() *op.Raw    { return o.raw }
func (o pageOut) StatusCode() int { return 207 }

func TestAnswersTakeTheFormTheirOutputGives(t *testing.T) {
	x := newExchange(t)
	raw := op.Declare(meta(func(m *op.Meta) { m.Cache = "public, max-age=60" }), func(*op.Call, thingIn) (pageOut, error) {
		return pageOut{&op.Raw{ContentType: "text/plain", Body: strings.NewReader("page"), Size: 4}}, nil
	})
	r := req{Token: x.maker(), Key: "k", Body: `{"name":"a"}`, Path: shelf("s")}
	for range 2 { // what is not JSON is never kept
		res := x.call(raw, r)
		if res.Status != 207 || res.Raw == nil || res.Body != nil || res.Replayed || res.Header["Cache-Control"] != "public, max-age=60" {
			t.Errorf("%+v", res)
		}
		if b, err := io.ReadAll(res.Raw.Body); err != nil || string(b) != "page" {
			t.Errorf("%s %v", b, err)
		}
	}
	refusing := op.Declare(meta(func(m *op.Meta) { m.Cache = "public, max-age=60" }), func(*op.Call, thingIn) (pageOut, error) {
		return pageOut{}, fault.BareNotFound
	})
	if res := x.call(refusing, r); res.Header["Cache-Control"] != "" || res.Raw != nil {
		t.Errorf("a refusal is cached: %+v", res)
	}
	if res := x.call(op.Declare(meta(), func(*op.Call, thingIn) (pageOut, error) { return pageOut{}, nil }), req{Token: r.Token, Key: "l", Body: r.Body, Path: r.Path}); string(res.Body) != `{"ok":true}` {
		t.Errorf("%s", res.Body)
	}
}

func TestDialectsWordTheEnvelopes(t *testing.T) {
	op.Speak("plain", op.Dialect{})
	op.Speak("wrapped", op.Dialect{Data: true})
	op.Speak("worded", op.Dialect{OK: true, Problem: func(p op.Problem) error { return fault.New(fault.BadRequest, "our "+p.Keyword, p.Field) }})
	x := newExchange(t)
	declare := func(context string) *op.Operation {
		return op.Declare(meta(func(m *op.Meta) { m.ID, m.Idempotent = context+".thing.make", op.KeyIgnored }),
			func(*op.Call, thingIn) (part, error) { return part{N: 1}, nil })
	}
	r := req{Token: x.maker(), Body: `{"name":"a"}`, Path: shelf("s")}
	for context, want := range map[string]string{"plain": `{"n":1}`, "wrapped": `{"data":{"n":1}}`, "worded": `{"ok":true,"n":1}`} {
		o := declare(context)
		if got := string(o.Envelope(x.call(o, r))); got != want {
			t.Errorf("%s: %s", context, got)
		}
	}
	for body, want := range map[string]string{`{"name":"a","x":1}`: "our unknown", `{"name":1}`: "our type", `{}`: "our missing", `{"name":"a","count":10}`: "our maximum"} {
		r.Body = body
		if res := x.call(declare("worded"), r); res.Status != 400 || code(res) != want {
			t.Errorf("%s: %d %s", body, res.Status, res.Body)
		}
	}
}

type part struct {
	N int `json:"n"`
}

type placed struct{ part }

func (placed) Beside() map[string]any {
	return map[string]any{"url": "http://a/?b&c", "also": 1}
}

func TestWhatStandsBesideTheDataIsRESTsAlone(t *testing.T) {
	op.Speak("wrapped", op.Dialect{Data: true})
	x := newExchange(t)
	o := op.Declare(meta(func(m *op.Meta) { m.ID, m.Idempotent = "wrapped.thing.place", op.KeyIgnored }),
		func(*op.Call, thingIn) (placed, error) { return placed{part{2}}, nil })
	res := x.call(o, req{Token: x.maker(), Body: `{"name":"a"}`, Path: shelf("s")})
	if want := `{"data":{"n":2},"also":1,"url":"http://a/?b&c"}`; string(o.Envelope(res)) != want || string(res.Body) != `{"n":2}` {
		t.Errorf("%s and %s", o.Envelope(res), res.Body)
	}
}

func TestAWebhookGetsItsBodyUntouched(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(op.Meta{ID: "test.hook.take", Method: "POST", Path: "/hook", Auth: op.Webhook, Summary: "Take a notice."},
		func(c *op.Call, in rawBody) (struct {
			Got string `json:"got"`
		}, error) {
			return struct {
				Got string `json:"got"`
			}{in.Sign + " " + string(in.Body)}, nil
		})
	for _, body := range []string{`{"a":1,"a":2}`, `not json`, ""} {
		res := x.call(o, req{Body: body, Type: "text/plain", Header: map[string]string{"Signature": "t=1,v1=ab"}})
		if res.Status != 200 || member(t, res.Body, "got") != "t=1,v1=ab "+body {
			t.Errorf("%q: %d %s", body, res.Status, res.Body)
		}
	}
}

func TestAFormIsReadOnlyWhereItIsDeclared(t *testing.T) {
	x := newExchange(t)
	declare := func(form bool) *op.Operation {
		return op.Declare(meta(func(m *op.Meta) { m.FormBody, m.Idempotent = form, op.KeyIgnored }), makeThing)
	}
	token := x.maker()
	form := req{Token: token, Body: "name=a+b&count=", Type: "application/x-www-form-urlencoded; charset=utf-8", Path: shelf("s")}
	if res := x.call(declare(true), form); code(res) != "invalid_field" || res.Fault.Field != "count" {
		t.Errorf("a form's values are texts: %d %s", res.Status, res.Body)
	}
	form.Body = "name=a+b&name=c"
	if res := x.call(declare(true), form); res.Status != 201 || member(t, res.Body, "name") != "a b" {
		t.Errorf("%d %s", res.Status, res.Body)
	}
	if res := x.call(declare(false), form); res.Status != 415 {
		t.Errorf("%d %s", res.Status, res.Body)
	}
	for _, bad := range []string{"name=%zz", "a;b"} {
		form.Body = bad
		if res := x.call(declare(true), form); res.Status != 400 {
			t.Errorf("%q: %d %s", bad, res.Status, res.Body)
		}
	}
}

type patchIn struct {
	Note op.Field[string] `json:"note,omitzero"`
}

type patchOut struct {
	Sent  bool             `json:"sent"`
	Value *string          `json:"value"`
	Echo  op.Field[string] `json:"echo,omitzero"`
}

func TestAFieldTellsAbsentFromNull(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(op.Meta{ID: "test.note.patch", Method: "PATCH", Path: "/n", Auth: op.Public, Summary: "Change a note."},
		func(_ *op.Call, in patchIn) (patchOut, error) {
			return patchOut{in.Note.Sent, in.Note.Value, in.Note}, nil
		})
	for body, want := range map[string]string{
		`{}`:            `{"ok":true,"sent":false,"value":null}`,
		`{"note":null}`: `{"ok":true,"sent":true,"value":null,"echo":null}`,
		`{"note":"a"}`:  `{"ok":true,"sent":true,"value":"a","echo":"a"}`,
	} {
		if res := x.call(o, req{Body: body}); string(res.Body) != want {
			t.Errorf("%s: %s, want %s", body, res.Body, want)
		}
	}
	if res := x.call(o, req{Body: `{"note":5}`}); code(res) != "invalid_field" {
		t.Errorf("%d %s", res.Status, res.Body)
	}
}

func TestTheBodyHashKnowsListsAndNesting(t *testing.T) {
	x := newExchange(t)
	m := op.Meta{ID: "test.list.write", Method: "POST", Path: "/l", Auth: op.Public, Idempotent: op.KeyRequired, Summary: "Write a list.", BodySchema: func() []byte { return []byte(`{}`) }}
	o := op.Declare(m, func(*op.Call, rawBody) (struct{}, error) { return struct{}{}, nil })
	x.call(o, req{Key: "k", Body: `{"a":[1,[2,{"b":null,"c":"x"}]],"d":true}`})
	for body, replayed := range map[string]bool{
		`{"d":true,"a":[1,[2,{"c":"x","b":null}]]}`:   true,
		`{"d":true,"a":[1,2,{"c":"x","b":null}]}`:     false,
		`{"d":true,"a":[1,[{"c":"x","b":null},2]]}`:   false,
		`{"d":true,"a":[1,[2,{"c":"x"}]]}`:            false,
		`{"d":"true","a":[1,[2,{"c":"x","b":null}]]}`: false,
	} {
		if res := x.call(o, req{Key: "k", Body: body}); res.Replayed != replayed {
			t.Errorf("%s: %d %s", body, res.Status, res.Body)
		}
	}
}

func TestABearerIsReadFromItsHeader(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer abc": "abc", "BEARER  abc ": "abc", "Basic abc": "", "Bearer": "", "": "", "Bearerabc": "",
	} {
		if got := op.Bearer(header); got != want {
			t.Errorf("%q: %q", header, got)
		}
	}
}

func TestEffectsAreTriedLessAndLessOften(t *testing.T) {
	last := time.Duration(0)
	for n := range op.MaxTries {
		d := op.Backoff(n)
		if d < last || d < 10*time.Second || d > 2*time.Hour {
			t.Errorf("try %d waits %v after %v", n, d, last)
		}
		last = d
	}
	if op.Backoff(1_000_000) != 2*time.Hour {
		t.Error(op.Backoff(1_000_000))
	}
}
