package smtp

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay is a small SMTP server with a mailbox. Its fields make it misbehave.
type relay struct {
	t        *testing.T
	listener net.Listener
	tls      *tls.Config
	roots    *x509.CertPool
	offers   []string          // extensions
	answers  map[string]string // what it says instead, by the first word of a command; "." after the text
	implicit bool

	mu    sync.Mutex
	inbox []letter
	heard []string // commands
	gone  sync.WaitGroup
}

type letter struct {
	to     string
	raw    string
	secure bool
}

// relayed starts a relay on this machine.
func relayed(t *testing.T, change func(*relay)) *relay {
	t.Helper()
	r := &relay{t: t, answers: map[string]string{}, offers: []string{"8BITMIME", "STARTTLS", "AUTH PLAIN LOGIN", "SMTPUTF8"}}
	r.certify()
	if change != nil {
		change(r)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.listener = l
	r.gone.Add(1)
	go r.accept()
	t.Cleanup(func() { l.Close(); r.gone.Wait() })
	return r
}

func (r *relay) certify() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		r.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		r.t.Fatal(err)
	}
	r.roots = x509.NewCertPool()
	r.roots.AddCert(leaf)
	r.tls = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func (r *relay) accept() {
	defer r.gone.Done()
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.gone.Go(func() { defer c.Close(); r.talk(c) })
	}
}

// talk holds one conversation, until the client leaves or something breaks.
func (r *relay) talk(c net.Conn) {
	if r.implicit {
		c = tls.Server(c, r.tls)
	}
	s := &session{relay: r, conn: c, in: textproto.NewReader(bufio.NewReader(c)), secure: r.implicit}
	if !s.say(r.answer("greeting", "220 relay.example ready")) {
		return
	}
	for {
		line, err := s.in.ReadLine()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.heard = append(r.heard, line)
		r.mu.Unlock()
		if !s.obey(line) {
			return
		}
	}
}

func (r *relay) answer(word, normal string) string {
	if a, ok := r.answers[word]; ok {
		return a
	}
	return normal
}

type session struct {
	relay    *relay
	conn     net.Conn
	in       *textproto.Reader
	secure   bool
	signedIn bool
	to       string
}

// say answers; an empty answer hangs up.
func (s *session) say(line string) bool {
	if line == "" {
		return false
	}
	_, err := fmt.Fprintf(s.conn, "%s\r\n", line)
	return err == nil
}

func (s *session) obey(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	word = strings.ToUpper(word)
	switch word {
	case "EHLO":
		return s.say(s.relay.answer(word, s.extensions()))
	case "STARTTLS":
		if !s.say(s.relay.answer(word, "220 go on")) {
			return false
		}
		c := tls.Server(s.conn, s.relay.tls)
		s.conn, s.in, s.secure = c, textproto.NewReader(bufio.NewReader(c)), true
		return true
	case "AUTH":
		return s.auth(rest)
	case "RCPT":
		s.to = strings.TrimSuffix(strings.TrimPrefix(rest, "TO:<"), ">")
	case "DATA":
		return s.data()
	case "QUIT":
		return s.say("221 bye") && false
	}
	return s.say(s.relay.answer(word, "250 fine"))
}

func (s *session) extensions() string {
	lines := []string{"relay.example"}
	for _, o := range s.relay.offers {
		if o != "STARTTLS" || !s.secure {
			lines = append(lines, o)
		}
	}
	last := len(lines) - 1
	for i := range lines {
		lines[i] = map[bool]string{true: "250 ", false: "250-"}[i == last] + lines[i]
	}
	return strings.Join(lines, "\r\n")
}

func (s *session) auth(rest string) bool {
	ask := func(question string) string {
		s.say("334 " + base64.StdEncoding.EncodeToString([]byte(question)))
		line, _ := s.in.ReadLine()
		b, _ := base64.StdEncoding.DecodeString(line)
		return string(b)
	}
	var user, password string
	if kind, first, _ := strings.Cut(rest, " "); kind == "LOGIN" {
		user, password = ask("Username:"), ask("Password:")
	} else {
		b, _ := base64.StdEncoding.DecodeString(first)
		if parts := strings.Split(string(b), "\x00"); len(parts) == 3 {
			user, password = parts[1], parts[2]
		}
	}
	if user != "guildhall" || password != "s3cret" {
		return s.say("535 no")
	}
	s.signedIn = true
	return s.say("235 welcome")
}

func (s *session) data() bool {
	if a := s.relay.answer("DATA", "354 go on"); !strings.HasPrefix(a, "354") {
		return s.say(a)
	} else if !s.say(a) {
		return false
	}
	raw, err := io.ReadAll(s.in.DotReader())
	if err != nil {
		return false
	}
	after := s.relay.answer(".", "250 queued")
	if strings.HasPrefix(after, "250") {
		s.relay.mu.Lock()
		s.relay.inbox = append(s.relay.inbox, letter{s.to, string(raw), s.secure})
		s.relay.mu.Unlock()
	}
	return s.say(after)
}
