package deals_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"hash"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/steward"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

var (
	simSeeds = flag.Int("deals.seeds", 30, "simulated exchanges")
	simFirst = flag.Uint64("deals.seed", 1, "the first seed; -deals.seeds=1 -deals.seed=N replays one")
)

// sim is one exchange with a faulty store, a processor that misbehaves, three deals and
// people who do what they like.
type sim struct {
	*world
	seed  uint64
	r     *rand.Rand
	store *faulty.Store
	deals []*deal
	seen  map[string]int
	calls int
	trace hash.Hash // of every call with its answer, and every timer
	desk  [2]string // tokens of two stewards
}

// log adds to the trace.
func (s *sim) log(parts ...any) { fmt.Fprintln(s.trace, parts...) }

// TestSimulatedExchangesKeepEveryPromiseUnderFaults lets people and agents call at random
// while the store fails before and after its effects, loses and repeats calls, timers fire
// late, twice or not at all, and the processor loses its answers. After every call the
// stored deals hold; in the end no money is missing and no clock waits.
func TestSimulatedExchangesKeepEveryPromiseUnderFaults(t *testing.T) {
	seen := map[string]int{}
	for i := range *simSeeds {
		seed := *simFirst + uint64(i)
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { simulate(t, seed, seen) }) {
			t.Fatalf("replay: go test ./pkg/bench/deals -run Simulated -deals.seeds=1 -deals.seed=%d", seed)
		}
	}
	enough(t, seen)
}

// reached is what a run must reach: every ending, every kind of fault of the store and the
// processor, every clock and effect, and the refusals of every call.
var reached = []string{
	"end resolved", "end declined", "end agent_failed", "end agent_withdrew", "end lapsed", "end expired", "end declined_by_agent", "end pick_lapsed",
	"status 200", "status 201", "status 409", "status 422", "status 503",
	"fault fail_before", "fault fail_after", "fault conflict", "fault throttle", "fault duplicate", "fault drop",
	"timer twice", "timer lost", "job died", "pay timeout_after_effect", "pay fail",
	"fired deal.countersign", "fired deal.pulse", "fired deal.time", "fired deal.lapse", "fired deal.liveness",
	"fired bench.notice", "fired money.release", "fired money.return",
	"refused already_signed", "refused countersign_pending", "refused deal is not active", "refused step is not agent_working",
	"refused progress_backward", "refused progress_skipped", "refused progress_not_100", "refused out_of_turn_filing", "refused document_required",
	"refused step_not_waiting", "refused verdict_not_offered", "refused rounds_used_up", "refused score_required",
	"refused this step is closed and owes no reply", "refused already_decided", "refused second_steward_needed",
	"did steward.fault.file", "did steward.case.decide", "scores voided",
}

// enough holds a run to what it must reach: 100 times in one of 1,000 exchanges, once in the
// small run of every test, which need not reach every refusal.
func enough(t *testing.T, seen map[string]int) {
	t.Helper()
	least := 100
	if *simSeeds < 1000 {
		least = 1
	}
	for _, k := range reached {
		if *simSeeds > 30 {
			fmt.Printf("  %9d  %s\n", seen[k], k)
		}
		rare := strings.HasPrefix(k, "refused ") || k == "scores voided"
		if seen[k] < least && *simSeeds >= 30 && (*simSeeds >= 1000 || !rare) {
			t.Errorf("%s happened %d times", k, seen[k])
		}
	}
}

// TestASeedReplaysToTheSameTrace: what a seed does depends on the seed alone.
func TestASeedReplaysToTheSameTrace(t *testing.T) {
	for seed := range uint64(3) {
		first, second := simulate(t, seed, map[string]int{}), simulate(t, seed, map[string]int{})
		if first != second {
			t.Errorf("seed %d: trace %s, then %s", seed, first, second)
		}
	}
}

