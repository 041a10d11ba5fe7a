package linkgate

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mtibben/confusables"
	"golang.org/x/text/unicode/norm"
)

var update = flag.Bool("update", false, "write data/confusables.txt anew from the published table")

// TestConfusablesAreThoseOfUTS39 compares our short table with the whole one. Ours holds only letters that are left after
// lower-casing and decomposition and that are drawn like plain letters: no other can make a name look protected.
func TestConfusablesAreThoseOfUTS39(t *testing.T) {
	want := map[string][]rune{}
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		if r >= 0xD800 && r <= 0xDFFF || unicode.In(r, unicode.Mn, unicode.Me) || !unicode.In(r, unicode.L, unicode.N) {
			continue
		}
		if s := string(r); norm.NFD.String(strings.ToLower(norm.NFKC.String(s))) != s {
			continue
		}
		like := strings.ToLower(confusables.Skeleton(string(r)))
		if like = strings.ReplaceAll(plainOnly(like), "rn", "m"); like != "" {
			want[like] = append(want[like], r)
		}
	}
	if *update {
		writeConfusables(t, want)
		return
	}
	n := 0
	for like, letters := range want {
		for _, r := range letters {
			n++
			if got := likes()[r]; got != like {
				t.Errorf("%U %c is drawn like %q; the table says %q", r, r, like, got)
			}
		}
	}
	if len(likes()) != n {
		t.Errorf("the table holds %d letters, the published one gives %d", len(likes()), n)
	}
}

// plainOnly drops accents and answers "" unless what is left is plain letters and digits.
func plainOnly(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			return ""
		}
	}
	return b.String()
}

func writeConfusables(t *testing.T, want map[string][]rune) {
	var b strings.Builder
	b.WriteString("# Letters of other scripts drawn like plain ones (UTS 39), lower case: the plain letters, a blank, the others.\n" +
		"# Made by: go test ./pkg/text/linkgate -run ConfusablesAreThoseOfUTS39 -update\n")
	for _, like := range slices.Sorted(maps.Keys(want)) {
		b.WriteString(like + " " + string(want[like]) + "\n")
	}
	if err := os.WriteFile("data/confusables.txt", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
