// Package optest is an exchange for tests of operations: the engine over the store in
// memory, a clock that only moves when told, seeded randomness, and timers and effects
// that fire in due order.
package optest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/clock"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/mem"
)

// Start is where the clock of every test begins.
var Start = time.Date(2026, 11, 30, 18, 20, 0, 0, time.UTC)

// Exchange is a test's exchange.
type Exchange struct {
	T       testing.TB
	Engine  *op.Engine
	Store   *mem.Store
	Timers  []op.TimerKind
	Effects []op.EffectKind

	mu   sync.Mutex
	now  time.Time
	keys int
}

// Option changes a new Exchange.
type Option func(*Exchange)

// WithTimers adds timer kinds.
func WithTimers(t ...op.TimerKind) Option {
	return func(x *Exchange) { x.Timers = append(x.Timers, t...) }
}

// WithEffects adds effect kinds.
func WithEffects(e ...op.EffectKind) Option {
	return func(x *Exchange) { x.Effects = append(x.Effects, e...) }
}

// WithStore puts a wrapper (faults, meters) between the engine and the store.
func WithStore(wrap func(table.Store) table.Store) Option {
	return func(x *Exchange) { x.Engine.Store = wrap(x.Engine.Store) }
}

// WithPorts puts ports into the context of operations and effects.
func WithPorts(f func(context.Context, op.Touch) context.Context) Option {
	return func(x *Exchange) { x.Engine.Ports = f }
}

// New makes an exchange with seed 1.
func New(t testing.TB, opts ...Option) *Exchange { return Seeded(t, 1, opts...) }

// Seeded makes an exchange whose ids and secrets follow from a seed.
func Seeded(t testing.TB, seed uint64, opts ...Option) *Exchange {
	x := &Exchange{T: t, Store: mem.New(), now: Start}
	x.Engine = &op.Engine{Store: x.Store, Now: x.Now, Rand: &source{r: rand.NewChaCha8(seedBytes(seed))},
		Keys: id.Keyring{Current: []byte("a key for tests, 32 bytes long.")}, BaseURL: "http://guildhall.test",
		Tips: true, Texts: true, Auth: account.Authenticators()}
	for _, o := range opts {
		o(x)
	}
	return x
}

func seedBytes(seed uint64) (b [32]byte) {
	copy(b[:], fmt.Sprintf("seed %d", seed))
	return b
}

type source struct {
	mu sync.Mutex
	r  *rand.ChaCha8
}

func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(p)
}

// Now is the exchange's time.
func (x *Exchange) Now() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.now
}

func (x *Exchange) set(t time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.After(x.now) {
		x.now = t
	}
}

// Req is one call.
type Req struct {
	Token     string
	Key       string // Idempotency-Key; a fresh one when empty and the operation needs one ("-" sends none)
	Path      map[string]string
	Query     url.Values
	Header    map[string]string
	Body      any // marshalled; a string or []byte is sent as it is
	Stream    io.Reader
	Type      string // content type; application/json when empty
	Address   string
	Transport string // rest when empty
}

// Res is one answer.
type Res struct {
	*op.Response
	JSON map[string]any
	t    testing.TB
}

// Do makes a call.
func (x *Exchange) Do(o *op.Operation, r Req) Res {
	x.T.Helper()
	req := &op.Request{ID: "test", Transport: "rest", Path: r.Path, Query: r.Query, ContentType: "application/json",
		Token: r.Token, Address: "192.0.2.1", Stream: r.Stream, Key: r.Key}
	if r.Transport != "" {
		req.Transport = r.Transport
	}
	if r.Type != "" {
		req.ContentType = r.Type
	}
	if r.Address != "" {
		req.Address = r.Address
	}
	req.Header = func(n string) string { return r.Header[n] }
	switch b := r.Body.(type) {
	case nil:
	case string:
		req.Body = []byte(b)
	case []byte:
		req.Body = b
	default:
		req.Body, _ = json.Marshal(b)
	}
	if r.Key == "" && o.Idempotent == op.KeyRequired {
		x.mu.Lock()
		x.keys++
		req.Key = fmt.Sprintf("key-%d", x.keys)
		x.mu.Unlock()
	} else if r.Key == "-" {
		req.Key = ""
	}
	res := Res{Response: x.Engine.Do(context.Background(), o, req), t: x.T}
	if len(res.Body) > 0 {
		d := json.NewDecoder(bytes.NewReader(res.Body))
		_ = d.Decode(&res.JSON)
	}
	return res
}

// Want fails the test unless the answer has this status.
func (r Res) Want(status int) Res {
	r.t.Helper()
	if r.Status != status {
		extra := ""
		if r.Fault != nil && r.Fault.Unwrap() != nil {
			extra = " cause: " + r.Fault.Unwrap().Error()
		}
		r.t.Fatalf("status %d, want %d: %s%s", r.Status, status, r.Body, extra)
	}
	return r
}

// Refused fails the test unless the answer is this refusal.
func (r Res) Refused(status int, code string) Res {
	r.t.Helper()
	r.Want(status)
	if got, _ := r.JSON["error"].(string); got != code {
		r.t.Fatalf("error %q, want %q: %s", got, code, r.Body)
	}
	return r
}

