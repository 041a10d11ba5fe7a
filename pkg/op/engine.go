package op

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"guildhall/pkg/caller"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/table"
)

// Request is a call as a transport hands it over.
type Request struct {
	ID        string // request id, for the log and the answer
	Transport string // "rest", "mcp" or "page"
	Path      map[string]string
	Query     url.Values
	Header    func(string) string
	// ContentType of the body as sent.
	ContentType string
	Body        []byte    // at most MaxBody+1 bytes, so that the excess shows
	Stream      io.Reader // for operations that take a stream
	Token       string    // bearer token or session cookie value
	Key         string    // Idempotency-Key
	Address     string    // client address, no port
	// QueryBytes is the length of the query string as it was sent.
	QueryBytes int
	// Wrong is what the transport found wrong with the input (an MCP argument that has no
	// place in it); it is answered where unknown fields are.
	Wrong error
}

// Response is the answer to a Request.
type Response struct {
	Status int
	Header map[string]string
	Body   []byte // JSON; nil when Raw is set
	Raw    *Raw
	// Beside are members that REST puts beside the enveloped body (Besider).
	Beside map[string]any
	Fault  *fault.Fault // the refusal, for the log
	// Attempts is how often the operation decided; Caller who called, for the log.
	Attempts int
	Caller   caller.Caller
	Replayed bool

	waits   time.Duration
	watches table.Key
	empty   bool
}

// Raw is an answer that is not a JSON object.
type Raw struct {
	ContentType string
	Filename    string // sent as an attachment under this name, when set
	Size        int64  // -1 when unknown
	Body        io.Reader
	Location    string // redirect target
}

// Rawer is implemented by outputs that answer something else than a JSON object.
type Rawer interface{ Raw() *Raw }

// Statuser is implemented by outputs that choose their success status.
type Statuser interface{ StatusCode() int }

// Besider is implemented by outputs with members that stand beside the data of a REST
// answer and that MCP does not have (Commons).
type Besider interface{ Beside() map[string]any }

// Headerer is implemented by outputs that own response headers.
type Headerer interface{ Headers() map[string]string }

// Prefetcher is implemented by inputs that know which rows the operation will read;
// account is the caller's id as the token claims it ("" without one).
type Prefetcher interface {
	Rows(account string) []table.Key
}

// Validator is implemented by inputs with value rules of their own. It runs after the
// field types and before the general limits, and never reads a row.
type Validator interface{ Validate() error }

// Authenticator verifies tokens of one kind.
type Authenticator interface {
	// Accepts tells whether tokens of this kind open a transport's door.
	Accepts(transport string) bool
	// Rows lists the rows Verify will read.
	Rows(t id.Token) []table.Key
	// Verify returns the caller; an error that is not a fault.Unauthorized is internal.
	Verify(c *Call, t id.Token) (caller.Caller, error)
}

// Engine runs operations.
type Engine struct {
	Store   table.Store
	Now     func() time.Time
	Rand    io.Reader // safe for concurrent use
	Keys    id.Keyring
	BaseURL string
	Tips    bool
	Texts   bool // text messages leave
	// Auth maps a token kind to its authenticator.
	Auth map[string]Authenticator
	// Ports puts the ports an operation declared into its context.
	Ports func(ctx context.Context, t Touch) context.Context
	// Hints sends what a commit asks for; failures are ignored (law 4).
	Hints func(ctx context.Context, hints []Hint)
	// Signals wakes held reads of this process; nil where commits are made elsewhere too.
	Signals *Signals
	// Pause waits before attempt n+1 after a lost race; nil does not wait.
	Pause func(ctx context.Context, attempt int)

	lanes  [64]sync.Mutex
	meters meters
}

// Do runs one operation and always answers.
func (e *Engine) Do(ctx context.Context, o *Operation, r *Request) *Response {
	res, err := e.do(ctx, o, r)
	if err == nil && res.empty && res.waits > 0 {
		res, err = e.hold(ctx, res, func() (*Response, error) { return e.do(ctx, o, r) })
	}
	if err != nil {
		res = refuse(o, err, res)
	}
	if o.Cache != "" && err == nil {
		res.Header["Cache-Control"] = o.Cache
	}
	return res
}

