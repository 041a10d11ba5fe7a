// Package site has the pages of the exchange. Pages call operations and nothing else.
package site

import (
	"log/slog"
	"net/http"
	"slices"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
)

// Config is what the pages need.
type Config struct {
	// Caller runs operations in this process; *op.Engine is one.
	Caller page.Caller
	// Find returns an operation by its id.
	Find func(id string) *op.Operation
	// BaseURL is the public address, no slash at the end.
	BaseURL string
	// FormKey signs forms.
	FormKey id.Keyring
	// Till serves the pages of the simulated payment processor; nil where a real one has
	// pages of its own.
	Till Till
	// NewID makes UUIDs.
	NewID func() string
	// Now is the exchange's clock: the time of a signature typed on a page.
	Now func() time.Time
	// Log takes what went wrong; nil logs nothing.
	Log *slog.Logger
}

// site is the pages' view of their configuration.
type site struct{ Config }

// Handler serves every page; whatever no page claims is answered with the page that says
// so. Files below /static/ are an operation's (Static).
func Handler(c Config) http.Handler {
	s := &site{c}
	return page.Handler(Pages(c), page.Options{Caller: c.Caller, Find: c.Find, BaseURL: c.BaseURL, Keys: c.FormKey, NewID: c.NewID,
		Render: s.render, Trouble: s.trouble, Plain: plainTrouble, Log: c.Log})
}

// Pages declares every page. The declarations alone (addresses and the operations behind
// them) need no configuration.
func Pages(c Config) []*page.Page {
	s := &site{c}
	return slices.Concat(s.homePages(), s.sessionPages(), s.mailedPages(), s.wantPages(), s.dealPages(), s.filePages(), s.schedulePages(), passportPages(), s.topicPages(), s.tillPages())
}
