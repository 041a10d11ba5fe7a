// Package config is the exchange's configuration: typed, read from the environment once,
// with errors that say what to do next. Nothing else reads the environment.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
)

// Kind says which adapter a port uses.
type Kind string

// The kinds, by the scheme that selects them.
const (
	File      Kind = "file"      // store, blobs
	Memory    Kind = "memory"    // store, queue, blobs
	DynamoDB  Kind = "dynamodb"  // store
	SQS       Kind = "sqs"       // queue
	S3        Kind = "s3"        // blobs
	Box       Kind = "box"       // mail, texts
	SMTP      Kind = "smtp"      // mail
	SES       Kind = "ses"       // mail
	SNS       Kind = "sns"       // texts
	None      Kind = "none"      // texts
	Simulated Kind = "simulated" // payments
	Stripe    Kind = "stripe"    // payments
	Off       Kind = "off"       // links
	Probe     Kind = "probe"     // links
)

// Service is an AWS service the exchange calls.
type Service string

// The services, by the names AWS_ENDPOINT_URL_<SERVICE> uses.
const (
	ServiceDynamoDB Service = "dynamodb"
	ServiceSQS      Service = "sqs"
	ServiceS3       Service = "s3"
	ServiceSES      Service = "sesv2"
	ServiceSNS      Service = "sns"
)

// Services lists them.
var Services = []Service{ServiceDynamoDB, ServiceSQS, ServiceS3, ServiceSES, ServiceSNS}

// Secret is a value that never prints: not with %v, not in JSON, not in a log.
type Secret string

// Reveal returns the value, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(set)"
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the value from JSON and slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Store says where the table is.
type Store struct {
	Kind  Kind   // File, Memory, DynamoDB
	Dir   string // of File
	Table string // of DynamoDB
}

// Queue says where job messages go.
type Queue struct {
	Kind      Kind   // Memory, SQS
	URLPrefix string // of SQS: the URL of a queue without its name
}

// Blobs says where files are kept.
type Blobs struct {
	Kind   Kind // File, Memory, S3
	Dir    string
	Bucket string
}

// TLS says how an SMTP connection is protected.
type TLS string

// The ways.
const (
	StartTLS TLS = "starttls" // refused when the server does not offer it
	Implicit TLS = "implicit" // from the first byte
	NoTLS    TLS = "none"     // only to this machine
)

// Mail says how email leaves.
type Mail struct {
	Kind     Kind // Box, SMTP, SES
	From     string
	Host     string // SMTP: host:port
	Username string
	Password Secret
	TLS      TLS
}

// Payments says who moves the money.
type Payments struct {
	Kind           Kind // Simulated, Stripe
	StripeKey      Secret
	WebhookSecrets []Secret
}

// Links says whether the link gate asks the net about links.
type Links struct {
	Kind      Kind   // Off, Probe
	Bootstrap string // of Probe: the URL that lists the registries' servers; empty: IANA's
}

// AWS is what AWS's own variables say.
type AWS struct {
	Region          string
	AccessKeyID     string
	SecretAccessKey Secret
	SessionToken    Secret
	endpoint        string
	endpoints       map[Service]string
}

// Endpoint is the address that replaces a service's own; empty: AWS itself.
func (a AWS) Endpoint(s Service) string {
	if e := a.endpoints[s]; e != "" {
		return e
	}
	return a.endpoint
}

// Config is the configuration of one process.
type Config struct {
	Store    Store
	Queue    Queue
	Blobs    Blobs
	Mail     Mail
	SMS      Kind // Box, SNS, None
	Payments Payments
	Links    Links
	Keys     Secret // the JSON of keys.json; empty: LoadKeys uses the file
	Tips     bool
	BaseURL  string // empty: the address served on
	LogLevel slog.Level
	AWS      AWS

	given map[string]bool // names of the variables that were set
}

const boxSender = "Guildhall <guildhall@localhost.localdomain>"

