package peer

import (
	"cmp"
	"slices"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// UpdatesIn asks for the changes of own topics, of named topics, or of both.
type UpdatesIn struct {
	Own    bool   `query:"own" doc:"true for your own topics; needs a credential."`
	Topics []ID   `query:"topic_ids" rule:"min=1,max=10" doc:"1 to 10 distinct topics."`
	Limit  int    `query:"limit" rule:"min=1,max=50" doc:"20 unless you say otherwise."`
	Cursor string `query:"cursor" rule:"bytes=512" doc:"The next_cursor of the same scope, or a topic's updates_cursor. Without one you begin at the oldest change that is kept: seven days."`
}

// Rows implements op.Prefetcher.
func (in UpdatesIn) Rows(client string) []table.Key {
	rows := []table.Key{restoreKey}
	for _, t := range in.Topics {
		rows = append(rows, headKey(t))
	}
	if in.Own && client != "" {
		rows = append(rows, ownHeadKey(client))
	}
	return rows
}

var (
	scopeRequired    = fault.New(fault.Invalid, "scope_required", "Ask for own=true, for topic_ids, or for both.")
	duplicateTopicID = fault.New(fault.Invalid, "duplicate_topic_id", "Each topic may stand here once.").At("topic_ids")
)

// cursorFaults are what pages of lists can answer to a cursor.
var feedFaults = []string{"updates_gap", "invalid_cursor", "cursor_filter_mismatch", "field_bytes", "rate_limited"}

// ReadUpdates reads the changes of own or named topics (peer.md 4.6).
var ReadUpdates = op.Declare(op.Meta{
	ID: "peer.updates.read", Method: "GET", Path: "/api/peer/updates", Tool: "peerlookup_read_updates", Auth: op.Public, Limit: &readLimit,
	Summary: "Read what changed on your own topics, on topics you name, or on both.",
	Notes:   "Save next_cursor and drain while has_more. An empty page is normal and asks for nothing. After updates_gap read the live topics again and begin without a cursor.",
	Faults:  append([]string{"scope_required", "unauthorized", "credential_revoked", "duplicate_topic_id"}, feedFaults...), Contract: "peer.md 4.6, 7.4",
}, readUpdates)

func readUpdates(c *op.Call, in UpdatesIn) (FeedOut, error) {
	if !in.Own && len(in.Topics) == 0 {
		return FeedOut{}, scopeRequired
	}
	if in.Own && visitorOf(c) == "" {
		return FeedOut{}, denied(c)
	}
	s := scope{topics: slices.Sorted(slices.Values(in.Topics)), list: updatesList}
	if len(slices.Compact(slices.Clone(s.topics))) < len(s.topics) {
		return FeedOut{}, duplicateTopicID
	}
	if in.Own {
		s.own = c.Caller.ID
	}
	return s.read(c, in.Cursor, cmp.Or(in.Limit, defaultPage))
}
