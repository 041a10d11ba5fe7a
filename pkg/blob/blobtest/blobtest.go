// Package blobtest is the contract of pkg/blob as a test suite: every adapter passes it.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"guildhall/pkg/blob"
)

// Subject is one fresh, empty store under test.
type Subject struct {
	Store blob.Store
	// Now is the store's clock.
	Now func() time.Time
	// Advance moves it; nil when it cannot be moved.
	Advance func(time.Duration)
	// PutTo does what a client does with the address of a staged upload: it PUTs the bytes
	// there and returns an error unless they were taken.
	PutTo func(ctx context.Context, address string, body []byte) error
	// ChecksUploads tells that PutTo refuses bytes other than the announced ones. Where
	// nothing does (some emulators) the claim still must.
	ChecksUploads bool
}

// Run runs the suite; open is called once for each test.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"a put object comes back with size, hash, type and time", roundTrip},
		{"a put replaces the whole object", replaces},
		{"if absent lets exactly one of many writers win", ifAbsent},
		{"bytes other than announced are not stored", announced},
		{"a body over its limit is not stored", bounded},
		{"a body that breaks off leaves nothing", brokenBody},
		{"ranges are parts of the object", ranges},
		{"an absent object is not found, and deleting it is no error", absent},
		{"a list is in key order, by prefix, in pages", lists},
		{"odd keys stay apart and come back as they are", oddKeys},
		{"keys that lead elsewhere are refused", badKeys},
		{"bad calls are refused", badCalls},
		{"a reader keeps the bytes it opened", reader},
		{"a staged upload is claimed once checked", staged},
		{"a claim can be repeated and replaces nothing", claimAgain},
		{"unclaimed uploads are purged and claimed bytes stay", purged},
		{"an ended context does nothing", ended},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func digest(data string) blob.Digest {
	h := sha256.Sum256([]byte(data))
	return blob.Digest{Size: int64(len(data)), SHA256: hex.EncodeToString(h[:])}
}

func put(t *testing.T, s Subject, key, data string, o blob.PutOptions) blob.Info {
	t.Helper()
	// iotest.HalfReader hides the length and cuts reads: a body as it comes from a socket.
	info, err := s.Store.Put(t.Context(), key, iotest.HalfReader(strings.NewReader(data)), o)
	if err != nil {
		t.Fatalf("Put %q: %v", key, err)
	}
	return info
}

func get(t *testing.T, s Subject, key string, r blob.Range) string {
	t.Helper()
	o, err := s.Store.Get(t.Context(), key, r)
	if err != nil {
		t.Fatalf("Get %q: %v", key, err)
	}
	defer o.Body.Close()
	data, err := io.ReadAll(o.Body)
	if err != nil {
		t.Fatalf("reading %q: %v", key, err)
	}
	return string(data)
}

func wantAbsent(t *testing.T, s Subject, key string) {
	t.Helper()
	if _, err := s.Store.Head(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Head %q: %v, want ErrNotFound", key, err)
	}
}

func roundTrip(t *testing.T, s Subject) {
	for _, data := range []string{"", "x", strings.Repeat("0123456789abcdef", 20_000)} {
		began := s.Now()
		info := put(t, s, "deals/1/a.pdf", data, blob.PutOptions{ContentType: "application/pdf"})
		if info.Digest != digest(data) || info.Key != "deals/1/a.pdf" || info.ContentType != "application/pdf" {
			t.Fatalf("Put of %d bytes: %+v", len(data), info)
		}
		if info.StoredAt.Before(began.Add(-time.Minute)) || info.StoredAt.After(s.Now().Add(time.Minute)) {
			t.Errorf("stored at %v, put at %v", info.StoredAt, began)
		}
		head, err := s.Store.Head(t.Context(), info.Key)
		if err != nil || head.Digest != info.Digest || head.ContentType != info.ContentType || head.Key != info.Key {
			t.Errorf("Head: %+v, %v; want %+v", head, err, info)
		}
		if got := get(t, s, info.Key, blob.Range{}); got != data {
			t.Errorf("%d bytes came back as %d", len(data), len(got))
		}
	}
	if info := put(t, s, "plain", "x", blob.PutOptions{}); info.ContentType != blob.DefaultType {
		t.Errorf("content type %q, want %q", info.ContentType, blob.DefaultType)
	}
}

func replaces(t *testing.T, s Subject) {
	put(t, s, "k", "long old text", blob.PutOptions{ContentType: "text/plain"})
	put(t, s, "k", "new", blob.PutOptions{})
	if got := get(t, s, "k", blob.Range{}); got != "new" {
		t.Errorf("got %q", got)
	}
}

