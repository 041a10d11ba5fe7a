package site_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"guildhall/pkg/catalog"
	"guildhall/pkg/edge/page"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/site"
	"guildhall/pkg/site/sitetest"
)

// attack is put behind every text a stranger could have written.
const attack = "</textarea></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{.}} javascript:alert(1) \u202emoc.live\u2066\u0007\x1b[31m\u2028\ufeff\U000e0041"

// kept are the texts no stranger chooses: ids, times, words of a closed list, numbers.
var kept = regexp.MustCompile(`^([a-z_0-9]*|[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT.*Z|[A-Z]+|(item|block):.*|Europe/Lisbon)$`)

// hostile answers every read with attacks in its texts.
type hostile struct{ page.Caller }

func (h hostile) Do(ctx context.Context, o *op.Operation, r *op.Request) *op.Response {
	res := h.Caller.Do(ctx, o, r)
	var v any
	if json.Unmarshal(res.Body, &v) == nil && res.Fault == nil {
		res.Body, _ = json.Marshal(attacked(v))
	}
	if res.Fault != nil && res.Fault.Message != "" {
		res.Fault = res.Fault.Say(res.Fault.Message + attack)
	}
	return res
}

func attacked(v any) any {
	switch v := v.(type) {
	case string:
		if kept.MatchString(v) {
			return v
		}
		return v + attack
	case []any:
		for i := range v {
			v[i] = attacked(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = attacked(v[k])
		}
	}
	return v
}

// TestHostileTextIsShownAndDoesNothing puts attacks into every text of a want, a bid, a
// finalist, a deal, a step and a timed delivery, and reads their pages.
func TestHostileTextIsShownAndDoesNothing(t *testing.T) {
	w := sitetest.New(t)
	a := w.Agent("crow")
	b := w.Browser().SignIn("alice@example.com")
	b.Get("/me").Form("profile").Set("timezone", "Europe/Lisbon").Set("house.house", "Harbour street").Set("house.value", "Hospitality").Send("").Want(200)
	target, bid, deal := hired(w, b, a)
	a.Work(deal)
	a.Deliver(target, map[string]any{"note": "Three places, all with a free table for nine."})
	second, _, daily := hired(w, b, a)
	shared(t, w, b, a, second, daily)
	h := site.Handler(site.Config{Caller: hostile{w.X.Engine}, Find: catalog.Find, BaseURL: w.Base, FormKey: id.Keyring{Current: []byte("k")},
		Now: w.X.Clock.Now, NewID: func() string { return "11111111-2222-4333-8444-555555555555" }, Till: trickster{}})
	for path, says := range map[string]string{
		"/wants": "A dinner table", "/wants/" + target: "[U+202E]moc.live", "/wants/" + target + "/finalists/" + bid: "River Room", "/deals": "Deal with",
		"/agents/" + a.No: "Example Model 1", "/deals/" + daily: "1 of 3 days landed", "/deals/" + daily + "/schedule": "To the corner", "/deals/" + daily + "/schedule/days/1": "The bench by the pond",
		"/deals/" + daily + "/schedule/days/2": "Day 2: To the bakery", "/feed": "Harbour street",
		"/deals/" + deal: "Choose the restaurant", "/deals/" + deal + "/steps/2": "North Hall", "/me": "Harbour street", "/pay/x": "[U+0007]",
		"/simulated/onboarding/x": "Payout account", "/nowhere" + strings.ReplaceAll("/"+attack, "/", "%2F"): "There is nothing here",
		"/sign-in?next=" + "/%22%3E%3Cscript%3E": "Sign in", "/confirm/contact?token=%22%3E%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE": "Confirm your address",
		"/wants?said=%3Cscript%3E": "Your wants"} {
		r := httptest.NewRequest("GET", w.Base+"/", nil)
		u, err := r.URL.Parse(escapeControls(path))
		if err != nil {
			t.Fatal(err)
		}
		r.URL = u
		for _, c := range b.Cookies() {
			r.AddCookie(c)
		}
		res := httptest.NewRecorder()
		h.ServeHTTP(res, r)
		body := res.Body.String()
		if !strings.Contains(html.UnescapeString(body), says) {
			t.Errorf("%s: %d, does not say %q", path, res.Code, says)
		}
		harmless(t, path, body)
	}
}

func escapeControls(s string) string {
	return strings.NewReplacer("\u0007", "%07", "\x1b", "%1B", "\"", "%22", "<", "%3C", ">", "%3E", " ", "%20", "{", "%7B", "}", "%7D", "`", "%60").Replace(s)
}

// harmless checks that a page has no script but ours, no attribute that acts, and no
// character that hides or turns what follows.
func harmless(t *testing.T, path, body string) {
	t.Helper()
	for _, r := range body {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0xfeff || r >= 0xe0000 {
			t.Errorf("%s: the character %U is shown as it is", path, r)
			break
		}
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		src, _ := sitetest.Attr(n, "src")
		if n.Data == "img" && !strings.HasPrefix(src, "/api/person/deals/") || n.Data == "script" && src != "/static/site.js" {
			t.Errorf("%s: <%s> got in", path, n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || (a.Key == "href" || a.Key == "action") && strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:") {
				t.Errorf("%s: <%s %s=%q>", path, n.Data, a.Key, a.Val)
			}
		}
	}
}

// trickster is a till with attacks in its texts.
type trickster struct{}

func (trickster) Checkout(context.Context, string) (site.Checkout, error) {
	return site.Checkout{ID: "x", Cents: 100, What: attack, Status: "open", Cancel: "javascript:alert(1)", Success: "//evil.test"}, nil
}
func (trickster) Pay(context.Context, string, bool) error { return nil }
func (trickster) Onboarding(context.Context, string) (site.Onboarding, error) {
	return site.Onboarding{Link: attack, MakerID: attack}, nil
}
func (trickster) Finish(context.Context, string) error { return nil }

// hired brings a want to a signed deal through pages and the API.
func hired(w *sitetest.World, b *sitetest.Browser, a *sitetest.Agent) (target, bid, deal string) {
	target = post(b, "A dinner table for nine people on Friday evening.")
	bid = a.Bid(target, "A table for nine")
	b.Get("/wants/"+target).Form("pick").Send("").Form("ask").Set("question", "Do you know the River Room?").Send("").Form("answers").Send("do=send").Want(200)
	a.Ready()
	a.Plan(target, bid)
	b.Get("/wants/"+target+"/finalists/"+bid).Form("accept").Set("accept_rules", "yes").Send("").Form("pay").Send("").Want(200)
	deal = a.Deal(target)
	a.Call("POST", "/api/bench/deals/"+deal+"/sign", map[string]any{"accept_rules": true})
	return target, bid, deal
}

// shared brings a signed deal to a timed delivery whose first day landed and is shared, on the
// morning after the next.
func shared(t *testing.T, w *sitetest.World, b *sitetest.Browser, a *sitetest.Agent, target, deal string) {
	t.Helper()
	lastStep(b, a, target, deal)
	a.Daily(target, map[string]any{"pieces": mornings(a, deal)})
	b.Get("/deals/"+deal+"/steps/4").Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	w.Until(w.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour).Format(time.RFC3339))
	b.Get("/deals/" + deal + "/schedule/days/1").Form("share").Send("").Want(200)
}

