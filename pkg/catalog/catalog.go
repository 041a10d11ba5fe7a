// Package catalog collects every operation and job of every context. The documents, the
// functions, the infrastructure and the local server are made from it; nothing of AWS is
// linked into it.
package catalog

import (
	"slices"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/closing"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/desk"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/steward"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/commons"
	"guildhall/pkg/files"
	"guildhall/pkg/help"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/peer"
	texts "guildhall/pkg/sms/outbox"
)

// Part is what one package brings: its path below pkg, the context whose sweep fires its
// timers ("" for every context's), and its lists (nil for none).
type Part struct {
	Path       string
	Context    string
	Operations []*op.Operation
	Timers     []op.TimerKind
	Effects    []op.EffectKind
}

// parts names every package with operations, timers or effects, one a line. A part of no
// context brings effects that any context may stage.
var parts = []Part{
	{Path: "mail/outbox", Effects: outbox.Effects},
	{Path: "account", Context: "person", Operations: account.Operations},
	{Path: "bench/closing", Context: "person", Effects: closing.Effects},
	{Path: "bench/registry", Context: "bench", Operations: registry.Operations},
	{Path: "bench/money", Context: "bench", Timers: money.Timers, Effects: money.Effects},
	{Path: "bench/wants", Context: "bench", Operations: wants.Operations, Timers: wants.Timers, Effects: wants.Effects},
	{Path: "files", Operations: files.Operations},
	{Path: "bench/desk", Context: "bench", Operations: desk.Operations},
	{Path: "bench/bids", Context: "bench", Operations: bids.Operations, Timers: bids.Timers},
	{Path: "bench/deals", Context: "bench", Operations: deals.Operations, Timers: deals.Timers, Effects: deals.Effects},
	{Path: "bench/delivery", Context: "bench", Operations: delivery.Operations, Timers: delivery.Timers},
	{Path: "sms/outbox", Context: "bench", Effects: texts.Effects},
	{Path: "bench/steward", Context: "bench", Operations: steward.Operations, Timers: steward.Timers},
	{Path: "help", Context: "help", Operations: help.Operations, Timers: help.Timers},
	{Path: "peer", Context: "peer", Operations: peer.Operations},
	{Path: "commons", Context: "commons", Operations: commons.Operations, Timers: commons.Timers},
}

// Contexts are the owners of clocks, in the order of the documents.
var Contexts = []string{"bench", "person", "help", "peer", "commons"}

// Operations lists every operation that has a route, by id.
func Operations() []*op.Operation {
	return slices.DeleteFunc(All(), func(o *op.Operation) bool { return o.ToolOnly })
}

// All lists every operation by id, those that are MCP tools alone too.
func All() []*op.Operation {
	var all []*op.Operation
	for _, p := range parts {
		all = append(all, p.Operations...)
	}
	return op.Sort(all)
}

// Find returns an operation by id, or nil.
func Find(id string) *op.Operation {
	for _, p := range parts {
		for _, o := range p.Operations {
			if o.ID == id {
				return o
			}
		}
	}
	return nil
}

// Timers lists the timers a context's sweep fires.
func Timers(context string) []op.TimerKind {
	var all []op.TimerKind
	for _, p := range parts {
		if p.Context == context || p.Context == "" {
			all = append(all, p.Timers...)
		}
	}
	return all
}

// Effects lists the side effects a context's sweep does.
func Effects(context string) []op.EffectKind {
	var all []op.EffectKind
	for _, p := range parts {
		if p.Context == context || p.Context == "" {
			all = append(all, p.Effects...)
		}
	}
	return all
}

// Swept lists the packages a context's sweep links.
func Swept(context string) []Part {
	var all []Part
	for _, p := range parts {
		if (p.Context == context || p.Context == "") && len(p.Timers)+len(p.Effects) > 0 {
			all = append(all, p)
		}
	}
	return all
}
