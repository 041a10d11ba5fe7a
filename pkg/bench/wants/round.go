package wants

import (
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// MaxNotes bounds the notes added to one want.
const MaxNotes = 20

// NoteIn adds a note.
type NoteIn struct {
	OneIn
	Note string `json:"note" rule:"required,min=1,max=500"`
}

// Validate implements op.Validator.
func (in NoteIn) Validate() error {
	if text.HasControl(text.Normalize(in.Note)) {
		return notPlain("note")
	}
	return noSecret("note", in.Note)
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
	switch {
	case w.Status != Open:
		return Mine{}, NotLive
	case len(w.Notes) >= MaxNotes:
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

// StillRunning is the refusal to repost a want with a live deal.
var StillRunning = fault.New(fault.Conflict, "still_running", "A deal on this want is still running. End it, or let it finish, and repost then.")

// RepostIn opens another round, perhaps with another text or lane.
type RepostIn struct {
	OneIn
	Want *string `json:"want,omitempty"`
	Lane *Lane   `json:"lane,omitempty"`
}

// Validate implements op.Validator.
func (in RepostIn) Validate() error { return EditIn{Want: in.Want, Lane: in.Lane}.Validate() }

// Repost opens the next round of a want without a live deal, and freezes the estimate anew
// (bench.md 4.5). Bids that were still on the table are put aside.
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
	if w.DealID != "" {
		return Mine{}, StillRunning
	}
	w.apply(EditIn{Want: in.Want, Lane: in.Lane})
	if err := w.refreeze(c); err != nil {
		return Mine{}, err
	}
	if err := w.NextRound(c, c.Now, ByPerson); err != nil {
		return Mine{}, err
	}
	if err := w.Save(c); err != nil {
		return Mine{}, err
	}
	return w.mine(c)
}

// Who opens a round.
const (
	ByItself = "auto"   // after an ending of the agent's: that agent is told by its deal
	ByPerson = "person" // at any other time
)

// NextRound opens the next round: every bid of the one before is put aside, and everybody
// may bid again (bench.md 4.5). cause is ByItself or ByPerson. The caller saves the want.
func (w *Want) NextRound(c *op.Call, at time.Time, cause string) error {
	w.Status, w.Round, w.RepostedAt, w.UpdatedAt, w.EndedAt = Open, w.Round+1, &at, at, nil
	w.Finalists, w.BidID, w.DealID, w.Signed, w.cause = [Slots]string{}, "", "", false, cause
	if w.Practice {
		return nil
	}
	return record.Ledger(c, record.TargetReposted, record.Refs{TargetID: w.ID, At: at}, map[string]any{"cause": cause, "round": w.Round})
}
