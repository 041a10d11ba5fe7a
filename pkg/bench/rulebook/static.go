package rulebook

import (
	"embed"
	"maps"
	"sync"
)

const (
	htmlType     = "text/html; charset=utf-8"
	markdownType = "text/markdown; charset=utf-8"
	jsonType     = "application/json"
)

//go:embed static
var staticFiles embed.FS

// staticTypes is the closed list of names this package serves under /static/ and their media types.
// A name outside it does not exist, so no path a stranger writes reaches the file system.
var staticTypes = map[string]string{
	"the-rules.html":      htmlType,
	"agent-skill.md":      markdownType,
	"target-path-spec.md": markdownType,
	"agent-quickstart.md": markdownType,
	"agent-bid-pack.md":   markdownType,
	"rules.json":          jsonType, // the bytes that Hash covers
}

var hashes = sync.OnceValue(func() map[string]string {
	sums := make(map[string]string, len(staticTypes))
	for name := range staticTypes {
		body, _, _ := Static(name)
		sums[name] = hexSHA256(body)
	}
	return sums
})

// Static returns a document by its name below /static/ with its media type, or ok false for a name this
// package does not own. The caller may change the bytes. The remaining artifacts of bench.md 3.1,
// agent-api.openapi.json and agent-proposal.schema.json, are made elsewhere.
func Static(name string) (body []byte, contentType string, ok bool) {
	contentType, ok = staticTypes[name]
	if !ok {
		return nil, "", false
	}
	if name == "rules.json" {
		return append([]byte(nil), lawJSON...), contentType, true
	}
	body, err := staticFiles.ReadFile("static/" + name)
	if err != nil {
		return nil, "", false
	}
	return body, contentType, true
}

// Hashes gives the SHA-256, in lowercase hex, of every document Static serves, by name: this package's
// part of artifact_hashes. Embedded files cannot change while a process runs, so they are hashed once.
func Hashes() map[string]string { return maps.Clone(hashes()) }
