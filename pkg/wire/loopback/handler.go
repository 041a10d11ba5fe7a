package loopback

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"guildhall/pkg/blob"
	"guildhall/pkg/mail"
	"guildhall/pkg/pay"
	"guildhall/pkg/sms"
)

// Ports are what the runner has behind the handler.
type Ports struct {
	Mail     mail.Mailer
	Texts    sms.Sender
	Payments pay.Processor
	Blobs    blob.Store
	// Allow tells whether a function's role allows what the same call needs on AWS: the
	// action, and the key of the object ("" where none is named). Nil allows all.
	Allow func(function, action, key string) error
}

// Handler serves POST /ports/….
func Handler(p Ports) http.Handler {
	mux := http.NewServeMux()
	send := func(ctx context.Context, m mail.Mail) (nothing, error) { return nothing{}, p.Mail.Send(ctx, m) }
	mux.Handle("POST /ports/mail/send", serve(p, func(mail.Mail) (string, string) { return "ses:SendEmail", "" }, send))
	text := func(ctx context.Context, m sms.Message) (nothing, error) { return nothing{}, p.Texts.Send(ctx, m) }
	mux.Handle("POST /ports/sms/send", serve(p, func(sms.Message) (string, string) { return "sns:Publish", "" }, text))
	free(mux, p, "create-checkout", p.Payments.CreateCheckout)
	free(mux, p, "expire-checkout", p.Payments.ExpireCheckout)
	free(mux, p, "get-checkout", p.Payments.GetCheckout)
	free(mux, p, "refund", p.Payments.Refund)
	free(mux, p, "transfer", p.Payments.Transfer)
	free(mux, p, "create-account", p.Payments.CreateAccount)
	free(mux, p, "account-link", p.Payments.AccountLink)
	free(mux, p, "account-status", p.Payments.AccountStatus)
	free(mux, p, "find-refund", func(ctx context.Context, l look) (f found[pay.Refund], err error) {
		f.Value, f.Found, err = p.Payments.FindRefund(ctx, l.Key, l.Of)
		return f, err
	})
	free(mux, p, "find-transfer", func(ctx context.Context, l look) (f found[pay.Transfer], err error) {
		f.Value, f.Found, err = p.Payments.FindTransfer(ctx, l.Key, l.Of)
		return f, err
	})
	p.instruments(mux)
	p.blobs(mux)
	return mux
}

// blobs serves the calls of the blob store. A claim copies, so it needs the right to put.
func (p Ports) blobs(mux *http.ServeMux) {
	s := p.Blobs
	remove := func(ctx context.Context, key string) (nothing, error) { return nothing{}, s.Delete(ctx, key) }
	list := func(ctx context.Context, c listCall) (blob.Page, error) {
		return s.List(ctx, c.Prefix, c.After, c.Limit)
	}
	signGet := func(ctx context.Context, c signCall) (string, error) { return s.SignGet(ctx, c.Key, c.Download) }
	claim := func(ctx context.Context, c claimCall) (blob.Info, error) {
		return s.Claim(ctx, c.UploadID, c.Key, c.Want)
	}
	mux.Handle("POST /ports/blob/head", serve(p, func(key string) (string, string) { return "s3:GetObject", key }, s.Head))
	mux.Handle("POST /ports/blob/delete", serve(p, func(key string) (string, string) { return "s3:DeleteObject", key }, remove))
	mux.Handle("POST /ports/blob/list", serve(p, func(listCall) (string, string) { return "s3:ListBucket", "" }, list))
	mux.Handle("POST /ports/blob/sign-put", serve(p, func(u blob.Upload) (string, string) { return "s3:PutObject", blob.UploadKey(u.ID) }, s.SignPut))
	mux.Handle("POST /ports/blob/sign-get", serve(p, func(c signCall) (string, string) { return "s3:GetObject", c.Key }, signGet))
	mux.Handle("POST /ports/blob/claim", serve(p, func(c claimCall) (string, string) { return "s3:PutObject", c.Key }, claim))
	mux.HandleFunc("POST /ports/blob/put", p.put)
	mux.HandleFunc("POST /ports/blob/get", p.get)
}

// free serves a call of the processor, which needs nothing of a role.
func free[In, Out any](mux *http.ServeMux, p Ports, name string, do func(context.Context, In) (Out, error)) {
	mux.Handle("POST /ports/pay/"+name, serve(p, nil, do))
}

// serve makes a handler of one call. needs says what it needs on AWS; nil: nothing.
func serve[In, Out any](p Ports, needs func(In) (action, key string), do func(context.Context, In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&in)
		if err == nil && needs != nil {
			action, key := needs(in)
			err = p.allow(r, action, key)
		}
		var out Out
		if err == nil {
			out, err = do(r.Context(), in)
		}
		answer(w, out, err)
	})
}

func (p Ports) allow(r *http.Request, action, key string) error {
	if p.Allow == nil {
		return nil
	}
	return p.Allow(r.Header.Get(functionHeader), action, key)
}

func answer(w http.ResponseWriter, out any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusConflict)
		out = problemOf(err)
	}
	_ = json.NewEncoder(w).Encode(out)
}

// arguments reads a call that travels beside an object's bytes.
func arguments[In any](r *http.Request) (in In, err error) {
	err = json.Unmarshal([]byte(r.URL.Query().Get("call")), &in)
	return in, err
}

func (p Ports) put(w http.ResponseWriter, r *http.Request) {
	in, err := arguments[putCall](r)
	if err == nil {
		err = p.allow(r, "s3:PutObject", in.Key)
	}
	var info blob.Info
	if err == nil {
		info, err = p.Blobs.Put(r.Context(), in.Key, r.Body, in.Options)
	}
	answer(w, info, err)
}

func (p Ports) get(w http.ResponseWriter, r *http.Request) {
	in, err := arguments[getCall](r)
	if err == nil {
		err = p.allow(r, "s3:GetObject", in.Key)
	}
	var o blob.Object
	if err == nil {
		o, err = p.Blobs.Get(r.Context(), in.Key, in.Range)
	}
	var info []byte
	if err == nil {
		defer o.Body.Close()
		info, err = json.Marshal(o.Info)
	}
	if err != nil {
		answer(w, nil, err)
		return
	}
	w.Header().Set(infoHeader, base64.StdEncoding.EncodeToString(info))
	if _, err := io.Copy(w, o.Body); err != nil && !errors.Is(err, r.Context().Err()) {
		panic(fmt.Errorf("%w: %w", http.ErrAbortHandler, err)) // the client must not take a part for the whole
	}
}
