package op_test

import (
	"io"
	"strings"
	"testing"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

type eitherIn struct {
	Shelf string    `path:"shelf"`
	Note  string    `json:"note,omitempty" rule:"max=5"`
	Spoke string    `header:"X-Note"`
	Other string    `header:"Y-Note"`
	Body  io.Reader `body:"other" json:"-"`
}

// either answers with what came, in either form.
func either(c *op.Call, in eitherIn) (fileOut, error) {
	c.Create(table.Key{PK: "test.FILES", SK: c.NewID()}, "x")
	if in.Body == nil {
		return fileOut{"json " + in.Note}, nil
	}
	b, err := io.ReadAll(in.Body)
	return fileOut{"bytes " + string(b) + in.Spoke}, err
}

func eitherOp() *op.Operation {
	return op.Declare(meta(func(m *op.Meta) { m.MaxBody = 4 << 20 }), either)
}

// TestABodyIsJSONOrAStream: the media type tells; JSON is checked like everybody's.
func TestABodyIsJSONOrAStream(t *testing.T) {
	x := newExchange(t)
	o, token := eitherOp(), x.maker()
	for _, c := range []struct {
		r    req
		want string
	}{
		{req{Body: `{"note":"a"}`}, "json a"}, {req{Body: `{"note":"abcdef"}`}, "invalid_field"}, {req{Body: `{"nose":"a"}`}, "unknown_field"},
		{req{Body: `{`}, "invalid_json"}, {req{Body: "abc", Type: "text/plain"}, "unsupported_media_type"}, // a transport that hands no stream over
		{req{Stream: plainReader(`{"nose":1}`), Type: "text/plain"}, "bytes {\"nose\":1}"},
	} {
		c.r.Token, c.r.Key, c.r.Path = token, "k"+c.want, shelf("s")
		res := x.call(o, c.r)
		got := code(res)
		if got == "" {
			got, _ = member(t, res.Body, "text").(string)
		}
		if got != c.want {
			t.Errorf("%+v: %d %s, want %s", c.r, res.Status, res.Body, c.want)
		}
	}
	for kind, want := range map[string]bool{"application/json": false, "application/json; charset=utf-8": false, "": false, "///": false,
		"multipart/form-data; boundary=x": false, "text/plain": true, "application/octet-stream": true, "application/ld+json": true} {
		if o.Streamed(kind) != want {
			t.Errorf("%q is a stream: %v", kind, !want)
		}
	}
	if o.MaxJSON() != op.DefaultMaxBody || o.TakesStream() || !o.TakesOther() {
		t.Error("a JSON body ends where everybody's does")
	}
	if big := x.call(o, req{Token: token, Key: "big", Path: shelf("s"), Body: `{"note":"` + strings.Repeat(" ", op.DefaultMaxBody) + `"}`}); code(big) != "body_too_large" {
		t.Errorf("%d %s", big.Status, big.Body)
	}
}

// TestAKeyStandsForTheWordsBesideAStream: the headers that say the rest of a streamed call
// are part of what a key stands for.
func TestAKeyStandsForTheWordsBesideAStream(t *testing.T) {
	x := newExchange(t)
	o, token := eitherOp(), x.maker()
	send := func(body, spoke, other string) *op.Response {
		return x.call(o, req{Token: token, Key: "k", Path: shelf("s"), Type: "text/plain", Stream: plainReader(body), Header: map[string]string{"X-Note": spoke, "Y-Note": other}})
	}
	if res := send("a", "n", "o"); res.Status != 201 || res.Replayed {
		t.Fatalf("%d %s", res.Status, res.Body)
	}
	if res := send("a", "n", "another"); !res.Replayed {
		t.Errorf("the same words: %d %s", res.Status, res.Body)
	}
	for _, c := range [][2]string{{"a", "m"}, {"a", ""}, {"b", "n"}, {"an", ""}} {
		if res := send(c[0], c[1], "o"); code(res) != "idempotency_conflict" {
			t.Errorf("%v: %d %s", c, res.Status, res.Body)
		}
	}
}

// TestWhatStandsIsWrittenWithTheRefusal: and nothing else of the call, once.
func TestWhatStandsIsWrittenWithTheRefusal(t *testing.T) {
	x := newExchange(t)
	asked := table.Key{PK: "test.ASKED", SK: "ROOT"}
	o := op.Declare(meta(), func(c *op.Call, in thingIn) (thingOut, error) {
		n, found, err := op.Load[string](c, asked)
		if err != nil {
			return thingOut{}, err
		}
		c.Create(table.Key{PK: "test.OTHER", SK: c.NewID()}, "never")
		if !found {
			c.Put(asked, in.Name)
			c.Stand(asked)
		}
		return thingOut{}, fault.New(fault.Invalid, "held", "Held.").With("since", n)
	})
	token := x.maker()
	for _, name := range []string{"a", "b"} {
		if res := x.call(o, req{Token: token, Key: "k", Body: `{"name":"` + name + `"}`, Path: shelf("s")}); code(res) != "held" {
			t.Fatalf("%d %s", res.Status, res.Body)
		}
	}
	if x.rows("test.OTHER") != 0 || x.value(asked) != `"a"` {
		t.Errorf("what stands is %q, beside %d other rows", x.value(asked), x.rows("test.OTHER"))
	}
}
