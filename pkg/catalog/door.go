package catalog

import (
	"slices"

	"guildhall/pkg/catalog/door"
	"guildhall/pkg/op"
)

// Doors lists the MCP endpoints.
func Doors() []*op.Door { return door.All }

// Behind lists the operations whose tools stand behind an endpoint, by id.
func Behind(d *op.Door) []*op.Operation {
	return slices.DeleteFunc(All(), func(o *op.Operation) bool { return o.Tool == "" || Door(o) != d.Context })
}

// Touches is the union of the ports of the operations behind an endpoint: what its one
// function needs.
func Touches(d *op.Door) op.Touch {
	touches := op.Table
	for _, o := range Behind(d) {
		touches |= o.Touches
	}
	return touches
}
