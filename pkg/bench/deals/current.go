package deals

import (
	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// StepDetail is the step in hand (bench.md 7.6).
type StepDetail struct {
	ID         string        `json:"step_id"`
	Number     int           `json:"step_number"`
	Ordinal    int           `json:"ordinal"`
	Title      string        `json:"title"`
	Minor      *string       `json:"minor_detail"`
	Ask        string        `json:"ask"`
	Actor      string        `json:"actor"`
	State      string        `json:"state"`
	Round      int           `json:"round"`
	Rounds     int           `json:"rounds"`
	Promise    string        `json:"outcome_promise"`
	Cents      int64         `json:"line_item_amount"`
	StartedAt  *record.Time  `json:"agent_started_at"`
	WaitingAt  *record.Time  `json:"waiting_since"`
	LapseAt    *record.Time  `json:"lapse_at"`
	Progress   int           `json:"progress_percent"`
	AtBid      *float64      `json:"declared_odds_at_bid"`
	Log        []OddsEntry   `json:"declared_odds_log"`
	Grant      *GrantRef     `json:"grant"`
	Blocks     []BlockView   `json:"har_blocks"`
	Outcomes   []OutcomeView `json:"outcomes"`
	SelfReport bool          `json:"acknowledge_only"`
}

// GrantRef names the grant the agent works with.
type GrantRef struct {
	ID string `json:"id"`
}

// StepLine is a step in the list.
type StepLine struct {
	ID     string `json:"step_id"`
	Number int    `json:"step_number"`
	Title  string `json:"title"`
	State  string `json:"state"`
}

// Material is a file the person released to the agent.
type Material struct {
	FileID      string      `json:"file_id"`
	Filename    string      `json:"filename"`
	ContentType string      `json:"content_type"`
	SizeBytes   int64       `json:"size_bytes"`
	SHA256      string      `json:"sha256"`
	ReleasedAt  record.Time `json:"released_at"`
	DownloadURL string      `json:"download_url"`
}

// CurrentOut is where a deal stands, for its agent.
type CurrentOut struct {
	DealID         string        `json:"deal_id"`
	TargetID       string        `json:"target_id"`
	ProposalID     string        `json:"proposal_id"`
	Status         string        `json:"deal_status"`
	EndCause       *string       `json:"end_cause"`
	Current        *StepDetail   `json:"current_step"`
	Steps          []StepLine    `json:"steps"`
	Pulses         []PulseView   `json:"pulses"`
	NextDueAt      *record.Time  `json:"next_due_at"`
	PulseOverdue   bool          `json:"pulse_overdue"`
	Bundle         *Bundle       `json:"answers_bundle"`
	YourMove       *string       `json:"your_move"`
	NextCall       *string       `json:"next_call"`
	HeldCents      int64         `json:"held_cents"`
	ReleasedCents  int64         `json:"released_cents"`
	ReturnedCents  int64         `json:"returned_cents"`
	AgentSeconds   int64         `json:"agent_time_seconds"`
	YourSeconds    int64         `json:"your_time_seconds"`
	AgentLimit     int64         `json:"agent_time_limit_seconds"`
	UsageBytes     int64         `json:"target_usage_bytes"`
	BudgetBytes    int64         `json:"target_budget_bytes"`
	TipInvited     bool          `json:"tip_invited"`
	Materials      []Material    `json:"released_materials"`
	MaterialsCount int           `json:"released_materials_count"`
	Thread         ThreadView    `json:"step_thread"`
	Cadence        wants.Cadence `json:"pulse_cadence"`
	Access         AccessView    `json:"access"`
	Practice       bool          `json:"practice"`
	WorldFileURL   *string       `json:"world_file_url"`
	WorldMissing   bool          `json:"world_file_missing"`
	Blocks         []BlockView   `json:"har_blocks"`
	Responses      []Response    `json:"har_responses"`
	Schedule       *ScheduleLine `json:"schedule"`
}

// Current says where a deal stands and what its agent may do (bench.md 7.6).
var Current = op.Declare(op.Meta{
	ID: "bench.step.current", Method: "GET", Path: "/api/bench/deals/{deal_id}/current-step", Tool: "get_current_step",
	Auth: op.Maker, Scope: "deals:write", Summary: "Read where a deal stands.", Contract: "bench.md 7.6",
}, current)

// CurrentIn names the deal.
type CurrentIn struct{ OfDeal }

// Rows implements op.Prefetcher.
func (in CurrentIn) Rows(string) []table.Key {
	return in.with("", PlanKey, access.Key, answersKey, FilesKey)
}

func current(c *op.Call, in CurrentIn) (CurrentOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return CurrentOut{}, err
	}
	v, err := readView(c, d, d.Open())
	if err != nil {
		return CurrentOut{}, err
	}
	if err := c.Fetch(append(scheduleRows(d), wants.BudgetKey(d.TargetID))...); err != nil {
		return CurrentOut{}, err
	}
	bundle, found, err := op.Load[Bundle](c, answersKey(d.ID))
	if err != nil {
		return CurrentOut{}, err
	}
	used, err := wants.UsedBytes(c, d.TargetID)
	if err != nil {
		return CurrentOut{}, err
	}
	released, err := materials(c, d)
	if err != nil {
		return CurrentOut{}, err
	}
	out := CurrentOut{DealID: d.ID, TargetID: d.TargetID, ProposalID: d.ProposalID, Status: d.Status, EndCause: Given(d.EndCause),
		Current: v.detail(), Steps: lines(d), Pulses: v.pulses(), YourMove: yourMove(d), NextCall: nextCall(d), HeldCents: d.Money.Held,
		ReleasedCents: d.Money.Released, ReturnedCents: d.Money.Returned, AgentSeconds: int64(d.AgentUsed(c.Now).Seconds()),
		YourSeconds: int64(d.YourUsed(c.Now).Seconds()), AgentLimit: int64(d.Limit().Seconds()), UsageBytes: used, BudgetBytes: wants.MaxFileBytes,
		TipInvited: d.TipInvited && c.Tips, Materials: released, MaterialsCount: len(released), Thread: v.thread(), Cadence: wants.PulseCadence,
		Access: accessOf(d, &v.grants), Practice: d.Practice, WorldMissing: d.Practice && !d.World, Blocks: v.blocks(), Responses: v.responses()}
	if found {
		out.Bundle = &bundle
	}
	if d.World {
		url := "/api/bench/targets/" + d.TargetID + "/world-file"
		out.WorldFileURL = &url
	}
	if out.Schedule, err = scheduleLine(c, d); err != nil {
		return CurrentOut{}, err
	}
	if out.Schedule != nil {
		out.Schedule.NextAt = nil // the hour would tell where the person lives
	}
	if s := d.Open(); s != nil && s.State == path.Working {
		out.NextDueAt, out.PulseOverdue = record.At(d.Pulse.DueAt), d.Pulse.Misses > 0
	}
	return out, nil
}

