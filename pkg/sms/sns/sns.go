// Package sns is the way out for text messages through Amazon SNS: Publish to a phone
// number, as a transactional text.
//
// SNS knows no key, so a text that is asked for twice is sent twice. Each text is one
// request, never repeated here: what may have been taken is answered with ErrUnknown. Who
// answers STOP is opted out by SNS, which then refuses the number; where a sender id or an
// origination number is required, it is set up in the account.
//
// The request is signed here and not by SNS's client of the SDK, which repeats a request
// whose answer was lost.
//
// Needed action: sns:Publish, on anything but topics.
package sns

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"guildhall/pkg/awshttp"
	"guildhall/pkg/sms"
)

const (
	sendTime   = 10 * time.Second // one text
	maxRequest = 16 << 10         // bytes of a request: the longest body, escaped
	maxAnswer  = 64 << 10         // bytes of an answer
	version    = "2010-03-31"     // of SNS's interface
)

// Credentials are those of the environment; a session token comes with temporary ones.
type Credentials struct {
	AccessKeyID, SecretAccessKey, SessionToken string
}

// Options configure the adapter.
type Options struct {
	Region      string
	Credentials Credentials
	// BaseEndpoint replaces AWS's address when set.
	BaseEndpoint string
	// Now is the real time, which signatures are checked against.
	Now func() time.Time
}

// Sender is the adapter. It is safe for use by many goroutines.
type Sender struct {
	o      Options
	signer *v4.Signer
	http   awshttp.Client
}

var _ sms.Sender = (*Sender)(nil)

// New makes the adapter; it calls nothing yet.
func New(o Options) (*Sender, error) {
	switch {
	case o.Region == "":
		return nil, errors.New("sns: a region is needed")
	case o.Credentials.AccessKeyID == "" || o.Credentials.SecretAccessKey == "":
		return nil, errors.New("sns: an access key and its secret are needed")
	case o.Now == nil:
		return nil, errors.New("sns: a clock is needed")
	}
	if o.BaseEndpoint == "" {
		o.BaseEndpoint = "https://sns." + o.Region + ".amazonaws.com"
		if strings.HasPrefix(o.Region, "cn-") {
			o.BaseEndpoint += ".cn"
		}
	}
	return &Sender{o: o, signer: v4.NewSigner(), http: awshttp.New(sendTime, maxRequest)}, nil
}

// Send implements sms.Sender.
func (s *Sender) Send(ctx context.Context, m sms.Message) error {
	if err := m.Valid(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	var began atomic.Bool // a connection was there to write to
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { began.Store(true) }})
	req, err := s.request(ctx, m)
	if err != nil {
		return fmt.Errorf("%w: %w", sms.ErrUnavailable, err)
	}
	res, err := s.http.Do(req)
	switch {
	case err != nil && !began.Load():
		return fmt.Errorf("%w: SNS was not reached: %w", sms.ErrUnavailable, errors.Join(bare(err), ctx.Err()))
	case err != nil:
		return fmt.Errorf("%w: SNS gave no answer: %w", sms.ErrUnknown, bare(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return said(res.StatusCode, body, err)
}

// bare is an error without the address that net/http puts around it.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// request is a signed Publish.
func (s *Sender) request(ctx context.Context, m sms.Message) (*http.Request, error) {
	const kind = "MessageAttributes.entry.1."
	form := url.Values{"Action": {"Publish"}, "Version": {version}, "PhoneNumber": {m.To}, "Message": {m.Body}, kind + "Name": {"AWS.SNS.SMS.SMSType"},
		kind + "Value.DataType": {"String"}, kind + "Value.StringValue": {"Transactional"}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.o.BaseEndpoint, "/")+"/", strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	sum := sha256.Sum256([]byte(form))
	c := s.o.Credentials
	return req, s.signer.SignHTTP(ctx, aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken},
		req, hex.EncodeToString(sum[:]), "sns", s.o.Region, s.o.Now())
}

// answer is what SNS says: the id of a text it took, or why it did not.
type answer struct {
	XMLName xml.Name
	ID      string `xml:"PublishResult>MessageId"`
	Code    string `xml:"Error>Code"`
	Message string `xml:"Error>Message"`
}

// said turns an answer into the port's errors. SNS's messages repeat the number, so its
// codes are kept alone. A refusal that says something of the number or the text is for good;
// one that says something of the account is repaired by the operator or by waiting. A server
// that broke down may have sent the text before.
func said(status int, body []byte, read error) error {
	var a answer
	if read == nil {
		read = xml.Unmarshal(body, &a)
	}
	code := a.Code
	if !isCode(code) {
		code = "no code"
	}
	switch {
	case status == http.StatusOK && read == nil && a.ID != "":
		return nil
	case status == http.StatusServiceUnavailable && a.Code != "" || status >= 400 && status < 500 && isWaiting(a.Code):
		return fmt.Errorf("%w: SNS: %s", sms.ErrUnavailable, code)
	case status < 400 || status >= 500:
		return fmt.Errorf("%w: SNS answered %d (%s)", sms.ErrUnknown, status, code)
	case a.Code == "OptedOut" || a.Code == "InvalidParameter" && strings.Contains(strings.ToLower(a.Message), "opted out"):
		return fmt.Errorf("%w: the owner of the number opted out of texts", sms.ErrRefused)
	case a.Code == "InvalidParameter" || a.Code == "InvalidParameterValue" || a.Code == "ParameterValueInvalid" || a.Code == "ValidationError":
		return fmt.Errorf("%w: SNS takes no text for this number (%s)", sms.ErrRefused, code)
	}
	return fmt.Errorf("%w: SNS: %d %s", sms.ErrUnavailable, status, code)
}

// isWaiting tells whether a code asks to come back later.
func isWaiting(code string) bool {
	return strings.HasPrefix(code, "Throttl") || strings.HasSuffix(code, "Throttling") || code == "RequestLimitExceeded" || code == "ServiceUnavailable"
}

const maxCode = 64 // bytes of a code that is repeated in an error

// isCode tells whether s is a code and not a text that may name somebody.
func isCode(s string) bool {
	return s != "" && len(s) <= maxCode && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '.'
	}) < 0
}
