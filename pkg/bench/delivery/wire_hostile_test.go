package delivery_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/op"
)

// wire is the REST edge of a shelf.
type wire struct {
	*parties
	h http.Handler
	n int
}

func (d *parties) wire() *wire {
	return &wire{parties: d, h: rest.Handler(d.Engine, delivery.Operations, rest.Options{BaseURL: "http://guildhall.test"})}
}

// call sends a request; headers are in pairs, taken as they are.
func (w *wire) call(method, path, token string, body []byte, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	w.n++
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Idempotency-Key", fmt.Sprint("k", w.n))
	for i := 0; i < len(headers); i += 2 {
		r.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	return rec
}

func (w *wire) outcomes() string { return "/api/bench/targets/" + w.target + "/outcomes" }

// TestTheWordsOfAStreamAreWhatTheyWere: a note in a header is UTF-8, bounded in characters, and no way to write headers.
func TestTheWordsOfAStreamAreWhatTheyWere(t *testing.T) {
	for name, c := range map[string]struct {
		note   string
		status int
		code   string
	}{
		"280 signs of four bytes": {strings.Repeat("🂡", 280), 201, ""}, "281": {strings.Repeat("🂡", 281), 422, "note_too_long"}, "blanks": {"  \t ", 422, "note_required"},
		"letters of Latin-1": {"caf\xe9", 201, ""}, "a bell": {"ding\x07", 422, "invalid_field"},
	} {
		d := newShelf(t).deal(reviewed()...)
		d.pulses()
		w := d.wire()
		rec := w.call("POST", w.outcomes(), d.agent, []byte("film"), "Content-Type", "video/mp4", "X-Delivery-Note", c.note)
		if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.code) || rec.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
		if s := d.step("2"); rec.Code == 201 && s.Str("note") != strings.ReplaceAll(c.note, "\xe9", "é") {
			t.Errorf("%s: the note is %q", name, s.Str("note"))
		}
	}
}

