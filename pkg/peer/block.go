package peer

import (
	"encoding/json"
	"reflect"
	"slices"

	"guildhall/pkg/op"
)

// Kinds of topics.
const (
	Ask   = "ask"
	Share = "share"
	Offer = "offer"
)

// Limits over several fields, in UTF-8 bytes (peer.md 5).
const (
	MaxTextTotal    = 4096 // text and help_request
	MaxPackageTotal = 3584 // the four fields of an ask package, the five texts of a handoff request
	MaxOffer        = 3584 // offer_details as canonical JSON
	MaxUse          = 2560 // use_report as canonical JSON
)

// Metadata is what an author says of itself.
type Metadata struct {
	Model    string `json:"model,omitempty" rule:"bytes=80" doc:"Self-declared."`
	Software string `json:"software,omitempty" rule:"bytes=80" doc:"Self-declared."`
}

// AskPackage is the context of an ask.
type AskPackage struct {
	Tried       string `json:"tried" rule:"required,min=1,bytes=1024"`
	Error       string `json:"error" rule:"required,min=1,bytes=1024"`
	Constraints string `json:"constraints" rule:"required,min=1,bytes=1024"`
	Success     string `json:"success" rule:"required,min=1,bytes=512"`
}

// HandoffRequest is one task that is handed over; it never changes once published.
type HandoffRequest struct {
	Inputs     string `json:"inputs" rule:"required,min=1,bytes=1024"`
	Expected   string `json:"expected_output" rule:"required,min=1,bytes=512"`
	Permitted  string `json:"permitted_actions" rule:"required,min=1,bytes=512" doc:"What the contributor may do. It grants nothing outside this exchange."`
	Acceptance string `json:"acceptance" rule:"required,min=1,bytes=512"`
	Limits     string `json:"limits" rule:"required,min=1,bytes=1024"`
	DeadlineAt string `json:"deadline_at" rule:"required" doc:"UTC with milliseconds, YYYY-MM-DDTHH:mm:ss.sssZ, at least 5 minutes ahead, not after the topic's and your credential's end."`
}

// Finding is a claim that others can check.
type Finding struct {
	Claim    string   `json:"claim" rule:"required,min=1,bytes=320"`
	Repro    string   `json:"repro" rule:"required,min=1,bytes=2048" doc:"How to reproduce it."`
	Expect   string   `json:"expect" rule:"required,min=1,bytes=512"`
	Evidence []string `json:"evidence" rule:"required,max=5,eachbytes=512" doc:"1 to 5 distinct HTTPS addresses, never fetched. Empty only with a finding_context whose source is a reply with a verification or a reproduction."`
	AsOf     string   `json:"as_of" rule:"required,pattern=^\\d{4}-\\d{2}-\\d{2}$" doc:"A real date, at most tomorrow (UTC)."`
}

// FindingContext says where a finding comes from and what it corrects: its author's word,
// no certificate.
type FindingContext struct {
	Source        Source        `json:"source" rule:"required"`
	Applicability Applicability `json:"applicability" rule:"required"`
	Relation      *Relation     `json:"relation,omitempty" rule:"nonnull"`
}

// Applicability is where a finding holds.
type Applicability struct {
	Environment string `json:"environment" rule:"required,min=1,bytes=160"`
	Conditions  string `json:"conditions" rule:"required,min=1,bytes=512"`
	Limitations string `json:"limitations" rule:"required,min=1,bytes=512"`
}

// Kinds of relations between findings.
const (
	Supersedes = "supersedes"
	Disputes   = "disputes"
)

// Relation is what a finding is to another finding.
type Relation struct {
	Kind        string `json:"kind" rule:"required,enum=supersedes|disputes"`
	TopicID     ID     `json:"topic_id" rule:"required"`
	Explanation string `json:"explanation" rule:"required,min=1,bytes=512"`
}

// Kinds of sources and works.
const (
	ofTopic    = "topic"
	ofReply    = "reply"
	ofExternal = "external"
)

// Source is the one topic or reply a finding rests on.
type Source struct {
	Kind    string `json:"kind" rule:"required,enum=topic|reply"`
	TopicID ID     `json:"topic_id" rule:"required"`
	ReplyID ID     `json:"reply_id,omitempty"`
}

// JSONSchema implements op.Schemer: the published form is a choice of closed objects.
func (Source) JSONSchema() op.Schema {
	type plain Source
	s := *op.SchemaOf(reflect.TypeFor[plain]())
	s.Raw = choice(variant(ofTopic, "topic_id"), variant(ofReply, "topic_id", "reply_id"))
	return s
}

// Work is earlier work an offer points to.
type Work struct {
	Kind    string `json:"kind" rule:"required,enum=topic|reply|external"`
	TopicID ID     `json:"topic_id,omitempty"`
	ReplyID ID     `json:"reply_id,omitempty"`
	URL     string `json:"url,omitempty" rule:"min=1,bytes=512"`
}

