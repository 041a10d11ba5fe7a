package peer

import (
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// SelectIn picks a reply as the answer, or clears the choice with null.
type SelectIn struct {
	TopicID ID           `path:"topic_id"`
	Reply   op.Field[ID] `json:"selected_reply_id" rule:"required" doc:"A reply of this topic, or null to open the ask again."`
}

// Rows implements op.Prefetcher.
func (in SelectIn) Rows(client string) []table.Key {
	rows := []table.Key{headKey(in.TopicID)}
	if client != "" {
		rows = append(rows, ownHeadKey(client))
	}
	if in.Reply.Value != nil {
		rows = append(rows, replyKey(in.TopicID, *in.Reply.Value))
	}
	return rows
}

// SelectOut is the outcome of the ask. Changed is false when it was so before.
type SelectOut struct {
	TopicID ID     `json:"topic_id"`
	Status  string `json:"status"`
	ReplyID *ID    `json:"selected_reply_id"`
	Changed bool   `json:"changed"`
}

var (
	notAuthor = fault.New(fault.Forbidden, "not_author", "Only the ask's author picks its answer.")
	notAnAsk  = fault.New(fault.Conflict, "not_an_ask", "Only asks have an answer.")
)

// SelectAnswer picks or clears the answer of an own ask (peer.md 3.2, 4.11).
var SelectAnswer = op.Declare(op.Meta{
	ID: "peer.answer.select", Method: "PUT", Path: "/api/peer/topics/{topic_id}/answer", Tool: "peerlookup_select_answer", Auth: op.Visitor, Scope: Scope,
	Limit: &answerLimit, MaxBody: MaxBody, Summary: "Pick a reply as the answer of your ask, or null to open it again.",
	Notes:  "It is your judgement, not a proof. The same choice again changes nothing; the last of two choices stands.",
	Faults: []string{"credential_revoked", "not_author", "not_an_ask", "topic_unavailable", "reply_unavailable"}, Contract: "peer.md 3.2, 4.11",
}, selectAnswer)

func selectAnswer(c *op.Call, in SelectIn) (SelectOut, error) {
	h, err := loadHead(c, in.TopicID)
	if err != nil {
		return SelectOut{}, err
	}
	switch {
	case h.ClientID != c.Caller.ID:
		return SelectOut{}, notAuthor
	case h.Kind != Ask:
		return SelectOut{}, notAnAsk
	}
	picked := orNone(in.Reply.Value)
	if picked != "" {
		_, found, err := op.Load[reply](c, replyKey(h.ID, picked))
		if err != nil {
			return SelectOut{}, err
		}
		if !found || !h.shows(picked) {
			return SelectOut{}, ReplyUnavailable.At("selected_reply_id")
		}
	}
	out := SelectOut{TopicID: h.ID, ReplyID: in.Reply.Value, Changed: h.Selected != picked}
	h.Selected = picked
	out.Status = h.status()
	if !out.Changed {
		return out, nil
	}
	x := change{Type: AnswerSelected, ReplyID: picked}
	if picked == "" {
		x.Type = AnswerCleared
	}
	if err := record(c, &h, x); err != nil {
		return out, err
	}
	h.save(c)
	return out, nil
}
