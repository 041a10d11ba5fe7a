package lambda

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// logger writes JSON lines under the field names of Powertools for AWS, with metrics in
// CloudWatch's embedded format on the lines that end a request or a sweep.
func logger(out io.Writer, level slog.Level, getenv func(string) string) *slog.Logger {
	h := slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 {
			switch a.Key {
			case slog.TimeKey:
				a.Key = "timestamp"
			case slog.MessageKey:
				a.Key = "message"
			}
		}
		return a
	}})
	l := &lines{Handler: h, seen: &atomic.Pointer[string]{}}
	return slog.New(l).With(slog.String("service", "guildhall"), slog.String("function_name", getenv("AWS_LAMBDA_FUNCTION_NAME")))
}

// lines adds what Lambda knows of the call to each line.
type lines struct {
	slog.Handler
	seen *atomic.Pointer[string] // request id of the first call: it met a cold start
}

func (l *lines) WithAttrs(a []slog.Attr) slog.Handler { return &lines{l.Handler.WithAttrs(a), l.seen} }
func (l *lines) WithGroup(name string) slog.Handler   { return &lines{l.Handler.WithGroup(name), l.seen} }

func (l *lines) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		id := lc.AwsRequestID
		l.seen.CompareAndSwap(nil, &id)
		r.AddAttrs(slog.String("function_request_id", id), slog.Bool("cold_start", *l.seen.Load() == id))
	}
	if m := metricsOf(r); len(m) > 0 {
		r.AddAttrs(slog.Any("_aws", embedded{r.Time.UnixMilli(), []directive{{"Guildhall", [][]string{{"service"}}, m}}}))
	}
	return l.Handler.Handle(ctx, r)
}

// embedded is the metadata that makes CloudWatch read metrics out of a log line.
type embedded struct {
	Timestamp         int64
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []metric
}

type metric struct{ Name, Unit string }

// measured are the fields that are metrics too. Their one dimension is the service: one per
// operation would cost more than the functions.
var measured = []metric{{"duration_ms", "Milliseconds"}, {"table_calls", "Count"}, {"read_units", "Count"}, {"write_units", "Count"}, {"attempts", "Count"}, {"fired", "Count"}, {"failed", "Count"}}

func metricsOf(r slog.Record) (out []metric) {
	if r.Message != "request" && r.Message != "sweep" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if i := slices.IndexFunc(measured, func(m metric) bool { return m.Name == a.Key }); i >= 0 {
			out = append(out, measured[i])
		}
		return true
	})
	return out
}