// TestHostileTitlesOfDays files what a stranger might file, and looks at every page it comes to.
func TestHostileTitlesOfDays(t *testing.T) {
	w := sitetest.New(t)
	a := w.Agent("crow")
	b := w.Browser().SignIn("alice@example.com")
	b.Get("/me").Form("profile").Set("timezone", "Europe/Lisbon").Set("house.house", "Harbour street").Set("house.value", "Hospitality").Send("").Want(200)
	target, _, deal := hired(w, b, a)
	lastStep(b, a, target, deal)
	day := func(s string) map[string]any {
		return map[string]any{"title": s, "document": map[string]any{"title": s, "blocks": []map[string]any{{"type": "paragraph", "text": s}, {"type": "video", "youtube_id": "a1B2c3D4e5F", "title": s}}}}
	}
	a.Daily(target, map[string]any{"note": hostileTitles[0], "pieces": []map[string]any{day(hostileTitles[0]), day(hostileTitles[1]), day(hostileTitles[2])}})
	b.Seen = func(b *sitetest.Browser) { sound(t)(b); harmless(t, b.At, b.HTML) }
	b.Get("/deals/"+deal+"/steps/4").Want(200, "<script>alert(1)</script>", "[U+202E]moc.live", strings.Repeat("x", 200)).
		Form("answer").Set("har_2", "yes").Set("score", "9").Send("verdict=approve").Want(200)
	w.Until(w.Now().UTC().Truncate(24 * time.Hour).Add(100 * time.Hour).Format(time.RFC3339))
	for n := range hostileTitles {
		b.Get("/deals/" + deal + "/schedule/days/" + strconv.Itoa(n+1)).Want(200).Form("share").Send("").Want(200)
	}
	for _, path := range []string{"/deals/" + deal, "/deals/" + deal + "/schedule", "/feed"} {
		b.Get(path).Want(200)
	}
}

// hostileTitles try to act, to look like something else, and to break the layout.
var hostileTitles = []string{`</h1></title><script>alert(1)</script><img src=x onerror=alert(1)>`, "Your bank \u202emoc.live\u2066 and more", strings.Repeat("x", 200)}
