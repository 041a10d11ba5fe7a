package op_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

var inbox = table.Key{PK: "test.INBOX", SK: "ROOT"}

type waitIn struct {
	Seconds int `query:"wait"`
}

func (in waitIn) Waits() time.Duration { return time.Duration(in.Seconds) * time.Second }

func (waitIn) Watches(string) table.Key { return inbox }

type waitOut struct {
	Mail string `json:"mail"`
}

func (o waitOut) Empty() bool { return o.Mail == "" }

func readInbox() *op.Operation {
	return op.Declare(op.Meta{ID: "test.inbox.read", Method: "GET", Path: "/inbox", Auth: op.Public, Summary: "Read the inbox."},
		func(c *op.Call, _ waitIn) (waitOut, error) {
			v, _, err := op.Load[string](c, inbox)
			return waitOut{v}, err
		})
}

// held calls with a wait and returns the answer and how long it took, in simulated time.
func held(x *exchange, ctx context.Context, o *op.Operation, seconds string) (string, time.Duration) {
	start := time.Now()
	res := x.Do(ctx, o, &op.Request{Transport: "rest", Query: map[string][]string{"wait": {seconds}}})
	return string(res.Body), time.Since(start)
}

const (
	none = `{"ok":true,"mail":""}`
	some = `{"ok":true,"mail":"hello"}`
)

func TestAHeldReadAnswersWhenSomethingHappens(t *testing.T) {
	for _, inProcess := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			x, o := newExchange(t), readInbox()
			if inProcess {
				x.Signals = &op.Signals{}
			}
			go func() {
				time.Sleep(5 * time.Second)
				x.seed(table.Key{PK: "test.OTHER", SK: "ROOT"}, "noise")
				time.Sleep(2100 * time.Millisecond)
				x.seed(inbox, "hello")
			}()
			body, took := held(x, t.Context(), o, "20")
			if late := took - 7100*time.Millisecond; body != some || late < 0 || late > 2*time.Second || inProcess && late > 0 {
				t.Errorf("in process %v: %s after %v", inProcess, body, took)
			}
		})
	}
}

func TestAHeldReadEndsInTime(t *testing.T) {
	cases := []struct {
		name, seconds string
		deadline      time.Duration
		want          time.Duration
	}{
		{"not held", "0", time.Hour, 0}, {"a second", "1", time.Hour, time.Second}, {"at most 20 seconds", "3600", time.Hour, 20 * time.Second},
		{"two seconds before the deadline", "20", 10 * time.Second, 8 * time.Second}, {"no time left", "20", time.Second, 0},
	}
	for _, c := range cases {
		for _, inProcess := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				x, o := newExchange(t), readInbox()
				if inProcess {
					x.Signals = &op.Signals{}
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				if body, took := held(x, ctx, o, c.seconds); body != none || took != c.want {
					t.Errorf("%s, in process %v: %s after %v", c.name, inProcess, body, took)
				}
			})
		}
	}
}

func TestAnAnswerThatIsThereIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, o := newExchange(t), readInbox()
		x.Signals = &op.Signals{}
		x.seed(inbox, "hello")
		if body, took := held(x, t.Context(), o, "20"); body != some || took != 0 {
			t.Errorf("%s after %v", body, took)
		}
	})
}

func TestFourReadsAreHeldAndTheFifthAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, o := newExchange(t), readInbox()
		x.Signals = &op.Signals{}
		took := make(chan time.Duration, 4)
		for range 4 {
			go func() {
				_, d := held(x, t.Context(), o, "10")
				took <- d
			}()
		}
		synctest.Wait()
		if _, d := held(x, t.Context(), o, "10"); d != 0 {
			t.Errorf("the fifth was held %v", d)
		}
		for range 4 {
			if d := <-took; d != 10*time.Second {
				t.Errorf("held %v", d)
			}
		}
		if _, d := held(x, t.Context(), o, "10"); d != 10*time.Second {
			t.Errorf("places are free again: held %v", d)
		}
	})
}

func TestADrainingProcessHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, o := newExchange(t), readInbox()
		x.Signals = &op.Signals{}
		go func() {
			time.Sleep(3 * time.Second)
			x.Signals.Stop()
		}()
		if body, took := held(x, t.Context(), o, "20"); body != none || took != 3*time.Second {
			t.Errorf("%s after %v", body, took)
		}
		if _, took := held(x, t.Context(), o, "20"); took != 0 {
			t.Errorf("held %v after the stop", took)
		}
	})
}