// simulate runs one exchange and returns the hash of its trace.
func simulate(t *testing.T, seed uint64, seen map[string]int) string {
	s := &sim{trace: sha256.New(), seed: seed, r: rand.New(rand.NewPCG(seed, 11)), seen: seen}
	s.world = newWorld(t, optest.WithStore(func(in table.Store) table.Store { s.store = faulty.Wrap(in); return s.store }))
	for i := range 3 {
		d := s.picked(s.plan())
		if i > 0 || s.seed%6 > 0 && s.r.IntN(4) == 0 {
			d.sign().Want(200)
		}
		s.deals = append(s.deals, d)
	}
	for i := range s.desk {
		_, s.desk[i] = s.Person(fmt.Sprintf("steward%d@hall.test", i), "steward")
	}
	style := s.r.IntN(4)
	silent := s.deals[2].person // somebody who stops answering
	for i := range 110 {
		if s.r.IntN(3) == 0 {
			s.pass(style)
		}
		d := s.deals[s.r.IntN(len(s.deals))]
		if d.person == silent && i > 30 && s.seed%2 == 0 {
			d.person = ""
		}
		s.act(d)
		s.holds(d)
	}
	s.finish()
	return hex.EncodeToString(s.trace.Sum(nil))
}

// plan is a random bid of three steps (the wants are unbanded).
func (s *sim) plan() m {
	asks := []string{"APPROVE", "APPROVE", "CHOOSE", "PROVIDE", "GRANT"}
	var steps []m
	for i := range 3 {
		steps = append(steps, step(fmt.Sprintf("Part %d", i), asks[s.r.IntN(len(asks))], 500*(1+s.r.IntN(3))))
	}
	b := bidOf(500*s.r.IntN(2), steps...)
	b["timeline_days"] = 1 + s.r.IntN(20)
	return b
}

// pass moves the clock and sweeps it badly.
func (s *sim) pass(style int) {
	spans := []time.Duration{time.Minute, 20 * time.Minute, 6 * time.Hour, 2 * path.Day, 9 * path.Day}
	step := time.Duration(s.r.Int64N(int64(spans[s.r.IntN(2+style)]))) + time.Millisecond
	target := s.Now().Add(step)
	s.sweep(target, s.r.IntN(6))
	s.move(target)
}

// move sets the clock without firing anything.
func (s *sim) move(to time.Time) {
	late := to
	s.Engine.Now = func() time.Time { return late }
	s.now = func() time.Time { return late }
}

// sweep fires what is due up to a time: all of it, or not, or twice, with faults on the way.
func (s *sim) sweep(until time.Time, mood int) {
	for range 200 {
		row, f, ok := s.due(until)
		if !ok {
			return
		}
		if mood == 0 && s.r.IntN(3) == 0 {
			s.seen["timer lost"]++ // nobody looked: the row stays for the next sweep
			return
		}
		at := f.Due
		if mood > 1 && mood < 5 { // the sweep comes late and finds everything at once
			at = until
		}
		if at.Before(s.Now()) {
			at = s.Now()
		}
		times := 1
		if mood == 1 {
			times = 2
			s.seen["timer twice"]++
		}
		for range times {
			s.fault()
			s.fire(row, f, at)
		}
		s.store.Clear()
		if at.After(s.Now()) {
			s.move(at)
		}
	}
}

func (s *sim) due(until time.Time) (row table.Row, f op.Fired, ok bool) {
	for n := range clock.Shards {
		p, err := s.Store.Query(context.Background(), table.Query{PK: clock.Partition("bench", n), Limit: 1})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(p.Rows) == 0 {
			continue
		}
		var g op.Fired
		if err := op.Decode(p.Rows[0].Data, &g); err != nil {
			s.t.Fatal(err)
		}
		if !g.Due.After(until) && (!ok || g.Due.Before(f.Due)) {
			row, f, ok = p.Rows[0], g, true
		}
	}
	return row, f, ok
}

// fire does what the sweep does with one row; an error leaves the row for the next time.
func (s *sim) fire(row table.Row, f op.Fired, at time.Time) {
	s.log(f.Kind, f.Subject, clock.Stamp(at))
	s.seen["fired "+f.Kind]++
	ctx := pay.With(context.Background(), s.bank, hookSecret)
	for _, k := range s.Timers {
		if k.Kind == f.Kind {
			_ = s.Engine.Run(ctx, at, "bench", func(c *op.Call) error {
				if r, err := c.Get(row.Key); err != nil || !r.Found() {
					return err
				}
				c.Delete(row.Key)
				return k.Fire(c, f)
			})
			return
		}
	}
	for _, k := range s.Effects {
		if k.Kind == f.Kind {
			s.effect(ctx, row, f, k, at)
			return
		}
	}
	s.t.Fatalf("nobody fires %s", f.Kind)
}

