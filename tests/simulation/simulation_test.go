package simulation

import (
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	full  = 2000 // exchanges of the run of every test
	least = 100  // times in it that each thing must happen
)

var (
	seeds = flag.Int("seeds", usual, "simulated exchanges")
	first = flag.Uint64("seed", 1, "the first seed; -seeds=1 -seed=N replays one")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // exchanges are small and short-lived
	os.Exit(m.Run())
}

// TestSimulatedExchangesKeepEveryPromise runs exchanges, as many at once as there are
// processors. What a seed does depends on the seed alone.
func TestSimulatedExchangesKeepEveryPromise(t *testing.T) {
	var (
		next   atomic.Int64
		red    atomic.Bool
		mu     sync.Mutex
		wg     sync.WaitGroup
		seen   = map[string]int{}
		lowest uint64
		why    string
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			mine := map[string]int{}
			for i := next.Add(1) - 1; i < int64(*seeds) && !red.Load(); i = next.Add(1) - 1 {
				seed := *first + uint64(i)
				got, _, err := simulate(seed)
				for k, n := range got {
					mine[k] += n
				}
				if err != nil {
					red.Store(true)
					mu.Lock()
					if why == "" || seed < lowest {
						lowest, why = seed, err.Error()
					}
					mu.Unlock()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for k, n := range mine {
				seen[k] += n
			}
		})
	}
	wg.Wait()
	if why != "" {
		t.Fatalf("seed %d: %s\nreplay: go test ./tests/simulation -run Simulated -seeds=1 -seed=%d", lowest, why, lowest)
	}
	enough(t, seen)
}

// simulate plays one seed and returns what it saw and the hash of its trace.
func simulate(seed uint64) (seen map[string]int, trace string, err error) {
	s := newSim(seed)
	defer func() {
		seen, trace = s.seen, hex.EncodeToString(s.trace.Sum(nil))
		if p := recover(); p != nil {
			b, ok := p.(broken)
			if !ok {
				b.what = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
			}
			err = fmt.Errorf("%s (trace %.12s)", b.what, trace)
		}
	}()
	s.play()
	return
}

// TestASeedReplaysToTheSameTrace: what a seed does depends on the seed alone.
func TestASeedReplaysToTheSameTrace(t *testing.T) {
	for seed := range uint64(3) {
		_, one, err := simulate(seed)
		_, two, again := simulate(seed)
		if one != two || err != nil || again != nil {
			t.Errorf("seed %d: trace %s %v, then %s %v", seed, one, err, two, again)
		}
	}
}

// reached is what a run must reach: every ending, every fault of the table, the queue, the
// processor and the process, every clock and effect of the bench, the calls of all parties,
// and what they are refused.
var reached = []string{
	"end resolved", "end declined", "end agent_failed", "end agent_withdrew", "end lapsed", "end expired", "end declined_by_agent", "end pick_lapsed",
	"status 200", "status 201", "status 401", "status 404", "status 409", "status 422", "status 502", "status 503",
	"table fail_before", "table fail_after", "table conflict", "table throttle", "table delay", "table duplicate", "table drop",
	"queue fail_before", "queue fail_after", "queue conflict", "queue throttle", "queue duplicate", "queue drop",
	"restart", "intrusion", "race lost", "repeated", "stranger", "silence", "mark seen", "mail sent",
	"sweep on time", "sweep late", "sweep twice", "sweep missed",
	"pay fail", "pay timeout_after_effect", "payout account changed", "dispute", "checkout paid", "checkout failed", "checkout expired",
	"notice taken", "notice refused", "notice repeated", "notice held back",
	"fired deal.countersign", "fired deal.pulse", "fired deal.time", "fired deal.lapse", "fired deal.liveness", "fired bid.finalist", "fired bids.told",
	"fired bids.news", "fired bids.digest", "fired checkout.look", "fired checkout.look-up", "fired checkout.cancel", "fired agent.delisted",
	"fired case.void", "fired drip.release", "fired person.zone-changed", "fired text", "text sent", "drip completed", "drip stopped", "fired bench.notice", "fired mail", "fired money.release", "fired money.return", "fired money.orphan", "fired money.retry",
	"did steward.case.decide", "did steward.fault.file", "did steward.agent.suspend", "did steward.agent.lift", "did steward.agent.file_breach",
	"did steward.agent.delist", "scores voided",
	"did bench.schedule.file", "did bench.artifact.file", "did person.schedule.pause", "did person.schedule.resume", "did person.schedule.channels",
	"refused schedule_not_delivering", "refused schedule_not_paused",
	"did bench.deal.withdraw", "did bench.step.fail", "did bench.deal.decline", "did bench.step.flag", "did bench.step.restate-odds", "did bench.message.post",
	"did bench.finalist.answer", "did bench.proposal.withdraw", "did person.bid.reject", "did person.finalist.unname", "did person.finalist.ask",
	"did person.want.close", "did person.want.repost", "did person.deal.report", "did person.deal.end", "did person.step.save-draft",
	"refused not found", "refused unauthorized", "refused unavailable", "refused stripe_unavailable",
	"refused deal is not active", "refused step is not agent_working", "refused already_signed", "refused countersign_pending", "refused payout_not_ready",
	"refused progress_backward", "refused progress_skipped", "refused progress_not_100", "refused out_of_turn_filing", "refused document_required",
	"refused step_not_waiting", "refused verdict_not_offered", "refused rounds_used_up", "refused score_required",
	"refused this step is closed and owes no reply", "refused this deal ended too long ago", "refused this step is built by the platform - it has no odds",
	"refused already_reported", "refused already_decided", "refused second_steward_needed", "refused finding_unknown",
	"refused already_filed", "refused already_named", "refused already_accepted", "refused already_handed_off", "refused bidding_closed", "refused slots_full",
	"refused not_filed", "refused not_open", "refused not_finalist", "refused bid_superseded", "refused plan_not_yet_informed", "refused new_work_suspended",
	"refused still_running", "refused question_unknown", "refused REJ-02", "refused REJ-05", "refused target not found or not open", "refused proposal not found",
	"refused this bid has not been named a finalist yet - there are no answers to read",
}

// enough holds a full run to what it must reach; with -v it prints all that was seen.
func enough(t *testing.T, seen map[string]int) {
	t.Helper()
	if testing.Verbose() {
		for _, k := range slices.Sorted(maps.Keys(seen)) {
			fmt.Printf("  %9d  %s\n", seen[k], k)
		}
	}
	if *seeds < full {
		return
	}
	for _, k := range reached {
		if seen[k] < least {
			t.Errorf("%s happened %d times, less than %d", k, seen[k], least)
		}
	}
}
