// Package mail is the port through which messages leave for people: email and texts.
//
// A message carries the permanent key of the effect it is: sending the same key again
// delivers nothing again, as far as the way out can promise it (the local box can; a mail
// service may repeat a message whose answer was lost).
//
// Adapters: box (keeps the messages for a developer to read), SES, SMTP, SNS. All pass
// mailtest.
package mail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Channel is the way a message takes.
type Channel string

// The channels.
const (
	Email Channel = "email"
	Text  Channel = "text" // a text message to a phone
)

// Limits of a message.
const (
	MaxAddressBytes = 254       // bytes of an address
	MaxSubject      = 250       // characters of a subject
	MaxTextBytes    = 256 << 10 // bytes of an email's plain text
	MaxHTMLBytes    = 512 << 10 // bytes of an email's HTML
	MaxSMS          = 1600      // characters of a text message (ten parts)
	MaxHeaders      = 20        // further headers
	MaxHeaderBytes  = 900       // bytes of one header's value
	MaxKeyBytes     = 256       // bytes of a key
)

// Errors of a Mailer. Anything else is an internal error.
var (
	// ErrInvalid: the message can never be sent as it is.
	ErrInvalid = errors.New("mail: invalid message")
	// ErrRefused: the way out refuses this recipient or sender for good.
	ErrRefused = errors.New("mail: refused for good")
	// ErrUnavailable: not known to be sent; try again under the same key.
	ErrUnavailable = errors.New("mail: the way out is unavailable")
)

// Mail is one message to one recipient.
type Mail struct {
	Channel Channel
	// To is one bare address: a mailbox for Email, a phone number in E.164 (+ and 7 to 15
	// digits) for Text.
	To string
	// From is "Name <mailbox>" or a mailbox for Email; for Text it may be empty.
	From    string
	Subject string // Email only, one line
	Text    string // required
	HTML    string // Email only, beside the text
	// Headers are further headers of an email (List-Unsubscribe, Reply-To, In-Reply-To …);
	// those that say who, when, what and how belong to the adapter.
	Headers map[string]string
	// Key is the permanent key of the effect.
	Key string
}

// Mailer is the port.
type Mailer interface {
	// Send delivers m once for its key. Nil means delivered, now or before.
	Send(ctx context.Context, m Mail) error
}

// ownHeaders are written by the adapter alone: a second one could redirect a message or
// change what it is.
var ownHeaders = map[string]bool{
	"to": true, "from": true, "subject": true, "cc": true, "bcc": true, "sender": true, "date": true, "message-id": true,
	"mime-version": true, "return-path": true, "received": true, "dkim-signature": true,
}

// Valid refuses what no adapter may send: a missing part, a line break where a header
// could be smuggled in, more than the limits. Adapters call it first.
func (m Mail) Valid() error {
	if m.Key == "" || len(m.Key) > MaxKeyBytes || !oneLine(m.Key) {
		return fmt.Errorf("%w: key of %d bytes, 1 to %d in one line", ErrInvalid, len(m.Key), MaxKeyBytes)
	}
	if m.Text == "" || !utf8.ValidString(m.Text) || !utf8.ValidString(m.HTML) || strings.ContainsRune(m.Text+m.HTML, 0) {
		return fmt.Errorf("%w: the text is missing or no UTF-8 text", ErrInvalid)
	}
	switch m.Channel {
	case Email:
		return m.validEmail()
	case Text:
		return m.validText()
	}
	return fmt.Errorf("%w: channel %q", ErrInvalid, m.Channel)
}

func (m Mail) validText() error {
	if !isPhone(m.To) {
		return fmt.Errorf("%w: the phone number is not in E.164 form", ErrInvalid)
	}
	if m.Subject != "" || m.HTML != "" || len(m.Headers) > 0 {
		return fmt.Errorf("%w: a text message has no subject, HTML or headers", ErrInvalid)
	}
	if n := utf8.RuneCountInString(m.Text); n > MaxSMS {
		return fmt.Errorf("%w: text message of %d characters, at most %d", ErrInvalid, n, MaxSMS)
	}
	if !oneLine(m.From) || len(m.From) > MaxAddressBytes {
		return fmt.Errorf("%w: sender of a text message", ErrInvalid)
	}
	return nil
}

func (m Mail) validEmail() error {
	if !IsMailbox(m.To) {
		return fmt.Errorf("%w: the recipient is not one bare mailbox", ErrInvalid)
	}
	if !IsSender(m.From) {
		return fmt.Errorf("%w: sender %q", ErrInvalid, m.From)
	}
	if n := utf8.RuneCountInString(m.Subject); n == 0 || n > MaxSubject || !oneLine(m.Subject) {
		return fmt.Errorf("%w: subject of %d characters, 1 to %d in one line", ErrInvalid, n, MaxSubject)
	}
	if len(m.Text) > MaxTextBytes || len(m.HTML) > MaxHTMLBytes {
		return fmt.Errorf("%w: %d bytes of text and %d of HTML, at most %d and %d", ErrInvalid, len(m.Text), len(m.HTML), MaxTextBytes, MaxHTMLBytes)
	}
	if len(m.Headers) > MaxHeaders {
		return fmt.Errorf("%w: %d headers, at most %d", ErrInvalid, len(m.Headers), MaxHeaders)
	}
	for name, value := range m.Headers {
		if err := validHeader(name, value); err != nil {
			return err
		}
	}
	return nil
}

func validHeader(name, value string) error {
	token := name != "" && len(name) <= 64
	for _, c := range []byte(name) {
		token = token && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-')
	}
	lower := strings.ToLower(name)
	if !token || ownHeaders[lower] || strings.HasPrefix(lower, "content-") {
		return fmt.Errorf("%w: header %q is not the sender's to set", ErrInvalid, name)
	}
	if len(value) > MaxHeaderBytes || !oneLine(value) {
		return fmt.Errorf("%w: header %s: one line of at most %d bytes", ErrInvalid, name, MaxHeaderBytes)
	}
	return nil
}

// oneLine tells whether s is UTF-8 without control characters and line separators.
func oneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, breaks)
}

// breaks tells whether some reader of headers may take r for the end of a line.
func breaks(r rune) bool { return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 }

// IsMailbox tells whether s is one bare mailbox, local part and domain, of characters that
// need no quoting: what the exchange can write to.
func IsMailbox(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || len(s) > MaxAddressBytes || local == "" || len(local) > 64 || !strings.Contains(domain, ".") {
		return false
	}
	if strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(s, "..") {
		return false
	}
	if strings.ContainsFunc(local, func(r rune) bool {
		return unicode.IsSpace(r) || breaks(r) || strings.ContainsRune(`"(),:;<>@[\]`, r)
	}) {
		return false
	}
	return isDomain(domain) && utf8.ValidString(local)
}

func isDomain(d string) bool {
	for label := range strings.SplitSeq(d, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}

// IsSender tells whether s is a mailbox or a display name and a mailbox in angle brackets.
func IsSender(s string) bool {
	name, rest, ok := strings.Cut(s, "<")
	if !ok {
		return IsMailbox(s)
	}
	box, closed := strings.CutSuffix(rest, ">")
	return closed && IsMailbox(box) && oneLine(name) && len(name) <= MaxAddressBytes && !strings.ContainsAny(name, `"\,;:@()[]`)
}

func isPhone(s string) bool {
	digits, ok := strings.CutPrefix(s, "+")
	if !ok || len(digits) < 7 || len(digits) > 15 || digits[0] == '0' {
		return false
	}
	return strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
