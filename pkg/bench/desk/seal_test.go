package desk_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/desk"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

var (
	sealCalls = flag.Int("seal.calls", 6000, "random calls by which the seal is tried")
	sealSeed  = flag.Uint64("seal.seed", 1, "seed of the random calls")
)

// twin is one of two exchanges that differ in one agent's bid only.
type twin struct {
	*world
	people []person
	agents []maker
	rival  maker  // whose bid differs
	secret string // its id, where it exists
	// ids that calls draw from; every twin appends the same ones
	targets, filed []string
}

// dice gives an exchange the randomness of a call, whatever was drawn before.
func (w *twin) dice(call uint64) {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], call+1)
	w.Engine.Rand = rand.NewChaCha8(seed)
}

func newTwin(t *testing.T) *twin {
	w := &twin{world: newWorld(t)}
	w.dice(1 << 40)
	for i := range 2 {
		w.people = append(w.people, w.Poster(fmt.Sprint("person", i)))
	}
	for i := range 4 {
		w.agents = append(w.agents, w.Maker(fmt.Sprint("Agent", i)))
		w.Change(w.agents[i], func(a *registry.Agent) { a.Payout.Ready = true })
	}
	w.rival = w.Maker("Rival")
	for i := range 3 {
		w.dice(1<<41 + uint64(i))
		w.targets = append(w.targets, w.Easy(w.people[i%2]))
	}
	w.attach(w.people[0], w.targets[0], 100)
	return w
}

// compete files the rival's bid, or not.
func (w *twin) compete(body obj) {
	w.dice(1 << 42)
	if body != nil {
		w.secret = w.Do(bids.FileProposal, optest.Req{Token: w.rival.Token, Key: "secret", Path: benchtest.On(w.targets[0]), Body: body}).Want(201).Str("proposal_id")
	}
}

// act makes the call that the dice of its number decide, and answers what its caller sees.
func (w *twin) act(call int, secret string) string {
	r := rand.New(rand.NewPCG(*sealSeed, uint64(call)))
	w.dice(uint64(call))
	pick := func(list []string, more ...string) string {
		list = append(slices.Clone(list), more...)
		return list[r.IntN(len(list))]
	}
	target := pick(w.targets, "00000000-0000-4000-8000-000000000000")
	bid := pick(w.filed, secret, secret, "00000000-0000-4000-8000-000000000001")
	m := w.agents[r.IntN(len(w.agents))]
	p := w.people[r.IntN(len(w.people))]
	req := optest.Req{Token: m.Token, Key: fmt.Sprint("k", call), Path: benchtest.On(target, bid)}
	var o *op.Operation
	switch n := r.IntN(40); {
	case n < 4:
		o = desk.Brief
	case n < 7:
		o, req.Query = desk.OpenTargets, query("limit", fmt.Sprint(1+r.IntN(4)))
	case n < 9:
		o, req.Address = desk.Board, fmt.Sprint("198.51.100.", call%250)
	case n < 11:
		o = bids.Mine
	case n < 13:
		o = bids.ReadAnswers
	case n < 15:
		o, req.Body = bids.FilePlan, goodPlan()
	case n < 18:
		o = bids.Withdraw
	case n < 19:
		o, req.Body = bids.Reply, obj{"question_ref": "1", "answer": "Yes."}
	case n < 24:
		o, req.Body = bids.FileProposal, benchtest.GoodBid
	case n < 25:
		o, req.Body = bids.CheckProposal, benchtest.GoodBid
	case n < 27:
		o = desk.Attention
	case n < 29:
		o = desk.Events
	case n < 30:
		o = desk.Me
	case n < 31:
		o, req.Path = desk.Attachment, map[string]string{"target_id": target, "filename": "x.png"}
	case n < 33:
		w.Advance(time.Duration(r.IntN(5)) * time.Hour)
		return ""
	default:
		return w.acts(p, r, n, target, bid, secret)
	}
	res := w.Do(o, req)
	if o == bids.FileProposal && res.Status == 201 {
		w.filed = append(w.filed, res.Str("proposal_id"))
	}
	return fmt.Sprintf("%s %d %v %s", o.ID, res.Status, res.Header, res.Body)
}

