package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/queue"
	"guildhall/pkg/queue/memqueue"
	"guildhall/pkg/sms"
	"guildhall/pkg/sms/outbox"
	"guildhall/pkg/sms/smstest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

// hall is an exchange with the real job over a way out that answers as told.
type hall struct {
	*optest.Exchange
	faults *faulty.Store
	sweep  *jobs.Sweeper
	queue  *memqueue.Queue
	log    bytes.Buffer
	asked  []sms.Message
	answer func(n int) error // of the n-th request
	off    bool
	ahead  time.Duration
}

// Send implements sms.Sender.
func (h *hall) Send(_ context.Context, m sms.Message) error {
	if err := m.Valid(); err != nil {
		return err
	}
	h.asked = append(h.asked, m)
	if h.answer != nil {
		return h.answer(len(h.asked))
	}
	return nil
}

func newHall(t *testing.T) *hall {
	h := &hall{}
	h.Exchange = optest.New(t, optest.WithStore(func(s table.Store) table.Store { h.faults = faulty.Wrap(s); return h.faults }),
		optest.WithPorts(func(ctx context.Context, touch op.Touch) context.Context {
			if touch.Has(op.Texts) && !h.off {
				return outbox.With(ctx, h)
			}
			return ctx
		}))
	h.Engine.Now = h.time
	h.queue = memqueue.New(memqueue.Options{Clock: h.time})
	h.sweep = &jobs.Sweeper{Engine: h.Engine, Context: "bench", Effects: outbox.Effects, Queue: h.queue, Log: slog.New(slog.NewJSONHandler(&h.log, nil))}
	return h
}

func (h *hall) time() time.Time { return optest.Start.Add(h.ahead) }

func (h *hall) stage(m sms.Message) {
	h.T.Helper()
	if err := h.Engine.Run(context.Background(), h.time(), "bench", func(c *op.Call) error { outbox.Send(c, m); return nil }); err != nil {
		h.T.Fatal(err)
	}
}

func (h *hall) run() {
	h.T.Helper()
	if _, err := h.sweep.SweepAll(context.Background(), h.time()); err != nil {
		h.T.Fatal(err)
	}
}

// became reads what is kept of a text.
func (h *hall) became(key string) (r outbox.Record) {
	h.T.Helper()
	err := h.Engine.Run(context.Background(), h.time(), "bench", func(c *op.Call) (err error) {
		r, _, err = op.Load[outbox.Record](c, outbox.RecordKey("bench", key))
		return err
	})
	if err != nil {
		h.T.Fatal(err)
	}
	return r
}

// want checks how often the way out was asked and what is kept of the text "k", and that
// nothing of it waits or is told to the log.
func (h *hall) want(asked int, state outbox.State) {
	h.T.Helper()
	if len(h.asked) != asked || h.became("k").State != state {
		h.T.Errorf("asked %d times, want %d; kept %+v, want %q", len(h.asked), asked, h.became("k"), state)
	}
	if _, waits := h.sweep.NextDue(context.Background()); waits {
		h.T.Error("the text still waits")
	}
	if m := smstest.Message("k"); strings.Contains(h.log.String()+fmt.Sprint(h.became("k")), m.To) || strings.Contains(h.log.String(), m.Body) {
		h.T.Errorf("the log or the record names the number: %s", h.log.String())
	}
}

func TestATextIsSentOnceForItsKey(t *testing.T) {
	h := newHall(t)
	h.stage(smstest.Message("k"))
	h.run()
	h.run()
	h.ahead = 400 * 24 * time.Hour
	h.stage(smstest.Message("k"))
	h.run()
	h.want(1, outbox.Sent)
	if h.asked[0] != smstest.Message("k") {
		t.Errorf("sent %+v", h.asked[0])
	}
}

func TestARefusedCommitStagesNoText(t *testing.T) {
	h := newHall(t)
	no := errors.New("no")
	if err := h.Engine.Run(t.Context(), h.time(), "bench", func(c *op.Call) error { outbox.Send(c, smstest.Message("k")); return no }); !errors.Is(err, no) {
		t.Fatal(err)
	}
	h.run()
	h.want(0, "")
}