// TestWhatIsNoStream: JSON is read as JSON, and nothing is unpacked.
func TestWhatIsNoStream(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	d.pulses()
	w := d.wire()
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"junk":                 {"junk", []string{"Content-Type", "application/json"}, 400},
		"junk in capitals":     {"junk", []string{"Content-Type", "APPLICATION/JSON; charset=utf-8"}, 400},
		"a word twice":         {`{"note":"a","url":"https://example.com/","url":"https://example.org/"}`, []string{"Content-Type", "application/json"}, 400},
		"a block's word twice": {`{"note":"a","document":{"blocks":[{"type":"paragraph","text":"a","text":"b"}]}}`, []string{"Content-Type", "application/json"}, 400},
		"a packed stream":      {"bytes", []string{"Content-Type", "video/mp4", "Content-Encoding", "gzip", "X-Delivery-Note", "a"}, 415},
		"a packed text":        {"{}", []string{"Content-Type", "application/json", "Content-Encoding", "br"}, 415},
		"two steps":            {"bytes", []string{"Content-Type", "video/mp4", "X-Delivery-Note", "a", "X-Step-Ref", "2, 3"}, 422},
	} {
		if rec := w.call("POST", w.outcomes(), d.agent, []byte(c.body), c.headers...); rec.Code != c.status {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
	if s := d.current(); s.At("current_step.outcomes.0") != nil {
		t.Errorf("%s", s.Body)
	}
}

// TestADownloadNeverRuns: whatever a file is and is called, it is saved, not shown, and nobody guesses at its type.
func TestADownloadNeverRuns(t *testing.T) {
	w := newShelf(t).deal(reviewed()...).wire()
	shown := fields{}
	for i, name := range []string{"a\"; filename=\"b.txt", "a\r\nSet-Cookie: x=y", "Ärger \u2028日本.svg", "'%27''.txt", strings.Repeat("n", 300) + ".txt"} {
		content, typ := formOf([3]string{"file", name, `<svg xmlns="http://www.w3.org/2000/svg"/>`})
		rec := w.call("POST", "/api/bench/deals/"+w.id+"/artifacts", w.agent, content, "Content-Type", typ)
		if rec.Code != 201 || json.Unmarshal(rec.Body.Bytes(), &shown) != nil {
			t.Fatalf("%q: %d %s", name, rec.Code, rec.Body)
		}
		for _, method := range []string{"GET", "HEAD"} {
			got := w.call(method, fmt.Sprint("/api/person/deals/", w.id, "/artifacts/", shown["receipt_id"]), w.person, nil, "Range", "bytes=0-3", "If-None-Match", "*")
			h := got.Header()
			if got.Code != 200 || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment; ") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Set-Cookie") != "" ||
				strings.ContainsAny(h.Get("Content-Disposition"), "\r\n") || strings.Contains(h.Get("Content-Disposition"), `filename="b.txt`) || h.Get("Content-Length") != "41" || !strings.Contains(h.Get("Cache-Control"), "no-store") {
				t.Errorf("%d %s %q: %d %v", i, method, name, got.Code, h)
			}
			if want := map[string]int{"GET": 41}[method]; got.Body.Len() != want {
				t.Errorf("%s has a body of %d bytes", method, got.Body.Len())
			}
		}
	}
	for _, token := range []string{w.agent, "x"} {
		if rec := w.call("GET", fmt.Sprint("/api/person/deals/", w.id, "/artifacts/", shown["receipt_id"]), token, nil); rec.Code != 401 {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	}
	_, stranger := w.Person("other@example.test")
	for _, path := range []string{fmt.Sprint("/api/person/deals/", w.id, "/artifacts/", shown["receipt_id"]), fmt.Sprint("/api/person/deals/", w.id, "/artifacts/..%2f", shown["receipt_id"]), fmt.Sprint("/api/person/files/", shown["receipt_id"])} {
		if rec := w.call("GET", path, stranger, nil); rec.Code != 404 || rec.Body.String() != `{"ok":false,"error":"not found"}`+"\n" && rec.Body.String() != `{"ok":false,"error":"not found"}` {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

// TestAnUploadIsClaimedWhereItWasAnnounced, by whom, and once.
func TestAnUploadIsClaimedWhereItWasAnnounced(t *testing.T) {
	w := newShelf(t)
	one, two := w.deal(reviewed()...), w.deal(reviewed()...)
	one.pulses()
	content := png(100)
	sum := sha256.Sum256(content)
	ticket := func(d *parties, o *op.Operation) string {
		body, err := json.Marshal(fields{"filename": "a.png", "content_type": "image/png", "size_bytes": len(content), "sha256": hex.EncodeToString(sum[:])})
		if err != nil {
			t.Fatal(err)
		}
		upload := d.bring(o, body, "application/json").Want(200).Str("upload_id")
		w.put(upload, string(content))
		return upload
	}
	claim := func(d *parties, o *op.Operation, upload string) int {
		return d.bring(o, []byte(`{"upload_id":"`+upload+`"}`), "application/json").Status
	}
	artifact, image := ticket(one, delivery.FileArtifact), ticket(one, delivery.PutImage)
	for name, got := range map[string]int{
		"the other door": claim(one, delivery.PutImage, artifact), "the first door": claim(one, delivery.FileArtifact, image), "another deal": claim(two, delivery.FileArtifact, artifact),
		"another deal's images": claim(two, delivery.PutImage, image), "as an outcome": one.outcome(fields{"upload_id": artifact, "note": "a"}).Status,
	} {
		if got != 404 {
			t.Errorf("%s: %d", name, got)
		}
	}
	stream := one.staged("film").Want(200).Str("upload_id")
	w.put(stream, "film")
	if got := claim(one, delivery.FileArtifact, stream); got != 404 {
		t.Errorf("a stream as an artifact: %d", got)
	}
	if one.used() != 0 || two.used() != 0 {
		t.Errorf("refused claims weigh %d and %d bytes", one.used(), two.used())
	}
	if a, b := claim(one, delivery.FileArtifact, artifact), claim(one, delivery.FileArtifact, artifact); a != 201 || b != 404 || one.used() != 100 {
		t.Errorf("twice: %d, %d, %d bytes", a, b, one.used())
	}
	if a, b := claim(one, delivery.PutImage, image), claim(one, delivery.PutImage, image); a != 201 || b != 404 || one.used() != 200 {
		t.Errorf("twice: %d, %d, %d bytes", a, b, one.used())
	}
}

// TestARefusedClaimIsRefusedAlike, and its bytes do not weigh.
func TestARefusedClaimIsRefusedAlike(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	content := []byte("#!/bin/sh\n")
	sum := sha256.Sum256(content)
	body, err := json.Marshal(fields{"filename": "a.txt", "content_type": "text/plain", "size_bytes": len(content), "sha256": hex.EncodeToString(sum[:])})
	if err != nil {
		t.Fatal(err)
	}
	upload := d.bring(delivery.FileArtifact, body, "application/json").Want(200).Str("upload_id")
	d.put(upload, string(content))
	for range 2 {
		d.bring(delivery.FileArtifact, []byte(`{"upload_id":"`+upload+`"}`), "application/json").Refused(422, "type_not_allowed")
	}
	d.Settle()
	if keys := d.stored("agent-artifacts/"); d.used() != 0 || len(keys) != 0 {
		t.Errorf("%d bytes, %v", d.used(), keys)
	}
}

// TestAReplayOutlivesTheDeal: an answer that was given is given again.
func TestAReplayOutlivesTheDeal(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	d.pulses()
	content, typ := formOf([3]string{"file", "a.png", string(png(50))})
	other, otherType := formOf([3]string{"file", "a.png", string(png(51))})
	r := d.bring(delivery.FileArtifact, content, typ, "Idempotency-Key", "a").Want(201)
	first := d.outcome(fields{"note": "Done."}, "o").Want(201)
	d.answer("2", "decline", "reason", "No more.").Want(200)
	if again := d.bring(delivery.FileArtifact, content, typ, "Idempotency-Key", "a").Want(201); again.Str("receipt_id") != r.Str("receipt_id") {
		t.Errorf("%s", again.Body)
	}
	d.bring(delivery.FileArtifact, other, otherType, "Idempotency-Key", "a").Refused(409, "idempotency_conflict")
	if again := d.outcome(fields{"note": "Done."}, "o").Want(201); again.Str("receipt_id") != first.Str("receipt_id") {
		t.Errorf("%s", again.Body)
	}
	d.bring(delivery.FileArtifact, content, typ).Refused(404, "not found")
	d.outcome(fields{"note": "Done."}).Refused(404, "not found")
}

// TestAnnouncementsAreBounded: what lies unclaimed is nobody's budget, so it has a bound of its own.
func TestAnnouncementsAreBounded(t *testing.T) {
	w := newShelf(t)
	d, other := w.deal(reviewed()...), w.deal(reviewed()...)
	const most = 60
	for range most {
		d.staged("film").Want(200)
	}
	if r := d.staged("film").Refused(429, "rate_limited"); r.Num("retry_after_seconds") < 1 {
		t.Errorf("%s", r.Body)
	}
	other.staged("film").Want(200)
	w.Advance(time.Hour + time.Second)
	d.staged("film").Want(200)
}
