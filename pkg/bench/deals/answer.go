package deals

import (
	"slices"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Limits of an answer.
const (
	MaxReason = 500 // characters
	MaxCards  = 100
)

// AnswerIn is the person's one motion on an open ask (surface.md 3).
type AnswerIn struct {
	OfStep
	Verdict   string       `json:"verdict" rule:"required,enum=approve|request_changes|decline"`
	Cards     []Card       `json:"cards,omitempty" rule:"max=100"`
	Responses []ResponseIn `json:"responses,omitempty" rule:"max=40"`
	Reason    string       `json:"reason,omitempty" rule:"max=500"`
	Score     *int         `json:"score,omitempty" doc:"1 to 10, with the approval of the finish line."`
	Channels  []string     `json:"channels,omitempty" rule:"max=2" doc:"Of a timed delivery: where each day is announced, email and text; your feed always has it."`
}

// Rows implements op.Prefetcher.
func (in AnswerIn) Rows(string) []table.Key {
	return in.with("", PlanKey, answersKey, access.Key, FilesKey)
}

// Validate implements op.Validator.
func (in AnswerIn) Validate() error {
	if in.Score != nil && (*in.Score < 1 || *in.Score > path.MaxScore) {
		return path.ScoreOutside
	}
	changes := false
	for _, k := range in.Cards {
		if k.Verdict != path.RequestChanges {
			continue
		}
		if text.Normalize(k.Comment) == "" {
			return CommentNeeded.With("card", k.Card)
		}
		changes = true
	}
	switch {
	case changes && in.Verdict == path.Approve:
		return VerdictMismatch
	case in.Verdict == path.RequestChanges && !changes && text.Normalize(in.Reason) == "":
		return path.ReasonNeeded
	}
	return CheckChannels(in.Channels)
}

// PhoneNeeded refuses texts to a person without a number.
var PhoneNeeded = fault.New(fault.Invalid, "phone_required", "Add your phone number to your profile first.").At("channels").FixedBy("PATCH /api/person/me")

// CheckChannels refuses what is no list of channels.
func CheckChannels(channels []string) error {
	for i, ch := range channels {
		if !slices.Contains(drip.Channels, ch) || slices.Contains(channels[:i], ch) {
			return fault.InvalidField.At("channels").Say("channels are email and text, each at most once.")
		}
	}
	return nil
}

// Reachable refuses the channel of texts to a person without a number.
func Reachable(c *op.Call, person string, channels []string) error {
	p, _, err := op.Load[account.Person](c, account.PersonKey(person))
	if err == nil && slices.Contains(channels, drip.Text) && p.Phone == "" {
		err = PhoneNeeded
	}
	return err
}

// AnswerOut answers the motion: what it did to the step and the deal.
type AnswerOut struct {
	StepState     string  `json:"step_state"`
	ReleasedCents int64   `json:"released_cents"`
	DealStatus    string  `json:"deal_status"`
	EndCause      *string `json:"end_cause"`
}

// AnswerStep takes the person's answer: the approval is the release (bench.md 7.5).
var AnswerStep = op.Declare(op.Meta{
	ID: "person.step.answer", Method: "POST", Path: "/api/person/deals/{deal_id}/steps/{step_id}/answer",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Answer an open step: approve and release, ask for changes, or decline.",
	Faults: []string{"step_not_waiting", "verdict_not_offered", "rounds_used_up", "reason_required", "comment_required", "score_required", "score_invalid",
		"verdict_mismatch", "phone_required", "card_unknown", "card_repeated", "required_block_unanswered", "response_invalid"},
	Contract: "surface.md 3, bench.md 7.5",
}, answerStep)

func answerStep(c *op.Call, in AnswerIn) (AnswerOut, error) {
	d, err := Seen(c, in.DealID)
	if err != nil {
		return AnswerOut{}, err
	}
	s, err := stepOf(d, in.StepID, true)
	if err != nil {
		return AnswerOut{}, err
	}
	a := path.Answer{Verdict: in.Verdict, Grant: s.Ask == proposal.Grant}
	if in.Score != nil {
		a.Score = *in.Score
	}
	if err := d.CanAnswer(s, a); err != nil {
		return AnswerOut{}, err
	}
	if s.Schedule != "" && in.Verdict == path.Approve {
		if err := Reachable(c, d.PersonID, in.Channels); err != nil {
			return AnswerOut{}, err
		}
	}
	v, err := readView(c, d, s)
	if err != nil {
		return AnswerOut{}, err
	}
	r, err := newReview(c, v, in.Responses)
	if err != nil {
		return AnswerOut{}, err
	}
	if a.Verdict == path.Approve {
		a.Files = len(r.laid)
	}
	if err := r.take(in.Cards, v.outcomes); err != nil {
		return AnswerOut{}, err
	}
	if in.Verdict == path.Approve {
		r.complete()
	}
	if err := r.check(s, v.planned(), in.Verdict == path.Approve); err != nil {
		return AnswerOut{}, err
	}
	return in.settle(c, v, r, a)
}

// settle writes the answer.
func (in *AnswerIn) settle(c *op.Call, v *view, r *review, a path.Answer) (AnswerOut, error) {
	d, s := v.d, v.s
	before, round := d.Money.Released, s.Round+1
	bundle := in.record(c, v, r, round)
	words := r.comments(text.Normalize(in.Reason))
	note := a.Verdict == path.Approve && words != ""
	if note {
		if err := d.Write(c.Now, s); err != nil {
			return AnswerOut{}, err
		}
	}
	if err := d.Answer(c.Now, s, a); err != nil {
		return AnswerOut{}, err
	}
	data := map[record.Word]map[string]any{record.AskAnswered: {"answers_bundle": bundle}}
	if note || a.Verdict == path.RequestChanges {
		m := Message{ID: c.NewID(), Who: path.WhoPerson, Body: words, At: c.Now}
		putMessage(c, d, s, m)
		data[path.MessagePosted] = map[string]any{"message_id": m.ID, "body": m.Body}
	}
	if s.State == path.Approved && a.Grant {
		g, err := access.Load(c, d.ID)
		if err != nil {
			return AnswerOut{}, err
		}
		grant := c.NewID()
		mint(&g, d, s, v.planned().GrantRequest, grant)
		g.Save(c, d.ID)
		data[record.GrantMinted] = map[string]any{"grant_id": grant}
	}
	if TakesFiles(s, v.planned()) {
		c.Check(FilesKey(d.ID)) // what lies on the step is what the answer handed over
	}
	if a.Files > 0 {
		data[record.MaterialsReleased] = map[string]any{"file_ids": r.fileIDs()}
	}
	out := AnswerOut{StepState: s.State, ReleasedCents: d.Money.Released - before, DealStatus: d.Status, EndCause: Given(d.EndCause)}
	return out, (&change{c: c, d: d, data: data, channels: in.Channels}).commit()
}

// record keeps the submitted answers and the bundle.
func (in *AnswerIn) record(c *op.Call, v *view, r *review, round int) Bundle {
	result := map[string]string{path.Approve: resultApproved, path.RequestChanges: resultChanges, path.Decline: resultDeclined}[in.Verdict]
	b := Bundle{StepID: v.s.ID, StepNumber: v.s.Number, Round: round, AnsweredAt: record.Time(c.Now), Result: result,
		Cards: r.all(v.outcomes, in.Verdict), Responses: []Response{}}
	v.saved.List = nil
	for n := 1; n <= len(r.blocks); n++ {
		value, ok := r.values[n]
		if !ok {
			continue
		}
		one := saved{Block: n, Value: value, SavedAt: c.Now, Submitted: true}
		if r.stood[n] {
			one.By = in.Verdict
		}
		v.saved.List = append(v.saved.List, one)
	}
	b.Responses = v.answers(true)
	if len(v.saved.List) > 0 {
		v.putAnswers(c)
	}
	c.Put(answersKey(v.d.ID), b)
	return b
}

// DraftIn saves answers without submitting them.
type DraftIn struct {
	OfStep
	Responses []ResponseIn `json:"responses" rule:"required,max=40"`
}

// Rows implements op.Prefetcher.
func (in DraftIn) Rows(string) []table.Key { return in.with("", PlanKey, access.Key, FilesKey) }

// DraftOut lists what is saved.
type DraftOut struct {
	Responses []Response `json:"responses"`
}

// SaveDraft saves answers to blocks as drafts: no event, no clock (bench.md 5.7).
var SaveDraft = op.Declare(op.Meta{
	ID: "person.step.save-draft", Method: "PUT", Path: "/api/person/deals/{deal_id}/steps/{step_id}/responses",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Save answers without submitting them.",
	Faults: []string{"step_not_waiting", "response_invalid"}, Contract: "surface.md 3, bench.md 5.7",
}, saveDraft)

func saveDraft(c *op.Call, in DraftIn) (DraftOut, error) {
	d, err := Own(c, in.DealID)
	if err != nil {
		return DraftOut{}, err
	}
	s, err := stepOf(d, in.StepID, true)
	if err != nil {
		return DraftOut{}, err
	}
	if d.Open() != s || s.State != path.Waiting {
		return DraftOut{}, path.NotWaiting
	}
	v, err := readView(c, d, s)
	if err != nil {
		return DraftOut{}, err
	}
	clean, err := newReview(c, v, in.Responses)
	if err != nil {
		return DraftOut{}, err
	}
	for _, r := range in.Responses {
		value := clean.values[r.Block]
		v.saved.List = slices.DeleteFunc(v.saved.List, func(s saved) bool { return s.Block == r.Block })
		v.saved.List = append(v.saved.List, saved{Block: r.Block, Value: value, SavedAt: c.Now})
	}
	slices.SortFunc(v.saved.List, func(a, b saved) int { return a.Block - b.Block })
	v.putAnswers(c)
	c.Check(Key(d.ID)) // an answer that comes first makes this draft worthless
	return DraftOut{v.answers(true)}, nil
}

// EndIn ends a deal.
type EndIn struct {
	OfDeal
	Reason string `json:"reason" rule:"required,min=1,max=500"`
}

// EndOut answers an ending by the person.
type EndOut struct {
	DealStatus    string `json:"deal_status"`
	EndCause      string `json:"end_cause"`
	ReleasedCents int64  `json:"released_cents"`
	ReturnedCents int64  `json:"returned_cents"`
	HeldCents     int64  `json:"held_cents"`
}

// EndDeal is the person's way out of a deal at any time (bench.md 7.5, surface.md 3).
var EndDeal = op.Declare(op.Meta{
	ID: "person.deal.end", Method: "POST", Path: "/api/person/deals/{deal_id}/end",
	Destructive: true, Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "End a deal; what is still held comes back.",
	Faults: []string{"deal is not active", "countersign_pending"}, Contract: "surface.md 3, bench.md 7.5",
}, endDeal)

func endDeal(c *op.Call, in EndIn) (EndOut, error) {
	d, err := Seen(c, in.DealID)
	if err != nil {
		return EndOut{}, err
	}
	if err := d.EndByPerson(c.Now); err != nil {
		return EndOut{}, err
	}
	out := EndOut{d.Status, d.EndCause, d.Money.Released, d.Money.Returned, d.Money.Held}
	words := map[string]any{"reason": text.Normalize(in.Reason)}
	return out, Commit(c, d, map[record.Word]map[string]any{record.DealDeclined: words, record.DealPickLapsed: words})
}
