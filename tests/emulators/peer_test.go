package emulators

import (
	"testing"

	"github.com/sivchari/kumo"

	"guildhall/pkg/peer/peertest"
	"guildhall/pkg/table"
)

// peerHistories is how many concurrent histories of a handoff and of a follow set are held
// against an order of their calls.
const peerHistories = 50

func TestThePeerExchangeIsLinearizableOnKumo(t *testing.T) {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	s := openTable(t, server.URL)
	store := func() table.Store { return s }
	t.Run("handoffs", func(t *testing.T) { peertest.Handoffs(t, store, peerHistories) })
	t.Run("follows", func(t *testing.T) { peertest.Follows(t, store, peerHistories) })
	met("peer exchange", kumoVersion)
}
