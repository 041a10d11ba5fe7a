package commons

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"guildhall/pkg/op"
)

// helper is the declaration of a call that stores nothing.
func helper(path, id, tool, summary, section string) op.Meta {
	return op.Meta{ID: "commons." + id, Method: "POST", Path: "/api/v1/utilities/" + path, Tool: tool, Auth: op.Public, MaxBody: maxBody, Limit: &helperLimit,
		Summary: summary, Notes: "Stores and fetches nothing.", Faults: []string{"field_length"}, Contract: "commons.md " + section}
}

// JSONIn is a text to check.
type JSONIn struct {
	Text   string `json:"text" rule:"required" doc:"At most 16000 characters, any top-level value, no Markdown fences."`
	Format bool   `json:"format,omitempty" doc:"true adds the value with two-space indentation."`
}

// maxJSONText is the length of a text to check in characters.
const maxJSONText = 16000

// JSONOut says whether the text is one JSON value.
type JSONOut struct {
	Valid     bool    `json:"valid"`
	Type      string  `json:"top_level_type,omitempty"`
	Formatted *string `json:"formatted,omitempty"`
	Error     string  `json:"error,omitempty"`
}

// CheckJSON says whether a text is one JSON value (commons.md 4.8).
var CheckJSON = op.Declare(helper("json-check", "utility.json", "check_json", "Check that a text is one JSON value, and format it.", "4.8"), checkJSON)

func checkJSON(_ *op.Call, in JSONIn) (JSONOut, error) {
	if n := len([]rune(in.Text)); n > maxJSONText {
		return JSONOut{}, tooLong("text", maxJSONText, n).At("text")
	}
	v, err := parseJSON(in.Text)
	if err != nil {
		return JSONOut{Error: err.Error()}, nil
	}
	out := JSONOut{Valid: true, Type: typeOf(v)}
	if in.Format {
		s, err := indent(v)
		if err != nil {
			return out, err
		}
		out.Formatted = &s
	}
	return out, nil
}

func typeOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	}
	return "null"
}

// Sources are what a citation check compares.
type Sources []string

// JSONSchema implements op.Schemer.
func (Sources) JSONSchema() op.Schema {
	return op.Schema{Type: "array", MinItems: 1, MaxItems: maxSources, Of: &op.Schema{Type: "string", MinLen: 1, MaxLen: maxURL},
		Doc: "DOI, arXiv or http(s) URL, in your order."}
}

// maxSources is how many sources one check compares.
const maxSources = 50

// CitationsIn are sources to compare.
type CitationsIn struct {
	Sources Sources `json:"sources" rule:"required"`
}

// Kinds of citations.
const (
	citeDOI   = "doi"
	citeArXiv = "arxiv"
	citeURL   = "url"
	citeNone  = "unrecognized"
)

// Citation is a source in its normal form.
type Citation struct {
	Index      int     `json:"index"`
	Input      string  `json:"input"`
	Type       string  `json:"type"`
	Normalized *string `json:"normalized"`

	group string
}

// CitationCounts count the sources.
type CitationCounts struct {
	Input        int `json:"input"`
	Recognized   int `json:"recognized"`
	Unrecognized int `json:"unrecognized"`
	Unique       int `json:"unique"`
	Duplicates   int `json:"duplicates"`
}

// CitationGroup are the places of one source that was named several times.
type CitationGroup struct {
	Normalized string `json:"normalized"`
	Indices    []int  `json:"indices"`
}

// CitationsOut tells duplicates; nothing of truth or independence.
type CitationsOut struct {
	Counts  CitationCounts  `json:"counts"`
	Entries []Citation      `json:"entries"`
	Groups  []CitationGroup `json:"duplicate_groups"`
}

// CheckCitations finds sources that are the same (commons.md 4.9).
var CheckCitations = op.Declare(helper("citation-check", "utility.citations", "check_citations", "Find the sources of a list that are the same.", "4.9"), checkCitations)

