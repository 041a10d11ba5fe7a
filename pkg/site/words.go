package site

import (
	"strconv"
	"strings"
	"time"
)

// dollars prints cents as people write them: $1,250 or $12.50.
func dollars(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	s := strconv.FormatInt(cents/100, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if rest := cents % 100; rest != 0 {
		s += "." + strconv.FormatInt(rest/10, 10) + strconv.FormatInt(rest%10, 10)
	}
	return sign + "$" + s
}

// percent prints a chance; what is neither certain nor impossible never looks so.
func percent(p float64) string {
	n := int(p*100 + 0.5)
	switch {
	case n < 1:
		return "under 1%"
	case n > 99:
		return "over 99%"
	}
	return strconv.Itoa(n) + "%"
}

// count prints a number with its noun: "1 bid", "3 bids".
func count[N int | int64](n N, noun string) string {
	s := strconv.FormatInt(int64(n), 10) + " " + noun
	if n != 1 {
		s += "s"
	}
	return s
}

// span prints a length of time in its two largest units.
func span(seconds int64) string {
	d, h, m := seconds/86400, seconds%86400/3600, seconds%3600/60
	var parts []string
	for _, p := range []struct {
		n    int64
		noun string
	}{{d, "day"}, {h, "hour"}, {m, "minute"}} {
		if p.n > 0 && len(parts) < 2 {
			parts = append(parts, count(p.n, p.noun))
		}
	}
	if len(parts) == 0 {
		return "less than a minute"
	}
	return strings.Join(parts, " ")
}

// bytes prints a size.
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return count(n, "byte")
	case n < 1_000_000:
		return strconv.FormatInt((n+500)/1000, 10) + " KB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}

// Moment is a time as a page shows it, with the form machines read.
type Moment struct{ Words, Stamp string }

const (
	momentLayout = "2 January 2006, 15:04 MST"
	stampLayout  = time.RFC3339
)

func moment(t time.Time, zone *time.Location) Moment {
	return Moment{t.In(zone).Format(momentLayout), t.UTC().Truncate(time.Second).Format(stampLayout)}
}

// date prints a local date, written 2026-12-01, with its day of the week.
func date(d any) string {
	s, _ := d.(string)
	if p, ok := d.(*string); ok && p != nil {
		s = *p
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return s
	}
	return t.Format("Monday, 2 January 2006")
}
