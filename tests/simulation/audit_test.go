package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/table/mem"
)

// broken is the panic of a promise that is not kept; the run catches it and names the seed.
type broken struct{ what string }

func fail(format string, args ...any) { panic(broken{fmt.Sprintf(format, args...)}) }

// must ends the simulation of a seed over an error that no seed can cause.
func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

// audit is the table itself with an auditor beside it: every commit that comes through is
// held against the promises, so that nothing has to be read again after a step. It outlives
// the processes that use it.
type audit struct {
	*mem.Store
	now func() time.Time

	deals    map[string]*watched
	order    []string // ids of deals, oldest first
	bids     map[string]*bids.Bid
	wants    map[string]*wanted
	cases    map[string]*deals.Case
	drips    map[string]*drip.Schedule
	queue    []string             // ids of cases, oldest first
	clocks   map[table.Key]clocks // rows of timers and effects
	waiting  map[string]int       // of them, by subject
	feeds    map[string]int64     // number of the newest event of each agent
	done     map[string]bool      // commits that have come through
	happened int                  // things that happened to deals, bids, wants and cases
}

// watched is a deal as it is stored, with what was recorded of it.
type watched struct {
	*path.Deal
	told  *told
	lines map[string]*money.Line
}

// wanted is what the auditor looks at in a want.
type wanted struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Round  int    `json:"round"`
	BidID  string `json:"bid_id"`
	DealID string `json:"deal_id"`
}

// clocks is a row of the clock.
type clocks struct {
	kind, subject string
	due           time.Time
}

func newAudit(now func() time.Time) *audit {
	return &audit{Store: mem.New(), now: now, deals: map[string]*watched{}, bids: map[string]*bids.Bid{}, wants: map[string]*wanted{},
		cases: map[string]*deals.Case{}, drips: map[string]*drip.Schedule{}, clocks: map[table.Key]clocks{}, waiting: map[string]int{}, feeds: map[string]int64{}, done: map[string]bool{}}
}

// clone is an audit of a cloned table. What it keeps of rows is replaced, never changed.
func (a *audit) clone(now func() time.Time) *audit {
	if len(a.deals) > 0 {
		fail("an exchange with deals cannot be cloned")
	}
	b := *a
	b.Store, b.now, b.deals, b.drips, b.done = a.Store.Clone(), now, map[string]*watched{}, map[string]*drip.Schedule{}, map[string]bool{}
	b.bids, b.wants, b.cases, b.clocks = maps.Clone(a.bids), maps.Clone(a.wants), maps.Clone(a.cases), maps.Clone(a.clocks)
	b.waiting, b.feeds = maps.Clone(a.waiting), maps.Clone(a.feeds)
	b.order, b.queue = nil, slices.Clone(a.queue)
	return &b
}

