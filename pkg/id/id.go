// Package id makes and parses identifiers and secrets. Randomness is always passed in.
package id

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// New returns a lowercase UUIDv4 made from 16 bytes of r.
func New(r io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", fmt.Errorf("id: no randomness: %w", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return Format(b), nil
}

// Format prints 16 bytes as a UUID.
func Format(b [16]byte) string {
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Valid tells whether s is a lowercase UUID.
func Valid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
				return false
			}
		}
	}
	return true
}

// secretBytes is the length of every secret: 256 bits.
const secretBytes = 32

// Token is a parsed secret credential: gh_<kind>_<account id>_<secret>.
type Token struct{ Kind, Account, Secret string }

// NewToken makes a token of 256 random bits.
func NewToken(r io.Reader, kind, account string) (Token, error) {
	var b [secretBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Token{}, fmt.Errorf("id: no randomness: %w", err)
	}
	return Token{kind, account, base64.RawURLEncoding.EncodeToString(b[:])}, nil
}

func (t Token) String() string { return "gh_" + t.Kind + "_" + t.Account + "_" + t.Secret }

// maxToken bounds what ParseToken looks at.
const maxToken = 256

// ParseToken splits a token; ok is false for anything that cannot be one.
func ParseToken(s string) (Token, bool) {
	if len(s) > maxToken {
		return Token{}, false
	}
	rest, ok := strings.CutPrefix(s, "gh_")
	if !ok {
		return Token{}, false
	}
	kind, rest, ok := strings.Cut(rest, "_")
	if !ok || kind == "" {
		return Token{}, false
	}
	account, secret, ok := strings.Cut(rest, "_")
	if !ok || !Valid(account) || len(secret) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return Token{}, false
	}
	return Token{kind, account, secret}, true
}

// Tag is a short public name of a secret: it finds the row of one of many credentials
// and tells nothing of the secret (64 bits of a SHA-256 over 256 random bits).
func (t Token) Tag() string {
	h := sha256.Sum256([]byte(t.Secret))
	return hex.EncodeToString(h[:8])
}

// Keyring makes message authentication codes under the exchange's secret keys. The
// current key signs; the previous ones still verify, so that keys can be changed.
type Keyring struct {
	Current  []byte
	Previous [][]byte
}

// MAC is the HMAC-SHA-256 of msg for one purpose, in hex, under the current key.
func (k Keyring) MAC(purpose, msg string) string { return mac(k.Current, purpose, msg) }

func mac(key []byte, purpose, msg string) string {
	h := hmac.New(sha256.New, key)
	io.WriteString(h, purpose)
	h.Write([]byte{0})
	io.WriteString(h, msg)
	return hex.EncodeToString(h.Sum(nil))
}

// Verify compares in constant time against the current and the previous keys.
func (k Keyring) Verify(purpose, msg, want string) bool {
	ok := hmac.Equal([]byte(mac(k.Current, purpose, msg)), []byte(want))
	for _, p := range k.Previous {
		ok = hmac.Equal([]byte(mac(p, purpose, msg)), []byte(want)) || ok
	}
	return ok
}
