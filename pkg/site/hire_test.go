package site_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"guildhall/pkg/site"
	"guildhall/pkg/site/sitetest"
)

// sound checks what every page must keep: nothing inline, nothing from elsewhere, no id
// twice, a label for every input, one heading of the first order.
func sound(t *testing.T) func(b *sitetest.Browser) {
	return func(b *sitetest.Browser) {
		t.Helper()
		ids, labels := map[string]bool{}, map[string]bool{}
		for _, n := range b.Find("label") {
			target, _ := sitetest.Attr(n, "for")
			labels[target] = true
		}
		for n := range b.Doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s> has an inline %s", b.At, n.Data, a.Key)
				}
			}
			elementIsSound(t, b, n, labels)
			if id, ok := sitetest.Attr(n, "id"); ok && ids[id] {
				t.Errorf("%s: id %q stands twice", b.At, id)
			} else if ok {
				ids[id] = true
			}
		}
		for _, n := range b.Find("label") {
			if target, _ := sitetest.Attr(n, "for"); !ids[target] {
				t.Errorf("%s: a label for %q, which is not there", b.At, target)
			}
		}
		if n := len(b.Find("h1")); n != 1 {
			t.Errorf("%s has %d headings of the first order", b.At, n)
		}
	}
}

func elementIsSound(t *testing.T, b *sitetest.Browser, n *html.Node, labels map[string]bool) {
	t.Helper()
	get := func(name string) string { v, _ := sitetest.Attr(n, name); return v }
	switch n.Data {
	case "style":
		t.Errorf("%s has an inline style sheet", b.At)
	case "script":
		if n.FirstChild != nil || !strings.HasPrefix(get("src"), "/static/") {
			t.Errorf("%s has an inline or foreign script", b.At)
		}
	case "link", "img", "iframe", "video", "source":
		for _, a := range []string{"href", "src"} {
			if v := get(a); v != "" && !strings.HasPrefix(v, "/") {
				t.Errorf("%s: <%s> loads %s", b.At, n.Data, v)
			}
		}
	case "form":
		if get("method") != "post" || !strings.HasPrefix(get("action"), "/") {
			t.Errorf("%s has a form that is sent by %q to %q", b.At, get("method"), get("action"))
		}
	case "input", "textarea":
		if kind := get("type"); kind != "hidden" && !labels[get("id")] {
			t.Errorf("%s: input %q has no label", b.At, get("name"))
		}
	}
}

// TestANewcomerHiresByHand walks the whole way of a first hire, with links and forms only.
func TestANewcomerHiresByHand(t *testing.T) {
	w := sitetest.New(t)
	views := map[string]bool{}
	check := sound(t)
	walk(t, w, func(b *sitetest.Browser) {
		check(b)
		class, _ := sitetest.Attr(b.Find("body")[0], "class")
		views[class] = true
	})
	for _, v := range site.Views() {
		if !views[v] && v != "checkout" && v != "topic" { // a processor's own page, and what agents publish
			t.Errorf("the walk never came to the view %s", v)
		}
	}
	if s := w.Log.String(); strings.Contains(s, `"level":"ERROR"`) {
		t.Errorf("the log has errors:\n%s", s)
	}
}

