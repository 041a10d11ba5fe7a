// Package queuetest is the contract of pkg/queue as a test suite: every adapter passes it.
package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/queue"
)

// Name is the queue the suite uses; its dead letter queue is queue.DeadName(Name).
const Name = "suite"

// Subject is one fresh, empty queue service under test.
type Subject struct {
	Queue queue.Queue
	// Advance lets that much time pass for the queue: a step of a simulated clock, or a
	// real wait against an emulator.
	Advance func(time.Duration)
	// Visibility and MaxReceives are the settings of the queue called Name. Visibility is
	// at least one second.
	Visibility  time.Duration
	MaxReceives int
}

// Run runs the suite; open is called once for each test.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"a sent message is received with its id, body and time", sent},
		{"an empty queue gives nothing and no error", empty},
		{"a delayed message is not early and not lost", delayed},
		{"a received message is hidden, then comes back with a higher count", redelivered},
		{"a deleted message never comes back", deleted},
		{"a void receipt deletes and hides nothing", voidReceipt},
		{"hide extends, and zero gives back at once", hidden},
		{"a message is dead after its receives and redrive brings it back", dead},
		{"work deletes what is done and leaves what failed", partial},
		{"limits hold at n and n plus one", limits},
		{"bad calls are refused before anything is sent", refused},
		{"queues do not see each other's messages", separate},
		{"parallel receivers get disjoint messages", disjoint},
		{"send all splits by number and by bytes", sendAll},
		{"an ended context does nothing", ended},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func msg(id string) queue.Message {
	return queue.Message{ID: id, Body: []byte(`{"job":"` + id + `"}`)}
}

func send(t *testing.T, s Subject, name string, msgs ...queue.Message) {
	t.Helper()
	if err := s.Queue.Send(t.Context(), name, msgs...); err != nil {
		t.Fatalf("Send: %v", err)
	}
}

func receive(t *testing.T, s Subject, name string) []queue.Delivery {
	t.Helper()
	ds, err := s.Queue.Receive(t.Context(), name, queue.MaxBatch)
	if err != nil {
		t.Fatalf("Receive: %v", err)
	}
	return ds
}

func one(t *testing.T, s Subject, name, id string, receives int) queue.Delivery {
	t.Helper()
	ds := receive(t, s, name)
	if len(ds) != 1 || ds[0].ID != id || ds[0].Receives != receives {
		t.Fatalf("received %v, want one %s at receive %d", describe(ds), id, receives)
	}
	return ds[0]
}

func none(t *testing.T, s Subject, name, when string) {
	t.Helper()
	if ds := receive(t, s, name); len(ds) != 0 {
		t.Fatalf("received %v %s, want nothing", describe(ds), when)
	}
}

func describe(ds []queue.Delivery) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = fmt.Sprintf("%s@%d", d.ID, d.Receives)
	}
	return out
}

func sent(t *testing.T, s Subject) {
	body := "{\"text\":\"zwölf Boxkämpfer \U0001F94A\",\n\t\"n\":1}"
	send(t, s, Name, queue.Message{ID: "bench.deal#1/x", Body: []byte(body)})
	d := one(t, s, Name, "bench.deal#1/x", 1)
	if string(d.Body) != body {
		t.Errorf("body %q, want %q", d.Body, body)
	}
	if d.Receipt == "" || d.SentAt.IsZero() {
		t.Errorf("receipt %q sent at %v: want both set", d.Receipt, d.SentAt)
	}
}

func empty(t *testing.T, s Subject) { none(t, s, Name, "from an empty queue") }

func delayed(t *testing.T, s Subject) {
	late := msg("late")
	late.Delay = 1200 * time.Millisecond // two whole seconds
	send(t, s, Name, late)
	none(t, s, Name, "before the delay")
	s.Advance(2 * time.Second)
	one(t, s, Name, "late", 1)
}

func redelivered(t *testing.T, s Subject) {
	send(t, s, Name, msg("a"))
	first := one(t, s, Name, "a", 1)
	none(t, s, Name, "while it is held")
	s.Advance(s.Visibility)
	second := one(t, s, Name, "a", 2)
	if first.Receipt == second.Receipt {
		t.Error("both deliveries have one receipt")
	}
}

func deleted(t *testing.T, s Subject) {
	send(t, s, Name, msg("a"), msg("b"))
	ds := receive(t, s, Name)
	if len(ds) != 2 {
		t.Fatalf("received %v, want two", describe(ds))
	}
	if err := s.Queue.Delete(t.Context(), Name, ds[0].Receipt, ds[1].Receipt); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	s.Advance(s.Visibility)
	none(t, s, Name, "after its deletion")
	if err := s.Queue.Delete(t.Context(), Name); err != nil {
		t.Errorf("Delete of no receipts: %v", err)
	}
}

