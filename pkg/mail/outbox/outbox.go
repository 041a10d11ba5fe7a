// Package outbox stages mail as rows of the commit that causes it; a job sends each of
// them once afterwards (law 7).
package outbox

import (
	"context"
	"errors"
	"html"
	"strings"
	"unicode"

	"guildhall/pkg/mail"
	"guildhall/pkg/op"
)

// Kind is the effect kind of a mail in the outbox.
const Kind = "mail"

// Letters is the way out together with the sender's address.
type Letters struct {
	Mailer mail.Mailer
	From   string // "Name <mailbox>"
}

type key struct{}

// With puts the way out into a context.
func With(ctx context.Context, l Letters) context.Context { return context.WithValue(ctx, key{}, l) }

// Send stages a mail. Its Key is permanent: a mail staged twice under one key is sent once.
func Send(c *op.Call, m mail.Mail) { c.Effect(Kind, m.Key, m) }

// Effect sends what Send staged. A mail that can never be sent is dropped and logged by
// the job, not tried again.
var Effect = op.EffectKind{Kind: Kind, Touches: op.Mail, Do: func(c *op.Call, t op.Fired) (any, error) {
	var m mail.Mail
	if err := op.Decode(t.Payload, &m); err != nil {
		return nil, err
	}
	l, ok := c.Value(key{}).(Letters)
	if !ok {
		return nil, errors.New("outbox: no way out for mail is set up")
	}
	if m.From == "" {
		m.From = l.From
	}
	err := l.Mailer.Send(c, m)
	if errors.Is(err, mail.ErrInvalid) || errors.Is(err, mail.ErrRefused) {
		return err.Error(), nil
	}
	return nil, err
}}

// Effects are what every context's sweep does for the outbox.
var Effects = []op.EffectKind{Effect}

// Letter makes an email of one paragraph and one link, in text and HTML. Paragraphs of
// body are parted by blank lines. A subject holds people's and agents' words: breaks and other
// controls in it become spaces and what is too long is cut, for a mail that cannot be sent
// would leave its reader without a word.
func Letter(to, key, subject, body, label, link string) mail.Mail {
	subject = strings.Join(strings.FieldsFunc(subject, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if r := []rune(subject); len(r) > mail.MaxSubject {
		subject = string(r[:mail.MaxSubject])
	}
	m := mail.Mail{To: to, Subject: subject, Text: body, Key: key}
	var h strings.Builder
	h.WriteString(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>` + html.EscapeString(subject) + `</title></head><body>`)
	for p := range strings.SplitSeq(body, "\n\n") {
		h.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(p), "\n", "<br>") + "</p>")
	}
	if link != "" {
		m.Text += "\n\n" + label + ": " + link
		h.WriteString(`<p><a href="` + html.EscapeString(link) + `">` + html.EscapeString(label) + `</a></p>`)
	}
	h.WriteString("</body></html>")
	m.HTML = h.String()
	return m
}
