//go:build browser

package site_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"guildhall/pkg/site/sitetest"
)

// tabTime bounds one test in the browser.
const tabTime = 5 * time.Minute

// tab is one tab of Chromium on a world.
type tab struct {
	t     *testing.T
	ctx   context.Context
	w     *sitetest.World
	shots string
	n     int

	mu      sync.Mutex
	console []string
}

// open starts Chromium with one tab. What it writes to the console is kept.
func open(t *testing.T, w *sitetest.World) *tab {
	t.Helper()
	chromium, shots := os.Getenv("BROWSER_CHROMIUM"), os.Getenv("BROWSER_SHOTS")
	if chromium == "" || shots == "" || os.Getenv("BROWSER_AXE") == "" {
		t.Fatal("run this by scripts/browser.sh")
	}
	ctx, stop := context.WithTimeout(context.Background(), tabTime)
	ctx, stopAll := chromedp.NewExecAllocator(ctx, chromedp.ExecPath(chromium), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1100, 900))
	ctx, closeTab := chromedp.NewContext(ctx)
	b := &tab{t: t, ctx: ctx, w: w, shots: shots}
	messages := chromedp.Console(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.console = append(b.console, m.String()+" "+m.URL)
			b.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Log(err)
		}
		closeTab()
		stopAll()
		stop()
		<-done
	})
	b.do(chromedp.Navigate(w.Base + "/"))
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func ask[T any](b *tab, js string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v: %s", err, js)
	}
	return v
}

// quiet fails the test for everything on the console but the browser's own lines about
// answers that are refusals: those are what some pages are about.
func (b *tab) quiet(where string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.console {
		if !strings.Contains(m, "the server responded with a status of") {
			b.t.Errorf("%s: on the console: %s", where, m)
		}
	}
	b.console = nil
}

// session gives the tab another browser's cookies.
func (b *tab) session(of *sitetest.Browser) {
	b.t.Helper()
	for _, c := range of.Cookies() {
		if _, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.w.Base}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// look is a way to see a page.
type look struct {
	name   string
	width  int64
	scheme string
}

var looks = []look{{"wide", 1100, "light"}, {"dark", 1100, "dark"}, {"narrow", 360, "light"}}

// violation is what axe finds.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Failure string `json:"failureSummary"`
	} `json:"nodes"`
}

