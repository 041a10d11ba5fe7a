package fileblob

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"guildhall/pkg/blob"
)

// A file holds the object's bytes, then a JSON description, then the length of that (4
// bytes, big end first) and a mark. One file, one rename: bytes and description cannot
// part, and a reader who cuts nothing off still sees the bytes first.
const (
	mark            = "GHBLOB1\n"
	footBytes       = 4 + len(mark)
	maxTrailerBytes = 1024 // bytes of the JSON description
)

type trailer struct {
	Size   int64     `json:"size"`
	SHA256 string    `json:"sha256"`
	Type   string    `json:"type"`
	At     time.Time `json:"at"`
}

func writeTrailer(w io.Writer, info blob.Info) error {
	body, err := json.Marshal(trailer{info.Size, info.SHA256, info.ContentType, info.StoredAt})
	if err != nil {
		return err
	}
	body = binary.BigEndian.AppendUint32(body, uint32(len(body)))
	_, err = w.Write(append(body, mark...))
	return err
}

// readTrailer describes the object in a file of the given length. The description must
// account for every byte of the file.
func readTrailer(f io.ReaderAt, length int64, key string) (blob.Info, error) {
	foot := make([]byte, footBytes)
	if length < int64(footBytes) {
		return blob.Info{}, corrupt(key, "too short")
	}
	if _, err := f.ReadAt(foot, length-int64(footBytes)); err != nil {
		return blob.Info{}, err
	}
	n := int64(binary.BigEndian.Uint32(foot))
	if string(foot[4:]) != mark || n > maxTrailerBytes || n > length-int64(footBytes) {
		return blob.Info{}, corrupt(key, "no description")
	}
	body := make([]byte, n)
	if _, err := f.ReadAt(body, length-int64(footBytes)-n); err != nil {
		return blob.Info{}, err
	}
	var t trailer
	if err := json.Unmarshal(body, &t); err != nil {
		return blob.Info{}, corrupt(key, "unreadable description")
	}
	if t.Size != length-int64(footBytes)-n {
		return blob.Info{}, corrupt(key, "size")
	}
	return blob.Info{Key: key, Digest: blob.Digest{Size: t.Size, SHA256: t.SHA256}, ContentType: t.Type, StoredAt: t.At}, nil
}

func corrupt(key, what string) error { return fmt.Errorf("%w: %s: %s", blob.ErrCorrupt, key, what) }
