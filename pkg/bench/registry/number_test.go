package registry

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Registrations decide in lockstep, as they do over a store that groups its commits: all
// that wait read the same claims, all commit, one wins each number.
func TestParallelRegistrationsInLockstepNeedFewRounds(t *testing.T) {
	const callers, enough = 50, 6 // the engine decides six times
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		claims := map[int]claim{}
		var waiting []claim
		for i := range callers {
			at := time.UnixMilli(int64(i) / 12) // a dozen begin within the same millisecond
			waiting = append(waiting, claim{AgentID: fmt.Sprint(i), At: at, From: fmt.Sprint(i)})
		}
		rounds := 0
		for ; len(waiting) > 0; rounds++ {
			won := map[int]claim{}
			var lost []claim
			for _, k := range waiting {
				n := freeNumber(claims, 0, r.IntN(k.spread(claims)))
				if _, taken := won[n]; taken {
					lost = append(lost, k)
					continue
				}
				won[n] = k
			}
			for n, k := range won {
				claims[n] = k
			}
			waiting = lost
		}
		if rounds > enough {
			t.Errorf("seed %d: %d rounds, the engine has %d (rand.NewPCG(%d, 1) replays)", seed, rounds, enough, seed)
		}
	}
}

func TestOneAfterAnotherTheNumbersHaveNoGaps(t *testing.T) {
	claims := map[int]claim{}
	for i := 1; i <= 200; i++ {
		k := claim{At: time.UnixMilli(5), From: "same"} // the clock stands still
		if spread := k.spread(claims); spread != 1 {
			t.Fatalf("registration %d chooses among %d", i, spread)
		}
		n := freeNumber(claims, 0, 0)
		if n != i {
			t.Fatalf("registration %d got %d", i, n)
		}
		claims[n] = k
	}
}

func TestNumbersInText(t *testing.T) {
	for s, want := range map[string]int{"A-0001": 1, "a-0023": 23, "A-23": 23, "A-12345": 12345, "A-0": 0, "A-": 0, "B-1": 0, "A-1x": 0, "A--1": 0, "A-+1": 0,
		"A-9999999999": 0, "": 0, "A-00000000000000000001": 0} {
		if n, ok := parseNumber(s); (want > 0) != ok || ok && n != want {
			t.Errorf("%q: %d %v, want %d", s, n, ok, want)
		}
	}
	if Number(1) != "A-0001" || Number(12345) != "A-12345" {
		t.Error(Number(1), Number(12345))
	}
}
