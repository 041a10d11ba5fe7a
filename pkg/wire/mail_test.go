package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"guildhall/pkg/config"
	"guildhall/pkg/mail/box"
	"guildhall/pkg/mail/mailtest"
	"guildhall/pkg/op"
	texts "guildhall/pkg/sms/outbox"
	"guildhall/pkg/sms/smstest"
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
	x, err := Open(t.Context(), Options{Mail: cfg.Mail, SMS: cfg.SMS, Links: cfg.Links, AWS: cfg.AWS, BaseURL: "http://127.0.0.1:8080",
		Keys: Keys{Uploads: [][]byte{[]byte("a key of this test, 32 bytes long")}, WebhookSecrets: []string{"whsec_test"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// send sends an email, and a text where texts leave, and returns how many of them the box kept.
func send(t *testing.T, x *Exchange) (kept int) {
	t.Helper()
	if err := x.letters.Mailer.Send(t.Context(), mailtest.Message("k")); err != nil {
		t.Error(err)
	}
	err := x.Engine.Run(t.Context(), x.Clock.Now(), "bench", func(c *op.Call) error {
		if c.Texts {
			texts.Send(c, smstest.Message("k"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Runner.Settle(t.Context()); err != nil {
		t.Fatal(err)
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

func TestNoTextIsOfferedWhereEmailLeavesAndNoWayForTextsIsSet(t *testing.T) {
	for lines, want := range map[string]bool{"": true, "GUILDHALL_SMS=none:": false, "GUILDHALL_MAIL=smtps://mail.example.com": false,
		"GUILDHALL_MAIL=smtps://mail.example.com GUILDHALL_SMS=box:": true} {
		if x := opened(t, strings.Fields(lines)...); x.Engine.Texts != want {
			t.Errorf("%q: texts are offered: %v", lines, !want)
		}
	}
}

func TestTextsLeaveThroughSNS(t *testing.T) {
	var got url.Values
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/sns/aws4_request") {
			t.Errorf("signed %q", r.Header.Get("Authorization"))
		}
		body, _ := io.ReadAll(r.Body)
		got, _ = url.ParseQuery(string(body))
		_, _ = w.Write([]byte(`<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`))
	}))
	defer web.Close()
	n := send(t, opened(t, "GUILDHALL_SMS=sns:", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "AWS_ENDPOINT_URL_SNS="+web.URL))
	if m := smstest.Message("k"); n != 1 || got.Get("PhoneNumber") != m.To || got.Get("Message") != m.Body {
		t.Errorf("%d messages in the box, want the email; SNS got %v", n, got)
	}
}

func TestTheLocalControlShowsTextsBesideEmailsOldestFirst(t *testing.T) {
	x := opened(t)
	x.Dev = true
	send(t, x)
	if err := x.letters.Mailer.Send(t.Context(), mailtest.Message("later")); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{"": "email text email", "?to=%2B15550100200": "text", "?to=ada@example.org": "email email"} {
		w := httptest.NewRecorder()
		x.Controls().ServeHTTP(w, httptest.NewRequest("GET", "/_dev/mail"+query, nil))
		var out struct{ Messages []box.Message }
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		var channels []string
		for _, m := range out.Messages {
			channels = append(channels, m.Channel)
			if m.Channel == box.Text && (m.To != smstest.Message("").To || m.Text != smstest.Message("").Body || m.At == "") {
				t.Errorf("%+v", m)
			}
		}
		if strings.Join(channels, " ") != want {
			t.Errorf("%q: %v, want %s", query, channels, want)
		}
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
	if n := send(t, opened(t, "GUILDHALL_MAIL=smtp://"+l.Addr().String()+"?tls=none", "GUILDHALL_SMS=box:")); n != 1 {
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
	n := send(t, opened(t, "GUILDHALL_MAIL=ses:", "GUILDHALL_SMS=box:", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "AWS_ENDPOINT_URL_SESV2="+web.URL))
	if n != 1 || calls != 1 {
		t.Errorf("%d messages in the box and %d calls of SES, want one and one", n, calls)
	}
}

func TestTheLocalControlsListThemselves(t *testing.T) {
	x := opened(t)
	for path, want := range map[string]int{"/_dev/": 200, "/_dev/nothing": 404} {
		w := httptest.NewRecorder()
		x.Controls().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want || want == 200 && strings.Count(w.Body.String(), "/_dev/") != len(controls) || want == 404 && !strings.Contains(w.Body.String(), "GET /_dev/") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
