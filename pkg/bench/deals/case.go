package deals

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Kinds of cases a deal opens for the stewards (bench.md 23).
const (
	CaseException  = "r109_exception"
	CaseLiveness   = "liveness"
	CaseChargeback = "chargeback"
	CaseBreach     = "breach_report"
	CaseStale      = "stale_pattern"
	CaseSelfDeal   = "self_deal"
	CaseLinkHeld   = "link_held"
)

// CaseShards is the number of partitions of the stewards' queue.
const CaseShards = 4

// Case is a question for the stewards. The desk of the stewards decides it.
type Case struct {
	ID       string         `json:"id"`
	Kind     string         `json:"kind"`
	AgentID  string         `json:"agent_id,omitempty"`
	TargetID string         `json:"target_id,omitempty"`
	DealID   string         `json:"deal_id,omitempty"`
	State    string         `json:"state"`
	OpenedAt time.Time      `json:"opened_at"`
	Evidence map[string]any `json:"evidence,omitempty"`
	Finding  string         `json:"finding,omitempty"`
	Written  string         `json:"written,omitempty"`
	Votes    []Vote         `json:"votes,omitempty"` // the latest word of each steward, in order
	ClosedAt time.Time      `json:"closed_at,omitzero"`
	// Voided is how far the deals of a proven tie are voided: the last row of the person's list.
	Voided string `json:"voided,omitempty"`
}

// States of a case.
const (
	CaseOpen   = "open"
	CaseSecond = "awaiting_second" // a steward has decided, and another one has to agree
	CaseClosed = "decided"
)

// Vote is what one steward found.
type Vote struct {
	By      string    `json:"by"` // person id
	Finding string    `json:"finding"`
	Written string    `json:"written"`
	At      time.Time `json:"at"`
}

// Save stages a changed case and its copy in the queue; LoadCase has read both.
func (k *Case) Save(c *op.Call) {
	c.Put(CaseKey(k.ID), k)
	c.Put(CaseListKey(k), k)
}

// Around are the rows a change of the case touches: its copy in the queue, its agent, its
// deal with the rows around that, the want with the finding beside its attempt.
func (k *Case) Around() []table.Key {
	keys := []table.Key{CaseListKey(k)}
	if k.AgentID != "" {
		keys = append(keys, registry.AgentKey(k.AgentID), record.HeadKey(k.AgentID))
	}
	if k.DealID != "" {
		keys = append(keys, Key(k.DealID), bids.MoveKey(k.AgentID, MoveKind, k.DealID), wants.Key(k.TargetID), wants.BriefKey(k.TargetID))
	}
	return keys
}

// LoadCase reads a case with its copy in the queue.
func LoadCase(c *op.Call, id string) (Case, bool, error) {
	k, found, err := op.Load[Case](c, CaseKey(id))
	if err == nil && found {
		err = c.Fetch(CaseListKey(&k))
	}
	return k, found, err
}

// CaseKey is the row of a case.
func CaseKey(id string) table.Key { return table.Key{PK: "bench.CASE#" + id, SK: "ROOT"} }

// CasePartition is one shard of the stewards' queue.
func CasePartition(shard int) string { return fmt.Sprintf("bench.CASES#%d", shard) }

// CaseListKey is the row of a case's copy in the queue, by which it is listed.
func CaseListKey(k *Case) table.Key {
	h := fnv.New32a()
	h.Write([]byte(k.ID))
	return table.Key{PK: CasePartition(int(h.Sum32() % CaseShards)), SK: "CASE#" + clock.Stamp(k.OpenedAt) + "#" + k.ID}
}

// OpenCase stages a new case and its place in the queue.
func OpenCase(c *op.Call, k Case) {
	k.State = CaseOpen
	c.Create(CaseKey(k.ID), k)
	c.Create(CaseListKey(&k), k)
}

// openCase opens a case about the deal's agent and says so in the record.
func (x *change) openCase(e *path.Event, kind string, evidence map[string]any) error {
	d := x.d
	k := Case{ID: CaseID(d.ID, kind, e.At), Kind: kind, AgentID: d.AgentID, TargetID: d.TargetID, DealID: d.ID, OpenedAt: e.At, Evidence: evidence}
	OpenCase(x.c, k)
	if d.Practice {
		return nil
	}
	return record.Ledger(x.c, record.IntegrityOpened, record.Refs{TargetID: d.TargetID, DealID: d.ID, AgentNo: d.AgentNo, At: e.At},
		map[string]any{"kind": kind})
}

// silent is the third missed pulse in a row: a liveness review opens, and the agent takes
// no new work until it is closed or the agent has been on time for a day (bench.md 8.5).
func (x *change) silent(e *path.Event) error {
	if x.d.Practice {
		return nil
	}
	if _, err := registry.Suspend(x.c, x.d.AgentID, SilenceReason); err != nil {
		return err
	}
	return x.openCase(e, CaseLiveness, map[string]any{"misses": e.N, "step": e.Step})
}

// SilenceReason is what an agent and the stewards read of a suspension by this clock.
const SilenceReason = "three updates in a row were missed"

// heard closes the liveness review: a day has passed without another miss. The stewards'
// own suspensions stay.
func (x *change) heard(e *path.Event, opened time.Time) error {
	k, found, err := LoadCase(x.c, CaseID(x.d.ID, CaseLiveness, opened))
	if err != nil || !found || k.State == CaseClosed {
		return err
	}
	k.State, k.Finding, k.ClosedAt = CaseClosed, "a day without a missed update", e.At
	k.Save(x.c)
	a, err := registry.Load(x.c, x.d.AgentID)
	if err != nil || a.SuspendReason != SilenceReason {
		return err
	}
	_, err = registry.Lift(x.c, x.d.AgentID, k.Finding)
	return err
}

// CaseID names the case a deal's event opens: one event opens one case.
func CaseID(deal, kind string, at time.Time) string {
	return deal + "." + kind + "." + strconv.FormatInt(at.UnixMilli(), 36)
}
