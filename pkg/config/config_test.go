package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"guildhall/pkg/mail"
)

// read reads a configuration from NAME=value lines.
func read(lines ...string) (Config, error) { return FromEnviron(lines) }

var awsLines = []string{"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=shh"}

func TestAnEmptyEnvironmentIsAWholeConfiguration(t *testing.T) {
	c, err := read("HOME=/root", "PATH=/bin")
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Store: Store{Kind: File, Dir: "data"}, Queue: Queue{Kind: Memory}, Blobs: Blobs{Kind: File, Dir: "data/blobs"},
		Mail: Mail{Kind: Box, From: boxSender}, SMS: Box, Payments: Payments{Kind: Simulated}, Links: Links{Kind: Off}, Tips: true,
		AWS: AWS{endpoints: map[Service]string{}}, given: map[string]bool{},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	if !mail.IsSender(boxSender) {
		t.Errorf("the box's sender %q is none", boxSender)
	}
}

func TestEveryVariableIsReadInEveryForm(t *testing.T) {
	for _, c := range []struct {
		lines string
		got   func(Config) any
		want  any
	}{
		{"GUILDHALL_STORE=memory:", func(c Config) any { return c.Store }, Store{Kind: Memory}},
		{"GUILDHALL_STORE=memory:", func(c Config) any { return c.Blobs }, Blobs{Kind: Memory}},
		{"GUILDHALL_STORE=file:./x/", func(c Config) any { return c.Store }, Store{Kind: File, Dir: "x"}},
		{"GUILDHALL_STORE=file:/srv/x", func(c Config) any { return c.Store }, Store{Kind: File, Dir: "/srv/x"}},
		{"GUILDHALL_STORE=file:///srv/x", func(c Config) any { return c.Blobs }, Blobs{Kind: File, Dir: "/srv/x/blobs"}},
		{"GUILDHALL_STORE=dynamodb://guildhall-prod", func(c Config) any { return c.Store }, Store{Kind: DynamoDB, Table: "guildhall-prod"}},
		{"GUILDHALL_QUEUE=sqs://sqs.eu-west-1.amazonaws.com/1/g-", func(c Config) any { return c.Queue },
			Queue{Kind: SQS, URLPrefix: "https://sqs.eu-west-1.amazonaws.com/1/g-"}},
		{"GUILDHALL_QUEUE=sqs://http://localhost:4566/000000000000/g-", func(c Config) any { return c.Queue },
			Queue{Kind: SQS, URLPrefix: "http://localhost:4566/000000000000/g-"}},
		{"GUILDHALL_BLOBS=s3://my.bucket-1", func(c Config) any { return c.Blobs }, Blobs{Kind: S3, Bucket: "my.bucket-1"}},
		{"GUILDHALL_BLOBS=file:b", func(c Config) any { return c.Blobs }, Blobs{Kind: File, Dir: "b"}},
		{"GUILDHALL_MAIL=ses: GUILDHALL_MAIL_FROM=a@example.com", func(c Config) any { return c.Mail }, Mail{Kind: SES, From: "a@example.com"}},
		{"GUILDHALL_MAIL=smtp://u:p%40w@mail.example.com GUILDHALL_MAIL_FROM=a@example.com", func(c Config) any { return c.Mail },
			Mail{Kind: SMTP, From: "a@example.com", Host: "mail.example.com:587", Username: "u", Password: "p@w", TLS: StartTLS}},
		{"GUILDHALL_MAIL=smtps://mail.example.com GUILDHALL_MAIL_FROM=a@example.com", func(c Config) any { return c.Mail },
			Mail{Kind: SMTP, From: "a@example.com", Host: "mail.example.com:465", TLS: Implicit}},
		{"GUILDHALL_MAIL=smtp://127.0.0.1:1025?tls=none GUILDHALL_MAIL_FROM=a@example.com", func(c Config) any { return c.Mail },
			Mail{Kind: SMTP, From: "a@example.com", Host: "127.0.0.1:1025", TLS: NoTLS}},
		{"GUILDHALL_SMS=sns:", func(c Config) any { return c.SMS }, SNS},
		{"GUILDHALL_SMS=none:", func(c Config) any { return c.SMS }, None},
		{"GUILDHALL_SMS=", func(c Config) any { return c.SMS }, Box},
		{"GUILDHALL_MAIL=ses: GUILDHALL_MAIL_FROM=a@example.com GUILDHALL_SMS=", func(c Config) any { return c.SMS }, None},
		{"GUILDHALL_MAIL=ses: GUILDHALL_MAIL_FROM=a@example.com GUILDHALL_SMS=box:", func(c Config) any { return c.SMS }, Box},
		{"GUILDHALL_LINKS=", func(c Config) any { return c.Links }, Links{Kind: Off}},
		{"GUILDHALL_LINKS=off", func(c Config) any { return c.Links }, Links{Kind: Off}},
		{"GUILDHALL_LINKS=probe:", func(c Config) any { return c.Links }, Links{Kind: Probe}},
		{"GUILDHALL_LINKS=probe:https://rdap.example.com/dns.json", func(c Config) any { return c.Links }, Links{Kind: Probe, Bootstrap: "https://rdap.example.com/dns.json"}},
		{"GUILDHALL_PAYMENTS=stripe: GUILDHALL_STRIPE_KEY=sk_test_1 GUILDHALL_STRIPE_WEBHOOK_SECRET=whsec_0123456789,whsec_9876543210",
			func(c Config) any { return c.Payments },
			Payments{Kind: Stripe, StripeKey: "sk_test_1", WebhookSecrets: []Secret{"whsec_0123456789", "whsec_9876543210"}}},
		{"GUILDHALL_TIPS=off", func(c Config) any { return c.Tips }, false},
		{"GUILDHALL_TIPS=on", func(c Config) any { return c.Tips }, true},
		{"GUILDHALL_BASE_URL=https://g.example.com/", func(c Config) any { return c.BaseURL }, "https://g.example.com"},
		{"GUILDHALL_LOG_LEVEL=warn", func(c Config) any { return c.LogLevel }, slog.LevelWarn},
		{"AWS_ENDPOINT_URL=http://localhost:4566", func(c Config) any { return c.AWS.Endpoint(ServiceSQS) }, "http://localhost:4566"},
		{"AWS_ENDPOINT_URL=http://localhost:4566 AWS_ENDPOINT_URL_DYNAMODB=http://localhost:8000",
			func(c Config) any { return c.AWS.Endpoint(ServiceDynamoDB) + " " + c.AWS.Endpoint(ServiceS3) }, "http://localhost:8000 http://localhost:4566"},
		{"AWS_SESSION_TOKEN=t", func(c Config) any { return c.AWS.SessionToken.Reveal() }, "t"},
		{"GUILDHALL_TIPS=", func(c Config) any { return c.Given("GUILDHALL_TIPS") }, false},
	} {
		got, err := read(append(strings.Fields(c.lines), awsLines...)...)
		if err != nil {
			t.Errorf("%s: %v", c.lines, err)
		} else if v := c.got(got); !reflect.DeepEqual(v, c.want) {
			t.Errorf("%s: %#v, want %#v", c.lines, v, c.want)
		}
	}
}