func voidReceipt(t *testing.T, s Subject) {
	send(t, s, Name, msg("a"))
	d := one(t, s, Name, "a", 1)
	if err := s.Queue.Delete(t.Context(), Name, d.Receipt); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if err := s.Queue.Delete(t.Context(), Name, d.Receipt); err != nil {
		t.Errorf("second Delete: %v", err)
	}
	if err := s.Queue.Hide(t.Context(), Name, d.Receipt, time.Second); !errors.Is(err, queue.ErrNotHeld) {
		t.Errorf("Hide of a deleted message: %v, want ErrNotHeld", err)
	}
}

func hidden(t *testing.T, s Subject) {
	send(t, s, Name, msg("a"))
	d := one(t, s, Name, "a", 1)
	if err := s.Queue.Hide(t.Context(), Name, d.Receipt, 3*s.Visibility); err != nil {
		t.Fatalf("Hide: %v", err)
	}
	s.Advance(2 * s.Visibility)
	none(t, s, Name, "while its hiding is extended")
	if err := s.Queue.Hide(t.Context(), Name, d.Receipt, 0); err != nil {
		t.Fatalf("Hide for 0: %v", err)
	}
	one(t, s, Name, "a", 2)
}

func dead(t *testing.T, s Subject) {
	send(t, s, Name, msg("poison"))
	for n := 1; n <= s.MaxReceives; n++ {
		one(t, s, Name, "poison", n)
		s.Advance(s.Visibility)
	}
	none(t, s, Name, "after its last receive")
	n, err := queue.Redrive(t.Context(), s.Queue, Name)
	if err != nil || n != 1 {
		t.Fatalf("Redrive moved %d, %v; want 1", n, err)
	}
	d := one(t, s, Name, "poison", 1)
	if string(d.Body) != string(msg("poison").Body) {
		t.Errorf("body after redrive %q", d.Body)
	}
	if n, err := queue.Redrive(t.Context(), s.Queue, Name); err != nil || n != 0 {
		t.Errorf("second Redrive moved %d, %v; want 0", n, err)
	}
	if _, err := queue.Redrive(t.Context(), s.Queue, queue.DeadName(Name)); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("Redrive of a dead letter queue: %v, want ErrInvalid", err)
	}
}

func partial(t *testing.T, s Subject) {
	send(t, s, Name, msg("good"), msg("bad"), msg("mad"))
	boom := errors.New("boom")
	round, err := queue.Work(t.Context(), s.Queue, Name, queue.MaxBatch, func(_ context.Context, d queue.Delivery) error {
		switch d.ID {
		case "bad":
			return boom
		case "mad":
			panic("mad")
		}
		return nil
	})
	if err != nil || round.Received != 3 || len(round.Failed) != 2 {
		t.Fatalf("Work: %+v, %v; want 3 received, 2 failed", round, err)
	}
	for _, f := range round.Failed {
		if want := map[string]error{"bad": boom, "mad": queue.ErrPanic}[f.Delivery.ID]; !errors.Is(f.Err, want) {
			t.Errorf("%s failed with %v, want %v", f.Delivery.ID, f.Err, want)
		}
	}
	none(t, s, Name, "before the visibility timeout")
	s.Advance(s.Visibility)
	var ids []string
	for _, d := range receive(t, s, Name) {
		ids = append(ids, d.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"bad", "mad"}) {
		t.Errorf("came back: %v, want bad and mad", ids)
	}
}

func limits(t *testing.T, s Subject) {
	full := queue.Message{ID: strings.Repeat("i", queue.MaxIDBytes), Body: []byte(strings.Repeat("b", queue.MaxBodyBytes))}
	send(t, s, Name, full)
	d := one(t, s, Name, full.ID, 1)
	if len(d.Body) != queue.MaxBodyBytes {
		t.Errorf("body of %d bytes came back with %d", queue.MaxBodyBytes, len(d.Body))
	}
	if err := s.Queue.Delete(t.Context(), Name, d.Receipt); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	far := msg("far")
	far.Delay = queue.MaxDelay
	send(t, s, Name, far)

	var ten []queue.Message
	for i := range queue.MaxBatch {
		ten = append(ten, msg(fmt.Sprint("m", i)))
	}
	send(t, s, Name, ten...)
	big := full
	big.Body = append(slices.Clone(full.Body), 'b')
	far.Delay++
	long := msg(full.ID + "i")
	half := strings.Repeat("h", queue.MaxBodyBytes/2+1)
	for what, c := range map[string]struct {
		msgs []queue.Message
		want error
	}{
		"a body one byte over": {[]queue.Message{big}, queue.ErrTooLarge},
		"a batch over": {[]queue.Message{{ID: "x", Body: []byte(half)}, {ID: "y", Body: []byte(half)}},
			queue.ErrTooLarge},
		"eleven messages":     {append(ten, msg("m10")), queue.ErrInvalid},
		"a delay over":        {[]queue.Message{far}, queue.ErrInvalid},
		"an id one byte over": {[]queue.Message{long}, queue.ErrInvalid},
		"a negative delay":    {[]queue.Message{{ID: "x", Body: []byte("x"), Delay: -1}}, queue.ErrInvalid},
		"no message":          {nil, queue.ErrInvalid},
		"an empty body":       {[]queue.Message{{ID: "x"}}, queue.ErrInvalid},
		"an id twice":         {[]queue.Message{msg("x"), msg("x")}, queue.ErrInvalid},
		"an id with a blank":  {[]queue.Message{msg("a b")}, queue.ErrInvalid},
		"a control character": {[]queue.Message{{ID: "x", Body: []byte("a\x00b")}}, queue.ErrInvalid},
		"bytes that are not text": {[]queue.Message{{ID: "x", Body: []byte{0xff, 0xfe}}},
			queue.ErrInvalid},
	} {
		if err := s.Queue.Send(t.Context(), Name, c.msgs...); !errors.Is(err, c.want) {
			t.Errorf("Send of %s: %v, want %v", what, err, c.want)
		}
	}
}

