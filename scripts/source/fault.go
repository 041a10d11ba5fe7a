package source

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

const faultPackage = Module + "/pkg/fault"

// Made is a place that makes a fault: its kind's name ("Conflict") and its code; the code
// is "" where it is no constant.
type Made struct{ Dir, Kind, Code string }

// Makes tells whether the place makes a code; "*" in its own stands for anything.
func (m Made) Makes(code string) bool {
	rest, last := code, strings.LastIndexByte(m.Code, '*')
	if last < 0 {
		return m.Code == code
	}
	for part := range strings.SplitSeq(m.Code, "*") {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			return false
		}
		rest = after
	}
	return strings.HasPrefix(code, m.Code[:strings.IndexByte(m.Code, '*')]) && strings.HasSuffix(code, m.Code[last+1:])
}

// helper is a function that makes a fault with the code it is given.
type helper struct {
	dir, name, kind string
	index           int // of the code among its parameters
}

// scan collects the faults of a tree.
type scan struct {
	tree    *Tree
	consts  map[string]map[string]string // folder, name
	helpers []helper
	made    []Made
}

// Faults finds every place that names a fault kind and, behind it in the same call or
// literal, a code: fault.New(fault.Conflict, "name_taken", …), {fault.Gone, "closed"}, and
// the calls of helpers that pass a code on.
func (t *Tree) Faults() []Made {
	s := &scan{tree: t, consts: t.constants()}
	for _, f := range t.Files {
		name := f.ImportName(faultPackage)
		if f.Dir == "pkg/fault" {
			name = "."
		}
		if f.Test || name == "" {
			continue
		}
		for _, d := range f.AST.Decls {
			fn, _ := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				s.look(f, fn, elements(n), name)
				s.entry(f, n, name)
				return true
			})
		}
	}
	for _, f := range t.Files {
		if !f.Test {
			ast.Inspect(f.AST, func(n ast.Node) bool { s.through(f, n); return true })
		}
	}
	return s.made
}

// elements are the arguments of a call or the members of a literal.
func elements(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		return n.Args
	case *ast.CompositeLit:
		return n.Elts
	}
	return nil
}

// look finds a kind and the code behind it.
func (s *scan) look(f *File, fn *ast.FuncDecl, list []ast.Expr, pkg string) {
	kind := ""
	for _, e := range list {
		if kv, is := e.(*ast.KeyValueExpr); is {
			if _, field := kv.Key.(*ast.Ident); !field {
				return // a map
			}
			e = kv.Value
		}
		if kind == "" {
			kind = kindName(e, pkg)
			continue
		}
		code, constant := s.text(f.Dir, e)
		if !constant {
			if i := parameter(fn, e); i >= 0 {
				s.helpers = append(s.helpers, helper{f.Dir, fn.Name.Name, kind, i})
				return
			}
		}
		s.made = append(s.made, Made{f.Dir, kind, code})
		return
	}
}

// entry finds a code that a map literal gives a kind: {"name_taken": fault.Conflict}.
func (s *scan) entry(f *File, n ast.Node, pkg string) {
	kv, ok := n.(*ast.KeyValueExpr)
	if !ok {
		return
	}
	code, constant := s.text(f.Dir, kv.Key)
	if kind := kindName(kv.Value, pkg); kind != "" && constant && code != "" {
		s.made = append(s.made, Made{f.Dir, kind, code})
	}
}

// text is the value of a string constant; what is put together has "*" for its variable
// parts.
func (s *scan) text(dir string, e ast.Expr) (string, bool) {
	if v, ok := String(e); ok {
		return v, true
	}
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.ADD {
		x, okX := s.text(dir, b.X)
		y, okY := s.text(dir, b.Y)
		if !okX {
			x = "*"
		}
		if !okY {
			y = "*"
		}
		return x + y, okX || okY
	}
	if id, ok := e.(*ast.Ident); ok {
		v, ok := s.consts[dir][id.Name]
		return v, ok
	}
	return "", false
}

// parameter is the index of the function's parameter that e is; -1 when it is none.
func parameter(fn *ast.FuncDecl, e ast.Expr) int {
	id, ok := e.(*ast.Ident)
	if !ok || fn == nil {
		return -1
	}
	i := 0
	for _, p := range fn.Type.Params.List {
		for _, n := range p.Names {
			if n.Name == id.Name {
				return i
			}
			i++
		}
	}
	return -1
}

// through finds the code that a call passes to a helper.
func (s *scan) through(f *File, n ast.Node) {
	c, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	for _, h := range s.helpers {
		if !f.calls(c, h) || h.index >= len(c.Args) {
			continue
		}
		if code, ok := s.text(f.Dir, c.Args[h.index]); ok {
			s.made = append(s.made, Made{f.Dir, h.kind, code})
		}
	}
}

func (f *File) calls(c *ast.CallExpr, h helper) bool {
	switch fn := c.Fun.(type) {
	case *ast.Ident:
		return f.Dir == h.dir && fn.Name == h.name
	case *ast.SelectorExpr:
		x, ok := fn.X.(*ast.Ident)
		return ok && fn.Sel.Name == h.name && (f.Dir == h.dir || x.Name == f.ImportName(Module+"/"+h.dir))
	}
	return false
}

// kinds are the names of fault.Kind values that are refusals.
var kinds = strings.Fields("BadRequest Unauthorized PaymentFailed Forbidden NotFound MethodNotAllowed Conflict Gone TooLarge MediaType Invalid RateLimited Upstream Busy")

func kindName(e ast.Expr, pkg string) string {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		if pkg == "." {
			name = e.Name
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == pkg {
			name = e.Sel.Name
		}
	}
	if slices.Contains(kinds, name) {
		return name
	}
	return ""
}

// constants lists the string constants of each folder.
func (t *Tree) constants() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		if all[f.Dir] == nil {
			all[f.Dir] = map[string]string{}
		}
		for _, d := range f.AST.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				constantsOf(g, all[f.Dir])
			}
		}
	}
	return all
}

func constantsOf(g *ast.GenDecl, into map[string]string) {
	for _, s := range g.Specs {
		v := s.(*ast.ValueSpec)
		for i, n := range v.Names {
			if i >= len(v.Values) {
				break
			}
			if val, ok := String(v.Values[i]); ok {
				into[n.Name] = val
			}
		}
	}
}

// Texts lists the string literals of the non-test files below a folder.
func (t *Tree) Texts(dir string) map[string]bool {
	all := map[string]bool{}
	for _, f := range t.Files {
		if f.Test || f.Dir != dir && !strings.HasPrefix(f.Dir, dir+"/") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok {
				if s, ok := String(l); ok {
					all[s] = true
				}
			}
			return true
		})
	}
	return all
}
