package morning

import (
	"testing"
	"time"

	"guildhall/pkg/bench/drip"
	"guildhall/pkg/op"
)

// Budgets of a release: commits, and read calls. The last day reads the person's list and the
// agent's head as well, once in a timed delivery.
const (
	maxCommits = 1.0
	maxReads   = 0.1
	lastReads  = 1.0
)

func TestAThousandPiecesOfOneMinuteCostOneCommitEachAndATenthOfARead(t *testing.T) {
	const people = 1000
	for _, c := range []struct {
		name   string
		length int
		reads  float64
	}{{"a day among many", pieces, maxReads}, {"the last day", 1, maxReads + lastReads}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHall(t, people, c.length)
			cost := h.dawn()
			commits, reads := float64(cost.Commits)/people, float64(cost.Gets+cost.Queries)/people
			t.Logf("a release: %.3f commits, %.3f read calls, %.1f write units, %.1f read units, %.1f rows written", commits, reads,
				float64(cost.WriteUnits)/people, float64(cost.ReadUnits)/people, float64(cost.RowsWritten)/people)
			if commits > maxCommits || reads > c.reads {
				t.Errorf("a release costs %.3f commits and %.3f read calls, want at most %v and %v", commits, reads, maxCommits, c.reads)
			}
			h.landed(t, 1)
		})
	}
}

// landed checks that each timed delivery has so many pieces out, in order, the last at its
// time and none late.
func (h *hall) landed(t *testing.T, days int) {
	t.Helper()
	for _, id := range h.ids {
		h.Run("bench", func(c *op.Call) error {
			s, found, err := drip.Load(c, id)
			if err != nil || !found || len(s.Released) != days {
				t.Fatalf("%d pieces of %s are out, want %d: %v", len(s.Released), id, days, err)
			}
			for i, d := range s.Released {
				if want := due.AddDate(0, 0, i); !d.At.Equal(want) || d.Late {
					t.Fatalf("day %d of %s landed at %v (late: %v), want %v", i+1, id, d.At, d.Late, want)
				}
			}
			if s.Status == drip.Delivering && !s.Timer.Due.Equal(due.Add(time.Duration(days)*24*time.Hour)) {
				t.Fatalf("the next of %s falls due at %v", id, s.Timer.Due)
			}
			return nil
		})
	}
}
