package fault

import "testing"

func TestScrubHoldsNoTokenAndNoAddress(t *testing.T) {
	for in, want := range map[string]string{
		"row bench.X is odd":                 "row bench.X is odd",
		"mail to jane@example.org failed":    "mail to […] failed",
		"token=gh_agent_1_abc\tand \"gh_x\"": "[…] and […]",
		"a\x00b\nc":                          "a b c",
		"":                                   "",
	} {
		if got := Scrub(in, 100); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Scrub("ééé", 3); got != "é" {
		t.Errorf("cut inside a character: %q", got)
	}
}
