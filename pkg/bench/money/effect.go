package money

import (
	"errors"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/table"
)

// Kinds of side effects and of the timer that asks for another try.
const (
	EffectRelease = "money.release"
	EffectReturn  = "money.return"
	EffectOrphan  = "money.orphan"
	TimerRetry    = "money.retry"
)

// Effects are the processor calls of this package. Each looks before it sends again.
var Effects = []op.EffectKind{
	{Kind: EffectRelease, Touches: op.Payments, Do: sendLine, Done: lineDone, Dead: lineDead},
	{Kind: EffectReturn, Touches: op.Payments, Do: sendLine, Done: lineDone, Dead: lineDead},
	{Kind: EffectOrphan, Touches: op.Payments, Do: sendOrphan, Done: orphanDone, Dead: orphanDead},
}

// Timers are this package's timers.
var Timers = []op.TimerKind{{Context: "bench", Kind: TimerRetry, Fire: retry}}

// StripeUnavailable is the answer of a call that needs the processor and gets none
// (bench.md 15.3).
var StripeUnavailable = fault.New(fault.Upstream, "stripe_unavailable", "The payment processor did not answer. Nothing was changed. Please try again.")

// answer is what became of one try.
type answer struct {
	ID      string
	Refused pay.Code
}

// settled turns a processor's answer into a result; an answer that is not definite stays
// an error, so that the job tries again and looks first.
func settled(id string, err error) (any, error) {
	var no *pay.Refusal
	switch {
	case err == nil:
		return answer{ID: id}, nil
	case errors.As(err, &no):
		return answer{Refused: no.Code}, nil
	}
	return nil, err
}

// looksFirst tells whether a call may be sent without asking whether it already was: only
// the first try, while the processor surely still knows the key.
func looksFirst(c *op.Call, t op.Fired, since time.Time, attempt int) bool {
	return t.Tries > 0 || attempt > 0 || c.Now.Sub(since) >= pay.KeySafe
}

func lineOf(c *op.Call, t op.Fired) (Line, bool, error) {
	var r ref
	if err := op.Decode(t.Payload, &r); err != nil {
		return Line{}, false, err
	}
	return loadLine(c, r)
}

// sendLine makes the processor call of a line, once for its key.
func sendLine(c *op.Call, t op.Fired) (any, error) {
	l, found, err := lineOf(c, t)
	if err != nil || !found || l.State != Intended {
		return answer{}, err
	}
	p := pay.From(c)
	if l.Kind == Return {
		return sendRefund(c, p, refund{l.effectKey(), l.Payment, l.DealID, l.Cents, l.Attempt}, looksFirst(c, t, l.At, l.Attempt))
	}
	if looksFirst(c, t, l.At, l.Attempt) {
		if got, found, err := p.FindTransfer(c, l.effectKey(), l.DealID); err != nil || found {
			return settled(got.ID, err)
		}
	}
	got, err := p.Transfer(c, pay.TransferRequest{Key: l.effectKey(), Attempt: l.Attempt, AccountID: l.Account,
		AmountCents: l.Cents, DealID: l.DealID, PaymentID: l.Payment})
	return settled(got.ID, err)
}

type refund struct {
	key, payment, deal string
	cents              int64
	attempt            int
}

func sendRefund(c *op.Call, p pay.Processor, r refund, look bool) (any, error) {
	if look {
		if got, found, err := p.FindRefund(c, r.key, r.payment); err != nil || found {
			return settled(got.ID, err)
		}
	}
	got, err := p.Refund(c, pay.RefundRequest{Key: r.key, Attempt: r.attempt, PaymentID: r.payment, AmountCents: r.cents, DealID: r.deal})
	return settled(got.ID, err)
}

// lineDone records what the processor answered.
func lineDone(c *op.Call, t op.Fired, result any) error {
	got := result.(answer)
	l, found, err := lineOf(c, t)
	if err != nil || !found || l.State != Intended || got == (answer{}) {
		return err
	}
	if got.Refused != "" {
		l.Attempt, l.Refused = l.Attempt+1, string(got.Refused)
		l.save(c)
		c.Arm(TimerRetry, retrySubject(l.DealID, l.Kind, l.StepID), c.Now.Add(pause(l.Attempt)))
		return nil
	}
	l.State, l.Ref, l.SentAt, l.Refused = Sent, got.ID, c.Now, ""
	if l.Kind == Return { // a refund's answer is final
		l.State, l.ConfirmedAt = Confirmed, c.Now
	} else {
		c.Add(WalletKey(l.AgentID), transferredField, l.Cents)
	}
	l.save(c)
	return nil
}

