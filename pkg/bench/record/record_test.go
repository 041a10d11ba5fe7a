package record

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/audit"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

var tell = op.Declare(op.Meta{ID: "bench.test.tell", Method: "POST", Path: "/x/{agent}", Auth: op.Public, Summary: "Tell an agent."},
	func(c *op.Call, in struct {
		Agent string `path:"agent"`
	}) (struct{}, error) {
		for range 2 {
			if err := Event(c, in.Agent, E{Type: "test", DealID: "d"}); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})

func TestAFeedHasNoGapsUnderParallelWrites(t *testing.T) {
	x := optest.New(t)
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() { x.Do(tell, optest.Req{Path: map[string]string{"agent": "a"}}) })
	}
	wg.Wait()
	x.Run("bench", func(c *op.Call) error {
		last, err := Head(c, "a")
		if err != nil {
			return err
		}
		after, seen := int64(0), int64(0)
		for {
			page, more, err := Feed(c, "a", after, 7)
			if err != nil {
				return err
			}
			for _, e := range page {
				if seen++; e.Seq != seen || e.Type != "test" || e.DealID != "d" {
					t.Errorf("event %d: %+v", seen, e)
				}
				after = e.Seq
			}
			if !more {
				break
			}
		}
		if seen != last || last == 0 || last%2 != 0 {
			t.Errorf("%d events, the head says %d", seen, last)
		}
		return nil
	})
}

func TestAFeedBeyondItsEndIsEmpty(t *testing.T) {
	x := optest.New(t)
	x.Run("bench", func(c *op.Call) error {
		for _, after := range []int64{0, 5, 999_999_999_999} {
			page, more, err := Feed(c, "nobody", after, 0)
			if err != nil || len(page) != 0 || more {
				t.Errorf("after %d: %v %v %v", after, page, more, err)
			}
		}
		return nil
	})
}

func TestTheVocabularyIsClosedAndOrdered(t *testing.T) {
	x := optest.New(t)
	seen := map[Word]bool{}
	for _, w := range Words {
		if seen[w] {
			t.Errorf("%s is named twice", w)
		}
		seen[w] = true
	}
	x.Run("bench", func(c *op.Call) error {
		if err := Ledger(c, "deal.invented", Refs{}, nil); err == nil {
			t.Error("a word outside the vocabulary was taken")
		}
		// staged out of order, in one commit, at one moment
		for _, w := range []Word{TargetResolved, StepReleased, AskAnswered, StepApproved} {
			if err := Ledger(c, w, Refs{TargetID: "t", AgentNo: 3}, map[string]int{"n": 1}); err != nil {
				return err
			}
		}
		return Ledger(c, DealFunded, Refs{TargetID: "t", At: c.Now.Add(-time.Hour)}, nil)
	})
	x.Run("bench", func(c *op.Call) error {
		got := ""
		for s := range Shards {
			events, keys, err := PendingPage(c, fmt.Sprint(s), 40)
			if err != nil || len(keys) != len(events) {
				return err
			}
			for _, e := range events {
				got += " " + string(e.Event)
			}
		}
		if want := " deal.funded ask.answered step.approved step.released target.resolved"; got != want {
			t.Errorf("%s, want%s", got, want)
		}
		return nil
	})
}

func TestAuditRowsStandInTheTrailOfTheBench(t *testing.T) {
	x := optest.New(t)
	x.Run("bench", func(c *op.Call) error {
		return Audit(c, "system:", "test.done", "subject:1", map[string]int{"n": 1}, nil)
	})
	x.Run("bench", func(c *op.Call) error {
		rows, more, err := audit.Read(c, []string{"bench"}, audit.Place{}, 4)
		if err != nil || more || len(rows) != 1 || rows[0].Action != "test.done" || string(rows[0].Before) != `{"n":1}` || rows[0].After != nil {
			t.Errorf("%+v %v %v", rows, more, err)
		}
		return nil
	})
}
func TestTimesArePrintedInWholeSeconds(t *testing.T) {
	b, err := json.Marshal(Time(time.Date(2026, 7, 28, 17, 31, 29, 999_000_000, time.FixedZone("", 3600))))
	if err != nil || string(b) != `"2026-07-28T16:31:29Z"` {
		t.Errorf("%s %v", b, err)
	}
	var back Time
	if err := json.Unmarshal([]byte(`"2026-07-28T18:31:29+02:00"`), &back); err != nil || !time.Time(back).Equal(time.Date(2026, 7, 28, 16, 31, 29, 0, time.UTC)) {
		t.Errorf("%v %v", time.Time(back), err)
	}
	if At(time.Time{}) != nil || At(time.Unix(1, 0)) == nil {
		t.Error("the zero time is null")
	}
	for _, bad := range []string{`5`, `"soon"`, `"`} {
		if json.Unmarshal([]byte(bad), &back) == nil {
			t.Errorf("%s was taken for a time", bad)
		}
	}
}
