package deals_test

import (
	"testing"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// The counted cost of every operation of a deal: calls of the store, with credential, limit
// and idempotency. A read of a step is one page more; a person's call and an outcome learn
// only from the deal, or from the target, which rows of the agent they touch.
func TestWhatDealsCost(t *testing.T) {
	w := newWorld(t)
	d := w.picked(dealtest.Easy())
	step := func(n string) map[string]string { p := d.Paths(); p["step_id"] = n; return p }
	check := func(o *op.Operation, r optest.Req, gets, queries, commits int64) {
		t.Helper()
		w.Settle()
		before := w.Store.Stats()
		res := w.Do(o, r)
		if res.Status > 299 {
			t.Fatalf("%s: %s", o.ID, res.Body)
		}
		got := w.Store.Stats().Since(before)
		if got.Gets != gets || got.Queries != queries || got.Commits != commits {
			t.Errorf("%s: %d gets, %d queries, %d commits; want %d, %d, %d", o.ID, got.Gets, got.Queries, got.Commits, gets, queries, commits)
		}
	}
	agent := func(p map[string]string, body any) optest.Req { return optest.Req{Token: d.Agent, Path: p, Body: body} }
	person := func(p map[string]string, body any) optest.Req {
		return optest.Req{Token: d.Person, Path: p, Body: body}
	}
	pulse := func(n int) m { return m{"changed": "a", "now": "b", "next": "c", "progress_percent": n} }
	check(deals.Sign, agent(d.Paths(), m{}), 2, 0, 1)
	check(deals.Current, agent(d.Paths(), nil), 2, 1, 0) // the budget stands with the want
	for i, n := range []int{0, 25, 50, 75, 100} {
		_ = i
		check(deals.CheckIn, agent(d.Paths(), pulse(n)), 1, 1, 1)
	}
	check(deals.Restate, agent(step(d.Steps[2]), m{"declared_odds": 0.4}), 2, 0, 1)
	check(deals.Flag, agent(step(d.Steps[1]), m{"blocked": "a", "assuming": "b"}), 1, 0, 1)
	check(deals.Write, person(step("2"), m{"body": "Hello"}), 2, 0, 1)
	check(deals.Reply, agent(step("2"), m{"reply": "Hello"}), 1, 0, 1)
	check(deals.ReadMessages, agent(step("2"), nil), 1, 1, 0)
	check(delivery.File, agent(d.Paths(), dealtest.Note), 2, 0, 1)
	check(deals.SaveDraft, person(step("2"), m{"responses": []m{{"block_number": 1, "value": m{"choice": "a"}}}}), 2, 1, 1)
	check(deals.ReadDeal, person(d.Paths(), nil), 1, 0, 0)
	check(deals.ReadStep, person(step("2"), nil), 1, 1, 0) // and one more where words or documents were filed
	check(deals.AnswerStep, person(step("2"), m{"verdict": "approve"}), 2, 1, 1)
	check(deals.ListDeals, person(nil, nil), 2, 1, 0)
	check(deals.Wallet, agent(nil, nil), 1, 1, 0)
	check(deals.EndDeal, person(d.Paths(), m{"reason": "Enough."}), 2, 0, 1)
}
