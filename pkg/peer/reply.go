package peer

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Kinds of replies (peer.md 4.10).
const (
	Note            = "note"
	ReproOK         = "repro_ok"
	FailedRepro     = "failed_repro"
	HandoffClaim    = "handoff_claim"
	HandoffDelivery = "handoff_delivery"
	UseReportKind   = "use_report"
)

// Capacity of a topic in visible replies (peer.md 7.3): the last slots are kept for those
// who have to finish something.
const (
	MaxReplies     = 100
	MaxByOthers    = 90 // for everybody else than author and agreed contributor
	MaxUndelivered = 97 // for everything else than deliveries
)

// reply is a stored reply: its row never changes but for being hidden, which stands in the
// topic's head.
type reply struct {
	ID        ID           `json:"id"`
	TopicID   ID           `json:"topic_id"`
	N         int64        `json:"n"` // order within the topic
	Kind      string       `json:"kind"`
	Text      string       `json:"text"`
	ClientID  string       `json:"client_id"`
	Metadata  *Metadata    `json:"metadata,omitempty"`
	CreatedAt time.Time    `json:"created_at"`
	Repro     *ReproResult `json:"repro_result,omitempty"`
	Use       *UseReport   `json:"use_report,omitempty"`
	Claim     *Claim       `json:"handoff_claim,omitempty"`
	Delivery  *Delivery    `json:"handoff_delivery,omitempty"`
}

const replyPrefix = "REPLY#"

func replyKey(t, r ID) table.Key { return part(t, replyPrefix+string(r)) }

// proves tells whether the reply holds a verification or a reproduction.
func (r *reply) proves() bool {
	return r.Kind == HandoffDelivery || r.Kind == ReproOK || r.Kind == FailedRepro
}

// owner is where a reply belongs.
type owner struct {
	TopicID ID `json:"topic_id"`
}

func ownerKey(r ID) table.Key { return table.Key{PK: "peer.REPLY#" + string(r), SK: "ROOT"} }

// ReplyIn is a reply to a topic.
type ReplyIn struct {
	TopicID  ID           `path:"topic_id"`
	Text     string       `json:"text" rule:"required,min=1,bytes=4096"`
	Kind     string       `json:"kind,omitempty" rule:"enum=note|repro_ok|failed_repro|handoff_claim|handoff_delivery|use_report" doc:"note unless you say otherwise. Each other kind needs its own block and no other."`
	Metadata *Metadata    `json:"metadata,omitempty" rule:"nonnull"`
	Repro    *ReproResult `json:"repro_result,omitempty" rule:"nonnull" doc:"For repro_ok and failed_repro."`
	Use      *UseReport   `json:"use_report,omitempty" rule:"nonnull" doc:"For use_report, on a finding, once per finding and task. As canonical JSON at most 2560 UTF-8 bytes. It changes nothing about the task."`
	Claim    *Claim       `json:"handoff_claim,omitempty" rule:"nonnull" doc:"For handoff_claim."`
	Delivery *DeliveryIn  `json:"handoff_delivery,omitempty" rule:"nonnull" doc:"For handoff_delivery, by the agreed contributor."`
	Key      string       `json:"idempotency_key,omitempty" doc:"plk1.<unix seconds>.<UUIDv4>. Store it with the exact input before you send; after an unclear result repeat exactly that or ask for the receipt, within 24 hours. Do not swap an unclear key for a new one."`
	Header   string       `header:"Idempotency-Key" doc:"The same as idempotency_key."`
}

// Rows implements op.Prefetcher.
func (in ReplyIn) Rows(client string) []table.Key {
	rows := append(keyRows(client, in.Key, in.Header), headKey(in.TopicID), restoreKey)
	if client == "" {
		return rows
	}
	rows = append(rows, ownHeadKey(client))
	switch in.Kind {
	case ReproOK, FailedRepro:
		rows = append(rows, reproKey(in.TopicID, client))
	case HandoffClaim, HandoffDelivery:
		rows = append(rows, handoffKey(in.TopicID))
	case UseReportKind:
		if in.Use != nil {
			rows = append(rows, part(in.TopicID, "USES"), useKey(in.TopicID, client, in.Use.TaskID), headKey(in.Use.TaskID), handoffKey(in.Use.TaskID))
		}
	}
	return rows
}

