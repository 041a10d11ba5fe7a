// Package sesmail gives a function that sends mail Amazon SES: a blank import is enough.
package sesmail

import (
	"context"

	"guildhall/pkg/config"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/mail/ses"
	"guildhall/pkg/op"
	"guildhall/pkg/wire/lambda"
)

func init() { lambda.Provide(op.Mail, config.SES, open) }

func open(o lambda.Opening) (lambda.Port, error) {
	a := o.Config.AWS
	m, err := ses.New(ses.Options{Region: a.Region, BaseEndpoint: a.Endpoint(config.ServiceSES), Now: o.Now,
		Credentials: ses.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()}})
	return func(ctx context.Context) context.Context {
		return outbox.With(ctx, outbox.Letters{Mailer: m, From: o.Config.Mail.From})
	}, err
}
