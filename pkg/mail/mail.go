// Package mail is the port through which email leaves for people; pkg/sms is the one for
// text messages.
//
// A message carries the permanent key of the effect it is: sending the same key again
// delivers nothing again, as far as the way out can promise it (the local box can; a mail
// service may repeat a message whose answer was lost).
//
// Adapters: box (keeps the messages for a developer to read), SES, SMTP. All pass
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

// Limits of a message.
const (
	MaxAddressBytes = 254       // bytes of an address
	MaxSubject      = 250       // characters of a subject
	MaxTextBytes    = 256 << 10 // bytes of an email's plain text
	MaxHTMLBytes    = 512 << 10 // bytes of an email's HTML
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
	To      string // one bare mailbox
	From    string // "Name <mailbox>" or a mailbox
	Subject string // one line
	Text    string // required
	HTML    string // beside the text
	// Headers are further headers (List-Unsubscribe, Reply-To, In-Reply-To …);
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