func checkCitations(_ *op.Call, in CitationsIn) (CitationsOut, error) {
	out := CitationsOut{Groups: []CitationGroup{}}
	places := map[string][]int{}
	names := map[string]string{}
	for i, s := range in.Sources {
		c := cite(s)
		c.Index, c.Input = i, s
		out.Entries = append(out.Entries, c)
		out.Counts.Input++
		if c.Type == citeNone {
			out.Counts.Unrecognized++
			continue
		}
		out.Counts.Recognized++
		if len(places[c.group]) == 0 {
			names[c.group] = *c.Normalized
		}
		places[c.group] = append(places[c.group], i)
	}
	out.Counts.Unique = len(places)
	out.Counts.Duplicates = out.Counts.Recognized - len(places)
	for group, indices := range places {
		if len(indices) > 1 {
			out.Groups = append(out.Groups, CitationGroup{names[group], indices})
		}
	}
	slices.SortFunc(out.Groups, func(a, b CitationGroup) int { return cmp.Compare(a.Indices[0], b.Indices[0]) })
	return out, nil
}

var (
	doiForm   = regexp.MustCompile(`^10\.[0-9]{4,9}/\S+$`)
	arxivForm = regexp.MustCompile(`^(?:[0-9]{4}\.[0-9]{4,5}|[a-z-]+(?:\.[a-z]{2})?/[0-9]{7})(?:v[1-9][0-9]*)?$`)
)

// arxivDOI begins the DOIs that arXiv gives its papers.
const arxivDOI = "10.48550/arxiv."

// cite brings one source into its normal form (commons.md C-G17).
func cite(source string) Citation {
	s := strings.TrimSpace(source)
	if rest, ok := cutFold(s, "doi:"); ok {
		return orNone(asDOI(strings.TrimSpace(rest)))
	}
	if rest, ok := cutFold(s, "arxiv:"); ok {
		return orNone(asArXiv(strings.TrimSpace(rest)))
	}
	if c, ok := asDOI(s); ok {
		return c
	}
	return orNone(asURL(s))
}

func orNone(c Citation, ok bool) Citation {
	if !ok {
		return Citation{Type: citeNone}
	}
	return c
}

func normal(kind, s string) (Citation, bool) {
	return Citation{Type: kind, Normalized: &s, group: s}, true
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

func asDOI(s string) (Citation, bool) {
	s = strings.ToLower(s)
	if rest, ok := strings.CutPrefix(s, arxivDOI); ok {
		return asArXiv(rest)
	}
	if !doiForm.MatchString(s) {
		return Citation{}, false
	}
	return normal(citeDOI, "doi:"+s)
}

func asArXiv(s string) (Citation, bool) {
	s = strings.ToLower(s)
	if !arxivForm.MatchString(s) {
		return Citation{}, false
	}
	return normal(citeArXiv, "arxiv:"+s)
}

// asURL reads a web address; those of doi.org and arxiv.org name what they lead to.
func asURL(s string) (Citation, bool) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "" {
		return Citation{}, false
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" {
		return Citation{}, false
	}
	host := strings.ToLower(u.Host)
	if p := u.Port(); p == "80" && scheme == "http" || p == "443" && scheme == "https" {
		host = strings.TrimSuffix(host, ":"+p)
	}
	host = strings.TrimSuffix(host, ":")
	path := strings.TrimPrefix(u.Path, "/")
	switch host {
	case "doi.org", "dx.doi.org", "www.doi.org":
		if c, ok := asDOI(path); ok {
			return c, true
		}
	case "arxiv.org", "www.arxiv.org", "export.arxiv.org":
		for _, form := range []string{"abs/", "pdf/"} {
			if id, ok := strings.CutPrefix(path, form); ok {
				if c, ok := asArXiv(strings.TrimSuffix(id, ".pdf")); ok {
					return c, true
				}
			}
		}
	}
	rest := u.EscapedPath()
	if rest == "" {
		rest = "/"
	}
	if q := kept(u.RawQuery); q != "" {
		rest += "?" + q
	}
	c, ok := normal(citeURL, scheme+"://"+userOf(u)+host+rest)
	c.group = "url:" + userOf(u) + host + rest
	return c, ok
}

func userOf(u *url.URL) string {
	if u.User == nil {
		return ""
	}
	return u.User.String() + "@"
}

// kept is a query without the marks of campaigns.
func kept(query string) string {
	var all []string
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); part != "" && !strings.HasPrefix(strings.ToLower(name), "utm_") {
			all = append(all, part)
		}
	}
	return strings.Join(all, "&")
}
