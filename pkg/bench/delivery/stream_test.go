package delivery_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/blob"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// unread is a body that must not be read.
type unread struct{ t testing.TB }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("a body was read that need not be")
	return 0, io.EOF
}

// stream files bytes; headers are X- headers in pairs.
func (d *parties) stream(body io.Reader, headers ...string) optest.Res {
	d.t.Helper()
	r := optest.Req{Token: d.agent, Path: d.at(""), Type: "video/mp4", Stream: body, Header: map[string]string{"Content-Type": "video/mp4"}}
	for i := 0; i < len(headers); i += 2 {
		if r.Header[headers[i]] = headers[i+1]; headers[i] == "Idempotency-Key" {
			r.Key = headers[i+1]
		}
	}
	return d.declared(d.Do(delivery.File, r))
}

func TestAStreamIsHashedAndNotKept(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	held := d.stream(strings.NewReader("part one"), "X-Hold", "1").Want(201)
	if held.Str("kind") != deals.KindStream || held.Str("state") != path.Working || held.At("held") != true || held.Str("sha256") != sumOf("part one") || held.Num("size_bytes") != 8 {
		t.Errorf("%s", held.Body)
	}
	d.pulses()
	r := d.stream(strings.NewReader("part two"), "X-Delivery-Note", " The film. ", "X-Step-Ref", "Draft the album").Want(201)
	if r.Str("state") != path.Waiting || r.Num("version") != 1 || r.Str("sha256") != sumOf("part two") {
		t.Errorf("%s", r.Body)
	}
	if keys := w.stored(""); len(keys) != 0 || d.used() != 0 {
		t.Errorf("something of a stream is kept: %v, %d bytes", keys, d.used())
	}
	s := d.step("2")
	if s.Str("note") != "The film." || s.Str("cards.1.outcome.content_type") != "video/mp4" || s.Num("cards.0.outcome.size_bytes") != 8 || s.Str("cards.1.outcome.sha256") != sumOf("part two") {
		t.Errorf("%s", s.Body)
	}
	if s.At("cards.1.outcome.download_url") != nil {
		t.Error("there is nothing to download of a stream")
	}
}

