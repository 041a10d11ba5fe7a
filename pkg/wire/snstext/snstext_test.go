package snstext

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/config"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/sms/outbox"
	"guildhall/pkg/sms/smstest"
	"guildhall/pkg/wire/lambda"
)

func TestAStagedTextLeavesThroughSNSOnce(t *testing.T) {
	var got []url.Values
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		if err != nil || !strings.Contains(r.Header.Get("Authorization"), "/20260308/eu-west-1/sns/") || r.Header.Get("X-Amz-Security-Token") != "t" {
			t.Errorf("%v, %s", err, r.Header.Get("Authorization"))
		}
		got = append(got, form)
		_, _ = w.Write([]byte(`<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`))
	}))
	defer web.Close()
	cfg, err := config.FromEnviron([]string{"GUILDHALL_SMS=sns:", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s",
		"AWS_SESSION_TOKEN=t", "AWS_ENDPOINT_URL_SNS=" + web.URL})
	if err != nil {
		t.Fatal(err)
	}
	port, err := open(lambda.Opening{Config: cfg, Now: func() time.Time { return time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	x := optest.New(t, optest.WithEffects(outbox.Effects...), optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context { return port(ctx) }))
	for range 2 {
		x.Run("bench", func(c *op.Call) error { outbox.Send(c, smstest.Message("k")); return nil })
		x.Settle()
	}
	if m := smstest.Message("k"); len(got) != 1 || got[0].Get("PhoneNumber") != m.To || got[0].Get("Message") != m.Body {
		t.Errorf("SNS got %v", got)
	}
}
