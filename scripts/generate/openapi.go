package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/spec"
	"guildhall/scripts/source"
)

const documentsDir = "pkg/spec/documents"

// servedToAgents is the document the manifest names the hash of, hashFile where the
// registry reads that hash.
const (
	servedToAgents = "bench"
	hashFile       = "pkg/bench/registry/data/openapi.sha256"
)

// openapi makes the OpenAPI documents, of all operations and per group, and docs/FAULTS.md.
func (g *generator) openapi() error {
	codes := g.codes()
	docs := map[string][]*op.Operation{spec.Whole: g.ops}
	for _, o := range g.ops {
		docs[o.Context()] = append(docs[o.Context()], o)
	}
	for name, ops := range docs {
		doc, err := spec.OpenAPI(ops, codes)
		if err != nil {
			return err
		}
		g.out[documentsDir+"/"+name+".json"] = doc
		if name == servedToAgents {
			g.out[hashFile] = fmt.Appendf(nil, "%x\n", sha256.Sum256(doc))
		}
	}
	g.out["docs/FAULTS.md"] = faults(spec.List(g.ops, codes))
	return nil
}

// kindsByName maps the names of fault kinds in the sources to the kinds.
var kindsByName = map[string]fault.Kind{
	"BadRequest": fault.BadRequest, "Unauthorized": fault.Unauthorized, "PaymentFailed": fault.PaymentFailed, "Forbidden": fault.Forbidden,
	"NotFound": fault.NotFound, "MethodNotAllowed": fault.MethodNotAllowed, "Conflict": fault.Conflict, "Gone": fault.Gone,
	"TooLarge": fault.TooLarge, "MediaType": fault.MediaType, "Invalid": fault.Invalid, "RateLimited": fault.RateLimited,
	"Upstream": fault.Upstream, "LongQuery": fault.LongQuery, "Busy": fault.Busy,
}

// codes finds the kinds of a declared code where it is made: in the operation's own folder,
// else in its context, else anywhere.
func (g *generator) codes() spec.Codes {
	made := g.tree.Faults()
	return func(o *op.Operation, code string) []fault.Kind {
		dir := dirOf(o)
		context := strings.Join(strings.SplitN(dir, "/", 3)[:2], "/")
		for _, near := range []func(source.Made) bool{
			func(m source.Made) bool { return m.Dir == dir },
			func(m source.Made) bool { return m.Dir == context || strings.HasPrefix(m.Dir, context+"/") },
			func(source.Made) bool { return true },
		} {
			var kinds []fault.Kind
			for _, m := range made {
				if k := kindsByName[m.Kind]; m.Makes(code) && near(m) && !slices.Contains(kinds, k) {
					kinds = append(kinds, k)
				}
			}
			if len(kinds) > 0 {
				return kinds
			}
		}
		if kinds := g.tabled(made, dir, context, code); len(kinds) > 0 {
			return kinds
		}
		return g.tabled(made, context, context, code)
	}
}

// tabled is for a code that stands in a table of its context: its kind is the one with
// which dir makes faults whose code is no constant.
func (g *generator) tabled(made []source.Made, dir, context, code string) []fault.Kind {
	var kinds []fault.Kind
	for _, m := range made {
		k := kindsByName[m.Kind]
		inside := m.Dir == dir || strings.HasPrefix(m.Dir, dir+"/")
		if m.Code == "" && inside && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) != 1 || !g.tree.Texts(context)[code] {
		return nil
	}
	return kinds
}

func dirOf(o *op.Operation) string {
	file, _, _ := strings.Cut(o.Declared, ":")
	return file[:strings.LastIndexByte(file, '/')]
}

// faults makes docs/FAULTS.md.
func faults(codes []spec.Code) []byte {
	var b bytes.Buffer
	b.WriteString("# Faults\n\n" + note)
	b.WriteString("Every refusal has one body: `{\"ok\":false,\"error\":code,…}`. Where a contract prints a sentence as the error,\n" +
		"the sentence is the code.\n\n## Answered by the operations layer\n\nAny operation of the fitting shape (a body, a credential, a key, a limit) answers these.\n\n" +
		"| Code | Status | Operations |\n|---|---|---|\n")
	for _, c := range codes {
		if c.Everywhere {
			fmt.Fprintf(&b, "| `%s` | %d | %d |\n", c.Code, c.Status, len(c.Operations))
		}
	}
	b.WriteString("\n## Declared by operations\n\n| Code | Status | Operations |\n|---|---|---|\n")
	for _, c := range codes {
		if !c.Everywhere {
			fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", c.Code, status(c.Status), strings.Join(c.Operations, "`, `"))
		}
	}
	return b.Bytes()
}

func status(s int) string {
	if s == 0 {
		return "?"
	}
	return fmt.Sprint(s)
}