func ifAbsent(t *testing.T, s Subject) {
	const writers = 8
	var wins atomic.Int32
	var winner atomic.Value
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			data := fmt.Sprint("writer ", i)
			_, err := s.Store.Put(t.Context(), "k", strings.NewReader(data), blob.PutOptions{IfAbsent: true})
			switch {
			case err == nil:
				wins.Add(1)
				winner.Store(data)
			case !errors.Is(err, blob.ErrExists):
				t.Errorf("Put: %v, want ErrExists", err)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Fatalf("%d writers won, want 1", wins.Load())
	}
	if got := get(t, s, "k", blob.Range{}); got != winner.Load() {
		t.Errorf("stored %q, the winner wrote %q", got, winner.Load())
	}
}

func announced(t *testing.T, s Subject) {
	right := digest("hello")
	put(t, s, "k", "hello", blob.PutOptions{Want: &right})
	for _, body := range []string{"jello", "hell", "hello!"} {
		_, err := s.Store.Put(t.Context(), "other", strings.NewReader(body), blob.PutOptions{Want: &right})
		if !errors.Is(err, blob.ErrMismatch) {
			t.Errorf("Put of %q: %v, want ErrMismatch", body, err)
		}
	}
	wantAbsent(t, s, "other")
	if _, err := s.Store.Put(t.Context(), "k", strings.NewReader("jello"), blob.PutOptions{Want: &right}); err == nil {
		t.Error("other bytes replaced the object")
	}
	if got := get(t, s, "k", blob.Range{}); got != "hello" {
		t.Errorf("the object is now %q", got)
	}
}

func bounded(t *testing.T, s Subject) {
	put(t, s, "at", strings.Repeat("x", 1000), blob.PutOptions{MaxBytes: 1000})
	_, err := s.Store.Put(t.Context(), "over", strings.NewReader(strings.Repeat("x", 1001)), blob.PutOptions{MaxBytes: 1000})
	if !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("Put of 1001 bytes of 1000: %v, want ErrTooLarge", err)
	}
	wantAbsent(t, s, "over")
	want := digest(strings.Repeat("x", 1001))
	if _, err := s.Store.Put(t.Context(), "over", nil, blob.PutOptions{MaxBytes: 1000, Want: &want}); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("Put announced over the limit: %v, want ErrTooLarge", err)
	}
}

func brokenBody(t *testing.T, s Subject) {
	cut := errors.New("the line was cut")
	body := io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(cut))
	if _, err := s.Store.Put(t.Context(), "k", body, blob.PutOptions{}); !errors.Is(err, cut) {
		t.Errorf("Put: %v, want the body's error", err)
	}
	wantAbsent(t, s, "k")
}

func ranges(t *testing.T, s Subject) {
	put(t, s, "k", "0123456789", blob.PutOptions{})
	put(t, s, "none", "", blob.PutOptions{})
	for _, c := range []struct {
		r    blob.Range
		want string
	}{
		{blob.Range{}, "0123456789"}, {blob.Range{Offset: 3}, "3456789"}, {blob.Range{Length: 4}, "0123"},
		{blob.Range{Offset: 8, Length: 1}, "8"}, {blob.Range{Offset: 9, Length: 100}, "9"},
	} {
		if got := get(t, s, "k", c.r); got != c.want {
			t.Errorf("range %+v: %q, want %q", c.r, got, c.want)
		}
	}
	if got := get(t, s, "none", blob.Range{}); got != "" {
		t.Errorf("empty object gave %q", got)
	}
	for _, key := range []string{"k", "none"} {
		if _, err := s.Store.Get(t.Context(), key, blob.Range{Offset: 10}); !errors.Is(err, blob.ErrRange) {
			t.Errorf("range behind the end of %s: %v, want ErrRange", key, err)
		}
	}
	o, err := s.Store.Get(t.Context(), "k", blob.Range{Offset: 2, Length: 3})
	if err != nil || o.Size != 10 || o.SHA256 != digest("0123456789").SHA256 {
		t.Fatalf("a range describes %+v, %v; want the whole object", o.Info, err)
	}
	o.Body.Close()
}

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

