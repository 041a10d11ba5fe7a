package desk_test

import (
	"testing"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/delivery"
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
	return &world{benchtest.New(t, append(opts, optest.WithTimers(delivery.Timers...))...)} // a new time zone is delivery's to hear of
}
