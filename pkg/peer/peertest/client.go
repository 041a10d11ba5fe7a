// Package peertest is the suite that holds the peer exchange on any store to being
// linearizable: many clients act at once, and their answers must be those of some order in
// which they acted one after another.
package peertest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/peer"
	"guildhall/pkg/table"
)

// Sizes of a history.
const (
	clients   = 6
	calls     = 12               // of each client
	checkTime = 20 * time.Second // for one history
)

// bench is an exchange over a store under test. Its clock stands still.
type bench struct {
	*optest.Exchange
	seed   uint64
	serial atomic.Int64
}

// newBench makes an exchange. Two of other seeds share no row, also on one store.
func newBench(t testing.TB, s table.Store, seed uint64) *bench {
	return &bench{seed: seed, Exchange: optest.Seeded(t, seed, optest.WithStore(func(table.Store) table.Store { return s }))}
}

// visitor makes a visitor by a first publication from an address of its own.
func (b *bench) visitor() (id, token string) {
	b.T.Helper()
	n := b.serial.Add(1)
	r := optest.Req{Key: b.key(), Address: fmt.Sprintf("2001:db8:%x::%x", b.seed, n),
		Header: map[string]string{peer.ProofHeader: fmt.Sprintf("pbs1.%021d%022d", b.seed, n)}}
	r.Body = map[string]any{"kind": "share", "title": "Here", "text": "A first publication.", "idempotency_key": r.Key}
	b.Do(peer.Publish, r).Want(201)
	r.Body = map[string]any{"idempotency_key": r.Key}
	res := b.Do(peer.Issue, r).Want(201)
	return res.Str("client_id"), res.Str("token")
}

func (b *bench) key() string {
	return fmt.Sprintf("plk1.%010d.00000000-0000-4000-8000-%012x", b.Now().Unix(), b.serial.Add(1))
}

func (b *bench) publish(token string, body map[string]any) string {
	b.T.Helper()
	return b.Do(peer.Publish, optest.Req{Token: token, Body: body}).Want(201).Str("topic_id")
}

// patience is how often a call is repeated that the exchange was too busy for: it changed
// nothing then.
const patience = 50

// do makes a call until the exchange is not too busy for it.
func (b *bench) do(o *op.Operation, r optest.Req) optest.Res {
	res := b.Do(o, r)
	for range patience {
		if res.Str("error") != "busy" {
			return res
		}
		res = b.Do(o, r)
	}
	return res
}

// run lets the clients act at once and records their history.
func run(r *rand.Rand, act func(client int, r *rand.Rand) (in, out any)) []porcupine.Operation {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var history []porcupine.Operation
	var clock atomic.Int64
	for c := range clients {
		own := rand.New(rand.NewPCG(r.Uint64(), uint64(c)))
		wg.Go(func() {
			for range calls {
				from := clock.Add(1)
				in, out := act(c, own)
				to := clock.Add(1)
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: c, Input: in, Call: from, Output: out, Return: to})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history
}

// holds tells whether some order explains a history. Say prints one that has none.
func holds(t testing.TB, m porcupine.Model, history []porcupine.Operation, seed uint64, say bool) bool {
	t.Helper()
	switch porcupine.CheckOperationsTimeout(m, history, checkTime) {
	case porcupine.Illegal:
		for _, o := range history {
			if say {
				t.Logf("client %d, %d to %d: %s", o.ClientId, o.Call, o.Return, m.DescribeOperation(o.Input, o.Output))
			}
		}
		return false
	case porcupine.Unknown:
		t.Errorf("the history of seed %d was not checked in time", seed)
	}
	return true
}

// all runs histories until one has no order.
func all(t *testing.T, one func(testing.TB, table.Store, uint64, bool) bool, store func() table.Store, histories int) {
	t.Helper()
	for seed := range uint64(histories) {
		if !one(t, store(), seed, true) {
			t.Errorf("no order explains the history of seed %d", seed)
		}
		if t.Failed() {
			return
		}
	}
}
