package registry

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func (w world) challenge(ref string) optest.Res {
	return w.Do(Challenge, optest.Req{Body: obj{"maker_ref": ref}}).Want(201)
}

func (w world) complete(ch optest.Res, key ed25519.PrivateKey) optest.Res {
	sig := ed25519.Sign(key, []byte(ch.Str("challenge")))
	return w.Do(Complete, optest.Req{Body: obj{"challenge_id": ch.Str("challenge_id"), "challenge": ch.Str("challenge"),
		"signature": base64.StdEncoding.EncodeToString(sig)}})
}

func TestSignedRecoveryReplacesEveryToken(t *testing.T) {
	w := newWorld(t)
	a := w.register("Forgetful")
	w.Do(AckPing, optest.Req{Token: a.Token}).Want(200)
	w.Do(AckPing, optest.Req{Token: a.Token}).Want(200)
	mcp := w.token(a, w.ticket(a).sign()).Want(200).Str("access_token")
	for _, ref := range []string{a.ID, a.No, strings.ToLower(a.No), strings.ToUpper(a.ID)} {
		ch := w.challenge(ref)
		if !strings.HasPrefix(ch.Str("challenge"), "bookofhouses_recovery_") || ch.Str("expires_at") != "2026-11-30T18:30:00Z" {
			t.Errorf("%s", ch.Body)
		}
		r := w.complete(ch, a.key).Want(200)
		if r.Str("maker_id") != a.ID || r.Str("registry_no") != a.No || r.Str("mcp_client_id") != ClientID(a.ID) || r.Str("token_notice") == "" {
			t.Errorf("%s", r.Body)
		}
		w.Do(Me, optest.Req{Token: a.Token}).Refused(401, "unauthorized")
		w.Do(Me, optest.Req{Token: mcp, Transport: "mcp"}).Refused(401, "unauthorized")
		a.Token = r.Str("rest_token")
		me := w.Do(Me, optest.Req{Token: a.Token}).Want(200)
		if me.At("reachable_at") == nil {
			t.Error("recovery by key reset the reachability")
		}
		w.complete(ch, a.key).Refused(401, "recovery_failed") // used
	}
}

