package deals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// Results of an answered review.
const (
	resultApproved = "approved"
	resultChanges  = "changes_requested"
	resultDeclined = "declined"
)

// Card is the person's word on one part of a delivery: an item or a block.
type Card struct {
	Card    string `json:"card" rule:"required,max=80" doc:"item:<receipt_id> or block:<n>"`
	Verdict string `json:"verdict" rule:"required,enum=approve|request_changes"`
	Comment string `json:"comment,omitempty" rule:"max=2000"`
}

// Bundle is an answered review as the agent reads it: all cards at once (bench.md 7.5).
type Bundle struct {
	StepID     string      `json:"step_id"`
	StepNumber int         `json:"step_number"`
	Round      int         `json:"round"`
	AnsweredAt record.Time `json:"answered_at"`
	Result     string      `json:"result"`
	Cards      []Card      `json:"cards"`
	Responses  []Response  `json:"responses"`
}

// ResponseIn is an answer to a block.
type ResponseIn struct {
	Block int             `json:"block_number" rule:"required,min=1,max=40"`
	Value json.RawMessage `json:"value" doc:"The value, in the form of the block's format: section 5 of /static/agent-bid-pack.md lists them, such as {choice} of a single_choice."`
}

// Refusals of an answer's parts.
var (
	VerdictMismatch = fault.New(fault.Invalid, "verdict_mismatch", "The step is approved while a part of it asks for changes. Decide for one of them.")
	CardUnknown     = fault.New(fault.Invalid, "card_unknown", "No item or block of this step has that name.").At("cards")
	CardTwice       = fault.New(fault.Invalid, "card_repeated", "Each card is answered once.").At("cards")
	CommentNeeded   = fault.New(fault.Invalid, "comment_required", "A card that asks for changes says what should change.").At("cards")
	BlockUnanswered = fault.New(fault.Invalid, "required_block_unanswered", "A required part of this step is not answered yet.").At("responses")
	ResponseInvalid = fault.New(fault.Invalid, "response_invalid", "An answer does not fit its block.").At("responses")
)

// review is the person's answer held against what the step shows.
type review struct {
	blocks []proposal.Block
	values map[int]json.RawMessage
	stood  map[int]bool // values that the verdict stood in for
	cards  []Card
	laid   []Laid // the files on the step
}

// newReview merges what was saved with what is sent. A verdict of an earlier round, an
// answer that no longer fits its block and a file that was deleted are not carried over.
func newReview(c *op.Call, v *view, sent []ResponseIn) (*review, error) {
	files, err := LoadFiles(c, v.d.ID)
	if err != nil {
		return nil, err
	}
	r := &review{blocks: v.shownBlocks(), values: map[int]json.RawMessage{}, stood: map[int]bool{}, laid: files.Of(v.s.Number)}
	for _, s := range v.saved.List {
		if s.Block < 1 || s.Block > len(r.blocks) {
			continue
		}
		b := r.blocks[s.Block-1]
		old := s.Submitted && proposal.Family(b.Format) == proposal.Approve || s.By != ""
		if !old && proposal.CheckResponse(b, s.Value) == nil {
			r.values[s.Block], _ = laidOnly(b, s.Value, r.laid)
		}
	}
	for _, s := range sent {
		if s.Block > len(r.blocks) {
			return nil, ResponseInvalid.With("block_number", s.Block).Say("This step has no such block.")
		}
		clean, err := proposal.CleanResponse(r.blocks[s.Block-1], s.Value)
		if err != nil {
			return nil, ResponseInvalid.With("block_number", s.Block).With("detail", err.Error())
		}
		kept, all := laidOnly(r.blocks[s.Block-1], clean, r.laid)
		if !all {
			return nil, ResponseInvalid.With("block_number", s.Block).Say("The answer names a file that does not lie on this step, or one twice.")
		}
		r.values[s.Block] = kept
	}
	return r, nil
}

// fileIDs are the files on the step.
func (r *review) fileIDs() []string {
	ids := make([]string, len(r.laid))
	for i, l := range r.laid {
		ids[i] = l.ID
	}
	return ids
}

