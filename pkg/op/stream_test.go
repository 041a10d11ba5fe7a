package op_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

type fileIn struct {
	Body io.Reader `body:"stream"`
}

type fileOut struct {
	Text string `json:"text"`
}

// keepFile stores the first bytes of a stream.
func keepFile(bytes int64) func(*op.Call, fileIn) (fileOut, error) {
	return func(c *op.Call, in fileIn) (fileOut, error) {
		b, err := io.ReadAll(io.LimitReader(in.Body, bytes))
		c.Create(table.Key{PK: "test.FILES", SK: c.NewID()}, string(b))
		return fileOut{string(b)}, err
	}
}

func fileMeta() op.Meta {
	return op.Meta{ID: "test.file.send", Method: "POST", Path: "/f", Auth: op.Maker, Idempotent: op.KeyRequired, Summary: "Send a file.", MaxBody: 1 << 10}
}

// plainReader is a stream that cannot begin again.
func plainReader(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) }

func TestAKeyStandsForTheBytesOfAStream(t *testing.T) {
	for _, read := range []int64{1 << 10, 3, 0} { // the operation reads all of it, a part, nothing
		x := newExchange(t)
		o := op.Declare(fileMeta(), keepFile(read))
		token := x.maker()
		send := func(s string) *op.Response { return x.call(o, req{Token: token, Key: "k", Stream: plainReader(s)}) }
		first := send("one file")
		if first.Status != 200 || first.Replayed {
			t.Fatalf("%d %s", first.Status, first.Body)
		}
		if again := send("one file"); !again.Replayed || string(again.Body) != string(first.Body) {
			t.Errorf("read %d: the same bytes: %d %s", read, again.Status, again.Body)
		}
		for _, other := range []string{"one", "", "one file and more", "One file"} {
			if res := send(other); code(res) != "idempotency_conflict" {
				t.Errorf("read %d: %q: %d %s", read, other, res.Status, res.Body)
			}
		}
		if n := x.rows("test.FILES"); n != 1 {
			t.Errorf("read %d: %d files", read, n)
		}
	}
}

func TestALostRaceReadsTheStreamAgainOrIsBusy(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(fileMeta(), keepFile(1<<10))
	token := x.maker()
	for name, c := range map[string]struct {
		stream io.Reader
		want   int
	}{"can begin again": {strings.NewReader("seekable"), 200}, "cannot": {plainReader("passing"), 503}} {
		x.inject(faulty.Fault{Mode: faulty.Conflict})
		res := x.call(o, req{Token: token, Key: name, Stream: c.stream})
		if res.Status != c.want {
			t.Errorf("%s: %d %s", name, res.Status, res.Body)
		}
		if c.want == 200 && string(res.Body) != `{"ok":true,"text":"seekable"}` {
			t.Errorf("%s: %s", name, res.Body)
		}
	}
	if n := x.rows("test.FILES"); n != 1 {
		t.Errorf("%d files", n)
	}
}

func TestABrokenStreamIsTheOperationsToRefuse(t *testing.T) {
	x := newExchange(t)
	o := op.Declare(fileMeta(), keepFile(1<<10))
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("connection reset")))
	if res := x.call(o, req{Token: x.maker(), Key: "k", Stream: broken}); res.Status != 500 || x.rows("test.FILES") != 0 {
		t.Error(fmt.Sprint(res.Status), string(res.Body))
	}
}
