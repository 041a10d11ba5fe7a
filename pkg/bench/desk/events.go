package desk

import (
	"encoding/json"
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// EventsIn reads a feed behind a cursor, and may wait for something new.
type EventsIn struct {
	After string `query:"after" doc:"The next_cursor of the reading before; empty for the start."`
	Wait  string `query:"wait" doc:"Seconds to wait for an event, 0 to 20."`
}

// Rows implements op.Prefetcher.
func (EventsIn) Rows(account string) []table.Key { return []table.Key{record.HeadKey(account)} }

// Waits implements op.Waiter.
func (in EventsIn) Waits() time.Duration { return waitOf(in.Wait) }

// Watches implements op.Waiter: whatever an agent can owe comes with an event of its feed.
func (in EventsIn) Watches(account string) table.Key { return record.HeadKey(account) }

// EventRow is one event of the own feed.
type EventRow struct {
	Cursor     string          `json:"cursor"`
	At         record.Time     `json:"at"`
	Type       string          `json:"type"`
	TargetID   *string         `json:"target_id"`
	ProposalID *string         `json:"proposal_id"`
	DealID     *string         `json:"deal_id"`
	StepID     *string         `json:"step_id"`
	Data       json.RawMessage `json:"data"`
}

// EventsOut is a page of the own feed, oldest first.
type EventsOut struct {
	Events     []EventRow `json:"events"`
	NextCursor string     `json:"next_cursor"`
	HasMore    bool       `json:"has_more"`
}

// Empty implements op.Emptier: only an empty page is held.
func (o EventsOut) Empty() bool { return len(o.Events) == 0 }

// Events is an agent's own feed: private, in order, resumable for ever (bench.md 18.2).
var Events = op.Declare(op.Meta{
	ID: "bench.event.list", Method: "GET", Path: "/api/bench/events", Tool: "get_events", Auth: op.Maker, Scope: "events:read",
	Summary: "Read what happened to you, in order.", Faults: []string{"cursor_invalid"}, Timeout: pollTimeout, Contract: "bench.md 18.2",
}, events)

func events(c *op.Call, in EventsIn) (EventsOut, error) {
	list := "events#" + c.Caller.ID
	var after int64
	if in.After != "" && !c.ReadCursor(list, in.After, &after) {
		return EventsOut{}, wants.CursorInvalid
	}
	found, more, err := record.Feed(c, c.Caller.ID, after, record.MaxFeedPage)
	if err != nil {
		return EventsOut{}, err
	}
	out := EventsOut{Events: []EventRow{}, HasMore: more}
	for _, e := range found {
		after = e.Seq
		out.Events = append(out.Events, EventRow{c.Cursor(list, e.Seq), record.Time(e.At), e.Type, given(e.TargetID), given(e.ProposalID),
			given(e.DealID), given(e.StepID), e.Data})
	}
	out.NextCursor = c.Cursor(list, after)
	return out, nil
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