// walk is a first hire and everything else a newcomer meets; seen is shown every page.
func walk(t *testing.T, w *sitetest.World, seen func(*sitetest.Browser)) {
	t.Helper()
	crow := w.Agent("crow")
	b := w.Browser()
	b.Seen = seen
	b.Get("/").Want(200, "Say what you want done", w.Base+"/api/bench/protocol")
	b.Get("/nowhere").Want(404, "There is nothing here")
	b.Get("/start").Want(200, "Sign in") // a page that needs a session leads to the sign-in page
	b.Form("sign-in").Set("email", "alice").Send("").Want(422, "does not look like an email address")
	b.Form("sign-in").Set("email", "alice@example.com").Send("").Want(200, "Look into your mail", "alice@example.com")
	b.Get(w.Link("alice@example.com")).Want(200, "Finish signing in")
	b.Form("complete").Send("").Want(200, "Post a want")
	if b.At != "/start" {
		t.Fatalf("after signing in the visitor stands at %s, not where it wanted to go", b.At)
	}
	b.Get("/me").Form("profile").Set("timezone", "Lisbon").Send("").Want(422, "no time zone of that name")
	b.Form("profile").Set("timezone", "Europe/Lisbon").Set("phone", "912 345 678").Send("").Want(422, "international form")
	b.Form("profile").Set("timezone", "Europe/Lisbon").Set("display_name", "Alice").Set("phone", "+351 912-345.678").
		Set("house.house", "Harbour street").Set("house.value", "Hospitality").Send("").Want(200, "Saved.", "Europe/Lisbon")

	operate(t, w, b, crow)
	target := postByHand(t, w, b)
	first := bidsByHand(t, w, b, crow, target)
	hireFinalist(t, w, b, crow, target, first)
	deal := work(t, w, b, crow, target)
	b.Get("/deals").Want(200, "Deal with crow", "Your want is done")
	b.Get("/wants/"+target).Want(200, "Done")
	b.Get("/deals/"+deal).Want(200, "Released", "$90", "9 of 10")
	byDay(t, w, b, crow)
	b.Get("/sign-out").Want(200, "Sign out on this device")
	b.Form("sign-out").Send("").Want(200, "You are signed out.", "Sign in")
	b.Get("/wants").Want(200, "Sign in")
}

// operate is what the operator of an agent does by mail and by hand.
func operate(t *testing.T, w *sitetest.World, b *sitetest.Browser, a *sitetest.Agent) {
	t.Helper()
	mail := a.Handle + "@agents.example.com"
	confirm := b.Get(w.Link(mail)).Want(200, "Confirm your address").Form("confirm")
	confirm.Send("").Want(200, "Address confirmed", a.Handle)
	confirm.Send("").Want(401, "That did not work")
	w.Call("POST", "/api/bench/agents/"+a.ID+"/recovery/request", "", map[string]any{})
	b.Get(w.Link(mail)).Want(200, "Recover your agent").Form("redeem").Set("recovery_public_key", "no key").Send("").Want(422, "That did not work")
	b.Form("redeem").Set("recovery_public_key", "ssh-ed25519 "+publicKey()+" crow").Send("").Want(200, "shown once")
	a.Token = strings.TrimSpace(textOf(b.Find("pre")[0]))
	for range 2 {
		a.Call("POST", "/api/bench/me/pings/ack", nil)
	}
	onboarding := a.Call("POST", "/api/bench/me/payout-account/onboarding-link", nil).Str("url")
	b.Get(strings.TrimPrefix(onboarding, w.Base)).Want(200, "Mark my payout account ready")
	b.Form("ready").Send("").Want(200, "You can close this and tell your agent")
	if a.Call("GET", "/api/bench/me", nil).At("payout.ready") != true {
		t.Error("the payout account is not ready")
	}
	handoff := a.Call("POST", "/api/bench/payout-account/session", map[string]any{}).Str("url")
	path, code, _ := strings.Cut(strings.TrimPrefix(handoff, w.Base), "#")
	b.Get(path).Want(200, "Before the payout form").Form("attest").Set("link", code).Set("attested", "yes").Send("").Want(200, "This payout account is ready")
	b.Get("/unsubscribe?token=x").Want(200, "Stop optional mail").Form("unsubscribe").Send("").Want(200, "Done")
	b.Get("/unsubscribe/agents?token=x").Want(200).Form("unsubscribe").Send("").Want(200, "Agents on this exchange")
	b.Get("/payout/refresh").Want(200, "Ask your agent for a new one")
}

// publicKey is an Ed25519 key in the wire form of OpenSSH.
func publicKey() string {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	part := func(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	return base64.StdEncoding.EncodeToString(append(part([]byte("ssh-ed25519")), part(public)...))
}

func textOf(n *html.Node) string {
	var s strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			s.WriteString(d.Data)
		}
	}
	return s.String()
}

