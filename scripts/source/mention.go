package source

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Mention is a test function that names something.
type Mention struct{ File, Test string }

// words are what a function of a test file names.
type words struct {
	file   *File
	name   string
	idents map[string]bool // x, and p.X as "p.X"
	texts  map[string]bool // string literals
}

// Mentions finds tests by what they name.
type Mentions struct{ funcs []words }

// Mentions reads what every function of every test file names.
func (t *Tree) Mentions() *Mentions {
	m := &Mentions{}
	for _, f := range t.Files {
		if !f.Test {
			continue
		}
		for _, fn := range f.Funcs() {
			m.funcs = append(m.funcs, wordsOf(f, fn))
		}
	}
	return m
}

func wordsOf(f *File, fn *ast.FuncDecl) words {
	w := words{f, fn.Name.Name, map[string]bool{}, map[string]bool{}}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			w.idents[n.Name] = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				w.idents[x.Name+"."+n.Sel.Name] = true
			}
		case *ast.BasicLit:
			if s, ok := String(n); ok {
				w.texts[s] = true
			}
		}
		return true
	})
	return w
}

// Of finds the tests of an operation: those that name its variable or function, or its id
// in a string. Where none does, it finds the tests whose helpers do.
func (m *Mentions) Of(dir, variable, function, id string) []Mention {
	names := func(w words) bool {
		if below(w.file.Dir, "pkg/op", "pkg/table", "pkg/queue", "pkg/edge") {
			return false // the layers below borrow ids for tests of their own
		}
		if w.texts[id] || w.idents[path.Base(dir)+"."+variable] {
			return true
		}
		inside := w.file.Dir == dir && !strings.HasSuffix(w.file.AST.Name.Name, "_test")
		return inside && (w.idents[variable] || w.idents[function])
	}
	var direct []Mention
	helpers := map[string]bool{} // folder + name
	for _, w := range m.funcs {
		switch {
		case !names(w):
		case strings.HasPrefix(w.name, "Test"):
			direct = append(direct, Mention{w.file.Path, w.name})
		default:
			helpers[w.file.Dir+" "+w.name] = true
		}
	}
	if len(direct) == 0 && len(helpers) > 0 {
		direct = m.through(helpers)
	}
	slices.SortStableFunc(direct, func(a, b Mention) int { return distance(a, dir) - distance(b, dir) })
	return direct
}

func below(dir string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return dir == r || strings.HasPrefix(dir, r+"/") })
}

// distance orders tests: those of the folder, those of its context, all others.
func distance(m Mention, dir string) int {
	switch {
	case path.Dir(m.File) == dir:
		return 0
	case strings.HasPrefix(m.File, path.Dir(dir)+"/"):
		return 1
	}
	return 2
}

// through finds the tests that reach one of the helpers by calls in their own folder.
func (m *Mentions) through(helpers map[string]bool) []Mention {
	var found []Mention
	for grown := true; grown; {
		grown = false
		for _, w := range m.funcs {
			key := w.file.Dir + " " + w.name
			if helpers[key] {
				continue
			}
			for h := range helpers {
				dir, name, _ := strings.Cut(h, " ")
				if dir != w.file.Dir || !w.idents[name] {
					continue
				}
				helpers[key], grown = true, true
				if strings.HasPrefix(w.name, "Test") {
					found = append(found, Mention{w.file.Path, w.name})
				}
				break
			}
		}
	}
	return found
}
