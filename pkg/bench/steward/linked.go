package steward

import (
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// timerVoid goes through the deals of two sides that were found to be one.
const timerVoid = "case.void"

// Limits of one firing: each deal is about eight rows of its commit.
const (
	voidedAtOnce = 6
	casesAtOnce  = 10
)

// delistedEvidence marks a case about a running deal of an agent that was delisted.
const delistedEvidence = "delisted"

// voidLinked voids the scores of the next few deals of the case's person with its agent and
// arms itself for the rest (bench.md 19.3).
func voidLinked(c *op.Call, t op.Fired) error {
	k, found, err := deals.LoadCase(c, t.Subject)
	if err != nil || !found || k.Finding != TieProven {
		return err
	}
	d, found, err := deals.Load(c, k.DealID)
	if err != nil || !found {
		return err
	}
	list, next, err := deals.OfPerson(c, d.PersonID, k.Voided, voidedAtOnce)
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.AgentID != d.AgentID || one.Voided || one.Practice {
			continue
		}
		one.Decide(c.Now, TieProven, true)
		if err := deals.Commit(c, one, map[record.Word]map[string]any{record.IntegrityDecided: {"case_id": k.ID}}); err != nil {
			return err
		}
	}
	if k.Voided = next; next != "" {
		c.Arm(timerVoid, k.ID, c.Now.Add(time.Second))
	}
	k.Save(c)
	return nil
}

// delisted opens a case for each running deal of an agent that was taken off the exchange:
// what becomes of them is decided one by one (bench.md 23).
func delisted(c *op.Call, t op.Fired) error {
	p, err := c.Query(table.Query{PK: bids.MoveKey(t.Subject, deals.MoveKind, "").PK, Limit: table.MaxPageRows}.
		Prefix(bids.MoveKey(t.Subject, deals.MoveKind, "").SK))
	if err != nil {
		return err
	}
	opened := 0
	for _, r := range p.Rows {
		var ref deals.Ref
		if err := op.Decode(r.Data, &ref); err != nil {
			return err
		}
		d, found, err := deals.Load(c, ref.DealID)
		if err != nil {
			return err
		}
		if !found || !d.Live() {
			continue
		}
		k := deals.Case{ID: deals.CaseID(d.ID, delistedEvidence, d.PickedAt), Kind: deals.CaseBreach, AgentID: d.AgentID, TargetID: d.TargetID,
			DealID: d.ID, OpenedAt: c.Now, Evidence: map[string]any{delistedEvidence: true}}
		_, found, err = deals.LoadCase(c, k.ID)
		if err != nil {
			return err
		}
		if found {
			continue
		}
		if opened++; opened > casesAtOnce {
			c.Arm(t.Kind, t.Subject, c.Now.Add(time.Second))
			return nil
		}
		deals.OpenCase(c, k)
	}
	return nil
}
