package morning

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/bench/drip"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

// few is how many people the tests with failures have.
const few = 60

// once checks that every person's feed and the public record have each day once.
func (h *hall) once(t *testing.T, days int) {
	t.Helper()
	feed, record, timers := map[string]int{}, 0, 0
	for _, r := range h.rows(t) {
		switch {
		case strings.HasPrefix(r.PK, "bench.LEDGER#"):
			record++
		case strings.HasPrefix(r.PK, "bench.PERSON#") && !strings.HasPrefix(r.SK, "DRIP#"):
			feed[r.PK]++
		case strings.HasPrefix(r.PK, "bench.CLOCK#") && strings.Contains(r.SK, "#"+drip.Timer+"#"):
			timers++
		}
	}
	for pk, n := range feed {
		if n != days {
			t.Errorf("%s has %d cards, want %d", pk, n, days)
		}
	}
	if len(feed) != len(h.ids) || record != days*len(h.ids) || timers != len(h.ids) {
		t.Errorf("%d feeds, %d public lines and %d timers of %d people after %d days", len(feed), record, timers, len(h.ids), days)
	}
}

// rows is the whole table.
func (h *hall) rows(t *testing.T) (all []table.Row) {
	t.Helper()
	for after, first := "", true; first || after != ""; first = false {
		rows, next, err := h.Store.List(context.Background(), after, table.MaxPageRows)
		if err != nil {
			t.Fatal(err)
		}
		all, after = append(all, rows...), next
	}
	return all
}

func TestAPieceLandsOnceWhateverTheTableDoes(t *testing.T) {
	for _, mode := range []faulty.Mode{faulty.Conflict, faulty.FailBefore, faulty.FailAfter, faulty.Throttle, faulty.Duplicate} {
		for _, what := range []faulty.Op{faulty.Commit, faulty.Get} {
			t.Run(string(mode)+" "+string(what), func(t *testing.T) {
				h := newHall(t, few, pieces)
				broken := faulty.Wrap(h.Engine.Store)
				h.Engine.Store = broken
				for skip := range 10 { // two calls in seven fail, for some time
					if _, err := broken.Inject(faulty.Fault{Mode: mode, Op: what, Skip: skip * 7, Times: 2}); err != nil {
						t.Fatal(err)
					}
				}
				for range 20 {
					if _, err := h.sweeper.SweepAll(context.Background(), due); err != nil && !errors.Is(err, table.ErrUnavailable) {
						t.Fatal(err)
					}
				}
				broken.Clear()
				h.dawnAgain(t, due)
				h.landed(t, 1)
				h.once(t, 1)
			})
		}
	}
}

// dawnAgain sweeps until nothing is due.
func (h *hall) dawnAgain(t *testing.T, now time.Time) {
	t.Helper()
	for range 5 {
		if _, err := h.sweeper.SweepAll(context.Background(), now); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSweepsSideBySideLandEachPieceOnce(t *testing.T) {
	h := newHall(t, 5*few, pieces)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := h.sweeper.SweepAll(context.Background(), due); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	h.dawnAgain(t, due)
	h.landed(t, 1)
	h.once(t, 1)
}

func TestAfterThreeDaysOfOutageEveryMissedDayLandsOldestFirst(t *testing.T) {
	h := newHall(t, few, pieces)
	h.dawnAgain(t, due)
	up := due.AddDate(0, 0, 3).Add(5 * time.Minute) // three mornings were missed, the last by five minutes
	h.dawnAgain(t, up)
	for _, id := range h.ids {
		h.Run("bench", func(c *op.Call) error {
			s, _, err := drip.Load(c, id)
			if err != nil || len(s.Released) != 4 {
				t.Fatalf("%d pieces are out: %v", len(s.Released), err)
			}
			for i, d := range s.Released {
				if want := due.AddDate(0, 0, i); !d.At.Equal(want) || d.Late != (i == 1 || i == 2) || i > 0 && !d.ReleasedAt.Equal(up) {
					t.Errorf("day %d: %+v, due %v", i+1, d, want)
				}
			}
			return nil
		})
	}
	h.once(t, 4)
}
