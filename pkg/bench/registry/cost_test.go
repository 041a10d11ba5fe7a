package registry

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table/mem"
)

// The counted cost of every operation of the registry: calls of the store, credential,
// limit and idempotency included.
func TestWhatTheRegistryCosts(t *testing.T) {
	w := newWorld(t)
	a := w.register("Counted")
	w.Settle()
	_, contact := w.mail.last(t, "ops@ninedoors.example.com")
	ch := w.challenge(a.ID)
	of := func(o *op.Operation, r optest.Req) mem.Stats {
		before := w.Store.Stats()
		if res := w.Do(o, r); res.Status > 299 {
			t.Errorf("%s: %s", o.ID, res.Body)
		}
		return w.Store.Stats().Since(before)
	}
	agent := func(body any) optest.Req { return optest.Req{Token: a.Token, Body: body} }
	cases := []struct {
		o                      *op.Operation
		r                      optest.Req
		gets, queries, commits int64
	}{
		{Me, agent(nil), 1, 0, 0},
		{ReadAttribution, agent(nil), 1, 0, 0},
		{MyCapabilities, agent(nil), 1, 0, 0},
		{Taxonomy, optest.Req{}, 0, 0, 0},
		{Protocol, optest.Req{}, 0, 0, 0},
		{AckPing, agent(nil), 1, 0, 1},
		{SetAttribution, agent(obj{"affiliation": "house"}), 1, 0, 1},
		{DeclareCapabilities, agent([]any{"weather"}), 1, 0, 1},
		{DeclareSystem, agent(obj{"change_summary": "New.", "system_record": obj{"autonomy": "human_assisted", "base_models": []any{obj{"model": "m"}}}}), 1, 0, 1},
		{SetRecoveryKey, agent(obj{"recovery_public_key": pub(a.key)}), 1, 0, 1},
		{SetClientKey, agent(obj{"client_public_key": pub(a.key)}), 1, 0, 1},
		{ResendContact, agent(nil), 1, 0, 1},
		{ConfirmContact, optest.Req{Body: obj{"token": contact}}, 1, 0, 1},
		{Token, optest.Req{Body: obj{"client_id": ClientID(a.ID), "client_assertion": w.ticket(a).sign()}}, 1, 0, 1},
		{Validate, optest.Req{Body: form("Other")}, 1, 0, 1},
		{Register, optest.Req{Body: form("Other")}, 1, 1, 1}, // the newest numbers
		{List, optest.Req{}, 1, 1, 0},
		{ReadPassport, optest.Req{Path: map[string]string{"registry_no": a.No}}, 2, 2, 0}, // number, agent; versions, breaches
		{Challenge, optest.Req{Body: obj{"maker_ref": a.ID}}, 3, 0, 1},
		{Complete, optest.Req{Body: obj{"challenge_id": ch.Str("challenge_id"), "challenge": ch.Str("challenge"), "signature": sign(a, ch)}}, 4, 0, 1}, // challenge; agent; credential; its live MCP tokens
	}
	for _, c := range cases {
		got := of(c.o, c.r)
		if got.Gets != c.gets || got.Queries != c.queries || got.Commits != c.commits {
			t.Errorf("%s: %d gets, %d queries, %d commits; want %d, %d, %d", c.o.ID, got.Gets, got.Queries, got.Commits, c.gets, c.queries, c.commits)
		}
	}
	me := w.register("Rotated")
	a.Token = me.Token
	if got := of(Rotate, agent(nil)); got.Gets != 1 || got.Commits != 1 {
		t.Errorf("rotate: %+v", got)
	}
}

func TestParallelAcksMakeOneStepEach(t *testing.T) {
	w := newWorld(t)
	a := w.register("Hasty")
	var acked, idle atomic.Int32
	parallel(12, func(i int) {
		r := w.Do(AckPing, optest.Req{Token: a.Token, Address: fmt.Sprint(i)})
		switch {
		case r.Status == 503:
		case r.At("acked") == true:
			acked.Add(1)
		default:
			idle.Add(1)
		}
	})
	if acked.Load() != acksNeeded {
		t.Errorf("%d acks counted, %d found nothing open", acked.Load(), idle.Load())
	}
	var feed []record.Entry
	w.run(func(c *op.Call) (err error) { feed, _, err = record.Feed(c, a.ID, 0, 100); return err })
	for i, e := range feed {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has number %d", i, e.Seq)
		}
	}
	if len(feed) != 4 {
		t.Errorf("%d events: %+v", len(feed), feed)
	}
}

func TestParallelRotationsLeaveOneToken(t *testing.T) {
	w := newWorld(t)
	a := w.register("Spinning")
	tokens := make([]string, 8)
	parallel(len(tokens), func(i int) {
		tokens[i] = w.Do(Rotate, optest.Req{Token: a.Token, Key: fmt.Sprint("r", i), Address: fmt.Sprint(i)}).Str("rest_token")
	})
	live := 0
	for _, tok := range tokens {
		if tok != "" && w.Do(Me, optest.Req{Token: tok}).Status == 200 {
			live++
		}
	}
	if live != 1 || w.Do(Me, optest.Req{Token: a.Token}).Status != 401 {
		t.Errorf("%d tokens live", live)
	}
}

func TestWritesAreCountedByToken(t *testing.T) {
	w := newWorld(t)
	a, b := w.register("Busy"), w.register("Idle")
	for range Writes.N {
		w.Do(AckPing, optest.Req{Token: a.Token}).Want(200)
	}
	w.Do(AckPing, optest.Req{Token: a.Token}).Refused(429, "rate_limited")
	w.Do(SetAttribution, optest.Req{Token: a.Token, Body: obj{"affiliation": "house"}}).Refused(429, "rate_limited")
	w.Do(Me, optest.Req{Token: a.Token}).Want(200)
	w.Do(AckPing, optest.Req{Token: b.Token}).Want(200)
	w.Advance(time.Hour)
	w.Do(AckPing, optest.Req{Token: a.Token}).Want(200)
}
