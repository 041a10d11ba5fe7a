package steward

import (
	"cmp"
	"slices"

	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of the queue.
const (
	DefaultCases = 50
	MaxCases     = 100
	// maxWalked is how many places of the queue one reading looks at in a shard, when most of
	// them do not fit its filter.
	maxWalked = 400
)

// CasesIn filters and pages through the queue.
type CasesIn struct {
	Kind  string `query:"kind" rule:"enum=r109_exception|stale_pattern|liveness|self_deal|breach_report|link_held|chargeback"`
	State string `query:"state" rule:"enum=open|awaiting_second|decided"`
	After string `query:"after"`
	Limit int    `query:"limit" rule:"min=0,max=100"`
}

// CaseRow is a case in the queue.
type CaseRow struct {
	CaseID   string         `json:"case_id"`
	Kind     string         `json:"kind"`
	Subject  *Subject       `json:"subject" doc:"The agent it is about; null where only a payment is known."`
	TargetID *string        `json:"target_id"`
	DealID   *string        `json:"deal_id"`
	OpenedAt record.Time    `json:"opened_at"`
	Age      int64          `json:"age_seconds" doc:"Until now, or until it was decided."`
	Evidence map[string]any `json:"evidence"`
	State    string         `json:"state"`
	Findings []string       `json:"findings" doc:"What can be decided."`
	Votes    []VoteView     `json:"votes"`
	Finding  *string        `json:"finding"`
	Written  *string        `json:"written"`
	ClosedAt *record.Time   `json:"decided_at"`
}

// Subject is the agent of a case.
type Subject struct {
	MakerID    string `json:"maker_id"`
	RegistryNo string `json:"registry_no"`
	Handle     string `json:"handle"`
	Suspended  bool   `json:"suspended_new_work"`
	Delisted   bool   `json:"delisted"`
}

// VoteView is what one steward found.
type VoteView struct {
	By      string      `json:"by"`
	Finding string      `json:"finding"`
	Written string      `json:"written"`
	At      record.Time `json:"at"`
}

// CasesOut is a page of the queue, newest first.
type CasesOut struct {
	Cases []CaseRow `json:"cases"`
	Next  *string   `json:"next_cursor"`
}

// ListCases reads the stewards' queue, newest first (bench.md 23).
var ListCases = op.Declare(meta("case.list", "GET", "/cases", "Read the queue of cases.", "cursor_invalid"), listCases)

func listCases(c *op.Call, in CasesIn) (CasesOut, error) {
	list, after := "steward.cases:"+in.Kind+":"+in.State, ""
	if in.After != "" && !c.ReadCursor(list, in.After, &after) {
		return CasesOut{}, fault.New(fault.Invalid, "cursor_invalid", "Send the next_cursor of this list with the same filters, or none.").At("after")
	}
	cases, next, err := walk(c, in, after)
	if err != nil {
		return CasesOut{}, err
	}
	if err := subjects(c, cases); err != nil {
		return CasesOut{}, err
	}
	out := CasesOut{Cases: []CaseRow{}}
	for i := range cases {
		row, err := show(c, &cases[i])
		if err != nil {
			return CasesOut{}, err
		}
		out.Cases = append(out.Cases, row)
	}
	if next != "" {
		s := c.Cursor(list, next)
		out.Next = &s
	}
	return out, nil
}

// walk merges the shards of the queue, newest first, until a page is full or every shard
// was walked as far as one reading may. next is where the next reading goes on, "" at the
// end.
func walk(c *op.Call, in CasesIn, after string) (page []deals.Case, next string, err error) {
	limit := cmp.Or(in.Limit, DefaultCases)
	rows := limit + 1
	if in.Kind != "" || in.State != "" {
		rows = maxWalked
	}
	var all []deals.Case
	floor, more := "", false // the merge is complete down to floor
	for shard := range deals.CaseShards {
		p, err := c.Query(table.Query{PK: deals.CasePartition(shard), Reverse: true, Limit: rows, After: after}.Prefix("CASE#"))
		if err != nil {
			return nil, "", err
		}
		for _, r := range p.Rows {
			var k deals.Case
			if err := op.Decode(r.Data, &k); err != nil {
				return nil, "", err
			}
			all = append(all, k)
		}
		if p.More {
			floor, more = max(floor, p.Rows[len(p.Rows)-1].SK), true
		}
	}
	at := func(k *deals.Case) string { return deals.CaseListKey(k).SK }
	slices.SortFunc(all, func(a, b deals.Case) int { return cmp.Compare(at(&b), at(&a)) })
	last := ""
	for i := range all {
		k := &all[i]
		fits := (in.Kind == "" || k.Kind == in.Kind) && (in.State == "" || k.State == in.State)
		if more && at(k) < floor || fits && len(page) == limit {
			return page, last, nil
		}
		if last = at(k); fits {
			page = append(page, *k)
		}
	}
	if !more {
		last = ""
	}
	return page, last, nil
}

// subjects reads the agents that cases are about in one batch.
func subjects(c *op.Call, cases []deals.Case) error {
	var keys []table.Key
	for _, k := range cases {
		if k.AgentID != "" {
			keys = append(keys, registry.AgentKey(k.AgentID))
		}
	}
	return c.Fetch(keys...)
}

// show makes a case's row.
func show(c *op.Call, k *deals.Case) (CaseRow, error) {
	until := c.Now
	if !k.ClosedAt.IsZero() {
		until = k.ClosedAt
	}
	r := CaseRow{CaseID: k.ID, Kind: k.Kind, TargetID: given(k.TargetID), DealID: given(k.DealID), OpenedAt: record.Time(k.OpenedAt),
		Age: int64(until.Sub(k.OpenedAt).Seconds()), Evidence: k.Evidence, State: k.State, Findings: names(k), Votes: []VoteView{},
		Finding: given(k.Finding), Written: given(k.Written), ClosedAt: record.At(k.ClosedAt)}
	if r.Evidence == nil {
		r.Evidence = map[string]any{}
	}
	for _, v := range k.Votes {
		r.Votes = append(r.Votes, VoteView{v.By, v.Finding, v.Written, record.Time(v.At)})
	}
	if k.AgentID == "" {
		return r, nil
	}
	a, err := registry.Load(c, k.AgentID)
	if err != nil {
		return r, err
	}
	r.Subject = &Subject{a.ID, a.No(), a.Handle, a.SuspendedNewWork(), !a.DelistedAt.IsZero()}
	return r, nil
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// CaseIn names a case.
type CaseIn struct {
	CaseID string `path:"case_id"`
}

// Rows implements op.Prefetcher.
func (in CaseIn) Rows(string) []table.Key { return []table.Key{deals.CaseKey(in.CaseID)} }

// CaseOut is a case with what it is judged by.
type CaseOut struct {
	Case CaseRow   `json:"case"`
	Deal *DealView `json:"deal" doc:"The deal it is about; null when there is none."`
}

// DealView is a deal as a case shows it.
type DealView struct {
	DealID    string            `json:"deal_id"`
	Status    string            `json:"status"`
	EndCause  *string           `json:"end_cause"`
	Claim     *string           `json:"r109_exception"`
	Test      *string           `json:"materiality_test"`
	Reason    *string           `json:"reason"`
	Broken    int               `json:"broken_step"`
	Stale     bool              `json:"stale"`
	Voided    bool              `json:"scores_voided"`
	PickedAt  record.Time       `json:"picked_at"`
	EndedAt   *record.Time      `json:"ended_at"`
	AgentTime int64             `json:"agent_seconds"`
	YourTime  int64             `json:"person_seconds"`
	Money     money.Account     `json:"money"`
	Steps     []StepView        `json:"steps"`
	Plan      deals.Plan        `json:"plan"`
	Grants    []access.Grant    `json:"grants"`
	Pulses    []deals.PulseView `json:"pulses" doc:"The newest of the step in question, oldest first."`
}

// StepView is a step as a case shows it.
type StepView struct {
	Number int     `json:"step_number"`
	Title  string  `json:"title"`
	Ask    string  `json:"ask"`
	State  string  `json:"state"`
	Cause  *string `json:"cause"`
	Cents  int64   `json:"line_item_amount"`
}

// ReadCase reads a case with the claim, the plan, the grants and the pulses behind it
// (bench.md 23). Reading content is a steward's business, so it is noted who did.
var ReadCase = op.Declare(meta("case.read", "GET", "/cases/{case_id}", "Read a case and what it is judged by."), readCase)

func readCase(c *op.Call, in CaseIn) (CaseOut, error) {
	k, found, err := op.Load[deals.Case](c, deals.CaseKey(in.CaseID))
	if err != nil {
		return CaseOut{}, err
	}
	if !found {
		return CaseOut{}, fault.BareNotFound
	}
	if err := c.Fetch(append(k.Around(), deals.PlanKey(k.DealID), access.Key(k.DealID))...); err != nil {
		return CaseOut{}, err
	}
	out := CaseOut{}
	if out.Case, err = show(c, &k); err != nil || k.DealID == "" {
		return out, err
	}
	d, found, err := deals.Load(c, k.DealID)
	if err != nil || !found {
		return out, err
	}
	out.Deal, err = showDeal(c, d, &k)
	return out, err
}

func showDeal(c *op.Call, d *path.Deal, k *deals.Case) (*DealView, error) {
	plan, err := deals.LoadPlan(c, d.ID)
	if err != nil {
		return nil, err
	}
	grants, err := access.Load(c, d.ID)
	if err != nil {
		return nil, err
	}
	v := &DealView{DealID: d.ID, Status: d.Status, EndCause: given(d.EndCause), Claim: given(d.Exception), Test: given(d.Test), Reason: given(d.Reason),
		Broken: d.Broken, Stale: d.Stale, Voided: d.Voided, PickedAt: record.Time(d.PickedAt), EndedAt: record.At(d.EndedAt),
		AgentTime: int64(d.AgentUsed(c.Now).Seconds()), YourTime: int64(d.YourUsed(c.Now).Seconds()), Money: d.Money, Plan: plan, Grants: grants.List}
	if v.Grants == nil {
		v.Grants = []access.Grant{}
	}
	for _, s := range d.Steps {
		v.Steps = append(v.Steps, StepView{s.Number, s.Title, s.Ask, s.State, given(s.Cause), s.Cents})
	}
	v.Pulses, err = deals.Pulses(c, d, questioned(d, k))
	return v, err
}

// questioned is the step a case is about: the one its evidence names, or the one somebody
// held last.
func questioned(d *path.Deal, k *deals.Case) *path.Step {
	if n, ok := k.Evidence["step"].(float64); ok && d.Step(int(n)) != nil {
		return d.Step(int(n))
	}
	if s := d.Open(); s != nil {
		return s
	}
	return d.Step(d.Broken)
}
