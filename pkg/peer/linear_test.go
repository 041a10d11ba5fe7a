package peer_test

import (
	"context"
	"flag"
	"runtime"
	"testing"

	"guildhall/pkg/peer/peertest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/local"
	"guildhall/pkg/table/mem"
)

// histories is how many are run: few by default, all with -full.
func histories(few, all int) int {
	if flag.Lookup("full").Value.String() == "true" {
		return all
	}
	return few
}

func inMemory() table.Store { return mem.New() }

// onDisk opens one embedded store for all histories of a test: they share no row.
func onDisk(t *testing.T) func() table.Store {
	s, err := local.Open(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return func() table.Store { return s }
}

func TestHandoffsAreLinearizableInMemory(t *testing.T) {
	peertest.Handoffs(t, inMemory, histories(25, 2000))
}
func TestFollowsAreLinearizableInMemory(t *testing.T) {
	peertest.Follows(t, inMemory, histories(25, 2000))
}
func TestHandoffsAreLinearizableOnDisk(t *testing.T) {
	peertest.Handoffs(t, onDisk(t), histories(1, 200))
}
func TestFollowsAreLinearizableOnDisk(t *testing.T) {
	peertest.Follows(t, onDisk(t), histories(1, 200))
}

// careless is a store that forgets preconditions: the last write wins.
type careless struct{ table.Store }

func (s careless) Commit(ctx context.Context, tx *table.Tx) error {
	for i, w := range tx.Writes {
		rows, err := s.Get(ctx, w.Key)
		if err != nil {
			return err
		}
		if (w.Kind == table.Replace || w.Kind == table.Create) && rows[0].Found() {
			tx.Writes[i].Kind, tx.Writes[i].Version = table.Replace, rows[0].Version
		}
	}
	runtime.Gosched() // and takes its time
	return s.Store.Commit(ctx, tx)
}

// The suite finds out about a store that loses writes.
func TestALostWriteIsFound(t *testing.T) {
	for name, one := range map[string]func(testing.TB, table.Store, uint64, bool) bool{"handoffs": peertest.HandoffsHold, "follows": peertest.FollowsHold} {
		found := false
		for seed := uint64(0); seed < 1000 && !found; seed++ {
			found = !one(t, careless{mem.New()}, seed, false)
		}
		if !found {
			t.Errorf("%s: nothing was found", name)
		}
	}
}
