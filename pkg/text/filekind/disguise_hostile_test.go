package filekind_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/text/filekind"
)

// wideMark is a text in UTF-16 with its mark.
func wideMark(s string) string { return "\xff\xfe" + wide(s) }

func bigWide(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(0)
		b.WriteByte(s[i])
	}
	return b.String()
}

// gzBoth is a gzip with a name inside, under another outside.
func renamed(z, from, to string) string { return strings.Replace(z, from, to, 1) }

func TestDisguisesAreSeenThrough(t *testing.T) {
	evil := zipOf(t, member{"x.exe", "MZ\x00"})
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 2000)
	svg := func(inside string) string { return `<svg xmlns="http://www.w3.org/2000/svg">` + inside + `</svg>` }
	far := strings.Repeat(" ", filekind.HeadBytes+10)
	for _, c := range []struct{ what, name, body, reason string }{
		{"a shell script in UTF-16", "a.txt", wideMark("#!/bin/sh\n"), filekind.Script},
		{"a page in UTF-16", "a.txt", wideMark("<html>"), filekind.Code},
		{"a page in UTF-16 of the other order", "a.txt", "\xfe\xff" + bigWide("<script>"), filekind.Code},
		{"a page in UTF-16 without a mark", "a.txt", wide("<!doctype html>"), filekind.Code},
		{"a page with a NUL", "a.txt", "<p>\x00<script>x</script>", filekind.Code},
		{"an ending behind what prints nothing", "run.ps1\u200b", "dir", filekind.Script},
		{"an ending behind a wide blank", "run.ps1\u3000", "dir", filekind.Script},
		{"an ending behind a colon", "x:run.ps1", "dir", filekind.Script},
		{"an ending with a soft hyphen", "run.p\u00ads1", "dir", filekind.Script},
		{"a terminal file", "a.terminal", "x", filekind.Installer}, {"a shortcut of the Finder", "a.inetloc", "x", filekind.Installer},
		{"a shortcut called a text", "a.txt", "[InternetShortcut]\r\nURL=file:///c:/x.exe", filekind.Installer},
		{"a launcher called a text", "a.txt", "[Desktop Entry]\nExec=sh", filekind.Installer},
		{"keys of a registry", "a.txt", "Windows Registry Editor Version 5.00\r\n", filekind.Installer},
		{"compiled Python", "a.dat", "\xa7\x0d\x0d\x0a\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\xe3", filekind.Program},
		{"compiled Python 2", "a.dat", "\x03\xf3\r\n\x01\x02\x03\x04", filekind.Program}, {"compiled help", "a.dat", "ITSF\x03\x00\x00\x00", filekind.Program},
		{"a compiled AppleScript", "a.dat", "FasdUAS 1.101.10\x0e\x00", filekind.Script}, {"a packed Flash film", "a.dat", "ZWS\x0d\x00\x00", filekind.Program},
		{"a notebook", "a.dat", "\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3", filekind.Opaque},
		{"macros of old mail pages", "a.dat", "ActiveMime\x00\x00\x01", filekind.Macros}, {"a cpio archive", "a.dat", "0707010000\x00", filekind.Opaque},
		{"a volume", "a.dat", "\xeb\x3c\x90" + strings.Repeat("\x01", 507) + "\x55\xaa", filekind.Installer},
		{"a disk", "a.dat", strings.Repeat("\x00", 510) + "\x55\xaaEFI PART", filekind.Installer},
		{"a machine's disk of fixed size", "a.dat", strings.Repeat("\x00", 8192) + "conectix" + strings.Repeat("\x00", 504), filekind.Installer},
		{"RTF with half its name", "a.txt", `{\rt{\object\objdata 01}}`, filekind.Macros},
		{"an OLE stream in odd case", "a.doc", oleHead + wide("\x01oLE10nATiVE"), filekind.Macros},
		{"a letter with a file", "a.dat", oleHead + wide("__attach_version1.0_#00000000"), filekind.Macros},

		{"a picture with a program behind", "a.png", png + evil, filekind.Program},
		{"a tar that is a zip as well", "a.zip", tarOf(t, member{"a.txt", "x"}) + evil, filekind.Broken},
		{"a tar file behind another", "a.tar", tarOf(t, member{"a.txt", "x"}) + tarOf(t, member{"a.sh", "x"}), filekind.Broken},
		{"the same, packed", "a.tgz", gzOf(t, "", tarOf(t, member{"a.txt", "x"})+tarOf(t, member{"a.sh", "x"})), filekind.Broken},
		{"a gzip that is a zip as well", "a.zip", gzOf(t, "a.txt", "x") + evil, filekind.Broken},
		{"a drawing that is a zip as well", "a.svg", svg("") + evil, filekind.Code},
		{"an RTF that is a zip as well", "a.rtf", `{\rtf1 x}` + evil, filekind.Program}, {"an OLE file that is a zip as well", "a.doc", oleHead + evil, filekind.Program},
		{"a PDF that is a zip as well, within an archive", "a.zip", zipOf(t, member{"a.pdf", "%PDF-1.7\n" + evil}), filekind.Opaque},
		{"a picture with a damaged zip behind", "a.png", png + renamed(evil, "PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00", "PK\x05\x06\x00\x00\x00\x00\x02\x00\x02\x00"), filekind.Broken},
		{"gzip under two names", "run.ps1.gz", gzOf(t, "a.txt", "dir"), filekind.Script}, {"gzip in capitals", "run.ps1.Gz", gzOf(t, "", "dir"), filekind.Script},

		{"a drawing in another encoding", "a.svg", "<?xml version='1.0' encoding='iso-8859-1'?>" + svg("<desc>\xe9</desc><script>x</script>"), filekind.Code},
		{"a drawing in UTF-16", "a.svg", wideMark(svg(far + "<script>x</script>")), filekind.Code},
		{"a drawing in an encoding that hides", "a.svg", "<?xml version='1.0' encoding='iso-2022-jp'?>" + svg(far+"<script>x</script>"), filekind.Code},
		{"a drawing behind a remark", "a.svg", "<!--" + far + "-->" + svg("<script>x</script>"), filekind.Code},
		{"a drawing behind blanks", "a.svg", far + svg("<script>x</script>"), filekind.Code},
		{"a drawing under a prefix", "a.svg", `<s:svg xmlns:s="http://www.w3.org/2000/svg">` + far + `<s:script>x</s:script></s:svg>`, filekind.Code},
		{"a page under a prefix", "a.xml", `<x><h:script xmlns:h="http://www.w3.org/1999/xhtml">` + far + `</h:script></x>`, filekind.Code},
		{"a language spelt in numbers", "a.xml", `<x>` + far + `<h:script xmlns:h="http://www.w3.org/1999/xhtm&#108;">x</h:script></x>`, filekind.Code},
		{"a handler with blanks", "a.svg", svg("<g onload\n\n = 'x'/>"), filekind.Code}, {"a rare handler", "a.svg", svg("<g onpointerrawupdate='x'/>"), filekind.Code},
		{"a handler set by an animation", "a.svg", svg("<set attributeName='onclick' to='x'/>"), filekind.Code},
		{"an address spelt in numbers", "a.svg", svg("<a href='java&#x0a;scr&#105;pt:x'/>"), filekind.Code}, {"a page in an address", "a.svg", svg("<a href='data:text/html,x'/>"), filekind.Code},
		{"an entity that is markup", "a.svg", `<!DOCTYPE svg [<!ENTITY x "&#60;script>x&#60;/script>">]>` + svg(far+"&x;"), filekind.Code},
		{"an attribute by itself", "a.svg", `<!DOCTYPE svg [<!ATTLIST svg onload CDATA "x">]>` + svg(""), filekind.Code},
		{"a style that is a program", "a.xml", `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="#x"?><x/>`, filekind.Code},
		{"a drawing packed", "a.svgz", gzOf(t, "", svg(far+"<g onend='x'/>")), filekind.Code},
		{"a page in a page", "a.svg", svg("<foreignObject><iframe xmlns='http://www.w3.org/1999/xhtml' srcdoc='x'/></foreignObject>"), filekind.Code},
		{"a text document in one file", "a.fodt", `<?xml version="1.0"?><office:document xmlns:office="urn:o" xmlns:script="urn:oasis:names:tc:opendocument:xmlns:script:1.0">` + far + `<script:module/></office:document>`, filekind.Macros},
		{"a script in a book", "a.epub", zipOf(t, member{"mimetype", "application/epub+zip"}, member{"a.xhtml", `<html xmlns="http://www.w3.org/1999/xhtml"><script>x</script></html>`}), filekind.Code},

		{"macros under another name", "a.docx", zipOf(t, member{"[Content_Types].xml", `<Types><Override PartName="/x.bin" ContentType="application/vnd.ms-office.vbaProject"/></Types>`}, member{"word/document.xml", "x"}), filekind.Macros},
		{"old macros under another name", "a.xlsx", zipOf(t, member{"[Content_Types].xml", wideMark(`<Override ContentType="application/vnd.ms-excel.macrosheet+xml"/>`)}, member{"xl/workbook.xml", "x"}), filekind.Macros},
		{"macros of a template", "a.ott", zipOf(t, member{"mimetype", "application/vnd.oasis.opendocument.text-template"}, member{"Basic/Standard/script-lb.xml", "x"}), filekind.Macros},
	} {
		if v := check(t, c.name, c.body); v.Refused != c.reason {
			t.Errorf("%s is %q, refused for %q in %q: want %q", c.what, v.Name, v.Refused, v.Member, c.reason)
		}
	}
}