// FromEnv reads the configuration through getenv (os.Getenv); an empty value is an unset
// one. All errors are returned together, each naming its variable.
func FromEnv(getenv func(string) string) (Config, error) {
	c := Config{
		Store: Store{Kind: File, Dir: "data"}, Queue: Queue{Kind: Memory}, Mail: Mail{Kind: Box},
		Payments: Payments{Kind: Simulated}, Links: Links{Kind: Off}, Tips: true, AWS: AWS{endpoints: map[Service]string{}}, given: map[string]bool{},
	}
	var errs []error
	for _, v := range variables() {
		value := strings.TrimSpace(getenv(v.Name))
		if value == "" {
			continue
		}
		c.given[v.Name] = true
		if err := v.set(&c, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", v.Name, err))
		}
	}
	if len(errs) == 0 {
		errs = c.complete()
	}
	return c, errors.Join(errs...)
}

// FromEnviron is FromEnv over "NAME=value" lines (os.Environ), unknown names refused.
func FromEnviron(environ []string) (Config, error) {
	values := map[string]string{}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok {
			values[name] = value
		}
	}
	if err := CheckNames(environ); err != nil {
		return Config{}, err
	}
	return FromEnv(func(name string) string { return values[name] })
}

// Given tells whether a variable was set, for flags that only replace a default.
func (c Config) Given(name string) bool { return c.given[name] }

// complete fills in what follows from the rest and finds what is missing.
func (c *Config) complete() []error {
	var errs []error
	need := func(missing bool, name, why string) {
		if missing {
			errs = append(errs, fmt.Errorf("%s is not set, and %s needs it; set it, or leave that at its default", name, why))
		}
	}
	if c.Blobs.Kind == "" {
		c.Blobs = defaultBlobs(c.Store)
	}
	if c.Mail.From == "" && c.Mail.Kind == Box {
		c.Mail.From = boxSender
	}
	if c.SMS == "" { // nobody is offered texts that end in a box while email really leaves
		c.SMS = None
		if c.Mail.Kind == Box {
			c.SMS = Box
		}
	}
	need(c.Mail.From == "", "GUILDHALL_MAIL_FROM", "GUILDHALL_MAIL="+string(c.Mail.Kind))
	if c.Payments.Kind == Stripe {
		need(c.Payments.StripeKey == "", "GUILDHALL_STRIPE_KEY", "GUILDHALL_PAYMENTS=stripe:")
		need(len(c.Payments.WebhookSecrets) == 0, "GUILDHALL_STRIPE_WEBHOOK_SECRET", "GUILDHALL_PAYMENTS=stripe:")
	}
	if why := c.usesAWS(); why != "" {
		need(c.AWS.Region == "", "AWS_REGION", why)
		need(c.AWS.AccessKeyID == "", "AWS_ACCESS_KEY_ID", why)
		need(c.AWS.SecretAccessKey == "", "AWS_SECRET_ACCESS_KEY", why)
	}
	return errs
}

// defaultBlobs keeps files beside the table, or as briefly as it.
func defaultBlobs(s Store) Blobs {
	if s.Kind == File {
		return Blobs{Kind: File, Dir: filepath.Join(s.Dir, "blobs")}
	}
	return Blobs{Kind: Memory}
}

// usesAWS names the first setting that needs AWS; empty: none.
func (c *Config) usesAWS() string {
	for _, u := range []struct {
		uses bool
		name string
	}{
		{c.Store.Kind == DynamoDB, "GUILDHALL_STORE=dynamodb:"}, {c.Queue.Kind == SQS, "GUILDHALL_QUEUE=sqs:"},
		{c.Blobs.Kind == S3, "GUILDHALL_BLOBS=s3:"}, {c.Mail.Kind == SES, "GUILDHALL_MAIL=ses:"}, {c.SMS == SNS, "GUILDHALL_SMS=sns:"},
	} {
		if u.uses {
			return u.name
		}
	}
	return ""
}

// WithData puts what the environment does not place into a data directory.
func (c Config) WithData(dir string) Config {
	if !c.Given("GUILDHALL_STORE") {
		c.Store = Store{Kind: File, Dir: dir}
	}
	if !c.Given("GUILDHALL_BLOBS") {
		c.Blobs = defaultBlobs(c.Store)
	}
	return c
}

// InMemory keeps nothing of what the environment does not place.
func (c Config) InMemory() Config {
	if !c.Given("GUILDHALL_STORE") {
		c.Store = Store{Kind: Memory}
	}
	if !c.Given("GUILDHALL_BLOBS") {
		c.Blobs = Blobs{Kind: Memory}
	}
	return c
}
