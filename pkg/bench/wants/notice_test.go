package wants_test

import (
	"fmt"
	"testing"
	"time"

	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// What one moment brought reads in the order it happened: by the deal's own events, and
// within a commit by who spoke first.
func TestNoticesOfOneMomentReadInTheOrderTheyHappened(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	at := w.Now().Add(-time.Hour)
	write := func(event int, subjects ...string) {
		w.Run("bench", func(c *op.Call) error {
			for _, s := range subjects {
				wants.AddToFeed(c, p.ID, at, event, wants.Notice{Subject: s, At: at})
			}
			return nil
		})
	}
	var of0, of9, of10 []string
	for n := range 12 {
		of0, of9, of10 = append(of0, fmt.Sprint("bid ", n)), append(of9, fmt.Sprint("ninth ", n)), append(of10, fmt.Sprint("tenth ", n))
	}
	write(10, of10...)
	write(9, of9...)
	write(0, of0...)
	feed, err := w.Store.Query(t.Context(), table.Query{PK: wants.FeedPartition(p.ID)}.Prefix(wants.FeedPrefix))
	if err != nil {
		t.Fatal(err)
	}
	want := append(append(of0, of9...), of10...)
	if len(feed.Rows) != len(want) {
		t.Fatalf("%d notices", len(feed.Rows))
	}
	for i, r := range feed.Rows {
		var n wants.Notice
		if err := op.Decode(r.Data, &n); err != nil || n.Subject != want[i] {
			t.Errorf("%d: %q instead of %q (%v)", i, n.Subject, want[i], err)
		}
	}
}