// acts is a person's call; what people see is theirs and is not compared. They leave the
// rival's bid alone.
func (w *twin) acts(p person, r *rand.Rand, n int, target, bid, secret string) string {
	if bid == secret {
		return ""
	}
	req := optest.Req{Token: p.Token, Path: benchtest.On(target, bid)}
	switch n {
	case 33, 34:
		req.Body = obj{"proposal_id": bid}
		w.Do(bids.Name, req)
	case 35:
		req.Body = obj{"answers": []obj{{"ordinal": 1, "answer": "Duck."}}, "send": r.IntN(2) == 0}
		w.Do(bids.Answer, req)
	case 36:
		req.Body = obj{"reason": "Too dear."}
		w.Do(bids.Reject, req)
	case 37:
		req.Body = obj{"question": "Sure?"}
		w.Do(bids.Ask, req)
	case 38:
		w.Do(bids.Cards, req)
	default:
		w.Do(bids.Unname, req)
	}
	return ""
}

func goodPlan() obj { return obj{"steps": benchtest.Bid()["steps"], "accept_rules": true} }

func TestTheSealHoldsAgainstEveryOtherAgent(t *testing.T) {
	dearer := benchtest.Bid()
	dearer["total_ask_cents"], dearer["allocation"] = 12000, obj{"ad_spend": 0, "tools": 0, "agent_work": 12000}
	dearer["steps"].([]any)[0].(obj)["line_item_amount"] = 7000
	worded := benchtest.With(benchtest.With(benchtest.Bid(), "pitch_title", "Something else altogether"), "timeline_days", 3)
	variants := map[string]obj{"present": benchtest.Bid(), "dearer": dearer, "other words": worded}
	for name, body := range variants {
		t.Run(name, func(t *testing.T) {
			with, without := newTwin(t), newTwin(t)
			with.compete(body)
			without.compete(nil)
			for call := range *sealCalls / len(variants) {
				a, b := with.act(call, with.secret), without.act(call, with.secret)
				if a != b {
					t.Fatalf("call %d of seed %d tells the bids apart (replay with -seal.seed=%d):\n%s\n%s", call, *sealSeed, *sealSeed, a, b)
				}
			}
			if n := len(with.filed); n < 5 {
				t.Errorf("only %d bids were filed beside it", n)
			}
		})
	}
}

// leaks lists every row, blob and mail that holds a word, except those that are allowed to.
func (w *world) leaks(word string, allowed func(table.Row) bool) (found []string) {
	w.T.Helper()
	after := ""
	for {
		rows, next, err := w.Store.List(context.Background(), after, 1000)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, r := range rows {
			var v op.RawValue
			if len(r.Data) > 0 && op.Decode(r.Data, &v) == nil && strings.Contains(string(v), word) && !allowed(r) {
				found = append(found, r.Key.PK+" / "+r.Key.SK)
			}
		}
		if after = next; after == "" {
			break
		}
	}
	for _, m := range w.Mails.Sent {
		if strings.Contains(m.Text+m.HTML+m.Subject, word) {
			found = append(found, "a mail to "+m.To)
		}
	}
	page, err := w.Blobs.List(context.Background(), "", "", 1000)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, e := range page.Entries {
		o, err := w.Blobs.Get(context.Background(), e.Key, blob.Range{})
		if err != nil {
			w.T.Fatal(err)
		}
		if b, _ := io.ReadAll(o.Body); strings.Contains(string(b), word) {
			found = append(found, "blob "+e.Key)
		}
	}
	return found
}

func TestABidIsWrittenWhereItBelongsAndNowhereElse(t *testing.T) {
	w := newTwin(t)
	const canary = "Zimtschnecken"
	body := benchtest.Bid()
	benchtest.With(benchtest.With(body, "pitch_title", canary+" for nine"), "pitch_body", canary)
	benchtest.With(body, "smart_goals", []string{canary})
	benchtest.With(body, "finalist_questions", []any{[]string{canary + "?", canary + "!", canary, "b " + canary}})
	body["steps"].([]any)[0].(obj)["title"] = canary
	w.compete(body)
	for call := range 1500 {
		w.act(call, w.secret)
	}
	w.Advance(10 * 24 * time.Hour)
	own := func(r table.Row) bool {
		return strings.HasPrefix(r.PK, "bench.BID#"+w.secret)
	}
	if got := w.leaks(canary, own); len(got) != 0 {
		t.Errorf("the sealed bid is written in %v", got)
	}
	w.Run("bench", func(c *op.Call) error { // what the test would find, were there a leak
		c.Create(table.Key{PK: "bench.IDEM#" + w.agents[0].ID + "#x", SK: "ROOT"}, obj{"body": canary})
		return nil
	})
	if got := w.leaks(canary, own); len(got) != 1 {
		t.Errorf("a planted leak is not found: %v", got)
	}
}

