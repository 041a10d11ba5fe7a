package wire

import (
	"net/http"
	"time"

	"guildhall/pkg/catalog"
	"guildhall/pkg/edge/mcp"
)

// doors mounts the MCP endpoints (surface.md 6).
func (x *Exchange) doors(mux *http.ServeMux) {
	for _, d := range catalog.Doors() {
		o := mcp.Options{BaseURL: x.BaseURL, Log: x.Log, Clock: time.Now}
		if x.Measure {
			o.Tally = tally
		}
		mux.Handle(d.Path, mcp.Handler(x.Engine, catalog.Behind(d), d, o))
	}
}
