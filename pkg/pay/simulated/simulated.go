// Package simulated is a payment processor in the program itself, that misbehaves like the
// worst real one: it forgets keys after a day, remembers refusals under them, may lose its
// answer after the effect, keeps its own clock of checkouts, and repeats and reorders its
// webhooks. It never creates money: what leaves a payment is never more than what came in.
//
// Given a Storage it continues after kill -9 where its last answer left it.
package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"guildhall/pkg/pay"
)

const (
	maxObjects = 200_000 // checkouts, accounts, transfers: each
	maxCalls   = 20_000  // recorded calls; the oldest go first
	maxCount   = 10_000  // calls one SetMode may spoil
	linkLife   = 5 * time.Minute
)

// Paths below Options.BaseURL of the addresses this processor hands out.
const (
	CheckoutPath = "/simulated/checkout/"
	LinkPath     = "/simulated/onboarding/"
)

// Storage keeps the state across a restart.
type Storage interface {
	// Load returns what was saved last, nil when nothing was.
	Load() ([]byte, error)
	// Save replaces it; nil means it is durable.
	Save([]byte) error
}

// Options configure a Processor.
type Options struct {
	Clock         func() time.Time // required
	NewID         func() string    // ends of ids; nil: numbers in order
	BaseURL       string           // before CheckoutPath and LinkPath, without a trailing slash
	WebhookSecret string
	Storage       Storage // nil: memory only
	// Order makes webhooks misbehave: of n that are due it returns the order in which they
	// are delivered, as indices 0..n-1, where one may come twice or not at all (yet). Nil
	// delivers each once, in order.
	Order func(n int) []int
}

// Processor is the simulated processor. It is safe for use by many goroutines.
type Processor struct {
	opts  Options
	mu    sync.Mutex
	s     *state
	dirty bool   // the state differs from saved
	saved []byte // the state as saved last
}

var _ pay.Processor = (*Processor)(nil)

// New opens the processor.
func New(o Options) (*Processor, error) {
	p := &Processor{opts: o, s: newState()}
	if o.Storage == nil {
		return p, nil
	}
	data, err := o.Storage.Load()
	if err != nil {
		return nil, fmt.Errorf("simulated: %w", err)
	}
	if data == nil {
		return p, nil
	}
	if p.s, err = decodeState(data); err != nil {
		return nil, fmt.Errorf("simulated: the stored state cannot be read: %w", err)
	}
	p.saved = data
	return p, nil
}

// save makes a changed state durable. When that fails nothing has happened: the state goes back
// to what was saved last. p.mu is held.
func (p *Processor) save() error {
	if p.opts.Storage == nil || !p.dirty {
		return nil
	}
	p.dirty = false
	data, err := json.Marshal(p.s)
	if err == nil {
		err = p.opts.Storage.Save(data)
	}
	if err == nil {
		p.saved = data
		return nil
	}
	p.s = newState()
	if p.saved != nil {
		old, bad := decodeState(p.saved)
		err = errors.Join(err, bad)
		p.s = old
	}
	return fmt.Errorf("%w: %w", pay.ErrUnavailable, err)
}

func (p *Processor) id(prefix string) string {
	p.s.Seq++
	if p.opts.NewID != nil {
		return prefix + "_sim_" + p.opts.NewID()
	}
	return prefix + "_sim_" + strconv.FormatUint(p.s.Seq, 10)
}

// takeMode says how the call at hand behaves, and counts it.
func (p *Processor) takeMode() Mode {
	if p.s.Mode.Left == 0 {
		return ModeOK
	}
	p.s.Mode.Left--
	p.dirty = true
	return p.s.Mode.Next
}

// keyed runs one call under an idempotency key. T is the stored form of its result.
func keyed[T any](ctx context.Context, p *Processor, c call, key string, request any, effect func(now time.Time) (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Clock().UTC()
	p.expire(now)
	mode := p.takeMode()
	c.At = now
	var result T
	var err error
	if mode == ModeFail {
		c.Outcome, err = Dropped, fmt.Errorf("%w: made to fail", pay.ErrUnavailable)
	} else {
		result, c.Outcome, err = remembered(p, now, string(c.Kind)+" "+key, request, effect)
		if mode == ModeTimeout {
			if c.Outcome == Done {
				c.Outcome = LostAnswer
			}
			err = fmt.Errorf("%w: the answer was lost", pay.ErrUnavailable)
		}
	}
	p.record(c)
	if bad := p.save(); bad != nil {
		return zero, bad
	}
	if err != nil {
		return zero, err
	}
	return result, nil
}

// remembered answers from the key, or has the effect and remembers it.
func remembered[T any](p *Processor, now time.Time, key string, request any, effect func(time.Time) (T, error)) (T, Outcome, error) {
	var result T
	hash, err := hashOf(request)
	if err != nil {
		return result, Refused, err
	}
	p.forget(now)
	if a, ok := p.s.Keys[key]; ok {
		switch {
		case a.Hash != hash:
			return result, Refused, &pay.Refusal{Code: pay.KeyReused, Message: "the key was used with other parameters"}
		case a.Refused != nil:
			return result, Refused, &pay.Refusal{Code: a.Refused.Code, Message: a.Refused.Message}
		}
		return result, Replayed, json.Unmarshal(a.Result, &result)
	}
	a := answer{Hash: hash, At: now}
	result, err = effect(now)
	var no *pay.Refusal
	switch {
	case errors.As(err, &no):
		a.Refused = &refusal{Code: no.Code, Message: no.Message}
		p.s.Keys[key] = a
		return result, Refused, err
	case err != nil:
		return result, Dropped, err
	}
	if a.Result, err = json.Marshal(result); err != nil {
		return result, Dropped, err
	}
	p.s.Keys[key] = a
	return result, Done, nil
}

func hashOf(request any) (string, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:]), nil
}

// forget drops the keys that are a day old.
func (p *Processor) forget(now time.Time) {
	for key, a := range p.s.Keys {
		if now.Sub(a.At) >= pay.KeyLife {
			delete(p.s.Keys, key)
		}
	}
}

// plain runs one call that has no key.
func (p *Processor) plain(ctx context.Context, do func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Clock().UTC()
	p.expire(now)
	mode := p.takeMode()
	var err error
	if mode != ModeFail {
		err = do(now)
	}
	if bad := p.save(); bad != nil {
		return bad
	}
	if mode != ModeOK {
		return fmt.Errorf("%w: made to fail", pay.ErrUnavailable)
	}
	return err
}

func room(n int) error {
	if n >= maxObjects {
		return fmt.Errorf("%w: %d objects, at most %d", pay.ErrUnavailable, n, maxObjects)
	}
	return nil
}

func notFound(what, id string) error {
	return &pay.Refusal{Code: pay.NotFound, Message: "no such " + what + ": " + id}
}