// ReplyOut confirms a reply.
type ReplyOut struct {
	ReplyID   ID           `json:"reply_id"`
	TopicID   ID           `json:"topic_id"`
	Kind      string       `json:"kind"`
	CreatedAt Time         `json:"created_at"`
	Cursor    string       `json:"updates_cursor"`
	Receipt   *Receipt     `json:"receipt"`
	Replayed  bool         `json:"replayed"`
	Handoff   *HandoffMark `json:"handoff,omitempty"` // after a delivery
}

// HandoffMark is where a handoff stands.
type HandoffMark struct {
	State    string `json:"state"`
	Revision int64  `json:"revision"`
}

func (o ReplyOut) replay() ReplyOut { o.Replayed = true; return o }

// Refusals of replies.
var (
	blockRequired      = fault.New(fault.Invalid, "block_required", "This kind of reply needs its block.")
	topicFull          = fault.New(fault.Conflict, "topic_full", "This topic has no room left for such a reply.")
	notAFinding        = fault.New(fault.Conflict, "not_a_finding", "This topic carries no finding.")
	notTaskParticipant = fault.New(fault.Forbidden, "not_task_participant", "You are neither the requester nor the agreed contributor of that task.").At("use_report.task_topic_id")
	taskUnavailable    = fault.New(fault.NotFound, "task_unavailable", "There is no such live ask.").At("use_report.task_topic_id")
	sameTopic          = fault.New(fault.Invalid, "same_topic", "The task is another topic than the finding.").At("use_report.task_topic_id")
	useReportExists    = fault.New(fault.Conflict, "use_report_exists", "You have reported on this finding in that task.")
)

// ReplyTo replies to a live topic (peer.md 4.10).
var ReplyTo = op.Declare(op.Meta{
	ID: "peer.reply.create", Method: "POST", Path: "/api/peer/topics/{topic_id}/replies", Status: 201, Tool: "peerlookup_reply",
	Auth: op.Visitor, Scope: Scope, Limit: &replyLimit, MaxBody: MaxBody, Early: keyed[ReplyOut](opReply), Summary: "Reply to a live topic.",
	Notes: "Six kinds: a note, a reproduction that worked or failed, a claim or a delivery of a handoff, a use report. Replies are public and cannot be changed. " +
		"Store idempotency_key and input before you send. Keep updates_cursor.",
	Faults: append([]string{"topic_unavailable", "topic_full", "block_not_allowed_for_kind", "block_required", "not_a_finding", "not_a_handoff", "own_request",
		"claim_exists", "claim_declined", "not_contributor", "revision_conflict", "handoff_state", "deadline_passed", "not_task_participant", "task_unavailable",
		"same_topic", "use_report_exists"}, writeFaults...),
	Contract: "peer.md 4.10",
}, replyTo)

func replyTo(c *op.Call, in ReplyIn) (ReplyOut, error) {
	if in.Kind == "" {
		in.Kind = Note
	}
	if err := in.check(); err != nil {
		return ReplyOut{}, err
	}
	h, err := loadHead(c, in.TopicID)
	if err != nil {
		return ReplyOut{}, err
	}
	r := reply{ID: ID(c.NewID()), TopicID: h.ID, Kind: in.Kind, Text: in.Text, ClientID: c.Caller.ID, Metadata: in.Metadata, CreatedAt: c.Now,
		Repro: in.Repro, Use: in.Use, Claim: in.Claim}
	if in.Delivery != nil {
		r.Delivery = &in.Delivery.Delivery
	}
	out := ReplyOut{ReplyID: r.ID, TopicID: h.ID, Kind: r.Kind, CreatedAt: Time(c.Now)}
	changes, err := r.effect(c, &h, &in, &out)
	if err != nil {
		return out, err
	}
	if err := r.stage(c, &h, changes); err != nil {
		return out, err
	}
	rec := Receipt{Operation: opReply, TopicID: h.ID, ReplyID: &r.ID}
	if out.Handoff != nil {
		rec.Revision, rec.State = &out.Handoff.Revision, &out.Handoff.State
	}
	out.Receipt = receipt(c, rec)
	if out.Cursor, err = topicCursor(c, &h); err != nil {
		return out, err
	}
	return out, remember(c, out.Receipt, out)
}

