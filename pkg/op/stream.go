package op

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// digested is a body stream that is hashed as it is read: the bytes are part of what an
// Idempotency-Key stands for.
type digested struct {
	io.Reader
	hash  hash.Hash
	limit int64 // bytes read at most to finish the hash
}

// digest wraps the stream of a request once.
func (r *Request) digest(limit int64) *Request {
	if r.Stream == nil {
		return r
	}
	with := *r
	with.Stream = &digested{r.Stream, sha256.New(), limit}
	return &with
}

// Read implements io.Reader.
func (d *digested) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.hash.Write(p[:n])
	return n, err
}

// sum reads what is left of the stream and returns the hash of all of it.
func (d *digested) sum() string {
	_, _ = io.Copy(io.Discard, io.LimitReader(d, d.limit)) // a stream that breaks has another hash
	return hex.EncodeToString(d.hash.Sum(nil))
}

// rewind begins the stream again for another decision; false when it cannot.
func (r *Request) rewind() bool {
	d, ok := r.Stream.(*digested)
	if !ok {
		return true
	}
	s, ok := d.Reader.(io.Seeker)
	if !ok {
		return false
	}
	d.hash.Reset()
	_, err := s.Seek(0, io.SeekStart)
	return err == nil
}
