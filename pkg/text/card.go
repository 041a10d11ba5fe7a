package text

import "strings"

// Card numbers are 13 to 19 digits with a valid check digit, written as one run or in the groups printed on cards.
const (
	minCardDigits = 13
	maxCardDigits = 19
)

// cardGroups are the printed groupings: most cards, American Express, Diners Club, and the long ones.
var cardGroups = map[string]bool{"4-4-4-4": true, "4-4-4-4-3": true, "4-6-5": true, "4-6-4": true, "4-4-4-1": true, "6-13": true, "8-8": true}

// hasCard walks the digit groups of s once. Groups joined by one space or one dash are a candidate together; each group is
// one on its own.
func hasCard(s string) bool {
	for i := 0; i < len(s); {
		if !isDigit(s[i]) {
			i++
			continue
		}
		start, groups := i, []int(nil)
		for {
			n := run(s[i:], isDigit, len(s))
			if n >= minCardDigits && n <= maxCardDigits && !insideHex(s, i, i+n) && luhn(s[i:i+n]) {
				return true
			}
			groups = append(groups, n)
			i += n
			if i+1 < len(s) && (s[i] == ' ' || s[i] == '-') && isDigit(s[i+1]) && len(groups) < 6 {
				i++
				continue
			}
			break
		}
		if len(groups) > 1 && cardGroups[grouping(groups)] && luhn(strings.NewReplacer(" ", "", "-", "").Replace(s[start:i])) {
			return true
		}
	}
	return false
}

func grouping(groups []int) string {
	var b strings.Builder
	for i, n := range groups {
		if n > maxCardDigits {
			return ""
		}
		if i > 0 {
			b.WriteByte('-')
		}
		if n >= 10 {
			b.WriteByte('1')
		}
		b.WriteByte(byte('0' + n%10))
	}
	return b.String()
}

// insideHex says whether the run is part of a hash: at least 32 hexadecimal digits on end, letters among them.
func insideHex(s string, from, to int) bool {
	const hash = 32
	lo, hi := from, to
	for lo > 0 && to-lo < 2*hash && hexByte(s[lo-1]) {
		lo--
	}
	for hi < len(s) && hi-lo < 2*hash && hexByte(s[hi]) {
		hi++
	}
	return hi-lo >= hash && (lo < from || hi > to)
}

func luhn(digits string) bool {
	sum, double := 0, false
	for i := len(digits) - 1; i >= 0; i-- {
		d := int(digits[i] - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		double = !double
	}
	return sum > 0 && sum%10 == 0
}
