package jobs

import (
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// near is what a sweep knows of a page without asking: the rows of its timers, and what was
// read in one batch for the next of them. Both are kept up to date with what the timers'
// commits write: those that share a row do not make each other read it again, and one that
// an earlier one settled costs nothing.
type near struct {
	page   []table.Row
	timers map[table.Key]table.Row
	rows   map[table.Key]table.Row
	end    int // the first row of the page that rows were not read for
}

func nearOf(page []table.Row) *near {
	n := &near{page: page, timers: make(map[table.Key]table.Row, len(page))}
	for _, row := range page {
		n.timers[row.Key] = row
	}
	return n
}

// look reads what the due timers from the end of the last look on will read, for as many of
// them as one batch has room for. A store that does not answer is no matter here: each timer
// then reads its own.
func (n *near) look(r *round) {
	n.rows = nil
	var keys []table.Key
	wanted := map[table.Key]bool{}
	for ; n.end < len(n.page); n.end++ {
		own := r.needs(n.page[n.end])
		fresh := 0
		for _, k := range own {
			if !wanted[k] {
				fresh++
			}
		}
		if len(keys) > 0 && len(keys)+fresh > table.MaxGetKeys {
			break
		}
		for _, k := range own {
			if !wanted[k] && len(keys) < table.MaxGetKeys {
				wanted[k] = true
				keys = append(keys, k)
			}
		}
	}
	if len(keys) == 0 {
		return
	}
	rows, err := r.Engine.Store.Get(r.ctx, keys...)
	if err != nil {
		return
	}
	n.rows = make(map[table.Key]table.Row, len(rows))
	for _, row := range rows {
		n.rows[row.Key] = row
	}
}

// needs lists what the timer of a row will read; nothing when the row will not be fired now.
func (r *round) needs(row table.Row) []table.Key {
	due, err := dueOf(row.SK)
	if err != nil || due.After(r.now) {
		return nil
	}
	var e entry
	if op.Decode(row.Data, &e) != nil || r.blocked[e.Subject] {
		return nil
	}
	if t := r.timer(e.Kind); t != nil {
		return rowsOf(t, e.Subject)
	}
	return nil
}

// rowsOf guards against a kind that makes no sense of a stored subject.
func rowsOf(kind *op.TimerKind, subject string) (keys []table.Key) {
	if kind.Rows == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			keys = nil
		}
	}()
	return kind.Rows(subject)
}

// give hands a timer its own row and what was read for it.
func (n *near) give(c *op.Call, kind *op.TimerKind, key table.Key, subject string) {
	c.Known(n.timers[key])
	if len(n.rows) == 0 {
		return
	}
	for _, k := range rowsOf(kind, subject) {
		if row, ok := n.rows[k]; ok {
			c.Known(row)
		}
	}
}

// learn keeps what a call has left behind; the rows of one that failed are read again by
// whoever needs them.
func (n *near) learn(c *op.Call, kind *op.TimerKind, subject string, failed error) {
	if failed == nil && c != nil {
		c.Refresh(n.timers)
		c.Refresh(n.rows)
		return
	}
	for _, k := range rowsOf(kind, subject) {
		delete(n.rows, k)
	}
}
