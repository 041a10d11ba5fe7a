//go:build devclock

package lambda

import (
	"context"
	"os"

	"guildhall/pkg/blob"
	"guildhall/pkg/config"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	texts "guildhall/pkg/sms/outbox"
	machine "guildhall/pkg/wire/loopback"
)

// The runner on this machine is the way out for mail, texts and payments, and the store of files.
func init() {
	Provide(op.Mail, config.Box, func(o Opening) (Port, error) {
		c, err := runner()
		return func(ctx context.Context) context.Context {
			return outbox.With(ctx, outbox.Letters{Mailer: c.Mailer(), From: o.Config.Mail.From})
		}, err
	})
	Provide(op.Texts, config.Box, func(Opening) (Port, error) {
		c, err := runner()
		return func(ctx context.Context) context.Context { return texts.With(ctx, c.Texts()) }, err
	})
	Provide(op.Payments, config.Simulated, func(o Opening) (Port, error) {
		c, err := runner()
		var secrets []string
		for _, s := range o.Config.Payments.WebhookSecrets {
			secrets = append(secrets, s.Reveal())
		}
		return func(ctx context.Context) context.Context { return pay.With(ctx, c.Processor(), secrets...) }, err
	})
	Provide(op.Blobs, config.Memory, func(Opening) (Port, error) {
		c, err := runner()
		return func(ctx context.Context) context.Context { return blob.With(ctx, c.Store()) }, err
	})
}

func runner() (*machine.Client, error) {
	return machine.New(os.Getenv(machine.Variable), os.Getenv("AWS_LAMBDA_FUNCTION_NAME"))
}
