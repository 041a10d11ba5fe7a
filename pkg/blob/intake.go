package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// Intake reads a body on its way into a store: it counts and hashes what passes, ends with
// ErrTooLarge at the limit and with the context's error when that has ended.
type Intake struct {
	ctx  context.Context
	body io.Reader
	max  int64
	hash hash.Hash
	n    int64
}

// NewIntake wraps a body that may have at most max bytes.
func NewIntake(ctx context.Context, body io.Reader, max int64) *Intake {
	return &Intake{ctx: ctx, body: body, max: max, hash: sha256.New()}
}

// Read implements io.Reader.
func (in *Intake) Read(p []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	if left := in.max - in.n; int64(len(p)) > left+1 {
		p = p[:left+1] // one byte more than allowed tells a full body from one too long
	}
	n, err := in.body.Read(p)
	in.n += int64(n)
	in.hash.Write(p[:n])
	if in.n > in.max {
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, in.max)
	}
	return n, err
}

// Digest is that of the bytes read so far.
func (in *Intake) Digest() Digest {
	return Digest{Size: in.n, SHA256: hex.EncodeToString(in.hash.Sum(nil))}
}

// Check compares the bytes read with what was announced; nil announces nothing.
func (in *Intake) Check(want *Digest) (Digest, error) {
	got := in.Digest()
	if want == nil {
		return got, nil
	}
	return got, got.Check(*want)
}

// Check is ErrMismatch unless both digests are one.
func (d Digest) Check(want Digest) error {
	if d != want {
		return fmt.Errorf("%w: %d bytes of SHA-256 %s, announced %d of %s", ErrMismatch, d.Size, d.SHA256, want.Size, want.SHA256)
	}
	return nil
}

// Sum reads a stream of at most max bytes to its end, keeps none of it and returns its
// digest: an outcome that is hashed in passing.
func Sum(ctx context.Context, body io.Reader, max int64) (Digest, error) {
	in := NewIntake(ctx, body, max)
	if _, err := io.Copy(io.Discard, in); err != nil {
		return Digest{}, err
	}
	return in.Digest(), nil
}

// SumOf hashes a stored object by reading it.
func SumOf(ctx context.Context, s Store, key string) (Digest, error) {
	o, err := s.Get(ctx, key, Range{})
	if err != nil {
		return Digest{}, err
	}
	defer o.Body.Close()
	return Sum(ctx, o.Body, MaxBytes)
}
