package page

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// shape is a path without the names of its values, to find two pages with one address.
func shape(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "{") {
			parts[i] = "{}"
		}
	}
	return strings.Join(parts, "/")
}

// find returns the page of an escaped path with the path's values; a literal part wins
// over a {name}. A slash at the end is another address.
func (h *handler) find(escaped string) (*Page, map[string]string) {
	parts, ok := split(escaped)
	if !ok {
		return nil, nil
	}
	var best *Page
	var values map[string]string
	for _, p := range h.pages {
		if v, ok := match(p.Path, parts); ok && (best == nil || len(v) < len(values)) {
			best, values = p, v
		}
	}
	return best, values
}

func split(escaped string) ([]string, bool) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok || strings.Count(rest, "/") >= maxNested {
		return nil, false
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		s, err := url.PathUnescape(p)
		if err != nil || len(s) > maxPart || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return nil, false
		}
		parts[i] = s
	}
	return parts, true
}

func match(path string, parts []string) (map[string]string, bool) {
	want := strings.Split(path[1:], "/")
	if len(want) != len(parts) {
		return nil, false
	}
	values := map[string]string{}
	for i, w := range want {
		name, isValue := strings.CutPrefix(w, "{")
		switch {
		case isValue && parts[i] != "":
			values[strings.TrimSuffix(name, "}")] = parts[i]
		case isValue || w != parts[i]:
			return nil, false
		}
	}
	return values, true
}
