package site_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/site/sitetest"
)

// picture is the head of an image file, which is all that tells what it is.
const picture = "\x89PNG\r\n\x1a\n a bench by the pond"

// lastStep answers the first two steps of a signed deal, as short as can be, and brings the
// last to where its agent can hand over.
func lastStep(b *sitetest.Browser, a *sitetest.Agent, target, deal string) {
	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "Three places, all with a free table for nine."})
	b.Get("/deals/"+deal+"/steps/2").Want(200, "comes back to you. This cannot be undone").Form("answer").Set("har_1", "1").Send("verdict=approve").Want(200)
	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "Please tell me who comes."})
	b.Get("/deals/"+deal+"/steps/3").Form("answer").Set("har_1", "Ana: nuts").Set("har_2", "2026-12-04T20:30").Set("har_3.0", "2").Set("har_3.1", "0").Set("har_4", "yes").
		Send("verdict=approve").Want(200)
	a.Work(deal)
}

// mornings are the pieces of a timed delivery, with a picture on the first day and a video
// on the second.
func mornings(a *sitetest.Agent, deal string) []map[string]any {
	image := a.Upload("/api/bench/deals/"+deal+"/mailbox", "bench.png", []byte(picture)).Str("file_id")
	day := func(title string, blocks ...map[string]any) map[string]any {
		return map[string]any{"title": title, "document": map[string]any{"title": "Before you go", "blocks": blocks}}
	}
	para := func(s string) map[string]any { return map[string]any{"type": "paragraph", "text": s} }
	return []map[string]any{
		day("To the corner", para("Five minutes, slowly."), map[string]any{"type": "image", "file_id": image, "alt": "The bench by the pond"}),
		day("To the bakery", map[string]any{"type": "video", "youtube_id": "a1B2c3D4e5F", "title": "How to breathe"}, map[string]any{"type": "bullets", "items": []string{"Eight minutes", "One bench"}}),
		day("Round the block", map[string]any{"type": "heading", "text": "The last walk"}, para("Ten minutes.")),
	}
}

// waiting is a world in which a timed delivery waits for Alice's answer on 6 March 2036.
func waiting(t *testing.T, zone string) (w *sitetest.World, b *sitetest.Browser, target, deal string) {
	t.Helper()
	w = sitetest.New(t)
	w.Until("2036-03-06T12:00:00Z")
	a := w.Agent("crow")
	b = w.Browser().SignIn("alice@example.com")
	b.Get("/me").Form("profile").Set("timezone", zone).Send("").Want(200)
	target, _, deal = hired(w, b, a)
	lastStep(b, a, target, deal)
	a.Daily(target, map[string]any{"note": "Three mornings, a little further every day.", "pieces": mornings(a, deal)})
	return w, b, target, deal
}

// byDay is a timed delivery from its approval to its last day; every kind of page it leads
// to is seen.
func byDay(t *testing.T, w *sitetest.World, b *sitetest.Browser, a *sitetest.Agent) {
	t.Helper()
	target, _, deal := hired(w, b, a)
	lastStep(b, a, target, deal)
	first := w.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 3)
	a.Daily(target, map[string]any{"pieces": mornings(a, deal), "starts_on": first.Format(time.DateOnly)})
	b.Get("/agents/"+a.No).Want(200, "crow", "an AI agent", "Example Model 1", "Ines Vale, not verified", "None on record.")
	days := "/deals/" + deal + "/schedule"
	b.Get(days).Want(200, "Nothing lands before you have approved the list")
	b.Get(days+"/days/3").Want(200, "on the list that waits for your answer", "Ten minutes.")
	b.Get("/deals/"+deal).Want(200, "Your turn", "$50 is released with your approval")
	b.Get("/deals/"+deal+"/steps/4").Want(200, "The first comes on").Form("answer").Set("har_2", "yes").Set("channel.text", "on").Set("score", "8").Send("verdict=approve").Want(200, "Delivering - time-based schedule")
	b.Get(days).Want(200, "Sealed until", "0 of 3 days landed so far")
	b.Get(days+"/days/1").Want(200, "This day is still sealed")
	w.Until(first.Add(12 * time.Hour).Format(time.RFC3339))
	b.Get("/feed").Want(200, "To the corner", "public record of")
	b.Get(days+"/days/1").Want(200, "Five minutes, slowly.").Form("share").Send("").Want(200, "Your house can see the card now.", "You shared its card")
	b.Get("/feed").Want(200, "Shared in Harbour street")
	b.Get(days).Form("channels").Set("channel.email", "on").Send("").Want(200, "Saved.")
	b.Form("pause").Send("").Want(200, "Paused", "You paused it")
	b.Get(days+"/days/3").Want(200, "it has no date until you go on")
	b.Get(days).Form("resume").Send("").Want(200, "One day each morning")
	w.Until(first.Add(36 * time.Hour).Format(time.RFC3339))
	b.Get(days+"/days/2").Want(200, "Play the video", "opens YouTube")
	b.Get(days).Form("stop").Send("").Want(200, "Stopped", "It never comes.")
	b.Get(days+"/days/3").Want(200, "it never comes")
}

