package account

import "guildhall/pkg/op"

// EffectClosed is what follows from a closed account elsewhere: what the person uploaded is
// removed. Its subject is the person.
const EffectClosed = "account.closed"

// Closed tells whether a person's account is closed: nothing the person put here is handed
// out any more.
func Closed(c *op.Call, person string) (bool, error) {
	p, found, err := op.Load[Person](c, PersonKey(person))
	return found && !p.ClosedAt.IsZero(), err
}
