package wire

import (
	"time"

	"guildhall/pkg/config"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/ses"
	"guildhall/pkg/mail/smtp"
	"guildhall/pkg/sms"
	"guildhall/pkg/sms/sns"
)

// way is the configured way out for mail. The box takes what no other adapter is named for.
func (x *Exchange) way() (mail.Mailer, error) {
	switch x.Mail.Kind {
	case config.SMTP:
		return smtp.New(smtp.Options{Host: x.Mail.Host, Username: x.Mail.Username, Password: x.Mail.Password.Reveal(),
			Protection: smtp.Protection(x.Mail.TLS), Now: x.Clock.Now})
	case config.SES:
		return x.ses()
	}
	return x.Box, nil
}

// phones is the configured way out for text messages; nil where none leave. Its requests are
// signed for the real time, whatever the exchange's clock says.
func (x *Exchange) phones() (sms.Sender, error) {
	switch x.SMS {
	case config.None:
		return nil, nil
	case config.SNS:
		a := x.AWS
		return sns.New(sns.Options{Region: a.Region, BaseEndpoint: a.Endpoint(config.ServiceSNS), Now: time.Now,
			Credentials: sns.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()}})
	}
	return x.Box.Texts(), nil
}

func (x *Exchange) ses() (mail.Mailer, error) {
	a := x.AWS
	return ses.New(ses.Options{Region: a.Region, BaseEndpoint: a.Endpoint(config.ServiceSES), Now: x.Clock.Now,
		Credentials: ses.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()}})
}
