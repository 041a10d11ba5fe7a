package wants

import (
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// OneIn names a want.
type OneIn struct {
	TargetID string `path:"target_id"`
}

// Rows implements op.Prefetcher.
func (in OneIn) Rows(string) []table.Key {
	return []table.Key{Key(in.TargetID), BriefKey(in.TargetID), CountKey(in.TargetID), BudgetKey(in.TargetID)}
}

// Mine is a want as its person sees it.
type Mine struct {
	TargetID      string       `json:"target_id"`
	Want          string       `json:"want"`
	Notes         []NoteShown  `json:"notes"`
	FinishLine    FinishLine   `json:"finish_line"`
	Lane          Lane         `json:"lane"`
	TimelineDays  *int         `json:"timeline_days"`
	TipInvited    bool         `json:"tip_invited"`
	Baseline      []Answer     `json:"baseline"`
	Location      string       `json:"location"`
	Strategy      *Sliders     `json:"strategy"`
	StrategyNote  string       `json:"strategy_note"`
	Attachments   []Attachment `json:"attachments"`
	Publish       bool         `json:"publish_answers"`
	AutoRepost    bool         `json:"auto_repost"`
	Practice      bool         `json:"practice"`
	Frozen        *float64     `json:"frozen_probability"`
	State         string       `json:"state"` // open finalists choosing active done ended closed
	Round         int          `json:"round"`
	PostedAt      Time         `json:"posted_at"`
	RepostedAt    *Time        `json:"reposted_at"`
	UpdatedAt     Time         `json:"updated_at"`
	EndedAt       *Time        `json:"ended_at"`
	BidCount      int64        `json:"bid_count"` // of this round
	FinalistCount int          `json:"finalist_count"`
	DealID        *string      `json:"deal_id"`
	DealIDs       []string     `json:"deal_ids"`
	Editable      bool         `json:"editable"`
	UsedBytes     int64        `json:"target_usage_bytes"`
	BudgetBytes   int64        `json:"target_budget_bytes"`
	Prior         []PriorShown `json:"prior_attempts"`
	Past          []PastShown  `json:"past_attempts"`
}

// NoteShown is a note on the wire.
type NoteShown struct {
	At   Time   `json:"at"`
	Text string `json:"text"`
}

// State is the want's state in its person's words.
func (w *Want) State() string {
	switch {
	case w.Status == Resolved:
		return "done"
	case w.Status != Open:
		return w.Status
	case w.DealID != "":
		return "active"
	case w.free() == 0:
		return "choosing"
	case w.free() < Slots:
		return "finalists"
	}
	return "open"
}

func (w *Want) mine(c *op.Call) (Mine, error) {
	count, err := c.Get(CountKey(w.ID))
	if err != nil {
		return Mine{}, err
	}
	used, err := UsedBytes(c, w.ID)
	if err != nil {
		return Mine{}, err
	}
	m := Mine{TargetID: w.ID, Want: w.Text, Notes: []NoteShown{}, FinishLine: w.Finish, Lane: Lane{w.Lane.Kind, w.Ceiling()}, TimelineDays: w.Timeline,
		TipInvited: w.TipInvited, Baseline: list(w.Baseline), Location: w.Location, Strategy: w.Strategy, StrategyNote: w.Strategic,
		Attachments: list(w.Files), Publish: w.Publish, AutoRepost: w.AutoRepost, Practice: w.Practice, Frozen: w.Frozen, State: w.State(),
		Round: w.Round, PostedAt: Time(w.PostedAt), RepostedAt: At(w.RepostedAt), UpdatedAt: Time(w.UpdatedAt), EndedAt: At(w.EndedAt),
		BidCount: count.Counters[RoundField(w.Round)], FinalistCount: Slots - w.free(), DealIDs: list(w.DealIDs),
		Editable: w.Status == Open && !w.HasBids, UsedBytes: used, BudgetBytes: MaxFileBytes,
		Prior: w.priorShown(c.Tips), Past: w.pastShown()}
	for _, n := range w.Notes {
		m.Notes = append(m.Notes, NoteShown{Time(n.At), n.Text})
	}
	if w.DealID != "" {
		m.DealID = &w.DealID
	}
	return m, nil
}

// list is a list that prints as [] when there is nothing in it.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// Read shows a want to its person.
var Read = op.Declare(op.Meta{
	ID: "person.want.read", Method: "GET", Path: "/api/person/wants/{target_id}",
	Auth: op.Person, Summary: "Read one of your wants.", Contract: "surface.md 3",
}, func(c *op.Call, in OneIn) (Mine, error) {
	w, err := Own(c, c.Caller.ID, in.TargetID)
	if err != nil {
		return Mine{}, err
	}
	return w.mine(c)
})

// ListIn pages through a person's wants.
type ListIn struct {
	After string `query:"after"`
	Limit int    `query:"limit" rule:"min=1,max=100"`
}

// ListOut is a page of wants, newest first.
type ListOut struct {
	Wants      []Mine  `json:"wants"`
	NextCursor *string `json:"next_cursor"`
}

const defaultList = 50

// CursorInvalid refuses a cursor that is not of this list.
var CursorInvalid = fault.New(fault.Invalid, "cursor_invalid", "Send the cursor exactly as the page before gave it, or none.").At("after")

// List lists a person's wants, newest first.
var List = op.Declare(op.Meta{
	ID: "person.want.list", Method: "GET", Path: "/api/person/wants",
	Auth: op.Person, Summary: "List your wants, newest first.", Faults: []string{"cursor_invalid"}, Contract: "surface.md 3",
}, listWants)

func listWants(c *op.Call, in ListIn) (ListOut, error) {
	q := table.Query{PK: OwnKey(c.Caller.ID, c.Now, "").PK, Reverse: true, Limit: defaultList}.Prefix("WANT#")
	if in.Limit > 0 {
		q.Limit = in.Limit
	}
	name := "wants#" + c.Caller.ID
	if in.After != "" && !c.ReadCursor(name, in.After, &q.After) {
		return ListOut{}, CursorInvalid
	}
	page, err := c.Query(q)
	if err != nil {
		return ListOut{}, err
	}
	var keys []table.Key
	entries := make([]ownEntry, len(page.Rows))
	for i, r := range page.Rows {
		if err := op.Decode(r.Data, &entries[i]); err != nil {
			return ListOut{}, err
		}
		keys = append(keys, Key(entries[i].TargetID), CountKey(entries[i].TargetID), BudgetKey(entries[i].TargetID))
	}
	if err := c.Fetch(keys...); err != nil {
		return ListOut{}, err
	}
	out := ListOut{Wants: []Mine{}}
	for _, e := range entries {
		w, found, err := Load(c, e.TargetID)
		if err != nil {
			return out, err
		}
		if !found {
			continue
		}
		m, err := w.mine(c)
		if err != nil {
			return out, err
		}
		out.Wants = append(out.Wants, m)
	}
	if page.More {
		next := c.Cursor(name, page.Rows[len(page.Rows)-1].SK)
		out.NextCursor = &next
	}
	return out, nil
}
