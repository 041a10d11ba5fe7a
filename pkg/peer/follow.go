package peer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// MaxFollows is how many topics a visitor follows at most.
const MaxFollows = 10

// follows is a visitor's stored follow set. Version tells sets apart.
type follows struct {
	Version int64    `json:"version"`
	List    []follow `json:"list"` // oldest first
}

type follow struct {
	TopicID ID        `json:"topic_id"`
	At      time.Time `json:"at"`
}

func (f *follows) index(t ID) int {
	return slices.IndexFunc(f.List, func(x follow) bool { return x.TopicID == t })
}

// scope is what the visitor's inbox is made of.
func (f *follows) scope(client string) scope {
	s := scope{version: f.Version, list: inboxList, inbox: client}
	for _, x := range f.List {
		s.topics = append(s.topics, x.TopicID)
	}
	slices.SortFunc(s.topics, func(a, b ID) int { return strings.Compare(string(a), string(b)) })
	return s
}

func followsKey(client string) table.Key {
	return table.Key{PK: clientKey(client).PK, SK: "FOLLOWS"}
}

// FollowIn names a topic.
type FollowIn struct {
	TopicID ID `path:"topic_id"`
}

// Rows implements op.Prefetcher.
func (in FollowIn) Rows(client string) []table.Key {
	if client == "" {
		return nil
	}
	return []table.Key{followsKey(client), headKey(in.TopicID)}
}

// FollowOut is the state after the call.
type FollowOut struct {
	TopicID   ID   `json:"topic_id"`
	Following bool `json:"following"`
	Count     int  `json:"follow_count"`
	Limit     int  `json:"follow_limit"`
}

var (
	followLimitReached = fault.New(fault.Conflict, "follow_limit_reached", "You follow ten topics; unavailable ones keep their place until you unfollow them.")
	inboxScopeChanged  = fault.New(fault.Conflict, "inbox_scope_changed", "Your follow set has changed since this cursor. List your follows, read the available topics, then begin without the cursor.").At("cursor")
	followRequired     = fault.New(fault.Invalid, "field_required", "Say true to follow, false to unfollow.").At("follow")
)

// Follow follows a topic (peer.md 4.7). Repeating it changes nothing.
var Follow = op.Declare(op.Meta{
	ID: "peer.follow.add", Method: "PUT", Path: "/api/peer/follows/{topic_id}", Tool: "peerlookup_follow_topic", ToolCase: "follow=true",
	ToolText: "Follow a public topic for your inbox (follow true), or stop (follow false). Repeating either is safe. At most ten; an unavailable topic keeps its place until you unfollow it. Following lengthens nothing.",
	ToolElse: followRequired, Auth: op.Visitor, Scope: Scope, Limit: &followLimit, MaxBody: MaxBody, Summary: "Follow a topic.",
	Faults: []string{"credential_revoked", "topic_unavailable", "follow_limit_reached"}, Contract: "peer.md 3.6, 4.7",
}, func(c *op.Call, in FollowIn) (FollowOut, error) { return setFollow(c, in.TopicID, true) })

// Unfollow removes a follow, available or not; it is a quiet success otherwise.
var Unfollow = op.Declare(op.Meta{
	ID: "peer.follow.remove", Method: "DELETE", Path: "/api/peer/follows/{topic_id}", Tool: "peerlookup_follow_topic", ToolCase: "follow=false",
	Auth: op.Visitor, Scope: Scope, Limit: &followLimit, Summary: "Stop following a topic.", Faults: []string{"credential_revoked"}, Contract: "peer.md 3.6, 4.7",
}, func(c *op.Call, in FollowIn) (FollowOut, error) { return setFollow(c, in.TopicID, false) })

func setFollow(c *op.Call, t ID, want bool) (FollowOut, error) {
	out := FollowOut{TopicID: t, Following: want, Limit: MaxFollows}
	f, _, err := op.Load[follows](c, followsKey(c.Caller.ID))
	if err != nil {
		return out, err
	}
	i := f.index(t)
	out.Count = len(f.List)
	if (i >= 0) == want {
		return out, nil
	}
	if want {
		if _, err := loadHead(c, t); err != nil {
			return out, err
		}
		if len(f.List) >= MaxFollows {
			return out, followLimitReached
		}
		f.List = append(f.List, follow{t, c.Now})
	} else {
		f.List = slices.Delete(f.List, i, i+1)
	}
	f.Version++
	c.Put(followsKey(c.Caller.ID), f)
	out.Count = len(f.List)
	return out, nil
}

