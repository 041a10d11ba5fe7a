package filekind

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	stdgzip "compress/gzip"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"
)

// Bounds of looking into archives.
const (
	MaxDepth    = 3         // archives inside archives
	MaxMembers  = 5000      // of one file, those of inner archives included
	MaxInflated = 256 << 20 // bytes read out of one file in all
	MaxInner    = 32 << 20  // bytes of an inner zip or document, which is held in memory
	MaxIndex    = 4 << 20   // bytes of a zip's list of members, which is held in memory
	maxName     = 1 << 10   // bytes of a member's name
	scanChunk   = 64 << 10  // bytes
)

// look is one Check: what it has spent so far.
type look struct {
	members  int
	inflated int64
}

// errSource marks an error of the reader itself, not of the file in it.
type errSource struct{ error }

func (e errSource) Unwrap() error { return e.error }

// honest marks the errors of a reader.
type honest struct{ section }

// ReadAt implements io.ReaderAt. A damaged archive asks for places no file has.
func (h honest) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at >= h.size {
		return 0, io.EOF
	}
	n, err := h.section.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errSource{err}
	}
	return n, err
}

// broken tells an error of the source from a broken file.
func broken(err error, member string) (Verdict, error) {
	var own errSource
	if errors.As(err, &own) {
		return Verdict{}, own.error
	}
	if errors.Is(err, errTooMuch) {
		return refuse(TooMuch, member), nil
	}
	return refuse(Broken, member), nil
}

var errTooMuch = errors.New("filekind: more than is looked into")

// file looks at one file that can be read at any place.
func (l *look) file(name string, s section, depth int) (Verdict, error) {
	head, err := s.head()
	if err != nil {
		return Verdict{}, err
	}
	v := Head(name, head)
	if !v.OK() {
		return v, nil
	}
	r := section{honest{s}, s.size}
	switch v.Kind {
	case zipped:
		return l.zip(r, depth)
	case tarred, gzip:
		return l.stream(v.Kind, io.NewSectionReader(r, 0, r.size), depth, name)
	case ole:
		return l.scan(v.Kind, io.NewSectionReader(r, 0, r.size))
	}
	return l.plain(v, r)
}

// plain looks at the places of disc images, for an archive behind something else, and at
// the whole of a drawing.
func (l *look) plain(v Verdict, r section) (Verdict, error) {
	if v.Kind == svg || v.Kind == rtf {
		return l.scan(v.Kind, io.NewSectionReader(r, 0, r.size))
	}
	for at, mark := range map[int64]string{isoPlace: isoMark, r.size - 512: "koly"} { // a disc image, an Apple one
		b := make([]byte, len(mark))
		if at < HeadBytes && mark == isoMark || at < 0 {
			continue
		}
		switch n, err := r.ReadAt(b, at); {
		case err != nil && !errors.Is(err, io.EOF):
			return broken(err, "")
		case string(b[:n]) == mark:
			return refuse(Installer, ""), nil
		}
	}
	if z, err := openZip(r); errors.Is(err, errTooMuch) || err == nil && len(z.File) > 0 { // programs open such a file as an archive
		if inside, err := l.zip(r, 0); err != nil || !inside.OK() {
			return inside, err
		}
	}
	return v, nil
}

// marks that give a file away wherever in it they stand.
var marks = map[Kind][]struct {
	mark, reason string
	fold         bool
}{
	ole: {{utf16("_VBA_PROJECT"), Macros, false}, {utf16("\x01Ole10Native"), Macros, false}, {utf16("EncryptedPackage"), Opaque, false},
		{"\x84\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46", Installer, false}, // the class of an MSI file
		{"\x86\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46", Installer, false}, // of a patch
		{"\x82\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46", Installer, false}},
	rtf: {{`\objdata`, Macros, true}},
	svg: {{"<script", Code, true}, {"javascript:", Code, true}, {"<iframe", Code, true}, {"onload=", Code, true}, {"onerror=", Code, true},
		{"onclick=", Code, true}, {"onbegin=", Code, true}, {"onmouseover=", Code, true}},
}

// utf16 is how an OLE file spells the names of its streams.
func utf16(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		b.WriteByte(0)
	}
	return b.String()
}

