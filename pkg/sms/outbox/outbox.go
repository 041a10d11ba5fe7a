// Package outbox stages text messages as rows of the commit that causes them; a job hands
// each of them over afterwards, at most once (law 7).
//
// At most once, and not at least once: the service that carries texts knows no key, so the
// job cannot look whether an earlier try came through. It sends again only what is known
// not to have been sent (a service out of reach, a throttled account), and drops what may
// have been. What became of a text is kept under its key, without number and words, so that
// a key staged anew after months is not sent again either:
//
//	<context>.TEXT#<hash of the key> / ROOT  what became of a text
package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/sms"
	"guildhall/pkg/table"
)

// Kind is the effect kind of a text in the outbox.
const Kind = "text"

// MaxLate is how long after its commit a text may still leave: one that waited longer would
// come at night, or beside its successor.
const MaxLate = 6 * time.Hour

// State is what became of a text.
type State string

// The states.
const (
	Sent    State = "sent"    // the carrier's side has it
	Refused State = "refused" // it can never be sent, or the number takes none
	Late    State = "late"    // MaxLate was over before it could be sent
	Off     State = "off"     // no text leaves this exchange
	Unknown State = "unknown" // it may have been sent and is not sent again
	GivenUp State = "given_up"
)

// Record is the row that says what became of a text. It names nobody.
type Record struct {
	Key   string    `json:"key"`
	State State     `json:"state"`
	Cause string    `json:"cause,omitempty"`
	At    time.Time `json:"at"`
}

// RecordKey is the row of a key's record; group is the context that staged the text.
func RecordKey(group, key string) table.Key {
	sum := sha256.Sum256([]byte(key))
	return table.Key{PK: group + ".TEXT#" + hex.EncodeToString(sum[:16]), SK: "ROOT"}
}

// staged is a text with the time of its commit.
type staged struct {
	sms.Message
	At time.Time `json:"at"`
}

type port struct{}

// With puts the way out into a context. Without one texts are off: what is staged is dropped.
func With(ctx context.Context, s sms.Sender) context.Context {
	return context.WithValue(ctx, port{}, s)
}

// Send stages a text. Its Key is permanent: a text staged twice under one key is sent once.
// Stage texts only where c.Texts says that they leave. sms.Text makes a body that is valid
// whatever its parts are; a text that is not valid is dropped when its turn comes.
func Send(c *op.Call, m sms.Message) { c.Effect(Kind, m.Key, staged{m, c.Now}) }

// Effect hands over what Send staged.
var Effect = op.EffectKind{Kind: Kind, Touches: op.Texts, Do: do, Done: done, Dead: dead}

// Effects are for the contexts that stage texts.
var Effects = []op.EffectKind{Effect}

// do sends a text unless it may have been sent already. Its result is a Record; an error
// means that nothing was sent and that it is worth another try.
func do(c *op.Call, t op.Fired) (any, error) {
	var s staged
	if err := op.Decode(t.Payload, &s); err != nil {
		return Record{Key: t.Subject, State: Refused, Cause: "the stored text cannot be read"}, nil
	}
	r := Record{Key: s.Key}
	old, found, err := op.Load[Record](c, RecordKey(c.Group, s.Key))
	if err != nil {
		return nil, err
	}
	out, on := c.Value(port{}).(sms.Sender)
	switch {
	case found:
		return old, nil
	case t.Unsettled:
		r.State, r.Cause = Unknown, "an earlier try did not say how it ended"
	case !on:
		r.State = Off
	case c.Now.Sub(s.At) > MaxLate:
		r.State = Late
	default:
		return hand(c, out, s.Message, r)
	}
	return r, nil
}

// hand sends. Only a text that is known not to be sent is an error.
func hand(c *op.Call, out sms.Sender, m sms.Message, r Record) (any, error) {
	err := out.Send(c, m)
	switch {
	case err == nil:
		r.State = Sent
		return r, nil
	case errors.Is(err, sms.ErrUnavailable):
		return nil, err
	case errors.Is(err, sms.ErrInvalid), errors.Is(err, sms.ErrRefused):
		r.State, r.Cause = Refused, err.Error()
	default:
		r.State, r.Cause = Unknown, err.Error()
	}
	return r, nil
}

// done keeps what became of a text, once for its key.
func done(c *op.Call, _ op.Fired, result any) error { return keep(c, result.(Record)) }

// dead keeps that a text was given up; its row stands with the other given-up effects.
func dead(c *op.Call, t op.Fired, cause error) error {
	return keep(c, Record{Key: t.Subject, State: GivenUp, Cause: cause.Error()})
}

func keep(c *op.Call, r Record) error {
	key := RecordKey(c.Group, r.Key)
	row, err := c.Get(key)
	if err != nil || row.Found() {
		return err
	}
	r.At = c.Now
	c.Create(key, r)
	return nil
}
