// Package blob is the port to the store of large bytes: attachments, artifacts, uploads on
// their way in, replay bodies too big for a row, the files of the public record.
//
// An object is bytes under a key, with its size, its SHA-256 and its content type. It
// appears whole or not at all, and reads and writes stream in constant memory.
//
// Key shapes: uploads/<upload id> belongs to this package (staged uploads); every other
// first segment belongs to the code that writes it.
//
// Adapters: memblob, fileblob, S3. All pass blobtest.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits every adapter enforces alike, so that what fits here fits on S3 and in a file.
const (
	MaxBytes        = int64(5) << 30 // bytes of one object
	MaxKeyBytes     = 512            // bytes of a key
	MaxSegmentBytes = 80             // bytes of a key between two slashes
	MaxTypeBytes    = 127            // bytes of a content type
	MaxListed       = 1000           // entries of one List page
)

// DefaultType is the content type of an object put without one.
const DefaultType = "application/octet-stream"

// Errors of a blob store. Anything else is an internal error.
var (
	// ErrNotFound: there is no object under the key.
	ErrNotFound = errors.New("blob: no such object")
	// ErrExists: IfAbsent, and an object is there; or a claim met other bytes.
	ErrExists = errors.New("blob: the object exists")
	// ErrMismatch: the bytes are not those announced; nothing was stored.
	ErrMismatch = errors.New("blob: size or SHA-256 is not the announced one")
	// ErrTooLarge: more bytes than the limit; nothing was stored.
	ErrTooLarge = errors.New("blob: over the size limit")
	// ErrRange: the range begins behind the end of the object.
	ErrRange = errors.New("blob: range outside the object")
	// ErrInvalid: the call itself is wrong (key, type, limit).
	ErrInvalid = errors.New("blob: invalid call")
	// ErrUnavailable: the store is full or did not answer; the object may or may not be there.
	ErrUnavailable = errors.New("blob: the store is unavailable")
	// ErrCorrupt: what is stored is not what was written.
	ErrCorrupt = errors.New("blob: the stored object is damaged")
)

// Digest says which bytes.
type Digest struct {
	Size   int64
	SHA256 string // 64 lowercase hex digits
}

// Info describes a stored object.
type Info struct {
	Key string
	Digest
	ContentType string
	StoredAt    time.Time
}

// PutOptions say how to store.
type PutOptions struct {
	ContentType string // DefaultType when empty
	// IfAbsent refuses with ErrExists when the key is taken.
	IfAbsent bool
	// Want, when set, is what the bytes must be; else ErrMismatch. An adapter that has to
	// announce the digest before the bytes is spared a second pass by it.
	Want *Digest
	// MaxBytes bounds a body of unknown size; 0 is the port's MaxBytes.
	MaxBytes int64
}

// Range is a part of an object; the zero Range is all of it.
type Range struct {
	Offset int64
	Length int64 // 0: to the end; more than there is: to the end
}

// Object is an open object. Close the body.
type Object struct {
	Info // of the whole object, whatever the range
	Body io.ReadCloser
}

// Entry is one line of a List.
type Entry struct {
	Key      string
	Size     int64
	StoredAt time.Time
}

// Page is the answer to a List.
type Page struct {
	Entries []Entry
	More    bool // ask again after the last key
}

// Download says how a signed download presents itself.
type Download struct {
	Filename    string // offered for saving, as an attachment
	ContentType string
	Expires     time.Time
}

