package delivery_test

import (
	"bytes"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func (w *shelf) list(token string, query ...string) optest.Res {
	w.t.Helper()
	q := url.Values{}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	return w.Do(delivery.Files, optest.Req{Token: token, Query: q})
}

// attach puts a picture beside a new want of a person.
func (w *shelf) attach(token string) (target, file string) {
	w.t.Helper()
	target = w.Do(wants.Post, optest.Req{Token: token, Body: fields{"want": "Another album of our summer.", "lane": fields{"kind": "free"},
		"finish_line": fields{"tile": "object_at_door", "sentence": "An album."}}}).Want(201).Str("target_id")
	body, typ := form("a.png", png(50))
	r := w.Do(wants.Attach, optest.Req{Token: token, Path: map[string]string{"target_id": target}, Type: typ,
		Header: map[string]string{"Content-Type": typ}, Stream: bytes.NewReader(body)}).Want(201)
	return target, strings.TrimSuffix(r.Str("filename"), ".png")
}

func TestAPersonFindsEveryUploadNewestFirst(t *testing.T) {
	w := newShelf(t)
	d, other := w.waiting(), w.waiting()
	other.upload("2", "theirs.png", png(9)).Want(201)
	var files []string
	for _, name := range []string{"a.png", "b.png"} {
		w.Advance(time.Second)
		files = append(files, d.upload("2", name, png(9)).Want(201).Str("file_id"))
	}
	w.Advance(time.Second)
	target, attached := w.attach(d.person)
	d.answer("2", "approve").Want(200)

	all := w.list(d.person).Want(200)
	if got := all.At("files").([]any); len(got) != 3 || all.At("next_cursor") != nil {
		t.Fatalf("%s", all.Body)
	}
	for i, want := range []string{attached, files[1], files[0]} {
		if got := all.At("files").([]any)[i].(map[string]any); got["file_id"] != want {
			t.Errorf("%d is %v", i, got)
		}
	}
	if all.Str("files.0.target_id") != target || all.At("files.0.deal_id") != nil || all.At("files.0.released_at") != nil ||
		all.Str("files.1.deal_id") != d.id || all.Num("files.1.step_number") != 2 || all.Str("files.1.filename") != "b.png" || all.Str("files.1.released_at") == "" {
		t.Errorf("%s", all.Body)
	}
	var walked []string
	for after := ""; ; {
		q := []string{"limit", "1"}
		if after != "" {
			q = append(q, "after", after)
		}
		r := w.list(d.person, q...).Want(200)
		for _, f := range r.At("files").([]any) {
			walked = append(walked, f.(map[string]any)["file_id"].(string))
		}
		if after = r.Str("next_cursor"); after == "" {
			break
		}
	}
	if strings.Join(walked, " ") != strings.Join([]string{attached, files[1], files[0]}, " ") {
		t.Errorf("%v", walked)
	}
	mine := w.list(d.person, "limit", "1").Str("next_cursor")
	w.list(other.person, "after", mine).Refused(422, "cursor_invalid")
	w.list(d.person, "after", "x").Refused(422, "cursor_invalid")
	w.list(d.person, "limit", "0").Refused(422, "invalid_field")
	w.list(d.person, "limit", "101").Refused(422, "invalid_field")
	w.list(d.agent).Refused(401, "unauthorized")
}

func TestADeletedFileIsServedToNobody(t *testing.T) {
	w := newShelf(t)
	d, other := w.waiting(), w.waiting()
	kept := d.upload("2", "a.png", png(9)).Want(201).Str("file_id")
	gone := d.upload("2", "b.png", png(90)).Want(201).Str("file_id")
	d.answer("2", "approve").Want(200)
	d.remove(other.person, gone).Refused(404, "not found")
	d.remove(d.person, "x").Refused(404, "not found")
	d.remove(d.person, "00000000-0000-4000-8000-000000000000").Refused(404, "not found")
	d.remove(d.agent, gone).Refused(401, "unauthorized")
	d.fetch(d.agent, gone).Want(200)
	own := func(token, file string) optest.Res {
		return w.Do(delivery.Own, optest.Req{Token: token, Path: map[string]string{"file_id": file}})
	}
	if r := own(d.person, gone).Want(200); r.Raw.Filename != "b.png" || r.Raw.Size != 90 {
		t.Errorf("%+v", r.Raw)
	}
	for _, r := range []optest.Res{own(other.person, gone), own(d.person, "x"), own(d.person, "00000000-0000-4000-8000-000000000000")} {
		r.Refused(404, "not found")
	}
	own(d.agent, gone).Refused(401, "unauthorized")

	first := d.remove(d.person, gone).Want(200)
	own(d.person, gone).Refused(404, "not found")
	d.fetch(d.agent, gone).Refused(404, "not found") // at once, not when the bytes are gone
	if c := d.current(); c.Num("released_materials_count") != 1 || c.Str("released_materials.0.file_id") != kept {
		t.Errorf("%s", c.Body)
	}
	if r := w.list(d.person); len(r.At("files").([]any)) != 1 {
		t.Errorf("%s", r.Body)
	}
	w.Advance(time.Hour)
	if again := d.remove(d.person, gone).Want(200); again.Str("deleted_at") != first.Str("deleted_at") {
		t.Errorf("%s, then %s", first.Body, again.Body)
	}
	if left := w.stored("materials/" + d.id); len(left) != 1 || !strings.HasSuffix(left[0], kept) {
		t.Errorf("%v", left)
	}
	d.fetch(d.agent, kept).Want(200)
}

func TestDeletingGivesTheRoomBackUnlessTheFileWasHandedOver(t *testing.T) {
	w := newShelf(t)
	d := w.waiting()
	open := d.upload("2", "a.png", png(10)).Want(201).Str("file_id")
	handed := d.upload("2", "b.png", png(100)).Want(201).Str("file_id")
	d.remove(d.person, open).Want(200)
	d.remove(d.person, open).Want(200)
	if d.used() != 100 {
		t.Errorf("%d bytes", d.used())
	}
	d.answer("2", "approve").Want(200)
	d.remove(d.person, handed).Want(200)
	if d.used() != 100 {
		t.Errorf("%d bytes", d.used())
	}
	target, attached := w.attach(d.person)
	d.remove(d.person, attached).Want(200)
	r := w.Do(wants.Read, optest.Req{Token: d.person, Path: map[string]string{"target_id": target}}).Want(200)
	if r.Num("target_usage_bytes") != 0 || len(r.At("attachments").([]any)) != 0 {
		t.Errorf("%s", r.Body)
	}
	w.Settle()
	if left := w.stored("attachments/" + target); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// A deletion and an approval that meet: the file is gone either way, and the room comes back
// only if it was not handed over.
func TestADeletionDoesNotPassAnApproval(t *testing.T) {
	w := newShelf(t)
	for range 10 {
		d := w.waiting()
		file := d.upload("2", "a.png", png(9)).Want(201).Str("file_id")
		done := make(chan bool)
		go func() { d.remove(d.person, file).Want(200); done <- true }()
		d.answer("2", "approve").Want(200)
		<-done
		d.fetch(d.agent, file).Refused(404, "not found")
		handed := false
		d.Run("bench", func(c *op.Call) error {
			p, err := c.Query(eventsOf(d.agentID))
			for _, r := range p.Rows {
				handed = handed || bytes.Contains(r.Data, []byte("materials.released"))
			}
			return err
		})
		if want := map[bool]int64{true: 9, false: 0}[handed]; d.used() != want {
			t.Fatalf("handed over: %v, and %d bytes are used", handed, d.used())
		}
	}
}

func TestAClosedAccountServesNothing(t *testing.T) {
	w := newShelf(t)
	d := w.waiting()
	file := d.upload("2", "a.png", png(9)).Want(201).Str("file_id")
	d.answer("2", "approve").Want(200)
	d.Do(deals.EndDeal, optest.Req{Token: d.person, Path: d.at(""), Body: fields{"reason": "Enough."}}).Want(200)
	d.fetch(d.agent, file).Want(200)
	w.Do(account.CloseAccount, optest.Req{Token: d.person, Body: fields{}}).Want(200)
	d.fetch(d.agent, file).Refused(404, "not found")
	if c := d.current(); c.Num("released_materials_count") != 0 {
		t.Errorf("%s", c.Body)
	}
	w.Settle()
	if left := w.stored("materials/"); len(left) != 0 {
		t.Errorf("%v stay behind", left)
	}
}

func TestAnArtifactIsItsPersonsAlone(t *testing.T) {
	w := newShelf(t)
	d, other := w.waiting(), w.waiting()
	receipt, note := "", ""
	w.Run("bench", func(c *op.Call) error { // as an artifact is filed
		receipt, note = c.NewID(), c.NewID()
		_, err := w.blobs.Put(c, "agent-artifacts/"+d.id+"/"+receipt, bytes.NewReader(png(40)), blob.PutOptions{})
		c.Create(deals.DocKey(d.id, receipt), deals.Kept{File: &deals.KeptFile{Key: "agent-artifacts/" + d.id + "/" + receipt, Filename: "album.png", ContentType: "image/png", Bytes: 40}})
		c.Create(deals.DocKey(d.id, note), deals.Kept{Text: "Only words."})
		return err
	})
	get := func(token, deal, receipt string) optest.Res {
		return w.Do(delivery.Artifact, optest.Req{Token: token, Path: map[string]string{"deal_id": deal, "receipt_id": receipt}})
	}
	r := get(d.person, d.id, receipt).Want(200)
	if b, err := io.ReadAll(r.Raw.Body); err != nil || !bytes.Equal(b, png(40)) || r.Raw.Filename != "album.png" || r.Raw.ContentType != "image/png" {
		t.Errorf("%q %+v", b, r.Raw)
	}
	get(other.person, d.id, receipt).Refused(404, "not found")
	get(other.person, other.id, receipt).Refused(404, "not found")
	get(d.person, d.id, note).Refused(404, "not found")
	get(d.person, d.id, "../"+receipt).Refused(404, "not found")
	get(d.person, d.id, "\x00").Refused(404, "not found")
	get(d.agent, d.id, receipt).Refused(401, "unauthorized")
	get("", d.id, receipt).Refused(401, "unauthorized")
}