func lines(d *path.Deal) []StepLine {
	out := make([]StepLine, len(d.Steps))
	for i, s := range d.Steps {
		out[i] = StepLine{s.ID, s.Number, s.Title, s.State}
	}
	return out
}

// yourMove says in words what the agent may do next, nil when nothing.
func yourMove(d *path.Deal) *string {
	s := d.Open()
	switch {
	case d.Status == path.Picked:
		return Given("countersign")
	case len(d.Owed()) > 0:
		return Given("answer_message")
	case s != nil && s.State == path.Working && d.Pulse.Percent == 100:
		return Given("file_outcome")
	case s != nil && s.State == path.Working:
		return Given("work_and_pulse")
	}
	return nil
}

// nextCall is the call that makes the agent's move: a person who waits for a reply comes
// first, and while nothing is owed it is the worklist. Nil on an ended deal.
func nextCall(d *path.Deal) *string {
	s, base := d.Open(), "POST /api/bench/deals/"+d.ID
	switch {
	case d.Status == path.Picked:
		return Given(base + "/sign")
	case len(d.Owed()) > 0:
		return Given(base + "/steps/" + d.Owed()[0].ID + "/messages")
	case s != nil && s.State == path.Working && d.Pulse.Percent == 100:
		return Given("POST /api/bench/targets/" + d.TargetID + "/outcomes")
	case s != nil && s.State == path.Working:
		return Given(base + "/check-ins")
	case d.Status == path.Ended:
		return nil
	}
	return Given("GET /api/bench/me/attention")
}

// detail is the step in hand, nil when nobody holds one.
func (v *view) detail() *StepDetail {
	s := v.s
	if s == nil {
		return nil
	}
	out := &StepDetail{ID: s.ID, Number: s.Number, Ordinal: s.Number, Title: s.Title, Ask: s.Ask, Actor: "person", State: s.State,
		Round: s.Round, Rounds: s.Rounds, Cents: s.Cents, StartedAt: record.At(s.StartedAt), WaitingAt: record.At(s.WaitingSince),
		LapseAt: record.At(s.LapseAt()), AtBid: s.AtBid, Log: oddsLog(s, v.d.PlanAt, v.line), Blocks: v.blocks(),
		Outcomes: []OutcomeView{}, SelfReport: s.SelfReport()}
	if s.SelfReport() {
		out.Actor = "agent"
	}
	if s.State == path.Working {
		out.Progress = v.d.Pulse.Percent
	}
	if s.Kind == path.Finish {
		out.Promise = v.d.Finish
	}
	if p := v.planned(); p != nil {
		out.Minor, out.Promise = Given(p.MinorDetail), p.OutcomePromise
	}
	if g := v.grants.Latest(s.ID); g != nil {
		out.Grant = &GrantRef{g.ID}
	}
	for i := range v.outcomes {
		out.Outcomes = append(out.Outcomes, v.outcomes[i].view())
	}
	return out
}
