package simulated

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"guildhall/pkg/atomicfile"
)

const maxStateBytes = 256 << 20 // bytes of a stored state

// File is a Storage in one private file, replaced whole: after kill -9 it holds the state
// before or after a call, never a part. One process uses it at a time.
type File struct{ Path string }

// Load implements Storage.
func (f File) Load() ([]byte, error) {
	info, err := os.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxStateBytes {
		return nil, fmt.Errorf("%s has %d bytes, at most %d", f.Path, info.Size(), maxStateBytes)
	}
	return os.ReadFile(f.Path)
}

// Save implements Storage.
func (f File) Save(data []byte) error {
	if len(data) > maxStateBytes {
		return fmt.Errorf("%s would have %d bytes, at most %d", f.Path, len(data), maxStateBytes)
	}
	return atomicfile.Replace(f.Path, data)
}
