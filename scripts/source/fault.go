package source

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

const faultPackage = Module + "/pkg/fault"

// Made is a place that makes a fault: its kind's name ("Conflict") and its code.
type Made struct {
	Dir, Kind, Code string
	File            *File
	Line            int
}

// Faults finds every place that names a fault kind and, behind it in the same call or
// literal, a code: fault.New(fault.Conflict, "name_taken", …), {fault.Gone, "closed"}.
func (t *Tree) Faults() []Made {
	consts := t.constants()
	var all []Made
	for _, f := range t.Files {
		name := f.ImportName(faultPackage)
		if f.Dir == "pkg/fault" {
			name = "."
		}
		if f.Test || name == "" {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			var list []ast.Expr
			switch n := n.(type) {
			case *ast.CallExpr:
				list = n.Args
			case *ast.CompositeLit:
				list = n.Elts
			}
			if kind, code, ok := kindAndCode(list, name, consts[f.Dir]); ok {
				all = append(all, Made{f.Dir, kind, code, f, f.Line(n.Pos())})
			}
			return true
		})
	}
	return all
}

func kindAndCode(list []ast.Expr, pkg string, consts map[string]string) (kind, code string, ok bool) {
	for _, e := range list {
		if kv, is := e.(*ast.KeyValueExpr); is {
			e = kv.Value
		}
		if kind == "" {
			kind = kindName(e, pkg)
			continue
		}
		if s, is := String(e); is {
			return kind, s, true
		}
		if id, is := e.(*ast.Ident); is && consts[id.Name] != "" {
			return kind, consts[id.Name], true
		}
	}
	return "", "", false
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
		for _, d := range f.AST.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				for i, n := range v.Names {
					if i >= len(v.Values) {
						break
					}
					if val, ok := String(v.Values[i]); ok {
						if all[f.Dir] == nil {
							all[f.Dir] = map[string]string{}
						}
						all[f.Dir][n.Name] = val
					}
				}
			}
		}
	}
	return all
}
