// Package loopback carries the ports that have no service of their own on one machine (mail,
// texts, payments, files) from a function's process to the runner that executes the template
// there. Client is the functions' side, Handler the runner's.
//
// Only functions built with the tag devclock link it: nothing of it is in a deployed one, and
// a test says so. It trusts whoever reaches the runner's internal address, which listens on
// a loopback interface.
package loopback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"guildhall/pkg/blob"
	"guildhall/pkg/mail"
	"guildhall/pkg/pay"
	"guildhall/pkg/sms"
)

// Variable is the environment variable that holds the runner's internal address.
const Variable = "GUILDHALL_DEV_PORTS_URL"

// functionHeader names the calling function, whose role the runner looks at.
const functionHeader = "X-Function"

// maxMessage bounds a call and an answer other than an object's bytes, in bytes.
const maxMessage = 8 << 20

// sentinels are the errors that callers tell apart, by their name on the wire.
var sentinels = map[string]error{
	"blob.not_found": blob.ErrNotFound, "blob.exists": blob.ErrExists, "blob.mismatch": blob.ErrMismatch, "blob.too_large": blob.ErrTooLarge,
	"blob.range": blob.ErrRange, "blob.invalid": blob.ErrInvalid, "blob.unavailable": blob.ErrUnavailable, "blob.corrupt": blob.ErrCorrupt,
	"mail.invalid": mail.ErrInvalid, "mail.refused": mail.ErrRefused, "mail.unavailable": mail.ErrUnavailable,
	"sms.invalid": sms.ErrInvalid, "sms.refused": sms.ErrRefused, "sms.unavailable": sms.ErrUnavailable, "sms.unknown": sms.ErrUnknown,
	"pay.unavailable": pay.ErrUnavailable, "pay.invalid": pay.ErrInvalid,
}

// problem is an error on the wire.
type problem struct {
	Name    string       `json:"name"` // of a sentinel, "" for any other error
	Message string       `json:"message"`
	Refusal *pay.Refusal `json:"refusal,omitempty"`
}

func problemOf(err error) problem {
	p := problem{Message: err.Error()}
	errors.As(err, &p.Refusal)
	for name, s := range sentinels {
		if errors.Is(err, s) {
			p.Name = name
		}
	}
	return p
}

func (p problem) err() error {
	switch s := sentinels[p.Name]; {
	case p.Refusal != nil:
		return p.Refusal
	case s != nil:
		return fmt.Errorf("%w: %s", s, p.Message)
	}
	return errors.New("loopback: " + p.Message)
}

// Client is all the ports of one function: use Mailer, Texts, Processor and Store.
type Client struct {
	base     string
	function string
	http     *http.Client
}

// New makes a client of the runner at an http address of this machine; function is the name
// of the caller.
func New(address, function string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) {
		return nil, fmt.Errorf("%s: mail, payments and files of this build are a runner's on this machine; give its http://127.0.0.1:PORT", Variable)
	}
	return &Client{base: strings.TrimSuffix(address, "/"), function: function,
		http: &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}}, nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// Mailer is the runner's box.
func (c *Client) Mailer() mail.Mailer { return mailer{c} }

// Texts is the runner's box as the way out for text messages.
func (c *Client) Texts() sms.Sender { return phones{c} }

// Processor is the runner's simulated processor.
func (c *Client) Processor() pay.Processor { return processor{c} }

// Store is the runner's blob store.
func (c *Client) Store() blob.Store { return store{c} }

// open sends a call and returns the answer of one that succeeded.
func (c *Client) open(ctx context.Context, method string, query url.Values, body io.Reader) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	address := c.base + "/ports/" + method
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set(functionHeader, c.function)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	var p problem
	b, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("loopback: answer %d to %s: %w", res.StatusCode, method, err)
	}
	return nil, p.err()
}

// call sends a call with a JSON body and reads its JSON answer.
func call[Out any](ctx context.Context, c *Client, method string, in any) (out Out, err error) {
	b, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	res, err := c.open(ctx, method, nil, bytes.NewReader(b))
	if err != nil {
		return out, err
	}
	return read[Out](res)
}

func read[Out any](res *http.Response) (out Out, err error) {
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	return out, err
}
