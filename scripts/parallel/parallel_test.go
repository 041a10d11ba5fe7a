package main

import (
	"slices"
	"testing"

	"guildhall/scripts/source"
)

func TestPackagesThatStartGoroutinesAreFound(t *testing.T) {
	tree := &source.Tree{}
	for name, src := range map[string]string{
		"pkg/a/a.go":           "package a\nfunc f() { go f() }",
		"pkg/b/b_test.go":      "package b\nimport \"sync\"\nfunc f() { var w sync.WaitGroup; w.Go(f) }",
		"pkg/c/c.go":           "package c\nfunc f() { f() }",
		"infra/d.go":           "package infra\nfunc f() { go f() }",
		"pkg/suitetest/s.go":   "package suitetest\nfunc f() { go f() }",
		"pkg/e/e_test.go":      "package e\nimport \"guildhall/pkg/suitetest\"\nvar _ = suitetest.Run",
		"tests/emulators/e.go": "package emulators\nfunc f() { go f() }",
	} {
		f, err := source.Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		tree.Files = append(tree.Files, f)
	}
	got := parallel(tree)
	slices.Sort(got)
	if !slices.Equal(got, []string{"pkg/a", "pkg/b", "pkg/e", "pkg/suitetest"}) {
		t.Errorf("got %v", got)
	}
}
