package rfc5322

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/mail"
	"guildhall/pkg/mail/mailtest"
)

var date = time.Date(2026, 3, 8, 10, 59, 0, 0, time.FixedZone("", 3600))

func TestAMessageReadsBackAsItWas(t *testing.T) {
	for what, change := range map[string]func(*mail.Mail){
		"as it is":         func(*mail.Mail) {},
		"text alone":       func(m *mail.Mail) { m.HTML = "" },
		"dots and froms":   func(m *mail.Mail) { m.Text = ".\n..\nFrom here\n.end" },
		"blanks at ends":   func(m *mail.Mail) { m.Text = "a \nb\t\n\n\nc " },
		"a long line":      func(m *mail.Mail) { m.Text = strings.Repeat("langes Wört ", 400) + "." },
		"a long word":      func(m *mail.Mail) { m.HTML = strings.Repeat("x", 5000) },
		"equals signs":     func(m *mail.Mail) { m.Text = "a=b =3D =?utf-8?B?eA==?= --=_" },
		"a boundary":       func(m *mail.Mail) { m.Text = "--=_" + hash(m.Key) + "--" },
		"a long subject":   func(m *mail.Mail) { m.Subject = strings.Repeat("日本語 ", 62) + "." },
		"a plain subject":  func(m *mail.Mail) { m.Subject = strings.Repeat("seven w ", 31) + "." },
		"one long word":    func(m *mail.Mail) { m.Subject = strings.Repeat("s", mail.MaxSubject) },
		"blanks in a row":  func(m *mail.Mail) { m.Subject = strings.Repeat("a   b", 40) },
		"encoded looks":    func(m *mail.Mail) { m.Subject = "=?utf-8?q?not_what_it_says?=" },
		"a name":           func(m *mail.Mail) { m.From = "Zünfte und Gäste <a@example.com>" },
		"a dotted name":    func(m *mail.Mail) { m.From = "Guild. Hall > <a@example.com>" },
		"a bare sender":    func(m *mail.Mail) { m.From = "a@example.com" },
		"a header's words": func(m *mail.Mail) { m.Headers = map[string]string{"X-Note": strings.Repeat("ä ö ", 120) + "."} },
		"a long header":    func(m *mail.Mail) { m.Headers = map[string]string{"X-Note": strings.Repeat("x", mail.MaxHeaderBytes)} },
		"our own marker":   func(m *mail.Mail) { m.Headers = map[string]string{"Auto-Submitted": "no"} },
	} {
		m := mailtest.Message("k1")
		change(&m)
		if err := m.Valid(); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		raw := Render(m, date)
		for line := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\r\n"), "\r\n") {
			if len(line) > 998 || strings.ContainsAny(line, "\r\n") || strings.IndexFunc(line, func(r rune) bool { return r > 126 }) >= 0 {
				t.Errorf("%s: line %q", what, line)
			}
		}
		got, err := mailtest.Parse(raw)
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, raw)
			continue
		}
		if got.From != m.From || got.To != m.To || got.Subject != m.Subject || got.Text != m.Text || got.HTML != m.HTML {
			t.Errorf("%s: read %+v\nsent %+v\n%s", what, got, m, raw)
		}
		for name, value := range m.Headers {
			if got.Headers[name] != value {
				t.Errorf("%s: header %s is %q", what, name, got.Headers[name])
			}
		}
	}
}

func TestTheSameMailIsTheSameBytes(t *testing.T) {
	m := mailtest.Message("k1")
	if a, b := Render(m, date), Render(m, date); !bytes.Equal(a, b) {
		t.Errorf("once\n%s\ntwice\n%s", a, b)
	}
	raw := string(Render(m, date))
	for _, want := range []string{"\r\nDate: Sun, 08 Mar 2026 09:59:00 +0000\r\n", "\r\nMessage-ID: " + MessageID(m) + "\r\n", "\r\nAuto-Submitted: auto-generated\r\n"} {
		if !strings.Contains(raw, want) {
			t.Errorf("no %q in\n%s", want, raw)
		}
	}
	other := m
	other.Key = "k2"
	if MessageID(m) == MessageID(other) || !strings.HasSuffix(MessageID(m), "@example.com>") {
		t.Errorf("ids %s and %s", MessageID(m), MessageID(other))
	}
}

func TestOnlyAnAddressIsInternational(t *testing.T) {
	m := mailtest.Message("k1")
	m.From = "Zünfte <a@example.com>"
	if International(m) {
		t.Error("a name made it so")
	}
	m.To = "jörg@example.com"
	if !International(m) {
		t.Error("an address did not")
	}
}
