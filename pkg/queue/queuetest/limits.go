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
