package sitetest

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Browser is a browser without JavaScript: it follows links and redirects, keeps cookies,
// and sends forms with what they hold.
type Browser struct {
	w      *World
	client *http.Client

	At     string // path and query of the page
	Status int
	Header http.Header
	HTML   string
	Doc    *html.Node
	Got    bool // the page came by a GET: its address shows it again
	// Seen is called with every page.
	Seen func(b *Browser)
}

// Browser opens one without any cookie.
func (w *World) Browser() *Browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.T.Fatal(err)
	}
	return &Browser{w: w, client: &http.Client{Jar: jar}}
}

// SignIn gives the browser a session.
func (b *Browser) SignIn(email string) *Browser {
	b.w.T.Helper()
	b.Get("/sign-in").Form("sign-in").Set("email", email).Send("")
	b.Get(b.w.Link(email)).Form("complete").Send("")
	return b
}

// Cookies are the browser's cookies for the exchange.
func (b *Browser) Cookies() []*http.Cookie {
	u, _ := url.Parse(b.w.Base)
	return b.client.Jar.Cookies(u)
}

// Get opens a page.
func (b *Browser) Get(path string) *Browser {
	b.w.T.Helper()
	r, err := http.NewRequest("GET", b.w.Base+path, nil)
	if err != nil {
		b.w.T.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "none")
	return b.do(r)
}

// Post sends a form body as it is, as our own page would.
func (b *Browser) Post(path string, form url.Values) *Browser {
	b.w.T.Helper()
	return b.PostFrom("same-origin", path, form)
}

// PostFrom sends a form from a page of another origin.
func (b *Browser) PostFrom(site, path string, form url.Values) *Browser {
	b.w.T.Helper()
	r, err := http.NewRequest("POST", b.w.Base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.w.T.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	return b.do(r)
}

func (b *Browser) do(r *http.Request) *Browser {
	b.w.T.Helper()
	res, err := b.client.Do(r)
	if err != nil {
		b.w.T.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		b.w.T.Fatal(err)
	}
	b.Status, b.Header, b.HTML, b.At = res.StatusCode, res.Header, string(data), res.Request.URL.RequestURI()
	b.Got = res.Request.Method == "GET"
	if b.Doc, err = html.Parse(strings.NewReader(b.HTML)); err != nil {
		b.w.T.Fatal(err)
	}
	if b.Seen != nil && strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		b.Seen(b)
	}
	return b
}

// Want fails the test unless the page has this status and says each of these words.
func (b *Browser) Want(status int, says ...string) *Browser {
	b.w.T.Helper()
	if b.Status != status {
		b.w.T.Fatalf("%s: status %d, want %d\n%s", b.At, b.Status, status, b.Text())
	}
	for _, s := range says {
		if !strings.Contains(b.Text(), s) {
			b.w.T.Fatalf("%s does not say %q:\n%s", b.At, s, b.Text())
		}
	}
	return b
}

// Text is what the page says, white space folded.
func (b *Browser) Text() string {
	var s strings.Builder
	for n := range b.Doc.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "style" && n.Parent.Data != "script" {
			s.WriteString(n.Data + " ")
		}
	}
	return strings.NewReplacer(" .", ".", " ,", ",", " :", ":", "( ", "(", " )", ")").Replace(strings.Join(strings.Fields(s.String()), " "))
}

// Attr is an attribute of an element.
func Attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// Find lists the elements of a kind.
func (b *Browser) Find(element string) []*html.Node { return within(b.Doc, element) }

func within(root *html.Node, element string) (out []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == element {
			out = append(out, n)
		}
	}
	return out
}

// Form is a form of the page with the values it holds.
type Form struct {
	b      *Browser
	node   *html.Node
	action string
	Values url.Values
}

// Form finds a form by its name; of several the first whose words hold all of says.
func (b *Browser) Form(name string, says ...string) *Form {
	b.w.T.Helper()
	for _, n := range b.Find("form") {
		f := &Form{b: b, node: n, Values: values(n)}
		f.action, _ = Attr(n, "action")
		if f.Values.Get("form") == name && !slices.ContainsFunc(says, func(s string) bool { return !strings.Contains(wordsOf(n), s) }) {
			return f
		}
	}
	b.w.T.Fatalf("%s has no form %q %v:\n%s", b.At, name, says, b.Text())
	return nil
}

// Forms lists the names of the page's forms.
func (b *Browser) Forms() (names []string) {
	for _, n := range b.Find("form") {
		names = append(names, values(n).Get("form"))
	}
	return names
}

func wordsOf(n *html.Node) string {
	var s strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			s.WriteString(d.Data)
		}
	}
	return s.String()
}

// values are what a form sends when nobody touches it.
func values(form *html.Node) url.Values {
	v := url.Values{}
	for n := range form.Descendants() {
		name, _ := Attr(n, "name")
		if n.Type != html.ElementNode || name == "" {
			continue
		}
		switch n.Data {
		case "input":
			kind, _ := Attr(n, "type")
			value, _ := Attr(n, "value")
			_, checked := Attr(n, "checked")
			if kind != "radio" && kind != "checkbox" || checked {
				v.Add(name, value)
			}
		case "textarea":
			v.Add(name, strings.TrimPrefix(wordsOf(n), "\n"))
		}
	}
	return v
}

// Set types a value.
func (f *Form) Set(name, value string) *Form {
	f.Values.Set(name, value)
	return f
}

// Send presses the button with this name=value, "" for the only one, and follows.
func (f *Form) Send(button string) *Browser {
	f.b.w.T.Helper()
	if name, value, ok := strings.Cut(button, "="); ok {
		f.Values.Set(name, value)
	}
	return f.b.Post(f.action, f.Values)
}

// SendFile sends the form with a file, as multipart/form-data, and follows.
func (f *Form) SendFile(name, content string) *Browser {
	f.b.w.T.Helper()
	if kind, _ := Attr(f.node, "enctype"); kind != "multipart/form-data" {
		f.b.w.T.Fatalf("%s: the form carries no file", f.b.At)
	}
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for n := range f.node.Descendants() { // in the order of the page, as browsers send them
		field, _ := Attr(n, "name")
		if kind, _ := Attr(n, "type"); n.Type != html.ElementNode || field == "" {
			continue
		} else if kind == "file" {
			p, err := m.CreateFormFile(field, name)
			if err == nil {
				_, err = io.WriteString(p, content)
			}
			if err != nil {
				f.b.w.T.Fatal(err)
			}
		} else if err := m.WriteField(field, f.Values.Get(field)); err != nil {
			f.b.w.T.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		f.b.w.T.Fatal(err)
	}
	r, err := http.NewRequest("POST", f.b.w.Base+f.action, &body)
	if err != nil {
		f.b.w.T.Fatal(err)
	}
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return f.b.do(r)
}

// SignInFails asks for a link while nothing works, and wants a page that says so.
func (b *Browser) SignInFails() {
	b.w.T.Helper()
	b.Get("/sign-in").Form("sign-in").Set("email", "alice@example.com").Send("").Want(503, "That did not work.")
}
