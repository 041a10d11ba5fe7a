package lambdalocal

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"guildhall/pkg/catalog"
	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/queue"
	"guildhall/pkg/table"
)

// How the runner keeps time.
const (
	idlePause = 250 * time.Millisecond // how long a webhook waits to be noticed
	maxSteps  = 1_000_000              // of one move of the clock
	duePage   = 100                    // rows of one look at a shard
	// A row that a sweep left where it was is looked at again after a minute of the
	// exchange's time, then after twice as long each time, at most a day.
	firstWait = time.Minute
	lastWait  = 24 * time.Hour
)

// driver is what makes functions run without a request: it ticks, delivers messages, and
// moves the clock. It reads the clock's rows to know when something falls due, and has the
// real sweep functions fire it.
type driver struct {
	runner  *Runner
	store   table.Store
	turn    chan struct{} // held while something is being delivered
	cancel  context.CancelFunc
	done    chan struct{}
	waiting map[table.Key]wait
	hints   int // numbers messages
}

// wait is a row that did not go away when it should have.
type wait struct {
	until time.Time
	next  time.Duration
}

func newDriver(r *Runner, store table.Store) *driver {
	return &driver{runner: r, store: store, turn: make(chan struct{}, 1), waiting: map[table.Key]wait{}}
}

func (d *driver) start(ctx context.Context) {
	ctx, d.cancel = context.WithCancel(ctx)
	d.done = make(chan struct{})
	go func() {
		defer close(d.done)
		d.run(ctx)
	}()
}

func (d *driver) stop() {
	if d.cancel != nil {
		d.cancel()
		<-d.done
	}
}

