package catalog

import (
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/bench/registry"
	"guildhall/pkg/catalog/door"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// The manifest is where an agent begins: it names every MCP endpoint of the exchange, and the
// ways into the other contexts that it names are there. The protocol says the same in the
// envelope of the bench.
func TestTheManifestNamesEveryDoor(t *testing.T) {
	x := optest.New(t)
	res := x.Do(registry.Protocol, optest.Req{}).Want(200)
	named := map[string]string{}
	for name, address := range res.JSON["endpoints"].(map[string]any) {
		path, ok := strings.CutPrefix(address.(string), "http://guildhall.test")
		if !ok {
			t.Errorf("%s: %s is another exchange's", name, address)
		}
		named[path] = name
	}
	doors := map[string]bool{}
	for _, d := range door.All {
		doors[d.Path] = true
		if named[d.Path] == "" {
			t.Errorf("no name for %s", d.Path)
		}
	}
	for path, name := range named {
		if !doors[path] && !slices.ContainsFunc(Operations(), func(o *op.Operation) bool { return o.Path == path }) {
			t.Errorf("%s: nothing answers at %s", name, path)
		}
	}
}
