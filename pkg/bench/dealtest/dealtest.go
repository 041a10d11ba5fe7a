// Package dealtest is the exchange in which the tests of deals and of the stewards run: people
// and agents brought to a finalist's bid, a picked deal or a signed one, a processor and a mail
// box.
package dealtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/closing"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/bench/steward"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
)

// M is a JSON object.
type M = map[string]any

// Hall is an exchange with a processor and a mail box of its own.
type Hall struct {
	*optest.Exchange
	Bank  *simulated.Processor
	Mails *Postbox

	agents int
}

// HookSecret signs the processor's notices.
const HookSecret = "whsec_for_tests"

// Postbox keeps the mails that go out.
type Postbox struct{ Sent []mail.Mail }

// Send implements mail.Mailer.
func (p *Postbox) Send(_ context.Context, m mail.Mail) error { p.Sent = append(p.Sent, m); return nil }

// New makes an exchange with every clock and side effect of bids, deals and stewards.
func New(t testing.TB, opts ...optest.Option) *Hall {
	w := &Hall{Mails: &Postbox{}}
	timers := slices.Concat(deals.Timers, money.Timers, steward.Timers, bids.Timers, delivery.Timers)
	effects := slices.Concat(deals.Effects, money.Effects, outbox.Effects, closing.Effects)
	var err error
	w.Bank, err = simulated.New(simulated.Options{Clock: func() time.Time { return w.Now() }, BaseURL: "http://guildhall.test", WebhookSecret: HookSecret})
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]optest.Option{optest.WithTimers(timers...), optest.WithEffects(effects...),
		optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
			return outbox.With(pay.With(ctx, w.Bank, HookSecret), outbox.Letters{Mailer: w.Mails, From: "Guildhall <hall@guildhall.test>"})
		})}, opts...)
	w.Exchange = optest.New(t, opts...)
	return w
}

// Hooks delivers the processor's notices.
func (w *Hall) Hooks() {
	w.T.Helper()
	_, err := w.Bank.Deliver(context.Background(), func(_ context.Context, h simulated.Webhook) error {
		res := w.Do(deals.Hook, optest.Req{Body: h.Body, Header: Strings(M{"Stripe-Signature": h.Signature})})
		if res.Status != 200 {
			return fmt.Errorf("status %d: %s", res.Status, res.Body)
		}
		return nil
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// Strings makes a path or a header of an object of strings.
func Strings(in M) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		out[k] = v.(string)
	}
	return out
}

// Agent registers a reachable agent whose payouts are ready, and returns its id and token.
func (w *Hall) Agent(handle string) (id, token string) {
	w.T.Helper()
	w.agents++
	res := w.Do(registry.Register, optest.Req{Address: fmt.Sprintf("192.0.2.%d", w.agents), Body: M{"handle": fmt.Sprintf("%s-%d", handle, w.agents), "skills": "Booking tables.",
		"disclosure":        M{"is_ai": true, "model": "Example Model 1", "operator_label": "Two Cooks", "operator_type": "person"},
		"system_record":     M{"autonomy": "fully_autonomous", "harness": "custom", "base_models": []M{{"provider": "example", "model": "one", "version": "1"}}},
		"responsible_party": M{"legal_name": "Ann Other", "jurisdiction": "US-CA", "contact_ref": fmt.Sprintf("owner%d@example.test", w.agents)},
		"rules":             M{"accepted": true, "version_hash": rulebook.Hash()}}}).Want(201)
	id, token = res.Str("maker_id"), res.Str("rest_token")
	for range 2 {
		w.Do(registry.AckPing, optest.Req{Token: token, Body: M{}}).Want(200)
	}
	if err := w.Bank.SetReady(id, true); err != nil {
		w.T.Fatal(err)
	}
	w.Hooks()
	return id, token
}

// Subjects are those of the mails, oldest first.
func (w *Hall) Subjects() []string {
	var out []string
	for _, m := range w.Mails.Sent {
		out = append(out, m.Subject)
	}
	return out
}

// Has tells whether one of the texts holds a part.
func Has(list []string, part string) bool {
	for _, s := range list {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// common are the refusals any operation can answer.
var common = []string{"not found", "unauthorized", "invalid_json", "unsupported_media_type", "idempotency_key_required", "idempotency_conflict",
	"unknown_field", "invalid_field", "missing_field", "body_too_large", "rate_limited", "busy", "unavailable"}

// Do makes a call and holds its refusal against the declaration.
func (w *Hall) Do(o *op.Operation, r optest.Req) optest.Res {
	w.T.Helper()
	res := w.Exchange.Do(o, r)
	if code := res.Str("error"); res.Status >= 400 && !slices.Contains(common, code) && !slices.Contains(o.Faults, code) {
		w.T.Errorf("%s answers %q, which it does not declare", o.ID, code)
	}
	return res
}
