package blob_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/memblob"
)

// One run is bounded, and the next goes on where it ended: a hundred young uploads before an
// old one do not keep it, and neither do more old ones than a run deletes.
func TestAPurgeGoesOnWhereItEnded(t *testing.T) {
	now := time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC)
	at := now
	s := memblob.New(func() time.Time { return at }, blob.Signer{})
	put := func(key string) {
		t.Helper()
		if _, err := s.Put(t.Context(), key, strings.NewReader("x"), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const perRun = 200 // what one run deletes
	for i := range 2*perRun + 1 {
		put(blob.UploadKey(fmt.Sprintf("old-%04d", i)))
	}
	put("deals/1/x")
	at = now.Add(2 * time.Hour)
	for i := range 100 {
		put(blob.UploadKey(fmt.Sprintf("a-young-%04d", i)))
	}
	p := blob.Purger{Store: s}
	for run, want := range []struct {
		deleted int
		done    bool
	}{{perRun, false}, {perRun, false}, {1, true}, {0, true}} {
		deleted, done, err := p.Run(t.Context(), now.Add(time.Hour))
		if err != nil || deleted != want.deleted || done != want.done {
			t.Errorf("run %d: %d, %v, %v; want %+v", run, deleted, done, err, want)
		}
	}
	page, err := s.List(t.Context(), "", "", blob.MaxListed)
	if err != nil || len(page.Entries) != 101 {
		t.Errorf("%d objects are left, %v; want 101", len(page.Entries), err)
	}
}
