package wants

import (
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

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
func (in EditIn) Rows(string) []table.Key { return OneIn{in.TargetID}.Rows("") }

// Validate implements op.Validator.
func (in EditIn) Validate() error {
	if in.Want != nil {
		if err := checkText(*in.Want); err != nil {
			return err
		}
	}
	if in.FinishLine != nil {
		if err := checkFinish(*in.FinishLine); err != nil {
			return err
		}
	}
	if in.Lane != nil {
		if err := checkLane(*in.Lane); err != nil {
			return err
		}
	}
	var baseline []Answer
	set(&baseline, in.Baseline)
	return checkPlain(given(in.Location), given(in.StrategyNote), baseline)
}

func given(s *string) string {
	if s == nil {
		return ""
	}
	return *s
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
	Faults:   append([]string{"has_bids", "not_open"}, postFaults...),
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
		tile, kind := w.Finish.Tile, w.Lane.Kind
		w.apply(in)
		if tile != w.Finish.Tile || kind != w.Lane.Kind { // another want, as far as the odds know
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
