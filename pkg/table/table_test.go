package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"guildhall/pkg/table"
)

func TestPrefixEndIsTheLeastKeyAboveThePrefix(t *testing.T) {
	for prefix, want := range map[string]string{
		"": "", "a": "b", "AGENT#": "AGENT$", "~": "\x7f", "\x7f": "\u0080", "é": "ê", "\u07ff": "\u0800",
		"\ud7ff": "\ue000", "\uffff": "\U00010000", "\U0010ffff": "", "a\U0010ffff": "b", "a\U0010ffff\U0010ffff": "b",
	} {
		if got := table.PrefixEnd(prefix); got != want {
			t.Errorf("PrefixEnd(%q) is %q, want %q", prefix, got, want)
		}
	}
}

func FuzzPrefixEndSplitsKeysInTwo(f *testing.F) {
	f.Add("a", "ab")
	f.Add("\ud7ff", "\ue000")
	f.Add("x\U0010ffff", "y")
	f.Fuzz(func(t *testing.T, prefix, key string) {
		if !utf8.ValidString(prefix) || !utf8.ValidString(key) {
			return
		}
		end := table.PrefixEnd(prefix)
		if !utf8.ValidString(end) {
			t.Fatalf("PrefixEnd(%q) is no UTF-8: %q", prefix, end)
		}
		if in := key >= prefix && (end == "" || key < end); in != strings.HasPrefix(key, prefix) {
			t.Errorf("%q in [%q, %q) is %v, has the prefix %v", key, prefix, end, in, !in)
		}
	})
}

func TestSpanLeavesWhatIsBehindTheCursor(t *testing.T) {
	type span struct {
		low  string
		open bool
		high string
	}
	for name, c := range map[string]struct {
		q    table.Query
		want span
	}{
		"everything":              {table.Query{}, span{}},
		"a range":                 {table.Query{From: "b", To: "d"}, span{"b", false, "d"}},
		"a range backward":        {table.Query{From: "b", To: "d", Reverse: true}, span{"b", false, "d"}},
		"behind a cursor":         {table.Query{From: "b", To: "d", After: "c"}, span{"c", true, "d"}},
		"before a cursor":         {table.Query{From: "b", To: "d", After: "c", Reverse: true}, span{"b", false, "c"}},
		"a cursor before From":    {table.Query{From: "b", After: "a"}, span{"b", false, ""}},
		"a cursor on From":        {table.Query{From: "b", After: "b"}, span{"b", true, ""}},
		"a cursor above To":       {table.Query{To: "d", After: "e", Reverse: true}, span{"", false, "d"}},
		"a cursor on To":          {table.Query{To: "d", After: "d", Reverse: true}, span{"", false, "d"}},
		"a cursor without bounds": {table.Query{After: "e", Reverse: true}, span{"", false, "e"}},
	} {
		low, open, high := c.q.Span()
		if got := (span{low, open, high}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestPageSizeStaysWithinBounds(t *testing.T) {
	for limit, want := range map[int]int{-1: 1000, 0: 1000, 1: 1, 999: 999, 1000: 1000, 1001: 1000} {
		if got := (table.Query{Limit: limit}).PageSize(); got != want {
			t.Errorf("Limit %d is a page of %d, want %d", limit, got, want)
		}
	}
}

func TestAPositionComesBackAsItsKey(t *testing.T) {
	for _, k := range []table.Key{{PK: "a", SK: "b"}, {PK: "é", SK: "😀"}, {PK: strings.Repeat("p", table.MaxKeyPart), SK: "s"}} {
		pk, sk, err := table.ParsePosition(table.Position(k))
		if err != nil || pk != k.PK || sk != k.SK {
			t.Errorf("%q comes back as %q, %q, %v", k, pk, sk, err)
		}
	}
	if pk, sk, err := table.ParsePosition(""); pk+sk != "" || err != nil {
		t.Errorf("the start is %q, %q, %v", pk, sk, err)
	}
	for _, bad := range []string{"a", "\x00b", "a\x00", "a\x00b\x00c", "a\x00\xff"} {
		if _, _, err := table.ParsePosition(bad); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%q answers %v", bad, err)
		}
	}
}

func TestExpiresIsKeptToTheMillisecondAndNeverSooner(t *testing.T) {
	base := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{base, base},
		{base.Add(1), base.Add(time.Millisecond)},
		{base.Add(time.Millisecond), base.Add(time.Millisecond)},
		{base.In(time.FixedZone("", 3600)), base},
		{time.UnixMilli(0), time.UnixMilli(1).UTC()}, // 0 is never
		{time.UnixMilli(-5), time.UnixMilli(-5).UTC()},
	} {
		if got := table.FromMillis(table.ToMillis(c.in)); !got.Equal(c.want) || got.IsZero() != c.in.IsZero() {
			t.Errorf("%v is kept as %v, want %v", c.in, got, c.want)
		}
	}
}

func TestAliveNamesTheReason(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	if err := table.Alive(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	if err := table.Alive(ctx); !errors.Is(err, table.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("answered %v", err)
	}
}

func TestARowAndTheWriteThatMadeItHaveOneSize(t *testing.T) {
	k := table.Key{PK: "p", SK: "s"}
	r := table.Row{Key: k, Version: "id"}
	for _, c := range []struct {
		name string
		by   int
		want error
	}{{"at the limit", 0, nil}, {"over it", 1, table.ErrTooLarge}} {
		w := table.Write{Kind: table.Create, Key: k, Data: make([]byte, table.MaxRowBytes-r.Bytes()+c.by)}
		err := (&table.Tx{ID: "id", Writes: []table.Write{w}}).Validate()
		if !errors.Is(err, c.want) {
			t.Errorf("a row %s answers %v", c.name, err)
		}
	}
}
