package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"path"
	"slices"
	"strconv"
	"strings"

	"guildhall/pkg/catalog"
	"guildhall/pkg/op"
	"guildhall/scripts/source"
)

// The packages that start functions.
const (
	lambdaPackage = "guildhall/pkg/wire/lambda"
	toolsPackage  = "guildhall/pkg/wire/tools"
)

// links are the packages that give a function the port an operation touches. One that is not
// there yet is left out: such a function says at its start which adapter is missing.
var links = []struct {
	port op.Touch
	path string
}{
	{op.Blobs, "guildhall/pkg/wire/s3blobs"},
	{op.Payments, "guildhall/pkg/wire/stripepay"},
	{op.Mail, "guildhall/pkg/wire/sesmail"},
	{op.Texts, "guildhall/pkg/wire/snstext"},
	{op.Links, "guildhall/pkg/wire/webprobe"},
}

// generator holds what the files are made from and the files made so far.
type generator struct {
	tree *source.Tree
	ops  []*op.Operation
	jobs []op.Job
	out  map[string][]byte
}

// place is where an operation is declared in Go.
type place struct {
	dir  string // "pkg/bench/bids"
	name string // "File"
}

// place finds the exported variable that holds an operation.
func (g *generator) place(o *op.Operation) (place, error) {
	name, ok := g.tree.VarAt(o.Declared)
	file, _, _ := strings.Cut(o.Declared, ":")
	if !ok || !ast.IsExported(name) {
		return place{}, fmt.Errorf("%s (%s): an operation is the value of an exported package variable: its function links that alone", o.ID, o.Declared)
	}
	return place{path.Dir(file), name}, nil
}

// functions makes functions/<group>/<noun-verb>/main.go for every operation and job.
func (g *generator) functions() error {
	for _, o := range g.ops {
		p, err := g.place(o)
		if err != nil {
			return err
		}
		doc := fmt.Sprintf("Command %s serves %s %s.", path.Base(o.Folder()), o.Method, o.Path)
		call := fmt.Sprintf("lambda.Serve(%s.%s)", path.Base(p.dir), p.name)
		if err := g.function(o.Folder(), doc, call, g.ports(o.Touches, source.Module+"/"+p.dir)); err != nil {
			return err
		}
	}
	for _, j := range g.jobs {
		if err := g.job(j); err != nil {
			return err
		}
	}
	for _, d := range catalog.Doors() {
		if err := g.door(d); err != nil {
			return err
		}
	}
	return g.unserved()
}

// door makes the function behind an MCP endpoint: it links the operations of its tools.
func (g *generator) door(d *op.Door) error {
	imports := []string{source.Module + "/pkg/catalog/door", toolsPackage}
	var b strings.Builder
	fmt.Fprintf(&b, "tools.Serve(&door.%s,\n", strings.ToUpper(d.Context[:1])+d.Context[1:])
	for _, o := range catalog.Behind(d) {
		p, err := g.place(o)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s.%s,\n", path.Base(p.dir), p.name)
		if i := source.Module + "/" + p.dir; !slices.Contains(imports, i) {
			imports = append(imports, i)
		}
	}
	b.WriteString(")")
	doc := fmt.Sprintf("Command %s serves the tools of the %s context at POST %s.", path.Base(d.Folder()), d.Context, d.Path)
	return g.function(d.Folder(), doc, b.String(), g.ports(catalog.Touches(d), imports...))
}

// unserved makes the function that answers what no operation serves.
func (g *generator) unserved() error {
	var b strings.Builder
	b.WriteString("lambda.Default(\n")
	for _, r := range catalog.Routes() {
		fmt.Fprintf(&b, "%q,\n", r)
	}
	b.WriteString(")")
	return g.function(catalog.DefaultFolder, "Command default answers what no operation serves.", b.String(), nil)
}

func (g *generator) ports(t op.Touch, imports ...string) []string {
	for _, l := range links {
		if t.Has(l.port) && len(g.tree.In(strings.TrimPrefix(l.path, source.Module+"/"))) > 0 {
			imports = append(imports, "_ "+l.path)
		}
	}
	return imports
}

func (g *generator) job(j op.Job) error {
	doc := fmt.Sprintf("Command %s is a job. %s", path.Base(j.Folder()), j.Summary)
	if j.ID == catalog.TickID {
		var names []string
		for _, c := range catalog.Contexts {
			names = append(names, strconv.Quote(c))
		}
		return g.function(j.Folder(), doc, "lambda.Tick([]string{"+strings.Join(names, ", ")+"})", nil)
	}
	context, _, _ := strings.Cut(j.ID, ".")
	var timers, effects, imports []string
	named := map[string]bool{}
	for _, p := range catalog.Swept(context) {
		name, imported := path.Base(p.Path), source.Module+"/pkg/"+p.Path
		if named[name] { // two outboxes: the second is called after its port too
			name = path.Base(path.Dir(p.Path)) + name
			imported = name + " " + imported
		}
		named[name] = true
		imports = append(imports, imported)
		if len(p.Timers) > 0 {
			timers = append(timers, name+".Timers")
		}
		if len(p.Effects) > 0 {
			effects = append(effects, name+".Effects")
		}
	}
	call := fmt.Sprintf("lambda.Sweep(%q, %s, %s)", context, joined(timers), joined(effects))
	if len(timers) > 1 || len(effects) > 1 {
		imports = append(imports, "slices")
	}
	return g.function(j.Folder(), doc, call, g.ports(j.Touches, imports...))
}

// joined is the Go expression for several slices as one.
func joined(lists []string) string {
	switch len(lists) {
	case 0:
		return "nil"
	case 1:
		return lists[0]
	}
	return "slices.Concat(" + strings.Join(lists, ", ") + ")"
}

// function makes one main.go; an import that begins with "_ " is linked for its effect.
func (g *generator) function(folder, doc, call string, imports []string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by scripts/generate. DO NOT EDIT.\n\n// %s\npackage main\n\nimport (\n", doc)
	if !slices.Contains(imports, toolsPackage) {
		imports = append(imports, lambdaPackage)
	}
	slices.SortFunc(imports, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "_ "), strings.TrimPrefix(b, "_ "))
	})
	if slices.Contains(imports, "slices") {
		b.WriteString("\t\"slices\"\n\n")
	}
	for _, i := range imports {
		if i == "slices" {
			continue
		}
		name, p, blank := strings.Cut(i, " ")
		if !blank {
			name, p = "", i
		}
		fmt.Fprintf(&b, "\t%s%q\n", name, p)
	}
	fmt.Fprintf(&b, ")\n\nfunc main() { %s }\n", call)
	src, err := format.Source(b.Bytes())
	if err != nil {
		return fmt.Errorf("functions/%s: %w", folder, err)
	}
	g.out["functions/"+folder+"/main.go"] = src
	return nil
}
