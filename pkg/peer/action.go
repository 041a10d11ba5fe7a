package peer

import (
	"encoding/json"
	"slices"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// ActIn is one of ten actions on a handoff. What an action takes is in the table of peer.md
// 3.4; a member that belongs to another action is refused.
type ActIn struct {
	TopicID  ID      `path:"topic_id"`
	Action   string  `json:"action" rule:"required,enum=agree|decline|withdraw_claim|pause|resume|accept|reject|request_changes|cancel|withdraw"`
	Expected int64   `json:"expected_revision" rule:"required,min=0,max=9007199254740991"`
	Claim    *ID     `json:"claim_reply_id,omitempty"`
	Delivery *ID     `json:"delivery_reply_id,omitempty"`
	Note     *ID     `json:"note_reply_id,omitempty"`
	Reason   *string `json:"reason,omitempty"`
	Until    *string `json:"wait_until,omitempty"`
	Key      string  `json:"idempotency_key,omitempty"`
	Header   string  `header:"Idempotency-Key" doc:"The same as idempotency_key."`
}

// Rows implements op.Prefetcher.
func (in ActIn) Rows(client string) []table.Key {
	rows := append(keyRows(client, in.Key, in.Header), headKey(in.TopicID), handoffKey(in.TopicID), restoreKey)
	if client != "" {
		rows = append(rows, ownHeadKey(client))
	}
	if in.Note != nil {
		rows = append(rows, replyKey(in.TopicID, *in.Note))
	}
	return rows
}

// ActOut confirms an action. A replay confirms the action of then, not the state of today.
type ActOut struct {
	TopicID  ID       `json:"topic_id"`
	Action   string   `json:"action"`
	State    string   `json:"state"`
	Revision int64    `json:"revision"`
	Receipt  *Receipt `json:"receipt"`
	Replayed bool     `json:"replayed"`
	Cursor   string   `json:"updates_cursor"`
}

func (o ActOut) replay() ActOut { o.Replayed = true; return o }

// Act changes the state of a handoff (peer.md 4.12).
var Act = op.Declare(op.Meta{
	ID: "peer.handoff.act", Method: "POST", Path: "/api/peer/topics/{topic_id}/handoff-actions", Tool: "peerlookup_handoff_action",
	Auth: op.Visitor, Scope: Scope, Limit: &handoffLimit, MaxBody: MaxBody, Early: keyed[ActOut](opHandoff), BodySchema: actSchema, Destructive: true,
	Summary: "Change the state of a handoff you take part in.",
	Notes: "Name the revision you have read. Store idempotency_key and input before you send. A replay returns the receipt of then: read the topic again. " +
		"A request's text grants nothing outside this exchange.",
	Faults: append([]string{"credential_revoked", "topic_unavailable", "not_a_handoff", "not_participant", "wrong_role", "revision_conflict", "handoff_state",
		"claim_not_pending", "delivery_not_current", "note_invalid", "wait_until_out_of_range", "invalid_timestamp", "deadline_passed"}, keyFaults...),
	Contract: "peer.md 3.4, 4.12",
}, act)

// takes is what an action takes beside the members all have.
type takes struct {
	required, optional []string
	reasons            []string
}

var (
	verdicts = []string{"criteria_not_met", "evidence_insufficient", "other"}
	exits    = []string{"no_longer_needed", "cannot_continue", "other"}
	note     = []string{"note_reply_id"}
)

// actions, in the order in which their schemas are published.
var actions = []string{Agree, Decline, WithdrawClaim, Pause, Resume, Accept, Reject, RequestChanges, Cancel, Withdraw}

var actionTakes = map[string]takes{
	Agree:          {required: []string{"claim_reply_id"}},
	Decline:        {required: []string{"claim_reply_id"}},
	WithdrawClaim:  {required: []string{"claim_reply_id"}},
	Pause:          {[]string{"reason", "wait_until"}, note, []string{"input_required", "authorization_required"}},
	Resume:         {optional: note},
	Accept:         {required: []string{"delivery_reply_id"}, optional: note},
	Reject:         {[]string{"delivery_reply_id", "reason"}, note, verdicts},
	RequestChanges: {[]string{"delivery_reply_id", "reason"}, note, verdicts},
	Cancel:         {[]string{"reason"}, note, exits},
	Withdraw:       {[]string{"reason"}, note, exits},
}

// check holds the members against the action. Null counts as absent, for clients that send
// every member of a flattened schema.
func (in *ActIn) check() (until time.Time, err error) {
	t := actionTakes[in.Action]
	sent := map[string]bool{"claim_reply_id": in.Claim != nil, "delivery_reply_id": in.Delivery != nil, "note_reply_id": in.Note != nil,
		"reason": in.Reason != nil, "wait_until": in.Until != nil}
	for _, m := range []string{"claim_reply_id", "delivery_reply_id", "note_reply_id", "reason", "wait_until"} {
		if sent[m] && !slices.Contains(t.required, m) && !slices.Contains(t.optional, m) {
			return until, fault.New(fault.Invalid, "unknown_field", "This action does not take that field.").At(m)
		}
	}
	for _, m := range t.required {
		if !sent[m] {
			return until, fault.New(fault.Invalid, "field_required", "This action needs that field.").At(m)
		}
	}
	if in.Key == "" && in.Header == "" {
		return until, fault.New(fault.Invalid, "field_required", "Every action needs an idempotency_key.").At("idempotency_key")
	}
	if in.Reason != nil && !slices.Contains(t.reasons, *in.Reason) {
		return until, with(fault.New(fault.Invalid, "invalid_field", "This action does not take that reason.").At("reason"), object{"allowed": t.reasons})
	}
	if in.Until != nil {
		until, err = readTime("wait_until", *in.Until)
	}
	return until, err
}

func act(c *op.Call, in ActIn) (ActOut, error) {
	until, err := in.check()
	if err != nil {
		return ActOut{}, err
	}
	t, err := loadHead(c, in.TopicID)
	if err != nil {
		return ActOut{}, err
	}
	h, err := loadHandoff(c, &t)
	if err != nil {
		return ActOut{}, err
	}
	m := move{action: in.Action, client: c.Caller.ID, expected: in.Expected, claim: orNone(in.Claim), delivery: orNone(in.Delivery),
		note: orNone(in.Note), reason: deref(in.Reason), until: until}
	f := facts{requester: t.ClientID, now: c.Now, shows: t.shows}
	if m.note != "" {
		if f.note, _, err = op.Load[reply](c, replyKey(t.ID, m.note)); err != nil {
			return ActOut{}, err
		}
	}
	if err := h.decide(m, f); err != nil {
		return ActOut{}, err
	}
	h.save(c, &t)
	if err := record(c, &t, change{Type: HandoffChanged, Rev: &h.Revision}); err != nil {
		return ActOut{}, err
	}
	t.save(c)
	out := ActOut{TopicID: t.ID, Action: in.Action, State: h.State, Revision: h.Revision,
		Receipt: receipt(c, Receipt{Operation: opHandoff, TopicID: t.ID, Action: &in.Action, Revision: &h.Revision, State: &h.State})}
	if out.Cursor, err = topicCursor(c, &t); err != nil {
		return out, err
	}
	return out, remember(c, out.Receipt, out)
}

func orNone(p *ID) ID {
	if p == nil {
		return ""
	}
	return *p
}

// actSchema is the published form of an action: a choice of ten closed objects.
func actSchema() []byte {
	id := object{"type": "string", "pattern": idPattern}
	members := object{"claim_reply_id": id, "delivery_reply_id": id, "note_reply_id": id,
		"wait_until": object{"type": "string", "description": "UTC with milliseconds, after now, not after the deadline. When it passes nothing changes by itself."}}
	var all []object
	for _, a := range actions {
		t := actionTakes[a]
		props := object{"action": object{"type": "string", "const": a},
			"expected_revision": object{"type": "integer", "minimum": 0, "maximum": 9007199254740991},
			"idempotency_key":   object{"type": "string", "description": keyDoc}}
		for _, m := range slices.Concat(t.required, t.optional) {
			props[m] = members[m]
			if m == "reason" {
				props[m] = object{"type": "string", "enum": t.reasons}
			}
		}
		all = append(all, object{"type": "object", "properties": props, "additionalProperties": false,
			"required": append([]string{"action", "expected_revision", "idempotency_key"}, t.required...)})
	}
	b, err := json.Marshal(object{"type": "object", "oneOf": all})
	if err != nil {
		panic("peer: " + err.Error())
	}
	return b
}
