package morning

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/catalog"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/meter"
)

const (
	zone = "America/New_York"
	// pieces of a timed delivery, and how many of them an agent has going.
	pieces    = 30
	ofAnAgent = 100
	// mixed stands for a length that differs: every thirtieth person has its last day.
	mixed = 0
	// together is how many people one commit of the preparation makes.
	together = 10
)

// due is when the first piece of everybody falls due: 06:00 in New York, the day after the
// approval.
var due = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)

// ledger notes which partitions each commit writes to, in the order of the commits.
type ledger struct {
	table.Store
	mu      sync.Mutex
	on      bool
	commits [][]string
}

func (l *ledger) Commit(ctx context.Context, tx *table.Tx) error {
	err := l.Store.Commit(ctx, tx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on && err == nil {
		var pks []string
		for _, w := range tx.Writes {
			pks = append(pks, w.Key.PK)
		}
		l.commits = append(l.commits, pks)
	}
	return err
}

// hall is an exchange in which people wait for their morning.
type hall struct {
	*optest.Exchange
	sweeper *jobs.Sweeper
	ledger  *ledger
	ids     []string // of the timed deliveries
}

// newHall approves a timed delivery of so many pieces for each person. What a release
// announces elsewhere is left in the outbox.
func newHall(t testing.TB, people, length int, channels ...string) *hall {
	h := &hall{ledger: &ledger{}}
	h.Exchange = optest.New(t, optest.WithStore(func(s table.Store) table.Store {
		h.ledger.Store = s
		return meter.Wrap(h.ledger)
	}))
	h.sweeper = &jobs.Sweeper{Engine: h.Engine, Context: "bench", Timers: catalog.Timers("bench")}
	var agent string
	for n := 0; n < people; n += together {
		h.Run("bench", func(c *op.Call) error {
			if n%ofAnAgent == 0 {
				agent = c.NewID()
			}
			for i := n; i < min(people, n+together); i++ {
				h.ids = append(h.ids, settle(c, i, agent, length, channels))
			}
			return nil
		})
	}
	return h
}

// settle makes a person and what it approved.
func settle(c *op.Call, n int, agent string, length int, channels []string) (schedule string) {
	p := account.Person{ID: c.NewID(), Email: fmt.Sprintf("person-%d@example.org", n), Timezone: zone, CreatedAt: c.Now}
	c.Create(account.PersonKey(p.ID), p)
	s := drip.Schedule{ID: c.NewID(), Receipt: c.NewID(), DealID: c.NewID(), TargetID: c.NewID(), AgentID: agent, PersonID: p.ID, Handle: "Wren",
		AgentNo: 1 + n/ofAnAgent, Status: drip.Filed, FiledAt: c.Now}
	if length == mixed {
		if length = pieces; n%pieces == 0 {
			length = 1
		}
	}
	for i := range length {
		s.Pieces = append(s.Pieces, drip.Heading{Title: fmt.Sprintf("Morning page %d", i+1)})
	}
	s.Create(c, []drip.Piece{{Title: s.Pieces[0].Title, Document: json.RawMessage(`{"blocks":[]}`)}})
	s.Approve(c.Now, p.Stays(), channels, false)
	c.Create(drip.LiveKey(p.ID, s.ID), struct{}{})
	s.Save(c)
	return s.ID
}

// dawn fires everybody's morning and returns what it cost.
func (h *hall) dawn() *meter.Tally {
	h.T.Helper()
	h.ledger.on = true
	defer func() { h.ledger.on = false }()
	ctx, cost := meter.With(context.Background())
	n, err := h.sweeper.SweepAll(ctx, due)
	if n != len(h.ids) || err != nil {
		h.T.Fatalf("%d pieces landed, want %d: %v", n, len(h.ids), err)
	}
	return cost
}
