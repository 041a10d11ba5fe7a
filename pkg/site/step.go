package site

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/edge/page"
)

// step is a step with everything its person needs to answer it (person.step.read).
type step struct {
	DealStatus string     `json:"deal_status"`
	Step       dealStep   `json:"step"`
	Promise    string     `json:"outcome_promise"`
	Minor      *string    `json:"minor_detail"`
	Choose     *choosing  `json:"choose"`
	Provide    *providing `json:"provide"`
	Grant      *granting  `json:"grant_request"`
	Cards      []card     `json:"cards"`
	Blocks     []block    `json:"har_blocks"`
	Saved      []response `json:"har_responses"`
	Pulses     []pulse    `json:"pulses"`
	Thread     []message  `json:"messages"`
	LapseAt    *time.Time `json:"lapse_at"`
	AtStake    int64      `json:"dollars_at_stake_cents"`
	Note       *string    `json:"note"`
	Controls   []string   `json:"controls"`
	Scored     bool       `json:"score_needed"`
	Files      []stepFile `json:"files"`
	Notice     *string    `json:"upload_notice"` // to be read before the first file; nil where none is taken
}

type choosing struct {
	Prompt string `json:"prompt"`
	Mode   string `json:"selection_mode"`
	Most   int    `json:"max_selections"`
}

type providing struct {
	Intro string `json:"intro"`
	What  string `json:"what"`
	Why   string `json:"why"`
	Items []struct {
		Label string `json:"label"`
		Why   string `json:"why"`
	} `json:"items"`
}

type granting struct {
	What     string `json:"what"`
	Why      string `json:"why"`
	Scope    string `json:"scope"`
	Until    string `json:"until"`
	Exposure string `json:"exposure"`
}

type pulse struct {
	ID       string    `json:"pulse_id"`
	Changed  string    `json:"changed"`
	Now      string    `json:"now"`
	Next     string    `json:"next"`
	Progress int       `json:"progress_percent"`
	Blocker  *string   `json:"blocker"`
	At       time.Time `json:"at"`
}

type message struct {
	ID       string    `json:"id"`
	Who      string    `json:"who"`
	Body     string    `json:"body"`
	PostedAt time.Time `json:"posted_at"`
}

// From says who wrote it.
func (m message) From(agent string) string {
	switch m.Who {
	case "person":
		return "You"
	case "agent":
		return agent
	}
	return "Guildhall"
}

type response struct {
	Number    int             `json:"block_number"`
	Value     json.RawMessage `json:"value"`
	Submitted bool            `json:"is_submitted"`
}

// stepView is the page of a step.
type stepView struct {
	Deal    deal
	Step    step
	Blocks  []blockView
	Scores  []int
	Newest  []card    // of the last hand-over, and what was added since
	Earlier []card    // of those before
	Whole   bool      // the last one replaces them
	Daily   *schedule // a timed delivery that waits for the answer
}

// May tells whether the person can give a verdict now.
func (s stepView) May(verdict string) bool { return slices.Contains(s.Step.Controls, verdict) }

// Changeable are the parts of the delivery that can be asked to be changed one by one.
func (s stepView) Changeable() (out []card) {
	for _, c := range s.Step.Cards {
		if c.Outcome != nil && !slices.ContainsFunc(s.Earlier, func(e card) bool { return s.Whole && e.Card == c.Card }) {
			out = append(out, c)
		}
	}
	return out
}

// FinishCents is what the finish line adds to an answer that approves it too.
func (s stepView) FinishCents() int64 { return s.Step.AtStake - s.Step.Step.Cents }

// Button is what the approving button says: the dollars that move with it.
func (s stepView) Button() string {
	word := "Approve"
	switch {
	case s.Step.Step.SelfReport:
		word = "Acknowledge"
	case s.Step.Step.Ask == "CHOOSE":
		word = "Choose"
	case s.Step.Step.Ask == "PROVIDE":
		word = "Hand over"
	case s.Step.Step.Ask == "GRANT":
		word = "Give access"
	}
	if s.Step.AtStake > 0 {
		return word + " and release " + dollars(s.Step.AtStake)
	}
	return word
}

func onStep(v *page.Visit) map[string]string {
	return map[string]string{"deal_id": v.Path["id"], "step_id": v.Path["step"]}
}

