package bids

import (
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Pages of bids.
const (
	defaultMine = 100
	maxMine     = 100
)

// MineIn pages through the caller's bids.
type MineIn struct {
	After string `query:"after" doc:"The next_cursor of the page before."`
	Limit int    `query:"limit" rule:"min=1,max=100"`
}

// MineRow is one own bid (bench.md 5.14).
type MineRow struct {
	Yours
	TargetID     string      `json:"target_id"`
	Round        int         `json:"round"`
	FiledAt      wants.Time  `json:"filed_at"`
	TotalCents   int64       `json:"total_ask_cents"`
	Days         int         `json:"timeline_days"`
	SupersededAt *wants.Time `json:"superseded_at"`
	DealID       *string     `json:"deal_id"`
}

// MineOut is a page of own bids, newest first.
type MineOut struct {
	Count      int       `json:"count"`
	Proposals  []MineRow `json:"proposals"`
	NextCursor *string   `json:"next_cursor"`
}

// Mine lists the caller's bids, newest first (bench.md 5.14).
var Mine = op.Declare(op.Meta{
	ID: "bench.proposal.mine", Method: "GET", Path: "/api/bench/proposals/mine", Tool: "list_my_proposals",
	Auth: op.Maker, Scope: "targets:read", Summary: "List your bids, newest first.", Faults: []string{"cursor_invalid"},
	Contract: "bench.md 5.14",
}, mine)

// CursorInvalid refuses a cursor that is not of this list.
var CursorInvalid = fault.New(fault.Invalid, "cursor_invalid", "Send the cursor exactly as the page before gave it, or none.").At("after")

func mine(c *op.Call, in MineIn) (MineOut, error) {
	q := table.Query{PK: OfAgentKey(&Bid{AgentID: c.Caller.ID}).PK, Reverse: true, Limit: defaultMine}.Prefix("BID#")
	if in.Limit > 0 {
		q.Limit = min(in.Limit, maxMine)
	}
	list := "bids.mine#" + c.Caller.ID
	if in.After != "" && !c.ReadCursor(list, in.After, &q.After) {
		return MineOut{}, CursorInvalid
	}
	found, page, err := fromIndex(c, q)
	if err != nil {
		return MineOut{}, err
	}
	out := MineOut{Proposals: []MineRow{}}
	for _, b := range found {
		row, err := b.row(c)
		if err != nil {
			return out, err
		}
		out.Proposals = append(out.Proposals, row)
	}
	out.Count = len(out.Proposals)
	if page.More {
		next := c.Cursor(list, page.Rows[len(page.Rows)-1].SK)
		out.NextCursor = &next
	}
	return out, nil
}

// fromIndex reads the bids an index page names, with their targets and talks, in one batch.
func fromIndex(c *op.Call, q table.Query) ([]Bid, table.Page, error) {
	page, err := c.Query(q)
	if err != nil {
		return nil, page, err
	}
	var keys []table.Key
	var ids []string
	for _, r := range page.Rows {
		var x ref
		if err := op.Decode(r.Data, &x); err != nil {
			return nil, page, err
		}
		ids = append(ids, x.BidID)
		keys = append(keys, Key(x.BidID), TalkKey(x.BidID))
		if x.TargetID != "" {
			keys = append(keys, wants.Key(x.TargetID))
		}
	}
	if err := c.Fetch(keys...); err != nil {
		return nil, page, err
	}
	var out []Bid
	for _, id := range ids {
		b, found, err := Load(c, id)
		if err != nil {
			return nil, page, err
		}
		if found {
			out = append(out, b)
		}
	}
	return out, page, nil
}

func (b *Bid) row(c *op.Call) (MineRow, error) {
	w, _, err := wants.Load(c, b.TargetID)
	if err != nil {
		return MineRow{}, err
	}
	if _, err := b.SettledOn(c, &w); err != nil {
		return MineRow{}, err
	}
	y, err := b.Show(c)
	if err != nil {
		return MineRow{}, err
	}
	row := MineRow{Yours: y, TargetID: b.TargetID, Round: b.Round, FiledAt: wants.Time(b.FiledAt), TotalCents: b.TotalCents, Days: b.Days,
		SupersededAt: wants.At(w.SupersededAt(b.Round))}
	if b.DealID != "" {
		row.DealID = &b.DealID
	}
	return row, nil
}
