// Package lambda starts the exchange's functions on AWS Lambda: one operation, the tools of
// an MCP endpoint (through wire/tools), one sweep, the tick, or the refusals of the routes
// that no function serves. A function's main calls one of Serve, Sweep, Tick and Default, or
// tools.Serve, which never return.
//
// Everything comes from the environment through pkg/config. What is missing ends the start
// with one line that says what to set; nothing is served by halves. The table is DynamoDB
// and the queues are SQS. Other ports are linked by blank imports that Provide them
// (wire/s3blobs, wire/stripepay, wire/sesmail, wire/snstext), so that a function carries only what its
// operation touches.
//
// Built with the tag devclock, and only then, a function reads the time from the runner
// that executes the template on one machine (GUILDHALL_DEV_CLOCK_URL).
package lambda

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	runtime "github.com/aws/aws-lambda-go/lambda"

	"guildhall/pkg/config"
	"guildhall/pkg/edge/apigw"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/op"
	"guildhall/pkg/queue"
	"guildhall/pkg/table/ddb"
)

// Serve serves one operation behind an HTTP API (payload format 2.0): its method, HEAD
// where that is GET, and OPTIONS.
func Serve(o *op.Operation) {
	start(func(p *process) (any, error) { return p.serve(o) })
}

// HTTP serves a handler that is made over an engine with the ports of touches. It is for
// edges that most functions do not link.
func HTTP(touches op.Touch, build func(*op.Engine, Edge) http.Handler) {
	start(func(p *process) (any, error) { return p.http(touches, build) })
}

// Edge is what a handler is made with.
type Edge struct {
	BaseURL string
	Log     *slog.Logger
	Tally   func(context.Context) (context.Context, func() []slog.Attr)
}

// Sweep fires a context's timers and does its effects: the consumer of its sweep queue,
// with partial batch answers.
func Sweep(group string, timers []op.TimerKind, effects []op.EffectKind) {
	start(func(p *process) (any, error) { return p.sweep(group, timers, effects) })
}

// Tick sends one message per clock shard of each context: the target of a schedule.
func Tick(contexts []string) {
	start(func(p *process) (any, error) { return p.tick(contexts) })
}

// Default answers what no other function serves, in the operations' envelope: OPTIONS, 405
// with Allow, and 404. Routes are all operations as "METHOD /path".
func Default(routes ...string) {
	start(func(p *process) (any, error) { return p.unserved(routes) })
}

// start builds a handler from the environment and hands it to the Lambda runtime.
func start(build func(*process) (any, error)) {
	p, err := newProcess(os.Getenv, os.Stdout)
	var handler any
	if err == nil {
		handler, err = build(p)
	}
	if err != nil {
		logger(os.Stdout, slog.LevelInfo, os.Getenv).Error("cannot start", slog.String("cause", err.Error()))
		os.Exit(1)
	}
	runtime.Start(handler)
}

// process is what every function has.
type process struct {
	cfg config.Config
	log *slog.Logger
	now func() time.Time
}

func newProcess(getenv func(string) string, out io.Writer) (*process, error) {
	cfg, err := config.FromEnv(getenv)
	if err != nil {
		return nil, err
	}
	now, err := exchangeClock(getenv)
	return &process{cfg: cfg, log: logger(out, cfg.LogLevel, getenv), now: now}, err
}

// directBytes is the largest file a call carries itself (surface.md 7): with its form, in
// base64, it fits the 6 MB of an event.
const directBytes = 4 << 20

func (p *process) restOptions() rest.Options {
	return rest.Options{BaseURL: p.cfg.BaseURL, Log: p.log, Clock: time.Now, Tally: tally, DirectBytes: directBytes}
}

// tally counts what a request costs at DynamoDB.
func tally(ctx context.Context) (context.Context, func() []slog.Attr) {
	ctx, u := ddb.WithUsage(ctx)
	return ctx, func() []slog.Attr {
		return []slog.Attr{slog.Int("table_calls", u.Attempts), slog.Float64("read_units", u.ReadUnits), slog.Float64("write_units", u.WriteUnits)}
	}
}

func (p *process) serve(o *op.Operation) (apigw.Handler, error) {
	e, _, err := p.engine(o.Touches)
	if err != nil {
		return nil, err
	}
	return apigw.Wrap(rest.Handler(e, []*op.Operation{o}, p.restOptions()), p.log), nil
}

func (p *process) http(touches op.Touch, build func(*op.Engine, Edge) http.Handler) (apigw.Handler, error) {
	e, _, err := p.engine(touches)
	if err != nil {
		return nil, err
	}
	return apigw.Wrap(build(e, Edge{BaseURL: p.cfg.BaseURL, Log: p.log, Tally: tally}), p.log), nil
}

func (p *process) unserved(routes []string) (apigw.Handler, error) {
	h, err := rest.Unserved(routes, rest.Options{BaseURL: p.cfg.BaseURL, Log: p.log, Clock: time.Now, NewID: newID})
	if err != nil {
		return nil, err
	}
	return apigw.Wrap(h, p.log), nil
}

type consumer = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

func (p *process) sweep(group string, timers []op.TimerKind, effects []op.EffectKind) (consumer, error) {
	touches := op.Table | op.Queue
	for _, e := range effects {
		touches |= e.Touches
	}
	e, q, err := p.engine(touches)
	if err != nil {
		return nil, err
	}
	s := &jobs.Sweeper{Engine: e, Context: group, Timers: timers, Effects: effects, Queue: q, Log: p.log}
	return func(ctx context.Context, in events.SQSEvent) (out events.SQSEventResponse, err error) {
		for _, id := range s.Consume(ctx, deliveries(in)) {
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}
		return out, nil
	}, nil
}

// deliveries are the messages of an event; their ids are SQS's own, which the partial
// batch answer names.
func deliveries(in events.SQSEvent) []queue.Delivery {
	out := make([]queue.Delivery, 0, len(in.Records))
	for _, m := range in.Records {
		n, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
		out = append(out, queue.Delivery{ID: m.MessageId, Body: []byte(m.Body), Receives: n, Receipt: m.ReceiptHandle})
	}
	return out
}

func (p *process) tick(contexts []string) (func(context.Context) error, error) {
	q, err := p.queue()
	if err != nil {
		return nil, err
	}
	if len(contexts) == 0 {
		return nil, fmt.Errorf("a tick of no context")
	}
	return func(ctx context.Context) error {
		err := jobs.Tick(ctx, q, contexts...)
		if err != nil {
			p.log.ErrorContext(ctx, "tick", slog.String("operation", "edge.clock.tick"), slog.String("caller", "system"), slog.String("cause", err.Error()))
		}
		return err // the schedule's retries send the rest; ticks may repeat
	}, nil
}
