package plan

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"guildhall/pkg/mail"
)

// Settings are what an operator chooses. All have defaults but MailFrom.
type Settings struct {
	Name     string // begins the names of table, queues, functions and stacks
	MailFrom string // who email comes from: "Guildhall <notices@example.com>"
	// BaseURL is the public address; empty: the one API Gateway gives.
	BaseURL string
	// Domain and Certificate (the ARN of one in the same region) put the API under a domain
	// of the operator's; BaseURL then follows from it.
	Domain, Certificate string
	AlarmEmail          string // who is told; empty: alarms tell nobody
	KeysSecret          string // Secrets Manager: the JSON of keys.json
	KeysVersion         string // a version of it, to roll new keys out; empty: the current one
	StripeSecret        string // Secrets Manager: {"key":…,"webhook":…}
	StripeVersion       string
	Tips                string // on or off
	Texts               string // on or off: text messages leave through SNS
	Links               string // on or off: links are fetched too
	LogLevel            string
	Waiting             int // reserved concurrency of each long poll; 0: none
	Rate                int // requests per second the API takes
	Arch                string
	Dist                string // folder of the built functions
}

// Defaults are the settings of an operator who chose nothing.
func Defaults() Settings {
	return Settings{Name: "guildhall", KeysSecret: "guildhall/keys", StripeSecret: "guildhall/stripe", Tips: "on", Texts: "off", Links: "off",
		LogLevel: "info", Waiting: 50, Rate: 200, Arch: "arm64", Dist: "dist"}
}

// maxName bounds Name, so that function and bucket names stay within 63 characters.
const maxName = 20

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]*[a-z0-9]$`)

// Check finds what is wrong with settings, and completes BaseURL.
func (s *Settings) Check() error {
	var errs []error
	say := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	say(!nameForm.MatchString(s.Name) || len(s.Name) > maxName, "name %q: 2 to %d lowercase letters, digits and hyphens", s.Name, maxName)
	say(s.MailFrom == "", "mailFrom is needed: who email comes from, for example -c 'mailFrom=Guildhall <notices@example.com>'")
	say(s.MailFrom != "" && !mail.IsSender(s.MailFrom), "mailFrom %q is no sender: write a mailbox, or Name <mailbox>", s.MailFrom)
	say((s.Domain == "") != (s.Certificate == ""), "domain and certificate go together")
	say(s.Domain != "" && s.BaseURL != "", "baseUrl follows from domain: give one of them")
	say(s.BaseURL != "" && !strings.HasPrefix(s.BaseURL, "https://"), "baseUrl %q: write https://HOST", s.BaseURL)
	say(s.AlarmEmail != "" && !mail.IsMailbox(s.AlarmEmail), "alarmEmail %q is no mailbox", s.AlarmEmail)
	say(s.Tips != "on" && s.Tips != "off", "tips is on or off")
	say(s.Texts != "on" && s.Texts != "off", "texts is on or off")
	say(s.Links != "on" && s.Links != "off", "links is on or off")
	say(s.Arch != "arm64" && s.Arch != "x86_64", "arch %q: arm64 or x86_64", s.Arch)
	say(s.Waiting < 0 || s.Rate < 1, "waiting is at least 0, rate is at least 1")
	if s.Domain != "" {
		s.BaseURL = "https://" + s.Domain
	}
	return errors.Join(errs...)
}

// MailDomain is the domain whose SES identity sends.
func (s Settings) MailDomain() string {
	_, box, named := strings.Cut(s.MailFrom, "<")
	if !named {
		box = s.MailFrom
	}
	_, domain, _ := strings.Cut(strings.TrimSuffix(box, ">"), "@")
	return domain
}
