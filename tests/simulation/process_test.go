package simulation

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/blob"
	"guildhall/pkg/catalog"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/id"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/queue"
	queuefaulty "guildhall/pkg/queue/faulty"
	"guildhall/pkg/queue/memqueue"
	"guildhall/pkg/sms"
	texts "guildhall/pkg/sms/outbox"
	"guildhall/pkg/table/faulty"
)

// process is what a restart throws away: the engine, the sweeper with what it remembers, and
// the queue with every message in it.
type process struct {
	engine  *op.Engine
	sweeper *jobs.Sweeper
	store   *faulty.Store
	queue   *memqueue.Queue
	drops   *queuefaulty.Queue
}

const hookSecret = "whsec_of_the_simulation"

// start makes a new process over the same table.
func (s *sim) start() { s.process, s.struck, s.lost = s.newProcess(), nil, nil }

func (s *sim) newProcess() *process {
	p := &process{store: faulty.Wrap(s.audit), queue: memqueue.New(memqueue.Options{Clock: s.clock})}
	p.drops = queuefaulty.Wrap(p.queue)
	p.engine = &op.Engine{Store: p.store, Now: s.clock, Rand: s.random, Keys: id.Keyring{Current: []byte("a key for tests, 32 bytes long.")},
		BaseURL: "http://guildhall.test", Tips: true, Texts: true, Auth: authenticators, Ports: s.ports, Hints: jobs.Hints(p.drops, nil), Signals: &op.Signals{}}
	p.sweeper = &jobs.Sweeper{Engine: p.engine, Context: "bench", Timers: s.timers, Effects: s.effects, Queue: p.drops}
	return p
}

var (
	authenticators = account.Authenticators()
	benchTimers    = catalog.Timers("bench")
	benchEffects   = catalog.Effects("bench")
)

// watchClocks notes which timers fire and which effects are done.
func (s *sim) watchClocks() {
	s.timers, s.effects = slices.Clone(benchTimers), slices.Clone(benchEffects)
	for i, k := range s.timers {
		s.timers[i].Fire = func(c *op.Call, f op.Fired) error {
			s.saw("fired " + k.Kind)
			s.log("fired", k.Kind, f.Subject)
			return k.Fire(c, f)
		}
	}
	for i, k := range s.effects {
		s.effects[i].Do = func(c *op.Call, f op.Fired) (any, error) {
			s.saw("fired " + k.Kind)
			return k.Do(c, f)
		}
	}
}

func (s *sim) ports(ctx context.Context, _ op.Touch) context.Context {
	ctx = blob.With(texts.With(pay.With(ctx, s.bank, hookSecret), phones{s}), s.blobs)
	return outbox.With(ctx, outbox.Letters{Mailer: postbox{s}, From: "Guildhall <hall@guildhall.test>"})
}

// phones take texts; now and then nobody knows whether they did.
type phones struct{ s *sim }

func (p phones) Send(_ context.Context, m sms.Message) error {
	if p.s.faults && p.s.r.IntN(8) == 0 {
		return pick(p.s, []error{sms.ErrUnavailable, sms.ErrUnknown, sms.ErrRefused})
	}
	p.s.saw("text sent")
	return m.Valid()
}

// postbox takes mails; now and then it is closed.
type postbox struct{ s *sim }

func (p postbox) Send(_ context.Context, m mail.Mail) error {
	if p.s.faults && p.s.r.IntN(30) == 0 {
		return fmt.Errorf("%w: made to fail", mail.ErrUnavailable)
	}
	p.s.saw("mail sent")
	return nil
}

// source is the exchange's randomness.
type source struct{ r *rand.ChaCha8 }

func (s source) Read(p []byte) (int, error) { return s.r.Read(p) }

func randomOf(seed uint64) io.Reader {
	var b [32]byte
	copy(b[:], fmt.Sprintf("simulation %d", seed))
	return source{rand.NewChaCha8(b)}
}

// restart kills the process, wherever it stands, and starts another one.
func (s *sim) restart() {
	if s.nested {
		return
	}
	s.saw("restart")
	s.log("restart")
	s.start()
}

// intrude is the other process, that does something between two steps of a call or a sweep of
// the first: it reads what the first has not written yet, and writes what the first has read.
func (s *sim) intrude(context.Context) error {
	if s.nested {
		return nil
	}
	if s.second == nil {
		s.second = s.newProcess()
	}
	first, before := s.process, s.audit.happened
	s.process, s.nested = s.second, true
	defer func() {
		s.process, s.nested = first, false
		s.meanwhile += s.audit.happened - before
	}()
	s.saw("intrusion")
	switch live := s.audit.live(); {
	case s.r.IntN(3) == 0:
		s.tick()
		s.drain()
	case len(live) > 0 && s.r.IntN(3) > 0:
		s.work(pick(s, live))
	default:
		s.market(pick(s, s.wants), true)
	}
	return nil
}

