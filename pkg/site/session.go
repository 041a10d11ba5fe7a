package site

import (
	"net/url"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// afterwards is the cookie that remembers, while a sign-in mail is on its way, which page
// the person wanted.
const afterwards = "guildhall-next"

// sessionPages: signing in and out, and the profile.
func (s *site) sessionPages() []*page.Page {
	return []*page.Page{
		{ID: "session.request", Path: page.SignIn, Auth: op.Public, Calls: []string{"person.session.request"},
			Get: s.signInPage, Forms: forms{"sign-in": s.askForLink}},
		{ID: "session.complete", Path: "/sign-in/complete", Auth: op.Public, Calls: []string{"person.session.complete"},
			Get: s.completePage, Forms: forms{"complete": s.complete}},
		{ID: "session.end", Path: "/sign-out", Auth: op.Public, Calls: []string{"person.session.end"},
			Get:   func(*page.Visit) (*page.Answer, error) { return &page.Answer{View: "sign-out", Title: "Sign out"}, nil },
			Forms: forms{"sign-out": s.signOut}},
		{ID: "profile.edit", Path: "/me", Auth: op.Person, Calls: []string{"person.profile.update"},
			Get: s.profilePage, Forms: forms{"profile": s.saveProfile}},
	}
}

type forms = map[string]func(*page.Visit) (*page.Answer, error)

func (s *site) signInPage(v *page.Visit) (*page.Answer, error) {
	next := page.Local(v.Query.Get("next"))
	if v.Form != nil {
		next = page.Local(v.Form.Get("next"))
	}
	return &page.Answer{View: "sign-in", Title: "Sign in", Data: struct{ Next string }{next}}, nil
}

// askForLink mails the link. What is shown afterwards is the same for every address.
func (s *site) askForLink(v *page.Visit) (*page.Answer, error) {
	email := strings.TrimSpace(v.Form.Get("email"))
	if err := v.Do("person.session.request", page.Call{Body: map[string]string{"email": email}}); err != nil {
		return nil, err
	}
	a := &page.Answer{View: "sign-in-sent", Title: "Look into your mail", Data: struct{ Email string }{email}}
	if next := page.Local(v.Form.Get("next")); next != "/" {
		a.Cookies = []string{s.remember(next, account.SignInLife)}
	}
	return a, nil
}

// remember is the Set-Cookie value of the page to go to; an empty one forgets it.
func (s *site) remember(next string, life time.Duration) string {
	c := account.SessionCookie(s.BaseURL, url.QueryEscape(next), life)
	return afterwards + strings.TrimPrefix(c, account.CookieName(s.BaseURL))
}

func (s *site) completePage(v *page.Visit) (*page.Answer, error) {
	token := v.Query.Get("token")
	if v.Form != nil {
		token = v.Form.Get("link")
	}
	if v.Refused != nil && s.guest(v) != nil {
		return &page.Answer{To: "/wants"}, nil // the button was pressed twice, and the first press did it
	}
	return &page.Answer{View: "sign-in-complete", Title: "Finish signing in", Data: struct{ Link string }{token}}, nil
}

func (s *site) complete(v *page.Visit) (*page.Answer, error) {
	next := "/wants"
	if kept, err := url.QueryUnescape(v.Cookie(afterwards)); err == nil && page.Local(kept) != "/" {
		next = page.Local(kept)
	}
	if err := v.Do("person.session.complete", page.Call{Body: map[string]string{"token": v.Form.Get("link")}}); err != nil {
		return nil, err
	}
	a := &page.Answer{To: next}
	if v.Cookie(afterwards) != "" {
		a.Cookies = []string{s.remember("", 0)}
	}
	return a, nil
}

// signOut ends the session. A session that is over already is signed out too.
func (s *site) signOut(v *page.Visit) (*page.Answer, error) {
	err := v.Do("person.session.end", page.Call{})
	if f := fault.From(err); err != nil && f.Kind != fault.Unauthorized {
		return nil, err
	}
	return &page.Answer{To: "/?said=out", Cookies: []string{account.SessionCookie(s.BaseURL, "", 0)}}, nil
}

func (s *site) profilePage(v *page.Visit) (*page.Answer, error) {
	me := s.guest(v)
	if me == nil {
		return nil, fault.NoCredential
	}
	shown := *me
	if shown.House == nil {
		shown.House = &house{}
	}
	return &page.Answer{View: "profile", Title: "Your profile", Data: struct {
		Profile profile
		Zones   []string
	}{shown, zones}}, nil
}

// bareNumber takes off what people part the digits of a phone number with.
var bareNumber = strings.NewReplacer(" ", "", "\u00a0", "", "-", "", ".", "")

func (s *site) saveProfile(v *page.Visit) (*page.Answer, error) {
	get := func(name string) string { return strings.TrimSpace(v.Form.Get(name)) }
	body := map[string]any{"display_name": get("display_name"), "timezone": get("timezone"), "phone": bareNumber.Replace(get("phone")), "house": nil}
	h := house{get("house.house"), get("house.value"), get("house.value_description")}
	if h != (house{}) {
		body["house"] = h
	}
	if err := v.Do("person.profile.update", page.Call{Body: body}); err != nil {
		return nil, err
	}
	return &page.Answer{To: "/me?said=saved"}, nil
}

// zones are offered while a time zone is typed; every IANA name is taken.
var zones = []string{"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi", "America/Anchorage", "America/Argentina/Buenos_Aires",
	"America/Bogota", "America/Chicago", "America/Denver", "America/Halifax", "America/Lima", "America/Los_Angeles", "America/Mexico_City",
	"America/New_York", "America/Phoenix", "America/Santiago", "America/Sao_Paulo", "America/Toronto", "America/Vancouver", "Asia/Bangkok",
	"Asia/Dhaka", "Asia/Dubai", "Asia/Ho_Chi_Minh", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Karachi", "Asia/Kathmandu",
	"Asia/Kolkata", "Asia/Manila", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Asia/Tehran", "Asia/Tokyo", "Australia/Adelaide",
	"Australia/Brisbane", "Australia/Perth", "Australia/Sydney", "Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Brussels",
	"Europe/Bucharest", "Europe/Dublin", "Europe/Helsinki", "Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid",
	"Europe/Oslo", "Europe/Paris", "Europe/Prague", "Europe/Rome", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zurich",
	"Pacific/Auckland", "Pacific/Honolulu"}
