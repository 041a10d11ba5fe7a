package rest

import (
	"fmt"
	"net/http"
	"strings"
)

// Unserved answers for the routes that other processes serve, given as "METHOD /path":
// OPTIONS, 405 with Allow, and 404 for the rest. Where every operation is a function of its
// own it stands behind the default route. opt.NewID is needed.
func Unserved(routes []string, opt Options) (http.Handler, error) {
	if opt.NewID == nil {
		return nil, fmt.Errorf("rest: request ids are needed")
	}
	h := &handler{opt: opt, tree: &tree[*route]{}, cookie: CookieName(opt.BaseURL), origins: http.NewCrossOriginProtection()}
	for _, r := range routes {
		method, path, ok := strings.Cut(r, " ")
		if !ok || method == "" || !strings.HasPrefix(path, "/") {
			return nil, fmt.Errorf("rest: %q is no route", r)
		}
		h.tree.add(method, path, nil)
	}
	return h, nil
}
