package wants_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

func TestAnAttachmentIsKeptUnderANameOfOurs(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	r := w.attach(p, id, "Ada Lovelace CV.html", png(90)).Want(201)
	name := r.Str("filename")
	if len(name) != 40 || !strings.HasSuffix(name, ".png") || r.Num("size_bytes") != 98 || r.Str("content_type") != "image/png" || len(r.JSON) != 4 {
		t.Errorf("%s", r.Body)
	}
	v := w.Want(id)
	f, key, ok := v.FindFile(name)
	if !ok || f.SizeBytes != 98 || w.used(id) != 98 {
		t.Errorf("%+v", v.Files)
	}
	o, err := w.Blobs.Get(t.Context(), key, blob.Range{})
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(o.Body); !bytes.Equal(b, png(90)) {
		t.Errorf("%q", b)
	}
	b := w.shown(id, true).Context.Attachments
	if len(b) != 1 || b[0].DownloadURL != "/api/bench/targets/"+id+"/attachments/"+name || *b[0].SizeBytes != 98 {
		t.Errorf("%+v", b)
	}
	for _, other := range []string{"", "x", name + "x", strings.TrimSuffix(name, ".png"), "../" + name, "attachments/" + name, strings.ToUpper(name)} {
		if _, _, ok := v.FindFile(other); ok {
			t.Errorf("%q finds a file", other)
		}
	}
}

func TestTheTypeOfAFileIsToldByItsBytes(t *testing.T) {
	zip := func(names ...string) string {
		var b strings.Builder
		for _, n := range names {
			b.WriteString("PK\x03\x04" + strings.Repeat("\x00", 22) + string([]byte{byte(len(n)), 0, 0, 0}) + n + "content")
		}
		return b.String()
	}
	ole := "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 100)
	cases := map[string]struct{ bytes, want string }{
		"png":             {"\x89PNG\r\n\x1a\nrest", "image/png .png"},
		"jpeg":            {"\xff\xd8\xff\xe0rest", "image/jpeg .jpg"},
		"gif":             {"GIF89a", "image/gif .gif"},
		"webp":            {"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp .webp"},
		"heic":            {"\x00\x00\x00\x18ftypheic\x00\x00", "image/heic .heic"},
		"pdf":             {"%PDF-1.7\n", "application/pdf .pdf"},
		"rtf":             {`{\rtf1\ansi`, "application/rtf .rtf"},
		"doc":             {ole + "W\x00o\x00r\x00d\x00D\x00o\x00c\x00u\x00m\x00e\x00n\x00t\x00", "application/msword .doc"},
		"docx":            {zip("[Content_Types].xml", "_rels/.rels", "word/document.xml"), "application/vnd.openxmlformats-officedocument.wordprocessingml.document .docx"},
		"odt":             {"PK\x03\x04" + strings.Repeat("\x00", 22) + "\x08\x00\x00\x00mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text .odt"},
		"docx macros":     {zip("word/document.xml", "word/vbaProject.bin"), ""},
		"an xlsx":         {zip("[Content_Types].xml", "xl/workbook.xml"), ""},
		"a zip":           {zip("readme.txt"), ""},
		"an msi or xls":   {ole, ""},
		"html":            {"<!doctype html><script>", ""},
		"svg":             {`<svg xmlns="http://www.w3.org/2000/svg">`, ""},
		"a script":        {"#!/bin/sh\n", ""},
		"an executable":   {"MZ\x90\x00", ""},
		"an elf":          {"\x7fELF", ""},
		"text":            {"hello", ""},
		"half a png":      {"\x89PN", ""},
		"a late pdf":      {"\n%PDF-1.7", ""},
		"a mp4":           {"\x00\x00\x00\x18ftypisom", ""},
		"nothing":         {"", ""},
		"a truncated zip": {"PK\x03\x04", ""},
	}
	for name, c := range cases {
		k, ok := wants.DocumentKind([]byte(c.bytes))
		if got := k.ContentType + " " + k.Ending; ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s is %q, %v", name, got, ok)
		}
	}
}

