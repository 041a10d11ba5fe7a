package filekind

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Bounds of reading markup.
const (
	maxToken   = 8 << 20  // bytes of a piece that is read at once: a picture inside a drawing
	maxMarkup  = 32 << 20 // bytes of one file, all its members together, that are read piece by piece
	maxNesting = 1000     // elements inside elements
)

var errLong = errors.New("filekind: more markup than is read piece by piece")

// The languages whose elements browsers run.
const svgSpace, pageSpace = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"

// wideOrder is the byte order of UTF-16 by its mark, or by how markup begins in it.
func wideOrder(head []byte) (unicode.Endianness, bool) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00")) && !bytes.HasPrefix(head, []byte("<\x00\x00")):
		return unicode.LittleEndian, true
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<")):
		return unicode.BigEndian, true
	}
	return unicode.LittleEndian, false
}

// narrow is a beginning in UTF-8, whatever it was written in.
func narrow(head []byte) []byte {
	order, wide := wideOrder(head)
	if !wide {
		return head
	}
	out, _ := io.ReadAll(transform.NewReader(bytes.NewReader(head), unicode.UTF16(order, unicode.UseBOM).NewDecoder())) // what is odd becomes U+FFFD
	return out
}

// opensMarkup tells whether a file begins like markup, or with more white space than a head.
func opensMarkup(head []byte) bool {
	rest := bytes.TrimLeft(bytes.TrimPrefix(narrow(head), []byte("\xef\xbb\xbf")), " \t\r\n\f")
	return len(rest) > 0 && rest[0] == '<' || len(rest) == 0 && len(head) == HeadBytes
}

// markup reads a drawing or other markup for what a browser would run in it. Pages are
// refused, but those of an electronic book.
type markup struct {
	kind  Kind
	book  bool
	spent *int64 // bytes read piece by piece so far, of the whole file
}

// run reads it to its end.
func (m markup) run(r io.Reader) (Verdict, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return broken(err, "")
	}
	var in io.Reader = b
	if order, wide := wideOrder(head); wide {
		in = transform.NewReader(b, unicode.UTF16(order, unicode.UseBOM).NewDecoder())
	}
	w := &watched{r: in, total: m.spent}
	d := xml.NewDecoder(bufio.NewReaderSize(w, scanChunk))
	d.Strict, d.CharsetReader = false, charset
	for deep := 0; ; {
		t, err := d.Token()
		if err != nil {
			return m.end(w, err)
		}
		w.since = 0
		switch t.(type) {
		case xml.StartElement:
			deep++
		case xml.EndElement:
			deep--
		}
		if deep > maxNesting {
			return refuse(TooMuch, ""), nil
		}
		if reason := m.token(t); reason != "" {
			return refuse(reason, ""), nil
		}
	}
}

// end judges markup that is over or cannot be read any further. A browser may read more of
// it than we do, so that the rest must not even mention what runs.
func (m markup) end(w *watched, err error) (Verdict, error) {
	var own errSource
	if errors.As(err, &own) || errors.Is(err, errTooMuch) {
		return broken(err, "")
	}
	if !errors.Is(err, io.EOF) {
		w.rest = true
		if _, err := io.Copy(io.Discard, w); err != nil {
			return broken(err, "")
		}
		if w.runs || (w.shows || m.kind == svg) && !m.book {
			return refuse(Code, ""), nil
		}
	}
	return Verdict{Kind: m.kind}, nil
}

func (m markup) token(t xml.Token) string {
	switch t := t.(type) {
	case xml.StartElement:
		return m.element(t)
	case xml.ProcInst:
		inst := strings.ToLower(string(t.Inst))
		if strings.EqualFold(t.Target, "xml-stylesheet") && (!strings.Contains(inst, "css") || strings.Contains(inst, "xsl")) {
			return Code
		}
	case xml.Directive:
		if declares(strings.ToLower(string(t))) {
			return Code
		}
	}
	return ""
}

// declares tells whether a document type makes markup of its own: entities that hold more
// than plain words, or attributes that elements have by themselves.
func declares(directive string) bool {
	if strings.Contains(directive, "<!attlist") {
		return true
	}
	_, inside, found := strings.Cut(directive, "[")
	if !found {
		return false
	}
	return strings.ContainsAny(inside, "&%") || strings.Contains(strings.ReplaceAll(strings.ReplaceAll(inside, "<!entity", ""), "<!element", ""), "<")
}

