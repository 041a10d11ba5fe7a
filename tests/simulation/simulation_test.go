package simulation

import (
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seeds = flag.Int("seeds", 2000, "simulated exchanges")
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

// reached is what a run must reach.
var reached = []string{}

// enough holds a run to what it must reach.
func enough(t *testing.T, seen map[string]int) {
	t.Helper()
	least := 100
	if *seeds < 2000 {
		least = 0
	}
	if testing.Verbose() {
		for _, k := range sorted(seen) {
			fmt.Printf("  %9d  %s\n", seen[k], k)
		}
	}
	for _, k := range reached {
		if seen[k] < least {
			t.Errorf("%s happened %d times", k, seen[k])
		}
	}
}

func sorted(seen map[string]int) []string {
	var out []string
	for k := range maps.Keys(seen) {
		out = append(out, k)
	}
	return out
}
