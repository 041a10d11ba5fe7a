package wants_test

import (
	"testing"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
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

// used is what the files of a want weigh together.
func (w *world) used(target string) (n int64) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) (err error) { n, err = wants.UsedBytes(c, target); return err })
	return n
}
