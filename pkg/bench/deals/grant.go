package deals

import (
	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
)

// mint makes the grant of an approved GRANT step out of what the plan declared. Silence
// never gets here: a stale grant mints nothing.
func mint(g *access.Grants, d *path.Deal, s *path.Step, r *proposal.GrantRequest, id string) {
	n := access.Grant{ID: id, StepID: s.ID, Status: access.Active, GrantedAt: s.ApprovedAt}
	if r != nil {
		n.Capability, n.Kind, n.What, n.Why, n.Scope, n.Until = r.Capability, r.Kind, r.What, r.Why, r.Scope, r.Until
	}
	g.List = append(g.List, n)
}

// revokeAll ends the deal's grants with the deal.
func (x *change) revokeAll(e *path.Event) error {
	if len(x.d.Grants()) == 0 {
		return nil
	}
	g, err := x.theGrants()
	if err != nil {
		return err
	}
	for _, r := range g.RevokeAll("end", e.At) {
		if err := x.tellRevoked(r, e); err != nil {
			return err
		}
	}
	return nil
}

func (x *change) tellRevoked(g *access.Grant, e *path.Event) error {
	d := x.d
	err := record.Event(x.c, d.AgentID, record.E{Type: string(record.GrantRevoked), TargetID: d.TargetID, ProposalID: d.ProposalID,
		DealID: d.ID, StepID: g.StepID, At: e.At, Data: map[string]any{"grant_id": g.ID, "revoked_by": g.RevokedBy}})
	if err != nil || d.Practice {
		return err
	}
	return record.Ledger(x.c, record.GrantRevoked, record.Refs{TargetID: d.TargetID, DealID: d.ID, AgentNo: d.AgentNo, At: e.At}, nil)
}