// die makes the process lose the table from its n-th call on, which is what an end in the
// middle of something looks like from outside; the caller restarts it.
func (s *sim) die(n int) {
	s.store.Clear()
	_, err := s.store.Inject(faulty.Fault{Mode: faulty.Drop, Skip: n, Times: faulty.Forever})
	must(err)
}

var tableModes = []faulty.Mode{faulty.FailBefore, faulty.FailAfter, faulty.Conflict, faulty.Throttle, faulty.Duplicate, faulty.Drop, faulty.Delay}

// trouble sets a fault of the table for one of the next calls, now and then.
func (s *sim) trouble() {
	if s.store.Pending() > 0 {
		s.store.Clear()
	}
	if !s.faults || s.nested || s.r.IntN(4) > 0 {
		return
	}
	f := faulty.Fault{Mode: tableModes[s.r.IntN(len(tableModes))], Times: 1 + s.r.IntN(2), Skip: s.r.IntN(2)}
	if s.r.IntN(2) == 0 {
		f.Op, f.Skip = faulty.Commit, 0
	}
	if f.Mode == faulty.Delay {
		f.Hook, f.Times = s.intrude, 1 // simulated time stands still while a call is under way
		if s.r.IntN(5) == 0 {
			f.Hook = func(context.Context) error { return context.DeadlineExceeded }
		}
	}
	_, err := s.store.Inject(f)
	must(err)
}

// calm takes the faults away and counts what they struck.
func (s *sim) calm() {
	if s.nested {
		return
	}
	for mode, n := range s.store.Fired() {
		if n > s.struck[mode] {
			s.seen["table "+string(mode)] += n - s.struck[mode]
		}
	}
	s.struck = s.store.Fired()
	s.store.Clear()
}

var queueModes = []queuefaulty.Mode{queuefaulty.FailBefore, queuefaulty.FailAfter, queuefaulty.Conflict, queuefaulty.Throttle, queuefaulty.Duplicate, queuefaulty.Drop}

// congestion sets a fault of the queue for one of the next calls, now and then.
func (s *sim) congestion() {
	s.drops.Clear()
	if !s.faults || s.nested || s.r.IntN(3) > 0 {
		return
	}
	f := queuefaulty.Fault{Mode: queueModes[s.r.IntN(len(queueModes))], Times: 1 + s.r.IntN(2)}
	if f.Mode != queuefaulty.Conflict {
		f.Op = []queuefaulty.Op{queuefaulty.Send, queuefaulty.Receive, queuefaulty.Delete}[s.r.IntN(3)]
	}
	must(s.drops.Inject(f))
}

// tick sends the minute's messages, as the schedule does; what goes wrong is lost.
func (s *sim) tick() { _ = s.sweeper.Tick(context.Background()) }

// maxBatches bounds one drain: hints that breed hints would never end.
const maxBatches = 60

// drain works on messages until none is visible, as a function behind the queue does: it takes
// a batch, sweeps, and gives back those that failed.
func (s *sim) drain() {
	ctx := context.Background()
	empty := 0
	for n := 0; empty < 2; n++ {
		if n > maxBatches {
			fail("the queue is not empty after %d batches", maxBatches)
		}
		batch, err := s.drops.Receive(ctx, op.SweepQueue("bench"), queue.MaxBatch)
		if err != nil || len(batch) == 0 {
			if empty++; !s.faults {
				return
			}
			continue
		}
		s.trouble()
		s.misbehave()
		failed := s.sweeper.Consume(ctx, batch)
		s.calm()
		var done []string
		for _, d := range batch {
			if !slices.Contains(failed, d.ID) {
				done = append(done, d.Receipt)
			}
		}
		if len(done) > 0 {
			_ = s.drops.Delete(ctx, op.SweepQueue("bench"), done...)
		}
	}
	if s.nested {
		return
	}
	for mode, n := range s.drops.Fired() {
		s.seen["queue "+string(mode)] += n - s.lost[mode]
	}
	s.lost = s.drops.Fired()
}

// sweepNow lets one tick reach the sweeper.
func (s *sim) sweepNow() {
	s.congestion()
	s.tick()
	s.drain()
	s.drops.Clear()
}

// at moves the clock, never back.
func (s *sim) at(t time.Time) {
	if t.After(s.now) {
		s.now = t
	}
}
