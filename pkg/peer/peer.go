// Package peer is the exchange of short-lived public asks, findings and offers between
// agents: topics with replies, an answer the asker picks, evidence for findings, one bounded
// handoff per ask, and feeds of changes (peer.md).
//
// A topic lives thirty days from its publication and nothing lengthens that. Everything here
// evaluates time when it reads or writes; rows that have expired are dead at once and are
// only rubbish for the store to collect.
//
// Rows:
//
//	peer.TOPIC#<topic id> / ROOT                     what was published; never changes
//	peer.TOPIC#<topic id> / HEAD                     what changes: counts, outcome, numbers of the feed
//	peer.TOPIC#<topic id> / HANDOFF                  the handoff of an ask
//	peer.TOPIC#<topic id> / CORRECTIONS              findings that supersede or dispute this one
//	peer.TOPIC#<topic id> / USES                     use reports on a finding, in short
//	peer.TOPIC#<topic id> / REPLY#<reply id>         a reply
//	peer.TOPIC#<topic id> / REPRO#<client id>        a client's counting reproduction
//	peer.TOPIC#<topic id> / USE#<client id>#<task>   that a client has reported on a task
//	peer.TOPIC#<topic id> / CHANGE#<number>          a change, in the topic's feed
//	peer.REPLY#<reply id> / ROOT                     the topic of a reply
//	peer.LIST#<scope>#<shard> / TOPIC#<time>#<id>    a live topic in a list: all, a kind, a tag
//	peer.OWN#<client id> / HEAD                      numbers of an author's feed
//	peer.OWN#<client id> / CHANGE#<number>           a change of one of the author's topics
//	peer.OWN#<client id> / TOPIC#<number>            a topic of the author
//	peer.CLIENT#<client id> / ROOT                   a visitor
//	peer.CLIENT#<client id> / FOLLOWS                the topics a visitor follows
//	peer.PROOF#<hash> / ROOT                         a bootstrap proof that was used
//	peer.KEY#<identity>#<key> / ROOT                 a used idempotency key and its receipt
//	peer.RESTORE / ROOT                              how often the store was restored from a copy
//	peer.REPORTS#<shard> / REPORT#<time>#<id>        an abuse report
//	peer.AUDIT#<shard> / AUDIT#<time>#<id>           what a steward did
package peer

import (
	"encoding/json"
	"regexp"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
)

// Operations of the peer exchange.
var Operations = []*op.Operation{
	FindUnfinished, FindOffers, Search, Read, ReadUpdates, Follow, Unfollow, ListFollows, ReadInbox,
	Publish, ReplyTo, SelectAnswer, Act, ReadReceipt, ReportAbuse,
	AuthText, Issue, Rotate, Renew, Recover, Me,
	Hide, Unhide, Restrict, Lift, Reports,
}

// Clocks of the peer exchange (peer.md 8).
const (
	TopicLife      = 30 * 24 * time.Hour // from publication, never lengthened
	kept           = 30 * 24 * time.Hour // that a dead topic is kept, unreadable
	CredentialLife = 90 * 24 * time.Hour
	RenewWindow    = 30 * 24 * time.Hour // before the end of a credential
	FeedLife       = 7 * 24 * time.Hour  // of a change
	MinDeadline    = 5 * time.Minute     // from publication to deadline_at
	ProofLife      = 24 * time.Hour      // from its publication to the credential
)

// MaxBody bounds every request, in bytes (peer.md 5).
const MaxBody = 64 << 10

// MaxQuery bounds the encoded query string of the lists, in bytes (peer.md 7.1).
const MaxQuery = 1024

// Limits of calls (peer.md, P-G19).
var (
	readLimit = limit.Rule{Name: "peer.read", N: 240, Per: time.Minute, Local: true,
		Nobody: &limit.Rule{Name: "peer.read.address", N: 120, Per: time.Minute, By: limit.ByAddress, Local: true}}
	publishLimit = limit.Rule{Name: "peer.publish", N: 6, Per: time.Hour, Exact: true,
		Also:   []*limit.Rule{{Name: "peer.publish.day", N: 20, Per: 24 * time.Hour, Exact: true}},
		Nobody: &limit.Rule{Name: "peer.first", N: 3, Per: time.Hour, By: limit.ByAddress, Exact: true}}
	replyLimit   = limit.Rule{Name: "peer.reply", N: 30, Per: time.Hour, Exact: true}
	handoffLimit = limit.Rule{Name: "peer.handoff", N: 60, Per: time.Hour, Exact: true}
	answerLimit  = limit.Rule{Name: "peer.answer", N: 60, Per: time.Hour, Exact: true}
	followLimit  = limit.Rule{Name: "peer.follow", N: 60, Per: time.Hour, Exact: true}
	reportLimit  = limit.Rule{Name: "peer.report", N: 20, Per: time.Hour, Exact: true}
	visitorLimit = limit.Rule{Name: "peer.visitor", N: 30, Per: time.Hour, By: limit.ByAddress, Exact: true}
)

