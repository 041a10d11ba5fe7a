// Package laws checks the sources against the rules every package keeps: who may import
// whom, what is passed in instead of taken, how long a function may be, which modules are
// used. Each finding says the reason of its rule. laws_test.go at the root runs them all.
package laws

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"

	"guildhall/scripts/source"
)

// Finding is one place that breaks a rule.
type Finding struct {
	Where  string // file:line or file
	What   string
	Reason string
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s (%s)", f.Where, f.What, f.Reason) }

// Laws are all checks, by name.
var Laws = []struct {
	Name  string
	Check func(*source.Tree) []Finding
}{
	{"imports", Imports},
	{"bench order", BenchOrder},
	{"modules", Modules},
	{"passed in", Bans},
	{"length", Lengths},
	{"names", Names},
}

// under tells whether dir is root or below it.
func under(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }

func underAny(dir string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return under(dir, r) })
}

// suite tells whether a folder holds test helpers: exported suites and stand-ins.
func suite(dir string) bool {
	base := path.Base(dir)
	return strings.HasSuffix(base, "test") || slices.Contains([]string{"faulty", "stub", "meter"}, base)
}

// product lists the files that are part of the product: no tests, no suites.
func product(t *source.Tree) []*source.File {
	return slices.DeleteFunc(slices.Clone(t.Files), func(f *source.File) bool { return f.Test || suite(f.Dir) })
}

// MaxFunction is the most lines a function may have, its first and last included.
const MaxFunction = 70

// Lengths finds functions over MaxFunction lines.
func Lengths(t *source.Tree) []Finding {
	var all []Finding
	for _, f := range t.Files {
		if f.Test || f.Generated {
			continue
		}
		for _, fn := range f.Funcs() {
			if n := f.Line(fn.End()) - f.Line(fn.Pos()) + 1; n > MaxFunction {
				all = append(all, Finding{fmt.Sprintf("%s:%d", f.Path, f.Line(fn.Pos())), fmt.Sprintf("%s has %d lines, at most %d", fn.Name.Name, n, MaxFunction),
					"a function that fits on a screen is read whole"})
			}
		}
	}
	return all
}

// Names finds packages whose name says nothing of what is in them.
func Names(t *source.Tree) []Finding {
	var all []Finding
	for _, f := range t.Files {
		for part := range strings.SplitSeq(f.Dir, "/") {
			if slices.Contains([]string{"util", "utils", "common", "types", "models", "helpers", "misc"}, part) {
				all = append(all, Finding{f.Path, "a package called " + part, "a package is named after what it is about"})
			}
		}
	}
	return all
}

// taking are the places where time, randomness and the environment come in.
var taking = []string{"pkg/config", "pkg/wire", "cmd", "infra", "scripts", "tests", "localstack", "tools"}

// banned are the functions and packages that take what must be passed in.
var banned = map[string][]string{
	"time":         {"Now", "Sleep", "Since", "Until", "Tick"},
	"os":           {"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
	"math/rand":    nil,
	"math/rand/v2": nil,
	"crypto/rand":  nil,
}

const passedIn = "time, randomness and configuration are passed in, so that a month runs in a test and a failing seed replays; only config, wire and programs take them"

// Bans finds calls that take time, randomness or the environment themselves.
func Bans(t *source.Tree) []Finding {
	var all []Finding
	for _, f := range product(t) {
		if underAny(f.Dir, taking...) {
			continue
		}
		names := map[string][]string{}
		for p, funcs := range banned {
			name := f.ImportName(p)
			if name == "" {
				continue
			}
			if funcs == nil {
				all = append(all, Finding{f.Path, "imports " + p, passedIn})
			}
			names[name] = funcs
		}
		all = append(all, calls(f, names)...)
	}
	return all
}

func calls(f *source.File, names map[string][]string) []Finding {
	var all []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && slices.Contains(names[x.Name], s.Sel.Name) {
			all = append(all, Finding{fmt.Sprintf("%s:%d", f.Path, f.Line(s.Pos())), "uses " + x.Name + "." + s.Sel.Name, passedIn})
		}
		return true
	})
	return all
}
