package delivery_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"slices"
	"strings"
	"sync"
	"testing"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// bring sends a body to a door of the deal's agent.
func (d *parties) bring(o *op.Operation, body []byte, contentType string, headers ...string) optest.Res {
	d.t.Helper()
	r := optest.Req{Token: d.agent, Path: d.at(""), Type: contentType, Header: map[string]string{"Content-Type": contentType}, Stream: bytes.NewReader(body)}
	for i := 0; i < len(headers); i += 2 {
		if r.Header[headers[i]] = headers[i+1]; headers[i] == "Idempotency-Key" {
			r.Key = headers[i+1]
		}
	}
	res := d.Do(o, r)
	if code := res.Str("error"); res.Status == 422 && !slices.Contains(o.Faults, code) && code != "invalid_field" {
		d.t.Errorf("%s answers %q, which it does not declare", o.ID, code)
	}
	return res
}

// attach files an artifact.
func (d *parties) attach(name string, content []byte, headers ...string) optest.Res {
	d.t.Helper()
	body, typ := form(name, content)
	return d.bring(delivery.FileArtifact, body, typ, headers...)
}

func (d *parties) image(name string, content []byte, headers ...string) optest.Res {
	d.t.Helper()
	body, typ := form(name, content)
	return d.bring(delivery.PutImage, body, typ, headers...)
}

// formOf is a multipart body of fields and files, in order: name, file name ("" for a
// field), content.
func formOf(parts ...[3]string) ([]byte, string) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for _, p := range parts {
		create := func() (io.Writer, error) { return m.CreateFormField(p[0]) }
		if p[1] != "" {
			create = func() (io.Writer, error) { return m.CreateFormFile(p[0], p[1]) }
		}
		w, err := create()
		if err == nil {
			_, err = io.WriteString(w, p[2])
		}
		if err != nil {
			panic(err)
		}
	}
	if err := m.Close(); err != nil {
		panic(err)
	}
	return b.Bytes(), m.FormDataContentType()
}

func TestAnArtifactShowsAtOnceAndOpensNothing(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	r := d.attach("C:\\out\\album.png", png(50)).Want(201)
	if r.Str("kind") != "file" || r.Str("sha256") != sumOf(string(png(50))) || r.Num("size_bytes") != 50 || r.Str("filename") != "album.png" ||
		r.Num("target_usage_bytes") != 50 || r.Num("target_budget_bytes") != wants.MaxFileBytes || r.Str("filed_at") == "" {
		t.Errorf("%s", r.Body)
	}
	c := d.current()
	if c.Str("current_step.state") != path.Working || c.Num("target_usage_bytes") != 50 || c.Str("current_step.outcomes.0.receipt_id") != r.Str("receipt_id") {
		t.Errorf("%s", c.Body)
	}
	s := d.step("2")
	if s.Str("cards.0.title") != "album.png" || s.Str("cards.0.outcome.filename") != "album.png" || s.Str("cards.0.outcome.content_type") != "image/png" {
		t.Errorf("%s", s.Body)
	}
	if url := s.Str("cards.0.outcome.download_url"); url != "/api/person/deals/"+d.id+"/artifacts/"+r.Str("receipt_id") {
		t.Errorf("the bytes are at %q", url)
	}
	got := d.Do(delivery.Artifact, optest.Req{Token: d.person, Path: map[string]string{"deal_id": d.id, "receipt_id": r.Str("receipt_id")}}).Want(200)
	if b, err := io.ReadAll(got.Raw.Body); err != nil || !bytes.Equal(b, png(50)) || got.Raw.Filename != "album.png" {
		t.Errorf("%q %v %+v", b, err, got.Raw)
	}
	titled, typ := formOf([3]string{"title", "", "The cover"}, [3]string{"step_ref", "", "2"}, [3]string{"file", "b.png", string(png(9))})
	if r := d.bring(delivery.FileArtifact, titled, typ).Want(201); r.Str("title") != "The cover" || r.Num("target_usage_bytes") != 59 {
		t.Errorf("%s", r.Body)
	}
	if r := d.attach("c.png", png(9), "X-Artifact-Title", "The back", "X-Step-Ref", "Draft the album").Want(201); r.Str("title") != "The back" {
		t.Errorf("%s", r.Body)
	}
	d.pulses()
	d.outcome(fields{"note": "Files are attached."}).Want(201) // a review step that carries items
}

