package rest_test

import (
	"mime"
	"strings"
	"testing"

	"guildhall/pkg/edge/rest"
)

// TestALongNameKeepsItsEnding: what is cut away never leaves another ending behind.
func TestALongNameKeepsItsEnding(t *testing.T) {
	for n := 1; n < 700; n++ {
		for _, sign := range []string{"a", "日", "🂡", "é"} {
			for _, ending := range []string{".ps1.txt", ".exe.pdf", ".ps1." + strings.Repeat("x", 80)} {
				name := strings.Repeat(sign, n) + ending
				got := rest.Attachment(name)
				if len(got) > 1800 {
					t.Fatalf("%d times %s: a header of %d bytes", n, sign, len(got))
				}
				_, params, err := mime.ParseMediaType(got)
				if err != nil {
					t.Fatalf("%s: %v", got, err)
				}
				shown := params["filename"]
				if strings.HasSuffix(shown, ".ps1") || strings.HasSuffix(shown, ".exe") || strings.HasSuffix(shown, ".") {
					t.Fatalf("%d times %s, then %s: %s", n, sign, ending, got)
				}
				if len(ending) < 20 && shown[strings.LastIndexByte(shown, '.'):] != ending[4:] {
					t.Fatalf("%s has another ending: %s", name, got)
				}
			}
		}
	}
}
