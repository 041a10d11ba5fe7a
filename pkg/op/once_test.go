package op_test

import (
	"io"
	"testing"

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