func TestABadValueSaysWhichVariableAndWhatToWrite(t *testing.T) {
	for line, advice := range map[string]string{
		"GUILDHALL_STORE=sqlite:x":                                       "file:DIR, memory:, dynamodb://TABLE",
		"GUILDHALL_STORE=memory":                                         "memory:",
		"GUILDHALL_STORE=memory:x":                                       "memory:",
		"GUILDHALL_STORE=file:":                                          "file:./data",
		"GUILDHALL_STORE=file://host/x":                                  "file:./data",
		"GUILDHALL_STORE=dynamodb:TABLE":                                 "dynamodb://TABLE",
		"GUILDHALL_STORE=dynamodb://a/b":                                 "dynamodb://TABLE",
		"GUILDHALL_QUEUE=https://sqs.eu-west-1.amazonaws.com/1/g-":       "sqs://QUEUE_URL_PREFIX",
		"GUILDHALL_QUEUE=sqs://":                                         "sqs://sqs.REGION",
		"GUILDHALL_QUEUE=sqs://ftp://x/y":                                "sqs://sqs.REGION",
		"GUILDHALL_BLOBS=s3:b":                                           "s3://BUCKET",
		"GUILDHALL_BLOBS=s3://UP":                                        "s3://BUCKET",
		"GUILDHALL_MAIL=sendmail:":                                       "smtp://USER:PASSWORD@HOST:PORT",
		"GUILDHALL_MAIL=smtp://":                                         "smtp://USER",
		"GUILDHALL_MAIL=smtp://u:p@h/path":                               "smtp://USER",
		"GUILDHALL_MAIL=smtp://u:p@mail.example.com?tls=none":            "127.0.0.1",
		"GUILDHALL_MAIL=smtp://u:p@mail.example.com?tls=maybe":           "?tls=none",
		"GUILDHALL_MAIL=ses:":                                            "GUILDHALL_MAIL_FROM",
		"GUILDHALL_MAIL_FROM=nobody":                                     "Name <mailbox>",
		"GUILDHALL_SMS=twilio:":                                          "box:, sns:, none:",
		"GUILDHALL_LINKS=on":                                             "off, probe:",
		"GUILDHALL_LINKS=probe":                                          "off, probe:",
		"GUILDHALL_LINKS=probe:http://rdap.example.com/dns.json":         "https only",
		"GUILDHALL_PAYMENTS=paypal:":                                     "simulated:, stripe:",
		"GUILDHALL_PAYMENTS=stripe:":                                     "GUILDHALL_STRIPE_KEY",
		"GUILDHALL_STRIPE_KEY=pk_live_1":                                 "sk_",
		"GUILDHALL_STRIPE_WEBHOOK_SECRET=x":                              "whsec_",
		"GUILDHALL_STRIPE_WEBHOOK_SECRET=whsec_0,whsec_1,whsec_2":        "at most 2",
		"GUILDHALL_KEYS={}":                                              "token",
		"GUILDHALL_TIPS=yes":                                             "on, off",
		"GUILDHALL_BASE_URL=guildhall.example.com":                       "https://HOST",
		"GUILDHALL_BASE_URL=https://example.com/path":                    "https://HOST",
		"GUILDHALL_LOG_LEVEL=loud":                                       "debug, info, warn, error",
		"AWS_REGION=EU West":                                             "eu-west-1",
		"AWS_ENDPOINT_URL=localhost:4566":                                "http://HOST:PORT",
		"AWS_ENDPOINT_URL_SQS=http://user:pw@localhost":                  "http://HOST:PORT",
		"GUILDHALL_STORE=dynamodb://table":                               "AWS_REGION",
		"GUILDHALL_QUEUE=sqs://sqs.eu-west-1.amazonaws.com/1/guildhall-": "AWS_SECRET_ACCESS_KEY",
		"GUILDHALL_SMS=sns:":                                             "AWS_ACCESS_KEY_ID",
	} {
		_, err := read(line)
		if err == nil {
			t.Errorf("%s: accepted", line)
			continue
		}
		name, _, _ := strings.Cut(line, "=")
		if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), advice) {
			t.Errorf("%s: %q does not name the variable and %q", line, err, advice)
		}
	}
}

