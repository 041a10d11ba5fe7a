package source

import (
	"go/ast"
	"slices"
	"strings"
)

// Rules lists the pure functions of its own folder that a function calls, itself or
// through other functions of the folder: those that take no *op.Call. Each is given as
// "file.go name", in the order met; functions that make a row's key are left out.
func (t *Tree) Rules(dir, fn string) []string {
	seen := map[string]bool{fn: true}
	var rules []string
	var walk func(name string)
	walk = func(name string) {
		_, decl := t.Func(dir, name)
		if decl == nil || decl.Body == nil {
			return
		}
		ast.Inspect(decl.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			id := called(call)
			f, callee := t.callee(dir, id)
			if callee == nil || seen[FuncName(callee)] {
				return true
			}
			seen[FuncName(callee)] = true
			if !takesCall(callee) {
				if makesKey(callee) {
					return true
				}
				rules = append(rules, f.Path+" "+FuncName(callee))
				return true
			}
			walk(FuncName(callee))
			return true
		})
	}
	walk(fn)
	return rules
}

func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.IndexExpr:
		return exprName(f)
	case *ast.SelectorExpr:
		return "." + f.Sel.Name
	}
	return ""
}

// callee finds a function by name, or the folder's only method of a name (".settle").
func (t *Tree) callee(dir, name string) (*File, *ast.FuncDecl) {
	method, is := strings.CutPrefix(name, ".")
	if !is {
		return t.Func(dir, name)
	}
	var file *File
	var found *ast.FuncDecl
	for _, f := range t.In(dir) {
		for _, fn := range f.Funcs() {
			if f.Test || fn.Recv == nil || fn.Name.Name != method {
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
