// Package fileblob is the blob store of a single machine: one private file per object in
// one directory.
//
// A body is written to tmp/, synced, and given its name in objects/ by one rename (or one
// link, when the key must be free); then the directory is synced. After a crash an object
// is there whole or not at all, and an acknowledged one is there. Every path goes through
// an os.Root, so that no key and no symbolic link leads out of the directory. Several
// processes may use one directory.
package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	pathpkg "path"
	"sync/atomic"
	"time"

	"guildhall/pkg/blob"
)

const (
	objectsDir   = "objects"
	tmpDir       = "tmp"
	dirPerm      = fs.FileMode(0o700)
	tmpAge       = 24 * time.Hour // after which a left-over temporary file is removed
	maxTmpTries  = 10_000         // names tried for a temporary file
	copyBufBytes = 64 << 10       // bytes in memory while a body is copied
)

// Store is a directory of objects. It is safe for use by many goroutines.
type Store struct {
	root  *os.Root
	clock func() time.Time
	sign  blob.Signer
	tmps  atomic.Uint64
}

var _ blob.Store = (*Store)(nil)

// Open opens or makes the store in dir and clears away what a crash left over. The signer
// may be zero where nothing is staged.
func Open(dir string, clock func() time.Time, sign blob.Signer) (*Store, error) {
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{root: root, clock: clock, sign: sign}
	for _, d := range []string{objectsDir, tmpDir} {
		if err := s.mkdir(d); err != nil {
			root.Close()
			return nil, err
		}
	}
	if err := s.sweep(); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

// Close lets go of the directory; calls after it fail.
func (s *Store) Close() error { return s.root.Close() }

// sweep removes temporary files no running Put can still own.
func (s *Store) sweep() error {
	d, err := s.root.Open(tmpDir)
	if err != nil {
		return err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && s.clock().Sub(info.ModTime()) > tmpAge {
			s.root.Remove(tmpDir + "/" + e.Name())
		}
	}
	return nil
}

// open opens the file of a key and reads its description.
func (s *Store) open(file, key string) (*os.File, blob.Info, error) {
	f, err := s.root.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, blob.Info{}, fmt.Errorf("%w: %s", blob.ErrNotFound, key)
	}
	if err != nil {
		return nil, blob.Info{}, unavailable(err)
	}
	stat, err := f.Stat()
	if err == nil {
		var info blob.Info
		if info, err = readTrailer(f, stat.Size(), key); err == nil {
			return f, info, nil
		}
	}
	f.Close()
	return nil, blob.Info{}, err
}

func (s *Store) head(file, key string) (blob.Info, error) {
	f, info, err := s.open(file, key)
	if err == nil {
		f.Close()
	}
	return info, err
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, r blob.Range) (blob.Object, error) {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return blob.Object{}, err
	}
	f, info, err := s.open(path(key), key)
	if err != nil {
		return blob.Object{}, err
	}
	offset, length, err := r.Within(info.Size)
	if err != nil {
		f.Close()
		return blob.Object{}, err
	}
	return blob.Object{Info: info, Body: part{io.NewSectionReader(f, offset, length), f}}, nil
}

// part is an open part of a file.
type part struct {
	io.Reader
	io.Closer
}

// Head implements blob.Store.
func (s *Store) Head(ctx context.Context, key string) (blob.Info, error) {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return blob.Info{}, err
	}
	return s.head(path(key), key)
}

// Delete implements blob.Store. Directories stay: another Put may be about to use them.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := errors.Join(ctx.Err(), blob.ValidKey(key)); err != nil {
		return err
	}
	err := s.root.Remove(path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unavailable(err)
	}
	return s.syncDir(pathpkg.Dir(path(key)))
}

// SignPut implements blob.Store.
func (s *Store) SignPut(ctx context.Context, u blob.Upload) (string, error) {
	return s.sign.URL(u)
}

// SignGet implements blob.Store: there is no address, the program serves the bytes.
func (s *Store) SignGet(ctx context.Context, key string, d blob.Download) (string, error) {
	return "", nil
}

// Claim implements blob.Store. The bytes were hashed when they were put and files never
// change, so the claim is a second name for the same file, whatever its size.
func (s *Store) Claim(ctx context.Context, uploadID, key string, want blob.Digest) (blob.Info, error) {
	if err := blob.ValidClaim(uploadID, key, want); err != nil {
		return blob.Info{}, err
	}
	if there, err := s.Head(ctx, key); err == nil {
		return blob.Claimed(there, want)
	}
	staged, err := s.Head(ctx, blob.UploadKey(uploadID))
	if err != nil {
		return blob.Info{}, err
	}
	if err := staged.Check(want); err != nil {
		return blob.Info{}, err
	}
	if err := s.mkdirs(pathpkg.Dir(path(key))); err != nil {
		return blob.Info{}, unavailable(err)
	}
	err = s.link(path(blob.UploadKey(uploadID)), key, func() error { return nil })
	if err != nil && !errors.Is(err, blob.ErrExists) {
		return blob.Info{}, err
	}
	there, err := s.Head(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	return blob.Claimed(there, want)
}
