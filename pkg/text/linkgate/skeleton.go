package linkgate

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// likes maps letters of other scripts to the plain letters they are drawn like (UTS 39). The file holds no letter whose
// like is not plain: such a label can resemble no protected name. A test compares it with the published table.
var likes = sync.OnceValue(func() map[rune]string {
	m := map[rune]string{}
	for _, line := range lines("confusables") {
		like, letters, _ := strings.Cut(line, " ")
		for _, r := range letters {
			m[r] = like
		}
	}
	return m
})

// Letters first, then pairs: c1oud is cloud before cl is d.
var (
	drawn   = strings.NewReplacer("0", "o", "1", "l", "-", "")
	similar = strings.NewReplacer("0", "o", "1", "l", "-", "", "i", "l", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b", "9", "g")
	pairs   = strings.NewReplacer("rn", "m", "vv", "w")
	closer  = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d")
)

// skeleton is what a label looks like at a glance. Two labels with one skeleton are easily taken for each other. loose also
// joins what is only similar.
func skeleton(label string, loose bool) string {
	if !ascii(label) {
		label = likeness(label)
	}
	if loose {
		return closer.Replace(similar.Replace(label))
	}
	return pairs.Replace(drawn.Replace(label))
}

// likeness draws a label in plain letters as far as it can: accents dropped, look-alikes replaced.
func likeness(label string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(norm.NFKC.String(label))) {
		like, found := likes()[r]
		switch {
		case found:
			b.WriteString(like)
		case !unicode.In(r, unicode.Mn, unicode.Me):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// single makes repeated letters one.
func single(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if i == 0 || s[i] != s[i-1] {
			b = append(b, s[i])
		}
	}
	return string(b)
}
