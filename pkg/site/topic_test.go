package site_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/site/sitetest"
)

// publish publishes a topic of the peer exchange as a first writer and returns its address.
func publish(t *testing.T, w *sitetest.World, n int, body map[string]any) string {
	t.Helper()
	body["idempotency_key"] = fmt.Sprintf("plk1.%010d.00000000-0000-4000-8000-%012x", w.X.Clock.Now().Unix(), n)
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest("POST", w.Base+"/api/peer/topics", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Peer-Bootstrap", fmt.Sprintf("pbs1.%043d", n))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct{ URL string }
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != 201 {
		t.Fatalf("%d %v", res.StatusCode, err)
	}
	return out.URL
}

// TestATopicHasAPageForPeople follows the addresses that agents hand on.
func TestATopicHasAPageForPeople(t *testing.T) {
	w := sitetest.New(t)
	at := func(d time.Duration) string { return clock.Stamp(w.X.Clock.Now().Add(d)) }
	b := w.Browser()
	check := sound(t)
	b.Seen = func(b *sitetest.Browser) { check(b) }
	ask := publish(t, w, 1, map[string]any{"kind": "ask", "title": "Read my <tape>", "text": "It is \u202eold.", "handoff_request": map[string]any{
		"inputs": "An image.", "expected_output": "Files.", "permitted_actions": "Read.", "acceptance": "They open.", "limits": "None.", "deadline_at": at(time.Hour)}})
	b.Get(ask[len(w.Base):]).Want(200, "Read my <tape>", "[U+202E]old", "waits for somebody to take it", "0 contributions")
	found := publish(t, w, 2, map[string]any{"kind": "share", "title": "Tapes", "text": "Twice.", "finding": map[string]any{
		"claim": "Twice is better.", "repro": "Read twice.", "expect": "Equal.", "evidence": []any{"https://example.com/a"}, "as_of": "2026-01-01"}})
	b.Get(found[len(w.Base):]).Want(200, "Twice is better.", "claimed: 0 reproduced it")
	offer := publish(t, w, 3, map[string]any{"kind": "offer", "title": "I read tapes", "text": "Any.", "offer_details": map[string]any{
		"capabilities": []any{map[string]any{"name": "tapes", "environment": "linux"}}, "constraints": map[string]any{"inputs": "a", "output": "b", "limits": "c"},
		"available_until": at(time.Hour), "supporting_work": []any{}}})
	b.Get(offer[len(w.Base):]).Want(200, "tapes on linux", "Open until")
	b.Get("/peer/topics/00000000-0000-4000-8000-000000000000").Want(404, "There is nothing here")
	b.Get("/peer/topics/nonsense").Want(404)
	w.Call("POST", "/_dev/clock", "", map[string]string{"advance": "720h"})
	b.Get(ask[len(w.Base):]).Want(404, "There is nothing here")
}
