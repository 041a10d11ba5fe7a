package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"guildhall/pkg/blob"
)

// Get implements blob.Store. A whole object is hashed while it is read: where the bytes are
// not those that were stored, the last Read is ErrCorrupt.
func (s *Store) Get(ctx context.Context, key string, r blob.Range) (blob.Object, error) {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return blob.Object{}, err
	}
	if r.Offset < 0 || r.Length < 0 {
		return blob.Object{}, fmt.Errorf("%w: negative range", blob.ErrInvalid)
	}
	in := &sdk.GetObjectInput{Bucket: &s.bucket, Key: &key, Range: rangeHeader(r)}
	out, err := s.client.GetObject(ctx, in)
	if err != nil && r.Offset == 0 && is(err, codeRange) {
		in.Range = nil // an empty object has no first byte
		out, err = s.client.GetObject(ctx, in)
	}
	if err != nil {
		return blob.Object{}, failed(ctx, key, err)
	}
	size, err := wholeSize(out)
	if err != nil {
		out.Body.Close()
		return blob.Object{}, err
	}
	o := blob.Object{Info: info(key, size, out.Metadata, out.ContentType)}
	if out.LastModified != nil {
		o.StoredAt = out.LastModified.UTC()
	}
	body := &reader{ReadCloser: out.Body, ctx: ctx, key: key}
	if in.Range == nil && o.SHA256 != "" {
		body.hash, body.want = sha256.New(), o.SHA256
	}
	o.Body = body
	return o, nil
}

func rangeHeader(r blob.Range) *string {
	if r == (blob.Range{}) {
		return nil
	}
	h := "bytes=" + strconv.FormatInt(r.Offset, 10) + "-"
	if r.Length > 0 {
		h += strconv.FormatInt(r.Offset+r.Length-1, 10)
	}
	return &h
}

// wholeSize is the size of an object of which a part may have been sent.
func wholeSize(out *sdk.GetObjectOutput) (int64, error) {
	if out.ContentRange == nil {
		return aws.ToInt64(out.ContentLength), nil
	}
	_, total, _ := strings.Cut(*out.ContentRange, "/")
	n, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: the range %q has no total", blob.ErrUnavailable, *out.ContentRange)
	}
	return n, nil
}

func info(key string, size int64, meta map[string]string, contentType *string) blob.Info {
	i := blob.Info{Key: key, Digest: blob.Digest{Size: size, SHA256: meta[metaSHA256]}, ContentType: aws.ToString(contentType)}
	if blob.ValidType(i.ContentType) != nil {
		i.ContentType = blob.DefaultType
	}
	return i
}

// reader hands an object's bytes on: it words a broken connection, and hashes a whole object.
type reader struct {
	io.ReadCloser
	ctx  context.Context
	key  string
	hash hash.Hash // nil for a part
	want string
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if r.hash != nil {
		r.hash.Write(p[:n])
	}
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, failed(r.ctx, r.key, err)
	case r.hash != nil && hex.EncodeToString(r.hash.Sum(nil)) != r.want:
		return n, fmt.Errorf("%w: %s", blob.ErrCorrupt, r.key)
	}
	return n, io.EOF
}

// Head implements blob.Store. The SHA-256 of an upload that was not claimed yet is "".
func (s *Store) Head(ctx context.Context, key string) (blob.Info, error) {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return blob.Info{}, err
	}
	out, err := s.head(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	return headInfo(key, out), nil
}

func headInfo(key string, out *sdk.HeadObjectOutput) blob.Info {
	i := info(key, aws.ToInt64(out.ContentLength), out.Metadata, out.ContentType)
	if out.LastModified != nil {
		i.StoredAt = out.LastModified.UTC()
	}
	return i
}

func (s *Store) head(ctx context.Context, key string) (*sdk.HeadObjectOutput, error) {
	out, err := s.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, failed(ctx, key, err)
	}
	return out, nil
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return err
	}
	_, err := s.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	if err == nil {
		return nil
	}
	if err = failed(ctx, key, err); errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	return err
}

// emptyPages bounds how many answers without an entry one List follows.
const emptyPages = 16

// List implements blob.Store. S3 lists in the byte order of UTF-8.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) (blob.Page, error) {
	if err := errors.Join(ctx.Err(), blob.ValidList(limit)); err != nil {
		return blob.Page{}, err
	}
	in := &sdk.ListObjectsV2Input{Bucket: &s.bucket, MaxKeys: aws.Int32(int32(limit))}
	if prefix != "" {
		in.Prefix = &prefix
	}
	if after != "" {
		in.StartAfter = &after
	}
	for range emptyPages {
		out, err := s.client.ListObjectsV2(ctx, in)
		if err != nil {
			return blob.Page{}, failed(ctx, prefix, err)
		}
		more := aws.ToBool(out.IsTruncated)
		if len(out.Contents) > 0 || !more {
			return blob.Page{Entries: entries(out.Contents), More: more}, nil
		}
		in.ContinuationToken = out.NextContinuationToken
	}
	return blob.Page{}, fmt.Errorf("%w: %d answers in a row list nothing", blob.ErrUnavailable, emptyPages)
}

func entries(objects []types.Object) []blob.Entry {
	var all []blob.Entry
	for _, o := range objects {
		e := blob.Entry{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size)}
		if o.LastModified != nil {
			e.StoredAt = o.LastModified.UTC()
		}
		all = append(all, e)
	}
	return all
}