func TestRecoveryIsRefusedAlikeForEveryReason(t *testing.T) {
	w := newWorld(t)
	a, b := w.register("Owner"), w.register("Attacker")
	keyless := w.Do(Register, optest.Req{Body: form("Keyless")}).Want(201)
	want := `"error":"recovery_failed"`
	refused := func(name string, r optest.Res) {
		t.Helper()
		if r.Status != 401 || !bytes.Contains(r.Body, []byte(want)) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	ch := w.challenge(a.ID)
	refused("another's key", w.complete(ch, b.key))
	refused("a dummy of an unknown agent", w.complete(w.challenge("A-0999"), a.key))
	refused("a dummy of no reference", w.complete(w.challenge("whoever"), a.key))
	refused("a dummy of a keyless agent", w.complete(w.challenge(keyless.Str("registry_no")), a.key))
	other := w.challenge(b.ID)
	other.JSON["challenge"] = ch.Str("challenge")
	refused("a challenge under another id", w.complete(other, a.key))
	for name, sig := range map[string]string{"no base64": "!!!", "short": "AAAA", "zero": base64.StdEncoding.EncodeToString(make([]byte, 64))} {
		refused(name, w.Do(Complete, optest.Req{Body: obj{"challenge_id": ch.Str("challenge_id"), "challenge": ch.Str("challenge"), "signature": sig}}))
	}
	refused("no such challenge", w.Do(Complete, optest.Req{Body: obj{"challenge_id": a.ID, "challenge": "x", "signature": "AA"}}))
	refused("an odd id", w.Do(Complete, optest.Req{Body: obj{"challenge_id": "x", "challenge": "x", "signature": "AA"}}))
	w.Do(Complete, optest.Req{Key: "-", Body: obj{"challenge_id": "x", "challenge": "x", "signature": "AA"}}).Refused(400, "idempotency_key_required")
	w.Do(SetRecoveryKey, optest.Req{Token: a.Token, Body: obj{"recovery_public_key": pub(testKey(77))}}).Want(200)
	refused("the key before", w.complete(ch, a.key))
	w.complete(ch, testKey(77)).Want(200)
	late := w.challenge(b.ID)
	w.Advance(10 * time.Minute)
	refused("too late", w.complete(late, b.key))
}

func TestAChallengeDoesNotTellWhetherAKeyExists(t *testing.T) {
	w := newWorld(t)
	a := w.register("Present")
	shape := func(r optest.Res) string {
		var b strings.Builder
		for _, k := range []string{"ok", "challenge_id", "challenge", "expires_at"} {
			fmt.Fprintf(&b, "%s %T %d; ", k, r.At(k), len(r.Str(k)))
		}
		return fmt.Sprint(r.Status, len(r.JSON), b.String())
	}
	stats := w.Store.Stats()
	want := shape(w.challenge(a.ID))
	cost := w.Store.Stats().Since(stats)
	for _, ref := range []string{"00000000-0000-4000-8000-000000000000"} {
		stats = w.Store.Stats()
		if got := shape(w.challenge(ref)); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
		if c := w.Store.Stats().Since(stats); c != cost {
			t.Errorf("%s costs %+v, a real one %+v", ref, c, cost)
		}
	}
}

func TestTenChallengesAnHourPerAgentAndPerAddress(t *testing.T) {
	w := newWorld(t)
	a := w.register("Popular")
	for i := range 10 {
		w.Do(Challenge, optest.Req{Body: obj{"maker_ref": a.ID}, Address: fmt.Sprint("a", i)}).Want(201)
		w.Do(Challenge, optest.Req{Body: obj{"maker_ref": "A-0777"}, Address: fmt.Sprint("b", i)}).Want(201)
		w.Do(Challenge, optest.Req{Body: obj{"maker_ref": fmt.Sprint("A-1", i)}, Address: "one"}).Want(201)
	}
	r := w.Do(Challenge, optest.Req{Body: obj{"maker_ref": a.No}, Address: "a10"}).Refused(429, "rate_limited")
	if r.Header["Retry-After"] != "3600" {
		t.Errorf("%v", r.Header)
	}
	w.Do(Challenge, optest.Req{Body: obj{"maker_ref": "a-0777"}, Address: "b10"}).Refused(429, "rate_limited")
	w.Do(Challenge, optest.Req{Body: obj{"maker_ref": "A-2"}, Address: "one"}).Refused(429, "rate_limited")
	w.Do(Challenge, optest.Req{Body: obj{"maker_ref": "x", "colour": "red"}}).Refused(422, "unknown_field")
	w.Advance(time.Hour)
	w.Do(Challenge, optest.Req{Body: obj{"maker_ref": a.ID}, Address: "one"}).Want(201)
}

// confirm confirms an agent's contact through the mailed link.
func (w world) confirm(a agent) {
	w.t.Helper()
	w.Settle()
	_, token := w.mail.last(w.t, "ops@ninedoors.example.com")
	w.Do(ConfirmContact, optest.Req{Body: obj{"token": token}}).Want(200)
}

func (w world) request(a agent) string {
	w.t.Helper()
	return string(w.Do(RequestRecovery, optest.Req{Path: map[string]string{"maker_id": a.ID}, Address: fmt.Sprint(w.Now(), w.Store.Len())}).Want(202).Body)
}

func TestLoseTheTokenRecoverByKeyLoseBothRecoverByTheOperator(t *testing.T) {
	w := newWorld(t)
	a := w.register("Unlucky")
	w.confirm(a)
	w.Do(AckPing, optest.Req{Token: a.Token}).Want(200)
	w.Do(AckPing, optest.Req{Token: a.Token}).Want(200)
	a.Token = w.complete(w.challenge(a.No), a.key).Want(200).Str("rest_token")
	mcp := w.token(a, w.ticket(a).sign()).Want(200).Str("access_token")

	w.request(a)
	w.Settle()
	m, link := w.mail.last(t, "ops@ninedoors.example.com")
	if !strings.Contains(m.Text, "/confirm/recovery?token=gh_recovery_"+a.ID) {
		t.Fatalf("mail: %s", m.Text)
	}
	fresh := testKey(99)
	w.Do(RedeemRecovery, optest.Req{Body: obj{"token": link, "recovery_public_key": "nonsense"}}).Refused(422, "public_key_invalid")
	r := w.Do(RedeemRecovery, optest.Req{Body: obj{"token": link, "recovery_public_key": pub(fresh)}}).Want(200)
	if r.Num("reachability_test.ping.number") != 1 || r.Str("maker_id") != a.ID {
		t.Errorf("%s", r.Body)
	}
	w.Do(Me, optest.Req{Token: a.Token}).Refused(401, "unauthorized")
	w.Do(Me, optest.Req{Token: mcp, Transport: "mcp"}).Refused(401, "unauthorized")
	w.complete(w.challenge(a.No), a.key).Refused(401, "recovery_failed")
	w.token(a, w.ticket(a).with("jti", "again").sign()).Refused(401, "invalid_client") // the old client key is gone
	me := w.Do(Me, optest.Req{Token: r.Str("rest_token")}).Want(200)
	if me.At("reachable_at") != nil || me.At("client_key_set") != false || me.At("recovery_key_set") != true || !w.pinged(a) {
		t.Errorf("%s", me.Body)
	}
	w.Do(RedeemRecovery, optest.Req{Body: obj{"token": link, "recovery_public_key": pub(fresh)}}).Refused(401, "link_expired")
	again := w.complete(w.challenge(a.No), fresh).Want(200)
	for _, n := range []float64{2, 0} {
		ack := w.Do(AckPing, optest.Req{Token: again.Str("rest_token")}).Want(200)
		if n > 0 && ack.Num("next_ping.number") != n {
			t.Errorf("%s", ack.Body)
		}
	}
	if w.Do(Me, optest.Req{Token: again.Str("rest_token")}).At("reachable_at") == nil {
		t.Error("two acks did not make the agent reachable again")
	}
}

func TestTheRequestPageAnswersTheSameForEveryState(t *testing.T) {
	w := newWorld(t)
	unconfirmed, confirmed, rich := w.register("Unconfirmed"), w.register("Ready"), w.register("Wealthy")
	for _, a := range []agent{confirmed, rich} {
		w.run(func(c *op.Call) error {
			b, err := Load(c, a.ID)
			b.ContactAt = c.Now
			b.save(c)
			return err
		})
	}
	w.run(func(c *op.Call) error { return SetPayout(c, rich.ID, Payout{AccountID: "acct_1", Ready: true}) })
	w.Settle()
	before := len(w.mail.sent)
	want := w.request(confirmed)
	for _, a := range []agent{unconfirmed, rich, {ID: "00000000-0000-4000-8000-000000000000"}, {ID: "x"}} {
		if got := w.request(a); got != want {
			t.Errorf("%s: %s, want %s", a.ID, got, want)
		}
	}
	w.Settle()
	if n := len(w.mail.sent) - before; n != 1 {
		t.Errorf("%d mails, only the confirmed agent without money gets one", n)
	}
	for range 5 { // three a day, the first is spent
		if got := w.request(confirmed); got != want {
			t.Errorf("%s", got)
		}
	}
	w.Settle()
	if n := len(w.mail.sent) - before; n != 3 {
		t.Errorf("%d mails in a day", n)
	}
	w.Advance(24 * time.Hour)
	w.request(confirmed)
	w.Settle()
	if n := len(w.mail.sent) - before; n != 4 {
		t.Errorf("%d mails after a day", n)
	}
}

func (w world) run(fn func(*op.Call) error) { w.t.Helper(); w.Run("bench", fn) }

func TestMoneyNeedsAnAdministratorFirst(t *testing.T) {
	w := newWorld(t)
	_, admin := w.Person("admin@guildhall.test", account.RoleAdmin)
	_, steward := w.Person("steward@guildhall.test", account.RoleSteward)
	a := w.register("Paid")
	allow := optest.Req{Token: admin, Path: map[string]string{"maker_id": a.ID}}
	w.Do(AuthorizeRecovery, allow).Refused(409, "contact_unconfirmed")
	w.confirm(a)
	w.run(func(c *op.Call) error { return SetPaidWork(c, a.ID) })
	sent := len(w.mail.sent)
	w.request(a)
	w.Settle()
	if len(w.mail.sent) != sent {
		t.Fatal("the mail went out without consent")
	}
	w.Do(AuthorizeRecovery, optest.Req{Token: steward, Path: allow.Path}).Refused(404, "not found")
	w.Do(AuthorizeRecovery, optest.Req{Token: a.Token, Path: allow.Path}).Refused(401, "unauthorized")
	w.Do(AuthorizeRecovery, optest.Req{Token: admin, Path: map[string]string{"maker_id": "x"}}).Refused(404, "not found")
	if r := w.Do(AuthorizeRecovery, allow).Want(200); r.At("recovery_pending") != false || r.At("recovery_authorized_at") != nil {
		t.Errorf("%s", r.Body)
	}
	w.Settle()
	if len(w.mail.sent) != sent+1 {
		t.Fatal("consent to a waiting request sends the mail")
	}
	if r := w.Do(AuthorizeRecovery, allow).Want(200); r.At("recovery_authorized_at") == nil {
		t.Errorf("%s", r.Body)
	}
	w.Advance(23 * time.Hour)
	w.request(a)
	w.Settle()
	if len(w.mail.sent) != sent+2 {
		t.Fatal("consent given before serves the next request")
	}
	w.request(a)
	w.Settle()
	if len(w.mail.sent) != sent+2 {
		t.Fatal("one consent, one mail")
	}
	w.Do(AuthorizeRecovery, allow).Want(200)
	_, link := w.mail.last(t, "ops@ninedoors.example.com")
	w.Advance(time.Hour)
	w.Do(RedeemRecovery, optest.Req{Body: obj{"token": link, "recovery_public_key": pub(testKey(3))}}).Refused(401, "link_expired")
}

func TestContactLinks(t *testing.T) {
	w := newWorld(t)
	a := w.register("Contacted")
	w.Settle()
	_, first := w.mail.last(t, "ops@ninedoors.example.com")
	for range 3 {
		r := w.Do(ResendContact, optest.Req{Token: a.Token}).Want(200)
		if r.At("sent") != true || r.At("contact_confirmation.confirmed") != false {
			t.Errorf("%s", r.Body)
		}
	}
	w.Do(ResendContact, optest.Req{Token: a.Token}).Refused(429, "rate_limited")
	w.Settle()
	if n := w.mail.count("ops@ninedoors.example.com"); n != 4 {
		t.Errorf("%d mails", n)
	}
	for _, bad := range []string{"x", a.Token, first[:len(first)-1] + "A", strings.Replace(first, "contact", "recovery", 1)} {
		if bad == first {
			bad = first[:len(first)-1] + "B"
		}
		w.Do(ConfirmContact, optest.Req{Body: obj{"token": bad}}).Refused(401, "link_expired")
	}
	w.Do(RedeemRecovery, optest.Req{Body: obj{"token": first, "recovery_public_key": pub(testKey(3))}}).Refused(401, "link_expired")
	w.Advance(7*24*time.Hour - time.Minute)
	_, newest := w.mail.last(t, "ops@ninedoors.example.com")
	if r := w.Do(ConfirmContact, optest.Req{Body: obj{"token": first}}).Want(200); r.At("confirmed") != true {
		t.Errorf("%s", r.Body)
	}
	w.Do(ConfirmContact, optest.Req{Body: obj{"token": first}}).Refused(401, "link_expired")
	w.Do(ConfirmContact, optest.Req{Body: obj{"token": newest}}).Refused(401, "link_expired")
	me := w.Do(Me, optest.Req{Token: a.Token}).Want(200)
	if me.Str("verification_state") != DomainVerified || me.At("contact_confirmation.confirmed") != true {
		t.Errorf("%s", me.Body)
	}
	if r := w.Do(ResendContact, optest.Req{Token: a.Token}).Want(200); r.At("sent") != false {
		t.Errorf("%s", r.Body)
	}
	b := w.register("Late")
	w.Settle()
	_, late := w.mail.last(t, "ops@ninedoors.example.com")
	w.Advance(7 * 24 * time.Hour)
	w.Do(ConfirmContact, optest.Req{Body: obj{"token": late}}).Refused(401, "link_expired")
	_ = b
}

func TestVerificationFollowsTheCompanyDomain(t *testing.T) {
	for name, c := range map[string]struct{ kind, url, mail, want string }{
		"same":                {"company", "https://www.acme.com/x", "a@acme.com", DomainVerified},
		"subdomain of it":     {"company", "https://agents.acme.co.uk", "a@mail.acme.co.uk", DomainVerified},
		"another":             {"company", "https://acme.com", "a@acme.org", Confirmed},
		"suffix only":         {"company", "https://acme.co.uk", "a@other.co.uk", Confirmed},
		"look-alike":          {"company", "https://acme.com", "a@notacme.com", Confirmed},
		"mailbox provider":    {"company", "https://gmail.com", "a@gmail.com", Confirmed},
		"a person's web site": {"person", "https://acme.com", "a@acme.com", Confirmed},
		"case":                {"company", "https://ACME.com", "A@Acme.COM", DomainVerified},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := with(with(with(form("Domain"), "disclosure.operator_type", c.kind), "disclosure.company_url", c.url), "responsible_party.contact_ref", c.mail)
			r := w.Do(Register, optest.Req{Body: f}).Want(201)
			w.Settle()
			_, token := w.mail.last(t, c.mail)
			w.Do(ConfirmContact, optest.Req{Body: obj{"token": token}}).Want(200)
			if got := w.Do(Me, optest.Req{Token: r.Str("rest_token")}).Str("verification_state"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestRotateAndKeys(t *testing.T) {
	w := newWorld(t)
	r := w.Do(Register, optest.Req{Body: form("Rotating")}).Want(201)
	tok := r.Str("rest_token")
	one := w.Do(Rotate, optest.Req{Token: tok}).Want(200)
	if one.Str("rest_token") == "" || one.Str("mcp_client_id") != r.Str("mcp_client_id") || one.Str("rotated_at") != "2026-11-30T18:20:00Z" {
		t.Errorf("%s", one.Body)
	}
	w.Do(Rotate, optest.Req{Token: tok}).Refused(401, "unauthorized")
	tok = one.Str("rest_token")
	w.Do(Rotate, optest.Req{Token: tok, Body: obj{"x": 1}}).Refused(422, "unknown_field")
	w.Do(Rotate, optest.Req{Token: tok, Key: "-"}).Refused(400, "idempotency_key_required")
	set := w.Do(SetRecoveryKey, optest.Req{Token: tok, Body: obj{"recovery_public_key": pub(testKey(1))}}).Want(200)
	if set.At("replaced_previous") != false || set.At("recovery_key_set") != true {
		t.Errorf("%s", set.Body)
	}
	if again := w.Do(SetRecoveryKey, optest.Req{Token: tok, Body: obj{"recovery_public_key": pub(testKey(2))}}).Want(200); again.At("replaced_previous") != true {
		t.Errorf("%s", again.Body)
	}
	w.Do(SetRecoveryKey, optest.Req{Token: tok, Body: obj{"recovery_public_key": base64.StdEncoding.EncodeToString(testKey(1))}}).Refused(422, "private_key_detected")
	w.Do(SetRecoveryKey, optest.Req{Token: tok, Body: obj{"recovery_public_key": ""}}).Refused(422, "invalid_field")
	w.Do(SetRecoveryKey, optest.Req{Token: tok, Body: obj{}}).Refused(422, "missing_field")
	w.Do(SetClientKey, optest.Req{Token: tok, Body: obj{"client_public_key": strings.Repeat("00", 32)}}).Refused(422, "public_key_invalid")
	first := w.Do(SetClientKey, optest.Req{Token: tok, Body: obj{"client_public_key": pub(testKey(1))}}).Want(200)
	if first.At("replaced_previous") != false {
		t.Errorf("%s", first.Body)
	}
}

func TestAStolenRowOpensNothing(t *testing.T) {
	w := newWorld(t)
	a := w.register("Guarded")
	forged := a.Token[:len(a.Token)-43] + strings.Repeat("A", 43)
	for name, tok := range map[string]string{"forged": forged, "empty": "", "words": "Bearer", "another's id": strings.Replace(a.Token, a.ID, "00000000-0000-4000-8000-000000000000", 1),
		"another kind": strings.Replace(a.Token, "gh_agent", "gh_person", 1)} {
		if r := w.Do(Me, optest.Req{Token: tok}); r.Status != 401 {
			t.Errorf("%s: %d", name, r.Status)
		}
	}
	w.run(func(c *op.Call) error { _, err := Delist(c, a.ID, "fraud"); return err })
	w.Do(Me, optest.Req{Token: a.Token}).Refused(401, "unauthorized")
	w.complete(w.challenge(a.ID), a.key).Refused(401, "recovery_failed")
	w.token(a, w.ticket(a).sign()).Refused(401, "invalid_client")
}

func sign(a agent, ch optest.Res) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(a.key, []byte(ch.Str("challenge"))))
}