func (s *sim) effect(ctx context.Context, row table.Row, f op.Fired, k op.EffectKind, at time.Time) {
	var result any
	var failed error
	ctx = s.Engine.Ports(ctx, op.Payments|op.Mail)
	if s.r.IntN(5) == 0 {
		mode := []simulated.Mode{simulated.ModeFail, simulated.ModeTimeout}[s.r.IntN(2)]
		_ = s.bank.SetMode(mode, 1)
		s.seen["pay "+string(mode)]++
	}
	if err := s.Engine.Run(ctx, at, "bench", func(c *op.Call) error {
		result, failed = k.Do(c, f)
		return nil
	}); err != nil || failed != nil && result == nil && f.Tries == 0 && s.r.IntN(3) == 0 {
		s.seen["job died"]++ // before it could say anything
		return
	}
	_ = s.Engine.Run(ctx, at, "bench", func(c *op.Call) error {
		if r, err := c.Get(row.Key); err != nil || !r.Found() {
			return err
		}
		c.Delete(row.Key)
		if failed == nil {
			if k.Done == nil {
				return nil
			}
			return k.Done(c, f, result)
		}
		f.Tries++
		f.Due = clock.Cut(c.Now.Add(op.Backoff(f.Tries)))
		c.Create(clock.Key("bench", f.Kind, f.Subject, f.Due), f)
		return nil
	})
}

// fault sets a fault for one of the next calls of the store, now and then.
func (s *sim) fault() {
	s.store.Clear()
	if s.r.IntN(4) > 0 {
		return
	}
	mode := []faulty.Mode{faulty.FailBefore, faulty.FailAfter, faulty.Conflict, faulty.Throttle, faulty.Duplicate, faulty.Drop}[s.r.IntN(6)]
	f := faulty.Fault{Mode: mode, Times: 1 + s.r.IntN(2)}
	if s.r.IntN(2) == 0 {
		f.Op = faulty.Commit
	}
	if _, err := s.store.Inject(f); err != nil {
		s.t.Fatal(err)
	}
	s.seen["fault "+string(mode)]++
}

// act makes one call, and makes it again with the same key while the exchange says busy.
func (s *sim) act(d *deal) {
	stored := d.stored()
	n := 1 + s.r.IntN(len(stored.Steps))
	if o := stored.Open(); o != nil && s.r.IntN(4) > 0 {
		n = o.Number
	}
	o, body, token := s.choose(d, stored, n)
	if o == nil {
		return
	}
	p := d.paths()
	p["step_id"] = stored.Steps[n-1].ID
	p["case_id"] = deals.CaseID(d.id, deals.CaseException, stored.EndedAt)
	s.calls++
	key := fmt.Sprintf("sim-%d", s.calls)
	answered := 0
	for range 6 {
		s.fault()
		res := s.Do(o, optest.Req{Token: token, Path: p, Body: body, Key: key})
		s.store.Clear()
		s.seen[fmt.Sprintf("status %d", res.Status)]++
		s.log(o.ID, res.Status, string(res.Body))
		if res.Status < 300 {
			s.seen["did "+o.ID]++
		}
		if res.Status >= 400 {
			s.seen["refused "+res.Str("error")]++
		}
		if answered = res.Status; res.Status != 503 {
			if res.Status >= 500 {
				s.t.Fatalf("seed %d: %s answered %d %s (%v)", s.seed, o.ID, res.Status, res.Body, res.Fault.Unwrap())
			}
			break
		}
	}
	// An answer says what is stored: a promise made is kept, a refusal has changed nothing.
	happened := d.stored().Events - stored.Events
	if answered < 300 && happened == 0 && o != deals.SaveDraft && o != steward.Decide || answered >= 400 && answered < 500 && happened != 0 {
		s.t.Fatalf("seed %d: %s answered %d and %d things happened", s.seed, o.ID, answered, happened)
	}
}

