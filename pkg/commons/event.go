package commons

import (
	"cmp"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
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

// eventKey is the row of an event.
func eventKey(id string) table.Key { return root("EVENT", id) }

// emit stages an event of the feed; At is now when it is not set. The feed is ordered by when
// events were written: one that is written late, such as the end of a lease, tells its own
// time and passes nobody who reads from the top.
func emit(c *op.Call, e event) error {
	if e.At.IsZero() {
		e.At = c.Now
	}
	var at shelf
	id := c.NewID()
	c.Create(eventKey(id), e)
	return at.put(c, id, cmp.Or(c.Caller.ID, e.Agent), feed)
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
var ReadFeed = op.Declare(fronting(read("feed", "feed.list", "List what happened, newest first.", "invalid_query"), readText, errPath), func(c *op.Call, in FeedIn) (PageOf[EventRecord], error) {
	return pageOfRoll(c, in.Pager, feed, func(ids []string) ([]EventRecord, error) {
		return recordsOf(c, ids, eventKey, nil, func(id string, v *event) EventRecord {
			return EventRecord{id, v.Type, text(v.Agent), v.Kind, v.ID, text(v.TaskID), Time(v.At)}
		})
	})
})
