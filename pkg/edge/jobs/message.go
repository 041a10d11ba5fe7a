package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/queue"
)

// message asks for a look at one shard. It is an op.SweepMessage with more to say.
type message struct {
	Context string `json:"context"`
	Shard   int    `json:"shard"`
	// Ahead: announce what falls due within the next minute. Only ticks do, so that
	// hints never breed hints.
	Ahead bool `json:"ahead,omitempty"`
	// After is the row behind which the look goes on.
	After string `json:"after,omitempty"`
}

func (m message) body() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings, an int and a bool
	}
	return b
}

// announce sends a message for the rows that were left and delayed ones for what falls due
// soon. A failure costs time only: the next tick looks again.
func (r *round) announce(q queue.Queue, m message, more bool) {
	var msgs []queue.Message
	if more {
		rest := queue.Message{ID: "rest", Body: m.body()}
		if !r.begun {
			rest.Delay = stalled // a deadline that is always too short must not spin
		}
		msgs = append(msgs, rest)
	}
	for _, s := range sorted(r.coming) {
		soon := message{Context: r.Context, Shard: m.Shard}
		msgs = append(msgs, queue.Message{ID: fmt.Sprintf("in-%d", s), Body: soon.body(), Delay: time.Duration(s) * time.Second})
	}
	send(r.ctx, q, op.SweepQueue(r.Context), msgs, r.logger())
}

func sorted(set map[int]bool) []int {
	out := make([]int, 0, len(set))
	for n := range set {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func send(ctx context.Context, q queue.Queue, name string, msgs []queue.Message, log *slog.Logger) {
	if len(msgs) == 0 {
		return
	}
	if err := queue.SendAll(ctx, q, name, msgs); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "hints lost", slog.String("queue", name), slog.String("cause", short(err.Error())))
	}
}

// Tick sends one message per shard of each context: the heartbeat that finds everything.
func Tick(ctx context.Context, q queue.Queue, contexts ...string) error {
	for _, group := range contexts {
		msgs := make([]queue.Message, clock.Shards)
		for shard := range msgs {
			m := message{Context: group, Shard: shard, Ahead: true}
			msgs[shard] = queue.Message{ID: fmt.Sprintf("tick-%d", shard), Body: m.body()}
		}
		if err := queue.SendAll(ctx, q, op.SweepQueue(group), msgs); err != nil {
			return fmt.Errorf("jobs: tick of %s: %w", group, err)
		}
	}
	return nil
}

// Tick sends one message per shard of this sweeper's context.
func (s *Sweeper) Tick(ctx context.Context) error { return Tick(ctx, s.Queue, s.Context) }

// Handle does the work of one message; it is a queue.Handler. A message that asks for
// nothing sensible is logged and done with: it is only a hint.
func (s *Sweeper) Handle(ctx context.Context, d queue.Delivery) error {
	m, ok := s.parse(ctx, d)
	if !ok {
		return nil
	}
	_, err := s.sweep(ctx, m, s.Engine.Now(), s.Queue)
	return err
}

// Consume does the work of a batch and returns the ids of the messages that should come
// back. Messages that ask for the same look share one.
func (s *Sweeper) Consume(ctx context.Context, batch []queue.Delivery) (failed []string) {
	type look struct {
		shard int
		after string
	}
	looks, ids := map[look]message{}, map[look][]string{}
	var order []look
	for _, d := range batch {
		m, ok := s.parse(ctx, d)
		if !ok {
			continue
		}
		l := look{m.Shard, m.After}
		if ids[l] == nil {
			order = append(order, l)
		}
		m.Ahead = m.Ahead || looks[l].Ahead
		looks[l], ids[l] = m, append(ids[l], d.ID)
	}
	for _, l := range order {
		_, err := s.sweep(ctx, looks[l], s.Engine.Now(), s.Queue)
		if err != nil {
			failed = append(failed, ids[l]...)
		}
	}
	return failed
}

func (s *Sweeper) parse(ctx context.Context, d queue.Delivery) (m message, ok bool) {
	err := json.Unmarshal(d.Body, &m)
	ok = err == nil && m.Context == s.Context && m.Shard >= 0 && m.Shard < clock.Shards
	if ok && m.After != "" {
		_, err = dueOf(m.After)
		ok = err == nil
	}
	if !ok {
		s.logger().LogAttrs(ctx, slog.LevelWarn, "odd sweep message", slog.String("operation", s.Context+".clock.sweep"),
			slog.Int("bytes", len(d.Body)), slog.Int("receives", d.Receives))
	}
	return m, ok
}

// hintTimeout bounds the sending of hints: an answer is waiting for it.
const hintTimeout = 2 * time.Second

// Hints is the engine's way to a queue (op.Engine.Hints): it sends what a commit asked for,
// equal hints once. What cannot be sent is lost, which changes nothing but timing.
func Hints(q queue.Queue, log *slog.Logger) func(ctx context.Context, hints []op.Hint) {
	if log == nil {
		log = silent
	}
	return func(ctx context.Context, hints []op.Hint) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hintTimeout)
		defer cancel()
		msgs, seen := map[string][]queue.Message{}, map[string]bool{}
		var names []string
		for _, h := range hints {
			key := fmt.Sprintf("%s %d %s", h.Queue, h.Delay/time.Second, h.Body)
			if seen[key] {
				continue
			}
			seen[key] = true
			if msgs[h.Queue] == nil {
				names = append(names, h.Queue)
			}
			id := fmt.Sprintf("hint-%d", len(msgs[h.Queue]))
			msgs[h.Queue] = append(msgs[h.Queue], queue.Message{ID: id, Body: h.Body, Delay: min(h.Delay, queue.MaxDelay)})
		}
		for _, name := range names {
			send(ctx, q, name, msgs[name], log)
		}
	}
}
