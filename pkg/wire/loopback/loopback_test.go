package loopback

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/blobtest"
	"guildhall/pkg/blob/memblob"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/box"
	"guildhall/pkg/mail/mailtest"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/paytest"
	"guildhall/pkg/pay/simulated"
	"guildhall/pkg/sms"
	"guildhall/pkg/sms/smstest"
)

// through serves ports on a loopback address and returns a client of them.
func through(t *testing.T, p Ports) *Client {
	t.Helper()
	if p.Mail == nil {
		p.Mail, _ = box.New(func() time.Time { return time.Time{} }, nil)
	}
	if p.Payments == nil {
		p.Payments, _ = simulated.New(simulated.Options{Clock: func() time.Time { return time.Time{} }})
	}
	if p.Blobs == nil {
		p.Blobs = memblob.New(func() time.Time { return time.Time{} }, blob.Signer{})
	}
	s := httptest.NewServer(Handler(p))
	t.Cleanup(s.Close)
	c, err := New(s.URL, "fn")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBlobsThroughTheRunner(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Subject {
		return blobtest.Local(t, func(clock func() time.Time, sign blob.Signer) blob.Store {
			return through(t, Ports{Blobs: memblob.New(clock, sign)}).Store()
		})
	})
}

func TestMailThroughTheRunner(t *testing.T) {
	mailtest.Run(t, func(t *testing.T) mailtest.Subject {
		b, err := box.New(func() time.Time { return time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return mailtest.Subject{Mailer: through(t, Ports{Mail: b}).Mailer(), Keyed: true,
			Delivered: func(_ *testing.T, to string) (out []mail.Mail) {
				for _, m := range b.Messages(to) {
					out = append(out, mail.Mail{To: m.To, From: m.From, Subject: m.Subject, Text: m.Text, HTML: m.HTML, Headers: m.Headers})
				}
				return out
			}}
	})
}

func TestTextsThroughTheRunner(t *testing.T) {
	smstest.Run(t, func(t *testing.T) smstest.Subject {
		b, err := box.New(func() time.Time { return time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return smstest.Subject{Sender: through(t, Ports{Texts: b.Texts()}).Texts(), Keyed: true, Delivered: func(_ *testing.T, to string) (out []string) {
			for _, m := range b.Messages(to) {
				out = append(out, m.Text)
			}
			return out
		}}
	})
}

// says answers every text alike.
type says struct{ err error }

func (s says) Send(context.Context, sms.Message) error { return s.err }

func TestWhatBecameOfATextIsToldThroughTheRunner(t *testing.T) {
	for _, want := range []error{sms.ErrInvalid, sms.ErrRefused, sms.ErrUnavailable, sms.ErrUnknown} {
		if err := through(t, Ports{Texts: says{want}}).Texts().Send(t.Context(), smstest.Message("k")); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestPaymentsThroughTheRunner(t *testing.T) {
	paytest.Run(t, func(t *testing.T) paytest.Subject {
		const secret = "whsec_for_this_test"
		var millis atomic.Int64
		millis.Store(time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC).UnixMilli())
		now := func() time.Time { return time.UnixMilli(millis.Load()).UTC() }
		p, err := simulated.New(simulated.Options{Clock: now, WebhookSecret: secret, BaseURL: "http://localhost:8080"})
		if err != nil {
			t.Fatal(err)
		}
		return paytest.Subject{Processor: through(t, Ports{Payments: p}).Processor(), Now: now, Control: &paytest.Control{
			Advance: func(d time.Duration) { millis.Add(d.Milliseconds()) }, Complete: p.Complete, SetReady: p.SetReady,
			Fail: func(n int, after bool) error {
				if after {
					return p.SetMode(simulated.ModeTimeout, n)
				}
				return p.SetMode(simulated.ModeFail, n)
			},
			Events: func(t *testing.T) (out []pay.Event) {
				_, err := p.Deliver(context.Background(), func(_ context.Context, w simulated.Webhook) error {
					e, err := pay.ParseEvent(w.Body)
					out = append(out, e)
					return err
				})
				if err != nil {
					t.Error(err)
				}
				return out
			}}}
	})
}

func TestARolesRefusalStopsTheCall(t *testing.T) {
	b, err := box.New(func() time.Time { return time.Time{} }, nil)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	c := through(t, Ports{Mail: b, Texts: b.Texts(), Allow: func(function, action, key string) error {
		asked = append(asked, fmt.Sprintf("%s %s %q", function, action, key))
		return errors.New("denied")
	}})
	if err := c.Mailer().Send(t.Context(), mailtest.Message("k")); err == nil || len(b.Messages("")) != 0 {
		t.Errorf("sent all the same: %v", err)
	}
	if err := c.Texts().Send(t.Context(), smstest.Message("k")); err == nil || len(b.Messages("")) != 0 {
		t.Errorf("texted all the same: %v", err)
	}
	if _, err := c.Store().Put(t.Context(), "bench/x", strings.NewReader("x"), blob.PutOptions{}); err == nil {
		t.Error("put all the same")
	}
	if _, err := c.Store().Get(t.Context(), "bench/x", blob.Range{}); err == nil {
		t.Error("got all the same")
	}
	if want := `[fn ses:SendEmail "" fn sns:Publish "" fn s3:PutObject "bench/x" fn s3:GetObject "bench/x"]`; fmt.Sprint(asked) != want {
		t.Errorf("asked %v, want %s", asked, want)
	}
}

func TestOnlyARunnerOnThisMachineIsCalled(t *testing.T) {
	for _, address := range []string{"", "http://runner.example/", "https://127.0.0.1/", "http://192.0.2.1:80", "://"} {
		if _, err := New(address, "fn"); err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) }))
	defer s.Close()
	c, err := New(s.URL, "fn")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Mailer().Send(t.Context(), mailtest.Message("k")); err == nil {
		t.Error("a broken runner sent mail")
	}
}

// What is deployed takes neither its time nor its ports from a runner.
func TestNoDeployedFunctionLinksTheRunnersClockOrPorts(t *testing.T) {
	list := func(args ...string) string {
		t.Helper()
		c := exec.Command("go", append([]string{"list"}, args...)...)
		c.Dir = "../../.."
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const us = "guildhall/pkg/wire/loopback\n"
	if strings.Contains(list("-deps", "-tags", "lambda.norpc", "./functions/..."), us) {
		t.Error("a function for AWS links the runner's ports")
	}
	if !strings.Contains(list("-deps", "-tags", "lambda.norpc,devclock", "./functions/..."), us) {
		t.Error("a function for the runner does not link its ports: this test sees nothing")
	}
	const files = "{{.GoFiles}}"
	for _, tags := range []string{"lambda.norpc", "lambda.norpc,devclock"} {
		built := list("-f", files, "-tags", tags, "./pkg/wire/lambda")
		if strings.Contains(built, "devclock.go") != strings.HasSuffix(tags, "devclock") {
			t.Errorf("with %s the start of functions is made of %s", tags, built)
		}
	}
}
