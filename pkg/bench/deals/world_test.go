package deals_test

import (
	"testing"

	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/op/optest"
)

type m = dealtest.M

// world is the shared exchange, and deal a deal in it, with what this package's tests do.
type (
	world struct{ *dealtest.Hall }
	deal  struct {
		*world
		*dealtest.Deal
	}
)

func newWorld(t testing.TB, opts ...optest.Option) *world { return &world{dealtest.New(t, opts...)} }

func (w *world) posted(body m) *deal   { w.T.Helper(); return &deal{w, w.Posted(body)} }
func (w *world) finalist(body m) *deal { w.T.Helper(); return &deal{w, w.Finalist(body)} }
func (w *world) picked(body m) *deal   { w.T.Helper(); return &deal{w, w.Picked(body)} }
func (w *world) signed(body m) *deal   { w.T.Helper(); return &deal{w, w.Signed(body)} }
