// Package op is the operations layer: one declaration per operation, read by the REST
// edge, the MCP edge, the OpenAPI document, the Lambda functions and the infrastructure.
//
// An operation is a plain function of a Call and its input. It reads through the Call,
// decides, stages writes on the Call and returns its output; the engine commits
// everything in one conditional write, together with the idempotency record and the rate
// limit, and decides again when it lost a race.
//
// Rows:
//
//	<context>.IDEM#<account>#<operation>#<hash of the key> / ROOT  the stored answer of a write
//	<context>.LIMIT#<rule>#<account or address> / ROOT             what a rate limit remembers
package op

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
)

// Auth says who may call an operation. The zero value serves nobody.
type Auth string

// The kinds of callers an operation can serve.
const (
	Public  Auth = "public"  // no credential needed; a good one is recognised when sent
	Maker   Auth = "maker"   // a bench agent's bearer token
	Person  Auth = "person"  // a person's session
	Steward Auth = "steward" // a person with role steward or platform_admin
	Admin   Auth = "admin"   // a person with role platform_admin
	Account Auth = "account" // help
	Visitor Auth = "visitor" // peer
	Agent   Auth = "agent"   // commons
	Webhook Auth = "webhook" // the operation checks a signature itself
)

// Idempotency says what an operation does with an Idempotency-Key.
type Idempotency uint8

// The uses of an Idempotency-Key.
const (
	KeyIgnored  Idempotency = iota // reads and naturally idempotent calls
	KeyRequired                    // 400 without one
	KeyOptional                    // honoured when sent
)

// Touch is a set of ports an operation uses beyond the table; its function's role and
// binary get exactly these.
type Touch uint16

// The ports.
const (
	Table Touch = 1 << iota
	Blobs
	Payments
	Mail
	Queue
	Texts // text messages
	Links // asking the net about links
)

// Has tells whether a set holds a port.
func (t Touch) Has(p Touch) bool { return t&p != 0 }

// Meta is the declaration of an operation.
type Meta struct {
	ID     string // "<context>.<noun>.<verb>", unique
	Method string
	Path   string // net/http pattern path with {names}
	Status int    // success status; 200 when zero
	// OrStatus is another success status that the output may choose (Statuser); zero for none.
	OrStatus int
	Tool     string // MCP tool, "" for none
	// ToolArgs are the body fields that are arguments of the tool; all of them when nil.
	ToolArgs []string
	ToolArg  string // the MCP argument that carries the whole body, "" when its fields are arguments
	// ToolCase is set when a tool fronts several operations: "action=claim" is the argument
	// and the value that select this one. A value may hold {names} of the path, as in
	// "path=tasks/{task_id}".
	ToolCase string
	// ToolText describes a tool that fronts several operations; one of them has it.
	ToolText string
	// ToolElse is what such a tool answers when nothing is selected; one of them has it.
	ToolElse *fault.Fault
	// ToolQuery is the MCP argument that carries the query parameters as an object of
	// strings, "" when they are arguments.
	ToolQuery string
	// Also are further tools of the same operation, each with some of its arguments.
	Also []AlsoTool
	// ToolAuth is who may use the tool where a public operation needs a credential over MCP;
	// Scope then counts there alone.
	ToolAuth Auth
	// Destructive: the call ends or replaces something for good. MCP clients are told.
	Destructive bool
	Auth        Auth
	Scope       string
	// Restricted: an account that lost its right to write may still make this call.
	Restricted bool
	// Idempotent says what becomes of an Idempotency-Key.
	Idempotent Idempotency
	// Early is a context's own use of keys. It runs once the caller is known, before limits,
	// unknown fields and values: an answer (a replay) or a refusal ends the call.
	Early   func(*Call, Early) (answer any, err error)
	Summary string   // one line, our words
	Notes   string   // more for the document, optional
	Faults  []string // codes this operation answers beyond the common ones
	Limit   *limit.Rule
	Touches Touch // Table is always included
	// Wakes are the groups, beside the operation's own, whose timers it stages (Call.ArmIn).
	Wakes []string
	// MaxBody is in bytes; DefaultMaxBody when zero.
	MaxBody int64
	// MaxQuery is in bytes of the query string as it was sent; no limit when zero.
	MaxQuery int
	// Timeout of the function; DefaultTimeout when zero.
	Timeout time.Duration
	// LooseBody: unknown body fields are ignored instead of refused.
	LooseBody bool
	// FormBody: the body may also come as an HTML form (one-click links of mail clients).
	FormBody bool
	// BodySchema is the schema of a raw body (field tagged body:"raw").
	BodySchema func() []byte
	// Cache is the Cache-Control header; "no-store" when empty.
	Cache string
	// Contract is the section this operation comes from, e.g. "bench.md 5.1".
	Contract string
	// Hidden operations are served but not documented (pages' helpers).
	Hidden bool
	// ToolOnly operations are served as MCP tools alone: no route, no function and no entry
	// in the OpenAPI document is made of them. Their path only names their inputs.
	ToolOnly bool
}

