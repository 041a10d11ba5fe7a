package account_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/mail/box"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

type obj = map[string]any

// hall is an exchange with accounts and a mail box.
type hall struct {
	*optest.Exchange
	box *box.Box
}

func open(t *testing.T) *hall {
	t.Helper()
	h := &hall{}
	h.Exchange = optest.New(t, optest.WithEffects(outbox.Effects...), optest.WithPorts(func(ctx context.Context, touch op.Touch) context.Context {
		return outbox.With(ctx, outbox.Letters{Mailer: h.box, From: "Guildhall <notices@example.com>"})
	}))
	var err error
	if h.box, err = box.New(h.Now, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// ask asks for a sign-in link and returns its token.
func (h *hall) ask(email string) string {
	h.T.Helper()
	h.Do(account.SignIn, optest.Req{Body: obj{"email": email}}).Want(202)
	h.Settle()
	all := h.box.Messages(strings.ToLower(strings.TrimSpace(email)))
	if len(all) == 0 {
		h.T.Fatalf("no mail to %s", email)
	}
	_, token, ok := strings.Cut(all[len(all)-1].Text, "/sign-in/complete?token=")
	if !ok {
		h.T.Fatalf("no link in %q", all[len(all)-1].Text)
	}
	return token
}

func (h *hall) complete(token string) optest.Res {
	return h.Do(account.Complete, optest.Req{Body: obj{"token": token}})
}

// in signs a person in and returns the session.
func (h *hall) in(email string) string {
	h.T.Helper()
	return h.complete(h.ask(email)).Want(200).Str("token")
}

func TestALinkSignsInOnceForFifteenMinutes(t *testing.T) {
	h := open(t)
	token := h.ask(" Ada@Example.com ")
	first := h.complete(token).Want(200)
	h.complete(token).Refused(401, "link_expired")
	if c := first.Header["Set-Cookie"]; !strings.HasPrefix(c, "guildhall="+first.Str("token")+"; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000") {
		t.Errorf("cookie %q", c)
	}
	again := h.ask("ada@example.com")
	h.Advance(account.SignInLife - time.Millisecond)
	if r := h.complete(again).Want(200); r.Str("person_id") != first.Str("person_id") {
		t.Error("another person for the same address in another case")
	}
	late := h.ask("ada@example.com")
	h.Advance(account.SignInLife)
	h.complete(late).Refused(401, "link_expired")
	for _, bad := range []string{"x", strings.Repeat("A", 43), late + "A", late[:42]} {
		h.complete(bad).Refused(401, "link_expired")
	}
}

func TestASessionLivesThirtyDaysOrUntilItIsEnded(t *testing.T) {
	h := open(t)
	one, two := h.in("ada@example.com"), h.in("ada@example.com")
	if r := h.Do(account.SignOut, optest.Req{Token: one}).Want(200); r.Header["Set-Cookie"] != "guildhall=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0" {
		t.Errorf("cookie %q", r.Header["Set-Cookie"])
	}
	h.Do(account.Me, optest.Req{Token: one}).Want(401)
	h.Do(account.Me, optest.Req{Token: two}).Want(200)
	h.Advance(account.SessionLife - 1*time.Hour)
	h.Do(account.Me, optest.Req{Token: two}).Want(200)
	h.Advance(time.Hour)
	h.Do(account.Me, optest.Req{Token: two}).Want(401)
}

func TestOnlyAnAddressGetsALink(t *testing.T) {
	h := open(t)
	for i, bad := range []string{"ada", "ada@", "@example.com", "ada@example", "a b@example.com", "ada@example.com,eve@example.com", "ada@example..com",
		"ada@.example.com", "ada@example.com.", "ada@a@example.com", "<ada@example.com>", "ada@exämple.com", "ada@example.com\r\nBcc: eve@example.com"} {
		h.Do(account.SignIn, optest.Req{Body: obj{"email": bad}, Address: fmt.Sprint("192.0.2.", i+10)}).Refused(422, "email_invalid")
	}
	h.Do(account.SignIn, optest.Req{Body: obj{"email": strings.Repeat("a", 65) + "@example.com"}}).Refused(422, "email_invalid")
	h.ask(strings.Repeat("a", 64) + "@example.com")
	h.Do(account.SignIn, optest.Req{Body: obj{}}).Want(422)
	h.Settle()
	if n := len(h.box.Messages("")); n != 1 {
		t.Errorf("%d mails", n)
	}
}

func TestAnAddressGetsFiveLinksAnHourAndTheAnswerDoesNotTell(t *testing.T) {
	h := open(t)
	for i := range 7 {
		h.Do(account.SignIn, optest.Req{Body: obj{"email": "ada@example.com"}, Address: fmt.Sprint("192.0.2.", i+10)}).Want(202)
		h.Settle()
		if n := len(h.box.Messages("ada@example.com")); n != min(i+1, 5) {
			t.Errorf("%d mails after %d requests", n, i+1)
		}
	}
	h.Advance(time.Hour)
	h.ask("ada@example.com")
	if n := len(h.box.Messages("ada@example.com")); n != 6 {
		t.Errorf("%d mails an hour later", n)
	}
}

func TestSignInIsCountedByTheAddressOfTheCaller(t *testing.T) {
	h := open(t)
	for i := range 30 {
		h.Do(account.SignIn, optest.Req{Body: obj{"email": fmt.Sprint("p", i, "@example.com")}}).Want(202)
	}
	h.Do(account.SignIn, optest.Req{Body: obj{"email": "late@example.com"}}).Refused(429, "rate_limited")
	h.Do(account.SignIn, optest.Req{Body: obj{"email": "late@example.com"}, Address: "192.0.2.2"}).Want(202)
}

func TestLinksAreUsedSixtyTimesAnHour(t *testing.T) {
	h := open(t)
	token := h.ask("ada@example.com")
	for range 60 { // the pages behind mailed links share one limit
		h.Do(account.Unsubscribe, optest.Req{Body: obj{"token": "x"}}).Want(200)
	}
	h.complete(token).Refused(429, "rate_limited")
	h.Do(account.Complete, optest.Req{Body: obj{"token": token}, Address: "192.0.2.2"}).Want(200)
}

func TestAProfileChangesWhatIsSent(t *testing.T) {
	h := open(t)
	session := h.in("ada@example.com")
	change := func(body obj) optest.Res { return h.Do(account.Update, optest.Req{Token: session, Body: body}) }
	change(obj{"timezone": "Europe/Lisbon", "phone": "+15550100200", "house": obj{"house": "North", "value": "care", "value_description": ""}}).Want(200)
	r := change(obj{"display_name": "Ada"}).Want(200)
	if r.Str("timezone") != "Europe/Lisbon" || r.Str("phone") != "+15550100200" || r.Str("house.house") != "North" || r.Str("display_name") != "Ada" {
		t.Errorf("%s", r.Body)
	}
	r = change(obj{"house": nil, "phone": ""}).Want(200)
	if r.At("house") != nil || r.Str("phone") != "" || r.Str("display_name") != "Ada" {
		t.Errorf("%s", r.Body)
	}
	if me := h.Do(account.Me, optest.Req{Token: session}).Want(200); me.Str("email") != "ada@example.com" || me.Str("created_at") != "2026-11-30T18:20:00Z" {
		t.Errorf("%s", me.Body)
	}
	for _, zone := range []string{"Mars/Base", "Local", "", "../etc/passwd", "europe"} {
		change(obj{"timezone": zone}).Refused(422, "timezone_unknown")
	}
	for _, phone := range []string{"5550100200", "+1 555", "+0155501002", "+123456", "+1234567890123456", "call me", "+1555CALLNOW", "+1555\n0100200",
		"+15550100200\x00", "0015550100200", "+١٢٣٤٥٦٧٨", "+15550100200,+15550100201", "+" + strings.Repeat("1", 4000)} {
		r := change(obj{"phone": phone}).Refused(422, "phone_invalid")
		if r.At("field") != "phone" || strings.Contains(string(r.Body), "555010") {
			t.Errorf("%q: %s", phone, r.Body)
		}
	}
	change(obj{"phone": 15550100200}).Refused(422, "invalid_field")
	for _, phone := range []string{"+1234567", "+123456789012345", "+15550100200"} { // changing it is possible at any time
		if r := change(obj{"phone": phone}).Want(200); r.Str("phone") != phone {
			t.Errorf("%s", r.Body)
		}
	}
	change(obj{"display_name": "Ada"}).Want(200)
	if me := h.Do(account.Me, optest.Req{Token: session}).Want(200); me.Str("phone") != "+15550100200" {
		t.Errorf("a change of something else changed the number: %s", me.Body)
	}
	if r := change(obj{"phone": nil}).Want(200); r.Str("phone") != "" {
		t.Errorf("null did not remove the number: %s", r.Body)
	}
	change(obj{"display_name": strings.Repeat("d", 81)}).Refused(422, "invalid_field")
	change(obj{"email": "eve@example.com"}).Refused(422, "unknown_field")
	// Two faults at once: the zone is looked at first, and nothing of the call is kept.
	change(obj{"display_name": "Eve", "phone": "x", "timezone": "x"}).Refused(422, "timezone_unknown")
	if me := h.Do(account.Me, optest.Req{Token: session}).Want(200); me.Str("display_name") != "Ada" {
		t.Errorf("a refused change was kept: %s", me.Body)
	}
}

func TestAnAccountWithARunningDealStays(t *testing.T) {
	h := open(t)
	session := h.in("ada@example.com")
	person := h.Do(account.Me, optest.Req{Token: session}).Want(200).Str("person_id")
	live := func(deals map[string]bool) {
		h.Run("person", func(c *op.Call) error {
			if _, err := c.Get(account.LiveDeals(person)); err != nil {
				return err
			}
			c.Put(account.LiveDeals(person), account.Live{Deals: deals})
			return nil
		})
	}
	live(map[string]bool{"d1": true})
	h.Do(account.CloseAccount, optest.Req{Token: session}).Refused(409, "live_deal")
	h.Do(account.Me, optest.Req{Token: session}).Want(200)
	live(map[string]bool{})
	waiting := h.ask("ada@example.com")
	other := h.in("ada@example.com")
	h.Do(account.Update, optest.Req{Token: session, Body: obj{"phone": "+15550100200"}}).Want(200)
	h.Do(account.CloseAccount, optest.Req{Token: session}).Want(200)
	h.Run("person", func(c *op.Call) error {
		p, found, err := op.Load[account.Person](c, account.PersonKey(person))
		if !found || p.Phone != "" {
			t.Errorf("a closed account has the number %q", p.Phone)
		}
		return err
	})
	for _, s := range []string{session, other} {
		h.Do(account.Me, optest.Req{Token: s}).Want(401)
	}
	// The address is free again: whoever owns it begins anew.
	if r := h.complete(waiting).Want(200); r.Str("person_id") == person {
		t.Error("a closed account came back")
	}
}

func TestAPersonHidesAtMostFiveHundredAgents(t *testing.T) {
	h := open(t)
	session := h.in("ada@example.com")
	maker := func(i int) map[string]string {
		return map[string]string{"maker_id": fmt.Sprintf("00000000-0000-4000-8000-%012d", i)}
	}
	block := func(i int, hide bool) optest.Res {
		return h.Do(account.Block, optest.Req{Token: session, Path: maker(i), Body: obj{"blocked": hide}})
	}
	for i := range 500 {
		block(i, true).Want(200)
	}
	block(499, true).Want(200) // hidden already
	block(500, true).Refused(409, "too_many_blocked")
	block(501, false).Want(200) // was not hidden
	if r := block(0, false).Want(200); r.At("blocked") != false {
		t.Errorf("%s", r.Body)
	}
	block(500, true).Want(200)
	h.Do(account.Block, optest.Req{Token: session, Path: map[string]string{"maker_id": "crow"}, Body: obj{"blocked": true}}).Refused(404, "not found")
	h.Do(account.Block, optest.Req{Token: session, Path: maker(1), Body: obj{}}).Want(422)
}

func TestUnsubscribingAnswersAlikeAndStopsOptionalMail(t *testing.T) {
	h := open(t)
	session := h.in("ada@example.com")
	person := h.Do(account.Me, optest.Req{Token: session}).Want(200).Str("person_id")
	var link string
	h.Run("person", func(c *op.Call) error { link = account.UnsubscribeToken(c, person); return nil })
	quiet := func() (q bool) {
		h.Run("person", func(c *op.Call) error {
			p, _, err := op.Load[account.Person](c, account.PersonKey(person))
			q = p.Quiet
			return err
		})
		return q
	}
	bad := h.Do(account.Unsubscribe, optest.Req{Body: obj{"token": link + "A"}}).Want(200)
	if quiet() {
		t.Error("a forged link works")
	}
	good := h.Do(account.Unsubscribe, optest.Req{Body: obj{"token": link, "List-Unsubscribe": "One-Click"}}).Want(200)
	if !quiet() || string(bad.Body) != string(good.Body) {
		t.Errorf("quiet %v; %s and %s", quiet(), bad.Body, good.Body)
	}
	h.Do(account.Unsubscribe, optest.Req{Body: obj{"token": link}}).Want(200)
}

func TestNobodyElseReadsAProfile(t *testing.T) {
	h := open(t)
	session := h.in("ada@example.com")
	for _, token := range []string{"", "x", session + "A", session[:len(session)-1], strings.Replace(session, "person", "agent", 1)} {
		for _, o := range []*op.Operation{account.Me, account.Update, account.CloseAccount, account.Block, account.SignOut} {
			h.Do(o, optest.Req{Token: token, Body: obj{}, Path: map[string]string{"maker_id": "x"}}).Want(401)
		}
	}
}
