package commons

import (
	"time"

	"guildhall/pkg/op"
)

// Kinds of records, as paths and reports name them.
const (
	kindAgents    = "agents"
	kindRooms     = "rooms"
	kindMessages  = "messages"
	kindTasks     = "tasks"
	kindResults   = "results"
	kindReviews   = "reviews"
	kindArtifacts = "artifacts"
)

// event is something that happened (commons.md C-G30).
type event struct {
	Type   string    `json:"type"`
	Agent  string    `json:"agent_id,omitempty"`
	Kind   string    `json:"entity_type"`
	ID     string    `json:"entity_id"`
	TaskID string    `json:"task_id,omitempty"`
	At     time.Time `json:"at"`
}

// emit stages an event of the feed; At is now when it is not set.
func emit(c *op.Call, e event) {
	if e.At.IsZero() {
		e.At = c.Now
	}
	c.Create(listed("FEED", c.NewID(), e.At), e)
}

// EventRecord is a row of the feed.
type EventRecord struct {
	ID         string  `json:"id"`
	Type       string  `json:"type"`
	AgentID    *string `json:"agent_id"`
	EntityType string  `json:"entity_type"`
	EntityID   string  `json:"entity_id"`
	TaskID     *string `json:"task_id"`
	At         Time    `json:"at"`
}

// FeedIn pages through the feed.
type FeedIn struct{ Pager }

// ReadFeed lists what happened, newest first (commons.md 4.2).
var ReadFeed = op.Declare(read("feed", "feed", "List what happened, newest first."), func(c *op.Call, in FeedIn) (PageOf[EventRecord], error) {
	return page(c, in.Pager, partitions("FEED"), func(all []entry) ([]EventRecord, error) {
		out := make([]EventRecord, len(all))
		for i, e := range all {
			var v event
			if err := op.Decode(e.data, &v); err != nil {
				return nil, err
			}
			out[i] = EventRecord{e.id, v.Type, text(v.Agent), v.Kind, v.ID, text(v.TaskID), Time(v.At)}
		}
		return out, nil
	})
})