// lineDead keeps a call alive that got no answer for days: money is never put aside.
func lineDead(c *op.Call, t op.Fired, _ error) error {
	l, found, err := lineOf(c, t)
	if err == nil && found && l.State == Intended {
		c.Arm(TimerRetry, retrySubject(l.DealID, l.Kind, l.StepID), c.Now.Add(longestPause))
	}
	return err
}

// longestPause is the longest wait between two tries of a refused call.
const longestPause = 24 * time.Hour

// pause is the wait after the n-th refusal: an hour, doubling to a day.
func pause(n int) time.Duration { return min(longestPause, time.Hour<<min(n-1, 5)) }

// Confirm records that the processor told of a transfer by itself (bench.md 15.4).
func Confirm(c *op.Call, t pay.Transfer) error {
	deal, step, ok := parseRelease(t.Key)
	if !ok || t.Reversed {
		return nil
	}
	l, found, err := loadLine(c, ref{deal, Release, step})
	if err != nil || !found || l.State == Confirmed || l.State == Shown || l.Cents != t.AmountCents {
		return err
	}
	if l.State == Intended { // the notice came before the answer
		l.Ref, l.SentAt, l.Refused = t.ID, c.Now, ""
		c.Add(WalletKey(l.AgentID), transferredField, l.Cents)
	}
	l.State, l.ConfirmedAt = Confirmed, c.Now
	l.save(c)
	return nil
}

// retry stages a refused call again.
func retry(c *op.Call, t op.Fired) error {
	if payment, ok := orphanSubject(t.Subject); ok {
		return retryOrphan(c, payment)
	}
	deal, kind, step, ok := parseRetry(t.Subject)
	if !ok {
		return nil
	}
	l, found, err := op.Load[Line](c, LineKey(deal, kind, step))
	if err == nil && found && l.State == Intended {
		c.Effect(l.effect(), l.effectKey(), ref{l.DealID, l.Kind, l.StepID})
		c.Check(l.Key())
	}
	return err
}

// Orphan is a payment no deal came of: it goes back in full.
type Orphan struct {
	Payment string    `json:"payment"`
	Cents   int64     `json:"cents"`
	Why     string    `json:"why"`
	At      time.Time `json:"at"`
	State   string    `json:"state"`
	Ref     string    `json:"ref,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Refused string    `json:"refused,omitempty"`
}

// OrphanKey is the row of an orphan payment.
func OrphanKey(payment string) table.Key { return table.Key{PK: "bench.ORPHAN#" + payment, SK: "ROOT"} }

// ReturnPayment stages the full return of a payment, once.
func ReturnPayment(c *op.Call, payment string, cents int64, why string) error {
	_, found, err := op.Load[Orphan](c, OrphanKey(payment))
	if err != nil || found {
		return err
	}
	c.Put(OrphanKey(payment), Orphan{Payment: payment, Cents: cents, Why: why, At: c.Now, State: Intended})
	c.Effect(EffectOrphan, "orphan:"+payment, payment)
	return nil
}

func orphanOf(c *op.Call, t op.Fired) (Orphan, bool, error) {
	var payment string
	if err := op.Decode(t.Payload, &payment); err != nil {
		return Orphan{}, false, err
	}
	return op.Load[Orphan](c, OrphanKey(payment))
}

func sendOrphan(c *op.Call, t op.Fired) (any, error) {
	o, found, err := orphanOf(c, t)
	if err != nil || !found || o.State != Intended {
		return answer{}, err
	}
	p := pay.From(c)
	return sendRefund(c, p, refund{"orphan:" + o.Payment, o.Payment, "", o.Cents, o.Attempt}, looksFirst(c, t, o.At, o.Attempt))
}

func orphanDone(c *op.Call, t op.Fired, result any) error {
	got := result.(answer)
	o, found, err := orphanOf(c, t)
	if err != nil || !found || o.State != Intended || got == (answer{}) {
		return err
	}
	if got.Refused != "" {
		o.Attempt, o.Refused = o.Attempt+1, string(got.Refused)
		c.Arm(TimerRetry, orphanPrefix+o.Payment, c.Now.Add(pause(o.Attempt)))
	} else {
		o.State, o.Ref, o.Refused = Confirmed, got.ID, ""
	}
	c.Put(OrphanKey(o.Payment), o)
	return nil
}

func orphanDead(c *op.Call, t op.Fired, _ error) error {
	o, found, err := orphanOf(c, t)
	if err == nil && found && o.State == Intended {
		c.Arm(TimerRetry, orphanPrefix+o.Payment, c.Now.Add(longestPause))
	}
	return err
}

func retryOrphan(c *op.Call, payment string) error {
	o, found, err := op.Load[Orphan](c, OrphanKey(payment))
	if err == nil && found && o.State == Intended {
		c.Effect(EffectOrphan, "orphan:"+payment, payment)
		c.Check(OrphanKey(payment))
	}
	return err
}
