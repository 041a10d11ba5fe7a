// Package s3 is pkg/blob on Amazon S3: one bucket, an object under its key as it is.
//
// An object's SHA-256 is its metadata "sha256". Put and Claim write it; a staged upload has
// none until it is claimed, for the client's PUT carries bytes and nothing else. A put with
// IfAbsent also leaves "write", the id of that call, so that a repeated request of our own is
// told from somebody else's.
//
// A Put announces size and SHA-256 before the bytes, and S3 checks them. So a body is read
// to its end first: into memory up to memoryBytes, into a temporary file beyond. What a call
// holds in memory does not grow with the object.
//
// Needed actions: s3:PutObject, s3:GetObject, s3:DeleteObject on the objects, s3:ListBucket
// on the bucket (without it S3 answers 403 for an object that is not there).
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	transport "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"guildhall/pkg/blob"
)

// Limits of requests.
const (
	// sdkAttempts is how often the SDK sends one request. Never 1: connections do break.
	sdkAttempts = 4
	// firstPause is waited before a second attempt; each further one waits twice as long.
	firstPause = 25 * time.Millisecond
	// headTimeout is how long S3 may take to begin its answer once it has the request.
	headTimeout = 20 * time.Second
	// dialTimeout ends an attempt to connect, so that there is time for another.
	dialTimeout = 3 * time.Second
	// memoryBytes is how much of a body is kept in memory: what one Lambda request carries.
	memoryBytes = 5 << 20
)

// Names of an object's metadata.
const (
	metaSHA256 = "sha256"
	metaWrite  = "write"
)

// Credentials are those of the environment; a session token comes with temporary ones.
type Credentials struct {
	AccessKeyID, SecretAccessKey, SessionToken string
}

// Options configure the adapter.
type Options struct {
	Bucket      string
	Region      string
	Credentials Credentials
	// BaseEndpoint replaces AWS's address when set (an emulator); the bucket is then the
	// first part of the path.
	BaseEndpoint string
	// Now is the exchange's clock: how long a signed address lives is counted from it. The
	// signature's own time is the machine's, which is the one S3 compares.
	Now func() time.Time
	// NewID makes an id for each conditional write.
	NewID func() string
	// TempDir takes long bodies on their way; the system's when empty.
	TempDir string
	// HTTPClient replaces our own when set.
	HTTPClient aws.HTTPClient
}

// Store is the adapter. It is safe for use by many goroutines.
type Store struct {
	client  *sdk.Client
	presign *sdk.PresignClient
	bucket  string
	now     func() time.Time
	newID   func() string
	tempDir string
}

var _ blob.Store = (*Store)(nil)

// New makes the adapter; it calls nothing yet.
func New(o Options) (*Store, error) {
	switch {
	case o.Bucket == "":
		return nil, errors.New("s3: a bucket is needed")
	case o.Region == "":
		return nil, errors.New("s3: a region is needed")
	case o.Credentials.AccessKeyID == "" || o.Credentials.SecretAccessKey == "":
		return nil, errors.New("s3: an access key and its secret are needed")
	case o.Now == nil || o.NewID == nil:
		return nil, errors.New("s3: a clock and ids are needed")
	}
	c := sdk.New(clientOptions(o))
	return &Store{client: c, presign: sdk.NewPresignClient(c), bucket: o.Bucket, now: o.Now, newID: o.NewID, tempDir: o.TempDir}, nil
}

func clientOptions(o Options) sdk.Options {
	keys := aws.Credentials{AccessKeyID: o.Credentials.AccessKeyID, SecretAccessKey: o.Credentials.SecretAccessKey,
		SessionToken: o.Credentials.SessionToken, Source: "guildhall"}
	inner := o.HTTPClient
	if inner == nil {
		inner = transport.NewBuildableClient().WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
			WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = headTimeout })
	}
	so := sdk.Options{
		Region:      o.Region,
		Logger:      logging.Nop{},
		HTTPClient:  sender{inner},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return keys, nil }),
		Retryer: retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts = sdkAttempts
			r.Backoff = retry.BackoffDelayerFunc(func(n int, _ error) (time.Duration, error) { return firstPause << n, nil })
			r.Retryables = append([]retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: map[string]struct{}{codeRace: {}}}}, r.Retryables...)
		}),
		// The SDK would sign the checksum of an empty body into upload addresses, and check
		// answers that this package checks itself.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		// A dot in a bucket's name breaks the certificate of the address that begins with it.
		UsePathStyle: o.BaseEndpoint != "" || strings.Contains(o.Bucket, "."),
	}
	if o.BaseEndpoint != "" {
		so.BaseEndpoint = aws.String(o.BaseEndpoint)
	}
	return so
}

// Ping asks whether the bucket is there and ours to use.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.client.HeadBucket(ctx, &sdk.HeadBucketInput{Bucket: &s.bucket})
	if err != nil {
		return fmt.Errorf("s3: bucket %s: %w", s.bucket, err)
	}
	return nil
}

// sender reads the body of each attempt anew from where it is kept. The SDK closes its own
// reader as soon as the head of the answer is there, while net/http may still be looking for
// the body's end; the error it then meets would close the connection under the answer.
type sender struct{ inner aws.HTTPClient }

// Do sends one request.
func (c sender) Do(r *http.Request) (*http.Response, error) {
	kept, ok := r.Context().Value(keptKey{}).(*kept)
	if !ok || r.Body == nil || r.Body == http.NoBody || r.ContentLength != kept.size {
		return c.inner.Do(r)
	}
	sent := r.Clone(r.Context())
	sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(kept.reader()), nil }
	sent.Body, _ = sent.GetBody()
	return c.inner.Do(sent)
}

type keptKey struct{}

func withKept(ctx context.Context, k *kept) context.Context {
	return context.WithValue(ctx, keptKey{}, k)
}
