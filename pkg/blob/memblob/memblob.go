// Package memblob is the blob store of tests and of a serve that keeps nothing.
package memblob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"guildhall/pkg/blob"
)

const maxTotalBytes = int64(1) << 30 // bytes of all objects

// Store holds objects in memory. It is safe for use by many goroutines.
type Store struct {
	clock func() time.Time
	sign  blob.Signer

	mu    sync.RWMutex
	all   map[string]object
	total int64
}

type object struct {
	info blob.Info
	data []byte // never changed once stored
}

var _ blob.Store = (*Store)(nil)

// New makes an empty store. The signer may be zero where nothing is staged.
func New(clock func() time.Time, sign blob.Signer) *Store {
	return &Store{clock: clock, sign: sign, all: map[string]object{}}
}

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, body io.Reader, o blob.PutOptions) (blob.Info, error) {
	o, err := blob.ValidPut(key, o)
	if err != nil {
		return blob.Info{}, err
	}
	in := blob.NewIntake(ctx, body, min(o.MaxBytes, maxTotalBytes))
	var data bytes.Buffer
	if _, err := data.ReadFrom(in); err != nil {
		return blob.Info{}, err
	}
	d, err := in.Check(o.Want)
	if err != nil {
		return blob.Info{}, err
	}
	info := blob.Info{Key: key, Digest: d, ContentType: o.ContentType, StoredAt: s.clock().UTC()}
	return info, s.store(object{info, data.Bytes()}, o.IfAbsent)
}

func (s *Store) store(o object, ifAbsent bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, taken := s.all[o.info.Key]
	if taken && ifAbsent {
		return fmt.Errorf("%w: %s", blob.ErrExists, o.info.Key)
	}
	total := s.total - old.info.Size + o.info.Size
	if total > maxTotalBytes {
		return fmt.Errorf("%w: more than %d bytes in memory", blob.ErrUnavailable, maxTotalBytes)
	}
	s.all[o.info.Key], s.total = o, total
	return nil
}

func (s *Store) find(ctx context.Context, key string) (object, error) {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return object{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.all[key]
	if !ok {
		return object{}, fmt.Errorf("%w: %s", blob.ErrNotFound, key)
	}
	return o, nil
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, r blob.Range) (blob.Object, error) {
	o, err := s.find(ctx, key)
	if err != nil {
		return blob.Object{}, err
	}
	offset, length, err := r.Within(o.info.Size)
	if err != nil {
		return blob.Object{}, err
	}
	return blob.Object{Info: o.info, Body: io.NopCloser(bytes.NewReader(o.data[offset : offset+length]))}, nil
}

// Head implements blob.Store.
func (s *Store) Head(ctx context.Context, key string) (blob.Info, error) {
	o, err := s.find(ctx, key)
	return o.info, err
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total -= s.all[key].info.Size
	delete(s.all, key)
	return nil
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) (blob.Page, error) {
	if err := errors.Join(ctx.Err(), blob.ValidList(limit)); err != nil {
		return blob.Page{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []blob.Entry
	for key, o := range s.all {
		if strings.HasPrefix(key, prefix) && key > after {
			found = append(found, blob.Entry{Key: key, Size: o.info.Size, StoredAt: o.info.StoredAt})
		}
	}
	slices.SortFunc(found, func(a, b blob.Entry) int { return strings.Compare(a.Key, b.Key) })
	more := len(found) > limit
	return blob.Page{Entries: found[:min(limit, len(found))], More: more}, nil
}

// SignPut implements blob.Store.
func (s *Store) SignPut(ctx context.Context, u blob.Upload) (string, error) {
	return s.sign.URL(u)
}

// SignGet implements blob.Store: there is no address, the program serves the bytes.
func (s *Store) SignGet(ctx context.Context, key string, d blob.Download) (string, error) {
	return "", nil
}

// Claim implements blob.Store.
func (s *Store) Claim(ctx context.Context, uploadID, key string, want blob.Digest) (blob.Info, error) {
	if err := blob.ValidClaim(uploadID, key, want); err != nil {
		return blob.Info{}, err
	}
	if there, err := s.Head(ctx, key); err == nil {
		return blob.Claimed(there, want)
	}
	staged, err := s.find(ctx, blob.UploadKey(uploadID))
	if err != nil {
		return blob.Info{}, err
	}
	if err := staged.info.Check(want); err != nil {
		return blob.Info{}, err
	}
	staged.info.Key = key
	err = s.store(staged, true)
	if !errors.Is(err, blob.ErrExists) {
		return staged.info, err
	}
	there, err := s.Head(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	return blob.Claimed(there, want)
}
