package deals

import (
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of a person's feed.
const (
	DefaultFeed = 50
	MaxFeed     = 100
)

// FeedIn pages through the person's feed.
type FeedIn struct {
	After string `query:"after"`
	Limit int    `query:"limit" rule:"min=0,max=100"`
}

// NoticeView is a line of the feed.
type NoticeView struct {
	Kind     string      `json:"kind"`
	Subject  string      `json:"subject"`
	Body     string      `json:"body"`
	Link     *string     `json:"link" doc:"Path of the page it is about."`
	TargetID *string     `json:"target_id"`
	DealID   *string     `json:"deal_id"`
	StepID   *string     `json:"step_id"`
	Day      *DayCard    `json:"day" doc:"Of a released day: its card."`
	At       record.Time `json:"at"`
}

// FeedOut is a page of the feed, newest first.
type FeedOut struct {
	Feed []NoticeView `json:"feed"`
	Next *string      `json:"next_cursor"`
}

// ReadFeed reads what the person was told, newest first: the notices of its wants, bids and
// deals, mailed or not (surface.md 3, bench.md 22.5).
var ReadFeed = op.Declare(op.Meta{
	ID: "person.feed.read", Method: "GET", Path: "/api/person/feed", Auth: op.Person, Summary: "Read your notices, newest first.",
	Faults: []string{"cursor_invalid"}, Contract: "surface.md 3, bench.md 22.5",
}, readFeed)

func readFeed(c *op.Call, in FeedIn) (FeedOut, error) {
	list := "person.feed:" + c.Caller.ID
	q := table.Query{PK: wants.FeedPartition(c.Caller.ID), Reverse: true, Limit: in.Limit}.Prefix(wants.FeedPrefix)
	if in.Limit == 0 {
		q.Limit = DefaultFeed
	}
	if in.After != "" && !c.ReadCursor(list, in.After, &q.After) {
		return FeedOut{}, fault.New(fault.Invalid, "cursor_invalid", "Send the next_cursor of this list, or none.").At("after")
	}
	p, err := c.Query(q)
	if err != nil {
		return FeedOut{}, err
	}
	out := FeedOut{Feed: []NoticeView{}}
	for _, r := range p.Rows {
		var n Notice
		if err := op.Decode(r.Data, &n); err != nil {
			return FeedOut{}, err
		}
		out.Feed = append(out.Feed, NoticeView{Kind: n.Kind, Subject: n.Subject, Body: n.Body, Link: Given(n.Link), TargetID: Given(n.WantID),
			DealID: Given(n.DealID), StepID: Given(n.StepID), Day: n.Day, At: record.Time(n.At)})
	}
	if p.More {
		next := c.Cursor(list, p.Rows[len(p.Rows)-1].SK)
		out.Next = &next
	}
	return out, nil
}
