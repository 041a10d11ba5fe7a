package config

import (
	"bytes"
	"fmt"
	"strings"
)

// prefix begins the names of the exchange's own variables.
const prefix = "GUILDHALL_"

// Variable declares one environment variable. The table is the only place that names it:
// parsing, the check for unknown names and docs/CONFIG.md all read it.
type Variable struct {
	Name    string
	Type    string // what a value looks like
	Default string // as a reader sees it; empty: none
	Meaning string
	Example string
	set     func(c *Config, value string) error
}

// Variables returns the table, in the order of the document.
func Variables() []Variable { return variables() }

func variables() []Variable {
	all := []Variable{
		{"GUILDHALL_STORE", "`file:DIR`, `memory:` or `dynamodb://TABLE`", "`file:./data`",
			"Where the table is: one SQLite file in a directory, nothing that lasts, or a DynamoDB table.", "dynamodb://guildhall", setStore},
		{"GUILDHALL_QUEUE", "`memory:` or `sqs://QUEUE_URL_PREFIX`", "`memory:`",
			"Where job messages go. With SQS there is one queue per job class; its name is appended to the prefix. Put `http://` in front of the prefix for an emulator without TLS.",
			"sqs://sqs.eu-west-1.amazonaws.com/123456789012/guildhall-", setQueue},
		{"GUILDHALL_BLOBS", "`file:DIR`, `memory:` or `s3://BUCKET`", "`file:` in the directory of the store, else `memory:`",
			"Where files and long bodies are kept.", "s3://guildhall-files", setBlobs},
		{"GUILDHALL_MAIL", "`box:`, `smtp://USER:PASSWORD@HOST:PORT`, `smtps://…` or `ses:`", "`box:`",
			"How email leaves. The box keeps it for a developer to read. `smtp` asks for STARTTLS, `smtps` speaks TLS from the start; `?tls=none` is for a relay on this machine.",
			"smtps://guildhall:secret@mail.example.com:465", setMail},
		{"GUILDHALL_MAIL_FROM", "mailbox, or name and mailbox", "`Guildhall <guildhall@localhost.localdomain>` with `box:`",
			"Who email comes from. Needed when mail really leaves.", "Guildhall <notices@example.com>", setMailFrom},
		{"GUILDHALL_SMS", "`box:`, `sns:` or `none:`", "`box:` where email stays in the box too, else `none:`",
			"How text messages leave. The box keeps them beside the emails. `sns:` sends transactional texts through Amazon SNS, which also takes care of STOP: " +
				"who answers it gets no more texts, and the exchange is told so when it tries. With `none:` nobody is offered texts, and everything else works.",
			"sns:", setSMS},
		{"GUILDHALL_PAYMENTS", "`simulated:` or `stripe:`", "`simulated:`",
			"Who moves the money. `stripe:` needs the next two.", "stripe:", setPayments},
		{"GUILDHALL_STRIPE_KEY", "secret", "", "The secret key of the Stripe account.", "sk_live_…", setStripeKey},
		{"GUILDHALL_STRIPE_WEBHOOK_SECRET", "secret; two with a comma while one is replaced", "",
			"What Stripe signs its webhooks with.", "whsec_…", setStripeWebhook},
		{"GUILDHALL_LINKS", "`off`, `probe:` or `probe:BOOTSTRAP_URL`", "`off`",
			"Whether links that agents deliver are also fetched and the age of their domains looked up, beyond the rules that need no network. The URL is that of the list of RDAP servers, where IANA's cannot be reached.",
			"probe:", setLinks},
		{"GUILDHALL_KEYS", "the JSON of `keys.json`", "`keys.json` in the data directory, made on first use",
			"The secret keys: token HMAC, cursor and form signing, checkpoint signing, each current and previous. Needed where there is no data directory.",
			`{"token":{"current":"…"},"form":{"current":"…"},"checkpoint":{"current":"…"}}`, setKeys},
		{"GUILDHALL_TIPS", "`on` or `off`", "`on`", "Whether people can tip.", "off", setTips},
		{"GUILDHALL_BASE_URL", "URL without a path", "the address served on",
			"How people and agents reach the exchange: links in mail, pages and manifests begin with it.", "https://guildhall.example.com", setBaseURL},
		{"GUILDHALL_LOG_LEVEL", "`debug`, `info`, `warn` or `error`", "`info`", "The least important line that is logged.", "warn", setLogLevel},
		{"AWS_REGION", "region name", "", "The region of everything on AWS. Needed with any AWS adapter.", "eu-west-1", setRegion},
		{"AWS_ACCESS_KEY_ID", "text", "", "AWS credentials. Lambda sets the three itself.", "AKIA…", setAccessKey},
		{"AWS_SECRET_ACCESS_KEY", "secret", "", "AWS credentials.", "…", setSecretKey},
		{"AWS_SESSION_TOKEN", "secret", "", "AWS credentials, with temporary ones.", "…", setSessionToken},
		{"AWS_ENDPOINT_URL", "URL", "AWS itself", "Where AWS is played by an emulator.", "http://localhost:4566", setEndpoint("")},
	}
	for _, s := range Services {
		all = append(all, Variable{endpointVariable(s), "URL", "`AWS_ENDPOINT_URL`", "The same for one service: " + string(s) + ".", "http://localhost:8000", setEndpoint(s)})
	}
	return all
}

func endpointVariable(s Service) string {
	return "AWS_ENDPOINT_URL_" + strings.ToUpper(string(s))
}

// CheckNames refuses names in an environment ("NAME=value" lines, as os.Environ gives them)
// that begin like the exchange's own and are not: a misspelt variable must not be a silent
// default.
func CheckNames(environ []string) error {
	known := map[string]bool{}
	for _, v := range variables() {
		known[v.Name] = true
	}
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, prefix) && !known[name] {
			return fmt.Errorf("%s is not a variable of Guildhall; did you mean %s? docs/CONFIG.md lists them all", name, closest(name))
		}
	}
	return nil
}

// closest is the declared name with the least edit distance.
func closest(name string) string {
	best, least := "", len(name)+100
	for _, v := range variables() {
		if d := distance(name, v.Name); strings.HasPrefix(v.Name, prefix) && d < least {
			best, least = v.Name, d
		}
	}
	return best
}

const maxNameBytes = 100 // bytes of a name that are compared

// distance is Levenshtein's: insertions, deletions and changes from a to b.
func distance(a, b string) int {
	a, b = a[:min(len(a), maxNameBytes)], b[:min(len(b), maxNameBytes)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Markdown is docs/CONFIG.md.
func Markdown() []byte {
	var b bytes.Buffer
	b.WriteString("# Configuration\n\nGenerated from the table in `pkg/config`. Everything is set by environment variables; with none of them `guildhall serve` works.\n" +
		"A name that begins with `GUILDHALL_` and is not listed is refused at start.\n\n" +
		"| Variable | Value | Default | Meaning | Example |\n|---|---|---|---|---|\n")
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	for _, v := range variables() {
		fallback := v.Default
		if fallback == "" {
			fallback = "none"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` |\n", v.Name, cell.Replace(v.Type), cell.Replace(fallback), cell.Replace(v.Meaning), cell.Replace(v.Example))
	}
	return b.Bytes()
}
