package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"guildhall/pkg/mail"
)

// One setter for each variable of the table. A setter says what it cannot use and what it
// could; it never repeats a secret.

const memoryValue = "memory:"

func setStore(c *Config, v string) error {
	scheme, rest := split(v)
	switch {
	case v == memoryValue:
		c.Store = Store{Kind: Memory}
	case scheme == "file":
		dir, err := dirOf(rest)
		c.Store = Store{Kind: File, Dir: dir}
		return err
	case scheme == "dynamodb":
		table, ok := strings.CutPrefix(rest, "//")
		if !ok || !isName(table, 3, 255, "_.-") {
			return fmt.Errorf("%q names no table: write dynamodb://TABLE, 3 to 255 letters, digits, dots, hyphens and underscores", v)
		}
		c.Store = Store{Kind: DynamoDB, Table: table}
	default:
		return unknown(v, "file:DIR", memoryValue, "dynamodb://TABLE")
	}
	return nil
}

func setQueue(c *Config, v string) error {
	if v == memoryValue {
		c.Queue = Queue{Kind: Memory}
		return nil
	}
	prefix, ok := strings.CutPrefix(v, "sqs://")
	if !ok {
		return unknown(v, memoryValue, "sqs://QUEUE_URL_PREFIX")
	}
	if !strings.Contains(prefix, "://") {
		prefix = "https://" + prefix
	}
	u, err := url.Parse(prefix)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("no queue URL prefix: write sqs://sqs.REGION.amazonaws.com/ACCOUNT/PREFIX-")
	}
	c.Queue = Queue{Kind: SQS, URLPrefix: prefix}
	return nil
}

func setBlobs(c *Config, v string) error {
	scheme, rest := split(v)
	switch {
	case v == memoryValue:
		c.Blobs = Blobs{Kind: Memory}
	case scheme == "file":
		dir, err := dirOf(rest)
		c.Blobs = Blobs{Kind: File, Dir: dir}
		return err
	case scheme == "s3":
		bucket, ok := strings.CutPrefix(rest, "//")
		if !ok || !isName(bucket, 3, 63, ".-") || strings.ToLower(bucket) != bucket {
			return fmt.Errorf("%q names no bucket: write s3://BUCKET, 3 to 63 lowercase letters, digits, dots and hyphens", v)
		}
		c.Blobs = Blobs{Kind: S3, Bucket: bucket}
	default:
		return unknown(v, "file:DIR", memoryValue, "s3://BUCKET")
	}
	return nil
}

func setMail(c *Config, v string) error {
	scheme, _ := split(v)
	switch {
	case v == "box:":
		c.Mail.Kind = Box
	case v == "ses:":
		c.Mail.Kind = SES
	case scheme == "smtp" || scheme == "smtps":
		return setSMTP(c, v)
	default:
		// The value may hold a password: name the forms, not the value.
		return fmt.Errorf("the value is not understood: write one of box:, ses:, smtp://USER:PASSWORD@HOST:PORT, smtps://USER:PASSWORD@HOST:PORT")
	}
	return nil
}

