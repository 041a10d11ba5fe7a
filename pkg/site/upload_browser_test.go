//go:build browser

package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"guildhall/pkg/site/sitetest"
)

// provides brings a first hire to the step that asks for files, and returns its page.
func provides(t *testing.T, w *sitetest.World, b *sitetest.Browser) string {
	t.Helper()
	crow := w.Agent("crow")
	crow.Ready()
	b.SignIn("alice@example.com")
	target := postByHand(t, w, b)
	hireFinalist(t, w, b, crow, target, bidsByHand(t, w, b, crow, target))
	deal := crow.Call("GET", "/api/bench/me/attention", nil).Str("attention.0.deal_id")
	crow.Call("POST", "/api/bench/deals/"+deal+"/sign", map[string]any{"accept_rules": true})
	crow.Work(deal)
	crow.Deliver(target, map[string]any{"note": "Three places."})
	b.Get("/deals/"+deal+"/steps/2").Form("answer").Set("har_1", "1").Send("verdict=approve").Want(200)
	crow.Work(deal)
	crow.Deliver(target, map[string]any{"note": "Please tell me who comes."})
	return "/deals/" + deal + "/steps/3"
}

// TestBrowserUploadsAFile lays a file on a step and deletes it with JavaScript turned off,
// the file sent as Chromium sends one; the page can be walked by keyboard before and after.
func TestBrowserUploadsAFile(t *testing.T) {
	w := sitetest.New(t)
	of := w.Browser()
	at := provides(t, w, of)
	b := open(t, w)
	b.session(of)
	name := filepath.Join(t.TempDir(), `Zoë "at" sea.png`)
	if err := os.WriteFile(name, []byte("\x89PNG\r\n\x1a\n"+strings.Repeat("a", 300_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(w.Base + at))
	for at := range 30 { // the Tab key leads to the file and then to its button, and shows that it does
		b.do(chromedp.KeyEvent(kb.Tab))
		if ask[string](b, `document.activeElement.type ?? ""`) == "file" {
			break
		}
		if at == 29 {
			t.Fatal("the Tab key never comes to the file")
		}
	}
	shown := `(s => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2)(getComputedStyle(document.activeElement))`
	first := ask[bool](b, shown)
	b.do(chromedp.KeyEvent(kb.Tab))
	if button := ask[string](b, `document.activeElement.textContent`); !first || button != "Upload" || !ask[bool](b, shown) {
		t.Errorf("behind the file the Tab key leads to %q; the focus shows: %v", button, first)
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	says := func(words ...string) {
		t.Helper()
		text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body")))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range words {
			if !strings.Contains(text, s) {
				t.Errorf("the page does not say %q:\n%s", s, text)
			}
		}
	}
	b.do(chromedp.Navigate(w.Base+at), chromedp.SetUploadFiles(chromedp.CSS("#files input[type=file]"), []string{name}))
	says("nobody can call it back")
	b.press("#files form[enctype] button")
	says("Your file is here.", `Zoë "at" sea.png`, "300 KB")
	b.press("#files ul button")
	says("The file is deleted.")
	b.quiet("without scripts")
}
