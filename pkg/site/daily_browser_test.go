//go:build browser

package site_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"guildhall/pkg/site/sitetest"
)

// gradient is a picture that can be seen.
func gradient(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 1600, 500))
	for x := range 1600 {
		for y := range 500 {
			img.Set(x, y, color.RGBA{uint8(x / 8), uint8(y / 3), 90, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// strange brings a deal to a timed delivery with titles that try to break the page, and a
// picture wider than it.
func strange(t *testing.T, w *sitetest.World) (b *sitetest.Browser, deal string) {
	t.Helper()
	a := w.Agent("crow")
	b = w.Browser().SignIn("alice@example.com")
	b.Get("/me").Form("profile").Set("timezone", "Europe/Lisbon").Set("phone", "+351 912 345 678").Set("house.house", strings.Repeat("Harbour", 15)).
		Set("house.value", "Hospitality").Send("").Want(200)
	target, _, deal := hired(w, b, a)
	lastStep(b, a, target, deal)
	file := a.Upload("/api/bench/deals/"+deal+"/mailbox", "room.png", gradient(t)).Str("file_id")
	var days []map[string]any
	for _, s := range hostileTitles {
		days = append(days, map[string]any{"title": s, "document": map[string]any{"title": s, "blocks": []map[string]any{{"type": "heading", "text": s}, {"type": "paragraph", "text": s},
			{"type": "image", "file_id": file, "alt": s}, {"type": "video", "youtube_id": "a1B2c3D4e5F", "title": s}, {"type": "bullets", "items": []string{s}}}}})
	}
	a.Daily(target, map[string]any{"note": hostileTitles[0], "pieces": days})
	return b, deal
}

// TestBrowserShowsDaysWithStrangeTitles looks at every page of a timed delivery whose words
// try to break it.
func TestBrowserShowsDaysWithStrangeTitles(t *testing.T) {
	w := sitetest.New(t)
	of, deal := strange(t, w)
	b := open(t, w)
	b.session(of)
	see := func(name, path string) {
		t.Helper()
		b.do(chromedp.Navigate(w.Base + path))
		ask[bool](b, `Promise.all([...document.images].map(i => { i.loading = "eager"; return i.decode() })).then(() => true)`)
		b.inspect(name)
	}
	step, days := "/deals/"+deal+"/steps/4", "/deals/"+deal+"/schedule"
	see("strange step", step)
	if n := ask[int](b, `[...document.images].filter(i => i.naturalWidth === 1600).length`); n != len(hostileTitles) {
		t.Errorf("%d of %d pictures are seen", n, len(hostileTitles))
	}
	see("strange deal", "/deals/"+deal)
	of.Get(step).Form("answer").Set("har_2", "yes").Set("score", "9").Set("channel.text", "on").Send("verdict=approve").Want(200)
	see("strange days", days)
	see("strange sealed day", days+"/days/2")
	w.Until(w.Now().UTC().Truncate(24 * time.Hour).Add(60 * time.Hour).Format(time.RFC3339))
	for n := range 2 {
		of.Get(days + "/days/" + strconv.Itoa(n+1)).Form("share").Send("").Want(200)
	}
	see("strange day", days+"/days/1")
	see("strange feed", "/feed")
	see("strange days landed", days)
}

// TestBrowserApprovesADailyDeliveryByKeyboard gives the last answer and stops the days
// again without a mouse, and once without scripts.
func TestBrowserApprovesADailyDeliveryByKeyboard(t *testing.T) {
	w := sitetest.New(t)
	of, deal := strange(t, w)
	b := open(t, w)
	b.session(of)
	b.do(chromedp.Navigate(w.Base + "/deals/" + deal + "/steps/4"))
	b.stops("step of a daily delivery")
	for _, id := range []string{"har_2-yes", "score-9", "channel-email"} {
		b.do(chromedp.Focus(chromedp.ID(id)), chromedp.KeyEvent(" "))
	}
	b.do(chromedp.Focus(chromedp.CSS("button[value=approve]")))
	b.enter()
	if got := ask[string](b, `document.body.textContent`); !strings.Contains(got, "Your answer is recorded") || !strings.Contains(got, "Delivering - time-based schedule") {
		t.Errorf("approving by keyboard leads to %s", got)
	}
	b.do(chromedp.Navigate(w.Base + "/deals/" + deal + "/schedule"))
	b.stops("days")
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(w.Base + "/deals/" + deal + "/schedule"))
	for _, one := range []struct{ press, says string }{{"form:has(input[value=pause]) button", "You paused it."}, {"form:has(input[value=resume]) button", "One day each morning"}} {
		b.press(one.press)
		text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body")))
		if err != nil || !strings.Contains(text, one.says) {
			t.Errorf("without scripts: %v\n%s", err, text)
		}
	}
	b.quiet("daily by keyboard")
}

// TestBrowserShowsEverythingDelivered looks at a step with every kind of item on it, and at
// the version after it.
func TestBrowserShowsEverythingDelivered(t *testing.T) {
	w := sitetest.New(t)
	a, of := w.Agent("crow"), w.Browser().SignIn("alice@example.com")
	target, _, deal := hired(w, of, a)
	lastStep(of, a, target, deal)
	everything(of, a, target, deal)
	b := open(t, w)
	b.session(of)
	step := w.Base + "/deals/" + deal + "/steps/4"
	b.do(chromedp.Navigate(step))
	b.inspect("everything delivered")
	b.stops("everything delivered")
	of.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("reason", "Half past eight, please.").Send("verdict=request_changes").Want(200)
	a.Upload("/api/bench/deals/"+deal+"/artifacts", "plan.txt", []byte("Nine chairs."))
	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "Half past eight it is."})
	b.do(chromedp.Navigate(step))
	b.inspect("everything delivered again")
}
