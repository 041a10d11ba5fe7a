package faulty

import (
	"context"
	"strings"

	"guildhall/pkg/table"
)

// Mode is what a fault does to a call.
type Mode string

// The modes, named as the local controls name them (contract/surface.md 2).
const (
	FailBefore Mode = "fail_before" // ErrUnavailable; nothing happened
	FailAfter  Mode = "fail_after"  // the call happened; the answer is ErrUnavailable all the same
	Conflict   Mode = "conflict"    // a commit is refused with ErrConflict; reads are left alone
	Throttle   Mode = "throttle"    // ErrUnavailable and ErrThrottled; nothing happened
	Delay      Mode = "delay"       // Hook runs before the call, which happens when Hook returns nil
	Duplicate  Mode = "duplicate"   // the call happens twice; the answer is the second one's
	Drop       Mode = "drop"        // the call never arrives: ErrUnavailable and a timeout, at once
)

// Modes lists them all.
var Modes = []Mode{FailBefore, FailAfter, Conflict, Throttle, Delay, Duplicate, Drop}

// Op is a call of the port.
type Op string

// The calls.
const (
	Get    Op = "get"
	Query  Op = "query"
	Commit Op = "commit"
	List   Op = "list"
	Purge  Op = "purge"
)

// Call is what a fault may look at.
type Call struct {
	Op    Op
	Keys  []table.Key // of a Get and of a Commit's writes, in order
	Query table.Query // of a Query
	Tx    *table.Tx   // of a Commit
}

// names tells whether the text is part of a key or a partition of the call. A key reads
// "PK / SK", as table.Key prints itself.
func (c Call) names(text string) bool {
	if c.Op == Query {
		return strings.Contains(c.Query.PK, text)
	}
	for _, k := range c.Keys {
		if strings.Contains(k.String(), text) {
			return true
		}
	}
	return false
}

// Fault is what goes wrong and when. A call meets it when it satisfies all of Op, Key and
// Match that are set; of those calls the first Skip pass unharmed, and the fault strikes the
// Times after them.
type Fault struct {
	Mode  Mode
	Op    Op     // this call only; empty: any
	Key   string // only calls with this text in a key ("PK / SK") or a partition
	Match func(ctx context.Context, c Call) bool
	Skip  int                             // calls that pass first: n-1 to strike the n-th
	Times int                             // calls it strikes; 0: one; Forever: every one
	Hook  func(ctx context.Context) error // what Delay waits for; an error is the call's answer
}

// Forever is the Times of a fault that stays until Clear.
const Forever = -1

// meets tells whether the fault is about this call.
func (f Fault) meets(ctx context.Context, c Call) bool {
	if f.Mode == Conflict && c.Op != Commit {
		return false
	}
	return (f.Op == "" || f.Op == c.Op) && (f.Key == "" || c.names(f.Key)) && (f.Match == nil || f.Match(ctx, c))
}
