package op

import (
	"sync"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/table"
)

// limitKey is the row of a limit.
func limitKey(o *Operation, rule *limit.Rule, address, account string) table.Key {
	subject := account
	if rule.By == limit.ByAddress {
		subject = address
	}
	return table.Key{PK: o.Context() + ".LIMIT#" + rule.Name + "#" + subject, SK: "ROOT"}
}

// limitKeys are the rows a call may be counted in, whether its credential turns out good
// or not.
func limitKeys(o *Operation, address, account string) (keys []table.Key) {
	if o.Limit == nil {
		return nil
	}
	rules := o.Limit.For(true)
	if o.Limit.Nobody != nil {
		rules = append(rules, o.Limit.For(false)...)
	}
	for _, r := range rules {
		if !r.Local {
			keys = append(keys, limitKey(o, r, address, account))
		}
	}
	return keys
}

// rate takes one call from the operation's limits and stages what is left. The headers tell
// of the limit with the least left.
func (e *Engine) rate(c *Call, o *Operation) (map[string]string, error) {
	headers := map[string]string{}
	if o.Limit == nil {
		return headers, nil
	}
	account := c.Caller.ID
	if account == "" {
		account = "nobody"
	}
	least := -1
	for _, r := range o.Limit.For(c.Caller.ID != "") {
		v, err := e.take(c, r, limitKey(o, r, c.Address, account))
		if err != nil {
			return headers, err
		}
		if least < 0 || v.Remaining < least {
			least = v.Remaining
			headers = rateHeaders(r.N, v.Remaining, v.Reset)
		}
		if !v.OK {
			f := *fault.TooManyCalls
			f.RetryAfter = max(1, seconds(v.Wait))
			return rateHeaders(r.N, v.Remaining, v.Reset), f.With("retry_after_seconds", f.RetryAfter)
		}
	}
	return headers, nil
}

// take takes one call from one rule.
func (e *Engine) take(c *Call, r *limit.Rule, key table.Key) (limit.Verdict, error) {
	if r.Local {
		return e.meters.take(r, key.PK, c.Now), nil
	}
	state, _, err := Load[limit.State](c, key)
	if err != nil {
		return limit.Verdict{}, err
	}
	next, v := r.Take(state, c.Now)
	if v.OK {
		c.PutUntil(key, next, c.Now.Add(2*r.Per))
	}
	return v, nil
}

// maxMeters bounds the subjects counted in one process.
const maxMeters = 50_000

// meters are the limits that are counted in this process. The zero value is ready.
type meters struct {
	mu    sync.Mutex
	state map[string]metered
}

type metered struct {
	limit.State
	until time.Time // fresh again
}

func (m *meters) take(r *limit.Rule, subject string, now time.Time) limit.Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == nil || len(m.state) >= maxMeters {
		m.shrink(now)
	}
	next, v := r.Take(m.state[subject].State, now)
	if v.OK {
		m.state[subject] = metered{next, now.Add(v.Reset + r.Per/time.Duration(r.N))}
	}
	return v
}

// shrink forgets who is fresh again, and everybody when that frees too little: a crowd of
// that size is not held back by a limit per subject.
func (m *meters) shrink(now time.Time) {
	kept := make(map[string]metered)
	for s, t := range m.state {
		if t.until.After(now) {
			kept[s] = t
		}
	}
	if len(kept) > maxMeters/2 {
		clear(kept)
	}
	m.state = kept
}
