package source

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Reach is what an operation's function reaches by calls of functions of our own.
type Reach struct {
	// Rules are the pure functions (no *op.Call) that the operation's folder calls, as
	// "pkg/bench/bids/file.go decide", in the order met. What makes a row's key is left out.
	Rules []string
	// Texts are the string literals of everything reached: the beginnings of keys are
	// among them.
	Texts []string
}

// walker follows calls from one function.
type walker struct {
	tree *Tree
	home string // folder of the operation
	seen map[*ast.FuncDecl]bool
	Reach
}

// Reach follows the calls of a function of a folder.
func (t *Tree) Reach(dir, fn string) Reach {
	w := &walker{tree: t, home: dir, seen: map[*ast.FuncDecl]bool{}}
	if f, decl := t.Func(dir, fn); decl != nil {
		w.walk(f, decl)
	}
	return w.Reach
}

// ReachOf follows the calls of a variable's initial value: an operation whose function is
// a literal.
func (t *Tree) ReachOf(dir, variable string) Reach {
	w := &walker{tree: t, home: dir, seen: map[*ast.FuncDecl]bool{}}
	for _, f := range t.In(dir) {
		if v := f.value(variable); v != nil {
			w.inside(f, v, false)
		}
	}
	return w.Reach
}

func (f *File) value(variable string) ast.Expr {
	for _, d := range f.AST.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || f.Test {
			continue
		}
		for _, s := range g.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok {
				continue
			}
			if i := slices.IndexFunc(v.Names, func(n *ast.Ident) bool { return n.Name == variable }); i >= 0 && i < len(v.Values) {
				return v.Values[i]
			}
		}
	}
	return nil
}

func (w *walker) walk(f *File, fn *ast.FuncDecl) {
	if w.seen[fn] || fn.Body == nil {
		return
	}
	w.seen[fn] = true
	w.inside(f, fn.Body, !takesCall(fn))
}

// inside looks at a body; pure tells that it belongs to a rule, whose own callees are its
// business.
func (w *walker) inside(f *File, body ast.Node, pure bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, ok := String(n); ok {
				w.Texts = append(w.Texts, s)
			}
		case *ast.CallExpr:
			if g, callee := w.tree.callee(f, n); callee != nil {
				if !pure && f.Dir == w.home && !w.seen[callee] && !takesCall(callee) && !makesKey(callee) {
					w.Rules = append(w.Rules, g.Path+" "+FuncName(callee))
				}
				w.walk(g, callee)
			}
		}
		return true
	})
}

// callee finds the function of ours that a call names: one of the folder, one of another
// folder of the context, or the folder's only method of a name.
func (t *Tree) callee(f *File, c *ast.CallExpr) (*File, *ast.FuncDecl) {
	switch fn := c.Fun.(type) {
	case *ast.Ident:
		return t.Func(f.Dir, fn.Name)
	case *ast.IndexExpr:
		return t.Func(f.Dir, exprName(fn))
	case *ast.SelectorExpr:
		x, ok := fn.X.(*ast.Ident)
		if !ok {
			return t.method(f.Dir, fn.Sel.Name)
		}
		for _, p := range f.Imports() {
			if f.ImportName(p) != x.Name {
				continue
			}
			dir, own := strings.CutPrefix(p, Module+"/")
			if !own || !related(f.Dir, dir) {
				return nil, nil
			}
			return t.Func(dir, fn.Sel.Name)
		}
		return t.method(f.Dir, fn.Sel.Name)
	}
	return nil, nil
}

// related tells whether calls are followed from one folder into another: within a context
// and into accounts.
func related(from, to string) bool {
	context := func(dir string) string {
		return strings.Join(strings.SplitN(dir, "/", 3)[:min(2, strings.Count(dir, "/")+1)], "/")
	}
	return context(from) == context(to) || to == "pkg/account"
}

// method finds the folder's only method of a name.
func (t *Tree) method(dir, name string) (*File, *ast.FuncDecl) {
	var file *File
	var found *ast.FuncDecl
	for _, f := range t.In(dir) {
		for _, fn := range f.Funcs() {
			if f.Test || fn.Recv == nil || fn.Name.Name != name {
				continue
			}
			if found != nil {
				return nil, nil
			}
			file, found = f, fn
		}
	}
	return file, found
}

// makesKey tells whether a function only names a row.
func makesKey(fn *ast.FuncDecl) bool {
	if fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
		return false
	}
	sel, ok := fn.Type.Results.List[0].Type.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Key"
}

func takesCall(fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		sel, ok := star.X.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Call"
	})
}

// Stored lists the key shapes whose beginning is among the texts: "bench.BID#" finds
// bench.BID#<id>.
func Stored(keys []KeyShape, texts []string, home string) []KeyShape {
	var all []KeyShape
	for _, k := range keys {
		begin, _, _ := strings.Cut(k.PK, "<")
		if begin == "" || !slices.ContainsFunc(texts, func(s string) bool { return s != "" && strings.HasPrefix(s, begin) }) {
			continue
		}
		if k.Dir == home || path.Dir(k.Dir) == path.Dir(home) || k.Dir == "pkg/account" {
			all = append(all, k)
		}
	}
	return all
}
