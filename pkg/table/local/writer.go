package local

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync/atomic"

	"guildhall/pkg/table"
)

const (
	queueSize  = 256      // commits that wait before callers do
	groupSize  = 128      // commits of one sync
	groupBytes = 16 << 20 // bytes of one sync, over which no further commit joins
)

// request is one change that waits for the writer.
type request struct {
	bytes int
	// change answers the caller, or says that the whole transaction is broken.
	change func(*session) (answer, broken error)
	// claimed is set by whoever decides the request: the writer that takes it up, or the
	// caller whose context ends before that. So a caller that gives up knows that nothing
	// happened, and the writer never looks at what a caller has taken back.
	claimed atomic.Bool
	done    chan error
}

func newRequest(bytes int, change func(*session) (answer, broken error)) *request {
	return &request{bytes: bytes, change: change, done: make(chan error, 1)}
}

func (r *request) claim() bool { return r.claimed.CompareAndSwap(false, true) }

// writer is the one goroutine that changes the file.
type writer struct {
	session *session
	queue   chan *request
	quit    chan struct{} // closed: no further group
	stopped chan struct{} // closed: the goroutine is gone
	quitted atomic.Bool

	commits, syncs atomic.Int64
}

func startWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := prepareSchema(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s, err := newSession(ctx, conn)
	if err != nil {
		return nil, err
	}
	w := &writer{
		session: s, queue: make(chan *request, queueSize),
		quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.run()
	return w, nil
}

// stop ends the goroutine behind the group under way and gives the connection back.
func (w *writer) stop() error {
	if w.quitted.CompareAndSwap(false, true) {
		close(w.quit)
	}
	<-w.stopped
	return w.session.close()
}

// submit hands a change to the writer and waits for the answer. A context that ends before
// the writer has taken it up takes it back.
func (w *writer) submit(ctx context.Context, r *request) error {
	select {
	case <-w.quit:
		return errClosed
	default:
	}
	select {
	case w.queue <- r:
	case <-w.quit:
		return errClosed
	case <-ctx.Done():
		return table.Alive(ctx)
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if r.claim() {
			return table.Alive(ctx)
		}
	case <-w.stopped:
		if r.claim() {
			return errClosed
		}
	}
	return <-r.done
}

func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case <-w.quit:
			return
		case r := <-w.queue:
			w.group(r)
		}
	}
}

// group applies first and all that waits behind it in one transaction, and answers them once
// it is on the disk.
func (w *writer) group(first *request) {
	if err := w.session.begin(); err != nil {
		w.refuse(first, unavailable("begin", err))
		return
	}
	var taken []*request
	var answers []error
	var broken error // set when the transaction as a whole is lost
	bytes := 0
	for r := first; r != nil; r = w.next(len(taken), bytes) {
		if !r.claim() {
			continue
		}
		var answer error
		answer, broken = r.change(w.session)
		taken, answers, bytes = append(taken, r), append(answers, answer), bytes+r.bytes
		if broken != nil {
			break
		}
	}
	if broken == nil {
		broken = w.session.end()
	}
	if broken != nil {
		w.session.rollback()
		broken = unavailable("commit", broken)
	}
	if broken == nil {
		w.syncs.Add(1)
		w.commits.Add(int64(len(taken)))
	}
	for i, r := range taken {
		if broken != nil {
			// A conflict counted too: it may have been with a commit of this very group.
			answers[i] = broken
		}
		r.done <- answers[i]
	}
}

// next returns a waiting request that still fits the group. Callers woken by the group before
// may be about to send theirs, so an empty queue is looked at again after they had a turn.
func (w *writer) next(taken, bytes int) *request {
	if taken >= groupSize || bytes >= groupBytes {
		return nil
	}
	for range 2 {
		select {
		case r := <-w.queue:
			return r
		default:
			runtime.Gosched()
		}
	}
	return nil
}

// refuse answers the request and all that wait behind it: what kept this one from its
// transaction would keep them too, each for the whole wait again.
func (w *writer) refuse(r *request, err error) {
	for waiting := len(w.queue); ; waiting-- {
		if r.claim() {
			r.done <- err
		}
		if waiting == 0 {
			return
		}
		r = <-w.queue
	}
}