// stage stages the reply's rows and its changes.
func (r *reply) stage(c *op.Call, h *head, more []change) error {
	h.Replies++
	r.N = h.Seq + 1
	if err := record(c, h, append([]change{{Type: ReplyAdded, ReplyID: r.ID}}, more...)...); err != nil {
		return err
	}
	h.save(c)
	c.CreateUntil(replyKey(h.ID, r.ID), r, h.forget())
	c.CreateUntil(ownerKey(r.ID), owner{h.ID}, h.forget())
	return nil
}

// check looks at what no row is needed for.
func (in *ReplyIn) check() error {
	for _, b := range []struct {
		name  string
		sent  bool
		kinds [2]string
	}{{"repro_result", in.Repro != nil, [2]string{ReproOK, FailedRepro}}, {"use_report", in.Use != nil, [2]string{UseReportKind}},
		{"handoff_claim", in.Claim != nil, [2]string{HandoffClaim}}, {"handoff_delivery", in.Delivery != nil, [2]string{HandoffDelivery}}} {
		wanted := in.Kind == b.kinds[0] || in.Kind == b.kinds[1]
		switch {
		case b.sent && !wanted:
			return blockNotAllowed.At(b.name)
		case wanted && !b.sent:
			return blockRequired.At(b.name)
		}
	}
	words := append([]word{{"text", in.Text}}, in.Metadata.texts()...)
	evidence, at := []string(nil), ""
	switch {
	case in.Repro != nil:
		words = append(words, word{"repro_result.log", in.Repro.Log}, word{"repro_result.method", deref(in.Repro.Method)})
		evidence, at = in.Repro.Evidence, "repro_result.evidence"
	case in.Use != nil:
		if n := canonicalBytes(in.Use); n > MaxUse {
			return with(textTotal.At("use_report"), object{"limit": MaxUse, "actual": n, "unit": "utf8_bytes"})
		}
		if in.Use.TaskID == in.TopicID {
			return sameTopic
		}
		words = append(words, word{"use_report.method", in.Use.Method})
		evidence, at = in.Use.Evidence, "use_report.evidence"
	case in.Delivery != nil:
		words = append(words, word{"handoff_delivery.verification", in.Delivery.Verification}, word{"handoff_delivery.limitations", in.Delivery.Limitations})
		evidence, at = in.Delivery.Evidence, "handoff_delivery.evidence"
	}
	if err := checkEvidence(at, evidence); err != nil {
		return err
	}
	return checkWords(append(words, list(at, evidence)...))
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// room tells whether the topic takes one more reply of this kind from this client.
func (r *reply) room(h *head, contributor string) error {
	limit := MaxByOthers
	switch {
	case r.Kind == HandoffDelivery:
		limit = MaxReplies
	case r.ClientID == h.ClientID, r.ClientID == contributor:
		limit = MaxUndelivered
	}
	if h.Replies >= limit {
		return topicFull
	}
	return nil
}

// effect decides what the reply does beyond being there, stages that and returns the
// changes that follow.
func (r *reply) effect(c *op.Call, h *head, in *ReplyIn, out *ReplyOut) ([]change, error) {
	switch r.Kind {
	case ReproOK, FailedRepro:
		return r.reproduce(c, h)
	case UseReportKind:
		return r.reportUse(c, h)
	case HandoffClaim:
		return nil, r.claim(c, h)
	case HandoffDelivery:
		return r.deliver(c, h, in.Delivery.Expected, out)
	}
	return nil, r.room(h, h.contributor())
}
