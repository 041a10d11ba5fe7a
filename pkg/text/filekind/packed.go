package filekind

import (
	"archive/tar"
	"bytes"
	stdgzip "compress/gzip"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"
)

// stream looks through a tar file, packed or not, or at the one file in a gzip.
func (l *look) stream(k Kind, r io.Reader, depth int, name string) (Verdict, error) {
	if depth >= MaxDepth {
		return refuse(TooMuch, ""), nil
	}
	if k == tarred {
		return l.tar(r, depth)
	}
	z, err := stdgzip.NewReader(r)
	if err != nil {
		return broken(err, "")
	}
	defer z.Close()
	m := &meter{r: z, spent: &l.unpacked}
	head, err := io.ReadAll(io.LimitReader(m, HeadBytes))
	if err != nil {
		return broken(err, "")
	}
	whole := io.MultiReader(bytes.NewReader(head), m)
	if isTar(head) {
		if v, err := l.tar(whole, depth); err != nil || !v.OK() {
			return v, err
		}
		return Verdict{Kind: k}, nil
	}
	inside := path.Base(name)
	if strings.EqualFold(path.Ext(inside), ".gz") {
		inside = inside[:len(inside)-len(".gz")]
	}
	if z.Name != "" {
		if reason := named(inside); reason != "" { // most programs go by the outer name
			return refuse(reason, inside), nil
		}
		inside = z.Name
	}
	if v := l.enter(inside); !v.OK() {
		return v, nil
	}
	if v, err := l.member(inside, whole, k, depth); err != nil || !v.OK() {
		return v, err
	}
	return Verdict{Kind: k}, nil
}

func (l *look) tar(r io.Reader, depth int) (Verdict, error) {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return emptied(r)
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return broken(err, "")
		}
		if v := l.enter(h.Name); !v.OK() {
			return v, nil
		}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg, tar.TypeGNUSparse:
		default:
			return refuse(Escaping, h.Name), nil
		}
		if v, err := l.member(h.Name, t, tarred, depth); err != nil || !v.OK() {
			return v, err
		}
	}
}

// emptied demands that nothing comes behind the end of a tar file: some programs read on.
func emptied(r io.Reader) (Verdict, error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			if b != 0 {
				return refuse(Broken, ""), nil
			}
		}
		if errors.Is(err, io.EOF) {
			return Verdict{Kind: tarred}, nil
		}
		if err != nil {
			return broken(err, "")
		}
	}
}

// meter counts what is read, against a bound for the whole file, and keeps the end of it
// where that is wanted.
type meter struct {
	r     io.Reader
	spent *int64
	tail  []byte // 2*maxTail long at most; nil where it is not wanted
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if *m.spent += int64(n); *m.spent > MaxInflated {
		return 0, errTooMuch
	}
	if m.tail == nil {
		return n, err
	}
	if p = p[max(0, n-maxTail):n]; len(m.tail)+len(p) > cap(m.tail) {
		m.tail = m.tail[:copy(m.tail, m.tail[max(0, len(m.tail)-maxTail):])]
	}
	m.tail = append(m.tail, p...)
	return n, err
}

// isTar tells a tar file by the sum of its first header, which the oldest form has too.
func isTar(head []byte) bool {
	const block, at, width = 512, 148, 8
	if len(head) < block || head[0] == 0 {
		return false
	}
	sum := int64(width * ' ')
	for i, b := range head[:block] {
		if i < at || i >= at+width {
			sum += int64(b)
		}
	}
	said, err := strconv.ParseInt(strings.Trim(string(head[at:at+width]), " \x00"), 8, 64)
	return err == nil && said == sum
}
