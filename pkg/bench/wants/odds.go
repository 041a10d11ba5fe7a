package wants

import (
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

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
