// Package smtp is the way out for email through a relay that speaks SMTP.
//
// The password and the message leave over TLS only, or to a relay on this machine. A relay
// may have taken a message whose answer was lost: the second attempt carries the same
// Message-ID, which follows from the key.
package smtp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/mail"
	"guildhall/pkg/mail/rfc5322"
)

// Protection is how a connection is protected.
type Protection string

// The ways.
const (
	StartTLS Protection = "starttls" // before anything is said; refused when the relay does not offer it
	Implicit Protection = "implicit" // from the first byte
	None     Protection = "none"     // to this machine only
)

const (
	sendTime = 30 * time.Second // one message, from the dial to the relay's word
	maxHeard = 1 << 20          // bytes a relay says in one conversation, TLS included
)

// Options configure the adapter.
type Options struct {
	Host       string // host:port
	Username   string // empty: the relay asks for none
	Password   string
	Protection Protection
	Now        func() time.Time // for the Date header
	// Roots are the authorities a relay's certificate is checked against; nil: the machine's.
	Roots *x509.CertPool
}

// Mailer is the adapter. It is safe for use by many goroutines; each message is a
// conversation of its own.
type Mailer struct {
	o    Options
	name string // host without the port
}

var _ mail.Mailer = (*Mailer)(nil)

// New makes the adapter; it connects to nothing yet.
func New(o Options) (*Mailer, error) {
	name, _, err := net.SplitHostPort(o.Host)
	switch {
	case err != nil:
		return nil, fmt.Errorf("smtp: the relay's address: %w", err)
	case o.Protection != StartTLS && o.Protection != Implicit && o.Protection != None:
		return nil, fmt.Errorf("smtp: protection %q", o.Protection)
	case o.Now == nil:
		return nil, errors.New("smtp: a clock is needed")
	}
	return &Mailer{o: o, name: name}, nil
}

// Send implements mail.Mailer for email.
func (s *Mailer) Send(ctx context.Context, m mail.Mail) error {
	if err := m.Valid(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", mail.ErrUnavailable, err)
	}
	defer conn.Close()
	// An end of ctx ends the conversation wherever it is.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c, err := s.greet(conn, rfc5322.Domain(m.From))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", mail.ErrUnavailable, s.o.Host, err)
	}
	defer c.Close()
	return s.deliver(c, m)
}

// dial connects, with TLS where it comes first.
func (s *Mailer) dial(ctx context.Context) (net.Conn, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.o.Host)
	if err != nil {
		return nil, err
	}
	conn := net.Conn(&hearing{Conn: raw, left: maxHeard})
	if s.o.Protection == None {
		if !s.here(raw) {
			raw.Close()
			return nil, fmt.Errorf("%s is not this machine: nothing is sent there without TLS", s.o.Host)
		}
		return conn, nil
	}
	if s.o.Protection == StartTLS {
		return conn, nil
	}
	secure := tls.Client(conn, s.tls())
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return secure, nil
}

// here tells whether a connection stays on this machine.
func (s *Mailer) here(c net.Conn) bool {
	a, ok := c.RemoteAddr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

func (s *Mailer) tls() *tls.Config {
	return &tls.Config{ServerName: s.name, MinVersion: tls.VersionTLS12, RootCAs: s.o.Roots}
}

// greet opens the conversation: our name, TLS where it comes now, and who we are.
func (s *Mailer) greet(conn net.Conn, domain string) (*smtp.Client, error) {
	c, err := smtp.NewClient(conn, s.name)
	if err != nil {
		return nil, err
	}
	if err := c.Hello(domain); err != nil {
		return nil, err
	}
	if s.o.Protection == StartTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return nil, errors.New("the relay offers no STARTTLS, and nothing is sent without it")
		}
		if err := c.StartTLS(s.tls()); err != nil {
			return nil, err
		}
	}
	if s.o.Username == "" {
		return c, nil
	}
	offered, methods := c.Extension("AUTH")
	if !offered {
		return nil, errors.New("the relay offers no sign-in: leave the user out of GUILDHALL_MAIL, or use its submission port")
	}
	a := &signIn{user: s.o.Username, password: s.o.Password, plain: slices.Contains(strings.Fields(strings.ToUpper(methods)), "PLAIN")}
	return c, c.Auth(a)
}

// deliver hands the message over.
func (s *Mailer) deliver(c *smtp.Client, m mail.Mail) error {
	if ok, _ := c.Extension("SMTPUTF8"); !ok && rfc5322.International(m) {
		return fmt.Errorf("%w: the relay takes no address with letters beyond ASCII", mail.ErrRefused)
	}
	if err := c.Mail(rfc5322.Mailbox(m.From)); err != nil {
		return said("sender", err)
	}
	if err := c.Rcpt(m.To); err != nil {
		return said("recipient", err)
	}
	w, err := c.Data()
	if err != nil {
		return said("message", err)
	}
	if _, err := w.Write(rfc5322.Render(m, s.o.Now())); err != nil {
		return said("message", err)
	}
	if err := w.Close(); err != nil {
		return said("message", err)
	}
	_ = c.Quit() // the message is the relay's now, whatever comes after
	return nil
}

// setup are the refusals that say something of our set-up and nothing of the message: it
// can be sent once the set-up is right.
var setup = []int{500, 501, 502, 503, 504, 523, 530, 534, 535, 538}

// said turns a relay's answer into the port's errors. Its text may name the recipient, so
// only the code is kept.
func said(what string, err error) error {
	var reply *textproto.Error
	if !errors.As(err, &reply) {
		return fmt.Errorf("%w: %s: %w", mail.ErrUnavailable, what, err)
	}
	if reply.Code >= 500 && reply.Code <= 599 && !slices.Contains(setup, reply.Code) {
		return fmt.Errorf("%w: %s: the relay answered %d", mail.ErrRefused, what, reply.Code)
	}
	return fmt.Errorf("%w: %s: the relay answered %d", mail.ErrUnavailable, what, reply.Code)
}

// signIn is AUTH PLAIN, or LOGIN where a relay knows that alone. The connection is protected
// or stays on this machine: dial and greet have seen to it.
type signIn struct {
	user, password string
	plain          bool
}

// Start implements smtp.Auth.
func (a *signIn) Start(*smtp.ServerInfo) (string, []byte, error) {
	if a.plain {
		return "PLAIN", []byte("\x00" + a.user + "\x00" + a.password), nil
	}
	return "LOGIN", nil, nil
}

// Next implements smtp.Auth.
func (a *signIn) Next(asked []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	question := strings.ToLower(string(asked))
	switch {
	case a.plain:
	case strings.HasPrefix(question, "user"):
		return []byte(a.user), nil
	case strings.HasPrefix(question, "pass"):
		return []byte(a.password), nil
	}
	return nil, errors.New("the relay asks for something else than a user and a password")
}

// hearing ends a conversation in which the other side talks without end.
type hearing struct {
	net.Conn
	left int
}

// Read implements net.Conn.
func (h *hearing) Read(p []byte) (int, error) {
	if h.left <= 0 {
		return 0, errors.New("the relay says too much")
	}
	n, err := h.Conn.Read(p[:min(len(p), h.left)])
	h.left -= n
	return n, err
}
