package blob

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	start  = time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC)
	signer = Signer{BaseURL: "http://localhost:8080", Keys: [][]byte{bytes.Repeat([]byte{1}, 32)}}
)

func someUpload() Upload {
	return Upload{ID: "u1", Digest: Digest{Size: 5, SHA256: strings.Repeat("ab", 32)}, ContentType: "text/plain", Expires: start.Add(UploadLife)}
}

func token(t *testing.T, s Signer, u Upload) string {
	t.Helper()
	tok, err := s.Token(u)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestATokenSaysWhatWasAnnouncedUntilItExpires(t *testing.T) {
	tok := token(t, signer, someUpload())
	got, err := signer.Verify("u1", tok, start)
	if err != nil || got != someUpload() {
		t.Fatalf("Verify: %+v, %v; want %+v", got, err, someUpload())
	}
	if _, err := signer.Verify("u1", tok, start.Add(UploadLife-1)); err != nil {
		t.Errorf("just before the end: %v", err)
	}
	if _, err := signer.Verify("u1", tok, start.Add(UploadLife)); !errors.Is(err, ErrExpired) {
		t.Errorf("at the end: %v, want ErrExpired", err)
	}
}

func TestATokenIsGoodForOneUploadAndOneKeyOnly(t *testing.T) {
	tok := token(t, signer, someUpload())
	if _, err := signer.Verify("u2", tok, start); !errors.Is(err, ErrToken) {
		t.Errorf("for another upload: %v, want ErrToken", err)
	}
	other := Signer{Keys: [][]byte{bytes.Repeat([]byte{2}, 32)}}
	if _, err := other.Verify("u1", tok, start); !errors.Is(err, ErrToken) {
		t.Errorf("under another key: %v, want ErrToken", err)
	}
	rotated := Signer{Keys: [][]byte{other.Keys[0], signer.Keys[0]}}
	if _, err := rotated.Verify("u1", tok, start); err != nil {
		t.Errorf("under the previous key: %v", err)
	}
	for i := range tok {
		bad := []byte(tok)
		bad[i] ^= 1
		if _, err := signer.Verify("u1", string(bad), start); err == nil {
			t.Errorf("changed at %d of %q: accepted", i, tok)
		}
	}
	for _, bad := range []string{"", ".", "a.b", tok + "A", tok[:len(tok)-1], strings.Repeat("a", maxTokenBytes) + "." + "b"} {
		if _, err := signer.Verify("u1", bad, start); !errors.Is(err, ErrToken) {
			t.Errorf("token %.20q: %v, want ErrToken", bad, err)
		}
	}
}

func TestNoTokenIsMadeWithoutAKeyOrForABadAnnouncement(t *testing.T) {
	for _, s := range []Signer{{}, {Keys: [][]byte{nil}}, {Keys: [][]byte{make([]byte, minKeyBytes-1)}}} {
		if _, err := s.Token(someUpload()); !errors.Is(err, ErrNoSigner) {
			t.Errorf("keys %v: %v, want ErrNoSigner", s.Keys, err)
		}
	}
	for what, change := range map[string]func(*Upload){
		"no end":        func(u *Upload) { u.Expires = time.Time{} },
		"a bad digest":  func(u *Upload) { u.SHA256 = "abc" },
		"a bad type":    func(u *Upload) { u.ContentType = "a\nb" },
		"too many":      func(u *Upload) { u.Size = MaxBytes + 1 },
		"a path for id": func(u *Upload) { u.ID = "../k" },
	} {
		u := someUpload()
		change(&u)
		if _, err := signer.Token(u); err == nil {
			t.Errorf("%s: a token was made", what)
		}
	}
}

func TestSumKeepsNothingAndStopsAtItsLimit(t *testing.T) {
	got, err := Sum(t.Context(), strings.NewReader("abc"), 3)
	if err != nil || got.Size != 3 || got.SHA256 != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("Sum: %+v, %v", got, err)
	}
	if _, err := Sum(t.Context(), strings.NewReader("abcd"), 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Sum over the limit: %v, want ErrTooLarge", err)
	}
}

func FuzzTokensOfStrangers(f *testing.F) {
	tok, err := signer.Token(someUpload())
	if err != nil {
		f.Fatal(err)
	}
	f.Add("u1", tok)
	f.Add("u2", tok[1:])
	f.Fuzz(func(t *testing.T, id, given string) {
		if _, err := signer.Verify(id, given, start); err == nil && (id != "u1" || given != tok) {
			t.Fatalf("a token we did not make was accepted: %q for %q", given, id)
		}
	})
}
