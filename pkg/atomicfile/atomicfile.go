// Package atomicfile writes whole files so that a crash at any point, kill -9 included,
// leaves the old file or the new one, never a part of it. What is acknowledged is on disk:
// data and directory entry are both synced.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Perm is the mode of every file written here: secrets and private texts are among them.
const Perm fs.FileMode = 0o600

// Replace writes data to path, over what is there.
func Replace(path string, data []byte) error {
	return write(path, data, os.Rename)
}

// Create writes data to path unless something is there: then the error is fs.ErrExist and
// that file is whole. Of several processes that race exactly one succeeds.
func Create(path string, data []byte) error {
	return write(path, data, func(from, to string) error {
		if err := os.Link(from, to); err != nil {
			return err
		}
		return os.Remove(from)
	})
}

// write puts data in a temporary file beside path and has publish give it its name.
func write(path string, data []byte, publish func(from, to string) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(Perm)
	}
	if err = errors.Join(err, Seal(f)); err == nil {
		err = publish(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return SyncDir(dir)
}

// Seal syncs a written file and closes it.
func Seal(f *os.File) error {
	return errors.Join(f.Sync(), f.Close())
}

// SyncDir makes the names in a directory durable. Windows cannot and need not.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
