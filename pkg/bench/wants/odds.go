package wants

import (
	"slices"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// The classes the steward keeps estimates for: a finish-line tile and a kind of lane.
var (
	tiles = []string{"object_at_door", "booking_on_calendar", "money_in_account", "something_else"}
	lanes = []string{"free", "paid", "open"}
)

// Odds is an estimate; nil is unbanded.
type Odds struct {
	Probability *float64 `json:"probability"`
}

// OddsKey is the row of a reference class.
func OddsKey(tile, lane string) table.Key {
	return table.Key{PK: "bench.ODDS", SK: "CLASS#" + tile + "#" + lane}
}

func knownClass(tile, lane string) bool {
	return slices.Contains(tiles, tile) && slices.Contains(lanes, lane)
}

// estimate is the platform's estimate for a posting, nil when there is none.
func estimate(c *op.Call, tile, lane string) (*float64, error) {
	o, _, err := op.Load[Odds](c, OddsKey(tile, lane))
	return o.Probability, err
}

// refreeze freezes the estimate anew: what a steward set for this want, else its class's.
func (w *Want) refreeze(c *op.Call) (err error) {
	if w.Next != nil {
		w.Frozen, w.Next = w.Next.Probability, nil
		return nil
	}
	w.Frozen, err = estimate(c, w.Finish.Tile, w.Lane.Kind)
	return err
}

// HasBids is the refusal to change what bids were filed against.
var HasBids = fault.New(fault.Conflict, "has_bids", "Agents have already bid on this want, so it can no longer be changed. You can add a note.")

// SetFrozen stages another frozen estimate, as if posting had frozen it. Only the local
// controls use it, and only while no bid exists.
func SetFrozen(c *op.Call, id string, p *float64) error {
	w, found, err := Load(c, id)
	if err != nil {
		return err
	}
	if !found {
		return fault.BareNotFound
	}
	if w.HasBids {
		return HasBids
	}
	w.Frozen = p
	return w.Save(c)
}

// Probability is a number from 0 to 1.
type Probability float64

// JSONSchema implements op.Schemer.
func (Probability) JSONSchema() op.Schema {
	least, most := 0.0, 1.0
	return op.Schema{Type: "number", Min: &least, Max: &most}
}

// ClassRow is a reference class with its estimate.
type ClassRow struct {
	Tile        string   `json:"tile"`
	Lane        string   `json:"lane_kind"`
	Probability *float64 `json:"probability"`
}

// NoInput is the input of a call that takes nothing.
type NoInput struct{}

// ClassesOut lists every class.
type ClassesOut struct {
	Classes []ClassRow `json:"classes"`
}

// Classes lists the reference classes and their estimates (surface.md 4).
var Classes = op.Declare(op.Meta{
	ID: "steward.odds.list", Method: "GET", Path: "/api/steward/odds/classes",
	Auth: op.Steward, Summary: "List the reference classes and their estimates.", Contract: "surface.md 4",
}, classes)

func classes(c *op.Call, _ NoInput) (ClassesOut, error) {
	var keys []table.Key
	for _, t := range tiles {
		for _, l := range lanes {
			keys = append(keys, OddsKey(t, l))
		}
	}
	if err := c.Fetch(keys...); err != nil {
		return ClassesOut{}, err
	}
	out := ClassesOut{}
	for _, t := range tiles {
		for _, l := range lanes {
			p, err := estimate(c, t, l)
			if err != nil {
				return out, err
			}
			out.Classes = append(out.Classes, ClassRow{t, l, p})
		}
	}
	return out, nil
}

// ClassIn sets the estimate of a class; null clears it.
type ClassIn struct {
	Tile        string                `path:"tile" rule:"enum=object_at_door|booking_on_calendar|money_in_account|something_else"`
	Lane        string                `path:"lane_kind" rule:"enum=free|paid|open"`
	Probability op.Field[Probability] `json:"probability" rule:"required"`
}

// Rows implements op.Prefetcher.
func (in ClassIn) Rows(string) []table.Key { return []table.Key{OddsKey(in.Tile, in.Lane)} }

// SetClass sets or clears the estimate that postings of a class freeze from now on. What is
// frozen stays as it is (surface.md 4).
var SetClass = op.Declare(op.Meta{
	ID: "steward.odds.set", Method: "PUT", Path: "/api/steward/odds/classes/{tile}/{lane_kind}",
	Auth: op.Steward, Idempotent: op.KeyRequired, Limit: &PersonWrites, Summary: "Set or clear the estimate of a reference class.", Contract: "surface.md 4",
}, setClass)

func setClass(c *op.Call, in ClassIn) (ClassRow, error) {
	old, _, err := op.Load[Odds](c, OddsKey(in.Tile, in.Lane))
	if err != nil {
		return ClassRow{}, err
	}
	set := Odds{(*float64)(in.Probability.Value)}
	c.Put(OddsKey(in.Tile, in.Lane), set)
	return ClassRow{in.Tile, in.Lane, set.Probability}, record.Audit(c, c.Caller.Key(), "odds.class.set", "odds:"+in.Tile+"/"+in.Lane, old, set)
}

// TargetOddsIn sets what the next freeze of a want takes; null makes it unbanded.
type TargetOddsIn struct {
	TargetID string                `path:"target_id"`
	Frozen   op.Field[Probability] `json:"frozen_probability" rule:"required"`
}

// Rows implements op.Prefetcher.
func (in TargetOddsIn) Rows(string) []table.Key { return []table.Key{Key(in.TargetID)} }

// TargetOdds shows a want's estimates to a steward.
type TargetOdds struct {
	TargetID string   `json:"target_id"`
	Frozen   *float64 `json:"frozen_probability"` // in force
	NextSet  bool     `json:"next_set"`
	Next     *float64 `json:"next_frozen_probability"` // what the next freeze takes, when next_set
}

// SetTargetOdds sets what the next freeze of a want takes, never the value in force
// (surface.md 4).
var SetTargetOdds = op.Declare(op.Meta{
	ID: "steward.target.odds", Method: "POST", Path: "/api/steward/targets/{target_id}/odds",
	Auth: op.Steward, Idempotent: op.KeyRequired, Limit: &PersonWrites, Summary: "Set the estimate that a repost of a want will freeze.", Contract: "surface.md 4",
}, setTargetOdds)

func setTargetOdds(c *op.Call, in TargetOddsIn) (TargetOdds, error) {
	w, found, err := Load(c, in.TargetID)
	if err != nil {
		return TargetOdds{}, err
	}
	if !found {
		return TargetOdds{}, fault.BareNotFound
	}
	old := w.Next
	w.Next = &Odds{(*float64)(in.Frozen.Value)}
	if err := w.Save(c); err != nil {
		return TargetOdds{}, err
	}
	return TargetOdds{w.ID, w.Frozen, true, w.Next.Probability},
		record.Audit(c, c.Caller.Key(), "odds.target.set", "target:"+w.ID, old, w.Next)
}
