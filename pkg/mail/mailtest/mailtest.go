// Package mailtest is the contract of pkg/mail as a test suite: every adapter passes it.
package mailtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"guildhall/pkg/mail"
)

// Subject is one fresh way out under test.
type Subject struct {
	Mailer mail.Mailer
	// Delivered returns what has arrived at an address so far, oldest first. Nil where it
	// cannot be seen: then only refusals are checked.
	Delivered func(t *testing.T, to string) []mail.Mail
	// Keyed tells that a repeated key is never delivered twice.
	Keyed bool
}

// Run runs the suite; open is called once for each test.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"a message arrives whole", whole},
		{"messages of an address come oldest first", order},
		{"the same key is delivered once", once},
		{"the same key at the same time is delivered once", together},
		{"invalid messages are refused and never arrive", invalid},
		{"an ended context sends nothing", ended},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// Message is a valid message.
func Message(key string) mail.Mail {
	return mail.Mail{
		To: "ada@example.org", From: "Guildhall <notices@example.com>", Subject: "Zwölf Dollar: your step is waiting",
		Text: "Approve by 14 March.\nÄnderungen welcome.", HTML: "<p>Approve by <b>14 March</b>.</p>",
		Headers: map[string]string{"List-Unsubscribe": "<https://example.com/u/1>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
		Key:     key,
	}
}

func send(t *testing.T, s Subject, m mail.Mail) {
	t.Helper()
	if err := s.Mailer.Send(t.Context(), m); err != nil {
		t.Fatalf("Send: %v", err)
	}
}

func whole(t *testing.T, s Subject) {
	m := Message("k1")
	send(t, s, m)
	if s.Delivered == nil {
		return
	}
	got := s.Delivered(t, m.To)
	if len(got) != 1 {
		t.Fatalf("%d messages arrived, want 1", len(got))
	}
	g := got[0]
	if g.To != m.To || g.From != m.From || g.Subject != m.Subject || g.Text != m.Text || g.HTML != m.HTML {
		t.Errorf("arrived %+v\nsent    %+v", g, m)
	}
	for name, value := range m.Headers {
		if g.Headers[name] != value {
			t.Errorf("header %s is %q, want %q", name, g.Headers[name], value)
		}
	}
	if other := s.Delivered(t, "nobody@example.org"); len(other) != 0 {
		t.Errorf("another address got %+v", other)
	}
}

func order(t *testing.T, s Subject) {
	if s.Delivered == nil {
		return
	}
	const n = 12
	for i := range n {
		m := Message(fmt.Sprint("k", i))
		m.Text = fmt.Sprint("number ", i)
		send(t, s, m)
	}
	for i, m := range s.Delivered(t, Message("").To) {
		if m.Text != fmt.Sprint("number ", i) {
			t.Errorf("message %d is %q", i, m.Text)
		}
	}
}

func once(t *testing.T, s Subject) {
	if !s.Keyed {
		return
	}
	m := Message("k1")
	send(t, s, m)
	m.Text = "another text under the same key"
	send(t, s, m)
	m.Key = "k2"
	send(t, s, m)
	if got := s.Delivered(t, m.To); len(got) != 2 || got[0].Text == m.Text || got[1].Text != m.Text {
		t.Errorf("arrived: %+v, want the first of each key", got)
	}
}

func together(t *testing.T, s Subject) {
	if !s.Keyed {
		return
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.Mailer.Send(t.Context(), Message("k1")); err != nil {
				t.Errorf("Send: %v", err)
			}
		})
	}
	wg.Wait()
	if got := s.Delivered(t, Message("").To); len(got) != 1 {
		t.Errorf("%d messages arrived, want 1", len(got))
	}
}

func invalid(t *testing.T, s Subject) {
	cases := map[string]func(*mail.Mail){
		"no key":         func(m *mail.Mail) { m.Key = "" },
		"a long key":     func(m *mail.Mail) { m.Key = strings.Repeat("k", mail.MaxKeyBytes+1) },
		"no text":        func(m *mail.Mail) { m.Text = "" },
		"bytes":          func(m *mail.Mail) { m.Text = "\xff" },
		"a NUL":          func(m *mail.Mail) { m.Text = "a\x00b" },
		"no recipient":   func(m *mail.Mail) { m.To = "" },
		"two recipients": func(m *mail.Mail) { m.To = m.To + "," + m.To },
		"line in sender": func(m *mail.Mail) { m.From = "a@example.com\r\nBcc: b@example.org" },
	}
	for what, change := range partCases() {
		cases[what] = change
	}
	for what, change := range cases {
		m := Message("k1")
		change(&m)
		if err := s.Mailer.Send(t.Context(), m); !errors.Is(err, mail.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	if s.Delivered == nil {
		return
	}
	if got := s.Delivered(t, Message("").To); len(got) != 0 {
		t.Errorf("arrived: %+v, want nothing", got)
	}
}

func partCases() map[string]func(*mail.Mail) {
	header := func(name, value string) func(*mail.Mail) {
		return func(m *mail.Mail) { m.Headers = map[string]string{name: value} }
	}
	return map[string]func(*mail.Mail){
		"a named recipient":    func(m *mail.Mail) { m.To = "Ada <ada@example.org>" },
		"a recipient's line":   func(m *mail.Mail) { m.To = "ada@example.org\nBcc: x@example.org" },
		"no domain":            func(m *mail.Mail) { m.To = "ada@localhost" },
		"no sender":            func(m *mail.Mail) { m.From = "" },
		"an open sender":       func(m *mail.Mail) { m.From = "Guildhall <notices@example.com" },
		"no subject":           func(m *mail.Mail) { m.Subject = "" },
		"a line in subject":    func(m *mail.Mail) { m.Subject = "a\r\nBcc: b@example.org" },
		"a long subject":       func(m *mail.Mail) { m.Subject = strings.Repeat("s", mail.MaxSubject+1) },
		"a long text":          func(m *mail.Mail) { m.Text = strings.Repeat("t", mail.MaxTextBytes+1) },
		"long HTML":            func(m *mail.Mail) { m.HTML = strings.Repeat("h", mail.MaxHTMLBytes+1) },
		"a header of ours":     header("Bcc", "b@example.org"),
		"a content header":     header("content-type", "text/html"),
		"a header with blank":  header("X Y", "z"),
		"a header with a line": header("X-Y", "z\r\nBcc: b@example.org"),
		"a long header":        header("X-Y", strings.Repeat("z", mail.MaxHeaderBytes+1)),
		"too many headers": func(m *mail.Mail) {
			m.Headers = map[string]string{}
			for i := range mail.MaxHeaders + 1 {
				m.Headers[fmt.Sprint("X-", i)] = "v"
			}
		},
	}
}

func ended(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := Message("k1")
	if err := s.Mailer.Send(ctx, m); err == nil {
		t.Error("Send with an ended context succeeded")
	}
	if s.Delivered != nil && len(s.Delivered(t, m.To)) != 0 {
		t.Error("a message arrived")
	}
}
