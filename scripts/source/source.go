// Package source reads the repository's own Go files, for the generator and the law tests.
package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the name all import paths of the repository begin with.
const Module = "guildhall"

// File is one parsed Go file.
type File struct {
	Path      string // from the root, with slashes
	Dir       string
	Test      bool
	Generated bool
	Lines     int
	AST       *ast.File
	Fset      *token.FileSet
}

// Tree is every Go file of the repository.
type Tree struct {
	Root  string
	Files []*File
}

// skipped folders hold no source of ours.
var skipped = []string{"node_modules", "dist", "bin", "cdk.out", "testdata", "vendor"}

// Load parses every Go file below root.
func Load(root string) (*Tree, error) {
	t := &Tree{Root: root}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && name != root
			if hidden || slices.Contains(skipped, d.Name()) || strings.HasPrefix(d.Name(), "dist-") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(d.Name(), ".go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := Parse(filepath.ToSlash(rel), string(src))
		if err == nil {
			t.Files = append(t.Files, f)
		}
		return err
	})
	return t, err
}

// Parse reads one file; name is its path from the root.
func Parse(name, src string) (*File, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return &File{Path: name, Dir: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"), Generated: ast.IsGenerated(f),
		Lines: strings.Count(src, "\n"), AST: f, Fset: fset}, nil
}

// Line is the line of a position in the file.
func (f *File) Line(p token.Pos) int { return f.Fset.Position(p).Line }

// Imports lists the import paths of the file.
func (f *File) Imports() []string {
	var all []string
	for _, i := range f.AST.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		all = append(all, p)
	}
	return all
}

// ImportName is the name a file uses for an import path, "" when it does not import it.
func (f *File) ImportName(importPath string) string {
	for _, i := range f.AST.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		switch {
		case p != importPath:
		case i.Name != nil:
			return i.Name.Name
		default:
			return path.Base(p)
		}
	}
	return ""
}

// Funcs lists the functions and methods declared in the file.
func (f *File) Funcs() []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			all = append(all, fn)
		}
	}
	return all
}

// In lists the files of one folder.
func (t *Tree) In(dir string) []*File {
	var all []*File
	for _, f := range t.Files {
		if f.Dir == dir {
			all = append(all, f)
		}
	}
	return all
}

// VarAt finds the package variable whose declaration covers a place ("file.go:12").
func (t *Tree) VarAt(place string) (name string, ok bool) {
	file, l, _ := strings.Cut(place, ":")
	line, err := strconv.Atoi(l)
	if err != nil {
		return "", false
	}
	for _, f := range t.Files {
		if f.Path == file {
			return f.varAt(line)
		}
	}
	return "", false
}

func (f *File) varAt(line int) (string, bool) {
	for _, d := range f.AST.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, n := range v.Names {
				from, to := v.Pos(), v.End()
				if len(v.Values) == len(v.Names) {
					from, to = v.Values[i].Pos(), v.Values[i].End()
				}
				if f.Line(from) <= line && line <= f.Line(to) {
					return n.Name, true
				}
			}
		}
	}
	return "", false
}

// Func finds a function or method of a folder by name ("file", "(*T).Do").
func (t *Tree) Func(dir, name string) (*File, *ast.FuncDecl) {
	for _, f := range t.In(dir) {
		if f.Test {
			continue
		}
		for _, fn := range f.Funcs() {
			if FuncName(fn) == name {
				return f, fn
			}
		}
	}
	return nil, nil
}

// FuncName prints the name of a function the way the runtime does, without its package.
func FuncName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	switch r := fn.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		return "(*" + exprName(r.X) + ")." + fn.Name.Name
	default:
		return exprName(r) + "." + fn.Name.Name
	}
}

func exprName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.IndexExpr:
		return exprName(e.X)
	case *ast.IndexListExpr:
		return exprName(e.X)
	}
	return ""
}

// String is the value of a string literal; ok is false for anything else.
func String(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}
