package desk

import (
	"slices"
	"strings"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Pages of the open list and the board.
const (
	defaultOpen = 200 // targets of a page
	maxOpen     = 200
	maxPage     = 2 << 20 // bytes of rows, after which a page ends
)

// OpenIn pages through the open targets.
type OpenIn struct {
	After string `query:"after" doc:"The next_cursor of the page before."`
	Limit int    `query:"limit" rule:"min=1,max=200" doc:"200 when left out."`
}

func (in OpenIn) limit() int {
	if in.Limit == 0 {
		return defaultOpen
	}
	return min(in.Limit, maxOpen)
}

// OpenOut is a page of briefs, newest first.
type OpenOut struct {
	Count      int           `json:"count"`
	Targets    []wants.Brief `json:"targets"`
	NextCursor *string       `json:"next_cursor"`
	NextCall   string        `json:"next_call"`
}

// OpenTargets lists every target that takes bids, and those the caller holds a live bid on,
// newest first, each as a full brief (bench.md 4.4).
var OpenTargets = op.Declare(op.Meta{
	ID: "bench.target.open", Method: "GET", Path: "/api/bench/targets/open", Tool: "list_open_targets",
	Auth: op.Maker, Scope: "targets:read", Summary: "List the targets that take bids, and those you hold a live bid on, newest first.",
	Faults: []string{"cursor_invalid"}, Contract: "bench.md 4.4",
}, openTargets)

func openTargets(c *op.Call, in OpenIn) (OpenOut, error) {
	after := ""
	if in.After != "" && !c.ReadCursor("targets.open", in.After, &after) {
		return OpenOut{}, wants.CursorInvalid
	}
	places, more, err := walk(c, c.Caller.ID, after, in.limit())
	if err != nil {
		return OpenOut{}, err
	}
	if err := c.Fetch(placeRows(places)...); err != nil {
		return OpenOut{}, err
	}
	out := OpenOut{Targets: []wants.Brief{}, NextCall: "GET /api/bench/targets/{target_id}/brief"}
	size := 0
	for i, p := range places {
		b, bytes, err := p.brief(c)
		if err != nil {
			return OpenOut{}, err
		}
		if b == nil {
			continue
		}
		out.Targets = append(out.Targets, *b)
		if size += bytes; size > maxPage && i < len(places)-1 {
			places, more = places[:i+1], true
			break
		}
	}
	out.Count = len(out.Targets)
	if more {
		next := c.Cursor("targets.open", places[len(places)-1].at)
		out.NextCursor = &next
	}
	return out, nil
}

// place is a target's place in the open list as one agent sees it: listed for everybody,
// or held by the agent's bid, or both.
type place struct {
	at       string // time and target id: the order of the list
	targetID string
	listed   *wants.Entry
	live     *bids.Live
}

func placeRows(places []place) (keys []table.Key) {
	for _, p := range places {
		keys = append(keys, wants.BriefKey(p.targetID))
		if p.listed != nil {
			keys = append(keys, account.PersonKey(p.listed.PersonID))
		}
		if p.live != nil {
			keys = append(keys, bids.Key(p.live.BidID), bids.TalkKey(p.live.BidID))
		}
	}
	return keys
}

// brief makes the place's brief, nil when the caller may not read the target (any more),
// and the bytes it was made from.
func (p *place) brief(c *op.Call) (*wants.Brief, int, error) {
	row, err := c.Get(wants.BriefKey(p.targetID))
	if err != nil || !row.Found() {
		return nil, 0, err
	}
	w, _, err := wants.LoadBrief(c, p.targetID)
	if err != nil {
		return nil, 0, err
	}
	var mine *bids.Bid
	if p.live != nil && p.live.Round == w.Round {
		b, found, err := bids.Load(c, p.live.BidID)
		if err != nil {
			return nil, 0, err
		}
		if found {
			if _, err := b.SettledOn(c, &w); err != nil {
				return nil, 0, err
			}
			mine = &b
		}
	}
	if !w.TakesBids() && (w.Status != wants.Open || mine == nil || !mine.LiveIn(w.Round)) {
		return nil, 0, nil
	}
	b, err := show(c, &w, mine)
	return &b, len(row.Data), err
}

// lane is one of the partitions a walk merges, read a piece at a time.
type lane struct {
	query table.Query
	rows  []table.Row
	more  bool
	read  bool
}

// first makes the lane's next row available; ok is false at its end.
func (l *lane) first(c *op.Call) (at string, ok bool, err error) {
	if len(l.rows) == 0 && (!l.read || l.more) {
		p, err := c.Query(l.query)
		if err != nil {
			return "", false, err
		}
		l.rows, l.more, l.read = p.Rows, p.More, true
		if n := len(p.Rows); n > 0 {
			l.query.After = p.Rows[n-1].SK
		}
	}
	if len(l.rows) == 0 {
		return "", false, nil
	}
	_, at, _ = strings.Cut(l.rows[0].SK, "#")
	return at, true, nil
}

// walk merges the shards of the open list and, for an agent, the targets it has bid on,
// newest first: at most n places behind a place. Everything committed before it began is
// in it; it is no snapshot. The first page costs the same calls however long the list is.
func walk(c *op.Call, agent, after string, n int) (places []place, more bool, err error) {
	piece := n
	if n > 8 {
		piece = n/wants.OpenShards + n/(2*wants.OpenShards) + 8 // a shard's share and half as much again
	}
	var lanes []*lane
	for shard := range wants.OpenShards {
		lanes = append(lanes, &lane{query: table.Query{PK: wants.OpenPartition(shard), Reverse: true, Limit: piece}.Prefix("WANT#")})
	}
	if agent != "" {
		lanes = append(lanes, &lane{query: table.Query{PK: registry.AgentKey(agent).PK, Reverse: true, Limit: n}.Prefix("ON#")})
	}
	for i, l := range lanes {
		if after != "" {
			l.query.After = "WANT#" + after
			if i == wants.OpenShards {
				l.query.After = "ON#" + after
			}
		}
	}
	for len(places) < n {
		p, ok, err := nextPlace(c, lanes)
		if err != nil || !ok {
			return places, false, err
		}
		places = append(places, p)
	}
	for _, l := range lanes {
		more = more || len(l.rows) > 0 || l.more
	}
	return places, more, nil
}

// nextPlace takes the newest place off the lanes.
func nextPlace(c *op.Call, lanes []*lane) (p place, ok bool, err error) {
	heads := make([]string, len(lanes))
	for i, l := range lanes {
		at, some, err := l.first(c)
		if err != nil {
			return p, false, err
		}
		if some {
			heads[i] = at
		}
	}
	p.at = slices.Max(heads)
	if p.at == "" {
		return p, false, nil
	}
	p.targetID = p.at[strings.LastIndexByte(p.at, '#')+1:]
	for i, l := range lanes {
		if heads[i] != p.at {
			continue
		}
		row := l.rows[0]
		l.rows = l.rows[1:]
		if strings.HasPrefix(row.SK, "ON#") {
			p.live = &bids.Live{}
			err = op.Decode(row.Data, p.live)
		} else {
			var e wants.Entry
			e, err = wants.ReadEntry(row)
			p.listed = &e
		}
		if err != nil {
			return p, false, err
		}
	}
	return p, true, nil
}

// maxCounted bounds how many of the agent's bids a count looks at, newest first.
const maxCounted = 200

// standing are the targets that the agent's bids stand on.
func standing(c *op.Call, agent string) ([]place, error) {
	p, err := c.Query(table.Query{PK: registry.AgentKey(agent).PK, Reverse: true, Limit: maxCounted}.Prefix("ON#"))
	if err != nil {
		return nil, err
	}
	places := make([]place, len(p.Rows))
	for i, r := range p.Rows {
		places[i] = place{targetID: r.SK[strings.LastIndexByte(r.SK, '#')+1:], live: &bids.Live{}}
		if err := op.Decode(r.Data, places[i].live); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// openCount is the number of targets that take bids and hold no live bid of the caller:
// what counters say of the whole list, less those the caller's bids stand on.
func openCount(c *op.Call, places []place) (int, error) {
	n, err := wants.CountOpen(c)
	if err != nil {
		return 0, err
	}
	for _, p := range places {
		w, found, err := wants.LoadBrief(c, p.targetID)
		if err != nil {
			return 0, err
		}
		if !found || !w.TakesBids() || p.live.Round != w.Round {
			continue
		}
		b, found, err := bids.Load(c, p.live.BidID)
		if err != nil {
			return 0, err
		}
		if _, err := b.SettledOn(c, &w); err != nil {
			return 0, err
		}
		if found && b.LiveIn(w.Round) {
			n--
		}
	}
	return max(n, 0), nil
}
