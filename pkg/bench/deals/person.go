package deals

import (
	"strconv"
	"time"

	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of a person's list of deals.
const (
	DefaultDeals = 50
	MaxDeals     = 100
)

// DealsIn pages through the person's deals.
type DealsIn struct {
	After string `query:"after"`
	Limit int    `query:"limit" rule:"min=0,max=100"`
}

// DealLine is a deal in the list.
type DealLine struct {
	DealID   string        `json:"deal_id"`
	TargetID string        `json:"target_id"`
	Proposal string        `json:"proposal_id"`
	Round    int           `json:"round"`
	Status   string        `json:"status"`
	EndCause *string       `json:"end_cause"`
	Header   string        `json:"header"`
	Agent    AgentLine     `json:"agent"`
	PickedAt record.Time   `json:"picked_at"`
	EndedAt  *record.Time  `json:"ended_at"`
	Step     *StepLine     `json:"current_step"`
	Money    money.Account `json:"money"`
}

// AgentLine names a deal's agent.
type AgentLine struct {
	MakerID    string `json:"maker_id"`
	RegistryNo string `json:"registry_no"`
	Handle     string `json:"handle"`
}

// DealsOut is a page of deals, newest first.
type DealsOut struct {
	Deals []DealLine `json:"deals"`
	Next  *string    `json:"next_cursor"`
}

// ListDeals lists the person's deals of every round, newest first (surface.md 3).
var ListDeals = op.Declare(op.Meta{
	ID: "person.deal.list", Method: "GET", Path: "/api/person/deals", Auth: op.Person, Summary: "List your deals.",
	Faults: []string{"cursor_invalid"}, Contract: "surface.md 3",
}, listDeals)

func listDeals(c *op.Call, in DealsIn) (DealsOut, error) {
	limit := in.Limit
	if limit == 0 {
		limit = DefaultDeals
	}
	list := "person.deals:" + c.Caller.ID
	q := table.Query{PK: "bench.PERSON#" + c.Caller.ID, Reverse: true, Limit: limit}.Prefix(dealPrefix)
	if in.After != "" && !c.ReadCursor(list, in.After, &q.After) {
		return DealsOut{}, fault.New(fault.Invalid, "cursor_invalid", "Send the next_cursor of this list, or none.").At("after")
	}
	p, err := c.Query(q)
	if err != nil {
		return DealsOut{}, err
	}
	out := DealsOut{Deals: []DealLine{}}
	refs := make([]Ref, len(p.Rows))
	keys := make([]table.Key, len(p.Rows))
	for i, r := range p.Rows {
		if err := op.Decode(r.Data, &refs[i]); err != nil {
			return DealsOut{}, err
		}
		keys[i] = Key(refs[i].DealID)
	}
	if err := c.Fetch(keys...); err != nil {
		return DealsOut{}, err
	}
	for _, r := range refs {
		d, found, err := Load(c, r.DealID)
		if err != nil {
			return DealsOut{}, err
		}
		if found {
			out.Deals = append(out.Deals, dealLine(d, c.Now))
		}
	}
	if p.More {
		next := c.Cursor(list, p.Rows[len(p.Rows)-1].SK)
		out.Next = &next
	}
	return out, nil
}

func dealLine(d *path.Deal, now time.Time) DealLine {
	l := DealLine{DealID: d.ID, TargetID: d.TargetID, Proposal: d.ProposalID, Round: d.Round, Status: d.Status, EndCause: Given(d.EndCause),
		Header: d.Header(now), Agent: agentLine(d), PickedAt: record.Time(d.PickedAt), EndedAt: record.At(d.EndedAt), Money: d.Money}
	if s := d.Open(); s != nil {
		l.Step = &StepLine{s.ID, s.Number, s.Title, s.State}
	}
	return l
}

// DealOut is a deal as its person sees it.
type DealOut struct {
	DealLine
	FinishLine   string                 `json:"finish_line"`
	Days         int                    `json:"timeline_days"`
	Practice     bool                   `json:"practice"`
	Reason       *string                `json:"end_reason"`
	SignedAt     *record.Time           `json:"signed_at"`
	SignBy       *record.Time           `json:"sign_by"`
	DropsAt      *record.Time           `json:"drops_at"`
	AgentSeconds int64                  `json:"agent_time_seconds"`
	AgentLimit   int64                  `json:"agent_time_limit_seconds"`
	YourSeconds  int64                  `json:"your_time_seconds"`
	Progress     int                    `json:"progress_percent"`
	Overdue      bool                   `json:"update_overdue"`
	LastPulse    *record.Time           `json:"last_pulse_at"`
	Score        *int                   `json:"score"`
	Stale        bool                   `json:"stale"`
	Steps        []PersonStep           `json:"steps"`
	Grants       []GrantView            `json:"grants"`
	Schedule     *ScheduleLine          `json:"schedule"`
	Costs        *proposal.CostEstimate `json:"person_cost_estimate"`
	CanEnd       bool                   `json:"can_end"`
}

// PersonStep is a step of the Path as its person sees it.
type PersonStep struct {
	StepLine
	Kind       string       `json:"kind"`
	Ask        string       `json:"ask"`
	SelfReport bool         `json:"acknowledge_only"`
	Cents      int64        `json:"line_item_amount"`
	Round      int          `json:"round"`
	RoundsLeft int          `json:"rounds_left"`
	WaitingAt  *record.Time `json:"waiting_since"`
	LapseAt    *record.Time `json:"lapse_at"`
	ApprovedAt *record.Time `json:"approved_at"`
	Cause      *string      `json:"cause"`
	Messages   int          `json:"message_count"`
}

func personStep(s *path.Step) PersonStep {
	return PersonStep{StepLine: StepLine{s.ID, s.Number, s.Title, s.State}, Kind: s.Kind, Ask: s.Ask, SelfReport: s.SelfReport(), Cents: s.Cents,
		Round: s.Round, RoundsLeft: s.RoundsLeft(), WaitingAt: record.At(s.WaitingSince), LapseAt: record.At(s.LapseAt()),
		ApprovedAt: record.At(s.ApprovedAt), Cause: Given(s.Cause), Messages: s.Messages}
}

// ReadDealIn names the deal.
type ReadDealIn struct{ OfDeal }

// Rows implements op.Prefetcher.
func (in ReadDealIn) Rows(string) []table.Key { return in.with("", PlanKey, access.Key) }

// ReadDeal is the Path for its person (surface.md 3).
var ReadDeal = op.Declare(op.Meta{
	ID: "person.deal.read", Method: "GET", Path: "/api/person/deals/{deal_id}", Auth: op.Person,
	Summary: "Read one of your deals.", Contract: "surface.md 3",
}, readDeal)

func readDeal(c *op.Call, in ReadDealIn) (DealOut, error) {
	d, err := Seen(c, in.DealID)
	if err != nil {
		return DealOut{}, err
	}
	plan, err := LoadPlan(c, d.ID)
	if err != nil {
		return DealOut{}, err
	}
	grants, err := access.Load(c, d.ID)
	if err != nil {
		return DealOut{}, err
	}
	out := DealOut{DealLine: dealLine(d, c.Now), FinishLine: d.Finish, Days: d.Days, Practice: d.Practice, Reason: Given(d.Reason),
		SignedAt: record.At(d.SignedAt), AgentSeconds: int64(d.AgentUsed(c.Now).Seconds()), AgentLimit: int64(d.Limit().Seconds()),
		YourSeconds: int64(d.YourUsed(c.Now).Seconds()), Overdue: d.Pulse.Misses > 0, LastPulse: record.At(d.Pulse.At),
		Progress: d.Pulse.Percent, Stale: d.Stale, Grants: grantViews(&grants), Costs: plan.Costs, CanEnd: d.Status == path.Signed}
	if d.Status == path.Picked {
		by, drops := d.PickedAt.Add(path.SignDrop), d.PickedAt.Add(path.SignEnd)
		out.SignBy, out.DropsAt, out.CanEnd = record.At(by), record.At(drops), !c.Now.Before(by)
	}
	if d.Score > 0 {
		out.Score = &d.Score
	}
	for i := range d.Steps {
		out.Steps = append(out.Steps, personStep(&d.Steps[i]))
	}
	out.Schedule, err = scheduleLine(c, d)
	return out, err
}

func agentLine(d *path.Deal) AgentLine {
	return AgentLine{d.AgentID, registry.Number(d.AgentNo), d.Handle}
}

// ReadStepIn names the step.
type ReadStepIn struct{ OfStep }

// Rows implements op.Prefetcher.
func (in ReadStepIn) Rows(string) []table.Key { return in.with("", PlanKey, access.Key, FilesKey) }

// StepOut is a step with everything the person needs to answer it.
type StepOut struct {
	DealID     string                   `json:"deal_id"`
	DealStatus string                   `json:"deal_status"`
	Step       PersonStep               `json:"step"`
	Promise    string                   `json:"outcome_promise"`
	Minor      *string                  `json:"minor_detail"`
	Choose     *proposal.ChoosePayload  `json:"choose"`
	Provide    *proposal.ProvidePayload `json:"provide"`
	Grant      *proposal.GrantRequest   `json:"grant_request"`
	Cards      []DeliveryCard           `json:"cards"`
	Blocks     []BlockView              `json:"har_blocks"`
	Responses  []Response               `json:"har_responses"`
	Pulses     []PulseView              `json:"pulses"`
	Thread     []MessageView            `json:"messages"`
	LapseAt    *record.Time             `json:"lapse_at"`
	AtStake    int64                    `json:"dollars_at_stake_cents"`
	AgentWrote *string                  `json:"note"`
	Controls   []string                 `json:"controls"`
	Scored     bool                     `json:"score_needed"`
	// Files are what you uploaded here; Notice is what to know before the first of them,
	// null where the step takes none now.
	Files  []StepFile `json:"files"`
	Notice *string    `json:"upload_notice"`
}

// DeliveryCard is one part of the delivery the person answers.
type DeliveryCard struct {
	Card    string       `json:"card"`
	Title   string       `json:"title"`
	Outcome *OutcomeView `json:"outcome"`
	Block   *int         `json:"block_number"`
}

// ReadStep shows a step to its person (surface.md 3).
var ReadStep = op.Declare(op.Meta{
	ID: "person.step.read", Method: "GET", Path: "/api/person/deals/{deal_id}/steps/{step_id}", Auth: op.Person,
	Summary: "Read a step: what was delivered, what is asked, what it releases.", Contract: "surface.md 3",
}, readStep)

func readStep(c *op.Call, in ReadStepIn) (StepOut, error) {
	d, err := Seen(c, in.DealID)
	if err != nil {
		return StepOut{}, err
	}
	s, err := stepOf(d, in.StepID, true)
	if err != nil {
		return StepOut{}, err
	}
	v, err := readView(c, d, s)
	if err != nil {
		return StepOut{}, err
	}
	out := StepOut{DealID: d.ID, DealStatus: d.Status, Step: personStep(s), Cards: []DeliveryCard{}, Blocks: v.blocks(), Responses: v.answers(true),
		Pulses: v.pulses(), Thread: v.thread().Messages, LapseAt: record.At(s.LapseAt()), Controls: controls(d, s),
		Scored: s.Final() && s.State == path.Waiting}
	if s.State != path.Approved && s.State != path.Over {
		out.AtStake = d.AtStake(s)
	}
	if s.Kind == path.Finish {
		out.Promise = d.Finish
	}
	files, err := LoadFiles(c, d.ID)
	if err != nil {
		return StepOut{}, err
	}
	out.Files = stepFiles(s, &files)
	if p := v.planned(); p != nil {
		if s.State == path.Waiting && TakesFiles(s, p) {
			out.Notice = Given(UploadNotice)
		}
		out.Promise, out.Minor, out.Choose, out.Provide, out.Grant = p.OutcomePromise, Given(p.MinorDetail), p.Choose, p.Provide, p.GrantRequest
	}
	return out, out.deliver(c, v)
}

// deliver lists the cards: what was filed, with its words, then the blocks.
func (out *StepOut) deliver(c *op.Call, v *view) error {
	keys := []table.Key{}
	for _, o := range v.outcomes {
		if o.kept() {
			keys = append(keys, DocKey(v.d.ID, o.ID))
		}
		if v.asks(&o) {
			keys = append(keys, o.pieces()...)
		}
	}
	if err := c.Fetch(keys...); err != nil {
		return err
	}
	for i := range v.outcomes {
		o := v.outcomes[i].view()
		kept, err := v.outcomes[i].load(c, v.d.ID)
		if err != nil {
			return err
		}
		o.show(v.d.ID, kept)
		if v.asks(&v.outcomes[i]) {
			if o.Document, err = packageDocument(c, v.d, &v.outcomes[i]); err != nil {
				return err
			}
		}
		if o.Note != nil {
			out.AgentWrote = o.Note
		}
		out.Cards = append(out.Cards, DeliveryCard{Card: "item:" + o.ID, Title: v.outcomes[i].title(), Outcome: &o})
	}
	for i := range out.Blocks {
		b := &out.Blocks[i]
		out.Cards = append(out.Cards, DeliveryCard{Card: "block:" + strconv.Itoa(b.Number), Title: b.Block.Title, Block: &b.Number})
	}
	return nil
}

// load reads what is kept of an outcome, nil where nothing is.
func (o *Outcome) load(c *op.Call, deal string) (*Kept, error) {
	if !o.kept() {
		return nil, nil
	}
	k, found, err := op.Load[Kept](c, DocKey(deal, o.ID))
	if err != nil || !found {
		return nil, err
	}
	return &k, nil
}

// controls are the verdicts the person can give right now.
func controls(d *path.Deal, s *path.Step) []string {
	if d.Open() != s || s.State != path.Waiting {
		return []string{}
	}
	out := []string{path.Approve}
	if s.RoundsLeft() > 0 {
		out = append(out, path.RequestChanges)
	}
	return append(out, path.Decline)
}

// OfPerson reads a page of a person's deals, oldest first, behind a row of the list; next
// is the last row, "" at the end.
func OfPerson(c *op.Call, person, after string, limit int) (list []*path.Deal, next string, err error) {
	p, err := c.Query(table.Query{PK: "bench.PERSON#" + person, Limit: limit, After: after}.Prefix(dealPrefix))
	if err != nil {
		return nil, "", err
	}
	for _, r := range p.Rows {
		var ref Ref
		if err := op.Decode(r.Data, &ref); err != nil {
			return nil, "", err
		}
		d, found, err := Load(c, ref.DealID)
		if err != nil {
			return nil, "", err
		}
		if found {
			list = append(list, d)
		}
	}
	if p.More {
		next = p.Rows[len(p.Rows)-1].SK
	}
	return list, next, nil
}
