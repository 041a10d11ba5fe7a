// Package limit decides rate limits: pure functions over a small stored state.
package limit

import (
	"time"
)

// By tells whose calls are counted together.
type By uint8

// What a limit counts by.
const (
	ByCaller  By = iota // the authenticated account
	ByAddress           // the client address the transport saw
)

// Rule is one limit: N calls per Per.
type Rule struct {
	Name string
	N    int
	Per  time.Duration
	By   By
	// Exact keeps the time of each call in the window (at most MaxExact of them), for
	// limits a contract counts by a rolling window. Others use a smooth rate with a
	// burst of N.
	Exact bool
	// Local keeps the counts in the process that counts them: for reads, which would
	// otherwise write a row each. Several processes each allow N.
	Local bool
	// Also are limits that are taken from together with this one: a call passes all or none.
	Also []*Rule
	// Nobody counts instead of this rule where the caller has no credential; nil means the
	// rule counts them too.
	Nobody *Rule
}

// For lists the rules that count a call, of a caller with or without a credential.
func (r *Rule) For(known bool) []*Rule {
	if !known && r.Nobody != nil {
		r = r.Nobody
	}
	return append([]*Rule{r}, r.Also...)
}

// MaxExact bounds the call times an exact limit stores.
const MaxExact = 240

// State is what is stored per (rule, subject). Zero is a fresh subject.
type State struct {
	// Spent is the theoretical arrival time of the smooth rule, unix nanoseconds.
	Spent int64 `json:"spent,omitempty"`
	// Times of the calls in the window, unix milliseconds, oldest first (exact rules).
	Times []int64 `json:"times,omitempty"`
}

// Verdict is the answer to one call.
type Verdict struct {
	OK        bool
	Remaining int           // calls left now
	Wait      time.Duration // until the next call is taken, when refused
	Reset     time.Duration // until the subject is fresh again
}

// Take decides one call at now and returns the state after it (unchanged when refused).
func (r Rule) Take(s State, now time.Time) (State, Verdict) {
	if r.Exact {
		return r.takeExact(s, now)
	}
	step := int64(r.Per) / int64(r.N)
	at := now.UnixNano()
	spent := max(s.Spent, at)
	if over := spent + step - (at + int64(r.Per)); over > 0 {
		return s, Verdict{Wait: time.Duration(over), Reset: time.Duration(spent - at)}
	}
	spent += step
	left := (at + int64(r.Per) - spent) / step
	return State{Spent: spent}, Verdict{OK: true, Remaining: int(left), Reset: time.Duration(spent - at)}
}

func (r Rule) takeExact(s State, now time.Time) (State, Verdict) {
	at, from := now.UnixMilli(), now.Add(-r.Per).UnixMilli()
	live := make([]int64, 0, len(s.Times)+1)
	for _, t := range s.Times {
		if t > from {
			live = append(live, t)
		}
	}
	n := min(r.N, MaxExact)
	if len(live) >= n {
		wait := time.Duration(live[len(live)-n]-from) * time.Millisecond
		return State{Times: live}, Verdict{Wait: wait, Reset: time.Duration(live[len(live)-1]-from) * time.Millisecond}
	}
	live = append(live, at)
	return State{Times: live}, Verdict{OK: true, Remaining: n - len(live), Reset: r.Per}
}
