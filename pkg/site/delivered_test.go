package site_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"guildhall/pkg/site/sitetest"
)

// everything delivers each kind of item on the last step, and a document that hands over.
func everything(b *sitetest.Browser, a *sitetest.Agent, target, deal string) {
	outcomes := "/api/bench/targets/" + target + "/outcomes"
	a.Call("POST", outcomes, map[string]any{"hold": true, "url": "https://example.com/album"})
	a.Call("POST", outcomes, map[string]any{"hold": true, "url": "https://github.com/example/table", "kind": "repo"})
	a.Stream(target, []byte("the raw film"), map[string]string{"Content-Type": "video/mp4", "X-Hold": "1"})
	a.Upload("/api/bench/deals/"+deal+"/artifacts", "menu.txt", []byte("Lamb, rice, figs."))
	image := a.Upload("/api/bench/deals/"+deal+"/mailbox", "room.png", []byte(picture)).Str("file_id")
	b.Get("/deals/"+deal+"/steps/4").Form("message").Set("body", "Is there parking?").Send("")
	a.Deliver(target, map[string]any{"note": "The table is held under your name.", "document": map[string]any{"title": "Your table", "blocks": []map[string]any{
		{"type": "heading", "text": "The room"}, {"type": "image", "file_id": image, "alt": "The River Room by night"}, {"type": "image", "file_id": image},
		{"type": "video", "youtube_id": "a1B2c3D4e5F", "title": "The way there"}, {"type": "day", "ordinal": 1, "title": "The evening", "date": "2036-03-14"},
		{"type": "paragraph", "text": "Friday at eight, nine people."}}}})
}

func TestEverythingThatWasDeliveredIsOnTheStep(t *testing.T) {
	w := sitetest.New(t)
	a, b := w.Agent("crow"), w.Browser().SignIn("alice@example.com")
	b.Seen = sound(t)
	target, _, deal := hired(w, b, a)
	lastStep(b, a, target, deal)
	everything(b, a, target, deal)
	step := "/deals/" + deal + "/steps/4"
	sum := sha256.Sum256([]byte("the raw film"))
	b.Get(step).Want(200, "The table is held under your name.", "A link on example.com", "https://example.com/album", "A repository on github.com",
		"Nothing that happens off-site counts here.", "menu.txt", "17 bytes, a text", "It belongs to you.",
		"12 bytes, a video. The agent keeps this file on its own storage", "we hold no copy", "Fingerprint (SHA-256): "+hex.EncodeToString(sum[:]),
		"Your table", "The room", "Play the video “The way there” (opens YouTube)", "Day 1: The evening Friday, 14 March 2036", "Friday at eight, nine people.",
		"Added while the work went on", "1 message of yours had no answer then.", "What should change in “https://example.com/album”?", "What should change in what was delivered?")
	if n := strings.Count(b.Text(), "Nothing that happens off-site counts here."); n != 3 {
		t.Errorf("of 3 links that lead away %d say so", n)
	}
	var alts []string
	for _, img := range b.Find("img") {
		alt, _ := sitetest.Attr(img, "alt")
		alts = append(alts, alt)
	}
	if !slices.Equal(alts, []string{"The River Room by night", "A picture the agent did not describe"}) {
		t.Errorf("the pictures are described as %q", alts)
	}
	files := addresses(b, "/artifacts/")
	if len(files) != 1 || b.Get(files[0]).HTML != "Lamb, rice, figs." || !strings.Contains(b.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the file is at %v: %s", files, b.HTML)
	}
	f, part := b.Get(step).Form("answer").Set("har_2", "yes"), ""
	f.Send("verdict=request_changes").Want(422, "Say what should change.")
	for name := range f.Values {
		if strings.HasPrefix(name, "change.item:") {
			part = name
		}
	}
	b.Form("answer").Set(part, "Half past eight, please.").Send("verdict=request_changes").Want(200, "Your answer is recorded")
	a.Upload("/api/bench/deals/"+deal+"/artifacts", "plan.txt", []byte("Nine chairs."))
	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "Half past eight it is; a plan of the chairs is new."})
	b.Get(step).Want(200, "Half past eight it is", "plan.txt", "version 2", "Delivered before that", "Friday at eight, nine people.")
	if d := b.Find("details"); !opened(d[0]) {
		t.Error("what is still good of an earlier version is folded away")
	}
	if s := b.Text(); strings.Index(s, "plan.txt") > strings.Index(s, "menu.txt") {
		t.Error("what is new does not come first")
	}
	b.Form("answer").Set("har_2", "yes").Send("verdict=approve").Want(200)
	b.Get(step).Want(200, "menu.txt", "Approved")
}

func TestAnEarlierVersionIsFoldedAway(t *testing.T) {
	w := sitetest.New(t)
	a, b := w.Agent("crow"), w.Browser().SignIn("alice@example.com")
	b.Seen = sound(t)
	target, _, deal := hired(w, b, a)
	lastStep(b, a, target, deal)
	a.Daily(target, map[string]any{"pieces": mornings(a, deal)})
	step := "/deals/" + deal + "/steps/4"
	b.Get(step).Form("answer").Set("reason", "Shorter walks, please.").Send("verdict=request_changes").Want(200)
	b.Get("/deals/" + deal + "/schedule").Want(404)
	a.Work(deal)
	a.Daily(target, map[string]any{"pieces": mornings(a, deal)[:1], "note": "One short walk."})
	b.Get(step).Want(200, "One short walk.", "1 day reaches you one at a time", "version 2", "Delivered before that", "Day 1: To the corner")
	if strings.Contains(b.Text(), "To the bakery") {
		t.Error("a list that was taken back is shown")
	}
	if opened(b.Find("details")[0]) {
		t.Error("the earlier version is not folded away")
	}
}

// addresses are the addresses the page leads to that hold a part.
func addresses(b *sitetest.Browser, part string) (out []string) {
	for _, a := range b.Find("a") {
		if href, _ := sitetest.Attr(a, "href"); strings.Contains(href, part) {
			out = append(out, href)
		}
	}
	return out
}

func opened(details *html.Node) bool {
	_, ok := sitetest.Attr(details, "open")
	return ok
}
