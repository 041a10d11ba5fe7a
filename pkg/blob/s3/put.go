package s3

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"guildhall/pkg/blob"
)

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, body io.Reader, o blob.PutOptions) (blob.Info, error) {
	o, err := blob.ValidPut(key, o)
	if err != nil {
		return blob.Info{}, err
	}
	in := blob.NewIntake(ctx, body, o.MaxBytes)
	k, err := s.keep(in)
	if err != nil {
		return blob.Info{}, err
	}
	defer k.release()
	d, err := in.Check(o.Want)
	if err != nil {
		return blob.Info{}, err
	}
	return s.put(ctx, key, k, d, o)
}

// put sends a body that is kept. S3 refuses bytes of another SHA-256.
func (s *Store) put(ctx context.Context, key string, k *kept, d blob.Digest, o blob.PutOptions) (blob.Info, error) {
	sum, err := checksum(d)
	if err != nil {
		return blob.Info{}, err
	}
	in := &sdk.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: k.reader(), ContentLength: &k.size, ContentType: &o.ContentType,
		ChecksumSHA256: &sum, Metadata: map[string]string{metaSHA256: d.SHA256}}
	write := ""
	if o.IfAbsent {
		any := "*"
		write = s.newID()
		in.IfNoneMatch, in.Metadata[metaWrite] = &any, write
	}
	info := blob.Info{Key: key, Digest: d, ContentType: o.ContentType, StoredAt: s.now().UTC()}
	_, err = s.client.PutObject(withKept(ctx, k), in)
	switch {
	case err == nil:
		return info, nil
	case !is(err, codePrecondition):
		return blob.Info{}, failed(ctx, key, err)
	}
	// The object exists: perhaps by the first attempt of this very call, whose answer was lost.
	there, err := s.head(ctx, key)
	switch {
	case err == nil && there.Metadata[metaWrite] == write:
		return info, nil
	case err == nil || errors.Is(err, blob.ErrNotFound):
		return blob.Info{}, fmt.Errorf("%w: %s", blob.ErrExists, key)
	}
	return blob.Info{}, err
}

// checksum is a SHA-256 as S3 spells it.
func checksum(d blob.Digest) (string, error) {
	b, err := hex.DecodeString(d.SHA256)
	return base64.StdEncoding.EncodeToString(b), err
}

// kept is a body that was read to its end and can be sent again.
type kept struct {
	at   io.ReaderAt
	size int64
	file *os.File // nil when it lies in memory
}

func (k *kept) reader() *io.SectionReader { return io.NewSectionReader(k.at, 0, k.size) }

func (k *kept) release() {
	if k.file != nil {
		_ = k.file.Close() // it has no name any more
	}
}

// keep reads a body to its end: into memory while it is short, else into a file that goes
// with the process.
func (s *Store) keep(body io.Reader) (*kept, error) {
	var head bytes.Buffer
	n, err := head.ReadFrom(io.LimitReader(body, memoryBytes+1))
	if err != nil {
		return nil, err
	}
	if n <= memoryBytes {
		return &kept{at: bytes.NewReader(head.Bytes()), size: n}, nil
	}
	f, err := os.CreateTemp(s.tempDir, "guildhall-put-")
	if err != nil {
		return nil, fmt.Errorf("%w: no room for a long body: %w", blob.ErrUnavailable, err)
	}
	k := &kept{at: f, file: f}
	_ = os.Remove(f.Name())
	w := &filed{f: f}
	k.size, err = io.Copy(w, io.MultiReader(&head, body))
	if err != nil {
		k.release()
		if w.failed != nil {
			err = fmt.Errorf("%w: no room for a long body: %w", blob.ErrUnavailable, err)
		}
		return nil, err
	}
	return k, nil
}

// filed writes a file and remembers when that fails, which is our fault and not the body's.
type filed struct {
	f      *os.File
	failed error
}

func (w *filed) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.failed = err
	return n, err
}
