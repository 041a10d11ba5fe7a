package hostile

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"guildhall/pkg/op"
)

// twins is how many equal calls are made at once.
const twins = 4

// TestParallelTwinsUnderOneKeyAreOneCall plays the stories with every keyed write made several
// times at once: the twins are told the same, and the stories go on as if one was made.
func TestParallelTwinsUnderOneKeyAreOneCall(t *testing.T) {
	var mu sync.Mutex
	made, done := 0, 0
	w := openWith(t, *seed, func(w *world, r *http.Request, body []byte) *httptest.ResponseRecorder {
		o, _ := find(r)
		if o == nil || o.Idempotent != op.KeyRequired || r.Header.Get("Idempotency-Key") == "" {
			return w.once(r, body)
		}
		a := w.together(o, r, body)
		mu.Lock()
		defer mu.Unlock()
		made++
		if a.Code < 300 {
			done++
		}
		return a
	})
	t.Logf("%d writes of %d stories made %d times at once, %d of them succeeded", made, len(scripts), twins, done)
	if done < len(w.heard)/4 {
		t.Errorf("only %d writes had twins", done)
	}
}

// together makes a call several times at once and returns the answer that says most.
func (w *world) together(o *op.Operation, r *http.Request, body []byte) *httptest.ResponseRecorder {
	answers := make([]*httptest.ResponseRecorder, twins)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = w.once(r, body) })
	}
	wg.Wait()
	best := answers[0]
	for _, a := range answers {
		if a.Body.Len() > best.Body.Len() { // a replay leaves secrets out
			best = a
		}
	}
	for _, a := range answers {
		same := a.Body.String() == best.Body.String() || tokens.MatchString(best.Body.String())
		if a.Code != best.Code || !same {
			w.t.Errorf("%s: twins are told different things\n%d %s\n%d %s", o.ID, best.Code, best.Body, a.Code, a.Body)
			break
		}
	}
	return best
}

// once makes a call.
func (w *world) once(r *http.Request, body []byte) *httptest.ResponseRecorder {
	c := r.Clone(r.Context())
	c.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	w.next.ServeHTTP(rec, c)
	return rec
}