func (e *Engine) do(ctx context.Context, o *Operation, r *Request) (*Response, error) {
	in, err := o.receive(r)
	if err != nil {
		return nil, err
	}
	ctx = WithOperation(ctx, o.ID)
	if e.Ports != nil {
		ctx = e.Ports(ctx, o.Touches)
	}
	now := clock.Cut(e.Now())
	r = r.digest(o.MaxBody)
	var who caller.Caller
	done := &once{}
	for attempt := 1; ; attempt++ {
		c := e.call(ctx, now, o.Home)
		c.wakes = o.Wakes
		c.Address, c.once = r.Address, done
		res, err := e.attempt(c, o, r, in, attempt > 1)
		who = c.Caller
		if !errors.Is(err, table.ErrConflict) {
			if res == nil {
				res = &Response{Header: map[string]string{}}
			}
			res.Attempts, res.Caller = attempt, who
			done.end(ctx, c.committing && !res.Replayed)
			return res, storeFault(err)
		}
		if attempt == maxAttempts || !done.used() && !r.rewind() {
			done.end(ctx, false)
			return &Response{Attempts: attempt, Caller: who, Header: map[string]string{}}, fault.BusyNow
		}
		if e.Pause != nil {
			e.Pause(ctx, attempt)
		}
	}
}

type operationKey struct{}

// OperationID is the operation (or the job) a context belongs to, for logs and local
// controls; "" outside one.
func OperationID(ctx context.Context) string {
	s, _ := ctx.Value(operationKey{}).(string)
	return s
}

// WithOperation names what a context's calls belong to.
func WithOperation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, operationKey{}, id)
}

// usualRows is room for the rows most calls read and write.
const usualRows = 8

func (e *Engine) call(ctx context.Context, now time.Time, group string) *Call {
	c := &Call{Context: ctx, Now: now, Group: group, BaseURL: e.BaseURL, Keys: e.Keys, Tips: e.Tips, Texts: e.Texts, store: e.Store,
		rand: e.Rand, rows: make(map[table.Key]table.Row, usualRows), writes: make(map[table.Key]*table.Write, usualRows), order: make([]table.Key, 0, usualRows)}
	c.commit = c.NewID()
	return c
}

// lane serialises the attempts of one caller in this process once a race was lost: from
// the first read to the commit.
func (e *Engine) lane(key string) *sync.Mutex { return &e.lanes[fnv32(key)%uint32(len(e.lanes))] }

func fnv32(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// storeFault words what a store can answer; nothing of its text leaves the process.
func storeFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, table.ErrTooLarge):
		return fault.BodyTooLarge.Say("What you sent is too large to be stored.")
	case errors.Is(err, table.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f := *fault.Unavailable
		return &f
	}
	return err
}

// attempt decides once and commits once.
func (e *Engine) attempt(c *Call, o *Operation, r *Request, in *input, careful bool) (*Response, error) {
	if careful && !o.Reads() {
		l := e.lane(in.token.Account + " " + r.Address)
		l.Lock()
		defer l.Unlock()
	}
	value, problem := e.prefetch(c, o, r, in)
	if c.err != nil {
		return nil, c.err
	}
	if err := e.authenticate(c, o, r, in); err != nil {
		return nil, err
	}
	if early, err := o.early(c, r, in); err != nil || early != nil {
		return early, err
	}
	k := idempotency{o: o, r: r, in: in}
	replay, err := k.lookup(c)
	if err != nil || replay != nil {
		return replay, err
	}
	headers, err := e.rate(c, o)
	if err != nil {
		return &Response{Header: headers}, err
	}
	if err = k.fault(); err == nil {
		err = problem
	}
	if err != nil {
		return &Response{Header: headers}, err
	}
	out, err := o.run(c, value)
	if err != nil {
		if late, lost := k.overtaken(c, err); late {
			return nil, lost
		}
		return &Response{Header: headers}, e.refused(c, err)
	}
	res, err := o.respond(out, headers)
	if err != nil {
		return nil, err
	}
	if err := k.record(c, out, res); err != nil {
		return nil, err
	}
	c.committing = true
	if err := e.commit(c); err != nil {
		return &Response{Header: headers}, err
	}
	res.poll(c, value, out)
	return res, nil
}

// poll notes what a held read waits for.
func (r *Response) poll(c *Call, in, out any) {
	w, waits := in.(Waiter)
	o, holds := out.(Emptier)
	if waits && holds && o.Empty() {
		r.empty, r.waits, r.watches = true, w.Waits(), w.Watches(c.Caller.ID)
	}
}

