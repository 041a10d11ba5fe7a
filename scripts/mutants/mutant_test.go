package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryPatchStillApplies: a bug whose place is gone proves nothing any more.
func TestEveryPatchStillApplies(t *testing.T) {
	names := map[string]bool{}
	strangers := 0
	for _, m := range mutants {
		b, err := os.ReadFile(filepath.Join("../..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		changed, err := m.apply(string(b))
		if err != nil || changed == string(b) {
			t.Errorf("%s: %v", m.name, err)
		}
		if names[m.name] {
			t.Errorf("%s stands twice", m.name)
		}
		if names[m.name] = true; !strings.HasPrefix(m.file, "pkg/bench/deals/") {
			strangers++
		}
	}
	if len(mutants) < 12 || strangers < 4 {
		t.Errorf("%d bugs, %d of them outside of deals", len(mutants), strangers)
	}
}

func TestAPatchThatFitsNowhereOrTwiceIsRefused(t *testing.T) {
	m := mutant{find: "a", replace: "b", file: "x.go"}
	for _, text := range []string{"", "aa"} {
		if _, err := m.apply(text); err == nil {
			t.Errorf("%q was patched", text)
		}
	}
	if got, err := m.apply("cac"); err != nil || got != "cbc" {
		t.Errorf("%q %v", got, err)
	}
}

func TestOnlyAFailingSeedIsAFind(t *testing.T) {
	if got, err := found("x seed 7: the money is gone\nreplay: go test -path.seeds=1 -path.seed=7\n"); err != nil || !strings.Contains(got, "seed 7: the money is gone") {
		t.Errorf("%q %v", got, err)
	}
	if _, err := found("end lapsed happened 0 times\nFAIL\n"); err == nil {
		t.Error("a run that reached too little is no find")
	}
}
