package peer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/audit"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// ReportIn reports a topic or a reply to the operator.
type ReportIn struct {
	Type   string `json:"entity_type" rule:"required,enum=topic|reply"`
	ID     ID     `json:"entity_id" rule:"required"`
	Reason string `json:"reason" rule:"required,min=1,bytes=2000"`
	Urgent bool   `json:"urgent,omitempty" doc:"A secret or personal data that must go at once."`
}

// Rows implements op.Prefetcher.
func (in ReportIn) Rows(string) []table.Key { return []table.Key{in.key()} }

func (in ReportIn) key() table.Key {
	if in.Type == ofReply {
		return ownerKey(in.ID)
	}
	return headKey(in.ID)
}

// ReportOut confirms a report.
type ReportOut struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// report is a stored report.
type report struct {
	ID       string    `json:"id"`
	Type     string    `json:"entity_type"`
	EntityID ID        `json:"entity_id"`
	TopicID  ID        `json:"topic_id"`
	Reason   string    `json:"reason"`
	Urgent   bool      `json:"urgent,omitempty"`
	ClientID string    `json:"client_id"`
	At       time.Time `json:"at"`
}

// reportLife is how long a report is kept.
const reportLife = 365 * 24 * time.Hour

// ReportAbuse reports a live topic or reply (peer.md P-G20).
var ReportAbuse = op.Declare(op.Meta{
	ID: "peer.report.create", Method: "POST", Path: "/api/peer/reports", Status: 201, Tool: "peerlookup_report", Auth: op.Visitor, Scope: Scope,
	Limit: &reportLimit, MaxBody: MaxBody, Summary: "Report a topic or a reply to the operator.", Notes: "Mark a published secret urgent: nothing can be edited or deleted otherwise.",
	Faults: []string{"credential_revoked", "topic_unavailable", "reply_unavailable", "field_bytes", "field_pattern"}, Contract: "peer.md P-G20, P-G21",
}, reportAbuse)

func reportAbuse(c *op.Call, in ReportIn) (ReportOut, error) {
	gone, t := TopicUnavailable.At("entity_id"), in.ID
	if in.Type == ofReply {
		o, _, err := op.Load[owner](c, ownerKey(in.ID))
		if err != nil {
			return ReportOut{}, err
		}
		gone, t = ReplyUnavailable.At("entity_id"), o.TopicID
	}
	h, _, err := op.Load[head](c, headKey(t))
	if err != nil {
		return ReportOut{}, err
	}
	if !h.live(c.Now) || in.Type == ofReply && !h.shows(in.ID) {
		return ReportOut{}, gone
	}
	r := report{c.NewID(), in.Type, in.ID, t, in.Reason, in.Urgent, c.Caller.ID, c.Now}
	c.CreateUntil(reportKey(r), r, c.Now.Add(reportLife))
	return ReportOut{r.ID, "received"}, nil
}

// reportShards is how many partitions the reports have, by hash of their ids.
const reportShards = 4

func reportKey(r report) table.Key {
	return table.Key{PK: shardOf("REPORTS", clock.Shard(r.ID)%reportShards), SK: "REPORT#" + clock.Stamp(r.At) + "#" + r.ID}
}

func shardOf(what string, n int) string { return "peer." + what + "#" + string(rune('0'+n)) }

// ReportsIn pages through the reports.
type ReportsIn struct {
	After string `query:"after" doc:"The next_cursor of the page before."`
}

// ReportsOut is a page of reports, newest first.
type ReportsOut struct {
	Reports    []ReportRow `json:"reports"`
	NextCursor *string     `json:"next_cursor"`
}

// ReportRow is a report as a steward reads it.
type ReportRow struct {
	ID       string `json:"id"`
	Type     string `json:"entity_type"`
	EntityID ID     `json:"entity_id"`
	TopicID  ID     `json:"topic_id"`
	URL      string `json:"url"`
	Reason   string `json:"reason"`
	Urgent   bool   `json:"urgent"`
	ClientID string `json:"client_id"`
	At       Time   `json:"reported_at"`
}

// reportsPage is how many reports a page holds.
const reportsPage = 50

// Reports lists what visitors reported (surface.md 4).
var Reports = op.Declare(op.Meta{
	ID: "steward.peer.reports", Method: "GET", Path: "/api/steward/moderation/peer/reports", Auth: op.Steward,
	Summary: "Read the reports of the peer exchange, newest first.", Faults: []string{"invalid_cursor"}, Contract: "surface.md 4, peer.md P-G20",
}, func(c *op.Call, in ReportsIn) (ReportsOut, error) {
	out := ReportsOut{Reports: []ReportRow{}}
	after := ""
	if in.After != "" && !c.ReadCursor("peer.reports", in.After, &after) {
		return out, invalidCursor.At("after")
	}
	var rows []table.Row
	for n := range reportShards {
		p, err := c.Query(table.Query{PK: shardOf("REPORTS", n), Reverse: true, After: after, Limit: reportsPage + 1}.Prefix("REPORT#"))
		if err != nil {
			return out, err
		}
		rows = append(rows, p.Rows...)
	}
	slices.SortFunc(rows, func(a, b table.Row) int { return strings.Compare(b.SK, a.SK) })
	for _, row := range rows[:min(len(rows), reportsPage)] {
		var r report
		if err := op.Decode(row.Data, &r); err != nil {
			return out, err
		}
		out.Reports = append(out.Reports, ReportRow{r.ID, r.Type, r.EntityID, r.TopicID, address(c, r.TopicID), r.Reason, r.Urgent, r.ClientID, Time(r.At)})
		after = row.SK
	}
	if len(rows) > reportsPage {
		next := c.Cursor("peer.reports", after)
		out.NextCursor = &next
	}
	return out, nil
})

