// Package guildhall_test holds the laws every package of the exchange keeps.
package guildhall_test

import (
	"os"
	"testing"

	"guildhall/scripts/laws"
	"guildhall/scripts/source"
)

func TestLaws(t *testing.T) {
	tree, err := source.Load(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, law := range laws.Laws {
		t.Run(law.Name, func(t *testing.T) {
			for _, f := range law.Check(tree) {
				t.Error(f)
			}
		})
	}
	t.Run("requirements", func(t *testing.T) {
		mod, err := os.ReadFile("go.mod")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range laws.Required(string(mod)) {
			t.Error(f)
		}
	})
}
