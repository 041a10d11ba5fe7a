package peer

import (
	"crypto/sha256"
	"encoding/hex"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// restoreKey is the row that counts how often the store was restored from a copy.
var restoreKey = table.Key{PK: "peer.RESTORE", SK: "ROOT"}

// restored is the store's restore number: cursors of another one have a gap.
type restored struct {
	N int64 `json:"n"`
}

// RaiseRestore stages that the store was restored from a copy: every cursor of a feed given
// out before has a gap from now on (peer.md 7.4).
func RaiseRestore(c *op.Call) error {
	r, _, err := op.Load[restored](c, restoreKey)
	r.N++
	c.Put(restoreKey, r)
	return err
}

// Refusals of feeds.
var (
	updatesGap    = fault.New(fault.Gone, "updates_gap", "Changes behind your cursor are no longer kept. Read the live topics again, then begin without a cursor.").At("cursor")
	invalidCursor = fault.New(fault.Invalid, "invalid_cursor", "Send the cursor exactly as it was given, or none.").At("cursor")
	otherFilters  = fault.New(fault.Invalid, "cursor_filter_mismatch", "This cursor belongs to other filters.").At("cursor")
)

// feedCursor is where a reader stands: a number for each topic of its scope, in the order of
// their ids, and two for its own topics. It holds no time, so nothing that is committed late
// is skipped.
type feedCursor struct {
	Restore int64   `json:"r,omitempty"`
	Scope   string  `json:"s"`
	Version int64   `json:"v,omitempty"` // of the follow set
	At      []int64 `json:"n,omitempty"`
	Gone    uint16  `json:"g,omitempty"` // topics whose end has been told
	Own     int64   `json:"o,omitempty"`
	Ended   int64   `json:"e,omitempty"` // own topics whose end has been told
}

// scope is what a reader wants to hear of.
type scope struct {
	topics  []ID   // in the order of their ids
	own     string // the client whose own topics are wanted, "" for none
	version int64  // of a follow set
	list    string // the name its cursors are signed for
	inbox   string // the client whose follow set it is
}

// hash tells scopes apart.
func (s scope) hash() string {
	h := sha256.New()
	for _, t := range s.topics {
		h.Write([]byte(t + "\n"))
	}
	h.Write([]byte("own " + s.own))
	if s.inbox != "" { // the version tells follow sets apart
		h.Reset()
		h.Write([]byte("inbox " + s.inbox))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// cursor signs a place in the scope.
func (s scope) cursor(c *op.Call, at feedCursor) (string, error) {
	r, _, err := op.Load[restored](c, restoreKey)
	at.Restore, at.Scope, at.Version = r.N, s.hash(), s.version
	return c.Cursor(s.list, at), err
}

const (
	updatesList = "peer.updates"
	inboxList   = "peer.inbox"
)

// topicCursor is a place in the updates of one topic, right behind its newest change.
func topicCursor(c *op.Call, h *head) (string, error) {
	return scope{topics: []ID{h.ID}, list: updatesList}.cursor(c, feedCursor{At: []int64{h.Seq}})
}

// open reads a cursor of this scope.
func (s scope) open(c *op.Call, cursor string) (at feedCursor, err error) {
	if !c.ReadCursor(s.list, cursor, &at) {
		return at, invalidCursor
	}
	r, _, err := op.Load[restored](c, restoreKey)
	switch {
	case err != nil:
		return at, err
	case at.Scope != s.hash():
		return at, otherFilters
	case at.Version != s.version:
		return at, inboxScopeChanged
	case at.Restore != r.N:
		return at, updatesGap
	case len(at.At) != len(s.topics):
		return at, invalidCursor
	}
	return at, nil
}