// stored is a zip file of members that are not packed, made by hand so that it can lie.
type stored struct {
	name, local string // in the list, and before the bytes
	body        string
	extra       string
	unlisted    bool
}

func lying(members ...stored) string {
	var body, list strings.Builder
	n := 0
	le := func(b *strings.Builder, parts ...any) {
		for _, p := range parts {
			if s, ok := p.(string); ok {
				b.WriteString(s)
			} else if err := binary.Write(b, binary.LittleEndian, p); err != nil {
				panic(err)
			}
		}
	}
	for _, m := range members {
		at, size, sum := uint32(body.Len()), uint32(len(m.body)), crc32.ChecksumIEEE([]byte(m.body))
		local := m.local
		if local == "" {
			local = m.name
		}
		le(&body, "PK\x03\x04", uint16(20), uint16(0), uint16(0), uint32(0), sum, size, size, uint16(len(local)), uint16(0), local, m.body)
		if m.unlisted {
			continue
		}
		n++
		le(&list, "PK\x01\x02", uint16(20), uint16(20), uint16(0), uint16(0), uint32(0), sum, size, size, uint16(len(m.name)), uint16(len(m.extra)), uint16(0), uint16(0),
			uint16(0), uint32(0), at, m.name, m.extra)
	}
	at := uint32(body.Len())
	le(&body, list.String(), "PK\x05\x06", uint16(0), uint16(0), uint16(n), uint16(n), uint32(list.Len()), at, uint16(0))
	return body.String()
}

