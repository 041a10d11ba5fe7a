package account

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// How long sign-in links and sessions live, and how many mails one address can cause.
const (
	SignInLife   = 15 * time.Minute
	SessionLife  = 30 * 24 * time.Hour
	signInMails  = 5 // per address and hour
	signInWindow = time.Hour
)

var (
	signInLimit = limit.Rule{Name: "person.sign-in", N: 30, Per: time.Hour, By: limit.ByAddress, Exact: true}
	writeLimit  = limit.Rule{Name: "person.write", N: 600, Per: time.Hour}
	linkLimit   = limit.Rule{Name: "person.link", N: 60, Per: time.Hour, By: limit.ByAddress, Exact: true}
	perAddress  = limit.Rule{Name: "person.sign-in.address", N: signInMails, Per: signInWindow, Exact: true}
)

func init() { op.Speak("person", op.Dialect{OK: true}) }

// SignInIn asks for a sign-in link.
type SignInIn struct {
	Email string `json:"email" rule:"required,max=254" doc:"Where the link is sent."`
}

// Validate implements op.Validator.
func (in SignInIn) Validate() error {
	if !ValidEmail(NormalEmail(in.Email)) {
		return fault.New(fault.Invalid, "email_invalid", "That does not look like an email address.").At("email")
	}
	return nil
}

// Rows implements op.Prefetcher.
func (in SignInIn) Rows(string) []table.Key { return []table.Key{mailsKey(NormalEmail(in.Email))} }

// mailsKey is the row that counts the mails to an address.
func mailsKey(email string) table.Key {
	key := EmailKey(email)
	key.SK = "MAILS"
	return key
}

// SignInOut is empty: the answer is the same for every address.
type SignInOut struct{}

// SignIn mails a link that lives 15 minutes and works once (surface.md 3). The answer is
// the same for every address; an address that asks too often simply gets no further mail.
var SignIn = op.Declare(op.Meta{
	ID: "person.session.request", Method: "POST", Path: "/api/person/sign-in", Status: 202,
	Auth: op.Public, Limit: &signInLimit, Summary: "Mail a sign-in link.",
	Faults: []string{"email_invalid", "rate_limited"}, Contract: "surface.md 3",
}, signIn)

func signIn(c *op.Call, in SignInIn) (SignInOut, error) {
	email := NormalEmail(in.Email)
	key := mailsKey(email)
	state, _, err := op.Load[limit.State](c, key)
	if err != nil {
		return SignInOut{}, err
	}
	next, v := perAddress.Take(state, c.Now)
	if !v.OK {
		return SignInOut{}, nil
	}
	c.PutUntil(key, next, c.Now.Add(2*signInWindow))
	token := NewLink(c, "person", "sign-in", signInData{email}, SignInLife)
	outbox.Send(c, signInMail(email, c.BaseURL+"/sign-in/complete?token="+token, c.NewID()))
	return SignInOut{}, nil
}

type signInData struct {
	Email string `json:"email"`
}

func signInMail(to, link, key string) mail.Mail {
	return outbox.Letter(to, "sign-in/"+key, "Your sign-in link",
		"Open this link to sign in. It works once, for 15 minutes. If you did not ask for it, do nothing.",
		"Sign in", link)
}

// CompleteIn redeems a sign-in link.
type CompleteIn struct {
	Token string `json:"token" rule:"required,max=200"`
}

// CompleteOut is a new session.
type CompleteOut struct {
	PersonID  string    `json:"person_id"`
	Token     string    `json:"token" secret:"true"`
	ExpiresAt time.Time `json:"expires_at"`
	cookie    string
}

// Headers implements op.Headerer: the session cookie of the pages.
func (o CompleteOut) Headers() map[string]string { return map[string]string{"Set-Cookie": o.cookie} }

// Complete redeems a link, creates the person on first use and opens a session of 30
// days (surface.md 3).
var Complete = op.Declare(op.Meta{
	ID: "person.session.complete", Method: "POST", Path: "/api/person/sign-in/complete",
	Auth: op.Public, Limit: &linkLimit, Summary: "Redeem a sign-in link.",
	Faults: []string{"link_expired", "rate_limited"}, Contract: "surface.md 3",
}, complete)

func complete(c *op.Call, in CompleteIn) (CompleteOut, error) {
	var d signInData
	if err := UseLink(c, "person", "sign-in", in.Token, &d); err != nil {
		return CompleteOut{}, err
	}
	p, err := EnsurePerson(c, d.Email)
	if err != nil {
		return CompleteOut{}, err
	}
	if !p.ClosedAt.IsZero() {
		return CompleteOut{}, LinkExpired
	}
	expires := c.Now.Add(SessionLife)
	token, err := Session.Issue(c, p.ID, nil, expires)
	return CompleteOut{PersonID: p.ID, Token: token, ExpiresAt: expires, cookie: SessionCookie(c.BaseURL, token, SessionLife)}, err
}

// SignOutIn is empty.
type SignOutIn struct{}

// SignOutOut clears the cookie.
type SignOutOut struct{ cookie string }

// Headers implements op.Headerer.
func (o SignOutOut) Headers() map[string]string { return map[string]string{"Set-Cookie": o.cookie} }

// SignOut ends the session that made the call (surface.md 3).
var SignOut = op.Declare(op.Meta{
	ID: "person.session.end", Method: "POST", Path: "/api/person/sign-out",
	Auth: op.Person, Summary: "End this session.", Contract: "surface.md 3",
}, signOut)

func signOut(c *op.Call, _ SignOutIn) (SignOutOut, error) {
	key := table.Key{PK: Session.Row(c.Caller.ID, "").PK, SK: c.Caller.Credential}
	if err := c.Fetch(key); err != nil {
		return SignOutOut{}, err
	}
	c.Delete(key)
	return SignOutOut{SessionCookie(c.BaseURL, "", 0)}, nil
}