func TestThePersonSeesTheWholeListBeforeItApproves(t *testing.T) {
	_, b, _, deal := waiting(t, "America/New_York")
	b.Seen = sound(t)
	b.Get("/deals/"+deal).Want(200, "$50 is released with your approval", "20 March 2036, 08:00 EDT it counts as approved")
	b.Get("/deals/"+deal+"/steps/4").Want(200, "Three mornings, a little further every day.", "Day 1: To the corner", "Day 2: To the bakery", "Day 3: Round the block",
		"Five minutes, slowly.", "Play the video “How to breathe” (opens YouTube)", "Nothing that happens off-site counts here.", "Your score for the whole deal",
		"3 days reach you one at a time, each at six in the morning in your time zone, America/New_York.", "The first comes the morning after your approval.",
		"$50 is released at once: $40 for this step and $10 for the finish line.", "Approve and release $50", "20 March 2036, 08:00 EDT", "the days then begin and are told in your feed alone")
	if img := b.Find("img"); len(img) != 1 {
		t.Errorf("%d pictures", len(img))
	} else if alt, _ := sitetest.Attr(img[0], "alt"); alt != "The bench by the pond" {
		t.Errorf("the picture is described as %q", alt)
	} else if src, _ := sitetest.Attr(img[0], "src"); b.Get(src).HTML != picture || b.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%s: %s %q", src, b.Header.Get("Content-Type"), b.HTML)
	}
	b.Get("/deals/" + deal + "/steps/4")
	if !leads(b, "https://www.youtube.com/watch?v=a1B2c3D4e5F") {
		t.Error("the video leads nowhere")
	}
}

// leads tells whether the page has a link to an address.
func leads(b *sitetest.Browser, to string) bool {
	for _, a := range b.Find("a") {
		if href, _ := sitetest.Attr(a, "href"); href == to {
			return true
		}
	}
	return false
}

// offers tells whether the page has a box of this name.
func offers(b *sitetest.Browser, name string) bool {
	for _, i := range b.Find("input") {
		if n, _ := sitetest.Attr(i, "name"); n == name {
			return true
		}
	}
	return false
}

func TestTextsAreOfferedToWhoHasANumberWhereTextsAreSent(t *testing.T) {
	w, b, _, deal := waiting(t, "Europe/Lisbon")
	b.Seen = sound(t)
	step := "/deals/" + deal + "/steps/4"
	if b.Get(step).Want(200, "By text message too? Add your phone number to your profile first"); offers(b, "channel.text") || !offers(b, "channel.email") || !leads(b, "/me") {
		t.Error("a person without a number is offered texts")
	}
	f := b.Form("answer").Set("har_2", "yes").Set("score", "9").Set("channel.email", "on").Set("channel.text", "on") // a page from before the number went
	f.Send("verdict=approve").Want(422, "We have no phone number of yours to send a text to.", "Open your profile")
	if v := b.Form("answer").Values; v.Get("score") != "9" || v.Get("channel.email") != "on" {
		t.Errorf("what was chosen comes back as %v", v)
	}
	w.X.Engine.Texts = false
	if b.Get(step).Want(200, "By mail"); strings.Contains(b.Text(), "By text message") || offers(b, "channel.text") {
		t.Error("texts are offered where none are sent")
	}
	b.Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	if b.Get("/deals/"+deal+"/schedule").Want(200, "By mail"); strings.Contains(b.Text(), "text message") {
		t.Error("texts are offered where none are sent")
	}
	w.X.Engine.Texts = true
	b.Get("/me").Form("profile").Set("phone", "+351 912 345 678").Send("").Want(200)
	b.Get("/deals/"+deal+"/schedule").Want(200, "To +351912345678.").Form("channels").Set("channel.text", "on").Send("").Want(200, "Saved.")
	if v := b.Form("channels").Values; v.Get("channel.text") != "on" || v.Has("channel.email") {
		t.Errorf("the chosen channels are shown as %v", v)
	}
	b.Form("channels").Set("channel.text", "").Send("").Want(200, "Saved.")
	if b.Form("channels").Values.Has("channel.text") {
		t.Error("a channel cannot be left again")
	}
}

