package text

import "testing"

func TestADaysNumberIsNotSaidTwice(t *testing.T) {
	for title, want := range map[string]string{
		"Day 1: Scales": "Scales", "day 1 - Scales": "Scales", "DAY 1 \u2013 Scales": "Scales", "Day 1. Scales": "Scales",
		"Scales": "Scales", "Day 1": "Day 1", "Day 1:": "Day 1:", "Day 10: Scales": "Day 10: Scales", "Day 2: Scales": "Day 2: Scales",
		"Day 1 at the sea": "Day 1 at the sea", "": "", "Daß 1: x": "Daß 1: x",
	} {
		if got := AfterDay(1, title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}
