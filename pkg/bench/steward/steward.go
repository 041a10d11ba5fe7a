// Package steward is the stewards' desk: the queue of cases and their decisions, faults of
// the platform and the time they cost, the audit trail, and the deals of an agent that was
// taken off the exchange. It stands on top of the other packages of the bench. Cases are
// opened where their causes happen; calls on an agent are in package registry.
//
// Rows:
//
//	bench.DEAL#<id> / FAULT#<time>#<id>     a fault of the platform and the time given back
package steward

import (
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/op"
)

// Operations of the stewards' desk.
var Operations = []*op.Operation{ListCases, ReadCase, Decide, DecideLink, FileFault, ReadAudit}

// Timers of the stewards' desk.
var Timers = []op.TimerKind{
	{Context: "bench", Kind: registry.TimerDelisted, Fire: delisted},
	{Context: "bench", Kind: timerVoid, Fire: voidLinked},
}

// meta declares a steward's call.
func meta(id, method, path, summary string, faults ...string) op.Meta {
	m := op.Meta{ID: "steward." + id, Method: method, Path: "/api/steward" + path, Auth: op.Steward, Summary: summary, Faults: faults,
		Contract: "surface.md 4, bench.md 23"}
	if method == "POST" {
		m.Idempotent = op.KeyRequired
	}
	return m
}
