package bids_test

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func TestAFiledBid(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	r := w.try(m, target, benchtest.GoodBid).Want(201)
	if len(r.JSON) != 3 || r.At("ok") != true || len(r.Str("proposal_id")) != 36 || r.Str("filed_at") != "2026-11-30T18:20:00Z" {
		t.Errorf("%s", r.Body)
	}
	b := w.stored(r.Str("proposal_id"))
	if b.Status != bids.Filed || b.Round != 1 || b.ModelDeclared != "Example Model 1" || b.SystemVersion != "v1" || b.TotalCents != 9000 || b.RegistryNo != m.No || b.AgentID != m.ID {
		t.Errorf("%+v", b)
	}
	if got := w.events(m, b.ID); !slices.Equal(got, []string{"bid.filed"}) {
		t.Error(got)
	}
	if got := w.ledger(target); !slices.Equal(got, []string{"target.posted", "bid.filed"}) {
		t.Error(got)
	}
	one := w.Do(wants.Read, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
	if one.Num("bid_count") != 1 || one.At("editable") != false {
		t.Errorf("%s", one.Body)
	}
}

func TestWhatMustNotBeSentIsIgnored(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	target := w.Easy(w.Poster("ada"))
	body := benchtest.With(benchtest.With(benchtest.With(benchtest.With(benchtest.Bid(), "agent_id", "somebody"), "target_id", "elsewhere"), "finish_line_odds", 0.5), "an_unknown_key", obj{})
	id := w.try(m, target, body).Want(201).Str("proposal_id")
	if b := w.stored(id); b.AgentID != m.ID || b.TargetID != target {
		t.Errorf("%+v", b)
	}
	row := w.row(bids.BodyKey(id))
	for _, s := range []string{"agent_id", "elsewhere", "finish_line_odds", "an_unknown_key"} {
		if strings.Contains(row, s) {
			t.Errorf("%s is stored: %s", s, row)
		}
	}
}

func (w *world) row(k table.Key) string {
	w.T.Helper()
	rows, err := w.Store.Get(w.T.(*testing.T).Context(), k)
	if err != nil {
		w.T.Fatal(err)
	}
	return string(rows[0].Data)
}

func TestRefusalsOfAFiling(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	closed, open := w.Easy(p), w.Easy(p)
	w.close(p, closed)
	const gone = `{"ok":false,"error":"target not found or not open"}`
	for _, id := range []string{closed, "00000000-0000-4000-8000-000000000000", "x", strings.Repeat("x", 400)} {
		if r := w.try(m, id, benchtest.GoodBid).Want(404); string(r.Body) != gone {
			t.Errorf("%s", r.Body)
		}
	}
	if r := w.try(m, closed, "{}").Want(404); string(r.Body) != gone {
		t.Errorf("what is not there comes before what is wrong: %s", r.Body)
	}
	r := w.try(m, open, benchtest.With(benchtest.Bid(), "pitch_title", nil)).Refused(422, "REJ-21")
	if r.Str("rej") != "REJ-21" || r.Str("detail") == "" || r.Str("message") == "" || r.Str("docs") != "/static/agent-skill.md" {
		t.Errorf("%s", r.Body)
	}
	w.try(m, open, benchtest.With(benchtest.Bid(), "total_ask_cents", 20100)).Refused(422, "REJ-02")
	w.try(m, open, "[]").Refused(422, "REJ-01")
	w.try(m, open, `{"model_declared":`).Refused(400, "invalid_json")
	w.try(m, open, strings.Replace(benchtest.GoodBid, `"timeline_days": 7`, `"timeline_days": 7, "timeline_days": 8`, 1)).Refused(400, "invalid_json")
	w.try(m, open, strings.Replace(benchtest.GoodBid, `9000`, `1e400`, 1)).Refused(400, "invalid_json")
	w.Do(bids.FileProposal, optest.Req{Token: m.Token, Path: benchtest.On(open), Body: benchtest.GoodBid, Type: "text/plain"}).Refused(415, "unsupported_media_type")
	w.Do(bids.FileProposal, optest.Req{Token: m.Token, Path: benchtest.On(open), Body: benchtest.GoodBid, Key: "-"}).Refused(400, "idempotency_key_required")
	w.Do(bids.FileProposal, optest.Req{Token: m.Token, Path: benchtest.On(open), Body: benchtest.GoodBid, Key: strings.Repeat("k", 201)}).Refused(400, "idempotency_key_required")
	w.Do(bids.FileProposal, optest.Req{Path: benchtest.On(open), Body: benchtest.GoodBid}).Refused(401, "unauthorized")
	w.Do(bids.FileProposal, optest.Req{Token: p.Token, Path: benchtest.On(open), Body: benchtest.GoodBid}).Refused(401, "unauthorized")
	w.try(m, open, `{"model_declared":"`+strings.Repeat("x", 1<<20)+`"}`).Refused(413, "body_too_large")
	reader := w.mcp(m, "targets:read")
	r = w.Do(bids.FileProposal, optest.Req{Token: reader, Transport: "mcp", Path: benchtest.On(open), Body: benchtest.GoodBid}).Refused(401, "unauthorized")
	if r.Str("missing_scope") != "proposals:write" {
		t.Errorf("%s", r.Body)
	}
	if n := w.Do(bids.Mine, optest.Req{Token: m.Token}).Num("count"); n != 0 {
		t.Errorf("%v refused bids left a row", n)
	}
	if got := w.feed(m); len(got) != 0 {
		t.Errorf("a refusal leaves no mark: %+v", got)
	}
	w.Change(m, func(a *registry.Agent) { a.SuspendedAt = w.Now() })
	w.try(m, open, benchtest.GoodBid).Refused(409, "new_work_suspended")
	w.try(m, open, "{}").Refused(409, "new_work_suspended")
	w.try(m, closed, benchtest.GoodBid).Refused(404, "target not found or not open")
}

func TestOneLiveBidOfAnAgentARound(t *testing.T) {
	w := newWorld(t)
	p, m, other := w.Poster("ada"), w.Maker("Maker"), w.Maker("Other")
	target := w.Easy(p)
	first := w.File(m, target)
	r := w.try(m, target, benchtest.GoodBid).Refused(409, "already_filed")
	if r.Str("proposal_id") != first {
		t.Errorf("%s", r.Body)
	}
	w.try(m, target, "{}").Refused(409, "already_filed") // state comes before the rules of a bid
	w.File(other, target)
	w.withdraw(m, first).Want(200)
	second := w.File(m, target)
	w.reject(p, target, second, "Too dear.").Want(200)
	third := w.File(m, target)
	if n := w.Do(bids.Mine, optest.Req{Token: m.Token}).Num("count"); n != 3 || third == second {
		t.Errorf("%v rows: a new filing is always a new row", n)
	}
	for id, want := range map[string]string{first: bids.Withdrawn, second: bids.Declined, third: bids.Filed} {
		if got := w.mine(m, id).Str("status"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestParallelFilingsOfOneAgentMakeOneBid(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	for range 5 {
		target := w.Easy(w.Poster("ada"))
		var filed, refused atomic.Int32
		parallel(20, func(int) {
			switch r := w.try(m, target, benchtest.GoodBid); {
			case r.Status == 201:
				filed.Add(1)
			case r.Status == 409 && r.Str("error") == "already_filed":
				refused.Add(1)
			default:
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
		if filed.Load() != 1 || refused.Load() != 19 {
			t.Errorf("%d filed, %d refused", filed.Load(), refused.Load())
		}
	}
}

func TestParallelFilingsOfManyAgentsAllCount(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	target := w.Easy(p)
	agents := make([]maker, 30)
	for i := range agents {
		agents[i] = w.Maker("Maker")
	}
	parallel(len(agents), func(i int) {
		if r := w.try(agents[i], target, benchtest.GoodBid); r.Status != 201 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})
	if n := w.Do(wants.Read, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Num("bid_count"); n != 30 {
		t.Errorf("%v bids", n)
	}
}

func TestARetriedFilingIsOneBid(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	target, second := w.Easy(w.Poster("ada")), w.Easy(w.Poster("bob"))
	send := func(target, body string) optest.Res {
		return w.Do(bids.FileProposal, optest.Req{Token: m.Token, Key: "k", Path: benchtest.On(target), Body: body})
	}
	send(target, with2("pitch_title", nil)).Refused(422, "REJ-21") // a refusal does not use the key up
	first := send(target, benchtest.GoodBid).Want(201)
	again := send(target, benchtest.GoodBid).Want(201)
	if !again.Replayed || string(first.Body) != string(again.Body) {
		t.Errorf("%s", again.Body)
	}
	send(target, with2("timeline_days", 6)).Refused(409, "idempotency_conflict")
	send(second, benchtest.GoodBid).Refused(409, "idempotency_conflict")
	mcp := w.Do(bids.FileProposal, optest.Req{Token: w.mcp(m), Transport: "mcp", Key: "k", Path: benchtest.On(target), Body: benchtest.GoodBid})
	if !mcp.Replayed || string(mcp.Body) != string(first.Body) {
		t.Errorf("REST and MCP share one key space: %s", mcp.Body)
	}
}

func with2(path string, v any) string { return text(benchtest.With(benchtest.Bid(), path, v)) }

func TestTheThirdNamingClosesBidding(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	target := w.Easy(p)
	var filed []string
	for range 3 {
		filed = append(filed, w.File(w.Maker("Maker"), target))
	}
	w.Name(p, target, filed[0])
	w.Name(p, target, filed[1])
	w.File(w.Maker("Fourth"), target) // two named leave it open
	w.Name(p, target, filed[2])
	late := w.Maker("Late")
	w.try(late, target, benchtest.GoodBid).Refused(409, "bidding_closed")
	w.try(late, target, "{}").Refused(409, "bidding_closed")
	w.Do(bids.Unname, optest.Req{Token: p.Token, Path: benchtest.On(target, filed[1])}).Want(200)
	w.File(late, target) // a free slot opens it again
}

func TestAnAcceptedBidClosesBidding(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	target := w.Easy(p)
	w.Edit(target, func(_ *op.Call, v *wants.Want) error { v.BidID, v.DealID = "b", "d"; return nil })
	w.try(w.Maker("Late"), target, benchtest.GoodBid).Refused(409, "bidding_closed")
}

func TestALapsedFinalistHoldsNoSlotThoughNoSweepCame(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	target := w.Easy(p)
	agents := []maker{w.Maker("One"), w.Maker("Two"), w.Maker("Three")}
	filed := make([]string, 3)
	for i, m := range agents {
		filed[i] = w.File(m, target)
		w.Name(p, target, filed[i])
	}
	w.Hand(p, target, filed[1])
	late := w.Maker("Late")
	end := w.late(24*time.Hour - time.Second)
	w.try(late, target, benchtest.GoodBid).Refused(409, "bidding_closed")
	end()
	end = w.late(24 * time.Hour)
	w.File(late, target)
	w.try(agents[0], target, benchtest.GoodBid).Refused(409, "already_filed")
	if b := w.stored(filed[1]); b.Status != bids.Expired || !b.EndedAt.Equal(optest.Start.Add(24*time.Hour)) {
		t.Errorf("%+v", b)
	}
	if got := w.Want(target).Finalists; got != [3]string{filed[0], "", filed[2]} {
		t.Errorf("%v", got)
	}
	if got := w.events(agents[1], filed[1]); !slices.Equal(got, []string{"bid.filed", "finalist.named", "finalist.handoff", "finalist.reminder", "finalist.expired"}) {
		t.Errorf("%v", got)
	}
	w.File(agents[1], target) // its own bid is dead: it may file again
	end()
	w.Advance(30 * 24 * time.Hour) // the sweep finds nothing left to do for it
	if got := w.events(agents[1], filed[1]); len(got) != 5 {
		t.Errorf("%v", got)
	}
}

func TestAPracticeBidCountsNowhere(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	var target string
	w.Run("bench", func(c *op.Call) error {
		in, err := wants.ReadPractice([]byte(text(benchtest.Posting())))
		if err != nil {
			return err
		}
		v, err := wants.CreatePractice(c, in)
		odds := 0.55
		v.Frozen, target = &odds, v.ID
		return err
	})
	w.Edit(target, func(_ *op.Call, v *wants.Want) error { odds := 0.55; v.Frozen = &odds; return nil })
	id := w.File(m, target)
	w.withdraw(m, id).Want(200)
	if got := w.ledger(target); len(got) != 0 {
		t.Errorf("%v", got)
	}
	w.Run("bench", func(c *op.Call) error {
		r, err := c.Get(registry.CountKey(m.ID))
		if r.Counters[registry.ProposalsFiled] != 0 {
			t.Errorf("%v", r.Counters)
		}
		return err
	})
}

func TestTheBidsOfThePackPass(t *testing.T) {
	pack, _, ok := rulebook.Static("agent-bid-pack.md")
	if !ok {
		t.Fatal("there is no bid pack")
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(pack), -1)
	n := 0
	for _, b := range blocks {
		var body obj
		if json.Unmarshal([]byte(b[1]), &body) != nil || body["steps"] == nil || body["pitch_title"] == nil {
			continue
		}
		n++
		w := newWorld(t)
		m := w.Maker("Maker")
		lane := obj{"kind": "open"}
		if body["total_ask_cents"] == 0.0 {
			lane = obj{"kind": "free"}
		}
		odds := 0.3
		if len(body["steps"].([]any)) == proposal.EasySteps {
			odds = 0.6
		}
		target := w.Post(w.Poster("ada"), benchtest.With(benchtest.Posting(), "lane", lane), odds)
		if r := w.try(m, target, b[1]); r.Status != 201 {
			t.Errorf("bid %d of the pack: %s", n, r.Body)
		}
		w.Do(bids.CheckProposal, optest.Req{Token: m.Token, Path: benchtest.On(target), Body: b[1]}).Want(200)
	}
	if n < 2 {
		t.Errorf("only %d bids in the pack", n)
	}
}

func TestAgentsWritesAreLimited(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	target := w.Easy(w.Poster("ada"))
	w.File(m, target)
	for range 599 {
		w.try(m, target, benchtest.GoodBid).Refused(409, "already_filed")
	}
	for range 600 {
		if r := w.try(m, target, benchtest.GoodBid); r.Status != 409 {
			t.Fatalf("%d: only what is committed is charged", r.Status)
		}
	}
}

func TestABidTooLargeToStoreIsRefusedWhole(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	target := w.Post(w.Poster("ada"), benchtest.With(benchtest.Posting(), "lane", obj{"kind": "open"}), 0.55)
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string { // nothing that compresses
		var b strings.Builder
		for range n {
			b.WriteRune(rune(0x4e00 + r.IntN(0x5000)))
		}
		return b.String()
	}
	big := func(items int) obj {
		b := benchtest.Bid()
		var list []obj
		for range items {
			list = append(list, obj{"label": "x", "why": random(1000)})
		}
		b["steps"].([]any)[1] = obj{"title": "Provide it", "ask": "PROVIDE", "outcome_promise": "I will use what you give.", "agent_court_estimate": 1, "person_minutes": 5,
			"line_item_amount": 4000, "declared_odds": 0.5, "provide": obj{"items": list}, "har_blocks": []obj{{"id": "x", "title": "Yours", "format": "written_response"}}}
		return b
	}
	w.try(m, target, big(340)).Refused(413, "body_too_large")
	if n := w.Do(bids.Mine, optest.Req{Token: m.Token}).Num("count"); n != 0 {
		t.Errorf("%v rows", n)
	}
	id := w.try(m, target, big(100)).Want(201).Str("proposal_id")
	w.withdraw(m, id).Want(200)
}
