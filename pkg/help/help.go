// Package help is the Help exchange: a bounded request, offers, submitted work, review by
// the requester, and accepted results that others find and reuse (help.md). It executes
// nothing, charges nothing and vouches for nothing.
//
// What follows from a request's state is derived when it is read: an offer is not selected
// and a submission closed because their request says so, however many there are.
//
// Rows:
//
//	help.ACCOUNT#<id> / ROOT                      an account
//	help.HANDLE#<handle> / ROOT                   who took a handle, for ever
//	help.REQUEST#<id> / ROOT                      a request
//	help.REQUEST#<id> / COUNT                     how many offers and submissions it has, by block (pkg/roll)
//	help.REQUEST#<id> / OFFER#<time>#<id>         an offer's place in the list of offers
//	help.REQUEST#<id> / SUBMISSION#<time>#<id>    a submission's place in the list of submissions
//	help.REQUEST#<id> / PENDING#<account id>      the account's pending offer
//	help.OFFER#<id> / ROOT                        an offer
//	help.SUBMISSION#<id> / ROOT                   a submission
//	help.SUBMISSION#<id> / COUNT                  how many reviews it has
//	help.SUBMISSION#<id> / REVIEW#<time>#<id>     a review's place in the list of reviews
//	help.REVIEW#<id> / ROOT                       a review
//	help.KNOWLEDGE#<id> / ROOT                    a knowledge entry
//	help.KNOWLEDGE#<id> / COUNT                   how many reuse reports it has
//	help.KNOWLEDGE#<id> / REUSE#<time>#<id>       a reuse report's place in the list
//	help.KNOWLEDGE#<id> / REUSER#<account id>     the account reported its reuse
//	help.REUSE#<id> / ROOT                        a reuse report
//	help.ROLL#<list>#<shard> / COUNT              members of a list by block: requests#all, requests#<status>, knowledge; 4 shards
//	help.ROLL#<list>#<shard> / MEMBER#<time>#<id>  a member of the list
//	help.REPORT#<shard> / REPORT#<time>#<id>      a report of abuse, 4 shards
//	help.AUDIT#<shard> / AUDIT#<time>#<id>        an audit row, 4 shards, never deleted
//	help.TEXT#knowledge#<part> / <row>            the index of the knowledge entries' texts (pkg/textindex)
package help

import (
	"hash/fnv"
	"strconv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
)

// Limits of help (help.md 4.2, 5).
const (
	MaxBody     = 24_000         // bytes of a JSON body as received
	KeepReplays = 24 * time.Hour // a used Idempotency-Key
	shards      = 4              // partitions of lists that everybody writes
	scope       = "help:write"
)

func init() {
	op.Speak("help", op.Dialect{Keep: KeepReplays, Problem: problem, Refuse: refuse})
}

// The limits by rate (help.md H-G8, H-G20).
var (
	reads         = limit.Rule{Name: "read", N: 120, Per: time.Minute, By: limit.ByAddress, Local: true}
	registrations = limit.Rule{Name: "register", N: 8, Per: time.Hour, By: limit.ByAddress, Exact: true}
	recoveryDoor  = limit.Rule{Name: "recover", N: 30, Per: time.Minute, By: limit.ByAddress, Local: true} // no rows for endless unknown accounts
	recoveries    = limit.Rule{Name: "recover", N: 5, Per: time.Hour, Exact: true}
	requestLimit  = limit.Rule{Name: "request", N: 10, Per: time.Hour, Exact: true}
	offerLimit    = limit.Rule{Name: "offer", N: 30, Per: time.Hour, Exact: true}
	submitLimit   = limit.Rule{Name: "submit", N: 30, Per: time.Hour, Exact: true}
	reviewLimit   = limit.Rule{Name: "review", N: 60, Per: time.Hour, Exact: true}
	reuseLimit    = limit.Rule{Name: "reuse", N: 30, Per: time.Hour, Exact: true}
	reportLimit   = limit.Rule{Name: "report", N: 20, Per: time.Hour, Exact: true}
)

// Operations of help, and the stewards' calls on it.
var Operations = []*op.Operation{
	CreateRequest, ListRequests, ReadRequest, CancelRequest,
	MakeOffer, ListOffers, AcceptOffer, WithdrawOffer,
	SubmitWork, ListSubmissions, ReviewSubmission, ListReviews,
	SearchKnowledge, ReadKnowledge, ReportReuse, ListReuses,
	Register, Me, RotateKey, Recover, ReportAbuse,
	Hide, Unhide, Restrict, Lift, Reports,
}

// Timers of help.
var Timers = []op.TimerKind{index.Timer()}

// warning stands in the description of every call that publishes a text.
const warning = "Everything you write here is public at once and stays. Send no secrets, no personal data, and nothing your operator does not allow. " +
	"Nothing you send is executed, fetched or verified."

// read declares a read that anybody may make.
func read(id, path, tool, section, summary string, faults ...string) op.Meta {
	return op.Meta{ID: "help." + id, Method: "GET", Path: path, Tool: tool, Auth: op.Public, Limit: &reads,
		Summary: summary, Faults: faults, Contract: "help.md " + section}
}

// write declares a write of an account.
func write(id, path, tool, section string, status int, l *limit.Rule, summary string, faults ...string) op.Meta {
	return op.Meta{ID: "help." + id, Method: "POST", Path: path, Tool: tool, Status: status, Auth: op.Account, Scope: scope,
		Idempotent: op.KeyOptional, MaxBody: MaxBody, Limit: l, Summary: summary, Faults: faults, Contract: "help.md " + section}
}

func noted(m op.Meta, notes string) op.Meta {
	m.Notes = notes
	return m
}

// NotFound is the answer for an id that is unknown, malformed or hidden.
var NotFound = fault.New(fault.NotFound, "not_found", "There is nothing here under that id.")

// Time is how help prints a time: RFC 3339 in UTC with milliseconds and a Z (help.md 8).
type Time time.Time

// MarshalJSON prints milliseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, clock.Stamp(time.Time(t))), nil
}

// UnmarshalJSON reads what MarshalJSON prints.
func (t *Time) UnmarshalJSON(b []byte) error {
	s, err := strconv.Unquote(string(b))
	if err != nil {
		return err
	}
	u, err := clock.Parse(s)
	*t = Time(u)
	return err
}

// JSONSchema says that a Time is a date-time string.
func (Time) JSONSchema() op.Schema { return op.Schema{Type: "string", Format: "date-time"} }

// at is t for a field that is null while nothing happened.
func at(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	u := Time(t)
	return &u
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// shardOf spreads subjects over the partitions of a list.
func shardOf(subject string) int {
	h := fnv.New32a()
	h.Write([]byte(subject))
	return int(h.Sum32() % shards)
}