func TestEachDayStaysSealedUntilItsMorning(t *testing.T) {
	w, b, target, deal := waiting(t, "America/New_York")
	b.Seen = sound(t)
	days := "/deals/" + deal + "/schedule"
	b.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").
		Want(200, "Your answer is recorded", "Delivering - time-based schedule", "0 of 3 days landed so far.", "The next lands on 7 March 2036, 06:00 EST", "Your want is done", "9 of 10")
	b.Get(days).Want(200, "One day each morning", "Sealed until Friday, 7 March 2036.", "Sealed until Sunday, 9 March 2036.")
	sealed := func(n, when string) {
		t.Helper()
		b.Get(days+"/days/"+n).Want(200, "This day is still sealed. It lands on "+when+", at six in the morning where you live.")
		for _, word := range []string{"minutes", "breathe", "not_released", "409", "a1B2c3D4e5F"} {
			if strings.Contains(b.Text(), word) || word != "409" && strings.Contains(b.HTML, word) { // ids hold any digits
				t.Errorf("a sealed day says %q:\n%s", word, b.Text())
			}
		}
	}
	sealed("1", "Friday, 7 March 2036")
	sealed("2", "Saturday, 8 March 2036")
	if b.Get("/deals/"+deal+"/steps/4").Want(200, "See the days"); strings.Contains(b.Text(), "Five minutes") {
		t.Error("the step shows the days after the approval")
	}
	w.Until("2036-03-07T10:59:59Z")
	sealed("1", "Friday, 7 March 2036")
	w.Until("2036-03-07T11:00:00Z")
	b.Get(days+"/days/1").Want(200, "Day 1: To the corner", "Five minutes, slowly.", "Friday, 7 March 2036, from crow", "day 1 of 3")
	sealed("2", "Saturday, 8 March 2036")
	b.Get(days).Want(200, "1 of 3 days landed so far.", "8 March 2036, 06:00 EST")
	b.Get("/deals/"+deal).Want(200, "1 of 3 days landed so far.")
	b.Get("/wants/"+target).Want(200, "Done", "Delivering - time-based schedule", "1 of 3 days landed so far.")
	w.Until("2036-03-09T10:00:00Z") // the clocks went forward in the night
	b.Get(days).Want(200, "All 3 days are here.", "All days have landed")
	b.Get(days+"/days/3").Want(200, "Ten minutes.", "Back to day 2")
	for _, n := range []string{"0", "4", "01", "x", "-1", "1%2F..", "99999999999999999999"} {
		b.Get(days+"/days/"+n).Want(404, "There is nothing here")
	}
	if names := b.Get(days).Forms(); slices.Contains(names, "pause") || slices.Contains(names, "channels") || slices.Contains(names, "stop") {
		t.Errorf("a delivery that is over has the forms %v", names)
	}
}

func TestTheFeedHasDaysAndNoticesNewestFirst(t *testing.T) {
	w, b, _, deal := waiting(t, "Europe/Lisbon")
	b.Seen = sound(t)
	b.Get("/feed").Want(200, "Your turn: Approve the held table", "Work has begun")
	b.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	w.Until("2036-03-08T12:00:00Z")
	b.Get("/feed").Want(200, "Day 2 of 3, from crow (public record of A-", "Play the video", "8 March 2036, 06:00 WET")
	order := []string{"To the bakery", "To the corner", "Done: your want is finished", "Your turn: Approve the held table", "Work has begun"}
	last := -1
	for _, s := range order {
		at := strings.Index(b.Text(), s)
		if at <= last {
			t.Errorf("%q does not stand in its place of %q", s, order)
		}
		last = at
	}
	if !leads(b, "/deals/"+deal+"/schedule/days/2") || !leads(b, "https://www.youtube.com/watch?v=a1B2c3D4e5F") {
		t.Error("the card of a day leads nowhere")
	}
	if b.Get("/feed?after=nonsense").Want(422, "Open the list again from its top"); strings.Contains(b.Text(), "cursor") {
		t.Errorf("a broken address: %s", b.Text())
	}
}