func TestAZipFileOfTwoMeaningsIsRefused(t *testing.T) {
	second := func(name string) string {
		b := binary.LittleEndian.AppendUint16(nil, 0x7075)
		b = binary.LittleEndian.AppendUint16(b, uint16(5+len(name)))
		return string(append(b, 1, 0, 0, 0, 0)) + name
	}
	ok := stored{name: "a.txt", body: "Hello."}
	honest := lying(ok, stored{name: "b.txt", body: "Again."})
	overlap := []byte(honest)
	at := strings.LastIndex(honest, "PK\x01\x02")
	copy(overlap[at+42:], []byte{0, 0, 0, 0}) // the second entry leads to the first member
	copy(overlap[at+46:], "a.txt")
	commented := honest[:len(honest)-2] + "\x16\x00" + "PK\x05\x06" + strings.Repeat("\x00", 18)
	for _, c := range []struct{ what, body, reason string }{
		{"an honest one", honest, ""}, {"the same with a name that says the same", lying(stored{name: "a.txt", body: "x", extra: second("a.txt")}), ""},
		{"another name before the bytes", lying(stored{name: "a.txt", local: "a.ps1", body: "dir"}), filekind.Broken},
		{"a member that the list leaves out", lying(ok, stored{name: "x.ps1", body: "dir", unlisted: true}), filekind.Broken},
		{"the same at the end", lying(stored{name: "x.ps1", body: "dir", unlisted: true}, ok), filekind.Broken},
		{"another archive before it", lying(stored{name: "x.ps1", body: "dir"}) + honest, filekind.Broken},
		{"another end in its remark", commented, filekind.Broken}, {"members that overlap", string(overlap), filekind.Broken},
		{"another name in a field", lying(stored{name: "a.txt", body: "dir", extra: second("a.ps1")}), filekind.Script},
		{"a way out in a field", lying(stored{name: "a.txt", body: "dir", extra: second("../a.txt")}), filekind.Escaping},
		{"a member named like a tar file", "PK\x03\x04" + tarOf(t, member{"a.sh", "x"})[4:] + honest, filekind.Broken},
		{"rubbish behind it", honest + "rubbish", ""}, {"an archive behind it that is none", honest + "PK\x05\x06", filekind.Broken},
	} {
		if v := check(t, "a.zip", c.body); v.Refused != c.reason {
			t.Errorf("%s: refused for %q in %q, want %q", c.what, v.Refused, v.Member, c.reason)
		}
	}
}

