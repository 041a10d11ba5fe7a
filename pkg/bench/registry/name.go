package registry

import (
	"strings"
	"time"

	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// NormalName is the form names are compared in: lower case, trimmed, inner white space
// collapsed (bench.md 3.5). A composed and a decomposed letter fold to the same form here,
// but a handle is ASCII, so neither spelling of an accented name can be registered.
func NormalName(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(text.Normalize(s)), " "))
}

// claim is the row of a name or a number. It is never removed: a name stays taken after
// its agent has left.
type claim struct {
	AgentID string    `json:"agent_id"`
	At      time.Time `json:"at"`
	// From is a short keyed hash of the address a number was claimed from; "" on names.
	From string `json:"from,omitempty"`
}

func nameKey(handle string) table.Key {
	return table.Key{PK: "bench.NAME#" + NormalName(handle), SK: "ROOT"}
}