// postByHand posts a want and adds a note.
func postByHand(t *testing.T, w *sitetest.World, b *sitetest.Browser) string {
	t.Helper()
	b.Get("/wants").Want(200, "You have not posted anything yet")
	b.Get("/start").Form("post").Set("want", "Call me at +351 912 345 678 about a table for nine.").Set("finish_line.tile", "booking_on_calendar").Set("lane.kind", "free").
		Send("").Want(200, "Posted, with something to check")
	b.Get("/deals").Want(200, "No deal yet")
	f := b.Get("/start").Form("post").Set("want", "A dinner table for nine people on Friday evening.").Set("finish_line.tile", "booking_on_calendar").
		Set("finish_line.sentence", "A table for nine on Friday.").Set("lane.kind", "paid").Set("baseline.1", "No chain restaurants, please.").Set("location", "Lisbon")
	f.Set("lane.ceiling_cents", "plenty").Send("").Want(422, "Name the most you would pay")
	f = b.Form("post")
	if f.Values.Get("location") != "Lisbon" || f.Values.Get("finish_line.tile") != "booking_on_calendar" || f.Values.Get("baseline.1") == "" {
		t.Errorf("a refused form comes back with %v", f.Values)
	}
	f.Set("lane.ceiling_cents", "$200").Send("").Want(200, "Your want is posted", "At most $200", "No bids yet")
	target := strings.TrimPrefix(strings.TrimSuffix(b.At, "?said=posted"), "/wants/")
	b.Form("note").Set("note", "Two of us come by wheelchair.").Send("").Want(200, "Your note is added", "Two of us come by wheelchair.")
	b.Form("attach").SendFile("", "").Want(422, "Choose a file first.")
	b.Form("attach").SendFile("room.html", "<html>").Want(422, "Files of this type are not taken here")
	b.Form("attach").SendFile("our room.png", "\x89PNG\r\n\x1a\n a room").Want(200, "Your file stands beside your want.", "File 1, 15 bytes")
	b.Form("attach").SendFile("menu.pdf", "%PDF-1.7 lamb").Want(200, "File 2")
	b.Form("remove", "file 2").Send("").Want(200, "The file is deleted.", "File 1")
	b.Form("switches").Send("").Want(200, "Saved.")
	b.Form("edit").Set("want", "A dinner table for nine people on Friday evening, please.").Send("").Want(200, "Saved.", "Friday evening, please.")
	b.Form("edit").Set("want", "A dinner table for nine people on Friday evening.").Send("").Want(200, "Saved.")
	b.Get("/wants").Want(200, "A dinner table for nine", "0 bids", "Open for bids")
	return target
}

// bidsByHand has two agents bid, rejects one and returns the other bid.
func bidsByHand(t *testing.T, w *sitetest.World, b *sitetest.Browser, a *sitetest.Agent, target string) string {
	t.Helper()
	first := a.Bid(target, "A table your whole family can agree on")
	w.Agent("wren").Bid(target, "Nine seats, one phone call")
	b.Get("/wants/"+target).Want(200, "A table your whole family can agree on", "Nine seats, one phone call", "$90", "7 days", "70%", "$300 to $450")
	b.Form("reject", "Nine seats").Set("reason", "I want to choose the place myself.").Send("").Want(200, "Rejected.", "Rejected by you")
	if got := w.Call("GET", "/api/bench/targets/"+target+"/brief", a.Token, nil); got.Str("brief.rejected_bids.0.reason") == "" {
		t.Error("the rejection did not reach the brief")
	}
	return first
}

// hireFinalist picks a bid, answers its questions, and accepts and pays its plan.
func hireFinalist(t *testing.T, w *sitetest.World, b *sitetest.Browser, a *sitetest.Agent, target, bid string) {
	t.Helper()
	b.Get("/wants/"+target).Form("pick").Send("").Want(200, "Picked for a closer look", "Quiet room or lively room?", "Send your answers first")
	b.Form("answers").Set("answer.1", "The lamb of last Easter.").Send("do=save").Want(200, "Saved.")
	if got := b.Form("answers").Values.Get("answer.1"); got != "The lamb of last Easter." {
		t.Errorf("the saved answer comes back as %q", got)
	}
	b.Form("ask").Set("question", "Do you know the River Room?").Send("").Want(200, "Your question is with the agent", "No answer yet")
	a.Call("POST", "/api/bench/finalists/"+bid+"/answers", map[string]any{"question_ref": "1", "answer": "Yes, it seats twelve."})
	b.Form("answers").Send("do=send").Want(200, "Your answers are with the agent", "Skipped", "Yes, it seats twelve.", "It has until")
	if slices.Contains(b.Forms(), "accept") {
		t.Error("a bid without its full plan can be accepted")
	}
	a.Plan(target, bid)
	b.Get("/wants/"+target+"/finalists/"+bid).Want(200, "As bid", "Full plan", "You pay now")
	b.Form("accept").Set("accept_rules", "").Send("").Want(422, "Tick the rules to accept.")
	b.Form("accept").Set("accept_rules", "yes").Send("").Want(200, "Pay $90", "Simulated payment")
	checkout := b.At
	b.Form("decline").Send("").Want(402, "The card was declined")
	b.Get(checkout).Want(200, "This payment is closed", "The card was declined.")
	b.Get("/wants/"+target+"/accept/"+bid).Want(200, "Nothing was paid")
	b.Form("accept").Set("accept_rules", "yes").Send("").Want(200, "Pay $90")
	paid := b.Form("pay")
	b.Get(strings.Replace(b.At, "/simulated/checkout/", "/pay/", 1)).Want(200, "Pay $90")
	paid.Send("").Want(200, "Payment received", "See the deal", "Agent at work")
	paid.Send("").Want(200, "Payment received") // the button pressed twice
}

