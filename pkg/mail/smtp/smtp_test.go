package smtp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/mail"
	"guildhall/pkg/mail/mailtest"
	"guildhall/pkg/mail/rfc5322"
)

func fixed() time.Time { return time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC) }

func mailer(t *testing.T, r *relay, change func(*Options)) *Mailer {
	t.Helper()
	o := Options{Host: r.listener.Addr().String(), Protection: StartTLS, Now: fixed, Roots: r.roots}
	if r.implicit {
		o.Protection = Implicit
	}
	if change != nil {
		change(&o)
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (r *relay) arrived(t *testing.T, to string) (out []mail.Mail) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.inbox {
		m, err := mailtest.Parse([]byte(l.raw))
		if err != nil {
			t.Fatalf("%v in\n%s", err, l.raw)
		}
		if l.to == to {
			out = append(out, m)
		}
	}
	return out
}

func TestSuite(t *testing.T) {
	for name, c := range map[string]struct {
		relay func(*relay)
		opts  func(*Options)
	}{
		"starttls": {nil, nil},
		"implicit": {func(r *relay) { r.implicit = true }, nil},
		"none":     {nil, func(o *Options) { o.Protection = None }},
		"sign-in":  {nil, func(o *Options) { o.Username, o.Password = "guildhall", "s3cret" }},
	} {
		t.Run(name, func(t *testing.T) {
			mailtest.Run(t, func(t *testing.T) mailtest.Subject {
				r := relayed(t, c.relay)
				return mailtest.Subject{Mailer: mailer(t, r, c.opts), Delivered: r.arrived}
			})
		})
	}
}

func TestWithTLSNothingTravelsInTheClear(t *testing.T) {
	for name, implicit := range map[string]bool{"starttls": false, "implicit": true} {
		r := relayed(t, func(r *relay) { r.implicit = implicit })
		if err := mailer(t, r, nil).Send(t.Context(), mailtest.Message("k")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(r.inbox) != 1 || !r.inbox[0].secure {
			t.Errorf("%s: %+v", name, r.inbox)
		}
	}
}

func TestARelayWithoutStartTLSGetsNothing(t *testing.T) {
	r := relayed(t, func(r *relay) { r.offers = []string{"AUTH PLAIN"} })
	m := mailer(t, r, func(o *Options) { o.Username, o.Password = "guildhall", "s3cret" })
	if err := m.Send(t.Context(), mailtest.Message("k")); !errors.Is(err, mail.ErrUnavailable) {
		t.Errorf("Send: %v", err)
	}
	for _, line := range r.heard {
		if !strings.HasPrefix(line, "EHLO") {
			t.Errorf("the relay heard %q", line)
		}
	}
}

func TestAnUnknownCertificateGetsNothing(t *testing.T) {
	for name, implicit := range map[string]bool{"starttls": false, "implicit": true} {
		r := relayed(t, func(r *relay) { r.implicit = implicit })
		m := mailer(t, r, func(o *Options) { o.Roots = nil })
		if err := m.Send(t.Context(), mailtest.Message("k")); !errors.Is(err, mail.ErrUnavailable) || len(r.inbox) != 0 {
			t.Errorf("%s: %v, %d messages", name, err, len(r.inbox))
		}
	}
}

func TestSignInIsPlainOrWhatTheRelayKnows(t *testing.T) {
	for offer, want := range map[string]string{"AUTH PLAIN LOGIN": "AUTH PLAIN", "AUTH LOGIN XOAUTH2": "AUTH LOGIN"} {
		r := relayed(t, func(r *relay) { r.offers = []string{"STARTTLS", offer} })
		m := mailer(t, r, func(o *Options) { o.Username, o.Password = "guildhall", "s3cret" })
		if err := m.Send(t.Context(), mailtest.Message("k")); err != nil {
			t.Errorf("%s: %v", offer, err)
		}
		if !slices.ContainsFunc(r.heard, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("%s: the relay heard %q", offer, r.heard)
		}
	}
}

func TestAWrongPasswordIsTriedAgainLaterAndNeverShown(t *testing.T) {
	for _, offer := range []string{"AUTH PLAIN", "AUTH LOGIN", "8BITMIME"} {
		r := relayed(t, func(r *relay) { r.offers = []string{"STARTTLS", offer} })
		m := mailer(t, r, func(o *Options) { o.Username, o.Password = "guildhall", "wrong-one" })
		err := m.Send(t.Context(), mailtest.Message("k"))
		if !errors.Is(err, mail.ErrUnavailable) || strings.Contains(err.Error(), "wrong-one") {
			t.Errorf("%s: %v", offer, err)
		}
	}
}

func TestWhatARelaySaysDecidesWhetherToTryAgain(t *testing.T) {
	for answer, want := range map[string]error{
		"greeting 554 go away": mail.ErrUnavailable, "greeting 421 busy": mail.ErrUnavailable, "greeting": mail.ErrUnavailable,
		"STARTTLS 454 not now": mail.ErrUnavailable,
		"MAIL 451 later":       mail.ErrUnavailable, "MAIL 550 not you": mail.ErrRefused, "MAIL 530 sign in first": mail.ErrUnavailable,
		"RCPT 450 greylisted": mail.ErrUnavailable, "RCPT 550 no such user ada@example.org": mail.ErrRefused, "RCPT 503 what": mail.ErrUnavailable, "RCPT": mail.ErrUnavailable,
		"DATA 451 later": mail.ErrUnavailable, "DATA 554 no": mail.ErrRefused,
		". 452 disk full": mail.ErrUnavailable, ". 552 too large": mail.ErrRefused, ".": mail.ErrUnavailable,
	} {
		word, text, _ := strings.Cut(answer, " ")
		r := relayed(t, func(r *relay) { r.answers[word] = text })
		err := mailer(t, r, nil).Send(t.Context(), mailtest.Message("k"))
		if !errors.Is(err, want) || len(r.inbox) != 0 {
			t.Errorf("%s: %v, %d messages", answer, err, len(r.inbox))
		}
		if err != nil && strings.Contains(err.Error(), "ada@") {
			t.Errorf("%s: an address in %v", answer, err)
		}
	}
}

func TestARelayThatTalksWithoutEndIsLeft(t *testing.T) {
	r := relayed(t, func(r *relay) { r.answers["EHLO"] = strings.Repeat("250-x\r\n", maxHeard/7+1) + "250 x" })
	if err := mailer(t, r, nil).Send(t.Context(), mailtest.Message("k")); !errors.Is(err, mail.ErrUnavailable) {
		t.Errorf("Send: %v", err)
	}
}

func TestASilentRelayIsLeftWhenTheContextEnds(t *testing.T) {
	r := relayed(t, nil)
	r.mu.Lock() // its first word waits for us
	defer r.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- mailer(t, r, nil).Send(ctx, mailtest.Message("k")) }()
	cancel()
	if err := <-done; !errors.Is(err, mail.ErrUnavailable) {
		t.Errorf("Send: %v", err)
	}
}

func TestAnAddressBeyondASCIINeedsARelayThatTakesIt(t *testing.T) {
	m := mailtest.Message("k")
	m.To = "jörg@example.com"
	r := relayed(t, nil)
	if err := mailer(t, r, nil).Send(t.Context(), m); err != nil || len(r.arrived(t, m.To)) != 1 {
		t.Errorf("with SMTPUTF8: %v", err)
	}
	r = relayed(t, func(r *relay) { r.offers = []string{"STARTTLS"} })
	if err := mailer(t, r, nil).Send(t.Context(), m); !errors.Is(err, mail.ErrRefused) {
		t.Errorf("without: %v", err)
	}
}

func TestASecondAttemptIsTheSameMessage(t *testing.T) {
	r := relayed(t, nil)
	m := mailtest.Message("k")
	for range 2 {
		if err := mailer(t, r, nil).Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	got := r.arrived(t, m.To)
	if len(got) != 2 || got[0].Headers["Message-Id"] != rfc5322.MessageID(m) || got[1].Headers["Message-Id"] != rfc5322.MessageID(m) {
		t.Errorf("arrived %+v", got)
	}
}

func TestWrongSetUpsAreRefused(t *testing.T) {
	for what, o := range map[string]Options{
		"no port": {Host: "mail.example.com", Protection: StartTLS, Now: fixed}, "no protection": {Host: "mail.example.com:25", Now: fixed},
		"no clock": {Host: "mail.example.com:25", Protection: StartTLS},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestEveryLineTravelsUnchanged(t *testing.T) {
	r := relayed(t, nil)
	m := mailtest.Message("k")
	m.Text = ".\n..\n. \n" + strings.Repeat("Wört ", 300) + "\n.\n\nend."
	m.Subject = strings.Repeat("Zwölf ", 40) + "."
	if err := mailer(t, r, nil).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got := r.arrived(t, m.To); len(got) != 1 || got[0].Text != m.Text || got[0].Subject != m.Subject {
		t.Errorf("arrived %+v", got)
	}
}
