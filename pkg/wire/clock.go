// Package wire puts an exchange together: stores, queues, mail and payments behind the
// operations of the catalog, in one process. It is, with config, the only place that asks
// the machine for the time, randomness and files.
package wire

import (
	"errors"
	"strings"
	"sync"
	"time"

	"guildhall/pkg/atomicfile"
	"guildhall/pkg/clock"
)

// Clock is the exchange's time: the machine's, until a local control moves it; from then
// on it stands still between moves.
type Clock struct {
	mu     sync.Mutex
	frozen bool
	now    time.Time
	file   string // where a moved clock is kept across restarts; "" nowhere
}

// ErrBack is the refusal to move a clock back.
var ErrBack = errors.New("wire: a clock only moves forward")

// Now is the exchange's present time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frozen {
		return c.now
	}
	return clock.Cut(time.Now())
}

// Frozen tells whether the clock was moved and stands still.
func (c *Clock) Frozen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frozen
}

// Set moves the clock forward to t and stops it there.
func (c *Clock) Set(t time.Time) error {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.Before(now) {
		return ErrBack
	}
	c.frozen, c.now = true, clock.Cut(t)
	return nil
}

// Freeze stops the clock where it stands, unless check refuses that moment.
func (c *Clock) Freeze(check func(now time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now
	if !c.frozen {
		now = clock.Cut(time.Now())
	}
	if err := check(now); err != nil {
		return err
	}
	c.frozen, c.now = true, now
	return nil
}

// restore sets a clock that keep wrote down, unless real time has passed it since.
func (c *Clock) restore(s string) error {
	t, err := clock.Parse(strings.TrimSpace(s))
	if err != nil {
		return err
	}
	if !t.After(time.Now()) {
		return nil
	}
	return c.Set(t)
}

// keep writes a moved clock down, so that a restart goes on where it stood.
func (c *Clock) keep() error {
	if c.file == "" || !c.Frozen() {
		return nil
	}
	return atomicfile.Replace(c.file, []byte(clock.Stamp(c.Now())+"\n"))
}