// uploads lays files on a step by hand: what is refused, one that is deleted again, one that
// stays.
func uploads(t *testing.T, b *sitetest.Browser) {
	t.Helper()
	b.Want(200, "nobody can call it back", "No file yet.")
	photo := func() *sitetest.Form { return b.Form("upload", "A photo of a room you like") }
	photo().SendFile("", "").Want(422, "Choose a file first.")
	photo().SendFile("run.sh", "#!/bin/sh\n").Want(422, "script")
	twice := photo()
	twice.SendFile("room <b>.png", "\x89PNG\r\n\x1a\n a room").Want(200, "Your file is here.", "room <b>.png", "15 bytes")
	twice.SendFile("room <b>.png", "\x89PNG\r\n\x1a\n a room").Want(200, "Your file is here.")
	if strings.Count(b.Text(), "Delete room <b>.png") != 1 {
		t.Errorf("a form sent twice: %s", b.Text())
	}
	b.Form("upload", "The toast, spoken").SendFile("toast.wav", "RIFF\x00\x00\x00\x00WAVEfmt ").Want(200, "toast.wav")
	b.Form("remove", "room <b>.png").Send("").Want(200, "The file is deleted.", "toast.wav")
	if strings.Contains(b.Text(), "room <b>.png") || strings.Count(b.Text(), "No file yet.") != 1 {
		t.Errorf("a deleted file: %s", b.Text())
	}
}

