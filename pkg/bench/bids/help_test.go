package bids_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

func text(v any) string { b, _ := json.Marshal(v); return string(b) }

// try files a body and answers whatever comes.
func (w *world) try(m maker, target string, body any) optest.Res {
	w.T.Helper()
	return w.Do(bids.FileProposal, optest.Req{Token: m.Token, Path: benchtest.On(target), Body: body})
}

func (w *world) plan(m maker, target, bid string, body any) optest.Res {
	w.T.Helper()
	return w.Do(bids.FilePlan, optest.Req{Token: m.Token, Path: benchtest.On(target, bid), Body: body})
}

// goodPlan is the bid's own steps, signed.
func goodPlan() obj { return obj{"steps": benchtest.Bid()["steps"], "accept_rules": true} }

func (w *world) withdraw(m maker, bid string) optest.Res {
	w.T.Helper()
	return w.Do(bids.Withdraw, optest.Req{Token: m.Token, Path: map[string]string{"proposal_id": bid}})
}

func (w *world) tryName(p person, target, bid string) optest.Res {
	w.T.Helper()
	return w.Do(bids.Name, optest.Req{Token: p.Token, Path: benchtest.On(target), Body: obj{"proposal_id": bid}})
}

func (w *world) reject(p person, target, bid, reason string) optest.Res {
	w.T.Helper()
	return w.Do(bids.Reject, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"reason": reason}})
}

// mine is an agent's bid as its list shows it.
func (w *world) mine(m maker, bid string) optest.Res {
	w.T.Helper()
	r := w.Do(bids.Mine, optest.Req{Token: m.Token}).Want(200)
	for _, b := range r.At("proposals").([]any) {
		if b.(obj)["proposal_id"] == bid {
			r.JSON = b.(obj)
			return r
		}
	}
	w.T.Fatalf("no bid %s in %s", bid, r.Body)
	return r
}

func (w *world) stored(bid string) (b bids.Bid) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) (err error) { b, _, err = bids.Load(c, bid); return err })
	return b
}

// events are the types of an agent's events about a bid.
func (w *world) events(m maker, bid string) (types []string) {
	for _, e := range w.feed(m) {
		if e.ProposalID == bid {
			types = append(types, e.Type)
		}
	}
	return types
}

func (w *world) feed(m maker) (all []record.Entry) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) (err error) {
		all, _, err = record.Feed(c, m.ID, 0, record.MaxFeedPage)
		return err
	})
	return all
}

// ledger are the public events about a target with their times.
func (w *world) ledger(target string) (words []string) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) error {
		var all []record.Pending
		for n := range record.Shards {
			events, _, err := record.PendingPage(c, fmt.Sprint(n), table.MaxPageRows)
			if err != nil {
				return err
			}
			all = append(all, events...)
		}
		slices.SortStableFunc(all, func(a, b record.Pending) int { return a.At.Compare(b.At) })
		for _, e := range all {
			if e.Refs.TargetID == target {
				words = append(words, string(e.Event))
			}
		}
		return nil
	})
	return words
}

// mcp is a token of the agent that opens the MCP door.
func (w *world) mcp(m maker, scopes ...string) (token string) {
	w.T.Helper()
	w.Run("bench", func(c *op.Call) (err error) {
		token, err = account.MCPToken.Issue(c, m.ID, scopes, c.Now.Add(1000*time.Hour))
		return err
	})
	return token
}

// late lets the clock run on without any sweep; the function ends it.
func (w *world) late(d time.Duration) (end func()) {
	was := w.Engine.Now
	w.Engine.Now = func() time.Time { return was().Add(d) }
	return func() { w.Engine.Now = was }
}

func parallel(n int, fn func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; fn(i) })
	}
	close(start)
	wg.Wait()
}

// finalist is a want with one named bid whose answers were sent.
func (w *world) finalist() (p person, m maker, target, bid string) {
	w.T.Helper()
	p, m = w.Poster("ada"), w.Maker("Maker")
	target = w.Easy(p)
	bid = w.File(m, target)
	w.Name(p, target, bid)
	w.Hand(p, target, bid)
	return p, m, target, bid
}

// close takes a want down.
func (w *world) close(p person, target string) {
	w.T.Helper()
	w.Do(wants.Close, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
}

// ready makes an agent's payout account ready.
func (w *world) ready(m maker) {
	w.T.Helper()
	w.Change(m, func(a *registry.Agent) { a.Payout.Ready = true })
}

// registration is what a new agent sends.
func registration(handle string) obj {
	return obj{
		"handle": handle, "skills": "Finds venues and books them.",
		"disclosure": obj{"is_ai": true, "model": "claude-sonnet-4-6", "operator_label": "Nine Doors Labs", "operator_type": "company",
			"company_url": "https://www.ninedoors.example.com/about"},
		"system_record": obj{"autonomy": "fully_autonomous", "harness": "nine-runner", "harness_version": "1.4",
			"base_models": []any{obj{"provider": "anthropic", "model": "claude-sonnet-4-6", "version": "2026-05"}}},
		"responsible_party": obj{"legal_name": "Nine Doors LLC", "jurisdiction": "US-CA", "contact_ref": "ops@ninedoors.example.com"},
		"rules":             obj{"accepted": true, "version_hash": rulebook.Hash()},
	}
}
