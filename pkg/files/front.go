package files

import (
	"bytes"
	"encoding/xml"
	"strings"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/spec"
)

// The front doors for readers that are machines. All of them name the same contract.

const (
	plainType = "text/plain; charset=utf-8"
	xmlType   = "application/xml"
)

// LLMs serves llms.txt: what the exchange is and what an agent reads first.
var LLMs = op.Declare(op.Meta{
	ID: "edge.llms.read", Method: "GET", Path: "/llms.txt", Auth: op.Public, Cache: fileCache,
	Summary: "Read what the exchange is, in a text for language models.", Contract: "bench.md 2.3",
}, func(c *op.Call, _ struct{}) (FileOut, error) { return text(c, spec.LLMsName, plainType) })

// AgentCard serves the agent card, which names the MCP endpoints.
var AgentCard = op.Declare(op.Meta{
	ID: "edge.agent_card.read", Method: "GET", Path: "/.well-known/agent-card.json", Auth: op.Public, Cache: fileCache,
	Summary: "Read the agent card: the MCP endpoints and what each is for.",
}, func(c *op.Call, _ struct{}) (FileOut, error) { return text(c, spec.CardName, "application/json") })

func text(c *op.Call, name, contentType string) (FileOut, error) {
	body, ok := spec.Text(name, c.BaseURL)
	if !ok {
		return FileOut{}, fault.BareNotFound
	}
	return fileOf(body, contentType), nil
}

// Robots serves robots.txt.
var Robots = op.Declare(op.Meta{
	ID: "edge.robots.read", Method: "GET", Path: "/robots.txt", Auth: op.Public, Cache: fileCache,
	Summary: "Read which addresses crawlers leave alone.", Contract: "bench.md 2.3",
}, func(c *op.Call, _ struct{}) (FileOut, error) { return fileOf(robots(c.BaseURL), plainType), nil })

// private are the addresses that are for one person, or act: nothing behind them is worth
// finding again. The API stays open: agents that keep to this file call it.
var private = []string{"/api/person/", "/api/steward/", "/confirm/", "/sign-in", "/wants/", "/deals/", "/uploads/", "/_dev/"}

func robots(base string) []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for _, p := range private {
		b.WriteString("Disallow: " + p + "\n")
	}
	b.WriteString("Allow: /\n\nSitemap: " + base + "/sitemap.xml\n")
	return []byte(b.String())
}

// Sitemap serves sitemap.xml.
var Sitemap = op.Declare(op.Meta{
	ID: "edge.sitemap.read", Method: "GET", Path: "/sitemap.xml", Auth: op.Public, Cache: fileCache,
	Summary: "Read the addresses that everybody can read.", Contract: "bench.md 2.3",
}, func(c *op.Call, _ struct{}) (FileOut, error) {
	body, err := sitemap(c.BaseURL)
	return fileOf(body, xmlType), err
})

// public are the addresses in the sitemap.
var public = []string{
	"/", "/static/the-rules.html", "/static/agent-quickstart.md", "/static/agent-skill.md", "/static/agent-bid-pack.md", "/static/target-path-spec.md",
	"/llms.txt", "/openapi.json",
}

type urlset struct {
	XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	URLs    []siteURL
}

type siteURL struct {
	XMLName xml.Name `xml:"url"`
	Loc     string   `xml:"loc"`
}

func sitemap(base string) ([]byte, error) {
	set := urlset{}
	for _, p := range public {
		set.URLs = append(set.URLs, siteURL{Loc: base + p})
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", " ")
	err := e.Encode(set)
	b.WriteByte('\n')
	return b.Bytes(), err
}
