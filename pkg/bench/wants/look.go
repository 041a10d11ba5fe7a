package wants

import (
	"errors"
	"io"

	"guildhall/pkg/blob"
	"guildhall/pkg/op"
	"guildhall/pkg/text/filekind"
)

// refused words what a look at a file found.
func refused(v filekind.Verdict) error {
	if v.OK() {
		return nil
	}
	f := TypeNotAllowed.Say(v.Why).With("reason", v.Refused)
	if v.Member != "" {
		f = f.With("member", v.Member)
	}
	return f
}

// lookInto tells the type of a stored file by all of its bytes.
func lookInto(c *op.Call, key, name string, size int64) (FileKind, error) {
	v, err := filekind.Check(name, &windowed{c: c, key: key, size: size}, size)
	if err != nil {
		return FileKind{}, uploadFault(err)
	}
	return FileKind{v.ContentType, v.Ending}, refused(v)
}

// windowBytes is how much of a stored file is read at once where it is looked into.
const windowBytes = 1 << 20

// windowed reads a stored file at any place, a window at a time: an archive is read at its
// end first, then member by member.
type windowed struct {
	c    *op.Call
	key  string
	size int64
	at   int64
	held []byte
}

// ReadAt implements io.ReaderAt.
func (w *windowed) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		if at >= w.size {
			return n, io.EOF
		}
		if at < w.at || at >= w.at+int64(len(w.held)) {
			if err := w.move(at); err != nil {
				return n, err
			}
		}
		m := copy(p[n:], w.held[at-w.at:])
		n, at = n+m, at+int64(m)
	}
	return n, nil
}

// move reads the window that begins at or before a place.
func (w *windowed) move(at int64) error {
	at -= at % windowBytes
	o, err := blob.From(w.c).Get(w.c, w.key, blob.Range{Offset: at, Length: windowBytes})
	if err != nil {
		return err
	}
	defer o.Body.Close()
	want := int(min(windowBytes, w.size-at))
	if cap(w.held) < want {
		w.held = make([]byte, want)
	}
	n, err := io.ReadFull(o.Body, w.held[:want])
	w.at, w.held = at, w.held[:n]
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
