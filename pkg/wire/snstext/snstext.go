// Package snstext gives a function that sends text messages Amazon SNS: a blank import is
// enough.
package snstext

import (
	"context"

	"guildhall/pkg/config"
	"guildhall/pkg/op"
	"guildhall/pkg/sms/outbox"
	"guildhall/pkg/sms/sns"
	"guildhall/pkg/wire/lambda"
)

func init() { lambda.Provide(op.Texts, config.SNS, open) }

func open(o lambda.Opening) (lambda.Port, error) {
	a := o.Config.AWS
	s, err := sns.New(sns.Options{Region: a.Region, BaseEndpoint: a.Endpoint(config.ServiceSNS), Now: o.Now,
		Credentials: sns.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()}})
	return func(ctx context.Context) context.Context { return outbox.With(ctx, s) }, err
}
