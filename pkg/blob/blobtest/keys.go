package blobtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/blob"
)

func absent(t *testing.T, s Subject) {
	wantAbsent(t, s, "k")
	if _, err := s.Store.Get(t.Context(), "k", blob.Range{}); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Get: %v, want ErrNotFound", err)
	}
	if err := s.Store.Delete(t.Context(), "k"); err != nil {
		t.Errorf("Delete of an absent object: %v", err)
	}
	put(t, s, "k", "x", blob.PutOptions{})
	if err := s.Store.Delete(t.Context(), "k"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	wantAbsent(t, s, "k")
}

func list(t *testing.T, s Subject, prefix string, limit int) []string {
	t.Helper()
	var keys []string
	after := ""
	for {
		page, err := s.Store.List(t.Context(), prefix, after, limit)
		if err != nil {
			t.Fatalf("List %q after %q: %v", prefix, after, err)
		}
		if len(page.Entries) > limit || (page.More && len(page.Entries) == 0) {
			t.Fatalf("List %q after %q: page of %d, more %v", prefix, after, len(page.Entries), page.More)
		}
		for _, e := range page.Entries {
			keys = append(keys, e.Key)
			after = e.Key
		}
		if !page.More {
			return keys
		}
	}
}

func lists(t *testing.T, s Subject) {
	all := []string{"a", "a-b", "a/b", "a/b/c", "a/bc", "a0", "ab/x", "b/1", "b/10", "b/2", "z"}
	for i := range all {
		put(t, s, all[(i*7)%len(all)], "12345", blob.PutOptions{})
	}
	for prefix, want := range map[string][]string{
		"": all, "a": all[:7], "a/": all[2:5], "a/b": all[2:5], "b/1": all[7:9], "z": all[10:], "zz": nil, "A": nil, "a/b/": all[3:4],
	} {
		for _, limit := range []int{1, 2, 3, blob.MaxListed} {
			if got := list(t, s, prefix, limit); !slices.Equal(got, want) {
				t.Errorf("List %q by %d: %v, want %v", prefix, limit, got, want)
			}
		}
	}
	page, err := s.Store.List(t.Context(), "z", "", 10)
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Size != 5 || page.Entries[0].StoredAt.IsZero() {
		t.Errorf("List: %+v, %v", page, err)
	}
	page, err = s.Store.List(t.Context(), "", "a/b0", 2)
	if err != nil || len(page.Entries) != 2 || page.Entries[0].Key != "a/bc" {
		t.Errorf("List after a key that is not there: %+v, %v", page, err)
	}
}

func oddKeys(t *testing.T, s Subject) {
	keys := []string{
		"UPPER", "upper", "a b", "a+b", "a%20b", "a%2fb", "ä/ö", "dot.", ".hidden", "..x", "back\\slash", "q?x=1&y#z", "quote'\"",
		"tilde~", "equal=", "equal=/x", "colon:", "star*", "a/b", "日本/語", "nul", strings.Repeat("k", blob.MaxSegmentBytes),
	}
	for _, k := range keys {
		put(t, s, k, "data of "+k, blob.PutOptions{IfAbsent: true})
	}
	for _, k := range keys {
		if got := get(t, s, k, blob.Range{}); got != "data of "+k {
			t.Errorf("%q holds %q", k, got)
		}
	}
	slices.Sort(keys)
	if got := list(t, s, "", 4); !slices.Equal(got, keys) {
		t.Errorf("listed %q\nwant   %q", got, keys)
	}
}

func badKeys(t *testing.T, s Subject) {
	long := strings.Repeat(strings.Repeat("k", 63)+"/", blob.MaxKeyBytes/64) + "k"
	for _, k := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", "nul\x00", "line\nend", "del\x7f", "\xff", long,
		strings.Repeat("k", blob.MaxSegmentBytes+1),
	} {
		if _, err := s.Store.Put(t.Context(), k, strings.NewReader("x"), blob.PutOptions{}); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Put %q: %v, want ErrInvalid", k, err)
		}
		if _, err := s.Store.Get(t.Context(), k, blob.Range{}); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Get %q: %v, want ErrInvalid", k, err)
		}
		if _, err := s.Store.Head(t.Context(), k); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Head %q: %v, want ErrInvalid", k, err)
		}
		if err := s.Store.Delete(t.Context(), k); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Delete %q: %v, want ErrInvalid", k, err)
		}
		if _, err := s.Store.Claim(t.Context(), "u", k, digest("x")); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Claim %q: %v, want ErrInvalid", k, err)
		}
	}
	put(t, s, long[:blob.MaxKeyBytes-1]+"", "x", blob.PutOptions{})
}

func badCalls(t *testing.T, s Subject) {
	for _, o := range []blob.PutOptions{
		{ContentType: "text/plain\r\nSet-Cookie: x"}, {ContentType: strings.Repeat("t", blob.MaxTypeBytes+1)},
		{Want: &blob.Digest{Size: -1, SHA256: digest("").SHA256}}, {Want: &blob.Digest{SHA256: "abc"}},
		{Want: &blob.Digest{SHA256: strings.ToUpper(digest("").SHA256)}},
	} {
		if _, err := s.Store.Put(t.Context(), "k", strings.NewReader("x"), o); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Put with %+v: %v, want ErrInvalid", o, err)
		}
	}
	for _, limit := range []int{0, -1, blob.MaxListed + 1} {
		if _, err := s.Store.List(t.Context(), "", "", limit); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("List of %d: %v, want ErrInvalid", limit, err)
		}
	}
	put(t, s, "k", "0123", blob.PutOptions{})
	for _, r := range []blob.Range{{Offset: -1}, {Length: -1}} {
		if _, err := s.Store.Get(t.Context(), "k", r); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Get of range %+v: %v, want ErrInvalid", r, err)
		}
	}
	for _, id := range []string{"", "a/b", ".."} {
		u := upload(s, id, "x")
		if _, err := s.Store.SignPut(t.Context(), u); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("SignPut of %q: %v, want ErrInvalid", id, err)
		}
	}
}