// Store is the port.
type Store interface {
	// Put stores the whole body under key, or nothing.
	Put(ctx context.Context, key string, body io.Reader, o PutOptions) (Info, error)
	// Get opens an object or a part of it.
	Get(ctx context.Context, key string, r Range) (Object, error)
	// Head describes an object.
	Head(ctx context.Context, key string) (Info, error)
	// Delete removes an object; an absent one is no error.
	Delete(ctx context.Context, key string) error
	// List returns the entries whose keys begin with prefix and follow after, in the byte
	// order of keys, at most limit (1..MaxListed).
	List(ctx context.Context, prefix, after string, limit int) (Page, error)
	// SignPut makes the address to which a client PUTs the bytes of a staged upload; they
	// arrive under UploadKey(u.ID).
	SignPut(ctx context.Context, u Upload) (string, error)
	// SignGet makes an address from which a client may fetch the object until d.Expires.
	// Empty, without an error: this store has none, serve the bytes of Get.
	SignGet(ctx context.Context, key string, d Download) (string, error)
	// Claim makes the uploaded bytes the object key. They are checked against want:
	// ErrMismatch; never put or expired: ErrNotFound. Repeating a claim succeeds; other
	// bytes under key are ErrExists. The upload stays, for Purge, so that a claim whose
	// commit failed can be made again.
	Claim(ctx context.Context, uploadID, key string, want Digest) (Info, error)
}

// ValidKey refuses keys that some store would not take or would take for another: empty,
// too long, with a control character, or with an empty, "." or ".." segment.
func ValidKey(key string) error {
	if len(key) > MaxKeyBytes || !utf8.ValidString(key) {
		return fmt.Errorf("%w: key of %d bytes: UTF-8 of at most %d", ErrInvalid, len(key), MaxKeyBytes)
	}
	if strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		return fmt.Errorf("%w: control character in key %q", ErrInvalid, key)
	}
	for seg := range strings.SplitSeq(key, "/") {
		if seg == "" || seg == "." || seg == ".." || len(seg) > MaxSegmentBytes {
			return fmt.Errorf("%w: segment %q of key %q: 1 to %d bytes, neither \".\" nor \"..\" itself", ErrInvalid, seg, key, MaxSegmentBytes)
		}
	}
	return nil
}

// ValidPut checks a Put call and fills in the content type. Adapters call it first.
func ValidPut(key string, o PutOptions) (PutOptions, error) {
	if o.ContentType == "" {
		o.ContentType = DefaultType
	}
	if o.MaxBytes <= 0 || o.MaxBytes > MaxBytes {
		o.MaxBytes = MaxBytes
	}
	if err := ValidType(o.ContentType); err != nil {
		return o, err
	}
	if o.Want != nil {
		if err := o.Want.Valid(); err != nil {
			return o, err
		}
		if o.Want.Size > o.MaxBytes {
			return o, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, o.Want.Size, o.MaxBytes)
		}
	}
	return o, ValidKey(key)
}

// ValidType refuses content types that could not stand in a header.
func ValidType(t string) error {
	bad := func(r rune) bool { return r < ' ' || r > '~' }
	if t == "" || len(t) > MaxTypeBytes || strings.IndexFunc(t, bad) >= 0 {
		return fmt.Errorf("%w: content type %q: 1 to %d printable ASCII bytes", ErrInvalid, t, MaxTypeBytes)
	}
	return nil
}

// Valid refuses a digest that no bytes have.
func (d Digest) Valid() error {
	notHex := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }
	if d.Size < 0 || len(d.SHA256) != 64 || strings.IndexFunc(d.SHA256, notHex) >= 0 {
		return fmt.Errorf("%w: digest of %d bytes, SHA-256 %q: 64 lowercase hex digits", ErrInvalid, d.Size, d.SHA256)
	}
	return nil
}

// ValidList checks a List call.
func ValidList(limit int) error {
	if limit < 1 || limit > MaxListed {
		return fmt.Errorf("%w: list of %d, 1 to %d", ErrInvalid, limit, MaxListed)
	}
	return nil
}

// Within resolves the range against an object of size bytes: where it begins and how long
// it is. ErrRange when it begins behind the end.
func (r Range) Within(size int64) (offset, length int64, err error) {
	if r.Offset < 0 || r.Length < 0 {
		return 0, 0, fmt.Errorf("%w: negative range", ErrInvalid)
	}
	if r.Offset > 0 && r.Offset >= size {
		return 0, 0, fmt.Errorf("%w: from %d of %d bytes", ErrRange, r.Offset, size)
	}
	length = size - r.Offset
	if r.Length > 0 && r.Length < length {
		length = r.Length
	}
	return r.Offset, length, nil
}
