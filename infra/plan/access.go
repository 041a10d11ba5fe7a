package plan

import (
	"slices"

	"guildhall/pkg/blob"
	"guildhall/pkg/op"
)

// Kind of a thing a function may be allowed to touch.
type Kind string

// The things.
const (
	Table    Kind = "table"
	Bucket   Kind = "bucket"
	Objects  Kind = "objects"  // of the bucket, below the prefix Name
	Messages Kind = "queue"    // the queue Name
	Identity Kind = "identity" // the sender of mail
	Phones   Kind = "phones"   // text messages to any number
	Logs     Kind = "logs"     // the function's own
)

// Grant allows actions on one thing.
type Grant struct {
	Kind    Kind
	Name    string
	Actions []string
}

var (
	// seeing is what every call of an operation does: it reads, and puts its caller's sign
	// of life and its limit's row. TransactWriteItems is allowed by the actions of its parts.
	seeing = []string{"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"}
	// changing is what a write may do beyond that.
	changing = []string{"dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:UpdateItem"}
	fetching = []string{"s3:GetObject"}
	// receiving is what an upload address allows, and looking at what came.
	receiving = []string{"s3:GetObject", "s3:PutObject"}
	storing   = []string{"s3:DeleteObject", "s3:GetObject", "s3:PutObject"}
	removing  = []string{"s3:DeleteObject"}
	// listing makes S3 answer 404 for an absent object.
	listing   = []string{"s3:ListBucket"}
	sending   = []string{"sqs:SendMessage"}
	consuming = []string{"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}
	mailing   = []string{"ses:SendEmail", "ses:SendRawEmail"}
	texting   = []string{"sns:Publish"}
	logging   = []string{"logs:CreateLogStream", "logs:PutLogEvents"}
)

// prefixes are the beginnings of the keys under which a context keeps its files. A test
// finds the ones its sources name.
var prefixes = map[string][]string{
	"bench":  {"agent-artifacts/", "agent-images/", "attachments/", "materials/"},
	"person": {"attachments/", "materials/"}, // what people upload is bench's too; it goes with their accounts
}

// files lists what a function may do in the bucket. A read fetches; an operation that changes
// something stores, takes back what its commit did not name, and gives out upload addresses,
// which allow what it may itself; a job removes what no row names any more. Uploads nobody
// claimed are the bucket's own to remove.
func (f Function) files() []Grant {
	kept, all := fetching, []Grant{{Bucket, "", listing}}
	switch {
	case f.Reads != nil:
		kept, all = removing, []Grant{{Objects, blob.UploadPrefix, removing}}
	case f.Changes:
		kept, all = storing, append(all, Grant{Objects, blob.UploadPrefix, receiving})
	}
	var below []string
	for _, home := range f.Homes {
		below = append(below, prefixes[home]...)
	}
	slices.Sort(below)
	for _, p := range slices.Compact(below) {
		all = append(all, Grant{Objects, p, kept})
	}
	return all
}

// Grants lists what a function may do under an operator's settings.
func (s Settings) Grants(f Function) []Grant {
	return slices.DeleteFunc(f.Grants(), func(g Grant) bool { return g.Kind == Phones && s.Texts != "on" })
}

// Grants lists what a function may do: what its declaration touches and nothing else.
func (f Function) Grants() []Grant {
	all := []Grant{{Logs, "", logging}}
	if f.Touches.Has(op.Table) {
		actions := seeing
		if f.Changes {
			actions = slices.Sorted(slices.Values(slices.Concat(seeing, changing)))
		}
		all = append(all, Grant{Table, "", actions})
	}
	if f.Touches.Has(op.Blobs) {
		all = append(all, f.files()...)
	}
	if f.Touches.Has(op.Mail) {
		all = append(all, Grant{Identity, "", mailing})
	}
	if f.Touches.Has(op.Texts) {
		all = append(all, Grant{Phones, "", texting})
	}
	if f.Reads != nil {
		all = append(all, Grant{Messages, f.Reads.Name, consuming})
	}
	for _, q := range f.Sends {
		all = append(all, Grant{Messages, q, sending})
	}
	return all
}
