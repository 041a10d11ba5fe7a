package desk_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/url"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/desk"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

func text(v any) string { b, _ := json.Marshal(v); return string(b) }

func (w *world) brief(m maker, target string) optest.Res {
	w.T.Helper()
	return w.Do(desk.Brief, optest.Req{Token: m.Token, Path: benchtest.On(target)})
}

func (w *world) open(m maker, pairs ...string) optest.Res {
	w.T.Helper()
	return w.Do(desk.OpenTargets, optest.Req{Token: m.Token, Query: query(pairs...)})
}

// ids are the members of a list by the name of their id.
func ids(r optest.Res, list, id string) (out []string) {
	for _, x := range r.At(list).([]any) {
		out = append(out, x.(obj)[id].(string))
	}
	return out
}

// late lets the clock run on without any sweep; the function ends it.
func (w *world) late(d time.Duration) (end func()) {
	was := w.Engine.Now
	w.Engine.Now = func() time.Time { return was().Add(d) }
	return func() { w.Engine.Now = was }
}

func (w *world) close(p person, target string) {
	w.T.Helper()
	w.Do(wants.Close, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
}

func (w *world) withdraw(m maker, bid string) {
	w.T.Helper()
	w.Do(bids.Withdraw, optest.Req{Token: m.Token, Path: map[string]string{"proposal_id": bid}}).Want(200)
}

// attach puts a picture of n bytes beside a want and returns its name.
func (w *world) attach(p person, target string, n int) string {
	w.T.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	f, _ := form.CreateFormFile("file", "Ada Lovelace.png")
	_, _ = f.Write(append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{7}, n)...))
	_ = form.Close()
	return w.Do(wants.Attach, optest.Req{Token: p.Token, Path: benchtest.On(target), Type: form.FormDataContentType(), Stream: &b,
		Header: map[string]string{"Content-Type": form.FormDataContentType()}}).Want(201).Str("filename")
}

// practice makes a practice target.
func (w *world) practice(body obj, odds float64) (id string) {
	w.T.Helper()
	in, err := wants.ReadPractice([]byte(text(body)))
	if err != nil {
		w.T.Fatal(err)
	}
	w.Run("bench", func(c *op.Call) error { v, err := wants.CreatePractice(c, in); id = v.ID; return err })
	w.Run("bench", func(c *op.Call) error { return wants.SetFrozen(c, id, &odds) })
	return id
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
