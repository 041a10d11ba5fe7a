// Package sms is the port through which text messages leave for phones.
//
// A text costs money and disturbs: it is better lost than sent twice. So the port tells what
// is known not to be sent (ErrUnavailable, to be tried again) from what may have been
// (ErrUnknown, never to be sent again), and pkg/sms/outbox keeps to that.
//
// Adapters: the local box (pkg/mail/box, which keeps texts beside emails) and sns. Both pass
// smstest.
package sms

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a text message.
const (
	MinDigits   = 7   // digits of a number, country code included
	MaxDigits   = 15  // digits of a number (E.164)
	MaxBody     = 320 // characters of a body
	MaxParts    = 3   // parts a body is sent in; each is paid for
	MaxKeyBytes = 256 // bytes of a key
)

// Errors of a Sender. Anything else means that the result is not known, like ErrUnknown.
var (
	// ErrInvalid: the message can never be sent as it is.
	ErrInvalid = errors.New("sms: invalid message")
	// ErrRefused: this number gets no text for good: its owner opted out, or it is no phone.
	ErrRefused = errors.New("sms: refused for good")
	// ErrUnavailable: known not to be sent; try again.
	ErrUnavailable = errors.New("sms: the way out is unavailable")
	// ErrUnknown: it may have been sent and may not; do not send it again.
	ErrUnknown = errors.New("sms: nobody knows whether it was sent")
)

// Message is one text to one phone.
type Message struct {
	To   string `json:"to"`   // the number in E.164: a plus and 7 to 15 digits
	Body string `json:"body"` // one line; a link, if any, is its end
	Key  string `json:"key"`  // permanent key of the effect
}

// Sender is the port.
type Sender interface {
	// Send hands a text over once. Nil means that the carrier's side has it.
	Send(ctx context.Context, m Message) error
}

// Valid refuses what no adapter may send. Adapters call it first. The error names neither
// number nor body.
func (m Message) Valid() error {
	switch n := utf8.RuneCountInString(m.Body); {
	case m.Key == "" || len(m.Key) > MaxKeyBytes || !oneLine(m.Key):
		return fmt.Errorf("%w: key of %d bytes, 1 to %d in one line", ErrInvalid, len(m.Key), MaxKeyBytes)
	case !IsNumber(m.To):
		return fmt.Errorf("%w: the number is not a plus and %d to %d digits", ErrInvalid, MinDigits, MaxDigits)
	case strings.TrimSpace(m.Body) == "" || !oneLine(m.Body):
		return fmt.Errorf("%w: the body is not one line of text", ErrInvalid)
	case n > MaxBody || Parts(m.Body) > MaxParts:
		return fmt.Errorf("%w: body of %d characters in %d parts, at most %d in %d", ErrInvalid, n, Parts(m.Body), MaxBody, MaxParts)
	case !linkLast(m.Body):
		return fmt.Errorf("%w: more than one link, or text behind it", ErrInvalid)
	}
	return nil
}

// IsNumber tells whether s is a phone number in E.164: a plus, a digit other than zero, and
// 6 to 14 more.
func IsNumber(s string) bool {
	digits, ok := strings.CutPrefix(s, "+")
	if !ok || len(digits) < MinDigits || len(digits) > MaxDigits || digits[0] == '0' {
		return false
	}
	return strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// oneLine tells whether s is UTF-8 without control, formatting and line characters: nothing
// that a phone shows differently from what it is.
func oneLine(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) }

func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != joiner || r == 0x2028 || r == 0x2029
}

// joiner joins emoji; it is the one formatting character that belongs into a text.
const joiner = 0x200d

// linkLast tells whether a body has no link, or one that ends it.
func linkLast(body string) bool {
	_, rest, found := strings.Cut(body, "://")
	return !found || rest != "" && !strings.ContainsFunc(rest, unicode.IsSpace) && !strings.Contains(rest, "://")
}

// Text makes a valid body of a sentence and a link: what would break the line becomes a
// blank, links of the sentence lose their scheme, and the sentence is cut so that the link
// stays whole. A link that does not fit by itself is left out.
func Text(sentence, link string) string {
	sentence = strings.ReplaceAll(clean(sentence), "://", " ")
	if fits(link) && linkLast(link) && oneLine(link) {
		link = strings.TrimSpace(link)
	} else {
		link = ""
	}
	if body := join(sentence, link); fits(body) {
		return body
	}
	runes := []rune(sentence)
	runes = runes[:min(len(runes), MaxBody)]
	low, high := 0, len(runes)+1 // what is kept: low fits, high does not
	for low+1 < high {
		mid := (low + high) / 2
		if fits(join(cut(runes, mid), link)) {
			low = mid
		} else {
			high = mid
		}
	}
	return join(cut(runes, low), link)
}

func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if hidden(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.Join(strings.Fields(s), " ")
}

// cut keeps n characters and says that more followed; three dots are GSM characters, the
// ellipsis is not and would halve the room.
func cut(runes []rune, n int) string {
	if n == 0 {
		return ""
	}
	return strings.TrimSpace(string(runes[:n])) + "..."
}

func join(sentence, link string) string { return strings.TrimSpace(sentence + " " + link) }

func fits(body string) bool {
	return utf8.RuneCountInString(body) <= MaxBody && Parts(body) <= MaxParts
}