// AlsoTool is a further tool of an operation: a narrower door to the same function.
type AlsoTool struct {
	Tool string
	Text string // its description
	// Args are the body fields it takes; it takes every other argument too.
	Args []string
}

// Limits of the operations layer.
const (
	DefaultMaxBody = 1 << 20             // bytes of a JSON body
	DefaultTimeout = 10 * time.Second    // of one function call
	MaxDepth       = 64                  // nesting of a JSON body
	MaxKeyLen      = 200                 // characters of an Idempotency-Key
	maxAttempts    = 6                   // one decision and five more after lost races
	KeepReplays    = 30 * 24 * time.Hour // a used key, where the context's dialect says nothing else
)

// Operation is a declared operation.
type Operation struct {
	Meta
	In, Out reflect.Type
	// File and Func say where the operation is decided ("pkg/bench/bids/file.go").
	File, Func string
	// Declared is the place of the declaration ("pkg/bench/bids/file.go:31").
	Declared string
	// Home is the context whose clock the operation's timers and effects stand in: the one
	// its package belongs to. A person's operation on a want has the id person.want.post
	// and its home is bench.
	Home  string
	run   func(*Call, any) (any, error)
	shape *shape
}

// Context is the first word of the id: the context the operation belongs to.
func (o *Operation) Context() string { c, _, _ := strings.Cut(o.ID, "."); return c }

// Folder is the operation's function folder below functions/: "<group>/<noun-verb>".
func (o *Operation) Folder() string {
	group, rest, _ := strings.Cut(o.ID, ".")
	return group + "/" + strings.NewReplacer(".", "-", "_", "-").Replace(rest)
}

// Success is the status of a success.
func (o *Operation) Success() int { return cmp.Or(o.Status, 200) }

// AuthOver is who may call the operation over a transport.
func (o *Operation) AuthOver(transport string) Auth {
	if transport == "mcp" && o.ToolAuth != "" {
		return o.ToolAuth
	}
	return o.Auth
}

// Reads tells whether the operation is a read.
func (o *Operation) Reads() bool { return o.Method == "GET" }

// Declare declares an operation. It panics on a declaration that cannot be served, so a
// mistake shows at start and in every test.
func Declare[I, O any](m Meta, fn func(*Call, I) (O, error)) *Operation {
	o := &Operation{Meta: m, In: reflect.TypeFor[I](), Out: reflect.TypeFor[O]()}
	if m.ID == "" || m.Method == "" || !strings.HasPrefix(m.Path, "/") || m.Summary == "" {
		panic(fmt.Sprintf("op: incomplete declaration %+v", m))
	}
	o.Touches |= Table
	o.MaxBody = cmp.Or(o.MaxBody, DefaultMaxBody)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.run = func(c *Call, in any) (any, error) { return fn(c, *in.(*I)) }
	o.shape = shapeOf(o.In)
	pc := reflect.ValueOf(fn).Pointer()
	if f := runtime.FuncForPC(pc); f != nil {
		file, _ := f.FileLine(pc)
		o.File, o.Func = trimFile(file), f.Name()
	}
	o.Declared, o.Home = declared(), cmp.Or(home(o.Func), o.Context())
	return o
}

