package deals

import (
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// Walls is the number of walls an agent must not touch (bench.md 2.13).
const Walls = 11

// ReportIn reports a problem with the agent of a deal.
type ReportIn struct {
	OfDeal
	Wall *int   `json:"wall,omitempty" rule:"min=1,max=11" doc:"Which wall was broken, when the person knows."`
	Text string `json:"text" rule:"required,min=1,max=1000"`
}

// ReportOut names the case.
type ReportOut struct {
	CaseID string `json:"case_id"`
}

// Report tells the stewards of a problem with the agent of a deal, running or ended
// (bench.md 22.2, 22.4). It changes nothing on the deal.
var Report = op.Declare(op.Meta{
	ID: "person.deal.report", Method: "POST", Path: "/api/person/deals/{deal_id}/reports", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Report a problem with the agent of a deal.",
	Faults: []string{"already_reported"}, Contract: "bench.md 22.2, 23",
}, report)

func report(c *op.Call, in ReportIn) (ReportOut, error) {
	d, err := Seen(c, in.DealID)
	if err != nil {
		return ReportOut{}, err
	}
	k := Case{ID: CaseID(d.ID, CaseBreach, d.PickedAt), Kind: CaseBreach, AgentID: d.AgentID, TargetID: d.TargetID, DealID: d.ID, OpenedAt: c.Now,
		Evidence: map[string]any{"text": text.Normalize(in.Text)}}
	if in.Wall != nil {
		k.Evidence["wall"] = *in.Wall
	}
	old, found, err := op.Load[Case](c, CaseKey(k.ID))
	if err != nil {
		return ReportOut{}, err
	}
	if found && old.State != CaseClosed {
		return ReportOut{}, fault.New(fault.Conflict, "already_reported", "Your report on this deal is with the stewards already.").With("case_id", k.ID)
	}
	if found {
		k.ID = c.NewID() // a new report after a decision is a case of its own
	}
	OpenCase(c, k)
	return ReportOut{k.ID}, record.Audit(c, c.Caller.Key(), "deal.reported", "deal:"+d.ID, nil, map[string]any{"case_id": k.ID})
}
