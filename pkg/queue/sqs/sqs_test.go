package sqs

import (
	"errors"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/queue"
	"guildhall/pkg/queue/memqueue"
	"guildhall/pkg/queue/queuetest"
)

const prefix = "https://sqs.eu-west-1.amazonaws.com/123456789012/guildhall-"

// open starts a fake service on a simulated clock and a real client of it.
func open(t *testing.T) (*server, *Queue, func(time.Duration)) {
	t.Helper()
	var millis atomic.Int64
	millis.Store(time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC).UnixMilli())
	backend := memqueue.New(memqueue.Options{Clock: func() time.Time { return time.UnixMilli(millis.Load()).UTC() }})
	s := &server{t: t, backend: backend, prefix: prefix, calls: map[string]int{}, rejected: map[string]string{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	q, err := New(options(web.URL))
	if err != nil {
		t.Fatal(err)
	}
	return s, q, func(d time.Duration) { millis.Add(d.Milliseconds()) }
}

func options(endpoint string) Options {
	return Options{URLPrefix: prefix, Region: "eu-west-1", BaseEndpoint: endpoint,
		Credentials: Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret", SessionToken: "session"}}
}

func TestSuite(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Subject {
		_, q, advance := open(t)
		return queuetest.Subject{Queue: q, Advance: advance,
			Visibility: queue.DefaultVisibility, MaxReceives: queue.DefaultMaxReceives}
	})
}

func msg(id string) queue.Message { return queue.Message{ID: id, Body: []byte("{}")} }

func TestAPartlyFailedBatchNamesTheMessagesThatWereNotSent(t *testing.T) {
	s, q, _ := open(t)
	s.rejected["b"] = "InternalError"
	err := q.Send(t.Context(), "jobs", msg("a"), msg("b"), msg("c"))
	var some *queue.SendError
	if !errors.As(err, &some) || len(some.Failed) != 1 || some.Failed[0].ID != "b" || !errors.Is(err, queue.ErrUnavailable) {
		t.Fatalf("Send: %v, want a SendError of b that may be tried again", err)
	}
	ds, err := q.Receive(t.Context(), "jobs", 10)
	if err != nil || len(ds) != 2 {
		t.Errorf("received %v, %v; want the other two", ds, err)
	}
	err = queue.SendAll(t.Context(), q, "jobs", []queue.Message{msg("d"), msg("b")})
	if !errors.As(err, &some) || len(some.Failed) != 1 {
		t.Errorf("SendAll: %v, want a SendError of b", err)
	}
}

func TestDeletePassesOverVoidReceiptsAndReportsOtherFailures(t *testing.T) {
	s, q, _ := open(t)
	s.rejected["void"], s.rejected["stuck"] = "ReceiptHandleIsInvalid", "InternalError"
	if err := q.Delete(t.Context(), "jobs", "void"); err != nil {
		t.Errorf("Delete of a void receipt: %v", err)
	}
	if err := q.Delete(t.Context(), "jobs", "void", "stuck"); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("Delete that failed: %v, want ErrUnavailable", err)
	}
}

func TestARefusedCallIsRetriedByTheSDK(t *testing.T) {
	s, q, _ := open(t)
	s.broken = 1
	if err := q.Send(t.Context(), "jobs", msg("a")); err != nil {
		t.Fatalf("Send: %v", err)
	}
	if n := s.calls["SendMessageBatch"]; n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestAMissingQueueSaysWhatToDo(t *testing.T) {
	s, q, _ := open(t)
	s.unknown = true
	err := q.Send(t.Context(), "jobs", msg("a"))
	if !errors.Is(err, queue.ErrUnavailable) || !strings.Contains(err.Error(), "GUILDHALL_QUEUE") {
		t.Errorf("Send: %v", err)
	}
	if n := s.calls["SendMessageBatch"]; n != 1 {
		t.Errorf("%d calls, want no retry", n)
	}
}

func TestCallsAreSignedWithTheGivenCredentials(t *testing.T) {
	s, q, _ := open(t)
	if err := q.Send(t.Context(), "jobs", msg("a")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Credential=AKID/", "/eu-west-1/sqs/", "x-amz-security-token"} {
		if !strings.Contains(s.auth, want) {
			t.Errorf("authorization %q has no %q", s.auth, want)
		}
	}
}

func TestPollWaitIsSentAsALongPoll(t *testing.T) {
	s, _, _ := open(t)
	web := httptest.NewServer(s)
	defer web.Close()
	o := options(web.URL)
	o.PollWait = 20 * time.Second
	q, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Receive(t.Context(), "jobs", 1); err != nil || s.wait != 20 {
		t.Errorf("waited %d s, %v; want 20", s.wait, err)
	}
}

func TestIncompleteOptionsAreRefused(t *testing.T) {
	for what, change := range map[string]func(*Options){
		"no prefix":       func(o *Options) { o.URLPrefix = "" },
		"no region":       func(o *Options) { o.Region = "" },
		"no access key":   func(o *Options) { o.Credentials.AccessKeyID = "" },
		"no secret":       func(o *Options) { o.Credentials.SecretAccessKey = "" },
		"too long a poll": func(o *Options) { o.PollWait = 21 * time.Second },
	} {
		o := options("")
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestAForeignMessageKeepsTheServiceId(t *testing.T) {
	s, q, _ := open(t)
	if err := s.backend.Send(t.Context(), "jobs", msg("x")); err != nil {
		t.Fatal(err)
	}
	s.foreign = true
	ds, err := q.Receive(t.Context(), "jobs", 1)
	if err != nil || len(ds) != 1 || !strings.HasPrefix(ds[0].ID, "sqs-") {
		t.Errorf("received %v, %v; want SQS's id", ds, err)
	}
}
