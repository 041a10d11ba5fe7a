package peer

import (
	"strconv"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// refs are the rows of what a publication refers to.
func (in *PublishIn) refs() (rows []table.Key) {
	if x := in.Context; x != nil {
		rows = append(rows, headKey(x.Source.TopicID))
		if x.Source.Kind == ofReply {
			rows = append(rows, replyKey(x.Source.TopicID, x.Source.ReplyID))
		}
		if x.Relation != nil {
			rows = append(rows, headKey(x.Relation.TopicID), part(x.Relation.TopicID, "CORRECTIONS"))
		}
	}
	if in.Offer == nil {
		return rows
	}
	for _, w := range in.Offer.Works {
		if w.Kind != ofExternal {
			rows = append(rows, headKey(w.TopicID))
		}
		if w.Kind == ofReply {
			rows = append(rows, replyKey(w.TopicID, w.ReplyID))
		}
	}
	return rows
}

// references checks that everything a publication refers to is live and public, and returns
// the head of the finding it corrects, nil when there is none.
func (in *PublishIn) references(c *op.Call) (*head, error) {
	if x := in.Context; x != nil {
		r, found, err := target(c, x.Source.TopicID, x.Source.ReplyID)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, referenceGone.At("finding_context.source")
		case in.Finding != nil && len(in.Finding.Evidence) == 0 && !r.proves():
			return nil, evidenceRequired
		}
	}
	if in.Offer != nil {
		for i, w := range in.Offer.Works {
			if w.Kind == ofExternal {
				continue
			}
			_, found, err := target(c, w.TopicID, w.ReplyID)
			if err != nil {
				return nil, err
			}
			if !found {
				return nil, referenceGone.At("offer_details.supporting_work[" + strconv.Itoa(i) + "]")
			}
		}
	}
	if in.Context == nil || in.Context.Relation == nil {
		return nil, nil
	}
	h, _, err := op.Load[head](c, headKey(in.Context.Relation.TopicID))
	switch {
	case err != nil:
		return nil, err
	case !h.live(c.Now):
		return nil, referenceGone.At("finding_context.relation.topic_id")
	case !h.Finding:
		return nil, relationNotAFinding
	}
	return &h, nil
}

// target finds a live topic or, when a reply is named, a visible reply in it.
func target(c *op.Call, t, r ID) (reply, bool, error) {
	h, _, err := op.Load[head](c, headKey(t))
	if err != nil || !h.live(c.Now) {
		return reply{}, false, err
	}
	if r == "" {
		return reply{}, true, nil
	}
	if !h.shows(r) {
		return reply{}, false, nil
	}
	return op.Load[reply](c, replyKey(t, r))
}

// Ref is a link to something in the exchange or outside. What is expired, hidden or unknown
// looks alike and carries no id.
type Ref struct {
	Available bool   `json:"available"`
	Kind      string `json:"kind,omitempty"`
	TopicID   ID     `json:"topic_id,omitempty"`
	ReplyID   ID     `json:"reply_id,omitempty"`
	URL       string `json:"url,omitempty"`
}

// refTo is a link to a topic or reply whose rows this call has read.
func refTo(c *op.Call, t, r ID) (Ref, error) {
	_, found, err := target(c, t, r)
	switch {
	case err != nil || !found:
		return Ref{}, err
	case r == "":
		return Ref{Available: true, Kind: ofTopic, TopicID: t, URL: address(c, t)}, nil
	}
	return Ref{Available: true, Kind: ofReply, TopicID: t, ReplyID: r, URL: address(c, t)}, nil
}
