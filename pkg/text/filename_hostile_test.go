package text_test

import (
	"strings"
	"testing"

	"guildhall/pkg/text"
)

func TestAShortNameKeepsItsEnding(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt": "a.txt", strings.Repeat("é", 80): strings.Repeat("é", 80), strings.Repeat("x", 77) + ".ps1.txt": strings.Repeat("x", 76) + ".txt",
		strings.Repeat("x", 76) + ".ps1" + strings.Repeat("y", 90): strings.Repeat("x", 76) + ".ps" + "_", strings.Repeat("x", 76) + ".ps1." + strings.Repeat("y", 90): strings.Repeat("x", 76) + ".ps_",
	} {
		if got := text.ShortName(name, 80); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
