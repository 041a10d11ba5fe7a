// Package ses is the way out for email through Amazon SES.
//
// The sender, or its domain, is an identity that SES has verified. SES may have taken a
// message whose answer was lost, and gives each its own Message-ID: a repeated key can be
// delivered twice then.
//
// Needed actions: ses:SendEmail, ses:SendRawEmail.
package ses

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
	"github.com/aws/smithy-go/logging"

	"guildhall/pkg/awshttp"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/rfc5322"
)

const (
	attemptTime = 5 * time.Second  // one attempt
	sendTime    = 15 * time.Second // one message, the SDK's retries included
	maxRequest  = 8 << 20          // bytes of one request: the longest mail, encoded twice
)

// Credentials are those of the environment; a session token comes with temporary ones.
type Credentials struct {
	AccessKeyID, SecretAccessKey, SessionToken string
}

// Options configure the adapter.
type Options struct {
	Region      string
	Credentials Credentials
	// BaseEndpoint replaces AWS's address when set (an emulator).
	BaseEndpoint string
	Now          func() time.Time // for the Date header
}

// Mailer is the adapter. It is safe for use by many goroutines.
type Mailer struct {
	client *sesv2.Client
	now    func() time.Time
}

var _ mail.Mailer = (*Mailer)(nil)

// New makes the adapter; it calls nothing yet. The SDK's retries stay on.
func New(o Options) (*Mailer, error) {
	switch {
	case o.Region == "":
		return nil, errors.New("ses: a region is needed")
	case o.Credentials.AccessKeyID == "" || o.Credentials.SecretAccessKey == "":
		return nil, errors.New("ses: an access key and its secret are needed")
	case o.Now == nil:
		return nil, errors.New("ses: a clock is needed")
	}
	c := o.Credentials
	so := sesv2.Options{
		Region: o.Region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey,
				SessionToken: c.SessionToken, Source: "guildhall"}, nil
		}),
		Logger:     logging.Nop{},
		HTTPClient: awshttp.New(attemptTime, maxRequest),
	}
	if o.BaseEndpoint != "" {
		so.BaseEndpoint = aws.String(o.BaseEndpoint)
	}
	return &Mailer{client: sesv2.New(so), now: o.Now}, nil
}

// Send implements mail.Mailer for email.
func (s *Mailer) Send(ctx context.Context, m mail.Mail) error {
	if err := m.Valid(); err != nil {
		return err
	}
	if rfc5322.International(m) {
		return fmt.Errorf("%w: SES takes no address with letters beyond ASCII", mail.ErrRefused)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	_, err := s.client.SendEmail(ctx, &sesv2.SendEmailInput{
		FromEmailAddress: aws.String(rfc5322.Mailbox(m.From)),
		Destination:      &types.Destination{ToAddresses: []string{m.To}},
		Content:          &types.EmailContent{Raw: &types.RawMessage{Data: rfc5322.Render(m, s.now())}},
	})
	return said(err)
}

// said turns SES's answer into the port's errors. Only what SES says of the message itself
// is for good; an unverified sender, a paused or suspended account and a throttled one are
// repaired by the operator or by waiting. The messages name addresses, so the kinds are kept
// alone.
func said(err error) error {
	if err == nil {
		return nil
	}
	var (
		rejected *types.MessageRejected
		bad      *types.BadRequestException
		sender   *types.MailFromDomainNotVerifiedException
		paused   *types.SendingPausedException
		stopped  *types.AccountSuspendedException
	)
	switch {
	case errors.As(err, &rejected):
		return fmt.Errorf("%w: SES rejected the message", mail.ErrRefused)
	case errors.As(err, &bad):
		return fmt.Errorf("%w: SES cannot read the message", mail.ErrRefused)
	case errors.As(err, &sender):
		return fmt.Errorf("%w: SES has not verified the domain mail is sent from", mail.ErrUnavailable)
	case errors.As(err, &paused):
		return fmt.Errorf("%w: sending is paused for the account", mail.ErrUnavailable)
	case errors.As(err, &stopped):
		return fmt.Errorf("%w: the account is suspended", mail.ErrUnavailable)
	}
	return fmt.Errorf("%w: SES: %w", mail.ErrUnavailable, err)
}
