package fault

import "strings"

// Scrub makes a text fit for a log, where causes of failures go: words that hold a token
// or a mail address are blotted out, control characters dropped, and it ends after n bytes.
func Scrub(s string, n int) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
	for i, w := range words {
		if strings.Contains(w, "gh_") || strings.Contains(w, "@") {
			words[i] = "[…]"
		}
	}
	s = strings.ToValidUTF8(strings.Join(words, " "), "?")
	return strings.ToValidUTF8(s[:min(len(s), n)], "")
}
