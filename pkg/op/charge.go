package op

import (
	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/table"
)

// Charge takes one call from a further limit of a subject, and the call is counted even
// when the operation refuses it in the end: guesses at a secret are limited like this.
// Nothing may be staged for the same row otherwise.
func (c *Call) Charge(r limit.Rule, subject string) error {
	key := c.ChargeKey(r, subject)
	state, _, err := Load[limit.State](c, key)
	if err != nil {
		return err
	}
	next, v := r.Take(state, c.Now)
	if !v.OK {
		f := *fault.TooManyCalls
		f.RetryAfter = max(1, seconds(v.Wait))
		return f.With("retry_after_seconds", f.RetryAfter)
	}
	c.PutUntil(key, next, c.Now.Add(2*r.Per))
	c.charged = append(c.charged, key)
	return nil
}

// ChargeKey is the row Charge reads, for those who read it in a batch with others.
func (c *Call) ChargeKey(r limit.Rule, subject string) table.Key {
	return table.Key{PK: c.Group + ".LIMIT#" + r.Name + "#" + subject, SK: "ROOT"}
}

// Stand lets staged rows be written even when the operation refuses in the end, and nothing
// else of it: a refusal that raises a question for the stewards, or what was learnt on the
// way to it. A refusal is not kept under the Idempotency-Key, so the call that comes again
// decides again: what stands must be found by it.
func (c *Call) Stand(keys ...table.Key) { c.charged = append(c.charged, keys...) }
