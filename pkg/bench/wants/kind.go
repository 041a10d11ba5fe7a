package wants

import (
	"bytes"
	"encoding/binary"
)

// Kinds of files a person can put beside a want: pictures, PDF and text documents
// (bench.md 4.1).
var (
	kindPNG  = FileKind{"image/png", ".png"}
	kindJPEG = FileKind{"image/jpeg", ".jpg"}
	kindGIF  = FileKind{"image/gif", ".gif"}
	kindWebP = FileKind{"image/webp", ".webp"}
	kindHEIC = FileKind{"image/heic", ".heic"}
	kindPDF  = FileKind{"application/pdf", ".pdf"}
	kindRTF  = FileKind{"application/rtf", ".rtf"}
	kindDOC  = FileKind{"application/msword", ".doc"}
	kindDOCX = FileKind{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"}
	kindODT  = FileKind{"application/vnd.oasis.opendocument.text", ".odt"}
)

var magics = []struct {
	begin string
	kind  FileKind
}{
	{"\x89PNG\r\n\x1a\n", kindPNG}, {"\xff\xd8\xff", kindJPEG}, {"GIF87a", kindGIF}, {"GIF89a", kindGIF}, {"%PDF-", kindPDF}, {`{\rtf1`, kindRTF},
}

// DocumentKind tells the type of a picture or a document by its first bytes. A name or a
// declared type counts for nothing; scripts, markup, archives, spreadsheets and programs
// are none of these.
func DocumentKind(head []byte) (FileKind, bool) {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.begin)) {
			return m.kind, true
		}
	}
	switch {
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return kindWebP, true
	case len(head) >= 12 && string(head[4:8]) == "ftyp" && bytes.Contains([]byte("heic heix mif1"), head[8:12]):
		return kindHEIC, true
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return kindDOC, bytes.Contains(head, utf16("WordDocument"))
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return zipKind(head)
	}
	return FileKind{}, false
}

// utf16 is how an OLE file spells the names of its streams.
func utf16(s string) []byte {
	out := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		out = append(out, s[i], 0)
	}
	return out
}

// zipKind tells the text documents among zip files by the names of their members. A
// document with macros is none.
func zipKind(head []byte) (FileKind, bool) {
	word := false
	for i, n := range zipNames(head) {
		switch {
		case i == 0 && n == "mimetype" && bytes.Contains(head[:min(len(head), 200)], []byte(kindODT.ContentType)):
			return kindODT, true
		case n == "word/vbaProject.bin":
			return FileKind{}, false
		case n == "word/document.xml":
			word = true
		}
	}
	return kindDOCX, word
}

// zipNames lists the members whose local headers stand in the first bytes of a zip file.
func zipNames(head []byte) []string {
	const header = 30 // bytes before the name
	var names []string
	for {
		i := bytes.Index(head, []byte("PK\x03\x04"))
		if i < 0 || len(head) < i+header {
			return names
		}
		n := int(binary.LittleEndian.Uint16(head[i+26:]))
		if len(head) >= i+header+n {
			names = append(names, string(head[i+header:i+header+n]))
		}
		head = head[i+4:]
	}
}
