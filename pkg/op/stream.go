package op

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"mime"
	"strings"
)

// digested is a body stream that is hashed as it is read: the bytes are part of what an
// Idempotency-Key stands for.
type digested struct {
	io.Reader
	hash  hash.Hash
	limit int64 // bytes read at most to finish the hash
	// without is left out of the hash: the delimiter of a form, which a client draws anew
	// for every try. held are the last bytes, in which one may begin.
	without, held []byte
}

// digest wraps the stream of a request once.
func (r *Request) digest(limit int64) *Request {
	if r.Stream == nil {
		return r
	}
	with := *r
	d := &digested{Reader: r.Stream, hash: sha256.New(), limit: limit}
	if t, p, err := mime.ParseMediaType(r.ContentType); err == nil && strings.HasPrefix(t, "multipart/") && p["boundary"] != "" {
		d.without = []byte("--" + p["boundary"])
	}
	with.Stream = d
	return &with
}

// Read implements io.Reader.
func (d *digested) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.add(p[:n])
	return n, err
}

// add hashes bytes, delimiters left out.
func (d *digested) add(p []byte) {
	if len(d.without) == 0 {
		d.hash.Write(p)
		return
	}
	d.held = append(d.held, p...)
	for {
		i := bytes.Index(d.held, d.without)
		if i < 0 {
			break
		}
		d.hash.Write(d.held[:i])
		d.held = d.held[i+len(d.without):]
	}
	if n := len(d.held) - len(d.without) + 1; n > 0 {
		d.hash.Write(d.held[:n])
		d.held = d.held[:copy(d.held, d.held[n:])]
	}
}

// sum reads what is left of the stream and returns the hash of all of it.
func (d *digested) sum() string {
	_, _ = io.Copy(io.Discard, io.LimitReader(d, d.limit)) // a stream that breaks has another hash
	d.hash.Write(d.held)
	d.held = nil
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
	d.held = nil
	_, err := s.Seek(0, io.SeekStart)
	return err == nil
}
