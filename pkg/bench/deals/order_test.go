package deals_test

import (
	"fmt"
	"strings"
	"testing"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/op/optest"
)

// TestWhatHappensInOneMomentIsListedInTheOrderItWasMade: the clock of a local exchange
// stands still between calls, so many entries carry one time.
func TestWhatHappensInOneMomentIsListedInTheOrderItWasMade(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.BidOf(0, dealtest.Step("Part 1", "APPROVE", 4500), dealtest.Step("Part 2", "APPROVE", 4500)))
	var want []string
	for i := range 12 {
		words := fmt.Sprintf("Message %d.", i)
		want = append(want, words)
		if i%2 == 0 {
			d.OnStep(deals.Reply, "2", m{"reply": words}).Want(200)
			continue
		}
		p := d.Paths()
		p["step_id"] = "2"
		d.Do(deals.Write, optest.Req{Token: d.Person, Path: p, Body: m{"body": words}}).Want(201)
	}
	for _, percent := range []int{0, 25, 50, 75, 100} {
		d.Pulse(percent).Want(201)
		want = append(want, fmt.Sprintf("%d %%.", percent))
	}
	list := d.OnStep(deals.ReadMessages, "2", nil).Want(200)
	thread := d.Current()
	for i, words := range want {
		for _, body := range []string{list.Str(fmt.Sprintf("messages.%d.body", i)), thread.Str(fmt.Sprintf("step_thread.messages.%d.body", i))} {
			if !strings.HasPrefix(body, words) {
				t.Errorf("entry %d is %q, not %q", i, body, words)
			}
		}
	}
}

// TestTheNewestOutcomeOfAMomentIsTheLastOneFiled: a round of changes takes no time on a
// clock that stands still.
func TestTheNewestOutcomeOfAMomentIsTheLastOneFiled(t *testing.T) {
	for range 5 { // ids are random: two of three orders are wrong
		w := newWorld(t)
		d := w.signed(dealtest.BidOf(0, dealtest.Step("Part 1", "APPROVE", 4500, m{"rounds": 2}), dealtest.Step("Part 2", "APPROVE", 4500)))
		var receipts []string
		for version := 1; version <= 3; version++ {
			receipts = append(receipts, d.Deliver().Str("receipt_id"))
			p := d.Paths()
			p["step_id"] = "2"
			shown := d.Do(deals.ReadStep, optest.Req{Token: d.Person, Path: p}).Want(200)
			for i, want := range receipts {
				if got := shown.Str(fmt.Sprintf("cards.%d.card", i)); got != "item:"+want {
					t.Fatalf("card %d of %d is %q, not that of %s", i, version, got, want)
				}
			}
			if version < 3 {
				d.Answer(2, m{"verdict": "request_changes", "reason": "Again."}).Want(200)
			}
		}
	}
}