// declared finds the place in a package's initialisation that called Declare, through
// helpers too.
func declared() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	place := ""
	for {
		f, more := frames.Next()
		if place == "" || strings.HasSuffix(f.Function, ".init") {
			place = trimFile(f.File) + ":" + strconv.Itoa(f.Line)
		}
		if !more || strings.HasSuffix(f.Function, ".init") {
			return place
		}
	}
}

// home is the context of a function's package: the first word of its path below pkg.
// Accounts are the person context; other packages ("") have none.
func home(fn string) string {
	_, rest, _ := strings.Cut(fn, "/pkg/")
	word, _, below := strings.Cut(rest, "/")
	if !below {
		word, _, _ = strings.Cut(word, ".")
	}
	switch word {
	case "bench", "help", "peer", "commons":
		return word
	case "account":
		return "person"
	}
	return ""
}

// trimFile cuts a build path down to the part below the module.
func trimFile(file string) string {
	for _, root := range []string{"/pkg/", "guildhall/"} {
		if i := strings.LastIndex(file, root); i >= 0 {
			return strings.TrimPrefix(strings.TrimPrefix(file[i:], "/"), "guildhall/")
		}
	}
	return file
}

// Dialect is how a context words its envelopes.
type Dialect struct {
	// OK: success bodies of objects begin with "ok":true.
	OK bool
	// Data: the REST answer of a success is wrapped as {"data": …} (Commons).
	Data bool
	// Keep is how long a used Idempotency-Key stands for its answer; KeepReplays when zero.
	Keep time.Duration
	// StrictQuery: a query parameter that an operation does not name, or one sent twice that
	// is no list, is refused like an unknown field.
	StrictQuery bool
	// Problem words a field problem as a fault; nil takes the default.
	Problem func(Problem) error
	// Restricted is the refusal of an account that lost its right to write; nil takes the
	// default.
	Restricted *fault.Fault
	// Refuse gives a refusal the form of the context's error body; nil leaves it as it is.
	Refuse func(*fault.Fault) *fault.Fault
}

var dialects = map[string]Dialect{}

// Speak registers a context's dialect; called once per context, at start.
func Speak(context string, d Dialect) { dialects[context] = d }

func dialectOf(context string) Dialect {
	if d, ok := dialects[context]; ok {
		return d
	}
	return Dialect{OK: true}
}

// Dialect is how the operation's context words its envelopes.
func (o *Operation) Dialect() Dialect { return dialectOf(o.Context()) }

// RestrictedFault is how the operation refuses an account that lost its right to write.
func (o *Operation) RestrictedFault() *fault.Fault { return cmp.Or(o.Dialect().Restricted, restricted) }

var restricted = fault.New(fault.Forbidden, "account_restricted", "The operator has taken away this account's right to write.")

// Word says a field problem as the operation's context words it.
func (o *Operation) Word(p *Problem) error {
	if d := o.Dialect(); d.Problem != nil {
		return d.Problem(*p)
	}
	return p.Fault()
}

// Sort orders operations by id, for documents.
func Sort(ops []*Operation) []*Operation {
	out := slices.Clone(ops)
	slices.SortFunc(out, func(a, b *Operation) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Field is a member that may be absent, null or a value, where the three differ.
type Field[T any] struct {
	Sent  bool
	Value *T // nil when null was sent
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Field[T]) UnmarshalJSON(b []byte) error {
	f.Sent = true
	return json.Unmarshal(b, &f.Value)
}

// MarshalJSON implements json.Marshaler.
func (f Field[T]) MarshalJSON() ([]byte, error) { return json.Marshal(f.Value) }

// IsZero lets omitzero leave an absent member out.
func (f Field[T]) IsZero() bool { return !f.Sent }

// JSONSchema implements Schemer.
func (f Field[T]) JSONSchema() Schema {
	s := *SchemaOf(reflect.TypeFor[T]())
	s.Nullable = true
	return s
}
