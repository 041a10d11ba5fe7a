package main

import (
	"fmt"
	"go/ast"
	"io"
	"strings"

	"guildhall/pkg/catalog"
	"guildhall/scripts/source"
)

// untested prints the declared codes that no test of the operation's context, and none
// below tests/, names.
func untested(root string, w io.Writer) error {
	tree, err := source.Load(root)
	if err != nil {
		return err
	}
	named := map[string]map[string]bool{} // by context
	for _, f := range tree.Files {
		if f.Test {
			c := contextOf(f.Dir)
			if named[c] == nil {
				named[c] = map[string]bool{}
			}
			collect(f.AST, named[c])
		}
	}
	for _, o := range catalog.Operations() {
		for _, code := range o.Faults {
			if !named[contextOf(dirOf(o))][code] && !named["tests"][code] {
				fmt.Fprintf(w, "%s\t%s\n", o.ID, code)
			}
		}
	}
	return nil
}

// contextOf is the first folder below pkg ("pkg/bench"), or "tests".
func contextOf(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	second, _, _ := strings.Cut(rest, "/")
	if first == "tests" {
		return first
	}
	return first + "/" + second
}

func collect(n ast.Node, texts map[string]bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok {
			if s, ok := source.String(l); ok {
				texts[s] = true
			}
		}
		return true
	})
}
