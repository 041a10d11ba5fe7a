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

// Case is one named promise.
type Case struct {
	Name string
	Run  func(*testing.T, Subject)
}

// Run runs the suite; open is called once for each case.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, open(t)) })
	}
}

// Cases lists the suite, for callers that must name the cases a given emulator is known to
// get wrong.
func Cases() []Case {
	return []Case{
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
