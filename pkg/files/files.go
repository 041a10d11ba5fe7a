// Package files serves the documents of the exchange: those agents hash, the OpenAPI
// documents, and the files of the pages.
package files

import (
	"bytes"
	"mime"
	"path"
	"strings"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/site/assets"
	"guildhall/pkg/spec"
)

// fileCache lets a client keep a file for a minute: the manifest names the hash of what
// is live.
const fileCache = "public, max-age=60"

func init() { op.Speak("edge", op.Dialect{OK: true}) }

// FileIn names a file.
type FileIn struct {
	Name string `path:"name"`
}

// FileOut is a file.
type FileOut struct{ raw *op.Raw }

// Raw implements op.Rawer.
func (o FileOut) Raw() *op.Raw { return o.raw }

// documentPolicy is the content policy of documents people read in a browser: our style
// sheet and nothing else.
const documentPolicy = "default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// Headers implements op.Headerer.
func (o FileOut) Headers() map[string]string {
	if strings.HasPrefix(o.raw.ContentType, "text/html") {
		return map[string]string{"Content-Security-Policy": documentPolicy}
	}
	return nil
}

func fileOf(body []byte, contentType string) FileOut {
	return FileOut{&op.Raw{ContentType: contentType, Size: int64(len(body)), Body: bytes.NewReader(body)}}
}

// Static serves the documents agents hash and the files of the pages.
var Static = op.Declare(op.Meta{
	ID: "edge.static.read", Method: "GET", Path: "/static/{name}", Auth: op.Public, Cache: fileCache,
	Summary: "Read a document or a file of the pages.", Contract: "bench.md 2.3, 3.1",
}, static)

func static(_ *op.Call, in FileIn) (FileOut, error) {
	body, contentType, ok := File(in.Name)
	if !ok {
		return FileOut{}, fault.BareNotFound
	}
	return fileOf(body, contentType), nil
}

// File finds a served file by its name below /static/.
func File(name string) (body []byte, contentType string, ok bool) {
	if name == kitName {
		body, err := kit()
		return body, "application/zip", err == nil
	}
	return single(name)
}

// single finds a file that is made of no others.
func single(name string) (body []byte, contentType string, ok bool) {
	if body, contentType, ok = rulebook.Static(name); ok {
		return body, contentType, ok
	}
	switch name {
	case "agent-proposal.schema.json":
		return proposal.Schema(), "application/schema+json", true
	case "agent-api.openapi.json":
		body, ok = spec.Document("bench")
		return body, "application/json", ok
	}
	if name != path.Base(name) {
		return nil, "", false
	}
	body, err := assets.Files.ReadFile(name)
	return body, mime.TypeByExtension(path.Ext(name)), err == nil
}

// OpenAPI serves the document of every operation.
var OpenAPI = op.Declare(op.Meta{
	ID: "edge.openapi.read", Method: "GET", Path: "/openapi.json", Auth: op.Public, Cache: fileCache,
	Summary: "Read the OpenAPI document of the whole exchange.",
}, func(*op.Call, struct{}) (FileOut, error) { return document(spec.Whole) })

// OpenAPIOf serves the document of one context.
var OpenAPIOf = op.Declare(op.Meta{
	ID: "edge.openapi.context", Method: "GET", Path: "/openapi/{name}", Auth: op.Public, Cache: fileCache,
	Summary: "Read the OpenAPI document of one context, for example bench.json.",
}, func(_ *op.Call, in FileIn) (FileOut, error) {
	name := in.Name
	if path.Ext(name) != ".json" {
		return FileOut{}, fault.BareNotFound
	}
	return document(name[:len(name)-len(".json")])
})

func document(name string) (FileOut, error) {
	body, ok := spec.Document(name)
	if !ok {
		return FileOut{}, fault.BareNotFound
	}
	return fileOf(body, "application/json"), nil
}

// Operations of the files.
var Operations = []*op.Operation{Static, OpenAPI, OpenAPIOf, LLMs, AgentCard, Robots, Sitemap}
