package op_test

import (
	"context"
	"io"
	"testing"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

func TestWhatWasReadOnceIsThereForEveryDecision(t *testing.T) {
	reads := 0
	o := op.Declare(fileMeta(), func(c *op.Call, in fileIn) (fileOut, error) {
		got, err := c.Once("body", func() (any, error) {
			reads++
			b, err := io.ReadAll(in.Body)
			return string(b), err
		})
		if err != nil {
			return fileOut{}, err
		}
		c.Create(table.Key{PK: "test.FILES", SK: c.NewID()}, got)
		return fileOut{got.(string)}, nil
	})
	x := newExchange(t)
	token := x.maker()
	x.inject(faulty.Fault{Mode: faulty.Conflict, Times: 2})
	res := x.call(o, req{Token: token, Key: "k", Stream: plainReader("the bytes")})
	if res.Status != 200 || res.Attempts != 3 || reads != 1 || string(res.Body) != `{"ok":true,"text":"the bytes"}` {
		t.Errorf("%d after %d attempts and %d reads: %s", res.Status, res.Attempts, reads, res.Body)
	}
	if again := x.call(o, req{Token: token, Key: "k", Stream: plainReader("the bytes")}); !again.Replayed || reads != 1 {
		t.Errorf("the same bytes under the same key: %d %s", again.Status, again.Body)
	}
	if other := x.call(o, req{Token: token, Key: "k", Stream: plainReader("other bytes")}); code(other) != "idempotency_conflict" {
		t.Errorf("other bytes under the same key: %d %s", other.Status, other.Body)
	}
}

// What a request did outside the table is taken back when nothing of it was committed, and
// only then: not while the outcome of a commit is unknown.
func TestWhatARequestDidIsTakenBackUnlessItWasCommitted(t *testing.T) {
	twin := func(c *op.Call) {}
	o := op.Declare(fileMeta(), func(c *op.Call, in fileIn) (fileOut, error) {
		got, err := c.Once("body", func() (any, error) {
			b, err := io.ReadAll(in.Body)
			c.Undo(func(ctx context.Context) { *in.undone(ctx)++ })
			return string(b), err
		})
		if err != nil {
			return fileOut{}, err
		}
		if got == "bad" {
			return fileOut{}, fault.InvalidField
		}
		twin(c)
		c.Create(table.Key{PK: "test.FILES", SK: c.NewID()}, got)
		return fileOut{got.(string)}, nil
	})
	for name, k := range map[string]struct {
		body   string
		fault  faulty.Fault
		twin   bool
		status int
		undone int
	}{
		"committed":             {"good", faulty.Fault{}, false, 200, 0},
		"committed in the end":  {"good", faulty.Fault{Mode: faulty.Conflict, Times: 5}, false, 200, 0},
		"refused":               {"bad", faulty.Fault{}, false, 422, 1},
		"lost every race":       {"good", faulty.Fault{Mode: faulty.Conflict, Times: 6}, false, 503, 1},
		"nobody knows":          {"good", faulty.Fault{Mode: faulty.FailAfter, Op: faulty.Commit}, false, 503, 0},
		"what a twin committed": {"good", faulty.Fault{}, true, 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			undone := 0
			x := newExchange(t)
			token := x.maker()
			ctx := context.WithValue(t.Context(), undoneKey{}, &undone)
			r := &op.Request{Token: token, Key: "k", Stream: plainReader(k.body), Transport: "rest"}
			twin = func(*op.Call) {}
			if k.twin {
				twin = func(*op.Call) {
					twin = func(*op.Call) {}
					if first := x.Do(ctx, o, &op.Request{Token: token, Key: "k", Stream: plainReader(k.body), Transport: "rest"}); first.Status != 200 {
						t.Fatalf("%d %s", first.Status, first.Body)
					}
				}
			}
			if k.fault.Mode != "" {
				x.inject(k.fault)
			}
			if res := x.Do(ctx, o, r); res.Status != k.status || undone != k.undone || res.Replayed != k.twin {
				t.Errorf("%d (replayed: %v), taken back %d times: %s", res.Status, res.Replayed, undone, res.Body)
			}
		})
	}
}

type undoneKey struct{}

// undone counts what a test's request took back.
func (fileIn) undone(ctx context.Context) *int { return ctx.Value(undoneKey{}).(*int) }

func TestAFormKeepsItsKeyUnderAnotherDelimiter(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(fileMeta(), keepFile(1<<10))
	token := x.maker()
	send := func(boundary, body string) *op.Response {
		form := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n" + body + "\r\n--" + boundary + "--\r\n"
		return x.call(o, req{Token: token, Key: "k", Type: "multipart/form-data; boundary=" + boundary, Stream: plainReader(form)})
	}
	if first := send("aaaa", "one file"); first.Status != 200 || first.Replayed {
		t.Fatalf("%d %s", first.Status, first.Body)
	}
	for _, boundary := range []string{"aaaa", "bbbb", "a-much-longer-delimiter-than-before", "-"} {
		if again := send(boundary, "one file"); !again.Replayed {
			t.Errorf("delimiter %s: %d %s", boundary, again.Status, again.Body)
		}
		if other := send(boundary, "one File"); code(other) != "idempotency_conflict" {
			t.Errorf("delimiter %s, other bytes: %d %s", boundary, other.Status, other.Body)
		}
	}
}