// At reads a value by a dotted path ("brief.your_bid.status"); nil when absent.
func (r Res) At(path string) any {
	var v any = r.JSON
	for part := range strings.SplitSeq(path, ".") {
		switch m := v.(type) {
		case map[string]any:
			v = m[part]
		case []any:
			i := 0
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(m) {
				return nil
			}
			v = m[i]
		default:
			return nil
		}
	}
	return v
}

// Str is At as a string.
func (r Res) Str(path string) string { s, _ := r.At(path).(string); return s }

// Num is At as a number.
func (r Res) Num(path string) float64 { n, _ := r.At(path).(float64); return n }

// Run makes a decision outside any operation.
func (x *Exchange) Run(group string, fn func(*op.Call) error) {
	x.T.Helper()
	if err := x.Engine.Run(context.Background(), x.Now(), group, fn); err != nil {
		x.T.Fatalf("run: %v", err)
	}
}

// Person makes a person and returns a session token.
func (x *Exchange) Person(email string, roles ...string) (personID, token string) {
	x.T.Helper()
	x.Run("person", func(c *op.Call) error {
		p, err := account.EnsurePerson(c, email)
		if err != nil {
			return err
		}
		for _, r := range roles {
			if !slices.Contains(p.Roles, r) {
				p.Roles = append(p.Roles, r)
				if err := c.Fetch(account.PersonKey(p.ID)); err != nil {
					return err
				}
				p.Save(c)
			}
		}
		personID = p.ID
		token, err = account.Session.Issue(c, p.ID, nil, c.Now.Add(365*24*time.Hour))
		return err
	})
	return personID, token
}

// maxFirings bounds one Advance, so that a timer that re-arms itself for ever shows.
const maxFirings = 100_000

// Advance moves the clock, firing everything that falls due in due order at its own time.
func (x *Exchange) Advance(d time.Duration) int {
	x.T.Helper()
	target, fired := x.Now().Add(d), 0
	for {
		row, due, ok := x.next()
		if !ok || due.After(target) {
			break
		}
		x.set(due)
		x.fire(row)
		if fired++; fired > maxFirings {
			x.T.Fatalf("more than %d timers fired", maxFirings)
		}
	}
	x.set(target)
	return fired
}

// Skip moves the clock and fires nothing: time in which no job ran.
func (x *Exchange) Skip(d time.Duration) { x.set(x.Now().Add(d)) }

// Settle fires what is due now.
func (x *Exchange) Settle() int { x.T.Helper(); return x.Advance(0) }

func (x *Exchange) contexts() []string {
	seen := []string{"bench", "person"}
	for _, t := range x.Timers {
		seen = append(seen, t.Context)
	}
	slices.Sort(seen)
	return slices.Compact(append(seen, "help", "peer", "commons"))
}

func (x *Exchange) next() (row table.Row, due time.Time, ok bool) {
	for _, ctx := range x.contexts() {
		for s := range clock.Shards {
			p, err := x.Store.Query(context.Background(), table.Query{PK: clock.Partition(ctx, s), Limit: 1})
			if err != nil {
				x.T.Fatal(err)
			}
			if len(p.Rows) == 0 {
				continue
			}
			var f op.Fired
			if err := op.Decode(p.Rows[0].Data, &f); err != nil {
				x.T.Fatal(err)
			}
			if !ok || f.Due.Before(due) {
				row, due, ok = p.Rows[0], f.Due, true
			}
		}
	}
	return row, due, ok
}

func (x *Exchange) fire(row table.Row) {
	x.T.Helper()
	var f op.Fired
	if err := op.Decode(row.Data, &f); err != nil {
		x.T.Fatal(err)
	}
	group, _, _ := strings.Cut(row.PK, ".")
	for _, t := range x.Timers {
		if t.Context == group && t.Kind == f.Kind {
			x.Run(group, func(c *op.Call) error {
				r, err := c.Get(row.Key)
				if err != nil || !r.Found() {
					return err
				}
				c.Delete(row.Key)
				return t.Fire(c, f)
			})
			return
		}
	}
	for _, e := range x.Effects {
		if e.Kind == f.Kind {
			x.effect(group, row, f, e)
			return
		}
	}
	x.T.Fatalf("nobody fires %q", f.Kind)
}

func (x *Exchange) effect(group string, row table.Row, f op.Fired, e op.EffectKind) {
	x.T.Helper()
	var result any
	var failed error
	x.Run(group, func(c *op.Call) error {
		if x.Engine.Ports != nil {
			c.Context = x.Engine.Ports(c.Context, e.Touches)
		}
		result, failed = e.Do(c, f)
		return nil
	})
	x.Run(group, func(c *op.Call) error {
		if r, err := c.Get(row.Key); err != nil || !r.Found() {
			return err
		}
		c.Delete(row.Key)
		if failed == nil {
			if e.Done == nil {
				return nil
			}
			return e.Done(c, f, result)
		}
		if f.Tries++; f.Tries >= op.MaxTries {
			if e.Dead == nil {
				return nil
			}
			return e.Dead(c, f, failed)
		}
		f.Due = clock.Cut(c.Now.Add(op.Backoff(f.Tries)))
		c.Create(clock.Key(group, f.Kind, f.Subject, f.Due), f)
		return nil
	})
}
