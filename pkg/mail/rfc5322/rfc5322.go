// Package rfc5322 writes a mail.Mail as the bytes that travel: headers, and the text with
// the HTML beside it, in 7-bit lines that every relay passes on. SMTP and SES send the same
// bytes.
package rfc5322

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"mime/quotedprintable"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"guildhall/pkg/mail"
)

const (
	lineLength  = 76 // bytes of a header line, where a space allows to break it
	wordBytes   = 42 // bytes of text in one encoded word: 56 in base64, under the 75 it may have
	keyIDDigits = 40 // hex digits of the key's hash in a Message-ID
)

// Render writes a valid email. The date is the header's; everything else follows from the
// mail, so that the same mail is the same bytes.
func Render(m mail.Mail, date time.Time) []byte {
	var b bytes.Buffer
	field(&b, "From", sender(m.From))
	field(&b, "To", m.To)
	field(&b, "Subject", words(m.Subject))
	field(&b, "Date", date.UTC().Format("Mon, 02 Jan 2006 15:04:05 +0000"))
	field(&b, "Message-ID", MessageID(m))
	field(&b, "MIME-Version", "1.0")
	given := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		given[strings.ToLower(name)] = true
		field(&b, name, words(m.Headers[name]))
	}
	if !given["auto-submitted"] {
		field(&b, "Auto-Submitted", "auto-generated") // so that out-of-office robots keep quiet
	}
	if m.HTML == "" {
		part(&b, "text/plain", m.Text)
		return b.Bytes()
	}
	// "=_" stands in no quoted-printable text.
	boundary := "=_" + hash(m.Key)
	field(&b, "Content-Type", `multipart/alternative; boundary="`+boundary+`"`)
	for _, p := range [][2]string{{"text/plain", m.Text}, {"text/html", m.HTML}} {
		b.WriteString("\r\n--" + boundary + "\r\n")
		part(&b, p[0], p[1])
	}
	b.WriteString("\r\n--" + boundary + "--\r\n")
	return b.Bytes()
}

// MessageID follows from the key: a message that is sent a second time, because the answer
// to the first was lost, is the same message to whoever receives it.
func MessageID(m mail.Mail) string {
	return "<" + hash(m.Key) + "@" + Domain(m.From) + ">"
}

// Mailbox is the bare mailbox of a sender.
func Mailbox(sender string) string {
	if _, rest, ok := strings.Cut(sender, "<"); ok {
		return strings.TrimSuffix(rest, ">")
	}
	return sender
}

// Domain is the domain of a sender.
func Domain(sender string) string {
	_, domain, _ := strings.Cut(Mailbox(sender), "@")
	return domain
}

// International tells whether a message has an address that only relays with SMTPUTF8 take.
func International(m mail.Mail) bool { return !ascii(m.To) || !ascii(Mailbox(m.From)) }

func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:keyIDDigits]
}

// sender writes the name before the mailbox in a form that its characters allow.
func sender(from string) string {
	name, _, ok := strings.Cut(from, "<")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return from
	}
	switch {
	case !ascii(name) || strings.Contains(name, "=?"):
		name = words(name)
	case strings.ContainsAny(name, ".>"):
		name = `"` + name + `"`
	}
	return name + " <" + Mailbox(from) + ">"
}

// words writes a value of any characters in encoded words (RFC 2047) where it needs them.
func words(s string) string {
	if ascii(s) && !strings.Contains(s, "=?") {
		return s
	}
	var out []string
	for s != "" {
		n := 0
		for n < len(s) {
			_, size := utf8.DecodeRuneInString(s[n:])
			if n+size > wordBytes {
				break
			}
			n += size
		}
		out = append(out, "=?utf-8?B?"+base64.StdEncoding.EncodeToString([]byte(s[:n]))+"?=")
		s = s[n:]
	}
	return strings.Join(out, " ")
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// field writes a header, broken at a single space where a line would get long: readers cut
// off further ones. Unfolding gives the value back.
func field(b *bytes.Buffer, name, value string) {
	b.WriteString(name + ":")
	column := len(name) + 1
	before := ""
	for token := range strings.SplitSeq(value, " ") {
		if token != "" && before != "" && column+1+len(token) > lineLength {
			b.WriteString("\r\n")
			column = 0
		}
		b.WriteString(" " + token)
		column += 1 + len(token)
		before = token
	}
	b.WriteString("\r\n")
}

// part writes the headers and the body of one text.
func part(b *bytes.Buffer, kind, text string) {
	fmt.Fprintf(b, "Content-Type: %s; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", kind)
	w := quotedprintable.NewWriter(b)
	_, _ = w.Write([]byte(text)) // a buffer takes everything
	_ = w.Close()
}
