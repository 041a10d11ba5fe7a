package table

import "time"

// ToMillis is the form in which stores keep Expires: milliseconds since 1970, rounded up so
// that nothing expires before its time, and 0 for never.
func ToMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	if ms := t.Add(time.Millisecond - 1).UnixMilli(); ms != 0 {
		return ms
	}
	return 1
}

// FromMillis reads what ToMillis wrote, in UTC.
func FromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