// audited stages an audit row.
func audited(c *op.Call, action, subject, reason string) error {
	return audit.Write(c, "peer", c.Caller.Key(), action, subject, nil, map[string]string{"reason": reason})
}

func stewardMeta(verb, summary string, faults ...string) op.Meta {
	return op.Meta{ID: "steward.peer." + verb, Method: "POST", Path: "/api/steward/moderation/peer/" + verb, Auth: op.Steward,
		Idempotent: op.KeyRequired, Summary: summary, Faults: faults, Contract: "surface.md 4, peer.md P-G20"}
}

// RestrictIn names a visitor.
type RestrictIn struct {
	ClientID string `json:"account_id" rule:"required,min=1,max=64" doc:"The client id."`
	Reason   string `json:"reason" rule:"required,min=1,max=2000"`
}

// Rows implements op.Prefetcher.
func (in RestrictIn) Rows(string) []table.Key {
	return []table.Key{clientKey(in.ClientID), account.PeerToken.Row(in.ClientID, "")}
}

// ClientOut is a visitor after the change.
type ClientOut struct {
	ClientID  string `json:"account_id"`
	CreatedAt Time   `json:"created_at"`
	ExpiresAt *Time  `json:"expires_at"` // null before a credential was issued
	RevokedAt *Time  `json:"revoked_at"`
}

// Restrict ends a visitor's credential; what it published stays unless it is hidden.
var Restrict = op.Declare(stewardMeta("restrict", "End a visitor's credential.", "not found"),
	func(c *op.Call, in RestrictIn) (ClientOut, error) { return end(c, in, true) })

// Lift lets a visitor's credential count again, until it ends by itself.
var Lift = op.Declare(stewardMeta("lift", "Let a visitor's credential count again.", "not found"),
	func(c *op.Call, in RestrictIn) (ClientOut, error) { return end(c, in, false) })

func end(c *op.Call, in RestrictIn, ended bool) (ClientOut, error) {
	k, cred, err := loadClient(c, in.ClientID)
	switch {
	case err != nil:
		return ClientOut{}, err
	case k.ID == "":
		return ClientOut{}, fault.BareNotFound
	}
	key := account.PeerToken.Row(k.ID, "")
	if was := !cred.RevokedAt.IsZero(); was != ended {
		cred.RevokedAt = time.Time{}
		verb := "lift"
		if ended {
			cred.RevokedAt, verb = c.Now, "restrict"
		}
		c.Put(key, cred) // also where none was issued yet: none will be
		if err := audited(c, "peer."+verb, "client:"+k.ID, in.Reason); err != nil {
			return ClientOut{}, err
		}
	}
	return ClientOut{k.ID, Time(k.CreatedAt), timeOrNull(cred.ExpiresAt), timeOrNull(cred.RevokedAt)}, nil
}

func timeOrNull(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	s := Time(t)
	return &s
}

// HideIn names a topic or a reply.
type HideIn struct {
	Type   string `json:"entity_type" rule:"required,enum=topic|reply"`
	ID     ID     `json:"entity_id" rule:"required"`
	Reason string `json:"reason" rule:"required,min=1,max=2000"`
}

// Rows implements op.Prefetcher.
func (in HideIn) Rows(string) []table.Key {
	if in.Type == ofReply {
		return []table.Key{ownerKey(in.ID)}
	}
	return []table.Key{headKey(in.ID), topicKey(in.ID)}
}

// HideOut is what can be seen after the change.
type HideOut struct {
	Type    string `json:"entity_type"`
	ID      ID     `json:"entity_id"`
	TopicID ID     `json:"topic_id"`
	Hidden  bool   `json:"hidden"`
	Replies int    `json:"reply_count"`
}

// Hide takes a topic or a reply away from everybody: it looks as if it had never been.
var Hide = op.Declare(stewardMeta("hide", "Hide a topic or a reply.", "not found", "too_many_hidden"),
	func(c *op.Call, in HideIn) (HideOut, error) { return hide(c, in, true) })

// Unhide shows it again.
var Unhide = op.Declare(stewardMeta("unhide", "Show a hidden topic or reply again.", "not found"),
	func(c *op.Call, in HideIn) (HideOut, error) { return hide(c, in, false) })

func hide(c *op.Call, in HideIn, hidden bool) (HideOut, error) {
	t := in.ID
	if in.Type == ofReply {
		o, _, err := op.Load[owner](c, ownerKey(in.ID))
		if err != nil {
			return HideOut{}, err
		}
		t = o.TopicID
	}
	h, found, err := op.Load[head](c, headKey(t))
	if err != nil || !found {
		return HideOut{}, cmp.Or(err, error(fault.BareNotFound))
	}
	was := !h.HiddenAt.IsZero()
	if in.Type == ofReply {
		was = !h.shows(in.ID)
	}
	out := HideOut{in.Type, in.ID, h.ID, hidden, h.Replies}
	if was == hidden {
		return out, nil
	}
	if in.Type == ofReply {
		err = h.hideReply(c, in.ID, hidden)
	} else {
		err = h.hide(c, hidden)
	}
	if err != nil {
		return out, err
	}
	h.save(c)
	out.Replies = h.Replies
	verb := map[bool]string{true: "hide", false: "unhide"}[hidden]
	return out, audited(c, "peer."+verb, in.Type+":"+string(in.ID), in.Reason)
}
