// Package filekind tells what a file is by its bytes, and whether it may change hands on the
// exchange: programs, installers, scripts, source code, documents with macros, and archives
// that hold any of these or cannot be looked into may not (bench.md 13.6). Everything here
// is pure: bytes in, a verdict out, within fixed bounds of memory and work.
//
// A name counts against a file, never for it: "photo.png" that begins like a program is a
// program, and a text called "run.ps1" is a script.
package filekind

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// HeadBytes is how many of a file's first bytes Head wants to see.
const HeadBytes = 4 << 10

// Kind is what a file's content says it is.
type Kind struct {
	Name        string // "png", "pdf", "zip", "text", "octets"
	ContentType string
	Ending      string // of a stored name, with the dot; "" for none
}

// Verdict says what a file is and why it may not change hands.
type Verdict struct {
	Kind
	// Refused is one of the reasons below; "" when the file may change hands.
	Refused string
	// Why is a sentence about it for whoever sent the file.
	Why string
	// Member is where inside an archive the reason was found; "" for the file itself.
	Member string
}

// OK tells whether the file may change hands.
func (v Verdict) OK() bool { return v.Refused == "" }

// Reasons for which a file is refused.
const (
	Program   = "program"
	Installer = "installer"
	Script    = "script"
	Code      = "code"
	Macros    = "macros"
	Opaque    = "cannot_be_looked_into"
	TooMuch   = "holds_too_much"
	Broken    = "broken_archive"
	Escaping  = "unsafe_member"
)

var why = map[string]string{
	Program:   "This is a program. Programs do not change hands here.",
	Installer: "This installs or starts software. Installers and disk images do not change hands here.",
	Script:    "This is a script: something a computer would run.",
	Code:      "This is source code or a page that runs code. Code goes into the person's own repository, as a link of kind repo.",
	Macros:    "This document holds macros or a packed file. Save it without them.",
	Opaque:    "This archive cannot be looked into. Send a plain zip or tar.gz without a password.",
	TooMuch:   "This archive holds more than can be looked into. Send its files one by one.",
	Broken:    "This archive is damaged or ends too early.",
	Escaping:  "This archive has members that are links or lie outside its own folder.",
}

func refuse(reason, member string) Verdict {
	return Verdict{Refused: reason, Why: why[reason], Member: member}
}

// kinds by their first bytes.
var (
	png    = Kind{"png", "image/png", ".png"}
	jpeg   = Kind{"jpeg", "image/jpeg", ".jpg"}
	gif    = Kind{"gif", "image/gif", ".gif"}
	webp   = Kind{"webp", "image/webp", ".webp"}
	octets = Kind{"octets", "application/octet-stream", ""}
	plain  = Kind{"text", "text/plain; charset=utf-8", ".txt"}
	rtf    = Kind{"rtf", "application/rtf", ".rtf"}
	svg    = Kind{"svg", "image/svg+xml", ".svg"}
	zipped = Kind{"zip", "application/zip", ".zip"}
	gzip   = Kind{"gzip", "application/gzip", ".gz"}
	tarred = Kind{"tar", "application/x-tar", ".tar"}
	ole    = Kind{"ole", "application/x-ole-storage", ""}
)

var magics = []struct {
	begin string
	kind  Kind
}{
	{"\x89PNG\r\n\x1a\n", png}, {"\xff\xd8\xff", jpeg}, {"GIF87a", gif}, {"GIF89a", gif},
	{"%PDF-", Kind{"pdf", "application/pdf", ".pdf"}}, {`{\rt`, rtf}, // as few letters as word processors ask for
	{"II*\x00", Kind{"tiff", "image/tiff", ".tif"}}, {"MM\x00*", Kind{"tiff", "image/tiff", ".tif"}},
	{"OggS", Kind{"ogg", "application/ogg", ".ogg"}}, {"fLaC", Kind{"flac", "audio/flac", ".flac"}}, {"ID3", Kind{"mp3", "audio/mpeg", ".mp3"}},
	{"\x1aE\xdf\xa3", Kind{"matroska", "video/x-matroska", ".mkv"}},
	{"PK\x03\x04", zipped}, {"PK\x05\x06", zipped}, {"PK\x07\x08", zipped}, {"\x1f\x8b", gzip},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ole},
}

// Image tells the pictures a document may show: png, jpg, gif and webp (bench.md 13.7).
func Image(head []byte) (Kind, bool) {
	k := kindOf(head)
	switch k {
	case png, jpeg, gif, webp:
		return k, true
	}
	return Kind{}, false
}

func kindOf(head []byte) Kind {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.begin)) {
			return m.kind
		}
	}
	switch {
	case len(head) >= 12 && string(head[:4]) == "RIFF":
		return riff(string(head[8:12]))
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return ftyp(string(head[8:12]))
	case isTar(head):
		return tarred
	case opensWith(narrow(head), "<") && drawn(bytes.ToLower(narrow(head))):
		return svg
	case isText(head):
		return plain
	}
	return octets
}

// drawn tells whether markup is a drawing, in whatever encoding.
func drawn(lower []byte) bool {
	return bytes.Contains(lower, []byte("<svg")) || bytes.Contains(lower, []byte(":svg"))
}

func riff(form string) Kind {
	switch form {
	case "WEBP":
		return webp
	case "WAVE":
		return Kind{"wav", "audio/wav", ".wav"}
	case "AVI ":
		return Kind{"avi", "video/x-msvideo", ".avi"}
	}
	return octets
}

// ftyp tells the members of the MP4 family.
func ftyp(brand string) Kind {
	switch brand {
	case "heic", "heix", "mif1", "heif":
		return Kind{"heic", "image/heic", ".heic"}
	case "avif":
		return Kind{"avif", "image/avif", ".avif"}
	case "M4A ":
		return Kind{"m4a", "audio/mp4", ".m4a"}
	case "qt  ":
		return Kind{"mov", "video/quicktime", ".mov"}
	}
	return Kind{"mp4", "video/mp4", ".mp4"}
}

// isText tells whether bytes are UTF-8 without control characters; a last character that
// was cut off does not count.
func isText(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 {
			return len(head) < utf8.UTFMax && !utf8.FullRune(head)
		}
		if r == 0x7f || r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' {
			return false
		}
		head = head[n:]
	}
	return true
}

// opensWith tells whether a text begins with a word, in any case, behind a mark of byte
// order and white space.
func opensWith(head []byte, word string) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n\f")
	return len(head) >= len(word) && strings.EqualFold(string(head[:len(word)]), word)
}

// Head is a first look at a file's name and its first HeadBytes bytes: what is refused
// here need not be stored. Archives and documents that pass still want Check.
func Head(name string, head []byte) Verdict {
	if reason := named(name); reason != "" {
		return refuse(reason, "")
	}
	if reason := runs(head); reason != "" {
		return refuse(reason, "")
	}
	return Verdict{Kind: kindOf(head)}
}

// Check looks at a whole file and, within bounds, into what it holds. The error is the
// reader's own; everything that is wrong with the file is in the verdict.
func Check(name string, r io.ReaderAt, size int64) (Verdict, error) {
	l := &look{}
	return l.file(name, section{r, size}, 0)
}

// section is a file that can be read at any place.
type section struct {
	io.ReaderAt
	size int64
}

// head reads the first bytes.
func (s section) head() ([]byte, error) {
	b := make([]byte, min(HeadBytes, max(s.size, 0)))
	n, err := s.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}