func TestArtifactsRefuse(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	long := strings.Repeat("x", delivery.MaxTitle+1)
	two, twoType := formOf([3]string{"file", "a.png", string(png(9))}, [3]string{"file", "b.png", string(png(9))})
	none, noneType := formOf([3]string{"title", "", "x"})
	titled, titledType := formOf([3]string{"title", "", long}, [3]string{"file", "a.png", string(png(9))})
	elsewhere, elsewhereType := formOf([3]string{"step_ref", "", "3"}, [3]string{"file", "a.png", string(png(9))})
	for _, c := range []struct {
		code string
		res  optest.Res
	}{
		{"file_required", d.bring(delivery.FileArtifact, two, twoType)}, {"file_required", d.bring(delivery.FileArtifact, none, noneType)},
		{"title_too_long", d.bring(delivery.FileArtifact, titled, titledType)}, {"one_ball_violation", d.bring(delivery.FileArtifact, elsewhere, elsewhereType)},
		{"title_too_long", d.attach("a.exe", png(9), "X-Artifact-Title", long)}, {"one_ball_violation", d.attach("a.exe", png(9), "X-Artifact-Title", long, "X-Step-Ref", "9")},
		{"link_in_outcome_text", d.attach("a.png", png(9), "X-Artifact-Title", "see https://x.example/a")},
		{"type_not_allowed", d.attach("setup.exe", []byte("x"))}, {"type_not_allowed", d.attach("photo.png", []byte("\x7fELF\x02\x01"))},
		{"type_not_allowed", d.attach("tool.py", []byte("print(1)"))}, {"type_not_allowed", d.attach("notes.txt", []byte("#!/bin/sh\n"))},
		{"type_not_allowed", d.attach("all.zip", zipOf(t, "x.bin", "MZ\x90\x00"))}, {"type_not_allowed", d.attach("all.7z", []byte("7z\xbc\xaf\x27\x1c"))},
		{"type_not_allowed", d.attach("a.zip", zipOf(t, "word/vbaProject.bin", "x"))}, {"file_empty", d.attach("a.png", nil)},
	} {
		c.res.Refused(422, c.code)
	}
	d.bring(delivery.FileArtifact, png(9), "image/png").Refused(415, "unsupported_media_type")
	d.attach("a.png", png(delivery.MaxFile+1)).Refused(413, "file_too_large")
	if left := w.stored("agent-artifacts/"); len(left) != 0 || d.used() != 0 {
		t.Errorf("refused files stay behind: %v, %d bytes", left, d.used())
	}
	body, typ := form("a.exe", []byte("MZ\x00"))
	_, stranger := w.maker()
	w.Do(delivery.FileArtifact, optest.Req{Token: stranger, Path: d.at(""), Type: typ, Header: map[string]string{"Content-Type": typ}, Stream: bytes.NewReader(body)}).Refused(404, "not found")
	w.Do(delivery.FileArtifact, optest.Req{Token: d.person, Path: d.at(""), Type: typ, Stream: bytes.NewReader(body)}).Refused(401, "unauthorized")
	d.pulses()
	d.outcome(fields{"note": "x", "document": doc(para("Done."))}).Want(201)
	d.attach("a.exe", []byte("MZ\x00"), "X-Step-Ref", "9").Refused(422, "out_of_turn_filing")
	d.answer("2", "decline", "reason", "No.").Want(200)
	d.attach("a.png", png(9)).Refused(404, "not found") // no longer signed
}

