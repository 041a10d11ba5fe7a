package site

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
)

// finalistView is the page of a finalist.
type finalistView struct {
	Want      want
	Bid       bid
	Questions []draft
	Handoff   *time.Time // when the platform sends what is saved
	CanAsk    int        // questions left
}

// draft is one of the agent's four questions with what is saved of the answer.
type draft struct {
	Ordinal  int     `json:"ordinal"`
	Question string  `json:"question"`
	Answer   *string `json:"answer"`
}

// Field is the name of the answer's input.
func (d draft) Field() string { return "answer." + strconv.Itoa(d.Ordinal) }

const maxAsked = 5 // questions a person puts to one finalist

// Blocked says why the bid cannot be accepted yet; "" when it can.
func (f finalistView) Blocked() string {
	b := f.Bid
	switch {
	case b.Status == "accepted" || f.Want.DealID != nil:
		return "You have accepted a bid on this want."
	case !b.IsFinalist():
		return "This bid is no longer one of your finalists."
	case b.PlanAt == nil && b.AnsweredAt == nil:
		return "Send your answers first. The agent then writes its full plan."
	case b.PlanAt == nil:
		return "Waiting for the agent's full plan."
	case b.Proposal.Total > 0 && !b.Agent.PayoutReady:
		return "The agent cannot be paid yet. Its operator has to set up a payout account first."
	}
	return ""
}

func finalistPage(v *page.Visit) (*page.Answer, error) {
	w, all, err := readWant(v)
	if err != nil {
		return nil, err
	}
	f := finalistView{Want: w}
	for _, b := range all {
		if b.ProposalID == v.Path["bid"] {
			f.Bid = b
		}
	}
	if f.Bid.ProposalID == "" {
		return nil, fault.BareNotFound
	}
	if f.Bid.Ordinal != nil {
		if err := f.questions(v); err != nil {
			return nil, err
		}
	}
	f.CanAsk = maxAsked - len(f.Bid.Questions)
	return &page.Answer{View: "finalist", Title: f.Bid.Proposal.Title, Data: f}, nil
}

func (f *finalistView) questions(v *page.Visit) error {
	var out struct {
		Answers []draft    `json:"answers"`
		Handoff *time.Time `json:"handoff_at"`
	}
	if err := v.Do("person.finalist.answers-read", page.Call{Path: onBid(v), Into: &out}); err != nil {
		return err
	}
	f.Questions, f.Handoff = out.Answers, out.Handoff
	return nil
}

func onBid(v *page.Visit) map[string]string {
	return map[string]string{"target_id": v.Path["id"], "proposal_id": v.Path["bid"]}
}

// saveAnswers saves drafts, or sends them: the button says which.
func saveAnswers(v *page.Visit) (*page.Answer, error) {
	type answer struct {
		Ordinal int     `json:"ordinal"`
		Answer  *string `json:"answer"`
	}
	list := []answer{}
	for n := 1; n <= 4; n++ {
		field := draft{Ordinal: n}.Field()
		if !v.Form.Has(field) {
			continue
		}
		a := answer{Ordinal: n}
		if s := strings.TrimSpace(v.Form.Get(field)); s != "" {
			a.Answer = &s
		}
		list = append(list, a)
	}
	send := v.Form.Get("do") == "send"
	err := v.Do("person.finalist.answers-save", page.Call{Path: onBid(v), Body: map[string]any{"answers": list, "send": send}})
	if err != nil {
		return nil, err
	}
	if send {
		return &page.Answer{To: v.At + "?said=sent"}, nil
	}
	return &page.Answer{To: v.At + "?said=saved"}, nil
}

func askFinalist(v *page.Visit) (*page.Answer, error) {
	err := v.Do("person.finalist.ask", page.Call{Path: onBid(v), Body: map[string]string{"question": strings.TrimSpace(v.Form.Get("question"))}})
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: v.At + "?said=asked"}, nil
}

func unnameFinalist(v *page.Visit) (*page.Answer, error) {
	if err := v.Do("person.finalist.unname", page.Call{Path: onBid(v)}); err != nil {
		return nil, err
	}
	return &page.Answer{To: "/wants/" + url.PathEscape(v.Path["id"]) + "?said=unpicked"}, nil
}

// acceptBid accepts the plan that was read. A free bid is a deal at once; a paid one goes
// on to the processor's page, by a button that names the price: a form of ours leads
// nowhere else by itself.
func (s *site) acceptBid(v *page.Visit) (*page.Answer, error) {
	body := map[string]any{"accept_rules": v.Form.Get("accept_rules") != ""}
	if at := v.Form.Get("plan_revised_at"); at != "" {
		body["plan_revised_at"] = at
	}
	var out struct {
		DealID string `json:"deal_id"`
		URL    string `json:"checkout_url"`
		Total  int64  `json:"total_cents"`
	}
	if err := v.Do("person.bid.accept", page.Call{Path: onBid(v), Body: body, Into: &out}); err != nil {
		return nil, err
	}
	if out.DealID != "" {
		return &page.Answer{To: "/deals/" + out.DealID + "?said=accepted"}, nil
	}
	if path := s.local(out.URL); path != "" {
		return &page.Answer{To: path}, nil
	}
	return &page.Answer{View: "checkout", Title: "Pay to begin", Data: struct {
		URL   string
		Total int64
	}{out.URL, out.Total}}, nil
}
