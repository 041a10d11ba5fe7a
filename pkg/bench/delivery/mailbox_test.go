package delivery_test

import (
	"bytes"
	"io"
	"testing"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/op/optest"
)

func TestTheMailboxTakesPicturesAlone(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	for name, content := range map[string]string{"a.png": "\x89PNG\r\n\x1a\n..", "a.jpg": "\xff\xd8\xff\xe0..", "a.gif": "GIF89a..", "a.webp": "RIFF\x00\x00\x00\x00WEBPVP8 ",
		"named.txt": "GIF87a.."} {
		r := d.image(name, []byte(content)).Want(201)
		if r.Str("file_id") == "" || r.Str("sha256") != sumOf(content) || r.Num("size_bytes") != float64(len(content)) || r.Str("content_type")[:6] != "image/" {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	used := d.used()
	for name, content := range map[string]string{"a.png": "not a picture", "a.svg": "<svg/>", "a.pdf": "%PDF-1.7", "a.tif": "II*\x00", "b.png": "MZ\x00"} {
		d.image(name, []byte(content)).Refused(422, "type_not_allowed")
	}
	d.image("a.png", nil).Refused(422, "file_empty")
	d.image("a.png", png(delivery.MaxImage+1)).Refused(413, "file_too_large")
	if n := len(w.stored("agent-images/")); n != 5 || d.used() != used {
		t.Errorf("%d pictures lie there, %d bytes are used", n, d.used())
	}
	d.image("a.png", png(delivery.MaxImage)).Want(201)
	d.pulses()
	d.outcome(fields{"note": "x", "document": doc(para("Done."))}).Want(201)
	d.image("later.png", png(9)).Want(201) // it needs no turn
	d.answer("2", "decline", "reason", "No.").Want(200)
	d.image("a.exe", png(9)).Refused(404, "not found")
	body, typ := form("a.png", png(9))
	_, stranger := w.maker()
	w.Do(delivery.PutImage, optest.Req{Token: stranger, Path: d.at(""), Type: typ, Stream: bytes.NewReader(body)}).Refused(404, "not found")
}

func TestAStagedImage(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	ask := func(body string) optest.Res {
		t.Helper()
		return d.bring(delivery.PutImage, []byte(body), "application/json")
	}
	content := string(png(40))
	announce := `{"filename":"a.png","content_type":"image/png","size_bytes":40,"sha256":"` + sumOf(content) + `"}`
	upload := ask(announce).Want(200).Str("upload_id")
	w.put(upload, content)
	if r := ask(`{"upload_id":"` + upload + `"}`).Want(201); r.Str("content_type") != "image/png" || r.Num("target_usage_bytes") != 40 {
		t.Errorf("%s", r.Body)
	}
	upload = ask(announce).Want(200).Str("upload_id")
	d.answerEnd()
	w.put(upload, content)
	ask(`{"upload_id":"`+upload+`"}`).Refused(404, "not found") // the deal ended meanwhile
}

// answerEnd ends the deal by its person.
func (d *parties) answerEnd() {
	d.t.Helper()
	d.Do(deals.EndDeal, optest.Req{Token: d.person, Path: d.at(""), Body: fields{"reason": "Enough."}}).Want(200)
}

func TestAnImageIsItsPersonsAlone(t *testing.T) {
	w := newShelf(t)
	d, other := w.deal(reviewed()...), w.deal(reviewed()...)
	file := d.image("a.png", png(30)).Want(201).Str("file_id")
	read := func(token, deal, file string) optest.Res {
		return w.Do(delivery.ReadImage, optest.Req{Token: token, Path: map[string]string{"deal_id": deal, "file_id": file}})
	}
	got := read(d.person, d.id, file).Want(200)
	if b, err := io.ReadAll(got.Raw.Body); err != nil || !bytes.Equal(b, png(30)) || got.Raw.ContentType != "image/png" || got.Raw.Filename == "" {
		t.Errorf("%q %v %+v", b, err, got.Raw)
	}
	read(other.person, d.id, file).Refused(404, "not found")
	read(other.person, other.id, file).Refused(404, "not found")
	read(d.person, d.id, other.id).Refused(404, "not found")
	read(d.person, d.id, "x").Refused(404, "not found")
	read(d.agent, d.id, file).Refused(401, "unauthorized")
}

// TestAPictureOfADayIsShownToo says where it is, in the list to be approved and on its day.
func TestAPictureOfADayIsShownToo(t *testing.T) {
	m := newMornings(t)
	d := m.ready("Europe/Berlin")
	file := d.image("a.png", png(30)).Want(201).Str("file_id")
	d.schedule(fields{"pieces": []fields{{"title": "The bench by the pond", "document": fields{"blocks": []fields{{"type": "image", "file_id": file, "alt": "A bench"}}}}}}).Want(201)
	at := "/api/person/deals/" + d.at("")["deal_id"] + "/images/" + file
	if got := d.step("4").At("cards.0.outcome.document.blocks.1.image_url"); got != at {
		t.Errorf("in the list a picture is at %v", got)
	}
	if got := d.day(delivery.ReadDay, "1").Want(200).At("document.blocks.0.image_url"); got != at {
		t.Errorf("on its day a picture is at %v", got)
	}
}
