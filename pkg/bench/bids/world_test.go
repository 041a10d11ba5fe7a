package bids_test

import (
	"testing"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/op/optest"
)

type (
	obj    = benchtest.Obj
	person = benchtest.Poster
	maker  = benchtest.Maker
)

// world is the shared exchange with what this package's tests do in it.
type world struct{ *benchtest.World }

func newWorld(t testing.TB, opts ...optest.Option) *world {
	return &world{benchtest.New(t, opts...)}
}