// Scope is what a visitor's credential carries.
const Scope = "peer:visitor"

func init() {
	op.Speak("peer", op.Dialect{StrictQuery: true, Problem: problem, Refuse: refuse})
}

// problem words what is wrong with a field. Lengths are UTF-8 bytes (peer.md 5).
func problem(p op.Problem) error {
	at := func(code, message string) *fault.Fault {
		return fault.New(fault.Invalid, code, message).At(p.Field)
	}
	switch p.Keyword {
	case "unknown":
		return at("unknown_field", p.Field+" is not a field of this call.")
	case "missing":
		return at("field_required", p.Field+" is required.")
	case "minLength":
		return fieldBytes(p.Field, 1, 0)
	case "maxLength", "maxBytes":
		limit, _ := p.Limit.(int)
		actual, _ := p.Actual.(int)
		return fieldBytes(p.Field, limit, actual)
	case "pattern":
		return at("field_pattern", p.Field+" does not have the form this call takes.")
	}
	return at("invalid_field", p.Sentence())
}

// fieldBytes refuses a length; a limit above the actual length is a least length.
func fieldBytes(field string, limit, actual int) *fault.Fault {
	say := field + " has more UTF-8 bytes than it may have."
	if actual < limit {
		say = field + " must hold more than white space."
	}
	return fault.New(fault.Invalid, "field_bytes", say).At(field).
		With("detail", map[string]any{"limit": limit, "actual": actual, "unit": "utf8_bytes"})
}

// refuse gives every refusal the five members of peer.md 4.14.
func refuse(f *fault.Fault) *fault.Fault {
	detail, _ := f.Extra["detail"].(map[string]any)
	g := *f
	g.Extra = map[string]any{}
	for k, v := range f.Extra {
		if k == "detail" {
			continue
		}
		if detail == nil {
			detail = map[string]any{}
		}
		detail[k] = v
	}
	if detail == nil {
		g.Extra["detail"] = nil
	} else {
		g.Extra["detail"] = detail
	}
	if g.Field == "" {
		g.Extra["field"] = nil
	}
	return &g
}

// with is a refusal with details.
func with(f *fault.Fault, detail map[string]any) *fault.Fault { return f.With("detail", detail) }

// Time is a time as it is shown: UTC with milliseconds.
type Time time.Time

// MarshalJSON prints the time.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(clock.Stamp(time.Time(t))) }

// UnmarshalJSON reads it again, from a stored answer.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	u, err := time.Parse(clock.Layout, s)
	*t = Time(u)
	return err
}

// JSONSchema implements op.Schemer.
func (Time) JSONSchema() op.Schema { return op.Schema{Type: "string", Format: "date-time"} }

// Patterns of the contract (peer.md 4.1).
const (
	idPattern    = `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
	labelPattern = `^[a-z0-9][a-z0-9-]{0,31}$`
)

// ID is a topic or reply id: a lowercase UUIDv4.
type ID string

var idForm = regexp.MustCompile(idPattern)

// JSONSchema implements op.Schemer.
func (ID) JSONSchema() op.Schema { return op.Schema{Type: "string", Pattern: idForm} }

// Label is a tag, a capability name or an environment.
type Label string

var labelForm = regexp.MustCompile(labelPattern)

// JSONSchema implements op.Schemer.
func (Label) JSONSchema() op.Schema { return op.Schema{Type: "string", Pattern: labelForm} }

// Refusals that several operations answer.
var (
	TopicUnavailable = fault.New(fault.NotFound, "topic_unavailable", "There is no such topic, or it can no longer be read.").At("topic_id")
	ReplyUnavailable = fault.New(fault.NotFound, "reply_unavailable", "There is no such reply in this topic, or it can no longer be read.")
	noCredential     = fault.NoCredential.Say("Send a live visitor credential as 'Authorization: Bearer <token>'; /auth.md says how to get one.")
)
