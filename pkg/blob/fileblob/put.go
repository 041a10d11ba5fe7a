package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	pathpkg "path"
	"strings"

	"guildhall/pkg/atomicfile"
	"guildhall/pkg/blob"
)

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, body io.Reader, o blob.PutOptions) (blob.Info, error) {
	o, err := blob.ValidPut(key, o)
	if err != nil {
		return blob.Info{}, err
	}
	if o.IfAbsent {
		if _, err := s.root.Stat(path(key)); err == nil {
			return blob.Info{}, fmt.Errorf("%w: %s", blob.ErrExists, key)
		}
	}
	f, tmp, err := s.createTmp()
	if err != nil {
		return blob.Info{}, unavailable(err)
	}
	info, err := s.fill(ctx, f, key, body, o)
	if err == nil {
		err = s.publish(tmp, key, o.IfAbsent)
	}
	if err != nil {
		s.root.Remove(tmp)
		return blob.Info{}, err
	}
	return info, nil
}

// createTmp makes a temporary file no other writer has: the name is tried, not guessed.
func (s *Store) createTmp() (*os.File, string, error) {
	for range maxTmpTries {
		name := fmt.Sprintf("%s/%d-%d-%d", tmpDir, os.Getpid(), s.clock().UnixMilli(), s.tmps.Add(1))
		f, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, atomicfile.Perm)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
	return nil, "", errors.New("no free temporary name")
}

// fill writes body and description into f, syncs and closes it.
func (s *Store) fill(ctx context.Context, f *os.File, key string, body io.Reader, o blob.PutOptions) (blob.Info, error) {
	in := blob.NewIntake(ctx, body, o.MaxBytes)
	info := blob.Info{Key: key, ContentType: o.ContentType}
	_, err := io.CopyBuffer(onlyWriter{f}, in, make([]byte, copyBufBytes))
	if err == nil {
		info.Digest, err = in.Check(o.Want)
	}
	if err == nil {
		info.StoredAt = s.clock().UTC()
		err = unavailable(writeTrailer(f, info))
	}
	if err != nil {
		f.Close()
		return blob.Info{}, err
	}
	return info, unavailable(atomicfile.Seal(f))
}

// onlyWriter keeps io.CopyBuffer from the file's own ReadFrom, which ignores the buffer,
// and tells a full disk from a body that broke off.
type onlyWriter struct{ f *os.File }

func (w onlyWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	return n, unavailable(err)
}

// publish gives the temporary file its name.
func (s *Store) publish(tmp, key string, ifAbsent bool) error {
	to := path(key)
	if err := s.mkdirs(pathpkg.Dir(to)); err != nil {
		return unavailable(err)
	}
	if ifAbsent {
		return s.link(tmp, key, func() error { return s.root.Remove(tmp) })
	}
	if err := s.root.Rename(tmp, to); err != nil {
		return unavailable(err)
	}
	return s.syncDir(pathpkg.Dir(to))
}

// link gives the file from the name of key, which must be free.
func (s *Store) link(from, key string, then func() error) error {
	to := path(key)
	err := s.root.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", blob.ErrExists, key)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", blob.ErrNotFound, from)
	}
	if err = errors.Join(err, then()); err != nil {
		return unavailable(err)
	}
	return s.syncDir(pathpkg.Dir(to))
}

// mkdirs makes a directory and those above it, each name synced before it is used.
func (s *Store) mkdirs(dir string) error {
	if _, err := s.root.Stat(dir); err == nil {
		return nil
	}
	at := ""
	for seg := range strings.SplitSeq(dir, "/") {
		at = pathpkg.Join(at, seg)
		if err := s.mkdir(at); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) mkdir(dir string) error {
	err := s.root.Mkdir(dir, dirPerm)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.syncDir(pathpkg.Dir(dir))
}

func (s *Store) syncDir(dir string) error {
	d, err := s.root.Open(dir)
	if err != nil {
		return unavailable(err)
	}
	return unavailable(errors.Join(d.Sync(), d.Close()))
}

// unavailable marks an error of the disk; nil stays nil.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", blob.ErrUnavailable, err)
}