func TestAnUnknownResultIsNotSentAgain(t *testing.T) {
	for what, err := range map[string]error{"unknown": fmt.Errorf("%w: no answer", sms.ErrUnknown), "unheard of": errors.New("strange"), "ended": context.DeadlineExceeded} {
		h := newHall(t)
		h.answer = func(int) error { return err }
		h.stage(smstest.Message("k"))
		for range 5 {
			h.run()
			h.ahead += time.Hour
		}
		h.want(1, outbox.Unknown)
		if h.became("k").Cause == "" {
			t.Errorf("%s: no cause is kept", what)
		}
	}
}

func TestATextWhoseJobDiedIsNotSentAgain(t *testing.T) {
	h := newHall(t)
	h.stage(smstest.Message("k"))
	// The claim is committed, the text is sent, and then nothing can be written any more.
	if _, err := h.faults.Inject(faulty.Fault{Mode: faulty.FailBefore, Op: faulty.Commit, Skip: 1, Times: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.sweep.SweepAll(t.Context(), h.time()); !errors.Is(err, table.ErrUnavailable) {
		t.Fatal(err)
	}
	for range 3 {
		h.ahead += 2 * time.Minute
		h.run()
	}
	h.want(1, outbox.Unknown)
}

func TestAResultThatWasWrittenWithoutAnAnswerCounts(t *testing.T) {
	h := newHall(t)
	h.stage(smstest.Message("k"))
	if _, err := h.faults.Inject(faulty.Fault{Mode: faulty.FailAfter, Op: faulty.Commit, Times: 2}); err != nil {
		t.Fatal(err)
	}
	h.run()
	h.ahead += 2 * time.Minute
	h.run()
	h.want(1, outbox.Sent)
}

func TestWhatIsKnownNotToBeSentIsTriedAgainUntilItIsTooLate(t *testing.T) {
	h := newHall(t)
	h.answer = func(n int) error {
		if n < 4 {
			return fmt.Errorf("%w: throttled", sms.ErrUnavailable)
		}
		return nil
	}
	h.stage(smstest.Message("k"))
	for range 20 {
		h.run()
		h.ahead += time.Minute
	}
	h.want(4, outbox.Sent)

	late := newHall(t)
	late.answer = func(int) error { return sms.ErrUnavailable }
	late.stage(smstest.Message("k"))
	for late.ahead < outbox.MaxLate+op.Backoff(op.MaxTries) {
		late.run()
		late.ahead += time.Minute
	}
	late.want(len(late.asked), outbox.Late)
	if n := len(late.asked); n < 8 || n >= op.MaxTries {
		t.Errorf("asked %d times", n)
	}
}

func TestATextThatLeavesAtTheLastMomentIsNotLate(t *testing.T) {
	for ahead, want := range map[time.Duration]outbox.State{outbox.MaxLate: outbox.Sent, outbox.MaxLate + time.Millisecond: outbox.Late} {
		h := newHall(t)
		h.stage(smstest.Message("k"))
		h.ahead = ahead
		h.run()
		if got := h.became("k").State; got != want {
			t.Errorf("after %v: %s, want %s", ahead, got, want)
		}
	}
}

func TestWhatCanNeverBeSentIsDropped(t *testing.T) {
	h := newHall(t)
	h.answer = func(int) error { return fmt.Errorf("%w: opted out", sms.ErrRefused) }
	h.stage(smstest.Message("k"))
	h.run()
	h.want(1, outbox.Refused)

	bad := newHall(t)
	m := smstest.Message("k")
	m.Body = "two\nlines"
	bad.stage(m)
	bad.run()
	bad.want(0, outbox.Refused)
}

func TestWithoutAWayOutTextsAreDroppedAndNothingElseWaits(t *testing.T) {
	h := newHall(t)
	h.off = true
	h.stage(smstest.Message("k"))
	h.run()
	h.want(0, outbox.Off)
}

func TestQueueMessagesThatAreLostOrRepeatedSendOneText(t *testing.T) {
	h := newHall(t)
	for i := range 6 {
		m := smstest.Message(fmt.Sprint("k", i))
		h.stage(m)
		for range 3 { // every hint comes three times
			for shard := range 16 {
				hint := op.SweepHint("bench", shard, 0)
				if err := h.sweep.Handle(t.Context(), queue.Delivery{Body: hint.Body}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	h.stage(smstest.Message("k")) // its hint is lost: the tick finds it
	h.ahead = time.Minute
	h.run()
	if len(h.asked) != 7 {
		t.Errorf("7 texts, %d requests", len(h.asked))
	}
}
