package wants

import (
	"slices"
	"strconv"
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

// Rows implements op.Prefetcher.
func (in PostIn) Rows(person string) []table.Key {
	if !knownClass(in.FinishLine.Tile, in.Lane.Kind) {
		return nil
	}
	return []table.Key{OddsKey(in.FinishLine.Tile, in.Lane.Kind)}
}

// Validate implements op.Validator.
func (in PostIn) Validate() error {
	if err := checkText(in.Want); err != nil {
		return err
	}
	if err := checkFinish(in.FinishLine); err != nil {
		return err
	}
	if err := checkLane(in.Lane); err != nil {
		return err
	}
	return checkPlain(in.Location, in.StrategyNote, in.Baseline)
}

// Limits of a want's text, in characters.
const (
	MinWant = 10
	MaxWant = 500
)

func checkText(s string) error {
	s = text.Normalize(s)
	n := text.Len(s)
	switch {
	case n < MinWant:
		return invalid("want", "want_too_short", "Say what you want in at least 10 characters.")
	case n > MaxWant:
		return invalid("want", "want_too_long", "Say what you want in at most 500 characters.")
	case text.HasControl(s):
		return invalid("want", "want_has_control_characters", "Use plain text without control characters.")
	}
	return noSecret("want", s)
}

// noSecret keeps secrets out of what agents read as the want's text.
func noSecret(field, s string) error {
	if _, found := text.Secret(s); found {
		return invalid(field, "wants must not contain secrets", "Take the password, key or card number out: agents read this text.")
	}
	return nil
}

// checkFinish refuses a finish line that says nothing.
func checkFinish(f FinishLine) error {
	s := text.Normalize(f.Sentence)
	switch {
	case text.HasControl(s):
		return notPlain("finish_line.sentence")
	case f.Tile == "something_else" && s == "":
		return invalid("finish_line.sentence", "finish_line_sentence_required", "Say in a sentence what counts as done.")
	}
	return nil
}

// checkPlain refuses control characters in the other texts. Their lengths are the schema's.
func checkPlain(location, note string, baseline []Answer) error {
	if text.HasControl(text.Normalize(location)) {
		return notPlain("location")
	}
	if text.HasControl(text.Normalize(note)) {
		return notPlain("strategy_note")
	}
	for i, a := range baseline {
		if text.HasControl(text.Normalize(a.Question)) || text.HasControl(text.Normalize(a.Answer)) {
			return notPlain("baseline[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func notPlain(field string) error {
	return fault.InvalidField.At(field).Say(field + " must be plain text without control characters.")
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

// warnings names what in the posting says who the person is. Agents will read it; it is the
// person's to decide.
func (w *Want) warnings() []string {
	out := []string{}
	for _, s := range []string{w.Text, w.Finish.Sentence, w.Location, w.Strategic} {
		kind, found := text.PersonIdentity(s)
		if found && !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out
}

// PostOut answers a posting.
type PostOut struct {
	TargetID string   `json:"target_id"`
	Round    int      `json:"round"`
	Status   string   `json:"status"`
	Frozen   *float64 `json:"frozen_probability"`
	PostedAt Time     `json:"posted_at"`
	// Warnings names what agents will read of who the person is: "email address", …
	Warnings []string `json:"warnings"`
}

// postFaults are the refusals of a posting's values.
var postFaults = []string{"want_too_short", "want_too_long", "want_has_control_characters", "wants must not contain secrets",
	"finish_line_sentence_required", "lane_invalid"}

// Post posts a want (surface.md 3, bench.md 4.1).
var Post = op.Declare(op.Meta{
	ID: "person.want.post", Method: "POST", Path: "/api/person/wants", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &PersonWrites, Summary: "Post a want.", Faults: postFaults,
	Contract: "surface.md 3, bench.md 4.1",
}, post)

func post(c *op.Call, in PostIn) (PostOut, error) {
	p, _, err := op.Load[account.Person](c, account.PersonKey(c.Caller.ID))
	if err != nil {
		return PostOut{}, err
	}
	w := newWant(c, p, in)
	if w.Frozen, err = estimate(c, w.Finish.Tile, w.Lane.Kind); err != nil {
		return PostOut{}, err
	}
	if err := record.Ledger(c, record.TargetPosted, record.Refs{TargetID: w.ID}, nil); err != nil {
		return PostOut{}, err
	}
	if err := w.Save(c); err != nil {
		return PostOut{}, err
	}
	return PostOut{w.ID, w.Round, w.Status, w.Frozen, Time(w.PostedAt), w.warnings()}, nil
}

// newWant makes a want of what its person typed and stages its place in the person's list.
func newWant(c *op.Call, p account.Person, in PostIn) Want {
	w := Want{ID: c.NewID(), PersonID: p.ID, Status: Open, Round: 1, PostedAt: c.Now, UpdatedAt: c.Now, Publish: true, AutoRepost: true,
		kept: kept{fresh: true, Known: 1}}
	w.take(in)
	if p.House != nil {
		w.House = &House{p.House.House, p.House.Value, p.House.ValueDescription}
	}
	c.Create(OwnKey(p.ID, w.PostedAt, w.ID), ownEntry{w.ID, w.PostedAt})
	return w
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

// PersonWrites is the limit of a person's writes.
var PersonWrites = limit.Rule{Name: "person.write", N: 600, Per: time.Hour}