func (s *sim) choose(d *deal, stored *path.Deal, n int) (*op.Operation, m, string) {
	step := &stored.Steps[n-1]
	if o := stored.Open(); o != nil && s.r.IntN(3) > 0 { // somebody who wants to get on
		switch {
		case o.State == path.Waiting && d.person == "":
			return nil, nil, ""
		case o.State == path.Waiting && s.r.IntN(3) > 0:
			return deals.AnswerStep, s.verdict(o), d.person
		case o.State == path.Working && stored.Pulse.Percent == 100 && o.Ask == "APPROVE" && s.r.IntN(8) > 0:
			return delivery.File, document("Done."), d.agent
		case o.State == path.Working && stored.Pulse.Percent == 100:
			return delivery.File, note, d.agent
		case o.State == path.Working:
			return deals.CheckIn, m{"changed": "a", "now": "b", "next": "c", "progress_percent": stored.Pulse.Percent + 25}, d.agent
		}
	}
	absent := s.seed%6 == 0 && d == s.deals[0] // an agent that never signs
	switch k := s.r.IntN(48); {
	case stored.Exception != "" && s.r.IntN(2) == 0:
		finding := []string{steward.Upheld, steward.Upheld, steward.Upheld, steward.Rejected}[s.r.IntN(4)]
		return steward.Decide, m{"finding": finding, "written": "Why."}, s.desk[s.r.IntN(2)]
	case k < 4 && absent, k == 4 && absent && s.r.IntN(8) > 0:
		return nil, nil, ""
	case k < 4:
		return deals.Sign, m{}, d.agent
	case k == 4:
		return deals.DeclineDeal, m{}, d.agent
	case k < 20:
		percent := path.Checkpoints[s.r.IntN(5)]
		if s.r.IntN(5) > 0 {
			percent = min(100, stored.Pulse.Percent+25)
		}
		return deals.CheckIn, m{"changed": "a", "now": "b", "next": "c", "progress_percent": percent}, d.agent
	case k < 26:
		if step.Ask == "APPROVE" && s.r.IntN(4) > 0 {
			return delivery.File, document("Done."), d.agent
		}
		return delivery.File, note, d.agent
	case k < 38:
		return deals.AnswerStep, s.verdict(step), d.person
	case k == 38:
		return deals.Write, m{"body": "Hello?"}, d.person
	case k == 39:
		return deals.Reply, m{"reply": "Yes."}, d.agent
	case k == 40:
		return deals.Restate, m{"declared_odds": 0.4}, d.agent
	case k == 41:
		return deals.Flag, m{"blocked": "a", "assuming": "b"}, d.agent
	case k == 42:
		return deals.Fail, m{"reason": "No.", "materiality_test": "adds_material_risk", "r109_exception": "unforeseeable_outside_failure"}, d.agent
	case k == 43 && s.r.IntN(2) == 0:
		return deals.Withdraw, m{"reason": "No.", "kind": []string{"compliance", "abandonment"}[s.r.IntN(2)]}, d.agent
	case k == 44 && (stored.Status == path.Picked || s.r.IntN(4) == 0):
		return deals.EndDeal, m{"reason": "No."}, d.person
	case k == 46 && stored.Status == path.Picked:
		return deals.EndDeal, m{"reason": "No."}, d.person
	case k == 45:
		return deals.SaveDraft, m{"responses": []m{}}, d.person
	case k == 47:
		return steward.FileFault, m{"deal_id": d.id, "description": "Down.", "restore": fmt.Sprintf("%dh", 1+s.r.IntN(48))}, s.desk[0]
	}
	return nil, nil, ""
}

func (s *sim) verdict(step *path.Step) m {
	switch s.r.IntN(8) {
	case 0, 3:
		return m{"verdict": "request_changes", "reason": "Again."}
	case 1:
		if s.r.IntN(6) == 0 {
			return m{"verdict": "decline"}
		}
	case 2, 4:
		return m{"verdict": "approve"}
	}
	b := m{"verdict": "approve", "score": 1 + s.r.IntN(10)}
	if step.Ask == "CHOOSE" {
		b["responses"] = []m{{"block_number": 1, "value": m{"choice": "b"}}}
	}
	return b
}

