// Package desk has the reads that go over several nouns of the bench: briefs with the
// reader's own bid, the open list, the public board, the attention list, events.
//
// It owns no rows.
package desk

import (
	"slices"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// BriefIn names a target.
type BriefIn struct {
	TargetID string `path:"target_id"`
}

// Rows implements op.Prefetcher.
func (in BriefIn) Rows(account string) []table.Key {
	return []table.Key{wants.BriefKey(in.TargetID), bids.LiveKey(in.TargetID, account)}
}

// BriefOut is one brief.
type BriefOut struct {
	Brief wants.Brief `json:"brief"`
}

// Brief gives an agent what it may know of a target (bench.md 4.2).
var Brief = op.Declare(op.Meta{
	ID: "bench.target.brief", Method: "GET", Path: "/api/bench/targets/{target_id}/brief", Tool: "get_target_brief",
	Auth: op.Maker, Scope: "targets:read", Summary: "Read the brief of a target.",
	Faults: []string{"target not found or not open"}, Contract: "bench.md 4.2",
}, brief)

func brief(c *op.Call, in BriefIn) (BriefOut, error) {
	w, found, err := wants.LoadBrief(c, in.TargetID)
	if err != nil {
		return BriefOut{}, err
	}
	if !found {
		return BriefOut{}, wants.NotOpen
	}
	mine, err := ownBids(c, []wants.Want{w})
	if err != nil {
		return BriefOut{}, err
	}
	if !Visible(&w, mine[w.ID]) {
		return BriefOut{}, wants.NotOpen
	}
	shown, err := show(c, []wants.Want{w}, mine)
	if err != nil {
		return BriefOut{}, err
	}
	return BriefOut{shown[0]}, nil
}

// Visible tells whether an agent may read a target: it takes bids, or the agent holds a
// live bid or the running deal on it (bench.md 4.4).
func Visible(w *wants.Want, mine *bids.Bid) bool {
	if w.TakesBids() {
		return true
	}
	return w.Status == wants.Open && mine != nil && mine.LiveIn(w.Round)
}

// ownBids reads the caller's bids on targets in two batches, settled to now.
func ownBids(c *op.Call, list []wants.Want) (map[string]*bids.Bid, error) {
	keys := make([]table.Key, 0, len(list))
	for _, w := range list {
		keys = append(keys, bids.LiveKey(w.ID, c.Caller.ID))
	}
	if err := c.Fetch(keys...); err != nil {
		return nil, err
	}
	ids, next := map[string]string{}, []table.Key{}
	for _, w := range list {
		l, found, err := op.Load[bids.Live](c, bids.LiveKey(w.ID, c.Caller.ID))
		if err != nil {
			return nil, err
		}
		if found && l.Round == w.Round {
			ids[w.ID] = l.BidID
			next = append(next, bids.Key(l.BidID), bids.TalkKey(l.BidID))
		}
		next = append(next, account.PersonKey(w.PersonID))
	}
	if err := c.Fetch(next...); err != nil {
		return nil, err
	}
	out := map[string]*bids.Bid{}
	for target, id := range ids {
		b, found, err := bids.Load(c, id)
		if err != nil {
			return nil, err
		}
		if found {
			if _, err := b.Settled(c); err != nil {
				return nil, err
			}
			out[target] = &b
		}
	}
	return out, nil
}

func show(c *op.Call, list []wants.Want, mine map[string]*bids.Bid) ([]wants.Brief, error) {
	out := []wants.Brief{}
	for _, w := range list {
		p, _, err := op.Load[account.Person](c, account.PersonKey(w.PersonID))
		if err != nil {
			return nil, err
		}
		var yours any
		if b := mine[w.ID]; b != nil {
			y, err := b.Show(c)
			if err != nil {
				return nil, err
			}
			yours = y
		}
		out = append(out, w.Show(wants.FactsOf(p.Facts), c.Tips, yours))
	}
	return out, nil
}

// Pages of the open list and the board.
const (
	defaultOpen = 200 // targets of a page
	maxPage     = 2 << 20
)

// OpenIn pages through the open targets.
type OpenIn struct {
	After string `query:"after" doc:"The next_cursor of the page before."`
	Limit int    `query:"limit" rule:"min=1,max=200"`
}

// OpenOut is a page of briefs, newest first.
type OpenOut struct {
	Count      int           `json:"count"`
	Targets    []wants.Brief `json:"targets"`
	NextCursor *string       `json:"next_cursor"`
}

// OpenTargets lists every target that takes bids, newest first, each as a full brief
// (bench.md 4.4). Targets the caller holds a live bid on are in proposals/mine.
var OpenTargets = op.Declare(op.Meta{
	ID: "bench.target.open", Method: "GET", Path: "/api/bench/targets/open", Tool: "list_open_targets",
	Auth: op.Maker, Scope: "targets:read", Summary: "List the targets that take bids, newest first.",
	Faults: []string{"cursor_invalid"}, Contract: "bench.md 4.4",
}, openTargets)

// spot is a position in the merged open list.
type spot struct {
	At string `json:"at"` // the SK of the last row given
}

func openTargets(c *op.Call, in OpenIn) (OpenOut, error) {
	var after spot
	if in.After != "" && !c.ReadCursor("targets.open", in.After, &after) {
		return OpenOut{}, wants.CursorInvalid
	}
	n := in.Limit
	if n == 0 {
		n = defaultOpen
	}
	rows, more, err := merged(c, after.At, n)
	if err != nil {
		return OpenOut{}, err
	}
	list, err := briefsOf(c, rows)
	if err != nil {
		return OpenOut{}, err
	}
	mine, err := ownBids(c, list)
	if err != nil {
		return OpenOut{}, err
	}
	shown, err := show(c, list, mine)
	if err != nil {
		return OpenOut{}, err
	}
	out := OpenOut{Count: len(shown), Targets: shown}
	if more {
		next := c.Cursor("targets.open", spot{rows[len(rows)-1].SK})
		out.NextCursor = &next
	}
	return out, nil
}

// merged reads the shards of the open list and merges them newest first: everything
// committed before it began, no snapshot.
func merged(c *op.Call, after string, n int) (rows []table.Row, more bool, err error) {
	for shard := range wants.OpenShards {
		p, err := c.Query(table.Query{PK: wants.OpenPartition(shard), Reverse: true, After: after, Limit: n}.Prefix("WANT#"))
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, p.Rows...)
		more = more || p.More
	}
	slices.SortFunc(rows, func(a, b table.Row) int { return strings.Compare(b.SK, a.SK) })
	size := 0
	for i, r := range rows {
		if size += len(r.Data); i == n || size > maxPage {
			return rows[:i], true, nil
		}
	}
	return rows, more, nil
}

