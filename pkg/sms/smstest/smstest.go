// Package smstest is the contract of pkg/sms as a test suite: every adapter passes it.
package smstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"guildhall/pkg/sms"
)

// Subject is one fresh way out under test.
type Subject struct {
	Sender sms.Sender
	// Delivered returns the bodies that have arrived at a number so far, oldest first.
	Delivered func(t *testing.T, to string) []string
	// Keyed tells that a repeated key is never delivered twice. Services without keys cannot;
	// pkg/sms/outbox asks them once.
	Keyed bool
}

// Run runs the suite; open is called once for each test.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"a text arrives whole":                        whole,
		"texts of a number come oldest first":         order,
		"the same key is delivered once":              once,
		"invalid texts are refused and never arrive":  invalid,
		"an ended context sends nothing":              ended,
		"the limits can be used up":                   full,
		"a refusal names neither the number nor text": discreet,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Message is a valid text.
func Message(key string) sms.Message {
	return sms.Message{To: "+15550100200", Body: "Day 3 of 12 is here: \"Grüße & 100% + more\" https://exchange.example/deals/1?day=3", Key: key}
}

func send(t *testing.T, s Subject, m sms.Message) {
	t.Helper()
	if err := s.Sender.Send(t.Context(), m); err != nil {
		t.Fatalf("Send: %v", err)
	}
}

func arrived(t *testing.T, s Subject, want ...string) {
	t.Helper()
	if got := s.Delivered(t, Message("").To); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("arrived %q, want %q", got, want)
	}
}

func whole(t *testing.T, s Subject) {
	m := Message("k1")
	send(t, s, m)
	arrived(t, s, m.Body)
	if other := s.Delivered(t, "+15550100201"); len(other) != 0 {
		t.Errorf("another number got %q", other)
	}
}

func order(t *testing.T, s Subject) {
	var want []string
	for i := range 12 {
		m := Message(fmt.Sprint("k", i))
		m.Body = fmt.Sprint("number ", i)
		send(t, s, m)
		want = append(want, m.Body)
	}
	arrived(t, s, want...)
}

func once(t *testing.T, s Subject) {
	if !s.Keyed {
		return
	}
	m := Message("k1")
	send(t, s, m)
	m.Body = "another text under the same key"
	send(t, s, m)
	m.Key = "k2"
	send(t, s, m)
	arrived(t, s, Message("").Body, m.Body)
}

func full(t *testing.T, s Subject) {
	for i, m := range []sms.Message{
		{To: "+1234567", Body: strings.Repeat("a", sms.MaxBody)}, {To: "+123456789012345", Body: "a"},
		{To: "+1234567", Body: strings.Repeat("ж", 201)}, {To: "+1234567", Body: "a", Key: strings.Repeat("k", sms.MaxKeyBytes)},
	} {
		if m.Key == "" {
			m.Key = fmt.Sprint("k", i)
		}
		send(t, s, m)
	}
}

// cases are the ways in which a text cannot be sent.
var cases = map[string]func(*sms.Message){
	"no key":              func(m *sms.Message) { m.Key = "" },
	"a long key":          func(m *sms.Message) { m.Key = strings.Repeat("k", sms.MaxKeyBytes+1) },
	"a line in the key":   func(m *sms.Message) { m.Key = "a\nb" },
	"no number":           func(m *sms.Message) { m.To = "" },
	"no plus":             func(m *sms.Message) { m.To = "15550100200" },
	"letters":             func(m *sms.Message) { m.To = "+1555CALLNOW" },
	"a mailbox":           func(m *sms.Message) { m.To = "ada@example.org" },
	"a blank":             func(m *sms.Message) { m.To = "+1 5550100200" },
	"a short number":      func(m *sms.Message) { m.To = "+123456" },
	"a long number":       func(m *sms.Message) { m.To = "+1234567890123456" },
	"a zero in front":     func(m *sms.Message) { m.To = "+05550100200" },
	"digits of elsewhere": func(m *sms.Message) { m.To = "+١٢٣٤٥٦٧٨" },
	"two numbers":         func(m *sms.Message) { m.To += "," + m.To },
	"a topic":             func(m *sms.Message) { m.To = "arn:aws:sns:eu-west-1:123456789012:alarms" },
	"no body":             func(m *sms.Message) { m.Body = "" },
	"a blank body":        func(m *sms.Message) { m.Body = "  " },
	"a second line":       func(m *sms.Message) { m.Body = "a\nb" },
	"a carriage return":   func(m *sms.Message) { m.Body = "a\rb" },
	"a NUL":               func(m *sms.Message) { m.Body = "a\x00b" },
	"an escape":           func(m *sms.Message) { m.Body = "a\x1b[2Jb" },
	"a C1 control":        func(m *sms.Message) { m.Body = "a\u0085b" },
	"a turned direction":  func(m *sms.Message) { m.Body = "a\u202eb" },
	"a hidden character":  func(m *sms.Message) { m.Body = "a\u200bb" },
	"no UTF-8":            func(m *sms.Message) { m.Body = "a\xffb" },
	"a long body":         func(m *sms.Message) { m.Body = strings.Repeat("a", sms.MaxBody+1) },
	"too many parts":      func(m *sms.Message) { m.Body = strings.Repeat("ж", 202) },
	"text behind a link":  func(m *sms.Message) { m.Body = "see https://exchange.example/a and call" },
	"two links":           func(m *sms.Message) { m.Body = "https://exchange.example/a https://exchange.example/b" },
}

func invalid(t *testing.T, s Subject) {
	for what, change := range cases {
		m := Message("k1")
		change(&m)
		if err := s.Sender.Send(t.Context(), m); !errors.Is(err, sms.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	arrived(t, s)
}

func discreet(t *testing.T, s Subject) {
	for what, change := range cases {
		m := Message("k1")
		change(&m)
		err := s.Sender.Send(t.Context(), m)
		if err == nil || len(m.To) > 3 && strings.Contains(err.Error(), m.To) || len(m.Body) > 3 && strings.Contains(err.Error(), m.Body) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func ended(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Sender.Send(ctx, Message("k1")); !errors.Is(err, sms.ErrUnavailable) {
		t.Errorf("Send with an ended context: %v, want ErrUnavailable: nothing was sent", err)
	}
	arrived(t, s)
}
