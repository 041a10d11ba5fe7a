package delivery_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/linkprobe"
	"guildhall/pkg/linkprobe/linkprobetest"
	"guildhall/pkg/op/optest"
)

// TestWhatADeliveryCosts counts calls of the store, credential, limit and idempotency included: a read is a batch, or two
// where the deal says what else is needed; a write is one commit more.
func TestWhatADeliveryCosts(t *testing.T) {
	w := probing(t, &linkprobetest.Fake{Findings: map[string]linkprobe.Finding{"https://example.net/": linkprobetest.Held(linkprobe.ReasonYoungDomain)}})
	cost := func(what string, want [3]int64, call func() optest.Res) optest.Res {
		t.Helper()
		w.Settle()
		before := w.Store.Stats()
		r := call()
		if got := w.Store.Stats().Since(before); [3]int64{got.Gets, got.Queries, got.Commits} != want {
			t.Errorf("%s: %d gets, %d queries, %d commits; want %v (%d %.80s)", what, got.Gets, got.Queries, got.Commits, want, r.Status, r.Body)
		}
		return r
	}
	ready := func(steps ...fields) *parties {
		d := w.deal(steps...)
		d.pulses()
		return d
	}
	announced := func(content []byte) []byte {
		sum := sha256.Sum256(content)
		b, err := json.Marshal(fields{"filename": "a.png", "content_type": "image/png", "size_bytes": len(content), "sha256": hex.EncodeToString(sum[:])})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	claimed := func(upload string) []byte { return []byte(`{"upload_id":"` + upload + `"}`) }

	d := ready(reviewed()...)
	write := [3]int64{2, 0, 1}
	for range 2 { // the first writes the budget's row
		cost("an artifact", write, func() optest.Res { return d.attach("a.png", png(100)) })
	}
	up := cost("an announced artifact", [3]int64{3, 0, 1}, func() optest.Res { return d.bring(delivery.FileArtifact, announced(png(9)), "application/json") }).Str("upload_id")
	w.put(up, string(png(9)))
	cost("a claimed artifact", write, func() optest.Res { return d.bring(delivery.FileArtifact, claimed(up), "application/json") })
	var images []fields
	for range 6 {
		images = append(images, fields{"type": "image", "file_id": cost("an image", write, func() optest.Res { return d.image("a.png", png(100)) }).Str("file_id")})
	}
	up = cost("an announced image", [3]int64{3, 0, 1}, func() optest.Res { return d.bring(delivery.PutImage, announced(png(9)), "application/json") }).Str("upload_id")
	w.put(up, string(png(9)))
	cost("a claimed image", write, func() optest.Res { return d.bring(delivery.PutImage, claimed(up), "application/json") })
	cost("a held link", write, func() optest.Res { return d.outcome(fields{"hold": true, "url": "https://example.com/"}) })
	cost("a question to the stewards", [3]int64{3, 0, 1}, func() optest.Res { return d.outcome(fields{"note": "a", "url": "https://example.net/"}) })
	cost("a held stream", write, func() optest.Res { return d.stream(strings.NewReader("x"), "X-Hold", "1") })
	up = cost("an announced stream", [3]int64{3, 0, 1}, func() optest.Res { return d.staged("film") }).Str("upload_id")
	w.put(up, "film")
	cost("a claimed stream", write, func() optest.Res { return d.outcome(fields{"hold": true, "upload_id": up}) })
	cost("a document of six images", write, func() optest.Res { return d.outcome(fields{"note": "a", "document": doc(images...)}) })
	img := fmt.Sprint(images[0]["file_id"])
	cost("reading an image", [3]int64{1, 0, 0}, func() optest.Res {
		return d.Do(delivery.ReadImage, optest.Req{Token: d.person, Path: map[string]string{"deal_id": d.id, "file_id": img}})
	})
	cost("reading the step", [3]int64{2, 1, 0}, func() optest.Res { return d.step("2") })
	cost("reading the deal", [3]int64{2, 1, 0}, d.current)

	p := w.waiting()
	file := cost("a person's file", write, func() optest.Res { return p.upload("2", "a.png", png(100)) }).Str("file_id")
	up = cost("an announced file", [3]int64{3, 0, 1}, func() optest.Res { return p.json("2", announcedOf(t, announced(png(9)))) }).Str("upload_id")
	w.put(up, string(png(9)))
	cost("a claimed file", write, func() optest.Res { return p.json("2", fields{"upload_id": up}) })
	cost("a list of files", [3]int64{2, 1, 0}, func() optest.Res { return w.list(p.person) })
	cost("reading one's own", [3]int64{1, 0, 0}, func() optest.Res {
		return w.Do(delivery.Own, optest.Req{Token: p.person, Path: map[string]string{"file_id": file}})
	})
	p.answer("2", "approve").Want(200)
	cost("a material", [3]int64{1, 0, 0}, func() optest.Res { return p.fetch(p.agent, file) })
	cost("a deletion", write, func() optest.Res { return p.remove(p.person, file) })
}

func announcedOf(t *testing.T, b []byte) (out fields) {
	t.Helper()
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
