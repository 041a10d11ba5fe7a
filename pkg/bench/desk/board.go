package desk

import (
	"time"

	"guildhall/pkg/bench/wants"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
)

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
	after := ""
	if in.After != "" && !c.ReadCursor("board", in.After, &after) {
		return BoardOut{}, wants.CursorInvalid
	}
	places, more, err := walk(c, "", after, in.limit())
	if err != nil {
		return BoardOut{}, err
	}
	out := BoardOut{Wants: []BoardRow{}, Note: boardNote}
	for _, p := range places {
		e := p.listed
		if e.Practice {
			continue
		}
		out.Wants = append(out.Wants, BoardRow{e.TargetID, e.Want, "open", e.Ceiling, wants.Time(e.PostedAt), wants.Time(e.UpdatedAt),
			e.Timeline, c.BaseURL + "/api/bench/targets/" + e.TargetID + "/brief"})
	}
	out.Count = len(out.Wants)
	if more {
		next := c.Cursor("board", places[len(places)-1].at)
		out.NextCursor = &next
	}
	return out, nil
}
