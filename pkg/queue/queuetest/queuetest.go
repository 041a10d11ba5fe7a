// Package queuetest is the contract of pkg/queue as a test suite: every adapter passes it.
package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Case is one named promise.
type Case struct {
	Name string
	Run  func(*testing.T, Subject)
}

// Run runs the suite; open is called once for each case.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, open(t)) })
	}
}

// Cases lists the suite, for callers that must name the cases a given emulator is known to
// get wrong.
func Cases() []Case {
	return []Case{
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

func separate(t *testing.T, s Subject) {
	send(t, s, Name, msg("a"))
	none(t, s, queue.DeadName(Name), "from the dead letter queue")
	one(t, s, Name, "a", 1)
}
