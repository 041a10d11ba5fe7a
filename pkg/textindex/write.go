package textindex

import (
	"slices"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of the writing.
const (
	batchDocs  = 64        // documents written together
	batchBytes = 128 << 10 // of their texts; one document may have more
	stepRows   = 88        // rows of lists in one commit; the rest of table.MaxTxRows is the timer, the head and full rows
	turnFor    = time.Minute
)

// head is the state of the writing.
type head struct {
	Next  int64  `json:"next"`            // number of the next document
	Batch []work `json:"batch,omitempty"` // the documents being written
	After string `json:"after,omitempty"` // trigrams up to this one are written
	Done  bool   `json:"done,omitempty"`  // all trigrams of the batch are written
	// Turn is the timer that writes; the others wait until its time is up.
	Turn  string    `json:"turn,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// work is a document of the batch.
type work struct {
	Subject string `json:"subject"`
	Number  int64  `json:"number"`
}

// fire makes one step of the writing: it takes the next documents that wait, writes some
// lists, or lets the finished ones go. It arms itself again while anything waits. One
// timer has the turn; the others come back when its time is up, in case it got stuck.
func (x *Index) fire(c *op.Call, t op.Fired) error {
	if err := c.Fetch(x.headKey(), x.waiting(t.Subject)); err != nil {
		return err
	}
	h, _, err := op.Load[head](c, x.headKey())
	if err != nil {
		return err
	}
	mine, err := c.Get(x.waiting(t.Subject))
	if err != nil {
		return err
	}
	if h.Turn != t.Subject {
		if !mine.Found() {
			return nil // another timer wrote it; whatever waits has a timer of its own
		}
		if h.Turn != "" && c.Now.Before(h.Until) {
			c.Arm(x.Kind, t.Subject, h.Until)
			return nil
		}
	}
	idle, err := x.step(c, &h)
	if err != nil {
		return err
	}
	if idle && h.Turn == "" {
		return nil
	}
	if h.Turn, h.Until = "", (time.Time{}); !idle {
		h.Turn, h.Until = t.Subject, c.Now.Add(turnFor)
		c.Arm(x.Kind, t.Subject, c.Now)
	}
	c.Put(x.headKey(), h)
	return nil
}

// step does the next thing there is to do; idle when nothing is.
func (x *Index) step(c *op.Call, h *head) (idle bool, err error) {
	switch {
	case len(h.Batch) == 0:
		return x.take(c, h)
	case h.Done:
		return false, x.finish(c, h)
	default:
		return false, x.write(c, h)
	}
}

// take makes the documents that have waited longest the batch.
func (x *Index) take(c *op.Call, h *head) (idle bool, err error) {
	var subjects []string
	for s := range shards {
		p, err := c.Query(table.Query{PK: x.waitingPK(s), Limit: batchDocs, KeysOnly: true})
		if err != nil {
			return false, err
		}
		for _, r := range p.Rows {
			subjects = append(subjects, r.SK)
		}
	}
	slices.Sort(subjects)
	subjects = subjects[:min(len(subjects), batchDocs)]
	docs, err := x.read(c, subjects)
	if err != nil {
		return false, err
	}
	size := 0
	for _, s := range subjects {
		for _, t := range docs[idOf(s)].Text {
			size += len(t)
		}
		if size > batchBytes && len(h.Batch) > 0 {
			break
		}
		h.Batch = append(h.Batch, work{s, h.Next})
		h.Next++
	}
	h.After, h.Done = "", false
	return len(h.Batch) == 0, nil
}

// read reads documents by their subjects.
func (x *Index) read(c *op.Call, subjects []string) (map[string]Doc, error) {
	byID := map[string]Doc{}
	if len(subjects) == 0 {
		return byID, nil
	}
	ids := make([]string, len(subjects))
	for i, s := range subjects {
		ids[i] = idOf(s)
	}
	docs, err := x.Read(c, ids)
	for _, d := range docs {
		byID[d.ID] = d
	}
	return byID, err
}

// write adds the documents of the batch to the next lists, in the order of the trigrams.
func (x *Index) write(c *op.Call, h *head) error {
	subjects := make([]string, len(h.Batch))
	for i, w := range h.Batch {
		subjects[i] = w.Subject
	}
	docs, err := x.read(c, subjects)
	if err != nil {
		return err
	}
	holders := map[string][]int64{}
	for _, w := range h.Batch {
		for _, t := range docs[idOf(w.Subject)].trigrams() {
			if t > h.After {
				holders[t] = append(holders[t], w.Number)
			}
		}
	}
	next := make([]string, 0, len(holders))
	for t := range holders {
		next = append(next, t)
	}
	slices.Sort(next)
	next = next[:min(len(next), stepRows)]
	keys := make([]table.Key, len(next))
	for i, t := range next {
		keys[i] = x.listKey(t)
	}
	if err := c.Fetch(keys...); err != nil {
		return err
	}
	rows := 0
	for _, t := range next {
		if rows >= stepRows {
			return nil
		}
		n, err := x.extend(c, t, holders[t])
		if err != nil {
			return err
		}
		rows += n
		h.After = t
	}
	h.Done = len(holders) == len(next)
	return nil
}

func (d Doc) trigrams() []string {
	folded := make([]string, len(d.Text))
	for i, t := range d.Text {
		folded[i] = Fold(t)
	}
	return trigrams(folded...)
}

// extend adds documents to one list and tells how many rows that wrote.
func (x *Index) extend(c *op.Call, tri string, add []int64) (rows int, err error) {
	l, _, err := op.Load[list](c, x.listKey(tri))
	if err != nil {
		return 0, err
	}
	rows = 1
	for _, number := range add {
		if l.Len == listRow {
			row := l.Full
			c.Create(x.fullKey(tri, row), l.turn())
			rows++
		}
		l.add(number)
	}
	c.Put(x.listKey(tri), l)
	return rows, nil
}

// finish lets the batch go: its documents have numbers and wait no longer.
func (x *Index) finish(c *op.Call, h *head) error {
	var keys []table.Key
	for _, w := range h.Batch {
		keys = append(keys, x.waiting(w.Subject))
		if k := x.docsKey(w.Number); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if err := c.Fetch(keys...); err != nil {
		return err
	}
	for _, w := range h.Batch {
		ids, _, err := op.Load[[]string](c, x.docsKey(w.Number))
		if err != nil {
			return err
		}
		for int64(len(ids)) <= w.Number%docsInRow {
			ids = append(ids, "")
		}
		ids[w.Number%docsInRow] = idOf(w.Subject)
		c.Put(x.docsKey(w.Number), ids)
		c.Delete(x.waiting(w.Subject))
	}
	h.Batch, h.After, h.Done = nil, "", false
	return nil
}
