package memqueue

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"time"

	"guildhall/pkg/queue"
)

// lane is one named queue.
type lane struct {
	visibility  time.Duration
	maxReceives int              // 0: no limit (a dead letter queue)
	byDue       dueHeap          // every message, by (due, seq)
	held        map[string]*item // by current receipt
}

type item struct {
	id       string
	body     []byte
	sentAt   time.Time
	due      time.Time // visible from
	seq      uint64
	receives int
	receipt  string // of the last delivery
	index    int    // in the heap
}

func newLane(name string, o Options) *lane {
	s, ok := o.Settings[name]
	if !ok {
		s = o.Default
	}
	l := &lane{
		visibility:  cmp.Or(s.Visibility, o.Default.Visibility, queue.DefaultVisibility),
		maxReceives: cmp.Or(s.MaxReceives, o.Default.MaxReceives, queue.DefaultMaxReceives),
		held:        map[string]*item{},
	}
	if queue.IsDeadName(name) {
		l.maxReceives = 0
	}
	return l
}

// dead tells whether the item may not be received again.
func (l *lane) dead(it *item) bool { return l.maxReceives > 0 && it.receives >= l.maxReceives }

// take hands out the first message, which must be visible and not dead.
func (l *lane) take(name string, now time.Time) queue.Delivery {
	it := l.byDue[0]
	delete(l.held, it.receipt)
	it.receives++
	it.receipt = name + "." + strconv.FormatUint(it.seq, 10) + "." + strconv.Itoa(it.receives)
	l.held[it.receipt] = it
	it.due = now.Add(l.visibility)
	heap.Fix(&l.byDue, 0)
	return queue.Delivery{
		ID: it.id, Body: slices.Clone(it.body), Receives: it.receives, SentAt: it.sentAt, Receipt: it.receipt,
	}
}

// dueHeap orders messages by the time they are visible from, then by the order of sending.
type dueHeap []*item

func compare(a, b *item) int {
	return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.seq, b.seq))
}

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return compare(h[i], h[j]) < 0 }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *dueHeap) Push(x any) {
	it := x.(*item)
	it.index = len(*h)
	*h = append(*h, it)
}

func (h *dueHeap) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return it
}
