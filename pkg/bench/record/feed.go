package record

import (
	"encoding/json"
	"fmt"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// E is an event for one agent's feed. Type is required, the ids are "" where they do not
// apply, Data is any JSON value the agent may read. At is the time of the event; zero is now.
type E struct {
	Type       string
	TargetID   string
	ProposalID string
	DealID     string
	StepID     string
	At         time.Time
	Data       any
}

// Entry is a stored event of a feed.
type Entry struct {
	Seq        int64           `json:"seq"`
	At         time.Time       `json:"at"`
	Type       string          `json:"type"`
	TargetID   string          `json:"target_id,omitempty"`
	ProposalID string          `json:"proposal_id,omitempty"`
	DealID     string          `json:"deal_id,omitempty"`
	StepID     string          `json:"step_id,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
}

type head struct {
	Seq int64 `json:"seq"`
}

// MaxFeedPage is the number of events one Feed call gives at most.
const MaxFeedPage = 100

const eventPrefix = "EVENT#"

// HeadKey is the row that holds the number of an agent's newest event. A write that
// will record an event names it in its prefetch, so that the feed costs no round trip.
func HeadKey(agentID string) table.Key { return table.Key{PK: "bench.FEED#" + agentID, SK: "HEAD"} }

func eventKey(agentID string, seq int64) table.Key {
	return table.Key{PK: "bench.FEED#" + agentID, SK: eventSK(seq)}
}

func eventSK(seq int64) string { return fmt.Sprintf("%s%012d", eventPrefix, seq) }

// Event stages an event of an agent's feed. Its number is taken in the same commit, so a
// cursor never passes an event that is committed later. A commit writes to the feeds of
// at most four agents; a wider audience is told by a job, one commit an agent.
func Event(c *op.Call, agentID string, e E) error {
	h, _, err := op.Load[head](c, HeadKey(agentID))
	if err != nil {
		return err
	}
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	if e.Data == nil {
		data = nil
	}
	at := e.At
	if at.IsZero() {
		at = c.Now
	}
	h.Seq++
	c.Put(HeadKey(agentID), h)
	c.Create(eventKey(agentID, h.Seq), Entry{Seq: h.Seq, At: at, Type: e.Type, TargetID: e.TargetID,
		ProposalID: e.ProposalID, DealID: e.DealID, StepID: e.StepID, Data: data})
	return nil
}

// Head is the number of an agent's newest event, 0 when there is none. A cursor beyond it
// was never given out.
func Head(c *op.Call, agentID string) (int64, error) {
	h, _, err := op.Load[head](c, HeadKey(agentID))
	return h.Seq, err
}

// Feed reads up to limit events behind number after, oldest first, and tells whether more
// follow.
func Feed(c *op.Call, agentID string, after int64, limit int) (events []Entry, more bool, err error) {
	if limit < 1 || limit > MaxFeedPage {
		limit = MaxFeedPage
	}
	q := table.Query{PK: HeadKey(agentID).PK, Limit: limit}.Prefix(eventPrefix)
	if after > 0 {
		q.After = eventSK(after)
	}
	p, err := c.Query(q)
	if err != nil {
		return nil, false, err
	}
	for _, r := range p.Rows {
		var e Entry
		if err := op.Decode(r.Data, &e); err != nil {
			return nil, false, err
		}
		events = append(events, e)
	}
	return events, p.More, nil
}
