package wire

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/fileblob"
	"guildhall/pkg/blob/memblob"
	"guildhall/pkg/blob/s3"
	"guildhall/pkg/config"
)

// openBlobs opens the store of files that was configured, else the one beside the table.
func (x *Exchange) openBlobs(ctx context.Context) error {
	dir := x.Files.Dir
	switch x.Files.Kind {
	case config.S3:
		return x.openBucket(ctx)
	case config.File:
	case config.Memory:
		dir = ""
	default:
		if x.Dir != "" {
			dir = filepath.Join(x.Dir, "blobs")
		}
	}
	if dir == "" {
		x.Blobs = memblob.New(x.Clock.Now, x.signer)
	} else {
		s, err := fileblob.Open(dir, x.Clock.Now, x.signer)
		if err != nil {
			return err
		}
		x.close = append(x.close, s.Close)
		x.Blobs = s
	}
	x.purge = &purge{uploads: blob.Purger{Store: x.Blobs}, log: x.Log}
	return nil
}

// openBucket opens S3. Old uploads there go by the bucket's lifecycle rule (docs/deploy.md).
func (x *Exchange) openBucket(ctx context.Context) error {
	a := x.AWS
	s, err := s3.New(s3.Options{Bucket: x.Files.Bucket, Region: a.Region, BaseEndpoint: a.Endpoint(config.ServiceS3), Now: x.Clock.Now, NewID: newID,
		Credentials: s3.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()}})
	if err != nil {
		return err
	}
	if err := s.Ping(ctx); err != nil {
		return fmt.Errorf("GUILDHALL_BLOBS=s3://%s does not answer: %w", x.Files.Bucket, err)
	}
	x.Blobs = s
	return nil
}

// purgeEvery is how often uploads are looked through that nobody claimed, by the exchange's
// clock.
const purgeEvery = time.Hour

// purge deletes the bytes of uploads that are too old to be claimed (surface.md 7). It runs
// in this process for the stores that belong to it.
type purge struct {
	uploads blob.Purger
	log     *slog.Logger

	mu   sync.Mutex
	next time.Time
}

// run does one bounded part when its time has come; what is left has its time at once.
func (p *purge) run(ctx context.Context, now time.Time) {
	if p == nil || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if now.Before(p.next) {
		return
	}
	deleted, done, err := p.uploads.Run(ctx, now.Add(-blob.UnclaimedAge))
	if err != nil && ctx.Err() == nil {
		p.log.Error("purge failed", slog.String("operation", "edge.uploads.purge"), slog.String("cause", err.Error()))
	}
	if done || err != nil {
		p.next = now.Add(purgeEvery)
	}
	if deleted > 0 {
		p.log.Info("purge", slog.String("operation", "edge.uploads.purge"), slog.Int("deleted", deleted))
	}
}
