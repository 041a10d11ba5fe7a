package blob

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// Times of a staged upload (surface 7).
const (
	UploadLife   = 15 * time.Minute // how long its address takes bytes
	UnclaimedAge = 24 * time.Hour   // after which unclaimed bytes are deleted
)

// UploadPrefix begins the keys of staged uploads.
const UploadPrefix = "uploads/"

// UploadKey is where the bytes of a staged upload arrive.
func UploadKey(id string) string { return UploadPrefix + id }

// Upload is a staged upload as it was announced.
type Upload struct {
	ID string
	Digest
	ContentType string
	Expires     time.Time
}

// Valid checks an announcement.
func (u Upload) Valid() error {
	if strings.Contains(u.ID, "/") {
		return fmt.Errorf("%w: upload id %q", ErrInvalid, u.ID)
	}
	if u.Expires.IsZero() {
		return fmt.Errorf("%w: an upload without an end", ErrInvalid)
	}
	if u.Size > MaxBytes {
		return fmt.Errorf("%w: upload of %d bytes, at most %d", ErrTooLarge, u.Size, MaxBytes)
	}
	return errors.Join(ValidKey(UploadKey(u.ID)), u.Digest.Valid(), ValidType(u.ContentType))
}

// ValidClaim checks a Claim call; adapters call it first.
func ValidClaim(uploadID, key string, want Digest) error {
	if strings.HasPrefix(key, UploadPrefix) {
		return fmt.Errorf("%w: %s is a place for uploads", ErrInvalid, key)
	}
	return errors.Join(ValidKey(UploadKey(uploadID)), ValidKey(key), want.Valid())
}

// Claimed is the answer to a claim that finds an object under its key already: a repeated
// claim, or ErrExists when the bytes are other ones.
func Claimed(there Info, want Digest) (Info, error) {
	if there.Digest != want {
		return Info{}, fmt.Errorf("%w: %s holds other bytes", ErrExists, there.Key)
	}
	return there, nil
}

// Errors of an upload address.
var (
	// ErrToken: the token was not made here, or for another upload.
	ErrToken = errors.New("blob: the upload address is not valid")
	// ErrExpired: the token is ours and too old.
	ErrExpired = errors.New("blob: the upload address has expired")
)

const (
	tokenPurpose  = "guildhall upload 1\n" // keeps these tags apart from others under the same key
	maxTokenBytes = 2048                   // bytes of a token
	minKeyBytes   = 16                     // bytes of a signing key
)

// Signer makes and checks the local upload addresses, PUT <BaseURL>/uploads/<id>?token=…:
// the token holds what was announced, under an HMAC. Keys[0] signs, every key checks.
type Signer struct {
	BaseURL string // without a trailing slash
	Keys    [][]byte
}

// ErrNoSigner: the store was made without a Signer.
var ErrNoSigner = errors.New("blob: no key to sign upload addresses with")

type ticket struct {
	ID      string `json:"id"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
	Type    string `json:"type"`
	Expires int64  `json:"exp"` // Unix milliseconds
}

// URL is the address of an upload.
func (s Signer) URL(u Upload) (string, error) {
	token, err := s.Token(u)
	if err != nil {
		return "", err
	}
	return s.BaseURL + "/" + UploadPrefix + url.PathEscape(u.ID) + "?token=" + token, nil
}

// Token signs an announcement.
func (s Signer) Token(u Upload) (string, error) {
	if err := u.Valid(); err != nil {
		return "", err
	}
	if len(s.Keys) == 0 || len(s.Keys[0]) < minKeyBytes {
		return "", ErrNoSigner
	}
	body, err := json.Marshal(ticket{u.ID, u.Size, u.SHA256, u.ContentType, u.Expires.UnixMilli()})
	if err != nil {
		return "", err
	}
	part := base64.RawURLEncoding.EncodeToString(body)
	return part + "." + base64.RawURLEncoding.EncodeToString(tag(s.Keys[0], part)), nil
}

// Verify checks the token of the upload id and returns what was announced. The tag is
// compared in constant time before anything inside is read.
func (s Signer) Verify(id, token string, now time.Time) (Upload, error) {
	part, mac, ok := strings.Cut(token, ".")
	if !ok || len(token) > maxTokenBytes || !s.signed(part, mac) {
		return Upload{}, ErrToken
	}
	body, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return Upload{}, ErrToken
	}
	var t ticket
	if json.Unmarshal(body, &t) != nil || t.ID != id {
		return Upload{}, ErrToken
	}
	u := Upload{ID: t.ID, Digest: Digest{t.Size, t.SHA256}, ContentType: t.Type, Expires: time.UnixMilli(t.Expires).UTC()}
	if !now.Before(u.Expires) {
		return Upload{}, ErrExpired
	}
	return u, nil
}

func (s Signer) signed(part, mac string) bool {
	given, err := base64.RawURLEncoding.Strict().DecodeString(mac)
	if err != nil {
		return false
	}
	for _, key := range s.Keys {
		if len(key) >= minKeyBytes && hmac.Equal(given, tag(key, part)) {
			return true
		}
	}
	return false
}

func tag(key []byte, part string) []byte {
	h := hmac.New(sha256.New, key)
	io.WriteString(h, tokenPurpose)
	io.WriteString(h, part)
	return h.Sum(nil)
}

// Accept is the local PUT /uploads/{id}: it checks the token and stores exactly the
// announced bytes. Repeating it is harmless.
func Accept(ctx context.Context, s Store, sign Signer, id, token string, now time.Time, body io.Reader) (Info, error) {
	u, err := sign.Verify(id, token, now)
	if err != nil {
		return Info{}, err
	}
	return s.Put(ctx, UploadKey(u.ID), body, PutOptions{ContentType: u.ContentType, Want: &u.Digest, MaxBytes: max(u.Size, 1)})
}

// Limits of one Run of a Purger.
const (
	purgePages   = 10  // pages it lists
	purgeDeletes = 200 // objects it deletes
)

// Purger deletes old staged uploads, a bounded part at a time.
type Purger struct {
	Store Store

	after string // the key the next run begins behind
}

// Run deletes staged uploads stored before the given time, claimed or not, and returns how
// many; a claimed upload lives on under its own key. It ends at its limits or after the last
// upload; the next run goes on there. Done is false while there may be more to delete.
func (p *Purger) Run(ctx context.Context, before time.Time) (deleted int, done bool, err error) {
	for range purgePages {
		page, err := p.Store.List(ctx, UploadPrefix, p.after, MaxListed)
		if err != nil {
			return deleted, false, err
		}
		for _, e := range page.Entries {
			if e.StoredAt.Before(before) {
				if deleted == purgeDeletes {
					return deleted, false, nil
				}
				if err := p.Store.Delete(ctx, e.Key); err != nil {
					return deleted, false, err
				}
				deleted++
			}
			p.after = e.Key
		}
		if !page.More {
			p.after = ""
			return deleted, true, nil
		}
	}
	return deleted, false, nil
}
