package wants

import (
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// maxNotes bounds the notes added to one want.
const maxNotes = 20

// OneIn names a want.
type OneIn struct {
	TargetID string `path:"target_id"`
}

// Rows implements op.Prefetcher.
func (in OneIn) Rows(string) []table.Key {
	return []table.Key{Key(in.TargetID), BriefKey(in.TargetID), CountKey(in.TargetID)}
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
	BidCount      int64        `json:"bid_count"` // of this round
	FinalistCount int          `json:"finalist_count"`
	DealID        *string      `json:"deal_id"`
	DealIDs       []string     `json:"deal_ids"`
	Editable      bool         `json:"editable"`
}

// NoteShown is a note on the wire.
type NoteShown struct {
	At   Time   `json:"at"`
	Text string `json:"text"`
}

// State is the want's state in its person's words.
func (w *Want) State() string {
	finalists := 0
	for _, f := range w.Finalists {
		if f != "" {
			finalists++
		}
	}
	switch {
	case w.Status == Resolved:
		return "done"
	case w.Status != Open:
		return w.Status
	case w.DealID != "":
		return "active"
	case finalists == Slots:
		return "choosing"
	case finalists > 0:
		return "finalists"
	}
	return "open"
}

func (w *Want) mine(c *op.Call) (Mine, error) {
	count, err := c.Get(CountKey(w.ID))
	if err != nil {
		return Mine{}, err
	}
	m := Mine{TargetID: w.ID, Want: w.Text, Notes: []NoteShown{}, FinishLine: w.Finish, Lane: Lane{w.Lane.Kind, w.Ceiling()}, TimelineDays: w.Timeline,
		TipInvited: w.TipInvited, Baseline: w.Baseline, Location: w.Location, Strategy: w.Strategy, StrategyNote: w.Strategic,
		Attachments: w.Files, Publish: w.Publish, AutoRepost: w.AutoRepost, Practice: w.Practice, Frozen: w.Frozen, State: w.State(),
		Round: w.Round, PostedAt: Time(w.PostedAt), RepostedAt: At(w.RepostedAt), BidCount: count.Counters[RoundField(w.Round)],
		DealIDs: w.DealIDs, Editable: w.Status == Open && !w.HasBids}
	for _, n := range w.Notes {
		m.Notes = append(m.Notes, NoteShown{Time(n.At), n.Text})
	}
	for _, f := range w.Finalists {
		if f != "" {
			m.FinalistCount++
		}
	}
	if w.DealID != "" {
		m.DealID = &w.DealID
	}
	if m.Baseline == nil {
		m.Baseline = []Answer{}
	}
	if m.Attachments == nil {
		m.Attachments = []Attachment{}
	}
	if m.DealIDs == nil {
		m.DealIDs = []string{}
	}
	return m, nil
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
}, list)