// run ticks and delivers until ctx ends.
func (d *driver) run(ctx context.Context) {
	for _, s := range d.runner.deployment.Schedules {
		go d.schedule(ctx, s)
	}
	for ctx.Err() == nil {
		err := d.exclusive(ctx, func() error {
			if _, err := d.drain(ctx); err != nil {
				return err
			}
			_, err := d.runner.exchange.Runner.Settle(ctx) // delivers webhooks
			return err
		})
		if err != nil && ctx.Err() == nil {
			d.runner.log.Error("delivery failed", slog.String("cause", err.Error()))
		}
		pause := time.NewTimer(idlePause)
		select {
		case <-ctx.Done():
		case <-d.runner.queues.Wake():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// schedule calls a function at once and then in its rhythm.
func (d *driver) schedule(ctx context.Context, s Schedule) {
	every := time.NewTicker(s.Every)
	defer every.Stop()
	for ctx.Err() == nil {
		event := fmt.Appendf(nil, `{"version":"0","id":%q,"detail-type":"Scheduled Event","source":"aws.events","account":%q,"time":%q,"region":%q,"resources":[],"detail":{}}`,
			randomID(), Account, time.Now().UTC().Format(time.RFC3339), Region)
		if _, err := d.runner.pools[s.Function.Name].invoke(ctx, event); err != nil && ctx.Err() == nil {
			d.runner.log.Error("schedule failed", slog.String("function", s.Function.Name), slog.String("cause", err.Error()))
		}
		select {
		case <-ctx.Done():
		case <-every.C:
		}
	}
}

func (d *driver) exclusive(ctx context.Context, do func() error) error {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain delivers every message that is visible now, those that follow from it included.
func (d *driver) drain(ctx context.Context) (n int, err error) {
	for again := true; again; {
		again = false
		for _, q := range d.runner.deployment.Queues {
			if q.Reader == nil {
				continue
			}
			k, err := d.runner.deliver(ctx, q)
			n += k
			if err != nil {
				return n, err
			}
			again = again || k > 0
		}
	}
	return n, nil
}

// due is a row of the clock.
type due struct {
	key     table.Key
	context string
	shard   int
	at      time.Time // when it can be fired
}

// rows lists the rows of the clock that can be fired until a time, at most a page a shard;
// next is when the first of all can be.
func (d *driver) rows(ctx context.Context, until time.Time) (out []due, next time.Time, err error) {
	for _, c := range catalog.Contexts {
		for shard := range clock.Shards {
			p, err := d.store.Query(ctx, table.Query{PK: clock.Partition(c, shard), Limit: duePage})
			if err != nil {
				return nil, next, err
			}
			for _, row := range p.Rows {
				at := d.ready(row)
				if !at.IsZero() && (next.IsZero() || at.Before(next)) {
					next = at
				}
				if !at.IsZero() && !at.After(until) {
					out = append(out, due{row.Key, c, shard, at})
				}
			}
		}
	}
	return out, next, nil
}

// ready is when a row can be fired: when it is due, not held by a sweep and not left alone
// after it did not go away. Zero: never.
func (d *driver) ready(row table.Row) time.Time {
	if len(row.SK) < len(clock.Layout) {
		return time.Time{}
	}
	at, err := clock.Parse(row.SK[:len(clock.Layout)])
	if err != nil {
		return time.Time{}
	}
	var held struct {
		Held time.Time `json:"held"`
	}
	_ = op.Decode(row.Data, &held)
	for _, t := range []time.Time{held.Held, d.waiting[row.Key].until} {
		if t.After(at) {
			at = t
		}
	}
	return at
}

// settle fires what is due and delivers what follows, webhooks included, until nothing is
// left. It returns how many rows of the clock went away.
func (d *driver) settle(ctx context.Context) (fired int, err error) {
	for range maxSteps {
		delivered, err := d.drain(ctx)
		if err != nil {
			return fired, err
		}
		n, err := d.fire(ctx)
		fired += n
		if err != nil {
			return fired, err
		}
		hooks, err := d.runner.deliverWebhooks(ctx)
		if err != nil || n+hooks+delivered == 0 {
			return fired, err
		}
	}
	return fired, fmt.Errorf("lambdalocal: the clock does not settle")
}

// fire sends hints for the shards where something is due, has them delivered, and counts
// the rows that went away.
func (d *driver) fire(ctx context.Context) (fired int, err error) {
	now := d.runner.exchange.Clock.Now()
	before, _, err := d.rows(ctx, now)
	if err != nil || len(before) == 0 {
		return 0, err
	}
	sent := map[string]bool{}
	for _, row := range before {
		h := op.SweepHint(row.context, row.shard, 0)
		if sent[string(h.Body)] {
			continue
		}
		sent[string(h.Body)] = true
		d.hints++
		if err := d.runner.queues.Send(ctx, d.physical(h.Queue), queue.Message{ID: fmt.Sprintf("due-%d", d.hints), Body: h.Body}); err != nil {
			return 0, err
		}
	}
	if _, err := d.drain(ctx); err != nil {
		return 0, err
	}
	after, _, err := d.rows(ctx, now)
	left := map[table.Key]bool{}
	for _, row := range after {
		left[row.key] = true
	}
	for _, row := range before {
		if !left[row.key] {
			fired++
			delete(d.waiting, row.key)
			continue
		}
		w := wait{next: max(firstWait, min(lastWait, 2*d.waiting[row.key].next))}
		w.until = now.Add(w.next)
		d.waiting[row.key] = w
		d.runner.log.Warn("a row of the clock stays", slog.String("row", row.key.String()), slog.Duration("again in", w.next))
	}
	return fired, err
}

// physical is the deployed name of a queue.
func (d *driver) physical(name string) string {
	for _, q := range d.runner.deployment.Queues {
		if short(q.Name) == name {
			return q.Name
		}
	}
	return name
}

// advance moves a clock that stands still to target, firing what falls due on the way at its
// own time.
func (d *driver) advance(ctx context.Context, target time.Time) (fired int, err error) {
	for range maxSteps {
		next, ok, err := d.next(ctx)
		if err != nil {
			return fired, err
		}
		if !ok || next.After(target) {
			break
		}
		if c := d.runner.exchange.Clock; next.After(c.Now()) {
			if err := c.Set(next); err != nil {
				return fired, err
			}
		}
		n, err := d.settle(ctx)
		fired += n
		if err != nil {
			return fired, err
		}
	}
	if err := d.runner.exchange.Clock.Set(target); err != nil {
		return fired, err
	}
	n, err := d.settle(ctx)
	return fired + n, err
}

// next is when something falls due: a row of the clock, or a webhook.
func (d *driver) next(ctx context.Context) (next time.Time, ok bool, err error) {
	_, next, err = d.rows(ctx, time.Time{})
	ok = !next.IsZero()
	if hook, found := d.runner.exchange.Payments.NextDue(); found && (!ok || hook.Before(next)) {
		next, ok = hook, true
	}
	return next, ok, err
}

// tellTime is what functions ask before everything else.
func (r *Runner) tellTime(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"now": clock.Stamp(r.exchange.Clock.Now())})
}

// webhookPath is where the processor reports to (bench.md 15.4).
func webhookPath() string {
	if o := catalog.Find("bench.payout.webhook"); o != nil {
		return o.Path
	}
	return ""
}

// post calls the API as a stranger does.
func (r *Runner) post(ctx context.Context, path, body string, header map[string]string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}
