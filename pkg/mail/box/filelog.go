package box

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"guildhall/pkg/atomicfile"
)

const maxLogBytes = 64 << 20 // bytes of a log file; a box keeps far less

// FileLog is a Log in one private file, a JSON object a line. A line that a crash cut off
// was never acknowledged and is dropped on Load.
type FileLog struct {
	path string
	size int64 // bytes of whole lines
}

// NewFileLog names the file; nothing is opened yet.
func NewFileLog(path string) *FileLog { return &FileLog{path: path} }

// Load implements Log.
func (l *FileLog) Load() ([][]byte, error) {
	stat, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.create()
	}
	if err != nil {
		return nil, err
	}
	if stat.Size() > maxLogBytes {
		return nil, fmt.Errorf("%s has %d bytes, at most %d: move it away", l.path, stat.Size(), maxLogBytes)
	}
	data, err := os.ReadFile(l.path)
	if err != nil {
		return nil, err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	l.size = int64(len(whole))
	if len(whole) < len(data) {
		if err := os.Truncate(l.path, l.size); err != nil {
			return nil, err
		}
	}
	var lines [][]byte
	for line := range bytes.Lines(whole) {
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return lines, nil
}

func (l *FileLog) create() error {
	err := atomicfile.Create(l.path, nil)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Append implements Log.
func (l *FileLog) Append(line []byte) error {
	f, err := os.OpenFile(l.path, os.O_WRONLY, atomicfile.Perm)
	if err != nil {
		return err
	}
	line = append(bytes.Clone(line), '\n')
	_, err = f.WriteAt(line, l.size)
	if err = errors.Join(err, atomicfile.Seal(f)); err != nil {
		return errors.Join(err, os.Truncate(l.path, l.size))
	}
	l.size += int64(len(line))
	return nil
}

// Rewrite implements Log.
func (l *FileLog) Rewrite(lines [][]byte) error {
	var all bytes.Buffer
	for _, line := range lines {
		all.Write(line)
		all.WriteByte('\n')
	}
	if err := atomicfile.Replace(l.path, all.Bytes()); err != nil {
		return err
	}
	l.size = int64(all.Len())
	return nil
}