func reader(t *testing.T, s Subject) {
	data := strings.Repeat("old ", 50_000)
	put(t, s, "k", data, blob.PutOptions{})
	o, err := s.Store.Get(t.Context(), "k", blob.Range{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Body.Close()
	first := make([]byte, 4)
	if _, err := io.ReadFull(o.Body, first); err != nil {
		t.Fatal(err)
	}
	put(t, s, "k", "new", blob.PutOptions{})
	rest, err := io.ReadAll(o.Body)
	if err == nil && string(first)+string(rest) != data {
		t.Error("the reader saw a mixture")
	}
	if got := get(t, s, "k", blob.Range{}); got != "new" {
		t.Errorf("a later reader sees %q", got)
	}
}

func upload(s Subject, id, data string) blob.Upload {
	return blob.Upload{ID: id, Digest: digest(data), ContentType: "text/plain", Expires: s.Now().Add(blob.UploadLife)}
}

func stage(t *testing.T, s Subject, id, data string) {
	t.Helper()
	address, err := s.Store.SignPut(t.Context(), upload(s, id, data))
	if err != nil {
		t.Fatalf("SignPut: %v", err)
	}
	if err := s.PutTo(t.Context(), address, []byte(data)); err != nil {
		t.Fatalf("PUT to %s: %v", address, err)
	}
}

func staged(t *testing.T, s Subject) {
	const data = "the bytes"
	if _, err := s.Store.Claim(t.Context(), "u1", "deals/1/x", digest(data)); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Claim before the bytes: %v, want ErrNotFound", err)
	}
	address, err := s.Store.SignPut(t.Context(), upload(s, "u1", data))
	if err != nil {
		t.Fatalf("SignPut: %v", err)
	}
	if s.ChecksUploads {
		for _, other := range []string{"the bites", "the byte", "the bytes!"} {
			if s.PutTo(t.Context(), address, []byte(other)) == nil {
				t.Errorf("the address took %q", other)
			}
		}
	}
	if err := s.PutTo(t.Context(), address, []byte(data)); err != nil {
		t.Fatalf("PUT: %v", err)
	}
	for _, other := range []blob.Digest{digest("the bites"), {Size: 3, SHA256: digest(data).SHA256}} {
		if _, err := s.Store.Claim(t.Context(), "u1", "deals/1/x", other); !errors.Is(err, blob.ErrMismatch) {
			t.Errorf("Claim as other bytes: %v, want ErrMismatch", err)
		}
	}
	wantAbsent(t, s, "deals/1/x")
	info, err := s.Store.Claim(t.Context(), "u1", "deals/1/x", digest(data))
	if err != nil || info.Key != "deals/1/x" || info.Digest != digest(data) || info.ContentType != "text/plain" {
		t.Fatalf("Claim: %+v, %v", info, err)
	}
	if got := get(t, s, "deals/1/x", blob.Range{}); got != data {
		t.Errorf("claimed %q", got)
	}
	if _, err := s.Store.Claim(t.Context(), "u1", blob.UploadKey("u2"), digest(data)); !errors.Is(err, blob.ErrInvalid) {
		t.Errorf("Claim as another upload: %v, want ErrInvalid", err)
	}
}

func claimAgain(t *testing.T, s Subject) {
	stage(t, s, "u1", "one")
	stage(t, s, "u2", "two")
	for range 2 {
		if _, err := s.Store.Claim(t.Context(), "u1", "k", digest("one")); err != nil {
			t.Fatalf("Claim: %v", err)
		}
	}
	if _, err := s.Store.Claim(t.Context(), "u2", "k", digest("two")); !errors.Is(err, blob.ErrExists) {
		t.Errorf("Claim of other bytes under a taken key: %v, want ErrExists", err)
	}
	stage(t, s, "u1", "ONE") // a late PUT changes the upload, never the claimed object
	if got := get(t, s, "k", blob.Range{}); got != "one" {
		t.Errorf("the claimed object is now %q", got)
	}
	if err := s.Store.Delete(t.Context(), blob.UploadKey("u1")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.Claim(t.Context(), "u1", "k", digest("one")); err != nil {
		t.Errorf("Claim repeated after the upload is gone: %v", err)
	}
}

func purged(t *testing.T, s Subject) {
	stage(t, s, "old", "old")
	stage(t, s, "claimed", "claimed")
	if _, err := s.Store.Claim(t.Context(), "claimed", "k", digest("claimed")); err != nil {
		t.Fatal(err)
	}
	if n, err := blob.Purge(t.Context(), s.Store, s.Now().Add(-blob.UnclaimedAge)); err != nil || n != 0 {
		t.Fatalf("Purge of fresh uploads: %d, %v; want 0", n, err)
	}
	before := s.Now().Add(time.Hour)
	want := 2
	if s.Advance != nil {
		s.Advance(blob.UnclaimedAge + time.Minute)
		stage(t, s, "fresh", "fresh")
		before = s.Now().Add(-blob.UnclaimedAge)
	}
	if n, err := blob.Purge(t.Context(), s.Store, before); err != nil || n != want {
		t.Fatalf("Purge: %d, %v; want %d", n, err, want)
	}
	wantAbsent(t, s, blob.UploadKey("old"))
	if got := get(t, s, "k", blob.Range{}); got != "claimed" {
		t.Errorf("claimed bytes are now %q", got)
	}
	if s.Advance != nil {
		if got := get(t, s, blob.UploadKey("fresh"), blob.Range{}); got != "fresh" {
			t.Errorf("fresh upload is now %q", got)
		}
	}
}

func ended(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Store.Put(ctx, "k", bytes.NewReader([]byte("x")), blob.PutOptions{}); err == nil {
		t.Error("Put with an ended context succeeded")
	}
	if _, err := s.Store.Get(ctx, "k", blob.Range{}); err == nil || errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Get with an ended context: %v", err)
	}
	wantAbsent(t, s, "k")
}
