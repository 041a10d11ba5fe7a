package emulators

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/sivchari/kumo"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/blobtest"
	"guildhall/pkg/blob/s3"
)

const fakeS3Version = "gofakes3 v1.2.0 (in process)"

// clock is a time that tests move. S3's times are whole seconds.
type clock struct{ millis atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.millis.Store(time.Now().Truncate(time.Second).UnixMilli())
	return c
}

func (c *clock) Now() time.Time                  { return time.UnixMilli(c.millis.Load()).UTC() }
func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *clock) advance(d time.Duration)         { c.millis.Add(d.Milliseconds()) }

// startFakeS3 runs the emulator until the test is over.
func startFakeS3(t *testing.T, c *clock) (endpoint string) {
	t.Helper()
	backend := s3mem.New(s3mem.WithTimeSource(c))
	fake := gofakes3.New(backend, gofakes3.WithTimeSource(c), gofakes3.WithTimeSkewLimit(0), gofakes3.WithLogger(gofakes3.DiscardLog()))
	server := httptest.NewServer(fake.Server())
	t.Cleanup(server.Close)
	return server.URL
}

// buckets numbers them, so that every test has an empty one.
var buckets atomic.Int64

// openBucket makes an empty bucket on the emulator.
func openBucket(t *testing.T, endpoint string, now func() time.Time) (*s3.Store, string) {
	t.Helper()
	bucket := fmt.Sprintf("guildhall-%d", buckets.Add(1))
	if _, err := send(t.Context(), http.MethodPut, endpoint+"/"+bucket, nil, nil); err != nil {
		t.Fatal(err)
	}
	var ids atomic.Int64
	s, err := s3.New(s3.Options{Bucket: bucket, Region: "us-east-1", BaseEndpoint: endpoint, Now: now, TempDir: t.TempDir(),
		NewID: func() string { return fmt.Sprint("write-", ids.Add(1)) }, Credentials: s3.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	return s, bucket
}

// send makes a plain request and returns its answer; one that is no success is an error.
func send(ctx context.Context, method, address string, body []byte, header map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s: %.200s", method, address, res.Status, b)
	}
	return b, err
}

func subject(t *testing.T, endpoint string, now func() time.Time, advance func(time.Duration)) blobtest.Subject {
	s, _ := openBucket(t, endpoint, now)
	return blobtest.Subject{Store: s, Now: now, Advance: advance,
		PutTo: func(ctx context.Context, address string, body []byte) error {
			_, err := send(ctx, http.MethodPut, address, body, map[string]string{"Content-Type": "text/plain"})
			return err
		}}
}

func TestBlobsOnFakeS3(t *testing.T) {
	c := newClock()
	endpoint := startFakeS3(t, c)
	blobtest.Run(t, func(t *testing.T) blobtest.Subject { return subject(t, endpoint, c.Now, c.advance) })
	met("blob/s3", fakeS3Version)
}

func TestBlobsOnKumo(t *testing.T) {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	now := func() time.Time { return time.Now().UTC() }
	blobtest.Run(t, func(t *testing.T) blobtest.Subject { return subject(t, server.URL, now, nil) })
	met("blob/s3", kumoVersion)
}

// A body longer than what is kept in memory, and the link to it.
func TestALongFileAndItsLinkOnFakeS3(t *testing.T) {
	c := newClock()
	s, _ := openBucket(t, startFakeS3(t, c), c.Now)
	long := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	info, err := s.Put(t.Context(), "deals/1/film", iotest.HalfReader(bytes.NewReader(long)), blob.PutOptions{ContentType: "video/mp4", IfAbsent: true})
	if err != nil || info.Size != int64(len(long)) {
		t.Fatalf("%+v, %v", info, err)
	}
	link, err := s.SignGet(t.Context(), "deals/1/film", blob.Download{Filename: "film.mp4", ContentType: "video/mp4", Expires: c.Now().Add(5 * time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := send(t.Context(), http.MethodGet, link, nil, nil); err != nil || !bytes.Equal(got, long) {
		t.Errorf("the link gives %d bytes, %v", len(got), err)
	}
}