// inspect runs axe on the page in every look and takes pictures.
func (b *tab) inspect(name string) {
	b.t.Helper()
	axe, err := os.ReadFile(os.Getenv("BROWSER_AXE"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.n++
	for _, l := range looks {
		b.do(chromedp.EmulateViewport(l.width, 900))
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
		if err != nil {
			b.t.Fatal(err)
		}
		ask[bool](b, string(axe)+";true")
		for _, v := range ask[[]violation](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations)`) {
			for _, n := range v.Nodes {
				b.t.Errorf("%s (%s): %s: %s\n\t%s\n\t%s", name, l.name, v.ID, v.Help, n.HTML, n.Failure)
			}
		}
		if over := ask[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			b.t.Errorf("%s (%s): the page is %d pixels wider than the window", name, l.name, over)
		}
		shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			b.t.Fatal(err)
		}
		file := filepath.Join(b.shots, fmt.Sprintf("%02d-%s-%s.png", b.n, strings.NewReplacer("/", "_", " ", "-").Replace(name), l.name))
		if err := os.WriteFile(file, shot, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	b.quiet(name)
}

// show brings a page of the walk into the tab: by its address, or, where a form led to it,
// by its words.
func (b *tab) show(of *sitetest.Browser) {
	b.t.Helper()
	b.session(of)
	if of.Got {
		b.do(chromedp.Navigate(b.w.Base + of.At))
		return
	}
	b.do(chromedp.Navigate(b.w.Base + "/payout/return"))
	tree, err := chromedp.Call(b.ctx, page.GetFrameTree, struct{}{})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, page.SetDocumentContent, page.SetDocumentContentParams{FrameID: tree.FrameTree.Frame.ID, HTML: of.HTML}); err != nil {
		b.t.Fatal(err)
	}
	ask[bool](b, `Promise.all([...document.querySelectorAll("link[rel=stylesheet]")].map(l => l.sheet ? 0 : new Promise(r => l.onload = l.onerror = r))).then(() => true)`)
}

// TestBrowserFindsNoBarrier shows axe every kind of page a first hire leads to.
func TestBrowserFindsNoBarrier(t *testing.T) {
	w := sitetest.New(t)
	b := open(t, w)
	seen := map[string]bool{}
	walk(t, w, func(of *sitetest.Browser) {
		class, _ := sitetest.Attr(of.Find("body")[0], "class")
		key := fmt.Sprint(class, of.Status, of.Forms(), strings.Contains(of.HTML, `class="said"`))
		if class == "step" { // each asks for something else
			key += textOf(of.Find("h1")[0])
		}
		if seen[key] {
			return
		}
		seen[key] = true
		b.show(of)
		b.inspect(class)
	})
	t.Logf("%d pages in %d looks each", len(seen), len(looks))
}

// TestBrowserByKeyboard signs in and posts a want without a mouse, and holds every stop of
// the Tab key against what can be used on the page.
func TestBrowserByKeyboard(t *testing.T) {
	w := sitetest.New(t)
	b := open(t, w)
	b.do(chromedp.Navigate(w.Base+"/start"), chromedp.KeyEvent(kb.Tab))
	if got := ask[string](b, `document.activeElement.textContent`); got != "Skip to the page" {
		t.Errorf("the first Tab leads to %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	if got := ask[string](b, `document.activeElement.name`); got != "email" {
		t.Errorf("after the skip link the Tab key leads to %q", got)
	}
	b.do(chromedp.KeyEvent("alice@example.com"))
	b.enter()
	b.do(chromedp.Navigate(w.Base+w.Link("alice@example.com")), chromedp.Focus(chromedp.CSS("main button")))
	b.enter()
	b.stops("start")
	b.do(chromedp.Focus(chromedp.ID("post-want")), chromedp.KeyEvent("Short"), chromedp.Focus(chromedp.CSS("main form > button")))
	ask[bool](b, `document.querySelector("main form").noValidate = true`)
	b.enter()
	got := ""
	for range maxLooks { // the browser moves the focus a moment after the page is loaded
		if got = ask[string](b, `document.activeElement.getAttribute("role") + ": " + document.title`); strings.HasPrefix(got, "alert: ") {
			break
		}
	}
	if !strings.HasPrefix(got, "alert: Please check: ") {
		t.Errorf("a refused form leads to %q", got)
	}
	if got := ask[string](b, `document.getElementById("post-want").value`); got != "Short" {
		t.Errorf("what was typed comes back as %q", got)
	}
	b.do(chromedp.Focus(chromedp.ID("post-want")), chromedp.KeyEvent(" is not a want, this is one."),
		chromedp.Focus(chromedp.ID("tile-something_else")), chromedp.KeyEvent(" "),
		chromedp.Focus(chromedp.ID("post-finish_line-sentence")), chromedp.KeyEvent("It is here."),
		chromedp.Focus(chromedp.ID("lane-free")), chromedp.KeyEvent(" "), chromedp.Focus(chromedp.CSS("main form > button")))
	b.enter()
	if got := ask[string](b, `document.querySelector("h1").textContent`); !strings.Contains(got, "this is one") {
		t.Errorf("posting by keyboard leads to %q", got)
	}
	b.stops("want")
	b.do(chromedp.Navigate(w.Base + "/me"))
	b.stops("profile")
	b.quiet("by keyboard")
}

// maxLooks bounds how often the browser is asked for what comes a moment later.
const maxLooks = 2000

// enter presses Enter and waits for the page it leads to.
func (b *tab) enter() {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.KeyEvent(kb.Enter))); err != nil {
		b.t.Fatal(err)
	}
}

// usable lists, in their order, what the Tab key must stop at: of radio buttons of one name
// the one that is ticked, or the first.
const usable = `[...document.querySelectorAll("a[href], button, input, textarea, select, summary, [tabindex='0']")].filter(e =>
  !e.disabled && e.type !== "hidden" && e.checkVisibility() && (e.type !== "radio" ||
  e === (document.querySelector("input[name='" + e.name + "']:checked") ?? document.querySelector("input[name='" + e.name + "']"))))`

// stops presses Tab until the page is through.
func (b *tab) stops(name string) {
	b.t.Helper()
	want := ask[int](b, usable+`.length`)
	ask[bool](b, usable+`.forEach((e, i) => e.dataset.stop = i); document.activeElement.blur(); window.getSelection().collapse(document.body, 0); true`)
	b.do(chromedp.Evaluate[chromedp.Void](`window.scrollTo(0, 0)`))
	var got []int
	for range want + 2 {
		b.do(chromedp.KeyEvent(kb.Tab))
		at := ask[string](b, `document.activeElement.dataset.stop ?? ""`)
		if at == "" {
			continue
		}
		var n int
		fmt.Sscan(at, &n)
		got = append(got, n)
		if !ask[bool](b, `(e => { const s = getComputedStyle(e); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 })(document.activeElement)`) {
			b.t.Errorf("%s: stop %d does not show that it has the focus: %s", name, n, ask[string](b, `document.activeElement.outerHTML.slice(0, 120)`))
		}
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if len(got) != want {
		b.t.Errorf("%s: the Tab key stops at %d of %d things", name, len(got), want)
	}
}

// TestBrowserWithoutScripts does what needs a form with JavaScript turned off.
func TestBrowserWithoutScripts(t *testing.T) {
	w := sitetest.New(t)
	b := open(t, w)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(w.Base + "/sign-in?next=%2Fme"))
	b.do(chromedp.SendKeys(chromedp.ID("sign-in-email"), "alice@example.com"))
	b.press("main form button")
	b.do(chromedp.Navigate(w.Base + w.Link("alice@example.com")))
	b.press("main form button")
	b.do(chromedp.SetValue(chromedp.ID("profile-timezone"), "Europe/Lisbon"))
	b.press("main form button")
	text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body")))
	if err != nil || !strings.Contains(text, "Saved.") || !strings.Contains(text, "time zone Europe/Lisbon") {
		t.Errorf("without scripts: %v\n%s", err, text)
	}
	b.quiet("without scripts")
}

func (b *tab) press(css string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.Click(chromedp.CSS(css)))); err != nil {
		b.t.Fatal(err)
	}
}

// TestBrowserObeysThePolicy tries, in the page, what the content policy forbids.
func TestBrowserObeysThePolicy(t *testing.T) {
	w := sitetest.New(t)
	b := open(t, w)
	b.do(chromedp.Navigate(w.Base + "/"))
	b.quiet("home")
	if ask[bool](b, `(() => { const s = document.createElement("script"); s.textContent = "window.ran = true"; document.body.append(s); return !!window.ran })()`) {
		t.Error("an inline script runs")
	}
	img := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("no"))
	got := ask[string](b, `new Promise(r => { document.addEventListener("securitypolicyviolation", e => r(e.effectiveDirective)); const i = new Image(); i.src = "`+img+`"; document.body.append(i) })`)
	if got != "img-src" {
		t.Errorf("an image from elsewhere violates %q", got)
	}
	u, _ := url.Parse(ask[string](b, `document.querySelector("link[rel=icon]").href`))
	b.do(chromedp.Navigate(w.Base + u.Path))
	if ask[string](b, `document.documentElement.nodeName`) != "svg" {
		t.Error("there is no icon")
	}
	// A code behind the # of an address is put into its form by our script.
	b.do(chromedp.Navigate(w.Base + "/payout/handoff#a-code"))
	if got := ask[string](b, `document.getElementById("attest-link").value`); got != "a-code" {
		t.Errorf("the code of the address arrives as %q", got)
	}
}
