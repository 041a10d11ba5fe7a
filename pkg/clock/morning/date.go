package morning

import (
	"cmp"
	"fmt"
	"time"
)

// layout is how a date is written: YYYY-MM-DD.
const layout = "2006-01-02"

// Date is a day of the calendar, of no zone. Its text and JSON form is "YYYY-MM-DD", years 1
// to 9999; the zero Date is none. Dates compare with ==.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate reads exactly YYYY-MM-DD; a day the calendar does not have is refused.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(layout, s)
	if err != nil || len(s) != len(layout) || t.Year() < 1 {
		return Date{}, fmt.Errorf("morning: %.32q is no date YYYY-MM-DD", s)
	}
	return dateOf(t), nil
}

// DateIn is the local date at an instant.
func DateIn(loc *time.Location, t time.Time) Date { return dateOf(t.In(loc)) }

func dateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// midnight is the date's first instant in UTC: a number to count days with.
func (d Date) midnight() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// Valid tells whether the calendar has the date, in the years 1 to 9999.
func (d Date) Valid() bool {
	return d.Year >= 1 && d.Year <= 9999 && dateOf(d.midnight()) == d
}

// IsZero tells whether this is no date; it lets `omitzero` leave the field out.
func (d Date) IsZero() bool { return d == Date{} }

// Add is the date so many days later; earlier when negative.
func (d Date) Add(days int) Date { return dateOf(d.midnight().AddDate(0, 0, days)) }

// Sub is the number of days from e to d.
func (d Date) Sub(e Date) int { return int((d.midnight().Unix() - e.midnight().Unix()) / 86400) }

// Compare is -1, 0 or 1 as d comes before, is or comes after e.
func (d Date) Compare(e Date) int {
	return cmp.Or(cmp.Compare(d.Year, e.Year), cmp.Compare(d.Month, e.Month), cmp.Compare(d.Day, e.Day))
}

// After tells whether d comes after e.
func (d Date) After(e Date) bool { return d.Compare(e) > 0 }

func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day) }

// MarshalText writes a valid date; JSON and map keys use it.
func (d Date) MarshalText() ([]byte, error) {
	if !d.Valid() {
		return nil, fmt.Errorf("morning: %v is no date", d)
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads what MarshalText writes and nothing else.
func (d *Date) UnmarshalText(b []byte) error {
	got, err := ParseDate(string(b))
	if err == nil {
		*d = got
	}
	return err
}
