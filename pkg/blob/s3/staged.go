package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"guildhall/pkg/blob"
)

const (
	maxSigned    = 7 * 24 * time.Hour // of a signed address, S3's own limit
	maxFilename  = 255                // characters of the name a download is saved under
	claimAttempt = 3                  // of a claim whose upload changes meanwhile
)

// SignPut implements blob.Store. The address binds key, end and number of bytes, all of
// which any client sends without knowing it. It does not bind the SHA-256: S3 looks at a
// checksum only where the client sends it as a header of its own, and signed into the
// address it would have to, while a client here knows the address and nothing else. Claim
// checks the bytes.
func (s *Store) SignPut(ctx context.Context, u blob.Upload) (string, error) {
	if err := errors.Join(ctx.Err(), u.Valid()); err != nil {
		return "", err
	}
	life, err := s.life(u.Expires)
	if err != nil {
		return "", err
	}
	key := blob.UploadKey(u.ID)
	signed, err := s.presign.PresignPutObject(ctx, &sdk.PutObjectInput{Bucket: &s.bucket, Key: &key, ContentLength: &u.Size}, sdk.WithPresignExpires(life))
	if err != nil {
		return "", failed(ctx, key, err)
	}
	return signed.URL, nil
}

// SignGet implements blob.Store.
func (s *Store) SignGet(ctx context.Context, key string, d blob.Download) (string, error) {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key), blob.ValidType(cmp.Or(d.ContentType, blob.DefaultType))); err != nil {
		return "", err
	}
	life, err := s.life(d.Expires)
	if err != nil {
		return "", err
	}
	shown, contentType := disposition(d.Filename), cmp.Or(d.ContentType, blob.DefaultType)
	cache := "private, no-store"
	signed, err := s.presign.PresignGetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: &key, ResponseContentDisposition: &shown,
		ResponseContentType: &contentType, ResponseCacheControl: &cache}, sdk.WithPresignExpires(life))
	if err != nil {
		return "", failed(ctx, key, err)
	}
	return signed.URL, nil
}

// life is how long an address lives that ends then: whole seconds, which are S3's.
func (s *Store) life(end time.Time) (time.Duration, error) {
	life := end.Sub(s.now()).Truncate(time.Second)
	if life <= 0 || life > maxSigned {
		return 0, fmt.Errorf("%w: an address for %v, at most %v", blob.ErrInvalid, life, maxSigned)
	}
	return life, nil
}

// disposition has a download saved under a name, never shown.
func disposition(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '_'
		}
		return r
	}, name)
	if r := []rune(name); len(r) > maxFilename {
		name = string(r[:maxFilename])
	}
	return cmp.Or(mime.FormatMediaType("attachment", map[string]string{"filename": cmp.Or(name, "download")}), "attachment")
}

// Claim implements blob.Store: the upload is described, hashed, and copied on the condition
// that it is still what was hashed and that the key is free.
func (s *Store) Claim(ctx context.Context, uploadID, key string, want blob.Digest) (blob.Info, error) {
	if err := errors.Join(ctx.Err(), blob.ValidClaim(uploadID, key, want)); err != nil {
		return blob.Info{}, err
	}
	for range claimAttempt {
		there, err := s.head(ctx, key)
		if err == nil {
			return blob.Claimed(headInfo(key, there), want)
		}
		if !errors.Is(err, blob.ErrNotFound) {
			return blob.Info{}, err
		}
		found, tag, err := s.arrived(ctx, blob.UploadKey(uploadID), want)
		if err != nil {
			return blob.Info{}, err
		}
		found.Key = key
		err = s.copy(ctx, blob.UploadKey(uploadID), tag, found)
		if err == nil {
			return found, nil
		}
		if !is(err, codePrecondition) {
			return blob.Info{}, failed(ctx, key, err)
		}
		// The key was taken, or the upload was put again: both show when looked at anew.
	}
	return blob.Info{}, fmt.Errorf("%w: upload %s changes while it is claimed", blob.ErrUnavailable, uploadID)
}

// arrived checks the bytes of an upload and returns the tag they are found under again.
func (s *Store) arrived(ctx context.Context, upload string, want blob.Digest) (blob.Info, string, error) {
	out, err := s.head(ctx, upload)
	if err != nil {
		return blob.Info{}, "", err
	}
	found, tag := headInfo(upload, out), aws.ToString(out.ETag)
	if found.Size != want.Size {
		return blob.Info{}, "", fmt.Errorf("%w: %d bytes arrived, announced %d", blob.ErrMismatch, found.Size, want.Size)
	}
	body, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: &upload, IfMatch: &tag})
	if err != nil {
		return blob.Info{}, "", failed(ctx, upload, err)
	}
	defer body.Body.Close()
	got, err := blob.Sum(ctx, body.Body, want.Size)
	if err != nil {
		return blob.Info{}, "", failed(ctx, upload, err)
	}
	found.Digest = got
	return found, tag, got.Check(want)
}

// copy makes the object that info describes of the bytes under a tag.
func (s *Store) copy(ctx context.Context, from, tag string, to blob.Info) error {
	source, free := s.bucket+"/"+(&url.URL{Path: from}).EscapedPath(), "*"
	_, err := s.client.CopyObject(ctx, &sdk.CopyObjectInput{Bucket: &s.bucket, Key: &to.Key, CopySource: &source, CopySourceIfMatch: &tag, IfNoneMatch: &free,
		MetadataDirective: types.MetadataDirectiveReplace, Metadata: map[string]string{metaSHA256: to.SHA256}, ContentType: &to.ContentType,
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256})
	return err
}