// scan reads a file for its kind's marks.
func (l *look) scan(k Kind, r io.Reader) (Verdict, error) {
	const overlap = 64 // bytes, longer than every mark
	buf := make([]byte, overlap+scanChunk)
	kept := 0
	for {
		n, err := io.ReadFull(r, buf[kept:])
		window := buf[:kept+n]
		lower := window
		if k == svg || k == rtf {
			lower = bytes.ToLower(window)
		}
		for _, m := range marks[k] {
			if bytes.Contains(window, []byte(m.mark)) || m.fold && bytes.Contains(lower, []byte(m.mark)) {
				return refuse(m.reason, ""), nil
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return Verdict{Kind: k}, nil
		}
		if err != nil {
			return broken(err, "")
		}
		kept = copy(buf, window[max(0, len(window)-overlap):])
	}
}

// zip looks at every member of a zip file. It is read to its end: what a member says of its
// size is not believed.
func (l *look) zip(s section, depth int) (Verdict, error) {
	if depth >= MaxDepth {
		return refuse(TooMuch, ""), nil
	}
	z, err := openZip(s)
	if err != nil {
		return broken(err, "")
	}
	k := zipKind(z.File)
	for _, f := range z.File {
		v, err := l.zipMember(f, k, depth)
		if err != nil || !v.OK() {
			return v, err
		}
	}
	return Verdict{Kind: k}, nil
}

// openZip reads the list of a zip file's members.
func openZip(s section) (*zip.Reader, error) {
	x := &index{section: s, left: MaxIndex}
	z, err := zip.NewReader(x, s.size)
	if errors.Is(err, zip.ErrInsecurePath) {
		err = nil
	}
	x.open = true
	return z, err
}

// index bounds what is read before the members of a zip file are known: a list of members
// takes many times its bytes in memory.
type index struct {
	section
	left int64
	open bool
}

// ReadAt implements io.ReaderAt.
func (x *index) ReadAt(p []byte, at int64) (int, error) {
	n, err := x.section.ReadAt(p, at)
	if x.left -= int64(n); x.left < 0 && !x.open {
		return 0, errTooMuch
	}
	return n, err
}

func (l *look) zipMember(f *zip.File, k Kind, depth int) (Verdict, error) {
	if v := l.enter(f.Name); !v.OK() {
		return v, nil
	}
	switch mode := f.Mode(); {
	case f.Flags&1 != 0, f.Method != zip.Store && f.Method != zip.Deflate:
		return refuse(Opaque, f.Name), nil
	case mode.IsDir():
		return Verdict{}, nil
	case !mode.IsRegular():
		return refuse(Escaping, f.Name), nil
	}
	if reason := insideOf(k, f.Name); reason != "" {
		return refuse(reason, f.Name), nil
	}
	r, err := f.Open()
	if err != nil {
		return broken(err, f.Name)
	}
	defer r.Close()
	return l.member(f.Name, r, k, depth)
}

// enter counts a member and refuses names that lead out of the archive.
func (l *look) enter(name string) Verdict {
	if l.members++; l.members > MaxMembers || len(name) > maxName {
		return refuse(TooMuch, "")
	}
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || len(clean) > 1 && clean[1] == ':' || strings.IndexByte(name, 0) >= 0 {
		return refuse(Escaping, name)
	}
	return Verdict{}
}

// member looks at one file inside an archive and reads it to its end.
func (l *look) member(name string, r io.Reader, in Kind, depth int) (Verdict, error) {
	m := &meter{r: r, l: l}
	head, err := io.ReadAll(io.LimitReader(m, HeadBytes))
	if err != nil {
		return broken(err, name)
	}
	v := Head(name, head)
	if in == epub && v.Refused == Code && named(name) != Script && book(name) {
		v = Verdict{Kind: plain}
	}
	whole := io.MultiReader(bytes.NewReader(head), m)
	if v.OK() {
		v, err = l.inner(v, whole, depth, name)
	}
	if err != nil {
		return v, err
	}
	if !v.OK() {
		v.Member = path.Join(name, v.Member)
		return v, nil
	}
	if _, err := io.Copy(io.Discard, m); err != nil { // its sum is checked at the end
		return broken(err, name)
	}
	return v, nil
}

// inner goes on into a member that holds more.
func (l *look) inner(v Verdict, whole io.Reader, depth int, name string) (Verdict, error) {
	switch v.Kind {
	case zipped:
		b, err := io.ReadAll(io.LimitReader(whole, MaxInner+1))
		switch {
		case err != nil:
			return broken(err, "")
		case len(b) > MaxInner:
			return refuse(TooMuch, ""), nil
		}
		return l.zip(section{bytes.NewReader(b), int64(len(b))}, depth+1)
	case tarred, gzip:
		return l.stream(v.Kind, whole, depth+1, name)
	case ole, svg, rtf:
		return l.scan(v.Kind, whole)
	}
	return v, nil
}

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
	m := &meter{r: z, l: l}
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
	inside := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".gz"), ".GZ")
	if z.Name != "" {
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
	t := tar.NewReader(&meter{r: r, l: l})
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return Verdict{Kind: tarred}, nil
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

// meter counts what is read out of the file in all.
type meter struct {
	r io.Reader
	l *look
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.l.inflated += int64(n); m.l.inflated > MaxInflated {
		return 0, errTooMuch
	}
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
