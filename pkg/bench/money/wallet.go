package money

import (
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Balance sums an agent's money, in cents. It is counted, and guards no decision.
type Balance struct {
	Held        int64 `json:"held_cents"`
	Released    int64 `json:"released_cents"`
	Transferred int64 `json:"transferred_cents"`
	Pending     int64 `json:"pending_transfer_cents"`
}

// BalanceOf reads an agent's sums.
func BalanceOf(c *op.Call, agent string) (Balance, error) {
	r, err := c.Get(WalletKey(agent))
	n := r.Counters
	return Balance{n[heldField], n[releasedField], n[transferredField], n[releasedField] - n[transferredField]}, err
}

// PageLines is how many lines of an agent one page has at most.
const PageLines = 100

// OfAgent reads a page of an agent's releases and returns, newest first, behind a place
// ("" from the newest). next is the place to go on from, "" at the end.
func OfAgent(c *op.Call, agent, after string) (lines []Line, next string, err error) {
	q := table.Query{PK: WalletKey(agent).PK, Reverse: true, Limit: PageLines, After: after}.Prefix(linePrefix)
	p, err := c.Query(q)
	if err != nil {
		return nil, "", err
	}
	lines = make([]Line, len(p.Rows))
	for i, r := range p.Rows {
		if err := op.Decode(r.Data, &lines[i]); err != nil {
			return nil, "", err
		}
	}
	if p.More {
		next = p.Rows[len(p.Rows)-1].SK
	}
	return lines, next, nil
}
