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
	storing  = []string{"s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"}
	// listing makes S3 answer 404 for an absent object, and finds old uploads.
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
	"bench": {"attachments/"},
}

// Prefixes are the beginnings of the bucket's keys that the function uses: those of its
// contexts, and the staged uploads on their way to them.
func (f Function) Prefixes() []string {
	out := []string{blob.UploadPrefix}
	for _, home := range f.Homes {
		out = append(out, prefixes[home]...)
	}
	return out
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
		all = append(all, Grant{Bucket, "", listing})
		for _, p := range f.Prefixes() {
			all = append(all, Grant{Objects, p, storing})
		}
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
