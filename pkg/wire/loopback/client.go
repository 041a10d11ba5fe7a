package loopback

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"sync"

	"guildhall/pkg/blob"
	"guildhall/pkg/mail"
	"guildhall/pkg/pay"
	"guildhall/pkg/sms"
)

type nothing struct{}

type mailer struct{ *Client }

// Send implements mail.Mailer.
func (c mailer) Send(ctx context.Context, m mail.Mail) error {
	if err := m.Valid(); err != nil { // before JSON repairs what is no UTF-8
		return err
	}
	_, err := call[nothing](ctx, c.Client, "mail/send", m)
	return err
}

type phones struct{ *Client }

// Send implements sms.Sender. What the runner did not say is not known.
func (c phones) Send(ctx context.Context, m sms.Message) error {
	if err := m.Valid(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", sms.ErrUnavailable, err)
	}
	_, err := call[nothing](ctx, c.Client, "sms/send", m)
	return err
}

type processor struct{ *Client }

// found is the answer to a look.
type found[T any] struct {
	Value T
	Found bool
}

// look is what FindRefund and FindTransfer ask.
type look struct{ Key, Of string }

// CreateCheckout implements pay.Processor.
func (c processor) CreateCheckout(ctx context.Context, r pay.CheckoutRequest) (pay.Checkout, error) {
	return call[pay.Checkout](ctx, c.Client, "pay/create-checkout", r)
}

// ExpireCheckout implements pay.Processor.
func (c processor) ExpireCheckout(ctx context.Context, id string) (pay.Checkout, error) {
	return call[pay.Checkout](ctx, c.Client, "pay/expire-checkout", id)
}

// GetCheckout implements pay.Processor.
func (c processor) GetCheckout(ctx context.Context, id string) (pay.Checkout, error) {
	return call[pay.Checkout](ctx, c.Client, "pay/get-checkout", id)
}

// Refund implements pay.Processor.
func (c processor) Refund(ctx context.Context, r pay.RefundRequest) (pay.Refund, error) {
	return call[pay.Refund](ctx, c.Client, "pay/refund", r)
}

// FindRefund implements pay.Processor.
func (c processor) FindRefund(ctx context.Context, key, paymentID string) (pay.Refund, bool, error) {
	f, err := call[found[pay.Refund]](ctx, c.Client, "pay/find-refund", look{key, paymentID})
	return f.Value, f.Found, err
}

// Transfer implements pay.Processor.
func (c processor) Transfer(ctx context.Context, r pay.TransferRequest) (pay.Transfer, error) {
	return call[pay.Transfer](ctx, c.Client, "pay/transfer", r)
}

// FindTransfer implements pay.Processor.
func (c processor) FindTransfer(ctx context.Context, key, dealID string) (pay.Transfer, bool, error) {
	f, err := call[found[pay.Transfer]](ctx, c.Client, "pay/find-transfer", look{key, dealID})
	return f.Value, f.Found, err
}

// CreateAccount implements pay.Processor.
func (c processor) CreateAccount(ctx context.Context, r pay.AccountRequest) (pay.Account, error) {
	return call[pay.Account](ctx, c.Client, "pay/create-account", r)
}

// AccountLink implements pay.Processor.
func (c processor) AccountLink(ctx context.Context, r pay.LinkRequest) (pay.Link, error) {
	return call[pay.Link](ctx, c.Client, "pay/account-link", r)
}

// AccountStatus implements pay.Processor.
func (c processor) AccountStatus(ctx context.Context, id string) (pay.Account, error) {
	return call[pay.Account](ctx, c.Client, "pay/account-status", id)
}

type store struct{ *Client }

// The calls of a blob store beyond a key.
type (
	putCall struct {
		Key     string
		Options blob.PutOptions
	}
	getCall struct {
		Key   string
		Range blob.Range
	}
	listCall struct {
		Prefix, After string
		Limit         int
	}
	signCall struct {
		Key      string
		Download blob.Download
	}
	claimCall struct {
		UploadID, Key string
		Want          blob.Digest
	}
)

// Put implements blob.Store. A body that cannot be read to its end breaks the call off, so
// that nothing is stored.
func (c store) Put(ctx context.Context, key string, body io.Reader, o blob.PutOptions) (blob.Info, error) {
	o, err := blob.ValidPut(key, o)
	if err != nil {
		return blob.Info{}, err
	}
	args, err := json.Marshal(putCall{key, o})
	if err != nil {
		return blob.Info{}, err
	}
	watched := &watched{r: body}
	res, err := c.open(ctx, "blob/put", url.Values{"call": {string(args)}}, watched)
	if broken := watched.end(); broken != nil {
		if err == nil {
			res.Body.Close()
		}
		return blob.Info{}, broken
	}
	if err != nil {
		return blob.Info{}, err
	}
	return read[blob.Info](res)
}

// watched remembers why a body ended early, and reads nothing once the call is over: the
// transport may still be at it then.
type watched struct {
	mu   sync.Mutex
	r    io.Reader
	over bool
	err  error
}

// Read implements io.Reader.
func (w *watched) Read(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := w.r.Read(b)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

func (w *watched) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	return w.err
}

// infoHeader carries a blob.Info beside an object's bytes.
const infoHeader = "X-Blob-Info"

// Get implements blob.Store.
func (c store) Get(ctx context.Context, key string, r blob.Range) (blob.Object, error) {
	if err := blob.ValidKey(key); err != nil {
		return blob.Object{}, err
	}
	args, err := json.Marshal(getCall{key, r})
	if err != nil {
		return blob.Object{}, err
	}
	res, err := c.open(ctx, "blob/get", url.Values{"call": {string(args)}}, nil)
	if err != nil {
		return blob.Object{}, err
	}
	o := blob.Object{Body: res.Body}
	b, err := base64.StdEncoding.DecodeString(res.Header.Get(infoHeader))
	if err == nil {
		err = json.Unmarshal(b, &o.Info)
	}
	if err != nil {
		res.Body.Close()
		return blob.Object{}, err
	}
	return o, nil
}

// Head implements blob.Store.
func (c store) Head(ctx context.Context, key string) (blob.Info, error) {
	if err := blob.ValidKey(key); err != nil {
		return blob.Info{}, err
	}
	return call[blob.Info](ctx, c.Client, "blob/head", key)
}

// Delete implements blob.Store.
func (c store) Delete(ctx context.Context, key string) error {
	if err := blob.ValidKey(key); err != nil {
		return err
	}
	_, err := call[nothing](ctx, c.Client, "blob/delete", key)
	return err
}

// List implements blob.Store.
func (c store) List(ctx context.Context, prefix, after string, limit int) (blob.Page, error) {
	return call[blob.Page](ctx, c.Client, "blob/list", listCall{prefix, after, limit})
}

// SignPut implements blob.Store.
func (c store) SignPut(ctx context.Context, u blob.Upload) (string, error) {
	return call[string](ctx, c.Client, "blob/sign-put", u)
}

// SignGet implements blob.Store.
func (c store) SignGet(ctx context.Context, key string, d blob.Download) (string, error) {
	return call[string](ctx, c.Client, "blob/sign-get", signCall{key, d})
}

// Claim implements blob.Store.
func (c store) Claim(ctx context.Context, uploadID, key string, want blob.Digest) (blob.Info, error) {
	if err := blob.ValidClaim(uploadID, key, want); err != nil {
		return blob.Info{}, err
	}
	return call[blob.Info](ctx, c.Client, "blob/claim", claimCall{uploadID, key, want})
}
