// Package spec makes documents from the catalog: OpenAPI, the list of routes and the list
// of refusal codes. It reads declarations and nothing else, so a document cannot say what
// the exchange does not do.
//
// The OpenAPI documents are generated into documents/ and embedded; a test compares them
// with the catalog, so that serving them costs no work and they cannot be stale.
package spec

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"guildhall/pkg/op"
)

// Version is the version of the exchange, and ContractVersion that of the bid contract,
// the same as in the proposal schema and the agent manual (bench.md 1.6).
const (
	Version         = "1.0.0"
	ContractVersion = "2.15"
)

//go:embed documents
var documents embed.FS

// Whole is the name of the document of all operations.
const Whole = "openapi"

// Document is the embedded OpenAPI document of a group ("bench", "person", …), or Whole.
func Document(name string) ([]byte, bool) {
	b, err := documents.ReadFile("documents/" + name + ".json")
	return b, err == nil
}

// Route is what `guildhall routes` says of an operation.
type Route struct {
	Context  string `json:"context"`
	ID       string `json:"id"`
	Method   string `json:"method"`
	Path     string `json:"path"`
	Auth     string `json:"auth"`
	Scope    string `json:"scope,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Function string `json:"function"`
	Summary  string `json:"summary"`
}

// Routes lists every operation, by id.
func Routes(ops []*op.Operation) []Route {
	var all []Route
	for _, o := range op.Sort(ops) {
		all = append(all, Route{Context: o.Context(), ID: o.ID, Method: o.Method, Path: o.Path, Auth: string(o.Auth), Scope: o.Scope,
			Tool: o.Tool, Function: "functions/" + o.Folder(), Summary: o.Summary})
	}
	return all
}

// WriteRoutes prints the routes as a table, or as JSON.
func WriteRoutes(w io.Writer, ops []*op.Operation, asJSON bool) error {
	routes := Routes(ops)
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(routes)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "METHOD\tPATH\tAUTH\tSCOPE\tTOOL\tID\tFUNCTION")
	for _, r := range routes {
		fmt.Fprintln(t, strings.Join([]string{r.Method, r.Path, r.Auth, dash(r.Scope), dash(r.Tool), r.ID, r.Function}, "\t"))
	}
	return t.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Groups lists the groups of some operations in the order of the documents.
func Groups(ops []*op.Operation) []string {
	var all []string
	for _, o := range op.Sort(ops) {
		if g := o.Context(); !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return all
}

var order = []string{"bench", "person", "steward", "help", "peer", "commons", "edge"}