func TestAllBadValuesAreReportedTogether(t *testing.T) {
	_, err := read("GUILDHALL_TIPS=maybe", "GUILDHALL_SMS=x")
	if err == nil || !strings.Contains(err.Error(), "GUILDHALL_TIPS") || !strings.Contains(err.Error(), "GUILDHALL_SMS") {
		t.Errorf("got %v, want both", err)
	}
}

func TestAnUnknownNameIsRefusedWithTheClosestOne(t *testing.T) {
	for name, want := range map[string]string{
		"GUILDHALL_STROE": "GUILDHALL_STORE", "GUILDHALL_BLOB": "GUILDHALL_BLOBS", "GUILDHALL_PAYMENT": "GUILDHALL_PAYMENTS",
		"GUILDHALL_STRIPE_SECRET": "GUILDHALL_STRIPE_KEY", "GUILDHALL_LOGLEVEL": "GUILDHALL_LOG_LEVEL", "GUILDHALL_": "GUILDHALL_SMS",
		"GUILDHALL_mail": "GUILDHALL_MAIL",
	} {
		_, err := read(name + "=x")
		if err == nil || !strings.Contains(err.Error(), "did you mean GUILDHALL_") {
			t.Errorf("%s: %v", name, err)
		} else if name != "GUILDHALL_STRIPE_SECRET" && name != "GUILDHALL_" && name != "GUILDHALL_mail" && !strings.Contains(err.Error(), want+"?") {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := read("GUILDHALLX=1", "AWS_PROFILE=p", "MY_GUILDHALL_X=1"); err != nil {
		t.Errorf("foreign variables: %v", err)
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	const pw, key, hook = "hunter2hunter2", "sk_live_hunter2", "whsec_hunter2hunter2"
	c, err := read("GUILDHALL_MAIL=smtps://u:"+pw+"@mail.example.com", "GUILDHALL_MAIL_FROM=a@example.com", "GUILDHALL_PAYMENTS=stripe:",
		"GUILDHALL_STRIPE_KEY="+key, "GUILDHALL_STRIPE_WEBHOOK_SECRET="+hook, "AWS_SECRET_ACCESS_KEY="+pw, "AWS_SESSION_TOKEN="+pw)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c, "key", c.Payments.StripeKey)
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %s", c, c, c, log.String(), encoded)
	if strings.Contains(all, "hunter2") {
		t.Errorf("a secret was printed: %s", all)
	}
	for _, bad := range []string{"GUILDHALL_MAIL=smtp://u:hunter2@h/p", "GUILDHALL_MAIL=u:hunter2@h", "GUILDHALL_STRIPE_KEY=hunter2",
		"GUILDHALL_STRIPE_WEBHOOK_SECRET=hunter2", `GUILDHALL_KEYS={"token":{"current":"hunter2"}}`, "GUILDHALL_MAIL=smtp://u:hunter2%zz@h"} {
		if _, err := read(bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("an error shows a secret or is missing: %v", err)
		}
	}
}

func TestFlagsReplaceOnlyDefaults(t *testing.T) {
	free, err := read()
	if err != nil {
		t.Fatal(err)
	}
	set, err := read(append(awsLines, "GUILDHALL_STORE=dynamodb://table", "GUILDHALL_BLOBS=s3://bucket")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		got   Config
		store Store
		blobs Blobs
	}{
		{"data", free.WithData("d"), Store{Kind: File, Dir: "d"}, Blobs{Kind: File, Dir: "d/blobs"}},
		{"memory", free.InMemory(), Store{Kind: Memory}, Blobs{Kind: Memory}},
		{"data over set", set.WithData("d"), Store{Kind: DynamoDB, Table: "table"}, Blobs{Kind: S3, Bucket: "bucket"}},
		{"memory over set", set.InMemory(), Store{Kind: DynamoDB, Table: "table"}, Blobs{Kind: S3, Bucket: "bucket"}},
	} {
		if c.got.Store != c.store || c.got.Blobs != c.blobs {
			t.Errorf("%s: %+v %+v, want %+v %+v", c.name, c.got.Store, c.got.Blobs, c.store, c.blobs)
		}
	}
}

func TestTheDocumentNamesEveryVariableOnce(t *testing.T) {
	doc := string(Markdown())
	rows := 0
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "| `") {
			rows++
			if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 6 {
				t.Errorf("a row of %d cells: %s", n-1, line)
			}
		}
	}
	seen := map[string]bool{}
	for _, v := range Variables() {
		if seen[v.Name] || v.Type == "" || v.Meaning == "" || v.Example == "" || !strings.Contains(doc, "| `"+v.Name+"` |") {
			t.Errorf("%s: twice, incomplete or not in the document", v.Name)
		}
		seen[v.Name] = true
	}
	if rows != len(seen) {
		t.Errorf("%d rows, %d variables", rows, len(seen))
	}
}

func TestEveryExampleInTheDocumentWorks(t *testing.T) {
	for _, v := range Variables() {
		if strings.Contains(v.Example, "…") {
			continue // a secret cut short
		}
		lines := append([]string{"GUILDHALL_MAIL_FROM=a@example.com", "GUILDHALL_STRIPE_KEY=sk_1", "GUILDHALL_STRIPE_WEBHOOK_SECRET=whsec_0123456789"}, awsLines...)
		if _, err := read(append(lines, v.Name+"="+v.Example)...); err != nil {
			t.Errorf("%s=%s: %v", v.Name, v.Example, err)
		}
	}
}
