package bids

import (
	"fmt"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Card is a bid as the person reads it (surface.md 3).
type Card struct {
	ProposalID string             `json:"proposal_id"`
	Status     string             `json:"status"`
	Round      int                `json:"round"`
	FiledAt    wants.Time         `json:"filed_at"`
	Superseded *wants.Time        `json:"superseded_at"`
	Ordinal    *int               `json:"finalist_ordinal"`
	AnsweredAt *wants.Time        `json:"answered_at"`
	PlanAt     *wants.Time        `json:"plan_revised_at"`
	PlanBy     *wants.Time        `json:"plan_deadline_at"`
	DealID     *string            `json:"deal_id"`
	Proposal   *proposal.Proposal `json:"proposal"`
	Plan       *Plan              `json:"plan"` // the informed plan, null before it is filed
	Questions  []PersonQA         `json:"person_questions"`
	Agent      CardAgent          `json:"agent"`
	Costs      string             `json:"person_costs"` // what it may cost the person beside the price, in words
	Reason     *string            `json:"reject_reason"`
}

// PersonQA is a question of the person with the agent's answers.
type PersonQA struct {
	PersonQuestion
	Answers []string `json:"answers"`
}

// CardAgent is the public record beside a bid. The model is the one declared with the bid.
type CardAgent struct {
	registry.AgentCard
	Model       string `json:"model_declared"`
	PayoutReady bool   `json:"payout_ready"`
}

// costWords says what the want may cost the person outside the deal (bench.md 5.10).
func costWords(e *proposal.CostEstimate, lane string) string {
	switch {
	case e == nil && lane == proposal.LaneFree:
		return "The agent funds nothing. Real-world costs (gyms, fees, travel) are yours."
	case e == nil:
		return "No estimate of your own costs was given."
	case e.LowCents != nil && e.HighCents != nil:
		return "about " + dollars(*e.LowCents) + " to " + dollars(*e.HighCents)
	case e.LowCents != nil:
		return "from " + dollars(*e.LowCents)
	case e.HighCents != nil:
		return "up to " + dollars(*e.HighCents)
	}
	return ""
}

// dollars prints cents: $200, $12.50.
func dollars(cents int64) string {
	if cents%100 == 0 {
		return fmt.Sprintf("$%d", cents/100)
	}
	return fmt.Sprintf("$%d.%02d", cents/100, cents%100)
}

// CardsIn pages through the bids on a want.
type CardsIn struct {
	TargetID string `path:"target_id"`
	After    string `query:"after" doc:"The next_cursor of the page before."`
	Limit    int    `query:"limit" rule:"min=1,max=200"`
}

// Rows implements op.Prefetcher.
func (in CardsIn) Rows(string) []table.Key { return []table.Key{wants.Key(in.TargetID)} }

// CardsOut is a page of the bids on a want, newest first: the current round, then earlier
// ones.
type CardsOut struct {
	Bids       []Card  `json:"bids"`
	NextCursor *string `json:"next_cursor"`
}

// Pages of cards.
const (
	defaultCards = 100
	cardGroup    = 20      // bids whose rows are read together
	maxCardBytes = 2 << 20 // of rows, after which a page ends
)

// Cards lists the bids on a want to its person: as filed, with the finalists' informed
// plans beside them.
var Cards = op.Declare(op.Meta{
	ID: "person.want.bids", Method: "GET", Path: "/api/person/wants/{target_id}/bids",
	Auth: op.Person, Summary: "Read the bids on your want.", Faults: []string{"cursor_invalid"}, Contract: "surface.md 3",
}, cards)

func cards(c *op.Call, in CardsIn) (CardsOut, error) {
	w, err := wants.Own(c, c.Caller.ID, in.TargetID)
	if err != nil {
		return CardsOut{}, err
	}
	blocked, err := account.BlockedBy(c, c.Caller.ID)
	if err != nil {
		return CardsOut{}, err
	}
	q := table.Query{PK: wants.Key(w.ID).PK, Limit: defaultCards, Reverse: true}.Prefix("BID#")
	if in.Limit > 0 {
		q.Limit = in.Limit
	}
	name := "bids.cards#" + w.ID
	if in.After != "" && !c.ReadCursor(name, in.After, &q.After) {
		return CardsOut{}, CursorInvalid
	}
	list, page, err := fromIndex(c, q)
	if err != nil {
		return CardsOut{}, err
	}
	out := CardsOut{Bids: []Card{}}
	n, err := out.fill(c, &w, list, blocked)
	if err != nil {
		return out, err
	}
	if n < len(list) || page.More {
		next := c.Cursor(name, OnTargetKey(&list[n-1]).SK)
		out.NextCursor = &next
	}
	return out, nil
}

// fill makes cards of the bids until the page is full, and tells of how many.
func (o *CardsOut) fill(c *op.Call, w *wants.Want, list []Bid, blocked map[string]bool) (n int, err error) {
	size := 0
	for n < len(list) && size < maxCardBytes {
		group := list[n:min(n+cardGroup, len(list))]
		keys := cardRows(group)
		if err := c.Fetch(keys...); err != nil {
			return n, err
		}
		for _, k := range keys {
			r, err := c.Get(k)
			if err != nil {
				return n, err
			}
			size += len(r.Data)
		}
		for i := range group {
			n++
			if blocked[group[i].AgentID] {
				continue
			}
			card, err := group[i].card(c, w)
			if err != nil {
				return n, err
			}
			o.Bids = append(o.Bids, card)
		}
	}
	return n, nil
}

// CardOut is one bid.
type CardOut struct {
	Bid Card `json:"bid"`
}

// ReadCard shows one bid to its want's person, a hidden agent's too.
var ReadCard = op.Declare(op.Meta{
	ID: "person.want.bid", Method: "GET", Path: "/api/person/wants/{target_id}/bids/{proposal_id}",
	Auth: op.Person, Summary: "Read one bid on your want.", Contract: "surface.md 3",
}, readCard)

func readCard(c *op.Call, in onWant) (CardOut, error) {
	w, b, _, err := pair(c, in.TargetID, in.ProposalID)
	if err != nil {
		return CardOut{}, err
	}
	if err := c.Fetch(cardRows([]Bid{b})...); err != nil {
		return CardOut{}, err
	}
	card, err := b.card(c, &w)
	return CardOut{card}, err
}

func cardRows(found []Bid) (keys []table.Key) {
	for _, b := range found {
		keys = append(keys, BodyKey(b.ID), registry.AgentKey(b.AgentID), account.AgentToken.Row(b.AgentID, ""))
		if b.PlanAt != nil {
			keys = append(keys, PlanKey(b.ID))
		}
	}
	return keys
}

func (b *Bid) card(c *op.Call, w *wants.Want) (Card, error) {
	if _, err := b.SettledOn(c, w); err != nil {
		return Card{}, err
	}
	p, err := LoadProposal(c, b.ID)
	if err != nil {
		return Card{}, err
	}
	agent, err := registry.Load(c, b.AgentID)
	if err != nil {
		return Card{}, err
	}
	card := Card{ProposalID: b.ID, Status: b.Status, Round: b.Round, FiledAt: wants.Time(b.FiledAt), Superseded: wants.At(w.SupersededAt(b.Round)),
		AnsweredAt: wants.At(b.HandedAt), PlanAt: wants.At(b.PlanAt), Proposal: p, Questions: []PersonQA{},
		Agent: CardAgent{AgentCard: registry.CardOf(c, agent), Model: b.ModelDeclared, PayoutReady: agent.PayoutReady()}}
	card.Costs = costWords(p.PersonCostEstimate, w.Lane.Kind)
	if b.Ordinal > 0 {
		card.Ordinal = &b.Ordinal
	}
	if b.HandedAt != nil && b.PlanAt == nil && b.Finalist() {
		by := b.HandedAt.Add(PlanDeadline)
		card.PlanBy = wants.At(&by)
	}
	if b.DealID != "" {
		card.DealID = &b.DealID
	}
	if b.Status == Declined {
		card.Reason = &b.Reason
	}
	return card, b.cardTalk(c, &card)
}

func (b *Bid) cardTalk(c *op.Call, card *Card) error {
	if b.PlanAt != nil {
		plan, err := LoadPlan(c, b)
		if err != nil {
			return err
		}
		card.Plan = &plan
	}
	t, err := LoadTalk(c, b.ID)
	if err != nil {
		return err
	}
	for i, q := range t.asked() {
		qa := PersonQA{PersonQuestion: q, Answers: []string{}}
		for _, s := range t.Asked[i].Answers {
			qa.Answers = append(qa.Answers, s.Text)
		}
		card.Questions = append(card.Questions, qa)
	}
	return nil
}
