package main

import (
	"fmt"
	"strings"
)

// seeds is within how many seeds a bug has to be found.
const seeds = 1000

// simulation is what has to find a bug.
type simulation struct {
	dir   string
	flags []string
}

var (
	ofPath     = simulation{"pkg/bench/deals/path", []string{fmt.Sprintf("-path.seeds=%d", seeds)}}
	ofExchange = simulation{"tests/simulation", []string{fmt.Sprintf("-seeds=%d", seeds)}}
)

// mutant is one deliberate bug: a text that stands in a file exactly once, and what takes
// its place.
type mutant struct {
	name    string
	by      simulation
	file    string
	find    string
	replace string
}

// apply puts the bug in; an error when its place is gone or no longer one.
func (m mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.find); n != 1 {
		return "", fmt.Errorf("the patch no longer applies: its text stands %d times in %s", n, m.file)
	}
	return strings.Replace(text, m.find, m.replace, 1), nil
}

// mutants are the bugs, by what a tired programmer might do. Those in pkg/op and
// pkg/bench/money lie in code that nobody wrote for these simulations.
var mutants = []mutant{
	{"dropped-condition", ofPath, "pkg/bench/deals/path/answer.go",
		`d.Open() != s || s.State != Waiting:`, `d.Open() != s:`},
	{"deadline-off-by-a-day", ofPath, "pkg/bench/deals/path/settle.go",
		`LapseAfter = 14 * Day`, `LapseAfter = 13 * Day`},
	{"deadline-met-too-late", ofPath, "pkg/bench/deals/path/settle.go",
		`n.due.After(now)`, `!n.due.Before(now)`},
	{"early-drop-of-a-pick", ofPath, "pkg/bench/deals/path/pick.go",
		`case at.Before(d.PickedAt.Add(SignDrop)):`, `case at.Before(d.PickedAt.Add(SignDrop / 2)):`},
	{"second-release", ofPath, "pkg/bench/deals/path/settle.go",
		`d.approve(s, at, ByStale, 0)`, `d.emit(Event{Word: record.StepReleased, At: at, Step: s.Number, Cause: ByStale, Cents: s.Cents})
	d.approve(s, at, ByStale, 0)`},
	{"clock-that-never-pauses", ofPath, "pkg/bench/deals/path/event.go",
		`d.AgentTime += Of(at.Sub(s.StartedAt))`, `d.AgentTime = Of(at.Sub(s.StartedAt))`},
	{"silence-hands-over", ofPath, "pkg/bench/deals/path/settle.go",
		`return s.Ask != proposal.Approve || d.StaleInRow >= 2`, `return s.Ask != proposal.Approve && false || d.StaleInRow >= 2`},
	{"lost-clock", ofExchange, "pkg/bench/deals/apply.go",
		`if runs && t.Set() && !t.Due.After(due) {`, `if runs && t.Set() {`},
	{"forgotten-disarm", ofExchange, "pkg/bench/deals/apply.go",
		`x.c.Disarm(t)`, `_ = t`},
	{"swallowed-conflict", ofExchange, "pkg/op/engine.go",
		"	if err := e.Store.Commit(c, tx); err != nil {\n		return err\n	}", "	if err := e.Store.Commit(c, tx); err != nil && !errors.Is(err, table.ErrConflict) {\n		return err\n	}"},
	{"split-commit", ofExchange, "pkg/op/idem.go",
		`if !k.wanted() || res.Raw != nil {`, `if k.wanted() || res.Raw != nil {`},
	{"shared-payment-key", ofExchange, "pkg/bench/money/money.go",
		`return "release:" + l.DealID + ":" + l.StepID`, `return "release:" + l.DealID`},
	{"transfer-counted-twice", ofExchange, "pkg/bench/money/effect.go",
		`if l.State == Intended { // the notice came before the answer`, `if l.State != "" {`},
	{"claim-for-ever", ofExchange, "pkg/edge/jobs/effect.go", // a process ends between its claim and what it settles
		`c.Now.Add(holdFor)`, `c.Now.Add(10000 * holdFor * 60)`},
	{"sweep-of-what-is-new", ofExchange, "pkg/edge/jobs/sweep.go", // its message was lost: nobody looks again
		`table.Query{PK: clock.Partition(r.Context, m.Shard), After: m.After,`, `table.Query{PK: clock.Partition(r.Context, m.Shard), After: m.After, From: clock.Stamp(r.now.Add(-Ahead)),`},
	{"lost-update", ofExchange, "pkg/table/mem/mem.go", // seen only by two processes at once
		`holds = version(old) == w.Version`, `holds = old != nil`},
	{"late-write", ofExchange, "pkg/bench/deals/deal.go", // what fell due is left to a sweep that has not come
		`	d.Settle(c.Now)
	return &d, true, nil`, `	return &d, true, nil`},
	{"somebody-else's-deal", ofExchange, "pkg/bench/deals/deal.go",
		`(!found || d.AgentID != c.Caller.ID)`, `!found`},
	{"somebody-else's-answers", ofExchange, "pkg/bench/bids/own.go",
		`(!found || b.AgentID != c.Caller.ID || `, `(!found || `},
	{"two-deals-on-a-want", ofExchange, "pkg/bench/deals/accept.go",
		`case o.want.BidID != "":`, `case o.want.BidID == "-":`},
	{"pick-that-keeps-its-want", ofExchange, "pkg/bench/deals/follow.go",
		`w.BidID, w.DealID, w.UpdatedAt = "", "", e.At`, `w.DealID, w.UpdatedAt = "", e.At`},
}