// take adds the cards: each names an item or a block of the step. A card on a review block
// is that block's answer.
func (r *review) take(cards []Card, outcomes []Outcome) error {
	seen := map[string]bool{}
	for _, k := range cards {
		k.Comment = text.Normalize(k.Comment)
		n, known := r.block(k.Card)
		item := slices.ContainsFunc(outcomes, func(o Outcome) bool { return k.Card == "item:"+o.ID })
		switch {
		case !known && !item:
			return CardUnknown.With("card", k.Card)
		case seen[k.Card]:
			return CardTwice.With("card", k.Card)
		}
		seen[k.Card] = true
		r.cards = append(r.cards, k)
		if known && r.values[n] == nil && r.plain(n) {
			r.stand(n, map[string]any{"verdict": k.Verdict})
		}
	}
	return nil
}

func (r *review) block(card string) (n int, known bool) {
	rest, ok := strings.CutPrefix(card, "block:")
	if !ok {
		return 0, false
	}
	if _, err := fmt.Sscanf(rest, "%d", &n); err != nil || fmt.Sprint(n) != rest {
		return 0, false
	}
	return n, n >= 1 && n <= len(r.blocks)
}

// plain tells whether a block only asks for the verdict itself: a review without a
// document that must be read first.
func (r *review) plain(n int) bool {
	b := r.blocks[n-1]
	return b.Format == proposal.ReviewApprove && b.Config.Document == nil
}

// stand lets the verdict stand in for a block nobody answered by itself.
func (r *review) stand(n int, value any) {
	raw, err := json.Marshal(value)
	if err == nil {
		r.values[n], r.stood[n] = raw, true
	}
}

// complete fills in what a left-out card means: it takes the step's verdict.
func (r *review) complete() {
	for i, b := range r.blocks {
		n := i + 1
		if r.values[n] != nil {
			continue
		}
		if r.plain(n) {
			r.stand(n, map[string]any{"verdict": path.Approve})
		}
		if b.Format == proposal.GrantAccess {
			r.stand(n, map[string]any{"granted": true})
		}
	}
}

// check holds the values against the blocks; approve demands the required ones.
func (r *review) check(s *path.Step, planned *proposal.Step, approve bool) error {
	if planned == nil {
		return nil
	}
	step := *planned
	step.HARBlocks = r.blocks
	if err := proposal.CheckAnswers(step, r.values, false); err != nil {
		return ResponseInvalid.With("detail", err.Error())
	}
	if !approve {
		return nil
	}
	if s.SelfReport() { // acknowledged as it is
		return nil
	}
	for n, v := range r.values {
		b := r.blocks[n-1]
		if b.Format == proposal.GrantAccess && !proposal.Answered(b, v) {
			return VerdictMismatch.With("block_number", n)
		}
	}
	err := proposal.CheckAnswers(step, r.values, true)
	if e, ok := err.(*proposal.AnswerError); ok && e.Mismatch {
		return VerdictMismatch.With("block_number", e.Block)
	} else if ok {
		return BlockUnanswered.With("block_number", e.Block).With("detail", e.Error())
	}
	return err
}

// comments joins what the cards say should change, for the thread.
func (r *review) comments(reason string) string {
	lines := []string{}
	if reason != "" {
		lines = append(lines, reason)
	}
	for _, k := range r.cards {
		if k.Verdict == path.RequestChanges && k.Comment != "" {
			lines = append(lines, k.Comment)
		}
	}
	return strings.Join(lines, "\n")
}

// all lists every card of the step in order; one that was left out takes the verdict.
func (r *review) all(outcomes []Outcome, verdict string) []Card {
	if verdict == path.Decline {
		return append([]Card{}, r.cards...)
	}
	out := []Card{}
	add := func(name string) {
		i := slices.IndexFunc(r.cards, func(k Card) bool { return k.Card == name })
		if i >= 0 {
			out = append(out, r.cards[i])
			return
		}
		out = append(out, Card{Card: name, Verdict: verdict})
	}
	for _, o := range outcomes {
		add("item:" + o.ID)
	}
	for i := range r.blocks {
		add(fmt.Sprintf("block:%d", i+1))
	}
	return out
}