func setSMTP(c *Config, v string) error {
	const form = "write smtp://USER:PASSWORD@HOST:PORT, special characters of the password as %XX"
	u, err := url.Parse(v)
	if err != nil || u.Hostname() == "" || (u.Path != "" && u.Path != "/") || u.Fragment != "" {
		return fmt.Errorf("the address is not understood: %s", form)
	}
	m := Mail{Kind: SMTP, From: c.Mail.From, Username: u.User.Username(), TLS: StartTLS}
	password, _ := u.User.Password()
	m.Password = Secret(password)
	port := "587"
	if u.Scheme == "smtps" {
		m.TLS, port = Implicit, "465"
	}
	if p := u.Port(); p != "" {
		port = p
	}
	m.Host = net.JoinHostPort(u.Hostname(), port)
	switch u.RawQuery {
	case "":
	case "tls=none":
		if !isLocal(u.Hostname()) {
			return fmt.Errorf("tls=none would send mail in the clear over a network: leave it out, or use a relay on 127.0.0.1")
		}
		m.TLS = NoTLS
	default:
		return fmt.Errorf("?%s is not understood: only ?tls=none is", u.RawQuery)
	}
	c.Mail = m
	return nil
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func setMailFrom(c *Config, v string) error {
	if !mail.IsSender(v) {
		return fmt.Errorf("%q is no sender: write a mailbox, or Name <mailbox>", v)
	}
	c.Mail.From = v
	return nil
}

func setSMS(c *Config, v string) error {
	switch v {
	case "box:":
		c.SMS = Box
	case "sns:":
		c.SMS = SNS
	case "none:":
		c.SMS = None
	default:
		return unknown(v, "box:", "sns:", "none:")
	}
	return nil
}

func setLinks(c *Config, v string) error {
	kind, list, found := strings.Cut(v, ":")
	switch {
	case v == string(Off):
		c.Links = Links{Kind: Off}
	case found && kind == string(Probe) && (list == "" || strings.HasPrefix(list, "https://")):
		c.Links = Links{Kind: Probe, Bootstrap: list}
	case found && kind == string(Probe):
		return fmt.Errorf("the list of RDAP servers is read over https only")
	default:
		return unknown(v, string(Off), "probe:")
	}
	return nil
}

func setPayments(c *Config, v string) error {
	switch v {
	case "simulated:":
		c.Payments.Kind = Simulated
	case "stripe:":
		c.Payments.Kind = Stripe
	default:
		return unknown(v, "simulated:", "stripe:")
	}
	return nil
}

func setStripeKey(c *Config, v string) error {
	if !strings.HasPrefix(v, "sk_") && !strings.HasPrefix(v, "rk_") {
		return fmt.Errorf("a secret key begins with sk_ or rk_; the publishable key (pk_) cannot move money")
	}
	c.Payments.StripeKey = Secret(v)
	return nil
}

const maxWebhookSecrets = 2

func setStripeWebhook(c *Config, v string) error {
	parts := strings.Split(v, ",")
	if len(parts) > maxWebhookSecrets {
		return fmt.Errorf("%d secrets, at most %d: the new one and the old one", len(parts), maxWebhookSecrets)
	}
	c.Payments.WebhookSecrets = nil
	for _, part := range parts {
		secret := strings.TrimSpace(part)
		if !strings.HasPrefix(secret, "whsec_") || len(secret) < 16 {
			return fmt.Errorf("a webhook secret begins with whsec_: copy it from the endpoint's page at Stripe")
		}
		c.Payments.WebhookSecrets = append(c.Payments.WebhookSecrets, Secret(secret))
	}
	return nil
}

func setKeys(c *Config, v string) error {
	if _, err := parseKeys([]byte(v)); err != nil {
		return err
	}
	c.Keys = Secret(v)
	return nil
}

func setTips(c *Config, v string) error {
	switch v {
	case "on":
		c.Tips = true
	case "off":
		c.Tips = false
	default:
		return unknown(v, "on", "off")
	}
	return nil
}

func setBaseURL(c *Config, v string) error {
	u, err := webURL(v)
	if err != nil || (u.Path != "" && u.Path != "/") {
		return errors.New("no base URL: write https://HOST without a path")
	}
	c.BaseURL = strings.TrimSuffix(v, "/")
	return nil
}

func setLogLevel(c *Config, v string) error {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[v]
	if !ok {
		return unknown(v, "debug", "info", "warn", "error")
	}
	c.LogLevel = level
	return nil
}

func setRegion(c *Config, v string) error {
	if !isName(v, 2, 40, "-") || strings.ToLower(v) != v {
		return fmt.Errorf("%q is no region: write one like eu-west-1", v)
	}
	c.AWS.Region = v
	return nil
}

func setAccessKey(c *Config, v string) error    { c.AWS.AccessKeyID = v; return nil }
func setSecretKey(c *Config, v string) error    { c.AWS.SecretAccessKey = Secret(v); return nil }
func setSessionToken(c *Config, v string) error { c.AWS.SessionToken = Secret(v); return nil }

func setEndpoint(s Service) func(*Config, string) error {
	return func(c *Config, v string) error {
		if _, err := webURL(v); err != nil {
			return errors.New("no address: write http://HOST:PORT or https://HOST")
		}
		if s == "" {
			c.AWS.endpoint = v
		} else {
			c.AWS.endpoints[s] = v
		}
		return nil
	}
}

// webURL parses an http or https address without credentials, query or fragment.
func webURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err != nil {
		return nil, err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("not an address")
	}
	return u, nil
}

func split(v string) (scheme, rest string) {
	scheme, rest, _ = strings.Cut(v, ":")
	return scheme, rest
}

// dirOf reads the directory of file:DIR; file:///abs means the same as file:/abs.
func dirOf(rest string) (string, error) {
	if strings.HasPrefix(rest, "///") {
		rest = rest[2:]
	}
	if rest == "" || strings.HasPrefix(rest, "//") || strings.ContainsRune(rest, 0) {
		return "", fmt.Errorf("file:%s names no directory: write file:DIR, for example file:./data", rest)
	}
	return filepath.Clean(rest), nil
}

// isName tells whether v has between least and most letters, digits and bytes of extra.
func isName(v string, least, most int, extra string) bool {
	for _, b := range []byte(v) {
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && strings.IndexByte(extra, b) < 0 {
			return false
		}
	}
	return len(v) >= least && len(v) <= most
}

func unknown(v string, forms ...string) error {
	return fmt.Errorf("%q is not understood: write one of %s", v, strings.Join(forms, ", "))
}