// TestOrdinaryArchivesAreStillTaken: what common programs write.
func TestOrdinaryArchivesAreStillTaken(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("\xff\xd8\xff\xe0 a picture")
	z := zip.NewWriter(&b)
	z.SetOffset(int64(b.Len()))
	for _, name := range []string{"b.txt", "a/", "a/ü.txt"} {
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.SetComment("Made for you."); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	illustrated := `<?xml version="1.0" encoding="iso-8859-1"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [` +
		`<!ENTITY ns_svg "http://www.w3.org/2000/svg">]><svg xmlns="&ns_svg;"><a href="https://example.com/"/><image href="data:image/png;base64,AAAA"/>` + "<text>caf\xe9 &amp; on = x</text></svg>"
	for _, c := range []struct{ name, body, kind string }{
		{"a.jpg", b.String(), "jpeg"}, {"a.tar", tarOf(t, member{"a.txt", "x"}) + strings.Repeat("\x00", 9000), "tar"}, {"a.svg", illustrated, "svg"}, {"a.xml", wideMark(`<?xml version="1.0" encoding="utf-16"?><rows><row on="x"/></rows>`), "octets"},
		{"a.txt", "<anna@example.com> wrote about the manuscript", "text"}, {"log.txt", "<34>Oct 11 ok", "text"}, {"a.txt", strings.Repeat(" ", 5000) + "x", "text"},
		{"a.xml", `<?xml version="1.0"?><x>` + strings.Repeat(" ", 5000) + `<description><![CDATA[<script>]]></description></x>`, "text"},
		{"book.epub", zipOf(t, member{"mimetype", "application/epub+zip"}, member{"a.xhtml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p>It was&nbsp;a night.</p></html>`}), "epub"},
		{"a.docx", zipOf(t, member{"[Content_Types].xml", `<Types><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`},
			member{"word/document.xml", `<?xml version="1.0"?><w:document xmlns:w="w"><w:object/></w:document>`}), "docx"},
	} {
		if v := check(t, c.name, c.body); !v.OK() || v.Name != c.kind {
			t.Errorf("%s %.30q is %q, refused for %q in %q: want %q", c.name, c.body, v.Name, v.Refused, v.Member, c.kind)
		}
	}
}

// counting counts how often a file is read at another place than where the last read ended.
type counting struct {
	*strings.Reader
	last  int64
	jumps int
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	if at < c.last-1<<20 || at > c.last+1<<20 {
		c.jumps++
	}
	c.last = at + int64(len(p))
	return c.Reader.ReadAt(p, at)
}

// TestAnArchiveIsReadThroughOnce: however its list is ordered, a stored file of 50 MB is not fetched a thousand times.
func TestAnArchiveIsReadThroughOnce(t *testing.T) {
	members := make([]stored, 200)
	for i := range members {
		members[i] = stored{name: strings.Repeat("x", i%7) + ".txt", body: strings.Repeat("y", 100<<10)}
	}
	body := lying(members...)
	at := strings.Index(body, "PK\x01\x02")
	list := strings.SplitAfter(body[at:strings.LastIndex(body, "PK\x05\x06")], ".txt")
	list = list[:len(list)-1] // nothing is behind the last
	slices.Reverse(list)
	for i := 0; i < len(list)/2; i += 2 {
		list[i], list[len(list)-1-i] = list[len(list)-1-i], list[i]
	}
	body = body[:at] + strings.Join(list, "") + body[strings.LastIndex(body, "PK\x05\x06"):]
	c := &counting{Reader: strings.NewReader(body)}
	if v, err := filekind.Check("a.zip", c, int64(len(body))); err != nil || !v.OK() || c.jumps > 10 {
		t.Errorf("%q, %v: %d jumps", v.Refused, err, c.jumps)
	}
}

// TestABoundCountsBytesOnce: 100 MB of files in a tar.gz are less than 256.
func TestABoundCountsBytesOnce(t *testing.T) {
	if testing.Short() {
		return
	}
	big := strings.Repeat("\x00", 100<<20)
	if v := check(t, "a.tar.gz", gzOf(t, "", tarOf(t, member{"a.dat", "\x01" + big}))); !v.OK() {
		t.Errorf("refused for %q", v.Refused)
	}
}