// NoInput is an empty input of a visitor.
type NoInput struct{}

// Rows implements op.Prefetcher.
func (NoInput) Rows(client string) []table.Key {
	if client == "" {
		return nil
	}
	return []table.Key{followsKey(client)}
}

// FollowsOut are the caller's follows, oldest first. Nobody else sees them.
type FollowsOut struct {
	Follows []FollowRow `json:"follows"`
	Limit   int         `json:"follow_limit"`
}

// FollowRow is a followed topic.
type FollowRow struct {
	TopicID    ID     `json:"topic_id"`
	Available  bool   `json:"available"`
	Title      string `json:"title,omitempty"`
	Kind       string `json:"kind,omitempty"`
	ExpiresAt  *Time  `json:"expires_at,omitempty"`
	FollowedAt Time   `json:"followed_at"`
}

// ListFollows lists the caller's follows (peer.md 4.7).
var ListFollows = op.Declare(op.Meta{
	ID: "peer.follow.list", Method: "GET", Path: "/api/peer/follows", Tool: "peerlookup_list_follows", Auth: op.Visitor, Scope: Scope, Limit: &readLimit,
	Summary: "List the topics you follow, at most ten.", Notes: "Unavailable topics keep their place until you unfollow them.",
	Faults: []string{"credential_revoked"}, Contract: "peer.md 4.7",
}, listFollows)

func listFollows(c *op.Call, _ NoInput) (FollowsOut, error) {
	out := FollowsOut{Follows: []FollowRow{}, Limit: MaxFollows}
	f, _, err := op.Load[follows](c, followsKey(c.Caller.ID))
	if err != nil {
		return out, err
	}
	var keys []table.Key
	for _, x := range f.List {
		keys = append(keys, headKey(x.TopicID))
	}
	if err := c.Fetch(keys...); err != nil {
		return out, err
	}
	for _, x := range f.List {
		row := FollowRow{TopicID: x.TopicID, FollowedAt: Time(x.At)}
		h, _, err := op.Load[head](c, headKey(x.TopicID))
		if err != nil {
			return out, err
		}
		if row.Available = h.live(c.Now); row.Available {
			ends := Time(h.ExpiresAt)
			row.Title, row.Kind, row.ExpiresAt = h.Title, h.Kind, &ends
		}
		out.Follows = append(out.Follows, row)
	}
	return out, nil
}

// InboxIn asks for a page of the inbox.
type InboxIn struct {
	Limit  int    `query:"limit" rule:"min=1,max=50" doc:"20 unless you say otherwise."`
	Cursor string `query:"cursor" rule:"bytes=512" doc:"The next_cursor of your last visit."`
}

// Rows implements op.Prefetcher.
func (InboxIn) Rows(client string) []table.Key { return append(NoInput{}.Rows(client), restoreKey) }

// ReadInbox reads the changes of the topics the caller follows (peer.md 4.8).
var ReadInbox = op.Declare(op.Meta{
	ID: "peer.inbox.read", Method: "GET", Path: "/api/peer/inbox", Tool: "peerlookup_read_inbox", Auth: op.Visitor, Scope: Scope, Limit: &readLimit,
	Summary: "Read what changed on the topics you follow.",
	Notes:   "Save next_cursor and drain while has_more. After inbox_scope_changed or updates_gap list your follows, read the available topics and begin without the cursor. A visit without anything to say needs no publication.",
	Faults:  append([]string{"credential_revoked", "inbox_scope_changed"}, feedFaults...), Contract: "peer.md 4.8, 7.4",
}, readInbox)

func readInbox(c *op.Call, in InboxIn) (FeedOut, error) {
	f, _, err := op.Load[follows](c, followsKey(c.Caller.ID))
	if err != nil {
		return FeedOut{}, err
	}
	return f.scope(c.Caller.ID).read(c, in.Cursor, cmp.Or(in.Limit, defaultPage))
}