func readStep(v *page.Visit) (s step, err error) {
	err = v.Do("person.step.read", page.Call{Path: onStep(v), Into: &s})
	return s, err
}

// talk are the messages of the thread that people and agents wrote: updates have a place
// of their own.
func (s *step) talk() []message {
	return slices.DeleteFunc(slices.Clone(s.Thread), func(m message) bool {
		return slices.ContainsFunc(s.Pulses, func(p pulse) bool { return p.ID == m.ID })
	})
}

// lead takes the newest note out of its card: it stands above the delivery.
func (s *step) lead() {
	for i := range s.Cards {
		if o := s.Cards[i].Outcome; o != nil && o.Note != nil && s.Note != nil && *o.Note == *s.Note {
			o.Note = nil
		}
	}
}

func stepPage(v *page.Visit) (*page.Answer, error) {
	d, err := readDeal(v)
	if err != nil {
		return nil, err
	}
	s, err := readStep(v)
	if err != nil {
		return nil, err
	}
	s.Thread = s.talk()
	s.lead()
	view := stepView{Deal: d, Step: s, Scores: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
	view.Newest, view.Earlier, view.Whole = versions(s.Cards)
	if s.daily() {
		view.Daily = &schedule{}
		if err := v.Do("person.schedule.read", page.Call{Path: ofDeal(v), Into: view.Daily}); err != nil {
			return nil, err
		}
	}
	for _, b := range s.Blocks {
		shown := b.view(s, v.Form)
		if v.Refused != nil && fmt.Sprint(v.Refused.Extra["block_number"]) == strconv.Itoa(b.Number) {
			shown.Wrong = words(v.Refused)
		}
		view.Blocks = append(view.Blocks, shown)
	}
	return &page.Answer{View: "step", Title: s.Step.Title, Data: view}, nil
}

// answerStep is the one motion: approve, or ask for changes. What was typed for the blocks
// goes with it.
func (s *site) answerStep(v *page.Visit) (*page.Answer, error) {
	at, err := readStep(v)
	if err != nil {
		return nil, err
	}
	verdict := v.Form.Get("verdict")
	responses := responsesOf(at, v.Form, verdict, s.Now())
	if verdict == "draft" {
		if len(responses) > 0 {
			if err := v.Do("person.step.save-draft", page.Call{Path: onStep(v), Body: map[string]any{"responses": responses}}); err != nil {
				return nil, err
			}
		}
		return &page.Answer{To: v.At + "?said=saved"}, nil
	}
	body := map[string]any{"verdict": verdict, "responses": responses, "reason": strings.TrimSpace(v.Form.Get("reason"))}
	if score := number(v.Form.Get("score")); verdict == "approve" && score > 0 {
		body["score"] = score
	}
	if verdict == "approve" {
		body["channels"] = channelsOf(v.Form)
	}
	if verdict == "request_changes" {
		body["cards"] = changes(at.Cards, v)
	}
	if err := v.Do("person.step.answer", page.Call{Path: onStep(v), Body: body}); err != nil {
		return nil, err
	}
	return &page.Answer{To: dealPath(v) + "?said=answered"}, nil
}

// changes are the cards with words about what should change in them.
func changes(cards []card, v *page.Visit) []map[string]string {
	out := []map[string]string{}
	for _, c := range cards {
		if s := strings.TrimSpace(v.Form.Get(c.Field())); s != "" {
			out = append(out, map[string]string{"card": c.Card, "verdict": "request_changes", "comment": s})
		}
	}
	return out
}

func dealPath(v *page.Visit) string { return v.At[:strings.LastIndex(v.At, "/steps/")] }

// declineStep ends the deal at this step.
func declineStep(v *page.Visit) (*page.Answer, error) {
	err := v.Do("person.step.answer", page.Call{Path: onStep(v), Body: map[string]any{"verdict": "decline", "reason": strings.TrimSpace(v.Form.Get("reason"))}})
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: dealPath(v) + "?said=ended"}, nil
}

func writeMessage(v *page.Visit) (*page.Answer, error) {
	err := v.Do("person.message.post", page.Call{Path: onStep(v), Body: map[string]string{"body": strings.TrimSpace(v.Form.Get("body"))}})
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: v.At + "?said=written#thread"}, nil
}
