package mailtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"

	"guildhall/pkg/mail"
)

// Parse reads a message as it arrived in a mailbox, for suites of adapters that write one.
func Parse(raw []byte) (mail.Mail, error) {
	msg, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return mail.Mail{}, err
	}
	m := mail.Mail{To: msg.Header.Get("To"), Headers: map[string]string{}}
	from, err := netmail.ParseAddress(msg.Header.Get("From"))
	if err != nil {
		return m, fmt.Errorf("sender: %w", err)
	}
	m.From = from.Address
	if from.Name != "" {
		m.From = from.Name + " <" + from.Address + ">"
	}
	var decoder mime.WordDecoder
	for name := range msg.Header {
		if m.Headers[name], err = decoder.DecodeHeader(msg.Header.Get(name)); err != nil {
			return m, fmt.Errorf("%s: %w", name, err)
		}
	}
	m.Subject = m.Headers["Subject"]
	return m, bodies(&m, msg)
}

func bodies(m *mail.Mail, msg *netmail.Message) error {
	kind, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if kind == "text/plain" {
		b, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
		m.Text = unix(b)
		return err
	}
	if kind != "multipart/alternative" {
		return fmt.Errorf("a message of %s", kind)
	}
	parts := multipart.NewReader(msg.Body, params["boundary"])
	for {
		p, err := parts.NextPart() // takes the quoted-printable off
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := io.ReadAll(p)
		if err != nil {
			return err
		}
		switch p.Header.Get("Content-Type") {
		case "text/plain; charset=utf-8":
			m.Text = unix(b)
		case "text/html; charset=utf-8":
			m.HTML = unix(b)
		default:
			return fmt.Errorf("a part of %s", p.Header.Get("Content-Type"))
		}
	}
}

// unix has lines as they were before they travelled.
func unix(b []byte) string { return strings.ReplaceAll(string(b), "\r\n", "\n") }