// element is the reason for which an element is refused.
func (m markup) element(e xml.StartElement) string {
	name := strings.ToLower(e.Name.Local[strings.LastIndexByte(e.Name.Local, ':')+1:])
	if name == "module" && strings.HasSuffix(e.Name.Space, "opendocument:xmlns:script:1.0") {
		return Macros
	}
	active := m.kind == svg || e.Name.Space == svgSpace || e.Name.Space == pageSpace
	if active {
		switch name {
		case "script", "iframe", "frame", "object", "embed", "applet", "handler", "listener":
			return Code
		case "html":
			if !m.book {
				return Code
			}
		}
	}
	for _, a := range e.Attr {
		key, value := strings.ToLower(a.Name.Local), squeezed(a.Value)
		switch {
		case key == "macrospresent" && value == "yes", strings.Contains(value, "ms-office.vbaproject"):
			return Macros
		case active && runsAs(a.Name.Space, key, value):
			return Code
		}
	}
	return ""
}

// runsAs tells whether an attribute is something that a browser runs.
func runsAs(space, key, value string) bool {
	switch {
	case space == "" && len(key) > 3 && strings.HasPrefix(key, "on"), key == "srcdoc", key == "http-equiv" && value == "refresh":
		return true
	case key == "attributename" && strings.HasPrefix(value, "on"):
		return true
	case key == "href" && strings.HasPrefix(value, "data:"):
		return !strings.HasPrefix(value, "data:image/") && !strings.HasPrefix(value, "data:font/") && !strings.HasPrefix(value, "data:application/")
	}
	return strings.Contains(value, "javascript:") || strings.Contains(value, "vbscript:")
}

// squeezed is a value as a browser reads an address: without white space and controls.
func squeezed(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, s))
}

// charset reads encodings in which the letters of markup are single bytes as in ASCII.
func charset(name string, in io.Reader) (io.Reader, error) {
	name = strings.ToLower(name)
	for _, begin := range []string{"us-ascii", "iso-8859-", "windows-125", "koi8-"} {
		if strings.HasPrefix(name, begin) {
			return &ascii{in}, nil
		}
	}
	if strings.HasPrefix(name, "utf-16") {
		return in, nil // by its mark, or no UTF-16 at all
	}
	return nil, errors.New("filekind: an encoding that is not read")
}

// ascii reads a question mark for every byte that is no ASCII.
type ascii struct{ io.Reader }

func (a *ascii) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	for i, b := range p[:n] {
		if b >= 0x80 {
			p[i] = '?'
		}
	}
	return n, err
}

// spelt finds the name of a language that is written in numbers.
var spelt = regexp.MustCompile(`xmlns[^=<>]{0,99}=[ \t\r\n]{0,99}["'][^"'<>]{0,200}&#`)

// watched looks for what runs in all that is read of markup.
type watched struct {
	r     io.Reader
	since int64 // bytes since the last piece
	total *int64
	rest  bool // nothing is kept any more
	kept  []byte
	runs  bool // a script is mentioned
	shows bool // so is a language in which one would run, or what could spell one
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.since, *w.total = w.since+int64(n), *w.total+int64(n)
	switch {
	case w.rest:
	case w.since > maxToken+scanChunk:
		return 0, errTooMuch
	case *w.total > maxMarkup:
		err = errLong
	}
	const overlap = 512 // bytes, longer than every word and what spelt finds
	window := fold(append(w.kept, p[:n]...))
	has := func(words ...string) bool {
		for _, word := range words {
			if bytes.Contains(window, []byte(word)) {
				return true
			}
		}
		return false
	}
	w.runs = w.runs || has("<script", ":script", "javascript:", "<!attlist")
	w.shows = w.shows || has("w3.org/1999/xhtml", "w3.org/2000/svg", "<!entity", "xml-stylesheet") || has("&#") && spelt.Match(window)
	w.kept = append(w.kept[:0], window[max(0, len(window)-overlap):]...)
	return n, err
}

// book tells whether a member is a page or the style of an electronic book.
func book(name string) bool {
	switch path.Ext(strings.ToLower(name)) {
	case ".html", ".htm", ".xhtml", ".css":
		return true
	}
	return false
}
