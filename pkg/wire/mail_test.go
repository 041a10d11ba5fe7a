package wire

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"guildhall/pkg/config"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/mailtest"
)

// opened puts an exchange together from environment lines.
func opened(t *testing.T, lines ...string) *Exchange {
	t.Helper()
	cfg, err := config.FromEnviron(append(lines, "GUILDHALL_MAIL_FROM=Guildhall <notices@example.com>"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Served(cfg.InMemory()); err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), Options{Mail: cfg.Mail, AWS: cfg.AWS, BaseURL: "http://127.0.0.1:8080",
		Keys: Keys{Uploads: [][]byte{[]byte("a key of this test, 32 bytes long")}, WebhookSecrets: []string{"whsec_test"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// send sends an email and a text, and returns how many of them the box kept.
func send(t *testing.T, x *Exchange) (kept int) {
	t.Helper()
	for _, ch := range []mail.Channel{mail.Email, mail.Text} {
		if err := x.letters.Mailer.Send(t.Context(), mailtest.Message(ch, "k-"+string(ch))); err != nil {
			t.Errorf("%s: %v", ch, err)
		}
	}
	if x.letters.From != "Guildhall <notices@example.com>" {
		t.Errorf("from %q", x.letters.From)
	}
	return len(x.Box.Messages(""))
}

func TestTheBoxKeepsAllMailWhereNothingElseIsSet(t *testing.T) {
	if n := send(t, opened(t)); n != 2 {
		t.Errorf("%d messages in the box, want both", n)
	}
}

func TestEmailLeavesThroughTheRelayAndTextsStayInTheBox(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan []string, 1)
	go func() { heard <- relay(l) }()
	if n := send(t, opened(t, "GUILDHALL_MAIL=smtp://"+l.Addr().String()+"?tls=none")); n != 1 {
		t.Errorf("%d messages in the box, want the text", n)
	}
	if all := strings.Join(<-heard, "\n"); !strings.Contains(all, "RCPT TO:<ada@example.org>") || !strings.Contains(all, "Approve by 14 March.") {
		t.Errorf("the relay heard\n%s", all)
	}
}

// relay says yes to everything in one conversation and returns what it heard.
func relay(l net.Listener) (heard []string) {
	c, err := l.Accept()
	if err != nil {
		return nil
	}
	defer c.Close()
	in := bufio.NewScanner(c)
	fmt.Fprint(c, "220 hello\r\n")
	for body := false; in.Scan(); {
		line := in.Text()
		heard = append(heard, line)
		switch {
		case line == "QUIT":
			fmt.Fprint(c, "221 bye\r\n")
			return heard
		case line == "DATA":
			body = true
			fmt.Fprint(c, "354 go on\r\n")
		case !body || line == ".":
			body = false
			fmt.Fprint(c, "250 fine\r\n")
		}
	}
	return heard
}

func TestEmailLeavesThroughSES(t *testing.T) {
	calls := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		_, _ = w.Write([]byte(`{"MessageId":"m"}`))
	}))
	defer web.Close()
	n := send(t, opened(t, "GUILDHALL_MAIL=ses:", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "AWS_ENDPOINT_URL_SESV2="+web.URL))
	if n != 1 || calls != 1 {
		t.Errorf("%d messages in the box and %d calls of SES, want one and one", n, calls)
	}
}
