package blobtest

import (
	"errors"
	"testing"
	"time"

	"guildhall/pkg/blob"
)

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
	p := blob.Purger{Store: s.Store}
	if n, done, err := p.Run(t.Context(), s.Now().Add(-blob.UnclaimedAge)); err != nil || n != 0 || !done {
		t.Fatalf("purge of fresh uploads: %d, %v, %v; want 0", n, done, err)
	}
	before := s.Now().Add(time.Hour)
	want := 2
	if s.Advance != nil {
		s.Advance(blob.UnclaimedAge + time.Minute)
		stage(t, s, "fresh", "fresh")
		before = s.Now().Add(-blob.UnclaimedAge)
	}
	if n, done, err := p.Run(t.Context(), before); err != nil || n != want || !done {
		t.Fatalf("purge: %d, %v, %v; want %d", n, done, err, want)
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
