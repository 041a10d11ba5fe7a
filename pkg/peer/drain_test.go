package peer

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

// drain reads a feed page by page with its cursor.
type drain struct {
	v       visitor
	op      *op.Operation
	query   string
	cursor  string
	seen    map[string]bool
	replies map[string]bool
	types   []string
	t       *testing.T
}

// page reads one page and tells whether more follows. Each change comes once.
func (d *drain) page(limit int) bool {
	d.t.Helper()
	if d.seen == nil {
		d.seen, d.replies = map[string]bool{}, map[string]bool{}
	}
	q, _ := url.ParseQuery(d.query)
	q.Set("limit", strconv.Itoa(limit))
	if d.cursor != "" {
		q.Set("cursor", d.cursor)
	}
	res := d.v.w.Do(d.op, optest.Req{Token: d.v.Token, Query: q})
	for res.Status == 429 { // reads are limited by the minute
		d.v.w.pass(60e9)
		res = d.v.w.Do(d.op, optest.Req{Token: d.v.Token, Query: q})
	}
	res.Want(200)
	for _, c := range res.At("changes").([]any) {
		m := c.(map[string]any)
		id := m["change_id"].(string)
		if d.seen[id] {
			d.t.Errorf("change %s comes twice", id)
		}
		d.seen[id] = true
		d.types = append(d.types, m["type"].(string))
		if r, ok := m["reply_id"].(string); ok && m["type"] == ReplyAdded {
			d.replies[r] = true
		}
	}
	if len(res.Str("next_cursor")) > 512 {
		d.t.Errorf("a cursor of %d bytes", len(res.Str("next_cursor")))
	}
	d.cursor = res.Str("next_cursor")
	return res.At("has_more") == true
}

// holding holds one commit back until it is released.
type holding struct {
	table.Store
	mu               sync.Mutex
	started, release chan struct{}
}

// next makes the next commit wait.
func (h *holding) next() (started, release chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started, h.release = make(chan struct{}), make(chan struct{})
	return h.started, h.release
}

func (h *holding) Commit(ctx context.Context, tx *table.Tx) error {
	h.mu.Lock()
	started, release := h.started, h.release
	h.started, h.release = nil, nil
	h.mu.Unlock()
	if started != nil {
		close(started)
		<-release
	}
	return h.Store.Commit(ctx, tx)
}