func FuzzTheTypeOfAFile(f *testing.F) {
	for _, s := range []string{"", "PK\x03\x04", "RIFF", "%PDF-", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { wants.DocumentKind(b) })
}

func TestRefusalsOfAnAttachment(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	send := func(parts ...[3]string) optest.Res {
		b, typ := form(parts...)
		return w.upload(p, id, b, typ)
	}
	file := [3]string{"file", "a.png", string(png(9))}
	send().Refused(422, "file_required")
	send([3]string{"picture", "a.png", string(png(9))}).Refused(422, "file_required")
	send(file, file).Refused(422, "file_required")
	send([3]string{"file", "a.png", ""}).Refused(422, "file_empty")
	send([3]string{"file", "a.png", "<html>"}).Refused(422, "type_not_allowed")
	w.upload(p, id, png(9), "image/png").Refused(415, "unsupported_media_type")
	w.upload(p, id, []byte("--x\r\n"), "multipart/form-data").Refused(415, "unsupported_media_type")
	w.upload(p, id, []byte("no parts here"), "multipart/form-data; boundary=x").Refused(422, "file_required")
	half, typ := form(file)
	w.upload(p, id, half[:len(half)-40], typ).Refused(422, "file_required")
	send(file, [3]string{"csrf", "", "token"}).Want(201) // what else a form holds is not ours
	if n := w.Want(id).Files; len(n) != 1 {
		t.Errorf("%+v", n)
	}
	page, err := w.Blobs.List(t.Context(), "attachments/", "", 100)
	if err != nil || len(page.Entries) != 1 {
		t.Errorf("refused files stay behind: %+v", page.Entries)
	}
}

func TestLimitsOfAttachments(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	w.attach(p, id, "a.png", png(wants.MaxAttachmentBytes-8)).Want(201)
	w.attach(p, id, "a.png", png(wants.MaxAttachmentBytes-7)).Refused(413, "file_too_large")
	for range 3 {
		w.attach(p, id, "a.png", png(wants.MaxAttachmentBytes-8)).Want(201)
	}
	w.Run("bench", func(c *op.Call) error { return wants.Spend(c, id, 10) }) // a file of a deal
	r := w.attach(p, id, "a.png", png(wants.MaxAttachmentBytes-8)).Refused(413, "target_budget_exceeded")
	if r.Num("target_usage_bytes") != 80<<20+10 || r.Num("target_budget_bytes") != 100<<20 {
		t.Errorf("%s", r.Body)
	}
	w.attach(p, id, "a.png", png(wants.MaxAttachmentBytes-8-10)).Want(201)
	w.attach(p, id, "a.png", png(1)).Refused(409, "too_many_attachments")
	w.attach(p, id, "a.png", []byte("<html>")).Refused(409, "too_many_attachments") // what the want is comes before what the file is
	if v := w.Want(id); len(v.Files) != 5 || w.used(id) != 100<<20 {
		t.Errorf("%d files, %d bytes", len(v.Files), w.used(id))
	}
}

func TestNoFileAfterTheFirstBid(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Easy(p)
	w.File(w.Maker("Maker"), id)
	w.attach(p, id, "a.png", png(1)).Refused(409, "has_bids")
	w.close(p, id).Want(200)
	w.attach(p, id, "a.png", png(1)).Refused(409, "not_open")
}

func TestAnUploadIsReadOnceWhateverTheRaces(t *testing.T) {
	store := (*faulty.Store)(nil)
	w := newWorld(t, optest.WithStore(func(s table.Store) table.Store { store = faulty.Wrap(s); return store }))
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	if _, err := store.Inject(faulty.Fault{Mode: faulty.Conflict, Times: 3}); err != nil {
		t.Fatal(err)
	}
	body, typ := form([3]string{"file", "a.png", string(png(500_000))})
	r := w.Do(wants.Attach, optest.Req{Token: p.Token, Path: benchtest.On(id), Type: typ, Header: map[string]string{"Content-Type": typ},
		Stream: iotest.HalfReader(bytes.NewReader(body))}).Want(201)
	if r.Attempts != 4 || len(w.Want(id).Files) != 1 || w.used(id) != 500_008 {
		t.Errorf("%d attempts: %+v", r.Attempts, w.Want(id).Files)
	}
}

