package bids

import (
	"fmt"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// toldAtOnce is how many bids one firing tells: a commit writes the feeds of four agents at
// most.
const toldAtOnce = 4

// fireTold tells the next few bids of a round what became of them and arms itself for the
// rest. What it writes is true already; every read derives it from the want.
func fireTold(c *op.Call, t op.Fired) error {
	r, ok := wants.ReadRoundOver(t.Subject)
	if !ok {
		return nil
	}
	if err := c.Fetch(wants.Key(r.TargetID)); err != nil {
		return err
	}
	w, found, err := wants.Load(c, r.TargetID)
	if err != nil || !found {
		return err
	}
	q := table.Query{PK: wants.Key(r.TargetID).PK, Limit: toldAtOnce, After: r.After}.Prefix(fmt.Sprintf("BID#%04d#", r.Round))
	list, page, err := fromIndex(c, q)
	if err != nil {
		return err
	}
	if err := c.Fetch(toldRows(list)...); err != nil {
		return err
	}
	for i := range list {
		if err := list[i].told(c, &w, r); err != nil {
			return err
		}
	}
	if page.More {
		r.After = page.Rows[len(page.Rows)-1].SK
		c.Arm(wants.TimerBids, r.Subject(), c.Now)
	}
	return nil
}

func toldRows(list []Bid) (keys []table.Key) {
	for _, b := range list {
		keys = append(keys, record.HeadKey(b.AgentID), LiveKey(b.TargetID, b.AgentID))
	}
	return keys
}

// told settles one bid of the round and, when a new round began, says so to its agent,
// unless the agent bid again meanwhile or knows.
func (b *Bid) told(c *op.Call, w *wants.Want, r wants.RoundOver) error {
	passed, err := b.SettledOn(c, w)
	if err != nil {
		return err
	}
	if len(passed) > 0 {
		if err := b.commitOn(c, w, passed); err != nil {
			return err
		}
	}
	if r.Why != wants.RoundReposted && r.Why != wants.RoundAuto || b.Status == Accepted && r.Why == wants.RoundAuto {
		return nil
	}
	last, found, err := op.Load[Live](c, LiveKey(b.TargetID, b.AgentID))
	if err != nil || !found || last.BidID != b.ID {
		return err
	}
	cause := wants.ByPerson
	if r.Why == wants.RoundAuto {
		cause = wants.ByItself
	}
	return record.Event(c, b.AgentID, record.E{Type: string(record.TargetReposted), TargetID: b.TargetID, At: *w.SupersededAt(b.Round),
		Data: map[string]any{"round": b.Round + 1, "cause": cause}})
}
