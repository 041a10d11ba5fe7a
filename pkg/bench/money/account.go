package money

import "fmt"

// Account is the held money of one deal, in cents: what the person paid in, what still
// waits, what went to the agent and what went back (bench.md 15.2).
type Account struct {
	Funded   int64 `json:"funded_cents"`
	Held     int64 `json:"held_cents"`
	Released int64 `json:"released_cents"`
	Returned int64 `json:"returned_cents"`
}

// Fund takes the person's one payment in.
func (a *Account) Fund(cents int64) error { return a.move(cents, cents, 0, 0) }

// Release gives held money to the agent.
func (a *Account) Release(cents int64) error { return a.move(0, -cents, cents, 0) }

// Return gives held money back to the person.
func (a *Account) Return(cents int64) error { return a.move(0, -cents, 0, cents) }

// move books one entry on both sides. A booking that would leave a side below zero, or the
// sides unequal, changes nothing.
func (a *Account) move(funded, held, released, returned int64) error {
	b := Account{a.Funded + funded, a.Held + held, a.Released + released, a.Returned + returned}
	if funded < 0 || released < 0 || returned < 0 {
		return fmt.Errorf("money: a negative amount is booked on %+v", *a)
	}
	if err := b.Check(); err != nil {
		return err
	}
	*a = b
	return nil
}

// Check is the law of every account: nothing is negative, and what was funded is held,
// released or returned.
func (a Account) Check() error {
	if a.Funded < 0 || a.Held < 0 || a.Released < 0 || a.Returned < 0 || a.Funded != a.Held+a.Released+a.Returned {
		return fmt.Errorf("money: the account does not add up: %+v", a)
	}
	return nil
}