func briefsOf(c *op.Call, rows []table.Row) ([]wants.Want, error) {
	var keys []table.Key
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.SK[strings.LastIndexByte(r.SK, '#')+1:]
		keys = append(keys, wants.BriefKey(ids[i]), bids.LiveKey(ids[i], c.Caller.ID))
	}
	if err := c.Fetch(keys...); err != nil {
		return nil, err
	}
	var out []wants.Want
	for _, id := range ids {
		w, found, err := wants.LoadBrief(c, id)
		if err != nil {
			return nil, err
		}
		if found && w.TakesBids() {
			out = append(out, w)
		}
	}
	return out, nil
}

var boardLimit = limit.Rule{Name: "bench.board", N: 120, Per: time.Hour, By: limit.ByAddress, Exact: true}

// BoardRow is a want on the public board (bench.md 4.3).
type BoardRow struct {
	ID           string     `json:"id"`
	Want         string     `json:"want"`
	Status       string     `json:"status"`
	CeilingCents *int64     `json:"budget_ceiling_cents"`
	PostedAt     wants.Time `json:"posted_at"`
	UpdatedAt    wants.Time `json:"updated_at"`
	TimelineDays *int       `json:"timeline_days"`
	URL          string     `json:"url"`
}

// BoardOut is the public board.
type BoardOut struct {
	Count      int        `json:"count"`
	Wants      []BoardRow `json:"wants"`
	Note       string     `json:"note"`
	NextCursor *string    `json:"next_cursor"`
}

// Board lists the open wants to anybody, without a trace of who posted them and how many
// bids they have (bench.md 4.3). Practice targets are not on it.
var Board = op.Declare(op.Meta{
	ID: "bench.board.read", Method: "GET", Path: "/api/bench/board", Tool: "list_public_board",
	Auth: op.Public, Limit: &boardLimit, Summary: "Read the public board of open wants.", Faults: []string{"cursor_invalid", "rate_limited"},
	Contract: "bench.md 4.3",
}, board)

const boardNote = "Every want that takes bids right now. Register to read a want's full brief and to bid on it."

func board(c *op.Call, in OpenIn) (BoardOut, error) {
	var after spot
	if in.After != "" && !c.ReadCursor("board", in.After, &after) {
		return BoardOut{}, wants.CursorInvalid
	}
	n := in.Limit
	if n == 0 {
		n = defaultOpen
	}
	rows, more, err := merged(c, after.At, n)
	if err != nil {
		return BoardOut{}, err
	}
	out := BoardOut{Wants: []BoardRow{}, Note: boardNote}
	for _, r := range rows {
		e, err := wants.ReadEntry(r)
		if err != nil {
			return out, err
		}
		if e.Practice {
			continue
		}
		out.Wants = append(out.Wants, BoardRow{e.TargetID, e.Want, "open", e.Ceiling, wants.Time(e.PostedAt), wants.Time(e.UpdatedAt),
			e.Timeline, c.BaseURL + "/api/bench/targets/" + e.TargetID + "/brief"})
	}
	out.Count = len(out.Wants)
	if more {
		next := c.Cursor("board", spot{rows[len(rows)-1].SK})
		out.NextCursor = &next
	}
	return out, nil
}