// prefetch reads, in one batch, every row that is known before anything is decided, and
// returns the input value or what is wrong with it.
func (e *Engine) prefetch(c *Call, o *Operation, r *Request, in *input) (any, error) {
	keys := make([]table.Key, 0, usualRows)
	account := ""
	if a := e.authenticator(r, in); a != nil {
		account = in.token.Account
		keys = append(keys, a.Rows(in.token)...)
		c.Caller.ID = account
	}
	value, problem := o.value(r, in)
	who := "nobody"
	if in.has {
		who = in.token.Account
	}
	if k := (idempotency{o: o, r: r}); k.wanted() {
		keys = append(keys, k.row(k.who(who)))
	}
	keys = append(keys, limitKeys(o, c.Address, who)...)
	if p, ok := value.(Prefetcher); ok && problem == nil {
		keys = append(keys, p.Rows(account)...)
	}
	c.Caller = caller.Caller{}
	if len(keys) > 0 {
		c.fail(c.Fetch(keys...))
	}
	return value, problem
}

func (e *Engine) authenticator(r *Request, in *input) Authenticator {
	if !in.has {
		return nil
	}
	a := e.Auth[in.token.Kind]
	if a == nil || !a.Accepts(r.Transport) {
		return nil
	}
	return a
}

func (e *Engine) authenticate(c *Call, o *Operation, r *Request, in *input) error {
	if o.Auth == "" {
		return fault.NoCredential
	}
	var who caller.Caller
	var refused error
	if a := e.authenticator(r, in); a != nil {
		got, err := a.Verify(c, in.token)
		if f := (*fault.Fault)(nil); err != nil && !(errors.As(err, &f) && f.Kind == fault.Unauthorized) {
			return err
		}
		if refused = err; err == nil {
			who = got
		}
	}
	auth := o.AuthOver(r.Transport)
	if auth == Public || auth == Webhook {
		c.Caller, c.Denied = who, refused
		return nil
	}
	if !opens(auth, who) {
		return cmp.Or(refused, error(fault.NoCredential))
	}
	c.Caller = who
	switch {
	case o.Auth == Steward && !who.Is("steward", "platform_admin"), o.Auth == Admin && !who.Is("platform_admin"):
		return fault.BareNotFound
	case !who.Has(o.Scope):
		return fault.NoCredential.Say("This credential does not carry the scope this call needs.").With("missing_scope", o.Scope)
	case who.Restricted && !o.Reads() && !o.Restricted:
		return o.RestrictedFault()
	}
	return nil
}

func opens(a Auth, who caller.Caller) bool {
	switch a {
	case Maker:
		return who.Kind == caller.Maker
	case Person, Steward, Admin:
		return who.Kind == caller.Person
	case Account:
		return who.Kind == caller.Account
	case Visitor:
		return who.Kind == caller.Visitor
	case Agent:
		return who.Kind == caller.Agent
	}
	return false
}

// refused commits what a refused call is charged all the same, and nothing else of it.
func (e *Engine) refused(c *Call, err error) error {
	if c.err != nil || len(c.charged) == 0 {
		return cmp.Or(c.err, err)
	}
	c.order, c.hints = c.charged, nil
	return cmp.Or(e.commit(c), err)
}

// commit writes everything staged in one conditional write, then sends the hints.
func (e *Engine) commit(c *Call) error {
	if c.err != nil {
		return c.err
	}
	if len(c.order) == 0 {
		return nil
	}
	tx := &table.Tx{ID: c.commit, Writes: make([]table.Write, 0, len(c.order))}
	for _, k := range c.order {
		tx.Writes = append(tx.Writes, *c.writes[k])
	}
	if err := e.Store.Commit(c, tx); err != nil {
		return err
	}
	if e.Signals != nil {
		e.Signals.changed(tx)
	}
	if e.Hints != nil && len(c.hints) > 0 {
		e.Hints(c, c.hints)
	}
	return nil
}

// Run makes one decision outside any request, with the engine's retries: jobs and local
// commands use it.
func (e *Engine) Run(ctx context.Context, now time.Time, group string, fn func(*Call) error) error {
	for attempt := 1; ; attempt++ {
		c := e.call(ctx, clock.Cut(now), group)
		c.Caller = caller.Caller{Kind: caller.System}
		err := fn(c)
		if err == nil {
			err = e.commit(c)
		}
		if !errors.Is(err, table.ErrConflict) || attempt == maxAttempts {
			return cmp.Or(c.err, err)
		}
		if e.Pause != nil {
			e.Pause(ctx, attempt)
		}
	}
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

func rateHeaders(n, left int, reset time.Duration) map[string]string {
	return map[string]string{"RateLimit-Limit": strconv.Itoa(n), "RateLimit-Remaining": strconv.Itoa(left),
		"RateLimit-Reset": strconv.Itoa(seconds(reset))}
}

// Bearer reads the token of an Authorization header value.
func Bearer(h string) string {
	scheme, token, ok := strings.Cut(h, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