func TestAReplayedUploadStoresNothingTwice(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	send := func(content []byte) optest.Res {
		body, typ := form([3]string{"file", "a.png", string(content)}) // each form draws its own delimiter
		return w.Do(wants.Attach, optest.Req{Token: p.Token, Key: "k", Path: benchtest.On(id), Type: typ, Header: map[string]string{"Content-Type": typ}, Stream: bytes.NewReader(body)})
	}
	first, again := send(png(100)).Want(201), send(png(100)).Want(201)
	if !again.Replayed || first.Str("filename") != again.Str("filename") || len(w.Want(id).Files) != 1 {
		t.Errorf("%s and %s", first.Body, again.Body)
	}
	send(png(101)).Refused(409, "idempotency_conflict")
}

// staged is a file on its way through an upload address.
func (w *world) announce(p person, target string, content []byte, change ...string) optest.Res {
	sum := sha256.Sum256(content)
	body := obj{"filename": "a.png", "content_type": "image/png", "size_bytes": len(content), "sha256": hex.EncodeToString(sum[:])}
	for i := 0; i < len(change); i += 2 {
		var v any = change[i+1]
		if change[i+1] == "" {
			delete(body, change[i])
			continue
		}
		body[change[i]] = v
	}
	return w.json(p, target, body)
}

func (w *world) json(p person, target string, body any) optest.Res {
	w.T.Helper()
	return w.upload(p, target, []byte(text(body)), "application/json")
}

