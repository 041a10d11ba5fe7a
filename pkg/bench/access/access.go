// Package access keeps the grants of a deal: narrow, scoped permissions a person gives for
// one target, shown back as they were declared and given. Nothing here watches a
// connection (bench.md 16, rule 102). It imports no other package of the bench.
//
// Rows:
//
//	bench.DEAL#<id> / ACCESS     every grant of a deal
package access

import (
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Statuses of a grant.
const (
	Active  = "active"
	Revoked = "revoked"
)

// Grant is a permission the person gave on a GRANT step.
type Grant struct {
	ID         string    `json:"id"`
	StepID     string    `json:"step_id"`
	Capability string    `json:"capability,omitempty"` // canonical dotted name; none before rule 110
	Kind       string    `json:"kind,omitempty"`
	What       string    `json:"what"`
	Why        string    `json:"why"`
	Scope      string    `json:"scope"`
	Until      string    `json:"until"`
	Status     string    `json:"status"`
	GrantedAt  time.Time `json:"granted_at"`
	RevokedAt  time.Time `json:"revoked_at,omitzero"`
	// RevokedBy says who ended it: person, or the end of the deal.
	RevokedBy string `json:"revoked_by,omitempty"`
	Swaps     []Swap `json:"swaps,omitempty"`
}

// Swap is an equivalent connector the agent moved to (rule 107).
type Swap struct {
	From     string    `json:"from"`
	To       string    `json:"to"`
	Why      string    `json:"why"`
	When     time.Time `json:"when"`
	Material string    `json:"material_declaration,omitempty"`
}

// Grants is the stored row.
type Grants struct {
	List []Grant `json:"list"`
}

// Key is the row of a deal's grants.
func Key(deal string) table.Key { return table.Key{PK: "bench.DEAL#" + deal, SK: "ACCESS"} }

// Load reads a deal's grants.
func Load(c *op.Call, deal string) (Grants, error) {
	g, _, err := op.Load[Grants](c, Key(deal))
	return g, err
}

// Save stages a deal's grants, read by this call.
func (g Grants) Save(c *op.Call, deal string) { c.Put(Key(deal), g) }

// Find returns the grant with this id, nil when there is none.
func (g *Grants) Find(grant string) *Grant {
	for i := range g.List {
		if g.List[i].ID == grant {
			return &g.List[i]
		}
	}
	return nil
}

// Latest returns the grant of a step, or else the newest active one; nil when there is
// none.
func (g *Grants) Latest(step string) *Grant {
	var newest *Grant
	for i := range g.List {
		one := &g.List[i]
		if one.StepID == step {
			return one
		}
		if one.Status == Active {
			newest = one
		}
	}
	return newest
}

// Revoke ends a grant and tells whether it was active.
func (g *Grant) Revoke(by string, at time.Time) bool {
	if g.Status != Active {
		return false
	}
	g.Status, g.RevokedAt, g.RevokedBy = Revoked, at, by
	return true
}

// RevokeAll ends every active grant and returns them.
func (g *Grants) RevokeAll(by string, at time.Time) []*Grant {
	var out []*Grant
	for i := range g.List {
		if g.List[i].Revoke(by, at) {
			out = append(out, &g.List[i])
		}
	}
	return out
}
