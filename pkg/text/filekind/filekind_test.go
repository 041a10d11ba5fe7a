package filekind_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"guildhall/pkg/text/filekind"
)

// member is a file to put into an archive.
type member struct{ name, body string }

func zipOf(t testing.TB, members ...member) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if i == 0 && m.name == "mimetype" {
			h.Method = zip.Store
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(m.body))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func tarOf(t testing.TB, members ...member) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.body)), Typeflag: tar.TypeReg}
		if target, ok := strings.CutPrefix(m.body, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, target, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, m.body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzOf(t testing.TB, name, body string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = name
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func check(t testing.TB, name, body string) filekind.Verdict {
	t.Helper()
	v, err := filekind.Check(name, strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func wide(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		b.WriteByte(0)
	}
	return b.String()
}

const oleHead = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

func TestWhatMayChangeHands(t *testing.T) {
	docx := []member{{"[Content_Types].xml", "<Types/>"}, {"word/document.xml", "<w:document/>"}, {"word/media/image1.png", "\x89PNG\r\n\x1a\n...."}}
	for _, c := range []struct{ name, body, kind string }{
		{"shot.png", "\x89PNG\r\n\x1a\n\x00\x00", "png"}, {"shot.JPG", "\xff\xd8\xff\xe0", "jpeg"}, {"a.gif", "GIF89a..", "gif"}, {"a.webp", "RIFF\x00\x00\x00\x00WEBPVP8 ", "webp"},
		{"report.pdf", "%PDF-1.7\n", "pdf"}, {"notes.txt", "Zürich at noon.\r\n", "text"}, {"data.csv", "a,b\n1,2\n", "text"}, {"empty.txt", "", "text"},
		{"MZ.txt", "MZ is the sign of Zbikowski.", "text"}, {"xar.txt", "xar! cried the crow", "text"}, {"a.mp4", "\x00\x00\x00\x18ftypmp42", "mp4"},
		{"logo.svg", `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>`, "svg"}, {"blob", "\x00\x01\x02", "octets"}, {"map.mm", "<map><node/></map>", "text"},
		{"draw.svg", `<svg><foreignObject><div>Text</div></foreignObject></svg>`, "svg"},
		{"old.doc", oleHead + wide("WordDocument"), "ole"}, {"letter.docx", zipOf(t, docx...), "docx"},
		{"sheet.xlsx", zipOf(t, member{"xl/workbook.xml", "<x/>"}, member{"xl/printerSettings/printerSettings1.bin", "\x00\x01"}), "xlsx"},
		{"letter.odt", zipOf(t, member{"mimetype", "application/vnd.oasis.opendocument.text"}, member{"content.xml", "<x/>"}, member{"META-INF/manifest.xml", "<x/>"}), "odt"},
		{"book.epub", zipOf(t, member{"mimetype", "application/epub+zip"}, member{"OEBPS/one.xhtml", "<html>It was a night.</html>"}, member{"OEBPS/style.css", "p{}"}), "epub"},
		{"photos.zip", zipOf(t, member{"a/1.jpg", "\xff\xd8\xff"}, member{"a/", ""}, member{"read me.txt", "Hello."}), "zip"},
		{"empty.zip", zipOf(t), "zip"}, {"all.tar", tarOf(t, member{"a.txt", "Hi."}), "tar"}, {"all.tar.gz", gzOf(t, "all.tar", tarOf(t, member{"a.txt", "Hi."})), "gzip"},
		{"a.mov", "\x00\x00\x00\x14ftypqt  ", "mov"}, {"a.heic", "\x00\x00\x00\x18ftypheic", "heic"}, {"a.avif", "\x00\x00\x00\x18ftypavif", "avif"}, {"a.m4a", "\x00\x00\x00\x18ftypM4A ", "m4a"},
		{"a.wav", "RIFF\x00\x00\x00\x00WAVEfmt ", "wav"}, {"a.avi", "RIFF\x00\x00\x00\x00AVI LIST", "avi"}, {"a.riff", "RIFF\x00\x00\x00\x00ACON", "octets"}, {"a.mp3", "ID3\x03\x00", "mp3"},
		{"deck.pptx", zipOf(t, member{"ppt/presentation.xml", "<x/>"}), "pptx"}, {"cut.txt", strings.Repeat("x", filekind.HeadBytes-1) + "é", "text"},
		{"mixed.zip", zipOf(t, member{"inner.tar", tarOf(t, member{"a.txt", "Hi."})}, member{"log.gz", gzOf(t, "", "Hello.")}, member{"old.doc", oleHead + wide("WordDocument")}, member{"logo.svg", "<svg/>"}), "zip"},
		{"folder.tar", tarOf(t, member{"d/letter.docx", zipOf(t, docx...)}), "tar"},
		{"log.txt.gz", gzOf(t, "", "Hello."), "gzip"}, {"two.zip", zipOf(t, member{"inner.zip", zipOf(t, member{"letter.docx", zipOf(t, docx...)})}), "zip"},
	} {
		if v := check(t, c.name, c.body); !v.OK() || v.Name != c.kind {
			t.Errorf("%s is %q, refused for %q in %q: want %q", c.name, v.Name, v.Refused, v.Member, c.kind)
		}
	}
}

func TestWhatMayNot(t *testing.T) {
	deep := zipOf(t, member{"a.txt", "x"})
	for range filekind.MaxDepth {
		deep = zipOf(t, member{"a.zip", deep})
	}
	for _, c := range []struct{ name, body, reason, member string }{
		{"a", "\x7fELF\x02", filekind.Program, ""}, {"photo.png", "MZ\x90\x00\x03", filekind.Program, ""}, {"a", "\xca\xfe\xba\xbe\x00\x00\x00\x34", filekind.Program, ""},
		{"a", "\xcf\xfa\xed\xfe", filekind.Program, ""}, {"a", "dex\n035\x00", filekind.Program, ""}, {"a", "\x00asm\x01", filekind.Program, ""},
		{"setup.exe", "text", filekind.Program, ""}, {"a.EXE . ", "text", filekind.Program, ""}, {`dir\a.exe`, "x", filekind.Program, ""}, {"a.exe:x.txt", "x", filekind.Program, ""},
		{"a", "\xed\xab\xee\xdb", filekind.Installer, ""}, {"a.deb", "!<arch>\ndebian", filekind.Installer, ""}, {"a", "!<arch>\ndebian", filekind.Installer, ""},
		{"a", "xar!\x00\x1c", filekind.Installer, ""}, {"a.iso", "x", filekind.Installer, ""}, {"a", strings.Repeat("\x00", 0x8001) + "CD001", filekind.Installer, ""},
		{"a", strings.Repeat("\x00", 8192) + "koly" + strings.Repeat("\x00", 508), filekind.Installer, ""}, {"a", "L\x00\x00\x00\x01\x14\x02\x00", filekind.Installer, ""},
		{"a", oleHead + "\x00\x84\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46", filekind.Installer, ""},
		{"run", "#!/bin/sh\n", filekind.Script, ""}, {"run", "\xef\xbb\xbf#!/usr/bin/env python\n", filekind.Script, ""}, {"run", "@ECHO OFF\r\n", filekind.Script, ""}, {"a.ps1", "dir", filekind.Script, ""},
		{"a.py", "print(1)", filekind.Code, ""}, {"page", "<!DOCTYPE html>", filekind.Code, ""}, {"page", "\n<?php", filekind.Code, ""},
		{"logo.svg", "<svg>" + strings.Repeat(" ", 70<<10) + "<SCRIPT>x</SCRIPT></svg>", filekind.Code, ""},
		{"a.doc", oleHead + strings.Repeat("\x00", 65590) + wide("_VBA_PROJECT"), filekind.Macros, ""}, {"a.docm", "x", filekind.Macros, ""}, {"a.rtf", `{\rtf1 ` + strings.Repeat("x", 70<<10) + `{\object\OBJDATA 0105}}`, filekind.Macros, ""},
		{"a.docx", zipOf(t, member{"word/document.xml", "x"}, member{"word/vbaProject.bin", "x"}), filekind.Macros, "word/vbaProject.bin"},
		{"a.ods", zipOf(t, member{"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}, member{"Basic/Standard/Module1.xml", "x"}), filekind.Macros, "Basic/Standard/Module1.xml"},
		{"a.xlsx", zipOf(t, member{"xl/workbook.xml", "x"}, member{"xl/embeddings/oleObject1.bin", oleHead + wide("\x01Ole10Native")}), filekind.Macros, "xl/embeddings/oleObject1.bin"},
		{"a.xls", oleHead + wide("EncryptedPackage"), filekind.Opaque, ""}, {"a", "7z\xbc\xaf\x27\x1c", filekind.Opaque, ""}, {"a", "Rar!\x1a\x07\x01", filekind.Opaque, ""},
		{"a", "\xfd7zXZ\x00\x00", filekind.Opaque, ""}, {"a", "BZh91AY&SY\x00", filekind.Opaque, ""}, {"a", "\x28\xb5\x2f\xfd", filekind.Opaque, ""},
		{"a.zip", zipOf(t, member{"b/c.txt", "MZ\x00\x01"}), filekind.Program, "b/c.txt"}, {"a.zip", zipOf(t, member{"b/c.py", "x"}), filekind.Code, "b/c.py"},
		{"a", zipOf(t, member{"META-INF/MANIFEST.MF", "x"}), filekind.Installer, "META-INF/MANIFEST.MF"}, {"a", zipOf(t, member{"AndroidManifest.xml", "x"}), filekind.Installer, "AndroidManifest.xml"},
		{"a", zipOf(t, member{"Payload/x.app/Info.plist", "x"}), filekind.Installer, "Payload/x.app/Info.plist"},
		{"a.zip", zipOf(t, member{"in.zip", zipOf(t, member{"x.bin", "\x7fELF"})}), filekind.Program, "in.zip/x.bin"},
		{"a.tgz", gzOf(t, "", tarOf(t, member{"ok.txt", "x"}, member{"x", "#!/bin/sh"})), filekind.Script, "x"}, {"tool.gz", gzOf(t, "", "\x7fELF"), filekind.Program, "tool"},
		{"a.gz", gzOf(t, "x.exe", "text"), filekind.Program, "x.exe"}, {"a.tar", tarOf(t, member{"l", "-> /etc/passwd"}), filekind.Escaping, "l"},
		{"a.zip", zipOf(t, member{"../../x.txt", "x"}), filekind.Escaping, "../../x.txt"}, {"a.zip", zipOf(t, member{"C:\\x.txt", "x"}), filekind.Escaping, "C:\\x.txt"},
		{"a.zip", zipOf(t, member{"in.tar.gz", gzOf(t, "", tarOf(t, member{"x", "\x7fELF"}))}), filekind.Program, "in.tar.gz/x"},
		{"a.tar", tarOf(t, member{"b.zip", zipOf(t, member{"c.js", "x"})}), filekind.Script, "b.zip/c.js"}, {"a.tar", tarOf(t, member{"/etc/x", "y"}), filekind.Escaping, "/etc/x"},
		{"a.zip", zipOf(t, member{"logo.svg", "<svg onload=alert(1)>"}), filekind.Code, "logo.svg"}, {"a.gz", gzOf(t, "", "Hello.")[:20], filekind.Broken, ""},
		{"a.tar", tarOf(t, member{"a.txt", strings.Repeat("x", 4000)})[:2000], filekind.Broken, "a.txt"}, {"mail", "MIME-Version: 1.0\r\n", filekind.Code, ""},
		{"x.xml", "<a href='javascript:x'/>", filekind.Code, ""}, {"a", "\x00\x00-lh5-", filekind.Opaque, ""}, {"a.odt", "PK\x03\x04", filekind.Broken, ""},
		{"a.zip", zipOf(t, member{"big.zip", "PK\x03\x04" + strings.Repeat("\x00", filekind.MaxInner)}), filekind.TooMuch, "big.zip"},
		{"a.zip", zipOf(t, member{strings.Repeat("n", 1100), "x"}), filekind.TooMuch, ""}, {"a.zip", zipOf(t, member{"My.app/Contents/MacOS/run", "x"}), filekind.Installer, "My.app/Contents/MacOS/run"},
		{"deep.zip", deep, filekind.TooMuch, ""}, {"cut.zip", zipOf(t, member{"a.txt", strings.Repeat("ab", 900)})[:60], filekind.Broken, ""},
		{"photo.jpg", "\xff\xd8\xff\xe0" + zipOf(t, member{"x.exe", "MZ\x00"}), filekind.Program, "x.exe"},
		{"book.epub", zipOf(t, member{"mimetype", "application/epub+zip"}, member{"a.js", "x"}), filekind.Script, "a.js"},
	} {
		v := check(t, c.name, c.body)
		if v.Refused != c.reason {
			t.Errorf("%s %.20q is %q, refused for %q in %q: want %q", c.name, c.body, v.Name, v.Refused, v.Member, c.reason)
		}
		if c.member != "" && v.Member != c.member {
			t.Errorf("%s: the reason is in %q, not %q", c.name, v.Member, c.member)
		}
		if v.Refused != "" && v.Why == "" {
			t.Errorf("%s: no sentence for %q", c.name, v.Refused)
		}
	}
}

// TestABombIsReadToItsBoundOnly: what a member says of its size counts for nothing.
func TestABombIsReadToItsBoundOnly(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for i := range 3 {
		w, err := z.Create(fmt.Sprintf("%d.dat", i))
		for range 100 {
			if err == nil {
				_, err = w.Write(zeros)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if v := check(t, "bomb.zip", b.String()); v.Refused != filekind.TooMuch {
		t.Errorf("the bomb of %d bytes is refused for %q", b.Len(), v.Refused)
	}
}

func TestTooManyMembers(t *testing.T) {
	many := make([]member, filekind.MaxMembers+1)
	for i := range many {
		many[i] = member{fmt.Sprintf("%d.txt", i), ""}
	}
	if v := check(t, "many.zip", zipOf(t, many[1:]...)); !v.OK() {
		t.Errorf("%d members: %q", len(many)-1, v.Refused)
	}
	if v := check(t, "many.zip", zipOf(t, many...)); v.Refused != filekind.TooMuch {
		t.Errorf("%d members: %q", len(many), v.Refused)
	}
}

// TestAListOfMembersIsBoundedBeforeItIsRead: a zip that is all list would fill the memory.
func TestAListOfMembersIsBoundedBeforeItIsRead(t *testing.T) {
	var b bytes.Buffer
	entry := append([]byte("PK\x01\x02"), make([]byte, 42)...)
	n := filekind.MaxIndex/len(entry) + 2000
	for range n {
		b.Write(entry)
	}
	end := append([]byte("PK\x05\x06"), make([]byte, 18)...)
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(b.Len()))
	head := "PK\x03\x04"
	if v := check(t, "all-list.zip", head+b.String()+string(end)); v.Refused != filekind.TooMuch {
		t.Errorf("refused for %q in %q", v.Refused, v.Member)
	}
}

func TestAnEncryptedMemberCannotBeLookedInto(t *testing.T) {
	z := []byte(zipOf(t, member{"a.txt", "x"}))
	z[6] |= 1 // the flag in the local header
	i := bytes.Index(z, []byte("PK\x01\x02"))
	z[i+8] |= 1 // and in the directory
	if v := check(t, "a.zip", string(z)); v.Refused != filekind.Opaque {
		t.Errorf("refused for %q", v.Refused)
	}
}

type failing struct{ io.ReaderAt }

var errDisk = errors.New("disk")

func (f failing) ReadAt(p []byte, at int64) (int, error) {
	if at > 0 {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(p, at)
}

// TestTheReadersOwnErrorIsNoVerdict: a store that does not answer says nothing about a file.
func TestTheReadersOwnErrorIsNoVerdict(t *testing.T) {
	body := zipOf(t, member{"a.txt", strings.Repeat("x", 100)})
	if _, err := filekind.Check("a.zip", failing{strings.NewReader(body)}, int64(len(body))); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
}

func TestPictures(t *testing.T) {
	for head, want := range map[string]bool{"\x89PNG\r\n\x1a\n": true, "\xff\xd8\xff": true, "GIF87a": true, "RIFF....WEBP": true, "<svg>": false, "%PDF-": false, "": false, "II*\x00": false} {
		if _, ok := filekind.Image([]byte(head)); ok != want {
			t.Errorf("%q is a picture: %v", head, ok)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("a.zip", []byte(zipOf(f, member{"a.txt", "x"}, member{"b.zip", zipOf(f, member{"c.docx", "x"})})))
	f.Add("a.tgz", []byte(gzOf(f, "a.tar", tarOf(f, member{"a.txt", "x"}))))
	f.Add("a.doc", []byte(oleHead+wide("_VBA_PROJECT")))
	f.Add("a.svg", []byte("<svg>"))
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		v, err := filekind.Check(name, bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatalf("a file in memory: %v", err)
		}
		if v.OK() == (v.ContentType == "") && v.OK() {
			t.Fatalf("a file of no type passes: %+v", v)
		}
		if head := filekind.Head(name, body[:min(len(body), filekind.HeadBytes)]); !head.OK() && v.OK() {
			t.Fatalf("the head is refused for %q, the whole is not", head.Refused)
		}
	})
}
