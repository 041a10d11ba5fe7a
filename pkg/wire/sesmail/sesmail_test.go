package sesmail

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/config"
	"guildhall/pkg/mail/mailtest"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/wire/lambda"
)

func TestAStagedMailLeavesThroughSESWithTheConfiguredSender(t *testing.T) {
	var raw []byte
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Content struct{ Raw struct{ Data []byte } }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/ses/") {
			t.Errorf("%v, %s", err, r.Header.Get("Authorization"))
		}
		raw = in.Content.Raw.Data
		_, _ = w.Write([]byte(`{"MessageId":"m"}`))
	}))
	defer web.Close()
	cfg, err := config.FromEnviron([]string{"GUILDHALL_MAIL=ses:", "GUILDHALL_MAIL_FROM=Guildhall <notices@example.com>", "AWS_REGION=eu-west-1",
		"AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=t", "AWS_ENDPOINT_URL_SESV2=" + web.URL})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC)
	port, err := open(lambda.Opening{Config: cfg, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	x := optest.New(t, optest.WithEffects(outbox.Effects...), optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context { return port(ctx) }))
	x.Run("bench", func(c *op.Call) error {
		outbox.Send(c, outbox.Letter("ada@example.org", "k", "Your step is waiting", "Approve by 14 March.", "Open", "https://exchange.example/deals/1"))
		return nil
	})
	x.Settle()
	m, err := mailtest.Parse(raw)
	if err != nil || m.To != "ada@example.org" || m.From != "Guildhall <notices@example.com>" || !strings.Contains(m.Text, "https://exchange.example/deals/1") ||
		m.Headers["Date"] != "Sun, 08 Mar 2026 10:59:00 +0000" {
		t.Errorf("%+v, %v", m, err)
	}
}
