package bids

import (
	"slices"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Pages of bids.
const (
	defaultMine = 100
	maxMine     = 100
	maxOnTarget = 200 // bids of a round that the person sees, oldest first
)

// MineIn pages through the caller's bids.
type MineIn struct {
	After string `query:"after" doc:"The next_cursor of the page before."`
	Limit int    `query:"limit" rule:"min=1,max=100"`
}

// MineRow is one own bid (bench.md 5.14).
type MineRow struct {
	Yours
	TargetID     string      `json:"target_id"`
	Round        int         `json:"round"`
	FiledAt      wants.Time  `json:"filed_at"`
	TotalCents   int64       `json:"total_ask_cents"`
	Days         int         `json:"timeline_days"`
	SupersededAt *wants.Time `json:"superseded_at"`
	DealID       *string     `json:"deal_id"`
}

// MineOut is a page of own bids, newest first.
type MineOut struct {
	Count      int       `json:"count"`
	Proposals  []MineRow `json:"proposals"`
	NextCursor *string   `json:"next_cursor"`
}

// Mine lists the caller's bids, newest first (bench.md 5.14).
var Mine = op.Declare(op.Meta{
	ID: "bench.proposal.mine", Method: "GET", Path: "/api/bench/proposals/mine", Tool: "list_my_proposals",
	Auth: op.Maker, Scope: "targets:read", Summary: "List your bids, newest first.", Faults: []string{"cursor_invalid"},
	Contract: "bench.md 5.14",
}, mine)

// CursorInvalid refuses a cursor that is not of this list.
var CursorInvalid = fault.New(fault.Invalid, "cursor_invalid", "Send the cursor exactly as the page before gave it, or none.").At("after")

func mine(c *op.Call, in MineIn) (MineOut, error) {
	q := table.Query{PK: OfAgentKey(&Bid{AgentID: c.Caller.ID}).PK, Reverse: true, Limit: defaultMine}.Prefix("BID#")
	if in.Limit > 0 {
		q.Limit = min(in.Limit, maxMine)
	}
	list := "bids.mine#" + c.Caller.ID
	if in.After != "" && !c.ReadCursor(list, in.After, &q.After) {
		return MineOut{}, CursorInvalid
	}
	found, page, err := fromIndex(c, q)
	if err != nil {
		return MineOut{}, err
	}
	out := MineOut{Proposals: []MineRow{}}
	for _, b := range found {
		row, err := b.row(c)
		if err != nil {
			return out, err
		}
		out.Proposals = append(out.Proposals, row)
	}
	out.Count = len(out.Proposals)
	if page.More {
		next := c.Cursor(list, page.Rows[len(page.Rows)-1].SK)
		out.NextCursor = &next
	}
	return out, nil
}

// fromIndex reads the bids an index page names, with their targets and talks, in two batches.
func fromIndex(c *op.Call, q table.Query) ([]Bid, table.Page, error) {
	page, err := c.Query(q)
	if err != nil {
		return nil, page, err
	}
	var keys []table.Key
	var ids []string
	for _, r := range page.Rows {
		var x ref
		if err := op.Decode(r.Data, &x); err != nil {
			return nil, page, err
		}
		ids = append(ids, x.BidID)
		keys = append(keys, Key(x.BidID), TalkKey(x.BidID))
	}
	if err := c.Fetch(keys...); err != nil {
		return nil, page, err
	}
	var out []Bid
	for _, id := range ids {
		b, found, err := Load(c, id)
		if err != nil {
			return nil, page, err
		}
		if found {
			out = append(out, b)
		}
	}
	return out, page, nil
}

func (b *Bid) row(c *op.Call) (MineRow, error) {
	y, err := b.Show(c)
	if err != nil {
		return MineRow{}, err
	}
	row := MineRow{Yours: y, TargetID: b.TargetID, Round: b.Round, FiledAt: wants.Time(b.FiledAt), TotalCents: b.TotalCents, Days: b.Days}
	if b.DealID != "" {
		row.DealID = &b.DealID
	}
	w, found, err := wants.Load(c, b.TargetID)
	if err != nil || !found {
		return row, err
	}
	row.SupersededAt = wants.At(b.superseded(&w))
	return row, nil
}

// superseded is when a later round put the bid aside, nil while its round is the current
// one. It is derived, since a repost rewrites no bid.
func (b *Bid) superseded(w *wants.Want) *time.Time {
	if b.Round >= w.Round {
		return nil
	}
	return w.RepostedAt
}

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
}

// PersonQA is a question of the person with the agent's answers.
type PersonQA struct {
	PersonQuestion
	Answers []string `json:"answers"`
}

// CardAgent is the public record beside a bid.
type CardAgent struct {
	MakerID     string `json:"maker_id"`
	RegistryNo  string `json:"registry_no"`
	Handle      string `json:"handle"`
	Model       string `json:"model_declared"`
	Operator    string `json:"operator"`
	Affiliation string `json:"affiliation"`
	Reachable   bool   `json:"reachable"`
	PayoutReady bool   `json:"payout_ready"`
}

// CardsIn names the want.
type CardsIn struct {
	TargetID string `path:"target_id"`
}

// Rows implements op.Prefetcher.
func (in CardsIn) Rows(string) []table.Key { return []table.Key{wants.Key(in.TargetID)} }

// CardsOut are the bids on a want.
type CardsOut struct {
	Bids []Card `json:"bids"`
}

// Cards lists the bids of the current round and the finalists' plans to their person.
var Cards = op.Declare(op.Meta{
	ID: "person.want.bids", Method: "GET", Path: "/api/person/wants/{target_id}/bids",
	Auth: op.Person, Summary: "Read the bids on your want.", Contract: "surface.md 3",
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
	found, _, err := fromIndex(c, table.Query{PK: wants.Key(w.ID).PK, Limit: maxOnTarget, Reverse: true}.Prefix("BID#"))
	if err != nil {
		return CardsOut{}, err
	}
	slices.Reverse(found)
	if err := c.Fetch(cardRows(found)...); err != nil {
		return CardsOut{}, err
	}
	out := CardsOut{Bids: []Card{}}
	for _, b := range found {
		if blocked[b.AgentID] {
			continue
		}
		card, err := b.card(c, &w)
		if err != nil {
			return out, err
		}
		out.Bids = append(out.Bids, card)
	}
	return out, nil
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
	if _, err := b.Settled(c); err != nil {
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
	card := Card{ProposalID: b.ID, Status: b.Status, Round: b.Round, FiledAt: wants.Time(b.FiledAt), Superseded: wants.At(b.superseded(w)),
		AnsweredAt: wants.At(b.HandedAt), PlanAt: wants.At(b.PlanAt), Proposal: p, Questions: []PersonQA{},
		Agent: CardAgent{agent.ID, agent.No(), agent.Handle, b.ModelDeclared, agent.Operator, agent.Affiliation, agent.Reachable(), agent.PayoutReady()}}
	if b.Ordinal > 0 {
		card.Ordinal = &b.Ordinal
	}
	if b.HandedAt != nil && b.PlanAt == nil {
		by := b.HandedAt.Add(PlanDeadline)
		card.PlanBy = wants.At(&by)
	}
	if b.DealID != "" {
		card.DealID = &b.DealID
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
