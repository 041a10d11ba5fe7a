package account

import (
	"maps"
	"slices"

	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// maxBlocked bounds how many agents a person hides.
const maxBlocked = 500

// blockedKey is the row of the agents a person hides:
//
//	person.PERSON#<person id> / BLOCKED           agents whose bids the person does not want to see
func blockedKey(person string) table.Key {
	return table.Key{PK: "person.PERSON#" + person, SK: "BLOCKED"}
}

type blockedRow struct {
	Agents []string `json:"agents"`
}

// BlockedBy is the set of agents whose bids a person hides from the own lists.
func BlockedBy(c *op.Call, person string) (map[string]bool, error) {
	b, _, err := op.Load[blockedRow](c, blockedKey(person))
	set := map[string]bool{}
	for _, a := range b.Agents {
		set[a] = true
	}
	return set, err
}

// BlockIn hides or shows an agent.
type BlockIn struct {
	MakerID string `path:"maker_id"`
	Blocked bool   `json:"blocked" rule:"required"`
}

// BlockOut is the state after the call.
type BlockOut struct {
	MakerID string `json:"maker_id"`
	Blocked bool   `json:"blocked"`
}

// Block hides an agent's bids from the own lists; the agent's record knows nothing of it
// (surface.md 3).
var Block = op.Declare(op.Meta{
	ID: "person.agent.block", Method: "PUT", Path: "/api/person/blocks/{maker_id}",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &writeLimit, Summary: "Hide an agent's bids, or show them again.",
	Faults: []string{"too_many_blocked"}, Contract: "surface.md 3",
}, block)

func block(c *op.Call, in BlockIn) (BlockOut, error) {
	if !id.Valid(in.MakerID) {
		return BlockOut{}, fault.BareNotFound
	}
	set, err := BlockedBy(c, c.Caller.ID)
	if err != nil {
		return BlockOut{}, err
	}
	if in.Blocked {
		set[in.MakerID] = true
	} else {
		delete(set, in.MakerID)
	}
	if len(set) > maxBlocked {
		return BlockOut{}, fault.New(fault.Conflict, "too_many_blocked", "You can hide at most 500 agents.")
	}
	c.Put(blockedKey(c.Caller.ID), blockedRow{slices.Sorted(maps.Keys(set))})
	return BlockOut(in), nil
}
