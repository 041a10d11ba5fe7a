package deals

import (
	"encoding/json"
	"math"
	"time"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// MaxOddsReason is the length of a restatement's reason, in characters.
const MaxOddsReason = 280

// RestateIn restates a step's odds. Its id must be the id, not the number.
type RestateIn struct {
	OfStep
	Odds   json.RawMessage `json:"declared_odds" doc:"Strictly between 0 and 1."`
	Reason *string         `json:"reason,omitempty" rule:"max=280" doc:"Why the odds moved."`
}

// Validate implements op.Validator.
func (in RestateIn) Validate() error {
	if len(in.Odds) == 0 {
		return fault.New(fault.Invalid, "declared_odds is required", "Send a number strictly between 0 and 1.").At("declared_odds")
	}
	if _, problem := proposal.CheckOdds(in.Odds); problem != "" {
		return fault.New(fault.Invalid, "declared_odds must be a number strictly between 0 and 1", problem).At("declared_odds")
	}
	return screen("reason", "restatement reasons", deref(in.Reason))
}

// OddsEntry is one number of a step's line.
type OddsEntry struct {
	Odds   float64     `json:"odds"`
	At     record.Time `json:"at"`
	Reason string      `json:"reason,omitempty"`
}

// oddsLine is the stored restatements of a step, oldest first.
type oddsLine struct {
	Entries []oddsEntry `json:"entries"`
}

type oddsEntry struct {
	Odds   float64   `json:"odds"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// RestateOut answers a restatement with the whole line.
type RestateOut struct {
	DealID     string      `json:"deal_id"`
	StepID     string      `json:"step_id"`
	Number     int         `json:"step_number"`
	State      string      `json:"state"`
	AtBid      *float64    `json:"declared_odds_at_bid"`
	Restated   float64     `json:"declared_odds_restated"`
	RestatedAt record.Time `json:"declared_odds_restated_at"`
	Log        []OddsEntry `json:"declared_odds_log"`
	Count      int         `json:"restatement_count"`
	MovedBy    *float64    `json:"moved_by"`
	Drift      *float64    `json:"drift"`
}

// Restate records a new number for a step that still lies ahead (bench.md 10). Nothing
// else moves, the want's own odds least of all.
var Restate = op.Declare(op.Meta{
	ID: "bench.step.restate-odds", Method: "POST", Path: "/api/bench/deals/{deal_id}/steps/{step_id}/declared-odds", Tool: "restate_declared_odds",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Restate the odds of a step that lies ahead.",
	Faults: []string{"declared_odds is required", "declared_odds must be a number strictly between 0 and 1", "restatement reasons must not contain secrets",
		"link_not_allowed", "deal is not active", "this step is built by the platform - it has no odds", "this step is approved - there is nothing left to forecast",
		"this step is waiting_on_you - there is nothing left to forecast", "this step is ended - there is nothing left to forecast",
		"an outcome is already filed on this step"},
	Contract: "bench.md 10",
}, restate)

func restate(c *op.Call, in RestateIn) (RestateOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return RestateOut{}, err
	}
	s, err := stepOf(d, in.StepID, false)
	if err != nil {
		return RestateOut{}, err
	}
	odds, _ := proposal.CheckOdds(in.Odds)
	if err := d.Restate(c.Now, s, odds); err != nil {
		return RestateOut{}, err
	}
	line, _, err := op.Load[oddsLine](c, oddsKey(d.ID, s.Number))
	if err != nil {
		return RestateOut{}, err
	}
	line.Entries = append(line.Entries, oddsEntry{odds, c.Now, text.Normalize(deref(in.Reason))})
	c.Put(oddsKey(d.ID, s.Number), line)
	out := RestateOut{DealID: d.ID, StepID: s.ID, Number: s.Number, State: s.State, AtBid: s.AtBid, Restated: odds,
		RestatedAt: record.Time(c.Now), Log: oddsLog(s, d.PlanAt, line), Count: s.OddsN,
		MovedBy: difference(s.Restated, s.Before), Drift: difference(s.Restated, s.AtBid)}
	return out, Commit(c, d, nil)
}

// difference is a minus b to 6 decimals, nil when there is nothing to compare.
func difference(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	v := math.Round((*a-*b)*1e6) / 1e6
	return &v
}
