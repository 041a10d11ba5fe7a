// Command parallel prints the packages whose files, tests included, start goroutines: the
// ones worth a run under the race detector.
package main

import (
	"fmt"
	"go/ast"
	"os"
	"slices"
	"strings"

	"guildhall/scripts/source"
)

func main() {
	tree, err := source.Load(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, dir := range parallel(tree) {
		fmt.Println("./" + dir)
	}
}

// otherModules are folders that the root module's go command does not see.
var otherModules = []string{"infra", "tests/emulators", "tools"}

func parallel(t *source.Tree) []string {
	var dirs []string
	for _, f := range t.Files {
		foreign := slices.ContainsFunc(otherModules, func(m string) bool { return f.Dir == m || strings.HasPrefix(f.Dir, m+"/") })
		if !foreign && !slices.Contains(dirs, f.Dir) && starts(f) {
			dirs = append(dirs, f.Dir)
		}
	}
	return append(dirs, users(t, dirs)...)
}

// users are the folders whose tests run a suite that starts goroutines.
func users(t *source.Tree, dirs []string) []string {
	var more []string
	for _, f := range t.Files {
		if !f.Test || slices.Contains(dirs, f.Dir) || slices.Contains(more, f.Dir) || !strings.HasPrefix(f.Dir, "pkg/") {
			continue
		}
		for _, i := range f.Imports() {
			if strings.HasSuffix(i, "test") && slices.Contains(dirs, strings.TrimPrefix(i, source.Module+"/")) {
				more = append(more, f.Dir)
				break
			}
		}
	}
	return more
}

// starts tells whether a file starts a goroutine itself or by its test runner.
func starts(f *source.File) bool {
	found := false
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Parallel" || n.Sel.Name == "RunParallel"
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && s.Sel.Name == "Go" && len(n.Args) == 1
		}
		return !found
	})
	return found
}