// TestTheFeedGoesBackPageByPage lets more days land than one page shows.
func TestTheFeedGoesBackPageByPage(t *testing.T) {
	w := sitetest.New(t)
	w.Until("2036-03-06T12:00:00Z")
	a := w.Agent("crow")
	b := w.Browser().SignIn("alice@example.com")
	target, _, deal := hired(w, b, a)
	lastStep(b, a, target, deal)
	var list []map[string]any
	for n := range 60 {
		list = append(list, map[string]any{"title": fmt.Sprintf("Morning %d.", n+1), "document": map[string]any{"blocks": []map[string]any{{"type": "paragraph", "text": "A little further."}}}})
	}
	a.Daily(target, map[string]any{"pieces": list})
	b.Get("/deals/"+deal+"/steps/4").Want(200, "60 days reach you").Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	w.Until("2036-05-10T12:00:00Z")
	b.SignIn("alice@example.com").Seen = sound(t)
	if b.Get("/feed").Want(200, "Morning 60.", "Morning 11.", "Older"); strings.Contains(b.Text(), "Morning 10.") {
		t.Error("the first page has no end")
	}
	older := ""
	for _, l := range b.Find("a") {
		if textOf(l) == "Older" {
			older, _ = sitetest.Attr(l, "href")
		}
	}
	if b.Get(older).Want(200, "Back to the newest", "Morning 10.", "Morning 1.", "Work has begun"); strings.Contains(b.Text(), "Morning 11.") || strings.Contains(b.Text(), "Older") {
		t.Errorf("the second page: %s", b.Text())
	}
}

func TestAMailedDayAsksForASignInAndComesBackToTheDay(t *testing.T) {
	w, b, _, deal := waiting(t, "Europe/Lisbon")
	b.Get("/me").Form("profile").Set("phone", "+351 912 345 678").Send("").Want(200)
	b.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("score", "9").Set("channel.email", "on").Set("channel.text", "on").Send("verdict=approve").Want(200)
	w.Until("2036-03-07T06:00:00Z")
	day := "/deals/" + deal + "/schedule/days/1"
	links := map[string]string{"mail": w.Link("alice@example.com"), "text": w.Link("+351912345678")}
	for channel, link := range links {
		if link != day {
			t.Fatalf("the %s leads to %s", channel, link)
		}
		fresh := w.Browser()
		fresh.Get(link).Want(200, "Sign in")
		if strings.Contains(fresh.Text(), "Five minutes") {
			t.Error("the day is shown to anybody")
		}
		fresh.Form("sign-in").Set("email", "alice@example.com").Send("").Want(200, "Look into your mail")
		fresh.Get(w.Link("alice@example.com")).Form("complete").Send("").Want(200, "Five minutes, slowly.")
		if fresh.At != day {
			t.Errorf("after signing in the person stands at %s", fresh.At)
		}
	}
}

func TestTheDripIsPausedResumedAndStoppedByHand(t *testing.T) {
	w, b, _, deal := waiting(t, "Europe/Lisbon")
	b.Seen = sound(t)
	days := "/deals/" + deal + "/schedule"
	b.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	stop := b.Get(days).Form("stop")
	b.Form("pause").Send("").Want(200, "Saved.", "Paused", "You paused it.", "no date while it is paused")
	w.Until("2036-03-10T12:00:00Z")
	b.Get(days).Want(200, "0 of 3 days landed so far.")
	b.Form("resume").Send("").Want(200, "Saved.", "11 March 2036, 06:00 WET")
	w.Until("2036-03-11T06:00:00Z")
	b.Get(days).Want(200, "1 of 3 days landed so far.", "The 2 days still to come never arrive. No money moves.")
	b.Form("stop").Send("").Want(200, "Saved.", "You stopped it. No more days land.", "It never comes.")
	stop.Send("").Want(200) // an older page of it, sent again: it is stopped
	w.Until("2036-03-20T12:00:00Z")
	b.Get(days).Want(200, "1 of 3 days landed so far.")
	b.Get(days+"/days/1").Want(200, "Five minutes, slowly.")
	b.Get(days+"/days/2").Want(200, "This delivery is over, so it never comes.")
	b.Get("/deals/"+deal).Want(200, "Stopped")
}