// TestAKeyIsOptionalAndReplays: the same file under the same key is one artifact.
func TestAKeyIsOptionalAndReplays(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	first := d.attach("a.png", png(9), "Idempotency-Key", "k").Want(201)
	again := d.attach("a.png", png(9), "Idempotency-Key", "k").Want(201)
	if first.Str("receipt_id") != again.Str("receipt_id") || !again.Replayed {
		t.Errorf("%s", again.Body)
	}
	d.attach("a.png", png(10), "Idempotency-Key", "k").Refused(409, "idempotency_conflict")
	d.attach("a.png", png(9), "Idempotency-Key", "k", "X-Artifact-Title", "Another").Refused(409, "idempotency_conflict")
	d.attach("a.png", png(9)).Want(201)
	if n := len(w.stored("agent-artifacts/")); n != 2 || d.used() != 18 {
		t.Errorf("%d files of %d bytes", n, d.used())
	}
}

// TestArtifactsOfTheSameMomentNeverPassTheBudget, by a byte.
func TestArtifactsOfTheSameMomentNeverPassTheBudget(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	w.Run("bench", func(c *op.Call) error { return wants.Spend(c, d.target, wants.MaxFileBytes-25) })
	var wg sync.WaitGroup
	taken := make([]optest.Res, 6)
	for i := range taken {
		wg.Go(func() {
			if i%2 == 0 {
				taken[i] = d.attach(fmt.Sprint(i, ".png"), png(10))
			} else {
				taken[i] = d.image(fmt.Sprint(i, ".png"), png(10))
			}
		})
	}
	wg.Wait()
	good := 0
	for _, r := range taken {
		switch r.Status {
		case 201:
			good++
		case 413:
			if r.Str("error") != "target_budget_exceeded" {
				t.Errorf("%s", r.Body)
			}
		default:
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	left := len(w.stored("agent-artifacts/")) + len(w.stored("agent-images/"))
	if good != 2 || left != 2 || d.used() != wants.MaxFileBytes-5 {
		t.Errorf("%d were taken, %d lie there, %d bytes are used", good, left, d.used())
	}
	d.attach("last.png", png(10)).Refused(413, "target_budget_exceeded")
	d.attach("last.txt", []byte("12345")).Want(201)
	d.attach("over.txt", []byte("1")).Refused(413, "target_budget_exceeded")
}

// TestAFilesOwnNameIsShownPlainly: no folders, nothing that prints nothing or turns the rest
// around, and no more than fits.
func TestAFilesOwnNameIsShownPlainly(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	for sent, want := range map[string]string{"../../a.txt": "a.txt", `C:\x\b.txt`: "b.txt", "gpj.\u202eexe.txt": "gpj.exe.txt", "a\u200bb.txt": "ab.txt",
		strings.Repeat("n", 90) + ".txt": strings.Repeat("n", 76) + ".txt"} {
		if r := d.attach(sent, []byte("x")).Want(201); r.Str("filename") != want || r.Str("title") != want {
			t.Errorf("%q is shown as %s", sent, r.Body)
		}
	}
	if r := d.attach("\u200b", []byte("x")).Want(201); r.Str("filename") == "" || r.Str("title") == "" {
		t.Errorf("a file without a name: %s", r.Body)
	}
}

func TestAStagedArtifact(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	content := string(png(40))
	ask := func(body string) optest.Res {
		t.Helper()
		return d.bring(delivery.FileArtifact, []byte(body), "application/json")
	}
	r := ask(fmt.Sprintf(`{"filename":"big.png","content_type":"image/png","size_bytes":40,"sha256":%q}`, sumOf(content))).Want(200)
	upload := r.Str("upload_id")
	if r.Str("upload_url") == "" || r.Str("expires_at") == "" || r.At("receipt_id") != nil {
		t.Errorf("%s", r.Body)
	}
	claim := fmt.Sprintf(`{"upload_id":%q,"title":"The big one","step_ref":"2"}`, upload)
	ask(claim).Refused(409, "upload_missing")
	if _, err := w.blobs.Put(context.Background(), blob.UploadKey(upload), strings.NewReader(content), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := ask(claim).Want(201); r.Str("title") != "The big one" || r.Str("sha256") != sumOf(content) || r.Num("target_usage_bytes") != 40 {
		t.Errorf("%s", r.Body)
	}
	ask(claim).Refused(404, "upload_unknown")
}