func list(c *op.Call, in ListIn) (ListOut, error) {
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
		keys = append(keys, Key(entries[i].TargetID), CountKey(entries[i].TargetID))
	}
	if err := c.Fetch(keys...); err != nil {
		return ListOut{}, err
	}
	out := ListOut{Wants: []Mine{}}
	for _, e := range entries {
		w, found, err := Load(c, e.TargetID)
		if err != nil || !found {
			return out, err
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

// EditIn changes what is sent. Two switches may change at any time, everything else only
// while no bid exists.
type EditIn struct {
	TargetID     string            `path:"target_id"`
	Want         *string           `json:"want,omitempty"`
	FinishLine   *FinishLine       `json:"finish_line,omitempty"`
	Lane         *Lane             `json:"lane,omitempty"`
	TimelineDays op.Field[Days]    `json:"timeline_days,omitzero"`
	TipInvited   *bool             `json:"tip_invited,omitempty"`
	Baseline     *[]Answer         `json:"baseline,omitempty" rule:"max=5"`
	Location     *string           `json:"location,omitempty" rule:"max=120"`
	Strategy     op.Field[Sliders] `json:"strategy,omitzero"`
	StrategyNote *string           `json:"strategy_note,omitempty" rule:"max=500"`
	Publish      *bool             `json:"publish_answers,omitempty"`
	AutoRepost   *bool             `json:"auto_repost,omitempty"`
}

// Days is a number of days, 1 to 365.
type Days int

// JSONSchema implements op.Schemer.
func (Days) JSONSchema() op.Schema {
	least, most := 1.0, float64(MaxTimelineDays)
	return op.Schema{Type: "integer", Min: &least, Max: &most}
}

// Rows implements op.Prefetcher.
func (in EditIn) Rows(string) []table.Key {
	return []table.Key{Key(in.TargetID), BriefKey(in.TargetID)}
}

// Validate implements op.Validator.
func (in EditIn) Validate() error {
	if in.Want != nil {
		if err := checkText(*in.Want); err != nil {
			return err
		}
	}
	if in.Lane != nil {
		return checkLane(*in.Lane)
	}
	return nil
}

// posting tells whether a field of the posting itself is changed.
func (in EditIn) posting() bool {
	return in.Want != nil || in.FinishLine != nil || in.Lane != nil || in.TimelineDays.Sent || in.TipInvited != nil ||
		in.Baseline != nil || in.Location != nil || in.Strategy.Sent || in.StrategyNote != nil
}

// Edit changes a want (surface.md 3).
var Edit = op.Declare(op.Meta{
	ID: "person.want.edit", Method: "PATCH", Path: "/api/person/wants/{target_id}",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &PersonWrites, Summary: "Change a want that has no bid yet, or its two switches.",
	Faults:   []string{"has_bids", "not_open", "want_too_short", "want_too_long", "want_has_control_characters", "wants must not contain secrets", "lane_invalid"},
	Contract: "surface.md 3",
}, edit)

// NotLive is the refusal to change a want that is over.
var NotLive = fault.New(fault.Conflict, "not_open", "This want is not open any more.")

func edit(c *op.Call, in EditIn) (Mine, error) {
	w, err := Own(c, c.Caller.ID, in.TargetID)
	if err != nil {
		return Mine{}, err
	}
	if in.posting() {
		switch {
		case w.Status != Open:
			return Mine{}, NotLive
		case w.HasBids:
			return Mine{}, HasBids
		}
		w.apply(in)
		if in.FinishLine != nil || in.Lane != nil {
			if w.Frozen, err = estimate(c, w.Finish.Tile, w.Lane.Kind); err != nil {
				return Mine{}, err
			}
		}
		w.UpdatedAt = c.Now
	}
	if in.Publish != nil {
		w.Publish = *in.Publish
	}
	if in.AutoRepost != nil {
		w.AutoRepost = *in.AutoRepost
	}
	if err := w.Save(c); err != nil {
		return Mine{}, err
	}
	return w.mine(c)
}

func (w *Want) apply(in EditIn) {
	p := PostIn{Want: w.Text, FinishLine: w.Finish, Lane: w.Lane, TimelineDays: w.Timeline, TipInvited: w.TipInvited, Baseline: w.Baseline,
		Location: w.Location, Strategy: w.Strategy, StrategyNote: w.Strategic}
	set(&p.Want, in.Want)
	set(&p.FinishLine, in.FinishLine)
	set(&p.Lane, in.Lane)
	set(&p.TipInvited, in.TipInvited)
	set(&p.Baseline, in.Baseline)
	set(&p.Location, in.Location)
	set(&p.StrategyNote, in.StrategyNote)
	if in.TimelineDays.Sent {
		p.TimelineDays = (*int)(in.TimelineDays.Value)
	}
	if in.Strategy.Sent {
		p.Strategy = in.Strategy.Value
	}
	w.take(p)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// NoteIn adds a note.
type NoteIn struct {
	OneIn
	Note string `json:"note" rule:"required,min=1,max=500"`
}

// AddNote adds a dated note to a want; agents read it below the text (bench.md 4.1).
var AddNote = op.Declare(op.Meta{
	ID: "person.want.note", Method: "POST", Path: "/api/person/wants/{target_id}/notes",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &PersonWrites, Summary: "Add a note to a want.",
	Faults: []string{"not_open", "too_many_notes", "wants must not contain secrets"}, Contract: "bench.md 4.1, surface.md 3",
}, addNote)

func addNote(c *op.Call, in NoteIn) (Mine, error) {
	w, err := Own(c, c.Caller.ID, in.TargetID)
	if err != nil {
		return Mine{}, err
	}
	if _, secret := text.Secret(in.Note); secret {
		return Mine{}, invalid("note", "wants must not contain secrets", "Take the password, key or card number out: agents read this text.")
	}
	switch {
	case w.Status != Open:
		return Mine{}, NotLive
	case len(w.Notes) >= maxNotes:
		return Mine{}, fault.New(fault.Conflict, "too_many_notes", "A want takes 20 notes.")
	}
	w.Notes = append(w.Notes, Note{c.Now, text.Normalize(in.Note)})
	w.UpdatedAt = c.Now
	if err := w.Save(c); err != nil {
		return Mine{}, err
	}
	return w.mine(c)
}

// Close takes an open want down before a bid is accepted; its bids count as expired
// (bench.md 4.1).
var Close = op.Declare(op.Meta{
	ID: "person.want.close", Method: "POST", Path: "/api/person/wants/{target_id}/close",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &PersonWrites, Summary: "Take a want down.",
	Faults: []string{"not_open", "already_accepted"}, Contract: "bench.md 4.1, surface.md 3",
}, closeWant)

func closeWant(c *op.Call, in OneIn) (Mine, error) {
	w, err := Own(c, c.Caller.ID, in.TargetID)
	if err != nil {
		return Mine{}, err
	}
	switch {
	case w.Status != Open:
		return Mine{}, NotLive
	case w.BidID != "" || w.DealID != "":
		return Mine{}, fault.New(fault.Conflict, "already_accepted", "You have accepted a bid. End the deal instead.")
	}
	w.Status, w.UpdatedAt, w.EndedAt = Closed, c.Now, &c.Now
	w.Finalists = [Slots]string{}
	if !w.Practice {
		if err := record.Ledger(c, record.TargetClosed, record.Refs{TargetID: w.ID}, nil); err != nil {
			return Mine{}, err
		}
	}
	if err := w.Save(c); err != nil {
		return Mine{}, err
	}
	return w.mine(c)
}

// RepostIn opens another round, perhaps with another text or lane.
type RepostIn struct {
	OneIn
	Want *string `json:"want,omitempty"`
	Lane *Lane   `json:"lane,omitempty"`
}

// Validate implements op.Validator.
func (in RepostIn) Validate() error { return EditIn{Want: in.Want, Lane: in.Lane}.Validate() }

// Repost opens the next round of a want whose attempt is over (bench.md 4.5).
var Repost = op.Declare(op.Meta{
	ID: "person.want.repost", Method: "POST", Path: "/api/person/wants/{target_id}/repost",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &PersonWrites, Summary: "Open another round of a want.",
	Faults:   []string{"still_running", "want_too_short", "want_too_long", "want_has_control_characters", "wants must not contain secrets", "lane_invalid"},
	Contract: "bench.md 4.5, surface.md 3",
}, repost)

func repost(c *op.Call, in RepostIn) (Mine, error) {
	w, err := Own(c, c.Caller.ID, in.TargetID)
	if err != nil {
		return Mine{}, err
	}
	if w.DealID != "" || w.BidID != "" || w.Status == Resolved || w.Status == Open {
		return Mine{}, fault.New(fault.Conflict, "still_running", "This want is still open, has a running deal, or is done.")
	}
	w.apply(EditIn{Want: in.Want, Lane: in.Lane})
	if w.Frozen, err = estimate(c, w.Finish.Tile, w.Lane.Kind); err != nil {
		return Mine{}, err
	}
	if err := w.NextRound(c, c.Now, "person"); err != nil {
		return Mine{}, err
	}
	if err := w.Save(c); err != nil {
		return Mine{}, err
	}
	return w.mine(c)
}

// NextRound opens the next round: every bid of the one before is put aside, and everybody
// may bid again (bench.md 4.5). cause is auto or person. The caller saves the want.
func (w *Want) NextRound(c *op.Call, at time.Time, cause string) error {
	w.Status, w.Round, w.RepostedAt, w.UpdatedAt, w.EndedAt = Open, w.Round+1, &at, at, nil
	w.Finalists, w.BidID, w.DealID, w.Signed = [Slots]string{}, "", "", false
	if w.Practice {
		return nil
	}
	return record.Ledger(c, record.TargetReposted, record.Refs{TargetID: w.ID, At: at}, map[string]any{"cause": cause, "round": w.Round})
}
