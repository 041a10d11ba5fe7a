package text

import (
	"strconv"
	"strings"
)

// AfterDay is a day's title without a "Day n:" of its own at the front, for where the number
// of the day is written before it anyway. A title that is nothing else stays.
func AfterDay(n int, title string) string {
	number := "day " + strconv.Itoa(n)
	if len(title) <= len(number) || !strings.EqualFold(title[:len(number)], number) {
		return title
	}
	rest := strings.TrimLeft(title[len(number):], " ")
	for _, mark := range []string{":", "-", "\u2013", "\u2014", ",", "."} {
		if after, is := strings.CutPrefix(rest, mark); is && strings.TrimSpace(after) != "" {
			return strings.TrimSpace(after)
		}
	}
	return title
}
