// Package fault is the one error type of the exchange: a closed kind, a stable code, a
// sentence for people and, for agents, the call that repairs it.
package fault

import (
	"errors"
	"maps"
)

// Kind is a class of refusal; one table turns it into an HTTP status.
type Kind uint8

// The kinds. The zero value is Internal, so that a forgotten kind never leaks a text.
const (
	Internal Kind = iota
	BadRequest
	Unauthorized
	PaymentFailed
	Forbidden
	NotFound
	MethodNotAllowed
	Conflict
	Gone
	TooLarge
	LongQuery
	MediaType
	Invalid
	RateLimited
	Upstream
	Busy
)

var statuses = [...]int{
	Internal: 500, BadRequest: 400, Unauthorized: 401, PaymentFailed: 402, Forbidden: 403, NotFound: 404,
	MethodNotAllowed: 405, Conflict: 409, Gone: 410, TooLarge: 413, LongQuery: 414, MediaType: 415, Invalid: 422,
	RateLimited: 429, Upstream: 502, Busy: 503,
}

// Status is the HTTP status of a kind.
func (k Kind) Status() int {
	if int(k) < len(statuses) {
		return statuses[k]
	}
	return 500
}

// Fault is a refusal.
type Fault struct {
	Kind    Kind
	Code    string // stable word or, where a contract prints one, a sentence
	Message string // one plain sentence for people
	Field   string // the field at fault, when there is one
	Fix     string // the call that repairs it, e.g. "POST /api/bench/me/pings/ack"
	// RetryAfter is in seconds; sent on RateLimited and Busy.
	RetryAfter int
	// Extra holds further top-level members of the error body (rej, detail, docs, …).
	Extra map[string]any
	cause error
}

// New makes a fault.
func New(k Kind, code, message string) *Fault { return &Fault{Kind: k, Code: code, Message: message} }

func (f *Fault) Error() string {
	if f.cause != nil {
		return f.Code + ": " + f.cause.Error()
	}
	if f.Message == "" {
		return f.Code
	}
	return f.Code + ": " + f.Message
}

// Unwrap gives the hidden cause of an internal fault.
func (f *Fault) Unwrap() error { return f.cause }

// With returns a copy with one more top-level member.
func (f *Fault) With(key string, value any) *Fault {
	g := *f
	g.Extra = maps.Clone(f.Extra)
	if g.Extra == nil {
		g.Extra = map[string]any{}
	}
	g.Extra[key] = value
	return &g
}

// At returns a copy that names the field at fault.
func (f *Fault) At(field string) *Fault {
	g := *f
	g.Field = field
	return &g
}

// Say returns a copy with another sentence.
func (f *Fault) Say(message string) *Fault {
	g := *f
	g.Message = message
	return &g
}

// FixedBy returns a copy that names the call that repairs it.
func (f *Fault) FixedBy(call string) *Fault {
	g := *f
	g.Fix = call
	return &g
}

// Wrap makes an internal fault that keeps its cause for the log and shows nothing of it.
func Wrap(cause error) *Fault {
	return &Fault{Kind: Internal, Code: "internal_error",
		Message: "Something went wrong on our side. Nothing was changed. Please try again.", cause: cause}
}

// From turns any error into a fault; an unlisted error is an internal one.
func From(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return Wrap(err)
}

// Is compares by kind and code, so that errors.Is works with package-level faults.
func (f *Fault) Is(target error) bool {
	var g *Fault
	return errors.As(target, &g) && g.Kind == f.Kind && g.Code == f.Code
}

// The refusals every operation can answer.
var (
	BareNotFound  = New(NotFound, "not found", "")
	NoCredential  = New(Unauthorized, "unauthorized", "Send a valid credential as 'Authorization: Bearer <token>'.")
	Unavailable   = &Fault{Kind: Busy, Code: "unavailable", Message: "The exchange cannot reach its store right now. Please try again shortly.", RetryAfter: 2}
	BusyNow       = &Fault{Kind: Busy, Code: "busy", Message: "Too many changes met at the same place. Please send the same call again.", RetryAfter: 1}
	BodyTooLarge  = New(TooLarge, "body_too_large", "The request body has more bytes than this call takes. This limit counts bytes as sent, not characters.")
	QueryTooLong  = New(LongQuery, "query_too_long", "The query string is longer than this call accepts.")
	BadMediaType  = New(MediaType, "unsupported_media_type", "Send the body as application/json.")
	BadJSON       = New(BadRequest, "invalid_json", "The body is not one valid JSON object.")
	KeyRequired   = New(BadRequest, "idempotency_key_required", "Send an Idempotency-Key of 1 to 200 characters, the same one when you retry.")
	KeyConflict   = New(Conflict, "idempotency_conflict", "This Idempotency-Key was already used with another request. Use a new key for a new request.")
	UnknownField  = New(Invalid, "unknown_field", "This call does not take that field.")
	InvalidField  = New(Invalid, "invalid_field", "A field has a value this call does not take.")
	RouteNotFound = New(NotFound, "not found", "")
	WrongMethod   = New(MethodNotAllowed, "method_not_allowed", "This address does not take that method.")
	TooManyCalls  = &Fault{Kind: RateLimited, Code: "rate_limited", Message: "Too many calls. Please wait and try again.", RetryAfter: 1}
)