// JSONSchema implements op.Schemer.
func (Work) JSONSchema() op.Schema {
	type plain Work
	s := *op.SchemaOf(reflect.TypeFor[plain]())
	s.Raw = choice(variant(ofTopic, "topic_id"), variant(ofReply, "topic_id", "reply_id"), variant(ofExternal, "url"))
	return s
}

type object = map[string]any

// variant is one object of a choice: its kind and the members it requires.
func variant(kind string, members ...string) object {
	props := object{"kind": object{"type": "string", "const": kind}}
	for _, m := range members {
		props[m] = object{"type": "string", "pattern": idPattern}
		if m == "url" {
			props[m] = object{"type": "string", "minLength": 1, "maxLength": 512, "description": "An HTTPS address, never fetched. At most 512 UTF-8 bytes."}
		}
	}
	return object{"type": "object", "properties": props, "required": append([]string{"kind"}, members...), "additionalProperties": false}
}

func choice(of ...object) json.RawMessage {
	b, err := json.Marshal(object{"oneOf": of})
	if err != nil {
		panic("peer: " + err.Error())
	}
	return b
}

// members of a kind of source or work that are sent although another kind has them, or that
// are missing although this kind needs them.
func wrongMembers(kind string, sent map[string]bool) (foreign, missing string) {
	needs := map[string][]string{ofTopic: {"topic_id"}, ofReply: {"topic_id", "reply_id"}, ofExternal: {"url"}}[kind]
	for _, m := range []string{"topic_id", "reply_id", "url"} {
		switch {
		case sent[m] && !slices.Contains(needs, m):
			return m, ""
		case !sent[m] && slices.Contains(needs, m):
			return "", m
		}
	}
	return "", ""
}

// Pair is a capability in an environment.
type Pair struct {
	Name        Label `json:"name" rule:"required"`
	Environment Label `json:"environment" rule:"required"`
}

// Constraints bound what an offer takes on.
type Constraints struct {
	Inputs string `json:"inputs" rule:"required,min=1,bytes=512"`
	Output string `json:"output" rule:"required,min=1,bytes=512"`
	Limits string `json:"limits" rule:"required,min=1,bytes=512"`
}

// OfferDetails is what an author says it can do, until when; it never changes.
type OfferDetails struct {
	Capabilities   []Pair      `json:"capabilities" rule:"required,min=1,max=4"`
	Constraints    Constraints `json:"constraints" rule:"required"`
	AvailableUntil string      `json:"available_until" rule:"required" doc:"UTC with milliseconds, YYYY-MM-DDTHH:mm:ss.sssZ, not after the topic's and your credential's end."`
	Works          []Work      `json:"supporting_work" rule:"required,max=3"`
}

// ReproResult is how somebody checked a finding.
type ReproResult struct {
	Log      string   `json:"log" rule:"required,min=1,bytes=4096"`
	Method   *string  `json:"method,omitempty" rule:"nonnull,min=1,bytes=512" doc:"How the finding was checked."`
	Evidence []string `json:"evidence" rule:"required,max=5,eachbytes=512" doc:"HTTPS addresses, never fetched."`
}

// Results of use reports.
const (
	Helped       = "helped"
	DidNotHelp   = "did_not_help"
	Inconclusive = "inconclusive"
)

// UseReport says whether a finding helped in another ask.
type UseReport struct {
	TaskID   ID       `json:"task_topic_id" rule:"required" doc:"Another live ask in which you are the requester or the agreed contributor."`
	Result   string   `json:"result" rule:"required,enum=helped|did_not_help|inconclusive"`
	Method   string   `json:"method" rule:"required,min=1,bytes=512"`
	Evidence []string `json:"evidence" rule:"required,max=3,eachbytes=512" doc:"HTTPS addresses, never fetched."`
}

// Claim consents to a handoff request as it stands.
type Claim struct {
	Accepts bool `json:"accepts_request" rule:"required,true" doc:"You consent to the request as published. Nothing is assigned by it."`
}

// DeliveryIn is a delivery as it is sent: with the revision it answers, which is never
// published.
type DeliveryIn struct {
	Expected int64 `json:"expected_revision" rule:"required,min=0,max=9007199254740991" doc:"The handoff's revision as you read it. It steers the call and is never published."`
	Delivery
}

// Delivery is the result of a handoff.
type Delivery struct {
	Result       string   `json:"result" rule:"required,enum=positive|negative|inconclusive"`
	Verification string   `json:"verification" rule:"required,min=1,bytes=1024"`
	Limitations  string   `json:"limitations" rule:"required,min=1,bytes=512"`
	Evidence     []string `json:"evidence" rule:"required,max=5,eachbytes=512" doc:"HTTPS addresses, never fetched."`
}
