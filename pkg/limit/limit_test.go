package limit_test

import (
	"testing"
	"time"

	"guildhall/pkg/limit"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// spend takes n calls at one moment and fails when one is refused.
func spend(t *testing.T, r limit.Rule, s limit.State, at time.Time, n int) limit.State {
	t.Helper()
	for i := range n {
		next, v := r.Take(s, at)
		if !v.OK || v.Remaining != n-i-1 {
			t.Fatalf("call %d of %d: %+v", i+1, n, v)
		}
		s = next
	}
	return s
}

func TestEachRuleTakesNAndRefusesTheNext(t *testing.T) {
	for _, exact := range []bool{false, true} {
		for _, n := range []int{1, 2, 7, 240} {
			r := limit.Rule{Name: "r", N: n, Per: time.Hour, Exact: exact}
			s := spend(t, r, limit.State{}, noon, n)
			after, v := r.Take(s, noon)
			if v.OK || v.Wait <= 0 || v.Wait > time.Hour || v.Remaining != 0 || v.Reset < v.Wait {
				t.Errorf("exact %v, call %d of %d: %+v", exact, n+1, n, v)
			}
			if after.Spent != s.Spent || len(after.Times) != len(s.Times) {
				t.Errorf("exact %v: a refused call was charged", exact)
			}
			if _, v := r.Take(s, noon.Add(v.Wait-time.Millisecond)); v.OK {
				t.Errorf("exact %v, n %d: taken a millisecond before the wait is over", exact, n)
			}
			if _, v := r.Take(s, noon.Add(v.Wait)); !v.OK {
				t.Errorf("exact %v, n %d: refused after the wait: %+v", exact, n, v)
			}
		}
	}
}

func TestRemainingCountsDown(t *testing.T) {
	for _, exact := range []bool{false, true} {
		r, s := limit.Rule{N: 3, Per: time.Hour, Exact: exact}, limit.State{}
		for want := 2; want >= 0; want-- {
			next, v := r.Take(s, noon)
			if !v.OK || v.Remaining != want {
				t.Errorf("exact %v: %+v, want %d left", exact, v, want)
			}
			s = next
		}
	}
}

// In any window of the length of the rule an exact rule takes at most N calls.
func TestAnExactRuleIsARollingWindow(t *testing.T) {
	r, s := limit.Rule{N: 3, Per: time.Hour, Exact: true}, limit.State{}
	var taken []time.Time
	for at := noon; at.Before(noon.Add(5 * time.Hour)); at = at.Add(7 * time.Minute) {
		next, v := r.Take(s, at)
		if v.OK {
			taken = append(taken, at)
		}
		s = next
	}
	for i := 3; i < len(taken); i++ {
		if d := taken[i].Sub(taken[i-3]); d < time.Hour {
			t.Errorf("4 calls within %v", d)
		}
	}
	if len(taken) < 13 {
		t.Errorf("only %d calls in five hours", len(taken))
	}
}

// Over any time a smooth rule takes at most a burst of N and N more per window.
func TestASmoothRuleRefillsEvenly(t *testing.T) {
	r, s, taken := limit.Rule{N: 60, Per: time.Hour}, limit.State{}, 0
	for at := noon; at.Before(noon.Add(2 * time.Hour)); at = at.Add(10 * time.Second) {
		next, v := r.Take(s, at)
		if v.OK {
			taken++
		}
		s = next
	}
	if taken < 178 || taken > 180 {
		t.Errorf("%d calls in two hours, want 60 at once and 120 more", taken)
	}
}

func TestATimeThatGoesBackTakesNothingForFree(t *testing.T) {
	for _, exact := range []bool{false, true} {
		r := limit.Rule{N: 2, Per: time.Hour, Exact: exact}
		s := spend(t, r, limit.State{}, noon, 2)
		if _, v := r.Take(s, noon.Add(-time.Minute)); v.OK {
			t.Errorf("exact %v: a clock that was set back opens the limit", exact)
		}
	}
}