func refused(t *testing.T, s Subject) {
	ctx := t.Context()
	for _, name := range []string{"", "Upper", "with.dot", "with/slash", strings.Repeat("n", queue.MaxNameBytes)} {
		if err := s.Queue.Send(ctx, name, msg("x")); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("Send to %q: %v, want ErrInvalid", name, err)
		}
	}
	for _, max := range []int{0, -1, queue.MaxBatch + 1} {
		if _, err := s.Queue.Receive(ctx, Name, max); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("Receive of %d: %v, want ErrInvalid", max, err)
		}
	}
	for _, d := range []time.Duration{-1, queue.MaxVisibility + 1} {
		if err := s.Queue.Hide(ctx, Name, "r", d); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("Hide for %v: %v, want ErrInvalid", d, err)
		}
	}
	if err := s.Queue.Delete(ctx, Name, make([]string, queue.MaxBatch+1)...); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("Delete of eleven: %v, want ErrInvalid", err)
	}
	bad := []queue.Message{msg("fine"), {ID: "broken"}}
	if err := s.Queue.Send(ctx, Name, bad...); err == nil {
		t.Error("a batch with a broken message was sent")
	}
	none(t, s, Name, "after a refused batch")
}

func separate(t *testing.T, s Subject) {
	send(t, s, Name, msg("a"))
	none(t, s, queue.DeadName(Name), "from the dead letter queue")
	one(t, s, Name, "a", 1)
}

// disjoint has four receivers empty a queue of 40 messages at once.
func disjoint(t *testing.T, s Subject) {
	const batches, receivers = 4, 4
	for b := range batches {
		var ms []queue.Message
		for i := range queue.MaxBatch {
			ms = append(ms, msg(fmt.Sprintf("m%d-%d", b, i)))
		}
		send(t, s, Name, ms...)
	}
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for range receivers {
		wg.Go(func() {
			for range batches * queue.MaxBatch {
				ds, err := s.Queue.Receive(t.Context(), Name, 3)
				if err != nil {
					t.Errorf("Receive: %v", err)
				}
				mu.Lock()
				for _, d := range ds {
					got[d.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(got) != batches*queue.MaxBatch {
		t.Errorf("received %d messages, want %d", len(got), batches*queue.MaxBatch)
	}
	for id, n := range got {
		if n != 1 {
			t.Errorf("%s was received %d times at once", id, n)
		}
	}
}

func sendAll(t *testing.T, s Subject) {
	var ms []queue.Message
	for i := range 2*queue.MaxBatch + 1 {
		ms = append(ms, msg(fmt.Sprint("m", i)))
	}
	third := strings.Repeat("t", queue.MaxBodyBytes/3+1)
	for i := range 3 {
		ms = append(ms, queue.Message{ID: fmt.Sprint("big", i), Body: []byte(third)})
	}
	if err := queue.SendAll(t.Context(), s.Queue, Name, ms); err != nil {
		t.Fatalf("SendAll: %v", err)
	}
	got := map[string]bool{}
	for range len(ms) {
		for _, d := range receive(t, s, Name) {
			got[d.ID] = true
		}
	}
	if len(got) != len(ms) {
		t.Errorf("received %d of %d messages", len(got), len(ms))
	}
}

func ended(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Queue.Send(ctx, Name, msg("a")); err == nil {
		t.Error("Send with an ended context succeeded")
	}
	if _, err := s.Queue.Receive(ctx, Name, 1); err == nil {
		t.Error("Receive with an ended context succeeded")
	}
	failed := queue.Handle(ctx, []queue.Delivery{{ID: "a"}}, func(context.Context, queue.Delivery) error { return nil })
	if len(failed) != 1 || !errors.Is(failed[0].Err, context.Canceled) {
		t.Errorf("Handle with an ended context: %v, want one failure", failed)
	}
	none(t, s, Name, "after a cancelled send")
}
