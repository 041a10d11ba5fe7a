package deals

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// maxStepRows bounds the rows of a step that one answer reads: its answers, its outcomes
// and the newest entries of its thread.
const maxStepRows = 250

// view is a deal as one answer shows it: the step in hand with what is stored about it.
type view struct {
	d    *path.Deal
	s    *path.Step // nil when nobody holds a ball
	plan Plan

	grants   access.Grants
	messages []Message // newest of the thread, oldest first
	outcomes []Outcome // oldest first
	saved    answers
	answered bool // the step has a row of answers
	line     oddsLine
}

// answers is the stored RESP row of a step.
type answers struct {
	List []saved `json:"list"`
}

type saved struct {
	Block     int             `json:"block"`
	Value     json.RawMessage `json:"value"`
	SavedAt   time.Time       `json:"saved_at"`
	Submitted bool            `json:"submitted"`
	By        string          `json:"by,omitempty"` // the verdict that stood in for an own answer
}

// readView reads a step with one query: the thread's entries sort before the rest, so that
// the newest come along with everything else.
func readView(c *op.Call, d *path.Deal, s *path.Step) (*view, error) {
	v := &view{d: d, s: s}
	var err error
	if v.plan, err = LoadPlan(c, d.ID); err != nil {
		return nil, err
	}
	if v.grants, err = access.Load(c, d.ID); err != nil || s == nil {
		return v, err
	}
	p, err := c.Query(table.Query{PK: Key(d.ID).PK, Reverse: true, Limit: maxStepRows}.Prefix(stepPrefix(s.Number)))
	if err != nil {
		return nil, err
	}
	for _, r := range p.Rows {
		if err := v.take(r, strings.TrimPrefix(r.SK, stepPrefix(s.Number))); err != nil {
			return nil, err
		}
	}
	slices.Reverse(v.messages)
	slices.Reverse(v.outcomes)
	return v, nil
}

func (v *view) take(r table.Row, sk string) error {
	switch {
	case strings.HasPrefix(sk, "MSG#"):
		v.messages = append(v.messages, Message{})
		return op.Decode(r.Data, &v.messages[len(v.messages)-1])
	case strings.HasPrefix(sk, "OUT#"):
		v.outcomes = append(v.outcomes, Outcome{})
		return op.Decode(r.Data, &v.outcomes[len(v.outcomes)-1])
	case sk == "RESP":
		v.answered = true
		return op.Decode(r.Data, &v.saved)
	case sk == "ODDS":
		return op.Decode(r.Data, &v.line)
	}
	return nil
}

// putAnswers stages the step's answers: the query told whether the row is there.
func (v *view) putAnswers(c *op.Call) {
	if v.answered {
		c.Put(respKey(v.d.ID, v.s.Number), v.saved)
		return
	}
	c.Create(respKey(v.d.ID, v.s.Number), v.saved)
}

// add shows an entry this call writes.
func (v *view) add(m Message) { v.messages = append(v.messages, m) }

func (v *view) thread() ThreadView {
	t := ThreadView{Messages: []MessageView{}, Elsewhere: elsewhere(v.d, v.s)}
	if v.s == nil {
		return t
	}
	for _, m := range v.messages[max(0, len(v.messages)-MaxShown):] {
		t.Messages = append(t.Messages, m.view())
	}
	read, post := threadPath(v.d, v.s), "POST "+threadPath(v.d, v.s)
	t.Count, t.Unread, t.PersonAt, t.ReadMore, t.PostReply = v.s.Messages, v.s.Unread, record.At(v.s.PersonAt), &read, &post
	return t
}

func (v *view) pulses() []PulseView {
	out := []PulseView{}
	for i := range v.messages {
		if v.messages[i].Pulse != nil {
			out = append(out, pulseView(&v.messages[i], v.s))
		}
	}
	return out
}

// planned is the plan's step, nil for the platform's own.
func (v *view) planned() *proposal.Step {
	if v.s == nil {
		return nil
	}
	return v.plan.Of(v.s)
}

// BlockView is an action block as it is shown, with its number.
type BlockView struct {
	Number int            `json:"block_number"`
	Block  proposal.Block `json:"-"`
}

// MarshalJSON prints the block's own members beside its number.
func (b BlockView) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(b.Block)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(map[string]int{"block_number": b.Number})
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), raw[1:]...), nil
}

// JSONSchema says that a block is an open object.
func (BlockView) JSONSchema() op.Schema { return op.Schema{Type: "object", Open: true} }

// shownBlocks are the step's blocks as the person meets them: the latest outcome may have
// brought other tiles to choose from (bench.md 13.4).
func (v *view) shownBlocks() []proposal.Block {
	p := v.planned()
	if p == nil {
		return nil
	}
	tiles := v.tiles()
	if tiles == nil {
		return p.HARBlocks
	}
	out := slices.Clone(p.HARBlocks)
	for i, b := range out {
		if proposal.Family(b.Format) == proposal.Choose {
			out[i] = b.WithOptions(tiles)
		}
	}
	return out
}

// tiles are the options of the latest hand-over, nil when it brought none.
func (v *view) tiles() []proposal.Option {
	for i := len(v.outcomes) - 1; i >= 0; i-- {
		if !v.outcomes[i].Held {
			return v.outcomes[i].Options
		}
	}
	return nil
}

func (v *view) blocks() []BlockView {
	out := []BlockView{}
	for i, b := range v.shownBlocks() {
		out = append(out, BlockView{i + 1, b})
	}
	return out
}

// Response is a stored answer to a block.
type Response struct {
	Number    int             `json:"block_number"`
	BlockID   string          `json:"block_id"`
	Value     json.RawMessage `json:"value"`
	SavedAt   record.Time     `json:"saved_at"`
	Submitted bool            `json:"is_submitted"`
}

// responses are what the agent may see: submitted answers, and drafts that carry no
// verdict and name no file (bench.md 7.5, 13.8, 27 C75).
func (v *view) responses() []Response { return v.answers(false) }

func (v *view) answers(verdicts bool) []Response {
	out := []Response{}
	blocks := v.shownBlocks()
	for _, r := range v.saved.List {
		if r.Block < 1 || r.Block > len(blocks) {
			continue
		}
		b := blocks[r.Block-1]
		if !r.Submitted && !verdicts && (b.Format == proposal.ReviewApprove || proposal.TakesFiles(b.Format)) {
			continue
		}
		out = append(out, Response{r.Block, b.ID, r.Value, record.Time(r.SavedAt), r.Submitted})
	}
	return out
}

// oddsLog is a step's whole line: the number at the bid first, then every restatement.
func oddsLog(s *path.Step, planAt time.Time, line oddsLine) []OddsEntry {
	out := []OddsEntry{}
	if s.AtBid != nil {
		out = append(out, OddsEntry{*s.AtBid, record.Time(planAt), s.BidWhy})
	}
	for _, e := range line.Entries {
		out = append(out, OddsEntry{e.Odds, record.Time(e.At), e.Reason})
	}
	return out
}
