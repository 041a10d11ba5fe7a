package id_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"guildhall/pkg/id"
)

func source() io.Reader { return rand.NewChaCha8([32]byte{7}) }

func TestNewMakesVersion4Identifiers(t *testing.T) {
	r, seen := source(), map[string]bool{}
	for range 1000 {
		s, err := id.New(r)
		if err != nil || !id.Valid(s) || s[14] != '4' || !strings.ContainsRune("89ab", rune(s[19])) || seen[s] {
			t.Fatal(s, err)
		}
		seen[s] = true
	}
}

func TestNoRandomnessIsAnError(t *testing.T) {
	for _, r := range []io.Reader{bytes.NewReader(make([]byte, 15)), iotest.ErrReader(errors.New("no"))} {
		if _, err := id.New(r); err == nil {
			t.Error("an identifier of too little randomness")
		}
		if _, err := id.NewToken(r, "agent", "a"); err == nil {
			t.Error("a token of too little randomness")
		}
	}
}

func TestOnlyLowercaseIdentifiersAreValid(t *testing.T) {
	good := "0123abcd-4567-4890-8abc-def012345678"
	for s, want := range map[string]bool{
		good: true, strings.ToUpper(good): false, good[:35]: false, good + "0": false, "": false,
		strings.ReplaceAll(good, "-", "0"): false, strings.Replace(good, "a", "g", 1): false, "{" + good[1:]: false,
	} {
		if id.Valid(s) != want {
			t.Errorf("%q valid: %v", s, !want)
		}
	}
}

func TestATokenIsReadBackAndNothingElseIs(t *testing.T) {
	r := source()
	account, err := id.New(r)
	if err != nil {
		t.Fatal(err)
	}
	made, err := id.NewToken(r, "agent", account)
	if err != nil {
		t.Fatal(err)
	}
	s := made.String()
	if got, ok := id.ParseToken(s); !ok || got != made || got.Tag() != made.Tag() || len(made.Tag()) != 16 {
		t.Errorf("%s reads as %+v", s, got)
	}
	for _, bad := range []string{"", "gh_", s[1:], s[:len(s)-1], s + "A", "gh__" + account + "_" + made.Secret, "gh_agent_" + made.Secret,
		strings.ToUpper(s), strings.Repeat("gh_agent_", 100), "gh_agent_" + strings.ToUpper(account) + "_" + made.Secret} {
		if got, ok := id.ParseToken(bad); ok {
			t.Errorf("%q reads as %+v", bad, got)
		}
	}
}

func TestACodeHoldsForItsPurposeTextAndKeys(t *testing.T) {
	old, now, other := []byte("old"), []byte("now"), []byte("other")
	k := id.Keyring{Current: now, Previous: [][]byte{old}}
	code := k.MAC("token:agent", "text")
	if !k.Verify("token:agent", "text", code) || !k.Verify("token:agent", "text", id.Keyring{Current: old}.MAC("token:agent", "text")) {
		t.Error("a code of a kept key does not verify")
	}
	for name, ok := range map[string]bool{
		"another purpose":  k.Verify("token:mcp", "text", code),
		"another text":     k.Verify("token:agent", "texts", code),
		"moved boundary":   k.Verify("token:agentt", "ext", code),
		"a key not kept":   k.Verify("token:agent", "text", id.Keyring{Current: other}.MAC("token:agent", "text")),
		"an empty code":    k.Verify("token:agent", "text", ""),
		"a shortened code": k.Verify("token:agent", "text", code[:63]),
	} {
		if ok {
			t.Errorf("%s verifies", name)
		}
	}
}
