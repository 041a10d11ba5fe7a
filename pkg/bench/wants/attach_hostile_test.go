package wants_test

import (
	"archive/zip"
	"bytes"
	"math/rand"
	"testing"

	"guildhall/pkg/bench/benchtest"
)

// packed is a zip file of members and their contents in turns.
func packed(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err == nil {
			_, err = w.Write([]byte(parts[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAnAttachmentIsLookedAtToItsEnd: what its first bytes are is not all it is.
func TestAnAttachmentIsLookedAtToItsEnd(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	noise := make([]byte, 400<<10)
	if _, err := rand.New(rand.NewSource(1)).Read(noise); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"macros behind a picture":  packed(t, "word/document.xml", "<x/>", "word/media/a.bin", string(noise), "word/vbaProject.bin", "x"),
		"a program in a document":  packed(t, "word/document.xml", "<x/>", "word/media/a.exe", "MZ\x00"),
		"a picture with a program": append(png(5000), packed(t, "a.exe", "MZ\x00")...),
		"a PDF with a Java class":  append([]byte("%PDF-1.7\n"), packed(t, "META-INF/MANIFEST.MF", "x")...),
	} {
		if r := w.attach(p, id, "a.docx", content); r.Status != 422 || r.Str("error") != "type_not_allowed" {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	w.attach(p, id, "a.docx", packed(t, "word/document.xml", "<x/>", "word/media/a.bin", string(noise))).Want(201)
	if page, err := w.Blobs.List(t.Context(), "attachments/", "", 100); err != nil || len(page.Entries) != 1 {
		t.Errorf("refused files stay behind: %+v", page.Entries)
	}
}