// TestWhatCanBeRefusedBeforeTheBodyIs: nobody sends 200 MB to be told that a note is missing.
func TestWhatCanBeRefusedBeforeTheBodyIs(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	body, long := unread{t}, strings.Repeat("x", delivery.MaxNote+1)
	_, stranger := w.maker()
	w.Do(delivery.File, optest.Req{Token: stranger, Path: d.at(""), Type: "text/plain", Stream: body}).Refused(404, "not found")
	w.Do(delivery.File, optest.Req{Token: d.person, Path: d.at(""), Type: "text/plain", Stream: body}).Refused(401, "unauthorized")
	w.Do(delivery.File, optest.Req{Token: d.agent, Path: d.at(""), Type: "text/plain", Stream: body, Key: "-"}).Refused(400, "idempotency_key_required")
	d.stream(body, "X-Step-Ref", "3").Refused(422, "one_ball_violation")
	d.stream(body, "X-Hold", "maybe").Refused(422, "invalid_field")
	d.stream(body, "X-Delivery-Note", long).Refused(422, "progress_not_100")
	d.pulses()
	d.stream(body).Refused(422, "note_required")
	d.stream(body, "X-Delivery-Note", long).Refused(422, "note_too_long")
	d.stream(body, "X-Delivery-Note", "a", "X-Hold", "1").Refused(422, "note_not_taken")
	d.stream(body, "X-Delivery-Note", "password: hunter2hunter2").Refused(422, "outcome_secret")
	d.stream(strings.NewReader(""), "X-Delivery-Note", "a").Refused(422, "stream_empty")
	if s := d.current(); s.Str("current_step.state") != path.Working || s.At("current_step.outcomes.0") != nil {
		t.Errorf("a refusal left something behind: %s", s.Body)
	}
	d.stream(strings.NewReader("x"), "X-Delivery-Note", "a").Want(201)
	d.stream(body, "X-Delivery-Note", long, "X-Step-Ref", "9").Refused(422, "out_of_turn_filing")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line was cut") }

func TestAKeyStandsForAWholeStream(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	d.pulses()
	send := func(body, note string) optest.Res {
		return d.stream(strings.NewReader(body), "X-Delivery-Note", note, "Idempotency-Key", "k")
	}
	send("", "a").Refused(422, "stream_empty") // a refusal uses no key up
	first := send("bytes", "a").Want(201)
	if again := send("bytes", "a").Want(201); !again.Replayed || again.Str("receipt_id") != first.Str("receipt_id") {
		t.Errorf("%s", again.Body)
	}
	send("other", "a").Refused(409, "idempotency_conflict")
	send("bytes", "b").Refused(409, "idempotency_conflict")
	d.outcome(fields{"note": "a", "url": "https://example.com/"}, "k").Refused(409, "idempotency_conflict")
}

// TestTwinsOfAStreamAreOne: two calls of one key at once are answered by one outcome.
func TestTwinsOfAStreamAreOne(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	var wg sync.WaitGroup
	got := make([]optest.Res, 4)
	for i := range got {
		wg.Go(func() { got[i] = d.stream(strings.NewReader("the film"), "X-Hold", "1", "Idempotency-Key", "k") })
	}
	wg.Wait()
	for _, r := range got {
		if r.Status != 201 || r.Str("receipt_id") != got[0].Str("receipt_id") {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	if c := d.current(); c.At("current_step.outcomes.1") != nil {
		t.Errorf("%s", c.Body)
	}
}

// endless gives a number of bytes without having them.
type endless struct{ left, read int64 }

func (e *endless) Read(p []byte) (int, error) {
	n := min(int64(len(p)), e.left)
	if n == 0 {
		return 0, io.EOF
	}
	e.left, e.read = e.left-n, e.read+n
	return int(n), nil
}

// TestAStreamEndsAt200MegabytesInConstantMemory: through the whole REST handler.
func TestAStreamEndsAt200MegabytesInConstantMemory(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	d.pulses()
	h := rest.Handler(d.Engine, []*op.Operation{delivery.File}, rest.Options{BaseURL: "http://guildhall.test"})
	send := func(bytes int64, key string) (*httptest.ResponseRecorder, *endless, uint64) {
		body := &endless{left: bytes}
		r := httptest.NewRequest(http.MethodPost, "/api/bench/targets/"+d.target+"/outcomes", body)
		for k, v := range map[string]string{"Content-Type": "application/octet-stream", "X-Delivery-Note": "The film.", "Authorization": "Bearer " + d.agent, "Idempotency-Key": key} {
			r.Header.Set(k, v)
		}
		r.ContentLength = -1
		rec := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h.ServeHTTP(rec, r)
		runtime.ReadMemStats(&after)
		return rec, body, after.TotalAlloc - before.TotalAlloc
	}
	const room = 2 << 20 // bytes: far less than a hundredth of what passes
	rec, body, spent := send(delivery.MaxStreamBytes+1, "a")
	if rec.Code != 413 || body.read > delivery.MaxStreamBytes+1 {
		t.Errorf("%d after %d bytes: %s", rec.Code, body.read, rec.Body)
	}
	if spent > room {
		t.Errorf("%d bytes were allocated for a stream of %d", spent, body.read)
	}
	rec, _, spent = send(delivery.MaxStreamBytes, "b")
	var got struct {
		Bytes int64 `json:"size_bytes"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 201 || got.Bytes != delivery.MaxStreamBytes || spent > room {
		t.Errorf("%d, %d bytes allocated: %s", rec.Code, spent, rec.Body)
	}
}

// staged announces a stream.
func (d *parties) staged(content string, more ...any) optest.Res {
	d.t.Helper()
	sum := sha256.Sum256([]byte(content))
	body := fields{"filename": "dir/film.mp4", "content_type": "video/mp4", "size_bytes": len(content), "sha256": hex.EncodeToString(sum[:])}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return d.outcome(body)
}

func (w *shelf) put(upload, content string) {
	w.t.Helper()
	if _, err := w.blobs.Put(context.Background(), blob.UploadKey(upload), strings.NewReader(content), blob.PutOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func TestAStagedStreamIsHashedAgainAndDeleted(t *testing.T) {
	w := newShelf(t)
	d := w.deal(reviewed()...)
	content := "the whole film"
	ticket := d.staged(content).Want(200) // before the work is at 100 percent
	upload := ticket.Str("upload_id")
	if ticket.Str("upload_url") == "" || ticket.Str("expires_at") == "" || ticket.At("receipt_id") != nil {
		t.Errorf("%s", ticket.Body)
	}
	claim := fields{"upload_id": upload, "note": "The film."}
	d.outcome(claim).Refused(422, "progress_not_100")
	d.pulses()
	d.outcome(claim).Refused(409, "upload_missing")
	w.put(upload, content)
	r := d.outcome(claim, "k").Want(201)
	if r.Str("kind") != deals.KindStream || r.Str("sha256") != sumOf(content) || r.Num("size_bytes") != float64(len(content)) {
		t.Errorf("%s", r.Body)
	}
	d.outcome(claim, "k").Want(201)
	w.Settle()
	if keys := w.stored(""); len(keys) != 0 {
		t.Errorf("the bytes stay behind: %v", keys)
	}
	if s := d.step("2"); s.Str("cards.0.outcome.filename") != "film.mp4" || s.Str("cards.0.outcome.content_type") != "video/mp4" {
		t.Errorf("%s", s.Body)
	}
}

func TestStagedStreamsRefuse(t *testing.T) {
	w := newShelf(t)
	d, other := w.deal(reviewed()...), w.deal(reviewed()...)
	d.staged("x", "step_ref", "3").Refused(422, "one_ball_violation")
	d.staged("x", "url", "https://example.com/").Refused(422, "one_form_only")
	d.staged("x", "size_bytes", delivery.MaxStreamBytes+1).Refused(413, "stream_too_large")
	d.staged("x", "size_bytes", 0).Refused(422, "invalid_field")
	d.staged("x", "sha256", "abc").Refused(422, "invalid_field")
	d.staged("x", "content_type", "a\nb").Refused(422, "type_not_allowed")
	d.outcome(fields{"filename": "a"}).Refused(422, "missing_field")
	upload := d.staged("abc").Want(200).Str("upload_id")
	d.pulses()
	other.pulses()
	w.put(upload, "abd")
	claim := fields{"upload_id": upload, "note": "The film."}
	other.outcome(claim).Refused(404, "upload_unknown")
	d.outcome(fields{"upload_id": "x", "note": "a"}).Refused(404, "upload_unknown")
	d.outcome(fields{"upload_id": upload}).Refused(422, "note_required")
	d.outcome(fields{"upload_id": upload, "note": "a", "text": "b"}).Refused(422, "one_form_only")
	d.outcome(claim).Refused(422, "upload_mismatch")
	w.put(upload, "abc")
	d.outcome(fields{"upload_id": upload, "hold": true}).Want(201)
	late := d.staged("late").Want(200).Str("upload_id")
	w.put(late, "late")
	d.Advance(blob.UnclaimedAge)
	if d.current().Str("deal_status") != "signed" {
		t.Fatal("the deal is over")
	}
	d.outcome(fields{"upload_id": late, "hold": true}).Refused(404, "upload_unknown")
}

func TestABodyWithoutATypeOrAnEndIsNoStream(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	h := rest.Handler(d.Engine, []*op.Operation{delivery.File}, rest.Options{BaseURL: "http://guildhall.test"})
	d.pulses()
	send := func(kind, key string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/api/bench/targets/"+d.target+"/outcomes", body)
		r.Header.Set("Authorization", "Bearer "+d.agent)
		r.Header.Set("Idempotency-Key", key)
		r.Header.Set("X-Delivery-Note", "The film.")
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec
	}
	for i, kind := range []string{"", "///", "multipart/form-data; boundary=x"} {
		if rec := send(kind, fmt.Sprint(i), strings.NewReader("bytes")); rec.Code != 415 {
			t.Errorf("%q: %d %s", kind, rec.Code, rec.Body)
		}
	}
	// One that is cut off leaves nothing, and its key is free.
	if rec := send("video/mp4", "k", io.MultiReader(strings.NewReader("abc"), broken{})); rec.Code != 400 || !strings.Contains(rec.Body.String(), "body_incomplete") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if s := d.current(); s.At("current_step.outcomes.0") != nil || s.Str("current_step.state") != path.Working {
		t.Errorf("%s", s.Body)
	}
	if rec := send("video/mp4", "k", strings.NewReader("abc")); rec.Code != 201 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
