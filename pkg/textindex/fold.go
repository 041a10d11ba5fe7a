package textindex

import (
	"slices"
	"strings"
	"unicode"
)

// Fold maps texts that differ in case only to one text, character by character, so that a
// part of a text is a part of its folded form.
func Fold(s string) string { return strings.Map(fold, s) }

func fold(r rune) rune {
	if r <= unicode.MaxASCII {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	low := r
	for n := unicode.SimpleFold(r); n != r; n = unicode.SimpleFold(n) {
		low = min(low, n)
	}
	if low <= unicode.MaxASCII {
		return fold(low) // the Kelvin sign is a k, the long s an s
	}
	return low
}

// trigrams lists the distinct trigrams of folded texts, sorted.
func trigrams(texts ...string) []string {
	seen := map[string]bool{}
	for _, s := range texts {
		var at [MinChars]int // where the last characters begin
		n := 0
		for i := range s {
			if n >= MinChars {
				seen[s[at[n%MinChars]:i]] = true
			}
			at[n%MinChars] = i
			n++
		}
		if n >= MinChars {
			seen[s[at[n%MinChars]:]] = true
		}
	}
	all := make([]string, 0, len(seen))
	for t := range seen {
		all = append(all, t)
	}
	slices.Sort(all)
	return all
}

// holds tells whether a document holds what is looked for, given folded.
func (d Doc) holds(folded string) bool {
	return !d.Hidden && slices.ContainsFunc(d.Text, func(t string) bool { return strings.Contains(Fold(t), folded) })
}
