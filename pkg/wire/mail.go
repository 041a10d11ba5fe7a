package wire

import (
	"context"

	"guildhall/pkg/config"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/ses"
	"guildhall/pkg/mail/smtp"
)

// ways sends emails one way and texts another.
type ways struct{ email, text mail.Mailer }

// Send implements mail.Mailer.
func (w ways) Send(ctx context.Context, m mail.Mail) error {
	if m.Channel == mail.Email {
		return w.email.Send(ctx, m)
	}
	return w.text.Send(ctx, m)
}

// way is the configured way out for mail. The box takes what no other adapter is named for.
func (x *Exchange) way() (mail.Mailer, error) {
	var email mail.Mailer
	var err error
	switch x.Mail.Kind {
	case config.SMTP:
		email, err = smtp.New(smtp.Options{Host: x.Mail.Host, Username: x.Mail.Username, Password: x.Mail.Password.Reveal(),
			Protection: smtp.Protection(x.Mail.TLS), Now: x.Clock.Now})
	case config.SES:
		email, err = x.ses()
	default:
		return x.Box, nil
	}
	return ways{email: email, text: x.Box}, err
}

func (x *Exchange) ses() (mail.Mailer, error) {
	a := x.AWS
	return ses.New(ses.Options{Region: a.Region, BaseEndpoint: a.Endpoint(config.ServiceSES), Now: x.Clock.Now,
		Credentials: ses.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()}})
}