// holds checks a stored deal against its own law, its lines and its clock.
func (s *sim) holds(d *deal) {
	s.t.Helper()
	got := d.stored()
	if err := got.Check(); err != nil {
		s.t.Fatalf("seed %d: %v", s.seed, err)
	}
	sums := map[string]int64{}
	for _, l := range d.lines() {
		sums[l.Kind] += l.Cents
		if l.Kind == money.Release && (l.Cause == "" || l.Cents != got.Find(l.StepID, false).Cents || got.Find(l.StepID, false).State != path.Approved) {
			s.t.Fatalf("seed %d: a release without its approval: %+v", s.seed, l)
		}
	}
	a := got.Money
	if sums[money.Fund] != a.Funded || sums[money.Release] != a.Released || sums[money.Return] != a.Returned {
		s.t.Fatalf("seed %d: lines %v, account %+v", s.seed, sums, a)
	}
	if due, _, runs := got.Next(); runs {
		r, err := s.Store.Get(context.Background(), clock.Key("bench", got.Timer.Kind, got.ID, got.Timer.Due))
		if err != nil || !r[0].Found() || got.Timer.Due.After(due) {
			s.t.Fatalf("seed %d: a lost clock: next %v, timer %+v, row %v", s.seed, due, got.Timer, r[0].Found())
		}
		p, err := s.Store.Query(context.Background(), table.Query{PK: clock.Partition("bench", clock.Shard(got.ID)), KeysOnly: true})
		n := 0
		for _, r := range p.Rows {
			if strings.HasSuffix(r.SK, "#"+got.ID) {
				n++
			}
		}
		if err != nil || n != 1 {
			s.t.Fatalf("seed %d: %d timers of one deal", s.seed, n)
		}
	}
}

// finish lets all clocks run out without faults, and counts the money.
func (s *sim) finish() {
	s.store.Clear()
	_ = s.bank.SetMode(simulated.ModeOK, 0)
	target := s.Now().Add(120 * path.Day)
	for range 5000 {
		row, f, ok := s.due(target)
		if !ok {
			break
		}
		if f.Due.After(s.Now()) {
			late := time.Duration(s.seed%3) * 6 * time.Hour
			s.move(f.Due.Add(late))
		}
		s.fire(row, f, s.Now())
		_ = s.bank.SetMode(simulated.ModeOK, 0)
	}
	s.move(target)
	s.hooks()
	var released, returned int64
	for _, d := range s.deals {
		s.holds(d)
		got := d.stored()
		if got.Status != path.Ended || got.Timer.Set() {
			s.t.Fatalf("seed %d: deal %s is %s with timer %+v", s.seed, d.id, got.Status, got.Timer)
		}
		s.seen["end "+got.EndCause]++
		if got.Voided {
			s.seen["scores voided"]++
		}
		released, returned = released+got.Money.Released, returned+got.Money.Returned
		for _, l := range d.lines() {
			if l.Kind != money.Fund && l.State != money.Sent && l.State != money.Confirmed {
				s.t.Fatalf("seed %d: money that never moved: %+v", s.seed, l)
			}
		}
		want := d.theWant()
		live := want.Status == wants.Open && (got.EndCause == path.AgentFailed || got.EndCause == path.AgentWithdrew || got.EndCause == path.DeclinedByAgent || got.EndCause == path.PickLapsed)
		if want.DealID != "" || want.TakesBids() != live {
			s.t.Fatalf("seed %d: want %s after %s", s.seed, want.Status, got.EndCause)
		}
		if b := d.theBid(); b.Status == bids.Filed {
			s.t.Fatalf("seed %d: the bid of an ended deal is filed", s.seed)
		}
	}
	s.wallets()
	s.Run("bench", func(c *op.Call) error {
		for _, d := range s.deals {
			l, _, err := op.Load[account.Live](c, account.LiveDeals(d.personID))
			if err != nil || len(l.Deals) > 0 {
				s.t.Fatalf("seed %d: the account of %s has live deals %v (%v)", s.seed, d.personID, l.Deals, err)
			}
		}
		return nil
	})
	if s.paidOut() != released || refunds(s.world) != returned {
		s.t.Fatalf("seed %d: released %d and paid out %d, returned %d and refunded %d", s.seed, released, s.paidOut(), returned, refunds(s.world))
	}
	if n := s.timers(); n != 0 {
		s.t.Fatalf("seed %d: %d timers wait for nothing", s.seed, n)
	}
}

// wallets holds every agent's sums against its deal.
func (s *sim) wallets() {
	for _, d := range s.deals {
		purse := s.Do(deals.Wallet, optest.Req{Token: d.agent}).Want(200)
		a := d.stored().Money
		if purse.Num("balance.transferred_cents") != float64(a.Released) || purse.Num("balance.held_cents") != 0 {
			s.t.Fatalf("seed %d: released %d, the wallet says %s", s.seed, a.Released, purse.Body)
		}
	}
}
