package roll_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
	"guildhall/pkg/table/mem"
)

func opKey(id string) table.Key { return table.Key{PK: "test.THING#" + id, SK: "ROOT"} }

// grow adds n members, a second apart, fifty a commit.
func grow(t testing.TB, x *optest.Exchange, r roll.Roll, n int) {
	t.Helper()
	at := x.Now()
	for done := 0; done < n; {
		err := x.Engine.Run(context.Background(), at, "test", func(c *op.Call) error {
			for range min(20, n-done) {
				p, err := r.Open(c, (done/20)%max(1, r.Shards))
				if err != nil {
					return err
				}
				r.Add(c, c.NewID(), p)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		done += min(20, n-done)
		at = at.Add(20 * time.Second)
	}
}

// cost is what a page costs in calls of the store.
func cost(t testing.TB, x *optest.Exchange, r roll.Roll, offset int) mem.Stats {
	t.Helper()
	before := x.Store.Stats()
	x.Run("test", func(c *op.Call) error {
		ids, _, _, err := r.Page(c, offset, 20)
		if len(ids) != 20 {
			t.Errorf("page at %d has %d rows", offset, len(ids))
		}
		return err
	})
	return x.Store.Stats().Since(before)
}

func TestAPageCostsTheSameHoweverLongTheListIs(t *testing.T) {
	sizes := []int{1000, 30_000}
	for _, shards := range []int{0, 4} {
		want := ""
		for _, size := range sizes {
			x, r := optest.New(t), list(shards, false)
			grow(t, x, r, size)
			for _, offset := range []int{0, 500, size / 2, size - 20} {
				s := cost(t, x, r, offset)
				got := fmt.Sprintf("%d gets and %d queries", s.Gets, s.Queries)
				if want == "" {
					want = got
				}
				if got != want || s.RowsRead > 4*(roll.BlockRows+100) {
					t.Errorf("%d shards, offset %d of %d: %s of %d rows, want %s", shards, offset, size, got, s.RowsRead, want)
				}
			}
		}
		t.Logf("%d shards: a page costs %s", shards, want)
	}
}

// The calls of a page of a million rows are reported, and must be those of a thousand.
func BenchmarkPageOfAMillion(b *testing.B) {
	x, r := optest.New(b), list(4, false)
	grow(b, x, r, 1_000_000)
	for _, offset := range []int{0, 20_000, 100_000, 999_980} {
		b.Run(fmt.Sprintf("offset=%d", offset), func(b *testing.B) {
			s := mem.Stats{}
			for b.Loop() {
				s = cost(b, x, r, offset)
			}
			b.ReportMetric(float64(s.Gets+s.Queries), "calls/op")
			b.ReportMetric(float64(s.RowsRead), "rows/op")
			if s.Gets != 1 || s.Queries != 4 {
				b.Errorf("%d gets and %d queries", s.Gets, s.Queries)
			}
		})
	}
}
