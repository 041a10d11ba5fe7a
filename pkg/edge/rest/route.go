package rest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a path. What is over one is no path of ours: 404.
const (
	maxSegments    = 32  // parts between slashes
	maxSegmentSize = 900 // bytes of one unescaped part: it must fit a table key
)

// tree resolves method and path. Parts are compared unescaped, so that an escaped slash
// stays inside its part; a literal part wins over a {name}; nothing is cleaned or
// redirected: a trailing slash is another path.
type tree[T any] struct{ root node[T] }

type node[T any] struct {
	literal map[string]*node[T]
	param   *node[T] // {name}
	tail    *node[T] // {name...}: all that is left, at least one part
	methods map[string]T
}

// add enters a route and returns its {names} in order. It panics on a route that is there
// already or cannot be served.
func (t *tree[T]) add(method, path string, v T) []string {
	n, names := &t.root, []string(nil)
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		name, isParam := strings.CutPrefix(part, "{")
		name, isTail := strings.CutSuffix(strings.TrimSuffix(name, "}"), "...")
		switch {
		case isParam && isTail && i < len(parts)-1, isParam && name == "", !isParam && strings.ContainsAny(part, "{}%?#"):
			panic(fmt.Sprintf("rest: path %q cannot be served", path))
		case isParam && isTail:
			n = grow(&n.tail)
		case isParam:
			n = grow(&n.param)
		default:
			if n.literal == nil {
				n.literal = map[string]*node[T]{}
			}
			if n.literal[part] == nil {
				n.literal[part] = &node[T]{}
			}
			n = n.literal[part]
		}
		if isParam {
			names = append(names, name)
		}
	}
	if _, twice := n.methods[method]; twice {
		panic(fmt.Sprintf("rest: %s %s is declared twice", method, path))
	}
	if n.methods == nil {
		n.methods = map[string]T{}
	}
	n.methods[method] = v
	return names
}

func grow[T any](n **node[T]) *node[T] {
	if *n == nil {
		*n = &node[T]{}
	}
	return *n
}

// split unescapes the parts of an escaped path, each once; ok is false for what no route
// can have.
func split(path string) (parts []string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok || strings.Count(rest, "/") >= maxSegments {
		return nil, false
	}
	for part := range strings.SplitSeq(rest, "/") {
		s, err := url.PathUnescape(part)
		if err != nil || s == "." || s == ".." || len(s) > maxSegmentSize || strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
			return nil, false
		}
		parts = append(parts, s)
	}
	return parts, true
}

// find returns the value of the most exact route that takes the method, with the path
// values in order. Without one, allow lists the methods the path has; it is empty when no
// route has the path. HEAD is served by GET.
func (t *tree[T]) find(method string, parts []string) (found *T, values, allow []string) {
	wanted := []string{method}
	if method == "HEAD" {
		wanted = append(wanted, "GET")
	}
	t.root.walk(parts, nil, func(n *node[T], vs []string) bool {
		for _, m := range wanted {
			if v, ok := n.methods[m]; ok {
				found, values = &v, slices.Clone(vs)
				return false
			}
		}
		for m := range n.methods {
			allow = append(allow, m)
			if m == "GET" {
				allow = append(allow, "HEAD")
			}
		}
		return true
	})
	if found == nil && len(allow) > 0 {
		allow = append(allow, "OPTIONS")
		slices.Sort(allow)
		allow = slices.Compact(allow)
	}
	return found, values, allow
}

// walk visits the ends of all routes that match, the most exact first, until visit says no.
func (n *node[T]) walk(parts, values []string, visit func(*node[T], []string) bool) bool {
	if len(parts) == 0 {
		return n.methods == nil || visit(n, values)
	}
	if next := n.literal[parts[0]]; next != nil && !next.walk(parts[1:], values, visit) {
		return false
	}
	if n.param != nil && parts[0] != "" && !n.param.walk(parts[1:], append(values, parts[0]), visit) {
		return false
	}
	if n.tail != nil && parts[0] != "" {
		return n.tail.walk(nil, append(values, strings.Join(parts, "/")), visit)
	}
	return true
}