func (w *world) put(upload string, content []byte) {
	w.T.Helper()
	if _, err := w.Blobs.Put(w.T.(*testing.T).Context(), blob.UploadKey(upload), bytes.NewReader(content), blob.PutOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

func TestAStagedUpload(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	r := w.announce(p, id, png(1000)).Want(200)
	up := r.Str("upload_id")
	if r.Str("expires_at") != "2026-11-30T18:35:00Z" || !strings.HasPrefix(r.Str("upload_url"), "http://guildhall.test/uploads/"+up) || len(r.JSON) != 4 {
		t.Errorf("%s", r.Body)
	}
	claim := obj{"upload_id": up}
	w.json(p, id, claim).Refused(409, "upload_missing")
	w.put(up, png(999))
	w.json(p, id, claim).Refused(422, "upload_mismatch")
	w.put(up, png(1000))
	done := w.json(p, id, claim).Want(201)
	if done.Str("filename") != up+".png" || done.Num("size_bytes") != 1008 || w.used(id) != 1008 {
		t.Errorf("%s", done.Body)
	}
	w.json(p, id, claim).Refused(404, "upload_unknown")
}

func TestRefusalsOfAStagedUpload(t *testing.T) {
	w := newWorld(t)
	p, other := w.Poster("ada"), w.Poster("bob")
	id, second := w.Post(p, benchtest.Posting()), w.Post(p, benchtest.Posting())
	for name, c := range map[string]struct{ field, value, code string }{
		"no name": {"filename", "", "missing_field"}, "no type": {"content_type", "", "missing_field"}, "no hash": {"sha256", "", "missing_field"},
		"no size": {"size_bytes", "", "missing_field"}, "a long name": {"filename", strings.Repeat("x", 256), "invalid_field"},
		"a short hash": {"sha256", "abc", "invalid_field"}, "a header in the type": {"content_type", "image/png\r\nX: y", "type_not_allowed"},
		"a size of words": {"size_bytes", "many", "invalid_field"}, "more": {"title", "x", "unknown_field"},
	} {
		t.Run(name, func(t *testing.T) { w.announce(p, id, png(9), c.field, c.value).Refused(422, c.code) })
	}
	w.json(p, id, obj{"filename": "a", "content_type": "image/png", "size_bytes": wants.MaxAttachmentBytes + 1, "sha256": strings.Repeat("a", 64)}).Refused(413, "file_too_large")
	w.json(p, id, obj{"filename": "a", "content_type": "image/png", "size_bytes": 0, "sha256": strings.Repeat("a", 64)}).Refused(422, "invalid_field")
	w.json(p, id, obj{}).Refused(422, "missing_field")
	w.upload(p, id, []byte(`{"upload_id":"a","upload_id":"b"}`), "application/json").Refused(400, "invalid_json")
	w.upload(p, id, []byte(`[]`), "application/json").Refused(400, "invalid_json")
	w.upload(p, id, []byte(`{"filename":"`+strings.Repeat("x", 20_000)+`"}`), "application/json").Refused(413, "body_too_large")
	w.json(p, id, obj{"upload_id": "../../etc"}).Refused(404, "upload_unknown")

	up := w.announce(p, id, png(9)).Want(200).Str("upload_id")
	w.put(up, png(9))
	w.json(other, id, obj{"upload_id": up}).Refused(404, "not found")
	w.json(p, second, obj{"upload_id": up}).Refused(404, "upload_unknown") // announced for another want
	bad := []byte("<html>pretends to be a picture</html>")
	fake := w.announce(p, id, bad).Want(200).Str("upload_id")
	w.put(fake, bad)
	w.json(p, id, obj{"upload_id": fake}).Refused(422, "type_not_allowed")
	w.Advance(25 * time.Hour)
	w.json(p, id, obj{"upload_id": up}).Refused(404, "upload_unknown")
	if v := w.Want(id); len(v.Files) != 0 || w.used(id) != 0 {
		t.Errorf("%+v", v.Files)
	}
}

func TestFilesAndBidsDoNotPass(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	m := w.Maker("Maker")
	for range 10 {
		w.Advance(time.Second)
		id := w.Easy(p)
		done := make(chan int)
		go func() { done <- w.attach(p, id, "a.png", png(10)).Status }()
		w.File(m, id)
		if s := <-done; s != 201 && s != 409 {
			t.Fatal(s)
		} else if n := len(w.Want(id).Files); n != map[int]int{201: 1, 409: 0}[s] {
			t.Errorf("status %d with %d files", s, n)
		}
	}
}

// A claim that is refused leaves its bytes where only the upload's end finds them.
func TestBytesNobodyClaimsAreRemoved(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Post(p, benchtest.Posting())
	w.attach(p, id, "a.png", png(wants.MaxAttachmentBytes-8)).Want(201)
	up := w.announce(p, id, png(9)).Want(200).Str("upload_id")
	w.put(up, png(9))
	kept := w.announce(p, id, png(10)).Want(200).Str("upload_id")
	w.put(kept, png(10))
	w.json(p, id, obj{"upload_id": kept}).Want(201)
	if _, err := w.Blobs.Claim(t.Context(), up, "attachments/"+id+"/"+up, blob.Digest{Size: 17, SHA256: hash(png(9))}); err != nil {
		t.Fatal(err) // as a claim does whose commit is lost
	}
	w.Advance(blob.UnclaimedAge - time.Second)
	if n := w.attached(id); n != 3 {
		t.Errorf("%d files", n)
	}
	w.Advance(time.Second)
	if n := w.attached(id); n != 2 {
		t.Errorf("%d files: what nobody claimed is still there, or what somebody did is gone", n)
	}
	w.json(p, id, obj{"upload_id": up}).Refused(404, "upload_unknown")
}

func hash(b []byte) string { sum := sha256.Sum256(b); return hex.EncodeToString(sum[:]) }

// attached counts the files of a want in the blob store.
func (w *world) attached(target string) int {
	w.T.Helper()
	page, err := w.Blobs.List(context.Background(), "attachments/"+target, "", 100)
	if err != nil {
		w.T.Fatal(err)
	}
	return len(page.Entries)
}