func TestNoVerbOnSomebodyElsesIdsSaysMoreThanNothing(t *testing.T) {
	w := newWorld(t)
	p, m, other := w.Poster("ada"), w.Maker("Maker"), w.Maker("Other")
	target := w.Easy(p)
	w.File(other, target)
	bid := w.File(m, target)
	w.Name(p, target, bid)
	w.Hand(p, target, bid)
	const none = "00000000-0000-4000-8000-000000000000"
	for _, o := range []*op.Operation{bids.ReadAnswers, bids.FilePlan, bids.Reply, bids.Withdraw} {
		req := func(id string) optest.Req {
			r := optest.Req{Token: other.Token, Path: benchtest.On(target, id)}
			switch o {
			case bids.FilePlan:
				r.Body = goodPlan()
			case bids.Reply:
				r.Body = obj{"question_ref": "1", "answer": "Yes."}
			}
			return r
		}
		a, b := w.Do(o, req(bid)), w.Do(o, req(none))
		delete(a.Header, "RateLimit-Remaining")
		delete(b.Header, "RateLimit-Remaining")
		delete(a.Header, "RateLimit-Reset")
		delete(b.Header, "RateLimit-Reset")
		if a.Status != 404 || string(a.Body) != string(b.Body) || fmt.Sprint(a.Header) != fmt.Sprint(b.Header) {
			t.Errorf("%s: %d %s %v, and for nobody's %d %s %v", o.ID, a.Status, a.Body, a.Header, b.Status, b.Body, b.Header)
		}
	}
}

func TestNoAgentReadsWhoThePersonIs(t *testing.T) {
	w := newWorld(t)
	m, other := w.Maker("Maker"), w.Maker("Other")
	p := w.Poster("quetzalcoatl")
	w.Do(account.Update, optest.Req{Token: p.Token, Body: obj{"display_name": "Xochiquetzal Tlaloc", "phone": "+15557654321", "timezone": "America/Mexico_City"}}).Want(200)
	canaries := []string{"quetzalcoatl", "Xochiquetzal", "Tlaloc", "5557654321", "Mexico_City", p.ID, "Ada Lovelace", "people.example.test"}
	target := w.Easy(p)
	name := w.attach(p, target, 100)
	var seen strings.Builder
	look := func(res optest.Res) {
		fmt.Fprintln(&seen, res.Header, string(res.Body))
		if res.Raw != nil {
			fmt.Fprintln(&seen, res.Raw.Filename, res.Raw.ContentType)
		}
	}
	readAll := func(bid string) {
		for _, who := range []maker{m, other} {
			look(w.brief(who, target))
			look(w.open(who))
			look(w.Do(desk.Board, optest.Req{}))
			look(w.Do(bids.Mine, optest.Req{Token: who.Token}))
			look(w.Do(bids.ReadAnswers, optest.Req{Token: who.Token, Path: benchtest.On(target, bid)}))
			look(w.Do(desk.Attention, optest.Req{Token: who.Token}))
			look(w.Do(desk.Events, optest.Req{Token: who.Token}))
			look(w.Do(desk.Me, optest.Req{Token: who.Token}))
			look(w.Do(desk.Attachment, optest.Req{Token: who.Token, Path: map[string]string{"target_id": target, "filename": name}}))
			look(w.Do(bids.FileProposal, optest.Req{Token: who.Token, Path: benchtest.On(target), Body: benchtest.GoodBid}))
		}
	}
	readAll("x")
	bid := w.Do(bids.Mine, optest.Req{Token: m.Token}).Str("proposals.0.proposal_id")
	w.Name(p, target, bid)
	readAll(bid)
	w.Do(bids.Ask, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"question": "Sure?"}}).Want(201)
	w.Hand(p, target, bid)
	readAll(bid)
	w.Do(bids.Reject, optest.Req{Token: p.Token, Path: benchtest.On(target, bid), Body: obj{"reason": "Write to quetzalcoatl@people.example.test instead"}}).Want(200)
	look(w.brief(other, target))
	w.close(p, target)
	w.Advance(time.Hour)
	readAll(bid)
	w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(target)}).Want(200)
	look(w.brief(other, target))
	for _, c := range canaries {
		if i := strings.Index(seen.String(), c); i >= 0 {
			t.Errorf("an agent read %q in …%s…", c, seen.String()[max(0, i-200):i+50])
		}
	}
	if !strings.Contains(seen.String(), "Sure?") || !strings.Contains(seen.String(), name) {
		t.Error("the test reads nothing")
	}
}