// work is the deal: the agent works through the API, the person answers on pages.
func work(t *testing.T, w *sitetest.World, b *sitetest.Browser, a *sitetest.Agent, target string) string {
	t.Helper()
	deal := a.Call("GET", "/api/bench/me/attention", nil).Str("attention.0.deal_id")
	b.Get("/deals/"+deal).Want(200, "Waiting for the agent to sign", "Held for you", "$90")
	a.Call("POST", "/api/bench/deals/"+deal+"/sign", map[string]any{"accept_rules": true})
	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "Three places, all with a free table for nine."})

	link := w.Link("alice@example.com")
	if link != "/deals/"+deal+"/steps/2" {
		t.Errorf("the mail leads to %s", link)
	}
	b.Get("/deals/"+deal).Want(200, "Your turn: Choose the restaurant", "$40", "it counts as approved", "WET")
	b.Get(link).Want(200, "Three places, all with a free table", "North Hall", "Quiet, by the water", "Something else", "Choose and release $40")
	b.Form("message").Set("body", "Is the River Room loud?").Send("").Want(200, "Your message is in the thread", "Is the River Room loud?")
	b.Form("answer").Send("verdict=approve").Want(422, "One part that is needed is not answered yet.")
	b.Form("answer").Set("har_1", "1").Send("verdict=draft").Want(200, "Saved.")
	if got := b.Form("answer").Values.Get("har_1"); got != "1" {
		t.Errorf("the saved choice comes back as %q", got)
	}
	b.Form("answer").Send("verdict=approve").Want(200, "Your answer is recorded", "Released", "$40", "Approved")

	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "Please tell me who comes."})
	b.Get("/deals/"+deal+"/steps/3").Want(200, "Who cannot eat what?", "No money moves with your answer")
	uploads(t, b)
	f := b.Form("answer")
	f.Set("har_1", "Ana: nuts").Set("har_2", "2026-12-04T20:30").Set("har_3.0", "2").Set("har_3.1", "0").Set("har_4", "yes")
	f.Send("verdict=approve").Want(200, "Your answer is recorded")
	got := a.Call("GET", "/api/bench/deals/"+deal+"/current-step", nil)
	if got.Str("answers_bundle.responses.0.value") != "Ana: nuts" || got.Str("answers_bundle.responses.2.value.chair") != "y" {
		t.Errorf("the agent reads %v", got.At("answers_bundle.responses"))
	}
	if got.At("released_materials_count") != 1.0 || got.Str("released_materials.0.filename") != "toast.wav" || got.Str("answers_bundle.responses.5.value.0.filename") != "toast.wav" {
		t.Errorf("the agent was handed %v", got.At("released_materials"))
	}
	b.Get("/deals/"+deal+"/steps/3").Want(200, "toast.wav", "handed over")
	b.Get("/me").Want(200, "Files you uploaded")
	b.Get("/files").Want(200, "toast.wav", "handed over")
	b.Form("remove", "toast.wav").Send("").Want(200, "The file is deleted.", "uploaded")

	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "The table is held under your name.", "document": map[string]any{"title": "Your table",
		"blocks": []map[string]any{{"type": "paragraph", "text": "River Room, Friday at eight, nine people."}, {"type": "bullets", "items": []string{"Vegetarian menu", "High chair"}}}}})
	step := "/deals/" + deal + "/steps/4"
	b.Get(step).Want(200, "River Room, Friday at eight", "Ask for changes", "1 more time", "Terms of the house")
	b.Form("answer").Send("verdict=request_changes").Want(422, "Say what should change.")
	b.Form("answer").Set("reason", "Half past eight would be better.").Send("verdict=request_changes").Want(200, "Your answer is recorded", "Agent working")
	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "Moved to half past eight.", "document": map[string]any{"title": "Your table",
		"blocks": []map[string]any{{"type": "paragraph", "text": "River Room, Friday at half past eight."}}}})
	b.Get(step).Want(200, "version 2", "Half past eight would be better.")
	if strings.Contains(b.HTML, "request_changes") {
		t.Error("changes can be asked for more often than the step allows")
	}
	b.Form("answer").Set("har_2", "yes").Send("verdict=approve").Want(200, "Your answer is recorded", "Your turn: Finish line")
	b.Get("/deals/"+deal+"/steps/5").Form("answer").Send("verdict=approve").Want(422, "score from 1 to 10")
	b.Form("answer").Set("score", "9").Send("verdict=approve").Want(200, "Your want is done", "$90")
	return deal
}

// TestADealCanBeEnded gives the held dollars back.
func TestADealCanBeEnded(t *testing.T) {
	w := sitetest.New(t)
	a := w.Agent("crow")
	b := w.Browser().SignIn("alice@example.com")
	b.Seen = sound(t)
	target := post(b, "A dinner table for nine people on Friday evening.")
	bid := a.Bid(target, "A table for nine")
	b.Get("/wants/" + target).Form("pick").Send("").Form("answers").Send("do=send").Want(200)
	a.Ready()
	a.Plan(target, bid)
	b.Get("/wants/"+target+"/finalists/"+bid).Form("accept").Set("accept_rules", "yes").Send("").Form("pay").Send("").Want(200)
	deal := a.Call("GET", "/api/bench/me/attention", nil).Str("attention.0.deal_id")
	a.Call("POST", "/api/bench/deals/"+deal+"/sign", map[string]any{"accept_rules": true})
	b.Get("/deals/"+deal).Form("end").Set("reason", "We eat at home after all.").Send("").Want(200, "The deal is ended.", "You ended the deal.", "Returned", "$90")
	b.Get("/wants/"+target).Want(200, "Ended").Form("repost").Set("want", "A dinner table for ten people on Saturday.").Send("").
		Want(200, "open for bids again", "table for ten", "round 2")
	b.Form("close").Send("").Want(200, "Your want is taken down.", "Taken down")
}

// post posts a want and returns its id.
func post(b *sitetest.Browser, want string) string {
	b.Get("/start").Form("post").Set("want", want).Set("finish_line.tile", "something_else").Set("finish_line.sentence", "It is done.").Set("lane.kind", "paid").Set("lane.ceiling_cents", "200").Send("").Want(200)
	u, _ := url.Parse(b.At)
	return strings.TrimPrefix(u.Path, "/wants/")
}
