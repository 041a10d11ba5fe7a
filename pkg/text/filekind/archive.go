package filekind

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"io"
	"path"
	"strings"
)

// Bounds of looking into archives.
const (
	MaxDepth    = 3         // archives inside archives
	MaxMembers  = 5000      // of one file, those of inner archives included
	MaxInflated = 256 << 20 // bytes of all members of one file, and of what is unpacked to find them
	MaxInner    = 32 << 20  // bytes of an inner zip or document, which is held in memory
	MaxIndex    = 4 << 20   // bytes of a zip's list of members, which is held in memory
	maxName     = 1 << 10   // bytes of a member's name
	scanChunk   = 64 << 10  // bytes
)

// look is one Check: what it has spent so far.
type look struct {
	members  int
	inflated int64 // bytes of members
	unpacked int64 // bytes of tar files that were packed
	markup   int64 // bytes of markup
	free     [][]byte
}

// borrow takes a buffer for the end of a member; whoever takes it gives it back.
func (l *look) borrow() (b []byte) {
	if n := len(l.free); n > 0 {
		b, l.free = l.free[n-1], l.free[:n-1]
		return b[:0]
	}
	return make([]byte, 0, 2*maxTail)
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
	if v.Kind == zipped {
		if isTar(head) { // one or the other, by its name
			return refuse(Opaque, ""), nil
		}
		return l.zip(r, depth)
	}
	whole := io.NewSectionReader(r, 0, r.size)
	switch {
	case v.Kind == tarred, v.Kind == gzip:
		v, err = l.stream(v.Kind, whole, depth, name)
	case v.Kind == ole, v.Kind == rtf:
		v, err = l.scan(v.Kind, whole)
	case v.Kind == svg, opensMarkup(head):
		v, err = markup{kind: v.Kind, spent: &l.markup}.run(whole)
	}
	if err != nil || !v.OK() {
		return v, err
	}
	return l.behind(v, r)
}

// images are the places of what disc images and volumes begin or end with.
func images(size int64) map[int64][]string {
	return map[int64][]string{isoPlace: {isoMark, "BEA01"}, max(size-512, -1): {"koly", "conectix"}}
}

// behind looks at the places of disc images, and for an archive behind something else.
func (l *look) behind(v Verdict, r section) (Verdict, error) {
	for at, marks := range images(r.size) {
		b := make([]byte, 8)
		if at < 0 {
			continue
		}
		n, err := r.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return broken(err, "")
		}
		for _, mark := range marks {
			if strings.HasPrefix(string(b[:n]), mark) {
				return refuse(Installer, ""), nil
			}
		}
	}
	tail, err := tailOf(r)
	if err != nil {
		return broken(err, "")
	}
	if endsAsZip(tail) { // programs open such a file as an archive
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
	ole: {{utf16("_vba_project"), Macros, true}, {utf16("\x01ole10native"), Macros, true}, {utf16("encryptedpackage"), Opaque, true},
		{utf16("__attach_version1.0"), Macros, true},                                           // a file in a letter
		{"\x84\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46", Installer, false}, // the class of an MSI file
		{"\x86\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46", Installer, false}, // of a patch
		{"\x82\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46", Installer, false}},
	rtf:   {{`\objdata`, Macros, true}},
	types: {{"macroenabled", Macros, true}, {"macrosheet", Macros, true}, {"vbaproject", Macros, true}, {"activex", Macros, true}},
}

// types is the list of what the parts of a document are: their names say nothing.
var types = Kind{"types", "application/xml", ".xml"}

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
		lower := fold(window)
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

// fold is a copy with its ASCII letters in lower case.
func fold(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
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
	if len(z.File) > MaxMembers {
		return refuse(TooMuch, ""), nil
	}
	list, err := layout(s, z.File)
	if err != nil {
		return broken(err, "")
	}
	k := zipKind(z.File)
	for _, f := range list { // in the order in which they lie: the file is read through once
		v, err := l.zipMember(f.File, k, depth)
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
	for _, name := range []string{f.Name, secondName(f.Extra)} {
		if reason := cmp.Or(insideOf(k, name), insideOf(k, path.Base(name))); reason != "" && name != "" {
			return refuse(reason, f.Name), nil
		}
	}
	if second := secondName(f.Extra); second != "" && second != f.Name {
		if v := l.enter(second); !v.OK() {
			return v, nil
		}
		if reason := named(second); reason != "" {
			return refuse(reason, second), nil
		}
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
	m := &meter{r: r, spent: &l.inflated, tail: l.borrow()}
	defer func() { l.free = append(l.free, m.tail) }()
	head, err := io.ReadAll(io.LimitReader(m, HeadBytes))
	if err != nil {
		return broken(err, name)
	}
	v, page := Head(name, head), in == epub && book(name)
	if page && v.Refused == Code {
		v = Verdict{Kind: plain}
	}
	whole := io.MultiReader(bytes.NewReader(head), m)
	switch {
	case !v.OK():
	case strings.EqualFold(name, "[Content_Types].xml"):
		v, err = l.scan(types, &narrowed{whole})
	case page && opensMarkup(head):
		v, err = markup{kind: v.Kind, book: true, spent: &l.markup}.run(whole)
	default:
		v, err = l.inner(v, head, whole, depth, name)
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
	if v.Kind != zipped && !strings.HasPrefix(string(head), localMark) && endsAsZip(m.tail) {
		return refuse(Opaque, name), nil // an archive behind something else, inside another one
	}
	return v, nil
}

// narrowed leaves out what UTF-16 adds to plain letters.
type narrowed struct{ io.Reader }

// Read implements io.Reader.
func (n *narrowed) Read(p []byte) (int, error) {
	m, err := n.Reader.Read(p)
	return copy(p, bytes.ReplaceAll(p[:m], []byte{0}, nil)), err
}

// inner goes on into a member that holds more.
func (l *look) inner(v Verdict, head []byte, whole io.Reader, depth int, name string) (Verdict, error) {
	switch {
	case v.Kind == zipped && isTar(head):
		return refuse(Opaque, ""), nil
	case v.Kind == zipped:
		b, err := io.ReadAll(io.LimitReader(whole, MaxInner+1))
		switch {
		case err != nil:
			return broken(err, "")
		case len(b) > MaxInner:
			return refuse(TooMuch, ""), nil
		}
		return l.zip(section{bytes.NewReader(b), int64(len(b))}, depth+1)
	case v.Kind == tarred, v.Kind == gzip:
		return l.stream(v.Kind, whole, depth+1, name)
	case v.Kind == ole, v.Kind == rtf:
		return l.scan(v.Kind, whole)
	case v.Kind == svg, opensMarkup(head):
		return markup{kind: v.Kind, spent: &l.markup}.run(whole)
	}
	return v, nil
}