// Commit is that of the table; one that comes through is looked at, once.
func (a *audit) Commit(ctx context.Context, tx *table.Tx) error {
	err := a.Store.Commit(ctx, tx)
	if err != nil || a.done[tx.ID] {
		return err
	}
	a.done[tx.ID] = true
	touched := map[string]bool{}
	for i := range tx.Writes {
		a.state(&tx.Writes[i], touched)
	}
	for i := range tx.Writes {
		a.event(&tx.Writes[i], touched)
		if kind, id, _ := strings.Cut(tx.Writes[i].Key.PK, "#"); kind == "bench.DRIP" && tx.Writes[i].Key.SK == "ROOT" {
			a.wound(a.drips[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(touched)) {
		a.check(a.deals[id])
		a.armed(a.deals[id].Deal, touched[id])
	}
	return nil
}

// state takes in the rows that say how things are.
func (a *audit) state(w *table.Write, touched map[string]bool) {
	kind, id, _ := strings.Cut(w.Key.PK, "#")
	switch {
	case kind == "bench.CLOCK":
		a.clock(w)
	case w.Data == nil:
	case kind == "bench.DEAL" && w.Key.SK == "ROOT":
		a.deal(id, w.Data)
		touched[id] = true // the deal itself is written; of others only something around it
	case kind == "bench.BID" && w.Key.SK == "ROOT":
		a.bids[id] = a.bid(w.Data)
		a.happened++
	case kind == "bench.TARGET" && w.Key.SK == "ROOT":
		a.wants[id] = decode[wanted](w.Data)
		a.happened++
	case kind == "bench.DRIP" && w.Key.SK == "ROOT":
		a.drip(decode[drip.Schedule](w.Data))
	case kind == "bench.CASE" && w.Key.SK == "ROOT":
		if a.cases[id] == nil {
			a.queue = append(a.queue, id)
		}
		a.cases[id] = decode[deals.Case](w.Data)
		a.happened++
	}
}

// event takes in the rows that say what happened.
func (a *audit) event(w *table.Write, touched map[string]bool) {
	kind, id, _ := strings.Cut(w.Key.PK, "#")
	switch {
	case w.Data == nil:
	case kind == "bench.DEAL" && strings.HasPrefix(w.Key.SK, "MONEY#"):
		a.line(w)
		touch(touched, id)
	case kind == "bench.FEED" && strings.HasPrefix(w.Key.SK, "EVENT#"):
		e := decode[record.Entry](w.Data)
		if a.feeds[id]++; e.Seq != a.feeds[id] {
			fail("event %d of agent %s comes after %d", e.Seq, id, a.feeds[id]-1)
		}
		if d := a.deals[e.DealID]; d != nil {
			if d.AgentID != id {
				fail("the feed of %s tells of %s's deal", id, d.AgentID)
			}
			d.told.fold(e)
			touch(touched, e.DealID)
		}
	}
}

// touch notes a deal around which something is written.
func touch(touched map[string]bool, deal string) {
	if !touched[deal] {
		touched[deal] = false
	}
}

func decode[T any](data []byte) *T {
	v := new(T)
	if err := op.Decode(data, v); err != nil {
		fail("a stored row cannot be read: %v", err)
	}
	return v
}

func (a *audit) clock(w *table.Write) {
	switch old, there := a.clocks[w.Key]; {
	case w.Kind == table.Delete && there:
		delete(a.clocks, w.Key)
		if a.waiting[old.subject]--; a.waiting[old.subject] == 0 {
			delete(a.waiting, old.subject)
		}
	case w.Data != nil && !there:
		f := decode[op.Fired](w.Data)
		a.clocks[w.Key] = clocks{f.Kind, f.Subject, f.Due}
		a.waiting[f.Subject]++
	}
}

// earliest is when the first row of the clock is due.
func (a *audit) earliest() (due time.Time, ok bool) {
	for _, c := range a.clocks {
		if !ok || c.due.Before(due) {
			due, ok = c.due, true
		}
	}
	return due, ok
}

func (a *audit) deal(id string, data []byte) {
	d := decode[path.Deal](data)
	old := a.deals[id]
	if old == nil {
		for _, o := range a.deals {
			if o.TargetID == d.TargetID && o.Live() {
				fail("want %s has two deals", d.TargetID)
			}
		}
		a.deals[id] = &watched{Deal: d, told: newTold(d), lines: map[string]*money.Line{}}
		a.order = append(a.order, id)
		a.happened += d.Events
		return
	}
	if d.Events < old.Events || d.AgentID != old.AgentID || d.PersonID != old.PersonID || d.TotalCents != old.TotalCents {
		fail("deal %s changed its parties, its price or its past", id)
	}
	a.happened += d.Events - old.Events
	old.Deal = d
}

func (a *audit) bid(data []byte) *bids.Bid {
	b := decode[bids.Bid](data)
	if old := a.bids[b.ID]; old != nil && old.Status != b.Status && old.Status != bids.Filed && old.Status != bids.Accepted {
		fail("bid %s went from %s to %s", b.ID, old.Status, b.Status)
	}
	return b
}

// drip: a timed delivery lands one piece a local date, in order, never before it is due, and
// what has landed stays.
func (a *audit) drip(d *drip.Schedule) {
	if old := a.drips[d.ID]; old != nil && len(d.Released) < len(old.Released) {
		fail("the timed delivery of deal %s took days back", d.DealID)
	}
	if len(d.Released) > len(d.Pieces) || (d.Status == drip.Completed) != (len(d.Released) == len(d.Pieces)) {
		fail("the timed delivery of deal %s is %s after %d of %d days", d.DealID, d.Status, len(d.Released), len(d.Pieces))
	}
	for i, r := range d.Released {
		if i > 0 && !r.Date.After(d.Released[i-1].Date) || r.ReleasedAt.Before(r.At) || r.At.Before(d.ApprovedAt) {
			fail("the timed delivery of deal %s: day %d is %+v", d.DealID, i+1, r)
		}
	}
	a.drips[d.ID] = d
}

// wound: what is still to land has exactly one timer, at or before it.
func (a *audit) wound(d *drip.Schedule) {
	_, due, runs := d.Next()
	if d.Behind > 0 {
		due, runs = a.now(), true
	}
	subject := drip.Subject(d.ID, d.PersonID)
	if !runs {
		if a.waiting[subject] != 0 || d.Timer.Set() {
			fail("%d timers of a timed delivery that is %s: %+v", a.waiting[subject], d.Status, d.Timer)
		}
		return
	}
	c, there := a.clocks[clock.Key("bench", d.Timer.Kind, subject, d.Timer.Due)]
	if !there || a.waiting[subject] != 1 || c.due.After(due) {
		fail("a timed delivery is due at %v, its timer is %+v, %d wait", due, d.Timer, a.waiting[subject])
	}
}

// line: a line of money is put once, and after that only its way to the processor goes on.
func (a *audit) line(w *table.Write) {
	l := decode[money.Line](w.Data)
	d := a.deals[l.DealID]
	if d == nil {
		fail("money moves in a deal that is not there: %+v", l)
	}
	old := d.lines[w.Key.SK]
	if (old == nil) != (w.Kind == table.Create) {
		fail("a second line under %v", w.Key)
	}
	rank := []string{money.Intended, money.Sent, money.Confirmed}
	if old != nil && (old.Cents != l.Cents || old.Cause != l.Cause || slices.Index(rank, l.State) < slices.Index(rank, old.State)) {
		fail("a line was rewritten: %+v, then %+v", old, l)
	}
	d.lines[w.Key.SK] = l
}

// check holds a deal against what its rows and its events say.
func (a *audit) check(d *watched) {
	m, sums := d.Money, map[string]int64{}
	for _, l := range d.lines {
		sums[l.Kind] += l.Cents
		if l.Kind != money.Release {
			continue
		}
		if s := d.Find(l.StepID, false); l.Cause == "" || s == nil || s.State != path.Approved || s.Cause != l.Cause || s.Cents != l.Cents {
			fail("a release without its approval: %+v", l)
		}
	}
	if m.Funded != m.Held+m.Released+m.Returned || m.Held < 0 || m.Released < 0 || m.Returned < 0 || d.Status == path.Ended && m.Held != 0 {
		fail("deal %s (%s): %+v", d.ID, d.Status, m)
	}
	if sums[money.Fund] != m.Funded || sums[money.Release] != m.Released || sums[money.Return] != m.Returned {
		fail("deal %s: lines %v, account %+v", d.ID, sums, m)
	}
	d.told.matches(d.Deal)
}

// armed: whatever fell due before a commit is settled with it, and a deal that runs has exactly
// one timer, at or before its next deadline.
func (a *audit) armed(d *path.Deal, written bool) {
	due, _, runs := d.Next()
	if !runs {
		if a.waiting[d.ID] != 0 {
			fail("%d timers of deal %s wait for nothing", a.waiting[d.ID], d.ID)
		}
		return
	}
	if now := clock.Cut(a.now()); written && !due.After(now) {
		fail("deal %s is written at %v and something of it fell due at %v", d.ID, now, due)
	}
	c, there := a.clocks[clock.Key("bench", d.Timer.Kind, d.ID, d.Timer.Due)]
	if there && a.waiting[d.ID] == 1 && !c.due.After(due) {
		return
	}
	fail("a lost clock: deal %s is due at %v, its timer is %+v, %d rows wait", d.ID, due, d.Timer, a.waiting[d.ID])
}

// live lists the deals that run, oldest first.
func (a *audit) live() (out []*watched) {
	for _, id := range a.order {
		if d := a.deals[id]; d.Live() {
			out = append(out, d)
		}
	}
	return out
}

// takesBids tells whether a want is open and nobody's bid on it is accepted.
func (w *wanted) takesBids() bool { return w.Status == wants.Open && w.BidID == "" }

func text(v any) string {
	b, err := json.Marshal(v)
	must(err)
	return string(b)
}