func TestADayIsSharedWithTheHouseOfWhoHasOne(t *testing.T) {
	w, b, _, deal := waiting(t, "Europe/Lisbon")
	b.Seen = sound(t)
	b.Get("/me").Form("profile").Set("display_name", "Alice Vale").Send("").Want(200)
	b.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	day := "/deals/" + deal + "/schedule/days/1"
	if slices.Contains(b.Get(day).Forms(), "share") {
		t.Error("a sealed day can be shared")
	}
	w.Until("2036-03-07T06:00:00Z")
	if b.Get(day).Want(200, "You belong to no house yet. Name yours in your profile"); slices.Contains(b.Forms(), "share") {
		t.Error("who has no house can share")
	}
	b.Get("/me").Form("profile").Set("house.house", "Harbour street").Set("house.value", "Hospitality").Send("").Want(200)
	b.Get(day).Want(200, "Harbour street sees the card below, and nothing else: not your name, not what the day says.", "by crow (public record of A-")
	f := b.Form("share")
	f.Send("").Want(200, "Your house can see the card now.", "You shared its card on 7 March 2036, 06:00 WET")
	f.Send("").Want(200, "You shared its card")
	neighbour := w.Browser().SignIn("bob@example.com")
	neighbour.Get("/me").Form("profile").Set("house.house", "harbour  Street").Set("house.value", "Calm").Send("").Want(200)
	neighbour.Get("/feed").Want(200, "Shared in", "To the corner", "Day 1 of 3", "by crow")
	if s := neighbour.Text(); strings.Contains(s, "Alice") || strings.Contains(s, "Five minutes") || strings.Count(s, "To the corner") != 1 {
		t.Errorf("the house sees: %s", s)
	}
	b.Get("/me").Form("profile").Set("house.house", "").Set("house.value", "").Send("").Want(200)
	b.Get("/deals/"+deal+"/schedule").Want(200, "Shared with your house")
}

// TestTheCardOfADayLeadsToWhoMadeIt follows the credit, signed in or not.
func TestTheCardOfADayLeadsToWhoMadeIt(t *testing.T) {
	w, b, _, deal := waiting(t, "Europe/Lisbon")
	b.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	w.Until("2036-03-07T06:00:00Z")
	records := addresses(b.Get("/deals/"+deal+"/schedule/days/1"), "/agents/")
	if len(records) == 0 {
		t.Fatal("the card leads to nobody")
	}
	w.Browser().Get(records[0]).Want(200, "crow", "an AI agent", "Finds, books and arranges things.")
	for _, path := range []string{"/agents/A-9999", "/agents/crow", "/agents/A-1%2F.."} {
		b.Get(path).Want(404, "There is nothing here")
	}
}

// TestSilenceStartsTheDaysAndSaysSo lets the 14 days pass.
func TestSilenceStartsTheDaysAndSaysSo(t *testing.T) {
	w, b, _, deal := waiting(t, "Europe/Lisbon")
	w.Until("2036-03-20T12:00:00Z")
	b.SignIn("alice@example.com").Seen = sound(t)
	b.Get("/deals/"+deal).Want(200, "because 14 days passed without an answer", "Delivering - time-based schedule")
	b.Get("/deals/"+deal+"/schedule").Want(200, "14 days passed without an answer of yours, so the list counts as approved.", "Friday, 21 March 2036")
	if v := b.Form("channels").Values; v.Has("channel.email") || v.Has("channel.text") {
		t.Errorf("silence chose the channels %v", v)
	}
	b.Get("/feed").Want(200, "Taken as approved: Approve the held table", "$50 was released to crow")
}

func TestAnotherPersonsDaysAreNotThere(t *testing.T) {
	w, b, _, deal := waiting(t, "Europe/Lisbon")
	days := "/deals/" + deal + "/schedule"
	mallory := w.Browser().SignIn("mallory@example.com")
	refused := func() {
		t.Helper()
		for _, path := range []string{days, days + "/days/1", days + "/days/3", "/deals/none/schedule", "/deals/none/schedule/days/1"} {
			mallory.Get(path).Want(404, "There is nothing here")
		}
		if mallory.Get("/feed").Want(200, "Nothing yet."); strings.Contains(mallory.Text(), "corner") {
			t.Error("the feed of another person is shown")
		}
	}
	refused()
	b.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	w.Until("2036-03-07T06:00:00Z")
	refused()
	for path, form := range map[string]url.Values{days: b.Get(days).Form("stop").Values, days + "/days/1": {"form": {"share"}}} {
		mallory.Post(path, form).Want(404)
		b.PostFrom("cross-site", path, form).Want(403, "came from another website")
	}
	b.Get(days).Want(200, "One day each morning")
	w.Browser().Get(days).Want(200, "Sign in")
	b.Get(days).Want(http.StatusOK)
}
