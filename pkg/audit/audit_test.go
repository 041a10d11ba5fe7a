package audit_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/audit"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// fill writes n rows in turn over all contexts, several in one moment.
func fill(x *optest.Exchange, n int, before any) {
	for i := range n {
		x.Run("bench", func(c *op.Call) error {
			return audit.Write(c, audit.Contexts[i%len(audit.Contexts)], "system:", "test.done", fmt.Sprint("subject:", i/4), before, map[string]int{"n": i})
		})
		if i%6 == 5 {
			x.Advance(time.Second)
		}
	}
}

// pages walks the trail in pages of limit rows.
func pages(t *testing.T, c *op.Call, contexts []string, limit int) (all []audit.Entry, sizes []int) {
	t.Helper()
	var at audit.Place
	for {
		rows, more, err := audit.Read(c, contexts, at, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 && more {
			t.Fatal("an empty page with more behind it")
		}
		all, sizes = append(all, rows...), append(sizes, len(rows))
		if !more {
			return all, sizes
		}
		at = rows[len(rows)-1].Place()
	}
}

// behind tells whether b stands behind a in the merged trail.
func behind(a, b audit.Entry) bool {
	return b.At.Before(a.At) || b.At.Equal(a.At) && b.ID < a.ID
}

func TestTheTrailsOfAllContextsReadAsOneNewestFirst(t *testing.T) {
	x := optest.New(t)
	fill(x, 61, nil)
	x.Run("bench", func(c *op.Call) error {
		for _, limit := range []int{1, 4, 7, 61, 100, 5000} {
			all, sizes := pages(t, c, audit.Contexts, limit)
			if len(all) != 61 || sizes[0] != min(limit, 61) {
				t.Fatalf("in pages of %d: %d rows, %v", limit, len(all), sizes)
			}
			for i := range all[1:] {
				if !behind(all[i], all[i+1]) {
					t.Errorf("%+v is out of order", all[i+1])
				}
			}
		}
		return nil
	})
}

func TestOneContextIsReadAlone(t *testing.T) {
	x := optest.New(t)
	fill(x, 40, nil)
	x.Run("bench", func(c *op.Call) error {
		for _, context := range audit.Contexts {
			all, _ := pages(t, c, []string{context}, 3)
			if len(all) != 10 || slices.ContainsFunc(all, func(e audit.Entry) bool { return e.Context != context }) {
				t.Errorf("%s: %+v", context, all)
			}
		}
		return nil
	})
}

func TestAnEmptyTrailIsAnEmptyPage(t *testing.T) {
	optest.New(t).Run("bench", func(c *op.Call) error {
		if rows, more, err := audit.Read(c, audit.Contexts, audit.Place{}, 10); err != nil || more || len(rows) != 0 {
			t.Errorf("%v %v %v", rows, more, err)
		}
		return nil
	})
}

// A row that came while a reader pages stands before its place, and shows on no later page.
func TestACursorIsNotMovedByNewRows(t *testing.T) {
	x := optest.New(t)
	fill(x, 20, nil)
	x.Run("bench", func(c *op.Call) error {
		first, _, err := audit.Read(c, audit.Contexts, audit.Place{}, 5)
		if err != nil {
			return err
		}
		x.Advance(time.Minute)
		fill(x, 4, nil)
		rest, _, err := audit.Read(c, audit.Contexts, first[4].Place(), 100)
		if len(rest) != 15 || !behind(first[4], rest[0]) {
			t.Errorf("%d rows behind the first five", len(rest))
		}
		return err
	})
}

// Large rows end a store's page and ours by bytes: nothing is passed over.
func TestLargeRowsEndAPageAndNoneIsLost(t *testing.T) {
	x := optest.New(t)
	text := make([]byte, 150<<10) // in hex: a store cannot make much less of it
	rand.NewChaCha8([32]byte{7}).Read(text)
	fill(x, 60, hex.EncodeToString(text))
	x.Run("bench", func(c *op.Call) error {
		all, sizes := pages(t, c, audit.Contexts, 100)
		if len(all) != 60 || slices.Max(sizes) > audit.MaxPageBytes/(300<<10) {
			t.Fatalf("%d rows in pages of %v", len(all), sizes)
		}
		for i := range all[1:] {
			if !behind(all[i], all[i+1]) {
				t.Errorf("%s is out of order", all[i+1].ID)
			}
		}
		return nil
	})
}
