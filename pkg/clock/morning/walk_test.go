package morning_test

import (
	"time"

	. "guildhall/pkg/clock/morning"
)

// The oracle knows nothing of wall times, dates or bounds of zones. It walks over instants,
// asks the zone only for its offset at each hour, counts days itself, and notes the first
// instant of every local date that is at or after 06:00. Where the offset is the same at both
// ends of an hour and made of whole minutes it steps by minutes with that offset; in any other
// hour it steps by seconds and asks for each.

const (
	day    = 24 * 60 * 60
	hour   = 60 * 60
	minute = 60
)

// found is what a walk found out: by day number, counted from 1970-01-01 in local time.
type found struct {
	first map[int64]int64 // unix seconds of the first instant at or after 06:00
	seen  map[int64]bool  // dates of which any instant was seen
}

func offset(loc *time.Location, unix int64) int64 {
	_, n := time.Unix(unix, 0).In(loc).Zone()
	return int64(n)
}

// walk looks at every instant from..to (unix seconds, multiples of an hour).
func walk(loc *time.Location, from, to int64) found {
	f := found{map[int64]int64{}, map[int64]bool{}}
	last := int64(-1 << 62) // the date seen last, once its morning is known
	look := func(unix, off int64) {
		local := unix + off
		date := local / day
		if local%day < 0 {
			date--
		}
		if date == last {
			return
		}
		f.seen[date] = true
		if local-date*day < Hour*hour {
			return
		}
		last = date
		if _, ok := f.first[date]; !ok {
			f.first[date] = unix
		}
	}
	off := offset(loc, from)
	for u := from; u < to; u += hour {
		next := offset(loc, u+hour)
		if off == next && off%minute == 0 {
			for m := u; m < u+hour; m += minute {
				look(m, off)
			}
		} else {
			for s := u; s < u+hour; s++ {
				look(s, offset(loc, s))
			}
		}
		off = next
	}
	return f
}

// number counts a date from 1970-01-01, by the rule of leap years and nothing of package time.
func number(d Date) int64 {
	y, m := int64(d.Year), int64(d.Month)
	if m <= 2 {
		y, m = y-1, m+12
	}
	return 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + int64(d.Day) - 1 - 719468
}
