// Package tools starts the functions behind MCP endpoints. It is apart from wire/lambda so
// that no other function links the protocol.
package tools

import (
	"net/http"
	"time"

	"guildhall/pkg/edge/mcp"
	"guildhall/pkg/op"
	"guildhall/pkg/wire/lambda"
)

// Serve serves the tools of an endpoint: the operations are those behind it. It never
// returns.
func Serve(d *op.Door, ops ...*op.Operation) {
	touches := op.Table
	for _, o := range ops {
		touches |= o.Touches
	}
	lambda.HTTP(touches, func(e *op.Engine, edge lambda.Edge) http.Handler {
		return mcp.Handler(e, ops, d, mcp.Options{BaseURL: edge.BaseURL, Log: edge.Log, Clock: time.Now, Tally: edge.Tally})
	})
}
