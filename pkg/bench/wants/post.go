package wants

import (
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Limits of a posting (bench.md 4.1).
const (
	MaxCeilingCents = 50_000_00 // cents: whole dollars, 1 to 50,000
	MaxTimelineDays = 365       // days
)

// PostIn is a want as its person posts it (surface.md 3).
type PostIn struct {
	Want         string     `json:"want" rule:"required" doc:"What you want, 10 to 500 characters."`
	FinishLine   FinishLine `json:"finish_line" rule:"required"`
	Lane         Lane       `json:"lane" rule:"required"`
	TimelineDays *int       `json:"timeline_days,omitempty" rule:"min=1,max=365" doc:"Null means as soon as possible."`
	TipInvited   bool       `json:"tip_invited,omitempty"`
	Baseline     []Answer   `json:"baseline,omitempty" rule:"max=5"`
	Location     string     `json:"location,omitempty" rule:"max=120"`
	Strategy     *Sliders   `json:"strategy,omitempty"`
	StrategyNote string     `json:"strategy_note,omitempty" rule:"max=500"`
	Publish      *bool      `json:"publish_answers,omitempty"`
	AutoRepost   *bool      `json:"auto_repost,omitempty"`
}

// Validate implements op.Validator.
func (in PostIn) Validate() error {
	if err := checkText(in.Want); err != nil {
		return err
	}
	return checkLane(in.Lane)
}

func checkText(s string) error {
	s = text.Normalize(s)
	n := text.Len(s)
	switch {
	case n < 10:
		return invalid("want", "want_too_short", "Say what you want in at least 10 characters.")
	case n > 500:
		return invalid("want", "want_too_long", "Say what you want in at most 500 characters.")
	case text.HasControl(s):
		return invalid("want", "want_has_control_characters", "Use plain text without control characters.")
	}
	if _, found := text.Secret(s); found {
		return invalid("want", "wants must not contain secrets", "Take the password, key or card number out: agents read this text.")
	}
	return nil
}

func checkLane(l Lane) error {
	c := l.CeilingCents
	switch l.Kind {
	case "free":
		if c != nil && *c != 0 {
			return invalid("lane.ceiling_cents", "lane_invalid", "A free want has no money in it: leave the ceiling out.")
		}
	case "paid":
		if c == nil || *c < 100 || *c > MaxCeilingCents || *c%100 != 0 {
			return invalid("lane.ceiling_cents", "lane_invalid", "Name a ceiling in whole dollars, from $1 to $50,000.")
		}
	case "open":
		if c != nil {
			return invalid("lane.ceiling_cents", "lane_invalid", "An open want has no ceiling: leave it out.")
		}
	}
	return nil
}

func invalid(field, code, message string) error {
	return fault.New(fault.Invalid, code, message).At(field)
}

// PostOut answers a posting.
type PostOut struct {
	TargetID string   `json:"target_id"`
	Round    int      `json:"round"`
	Status   string   `json:"status"`
	Frozen   *float64 `json:"frozen_probability"`
	PostedAt Time     `json:"posted_at"`
}

// Post posts a want (surface.md 3, bench.md 4.1).
var Post = op.Declare(op.Meta{
	ID: "person.want.post", Method: "POST", Path: "/api/person/wants", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Summary: "Post a want.",
	Faults:   []string{"want_too_short", "want_too_long", "want_has_control_characters", "wants must not contain secrets", "lane_invalid"},
	Contract: "surface.md 3, bench.md 4.1",
}, post)

func post(c *op.Call, in PostIn) (PostOut, error) {
	p, _, err := op.Load[account.Person](c, account.PersonKey(c.Caller.ID))
	if err != nil {
		return PostOut{}, err
	}
	w := Want{ID: c.NewID(), PersonID: p.ID, Status: Open, Round: 1, PostedAt: c.Now, UpdatedAt: c.Now, Publish: true, AutoRepost: true}
	w.take(in)
	if p.House != nil {
		w.House = &House{p.House.House, p.House.Value, p.House.ValueDescription}
	}
	if w.Frozen, err = estimate(c, w.Finish.Tile, w.Lane.Kind); err != nil {
		return PostOut{}, err
	}
	c.Create(OwnKey(p.ID, w.PostedAt, w.ID), ownEntry{w.ID, w.PostedAt})
	if err := record.Ledger(c, record.TargetPosted, record.Refs{TargetID: w.ID}, nil); err != nil {
		return PostOut{}, err
	}
	if err := w.Save(c); err != nil {
		return PostOut{}, err
	}
	return PostOut{w.ID, w.Round, w.Status, w.Frozen, Time(w.PostedAt)}, nil
}

// take copies what the person typed.
func (w *Want) take(in PostIn) {
	w.Text, w.Finish, w.Lane = text.Normalize(in.Want), in.FinishLine, in.Lane
	w.Finish.Sentence = text.Normalize(w.Finish.Sentence)
	w.Timeline, w.TipInvited, w.Location = in.TimelineDays, in.TipInvited, text.Normalize(in.Location)
	w.Strategic, w.Strategy = text.Normalize(in.StrategyNote), in.Strategy
	if w.Strategy == nil {
		w.Strategy = &Sliders{50, 50, 50}
	}
	w.Baseline = nil
	for _, a := range in.Baseline {
		a.Question, a.Answer = text.Normalize(a.Question), text.Normalize(a.Answer)
		if a.Answer == "" {
			a.Answer = "Skipped"
		}
		w.Baseline = append(w.Baseline, a)
	}
	if in.Publish != nil {
		w.Publish = *in.Publish
	}
	if in.AutoRepost != nil {
		w.AutoRepost = *in.AutoRepost
	}
}

// ownEntry is a row of a person's list.
type ownEntry struct {
	TargetID string    `json:"target_id"`
	PostedAt time.Time `json:"posted_at"`
}

// oddsClass is the steward's reference-class estimate that a posting freezes:
//
//	bench.ODDS / CLASS#<tile>#<lane>      the estimate of a finish-line tile and a lane
type oddsClass struct {
	Probability *float64 `json:"probability"`
}

// OddsKey is the row of a reference class.
func OddsKey(tile, lane string) table.Key {
	return table.Key{PK: "bench.ODDS", SK: "CLASS#" + tile + "#" + lane}
}

// estimate is the platform's estimate for a posting, nil when there is none.
func estimate(c *op.Call, tile, lane string) (*float64, error) {
	o, _, err := op.Load[oddsClass](c, OddsKey(tile, lane))
	return o.Probability, err
}

// PersonWrites is the limit of a person's writes.
var PersonWrites = limit.Rule{Name: "person.write", N: 600, Per: time.Hour}

// MaxRejected bounds how many rejections a brief carries, newest first.
const MaxRejected = 50
