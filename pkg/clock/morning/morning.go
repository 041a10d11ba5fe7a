// Package morning is the calendar behind timed delivery: on which local date, and at which
// instant, the next piece falls due (bench.md 14). It is pure: zone, dates and instants come
// in, a date and an instant go out.
//
// A local date has one morning: its first instant at or after 06:00 on the wall clock there.
// Where 06:00 comes twice it is the first; where the clock jumps over 06:00 it is the instant
// after the jump, if that is still the same date; a date the zone leaves out has none.
//
// The zone database is linked in with this package, so a program knows every zone wherever it
// runs; one installed on the machine goes before it, as everywhere in Go.
package morning

import (
	"time"
	_ "time/tzdata" // zones are known on machines that have no database of them
)

// Limits of the calendar.
const (
	// Hour is the local hour from which a piece may land.
	Hour = 6
	// Apart is the least time between two releases. Mornings of one zone are further apart
	// by themselves; those of two zones may be an hour from each other.
	Apart = 12 * time.Hour
	// Grace is how long after its due time a release still counts as punctual.
	Grace = 15 * time.Minute
	// SearchDays bounds the look for a next morning, in local dates. A zone has left out one
	// date at a time so far.
	SearchDays = 400
	// maxShift is more than any zone is away from UTC, and maxPieces more than the number of
	// stretches of one offset that a few days have in any zone.
	maxShift  = 26 * time.Hour
	maxPieces = 32
)

// Release is a piece that was due: its local date and its due time, which is the event's time
// even when a late sweep did the work.
type Release struct {
	Date Date      `json:"date"`
	At   time.Time `json:"at"`
}

// Morning is the first instant of a local date at or after 06:00 there; ok is false when the
// zone has no such instant on that date.
//
// The offset is constant between two changes of the zone's clock. In each such stretch the
// part of the date that counts is one range of instants; the first that is not empty begins
// with the answer. time.Date is of no help: it leaves open what a wall time that is skipped
// or comes twice stands for.
func Morning(loc *time.Location, d Date) (at time.Time, ok bool) {
	if !d.Valid() {
		return time.Time{}, false
	}
	from, to := d.midnight().Add(Hour*time.Hour), d.midnight().Add(24*time.Hour)
	t := from.Add(-maxShift)
	for range maxPieces {
		local := t.In(loc)
		_, seconds := local.Zone()
		end := bound(local)
		shift := time.Duration(seconds) * time.Second
		begin, stop := latest(from.Add(-shift), t), to.Add(-shift)
		if !end.IsZero() && end.Before(stop) {
			stop = end
		}
		if begin.Before(stop) {
			return begin.UTC(), true
		}
		if end.IsZero() || end.Sub(to) > maxShift {
			break
		}
		t = end
	}
	return time.Time{}, false
}

// bound is an instant up to which the offset at t stays as it is; zero when it stays for ever.
// time.Time.ZoneBounds counts 365 days for every year that is ruled by a formula, so on the
// last day of a leap year it names the day before: there it is the end of that day, in UTC.
func bound(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		return t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	return end
}

// Tomorrow is the local date after the one at now: the next the zone has.
func Tomorrow(loc *time.Location, now time.Time) Date {
	today := DateIn(loc, now)
	for n := 1; n <= SearchDays; n++ {
		if _, ok := Morning(loc, today.Add(n)); ok {
			return today.Add(n)
		}
	}
	return today.Add(1)
}

// Next is when the next piece falls due: the first morning in loc of a local date that is
// after the last release's and not before from, at or after notBefore, and at least Apart
// after the last release's due time. last is nil before the first piece.
//
// It depends on the schedule alone, never on the present: after an outage the answer lies in
// the past, and asking again with each answer as last lists the missed dates, oldest first.
// notBefore is the latest moment from which pieces may fall due again: the approval, a
// resumption after a pause, a change of the zone.
func Next(loc *time.Location, last *Release, notBefore time.Time, from Date) (Date, time.Time) {
	d := from
	if last != nil {
		notBefore = latest(notBefore, last.At.Add(Apart))
		d = later(d, last.Date.Add(1))
	}
	if !notBefore.IsZero() {
		d = later(d, DateIn(loc, notBefore).Add(-1)) // a day of room: mornings before it are long past
	}
	for n := range SearchDays {
		at, ok := Morning(loc, d.Add(n))
		if ok && !at.Before(notBefore) {
			return d.Add(n), at
		}
	}
	// No zone leaves out a year. One that did is treated as if none were set.
	d = d.Add(SearchDays)
	return d, d.midnight().Add(Hour * time.Hour)
}

// Due lists what has fallen due by now and was not released, oldest first, at most n.
func Due(loc *time.Location, last *Release, notBefore time.Time, from Date, now time.Time, n int) []Release {
	var out []Release
	for len(out) < n {
		d, at := Next(loc, last, notBefore, from)
		if at.After(now) {
			break
		}
		out = append(out, Release{d, at})
		last = &out[len(out)-1]
	}
	return out
}

// Late tells whether a release at now of what fell due at due is a missed one.
func Late(due, now time.Time) bool { return now.Sub(due) > Grace }

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func later(a, b Date) Date {
	if b.After(a) {
		return b
	}
	return a
}
