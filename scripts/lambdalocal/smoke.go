package lambdalocal

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/queue"
)

var pathName = regexp.MustCompile(`\{[^}]+\}`)

// nobody stands for every id in a path.
const nobody = "00000000-0000-4000-8000-000000000000"

// Smoke calls every route as a stranger, and every sweep for every shard. It returns what
// is wrong: an answer of 500 and more, a function that was never invoked (one that does not
// start answers 500), an action that a role does not allow.
func (r *Runner) Smoke(ctx context.Context) (wrong []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(r.deployment.Routes)) {
		method, path, ok := strings.Cut(key, " ")
		if !ok {
			method, path = http.MethodGet, "/no-such-page"
		}
		if method == "ANY" {
			method = http.MethodGet
		}
		status, err := r.knock(ctx, method, pathName.ReplaceAllString(path, nobody))
		if err != nil {
			return nil, err
		}
		if status >= http.StatusInternalServerError {
			wrong = append(wrong, fmt.Sprintf("%s answered %d", key, status))
		}
	}
	if err := r.sweepAll(ctx); err != nil {
		return nil, err
	}
	for _, f := range r.Idle() {
		wrong = append(wrong, f+" was never invoked")
	}
	for _, q := range r.deployment.Queues {
		if d := r.queues.Depth(q.Name); q.Receives > 0 && d.Ready+d.Waiting+d.Dead > 0 {
			wrong = append(wrong, fmt.Sprintf("%s still holds messages: %+v", q.Name, d))
		}
	}
	for _, d := range r.Denied() {
		wrong = append(wrong, "denied: "+d)
	}
	return wrong, nil
}

func (r *Runner) knock(ctx context.Context, method, path string) (status int, err error) {
	var body io.Reader
	if method != http.MethodGet && method != http.MethodHead {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// sweepAll has every queue's function look at every shard of the clock.
func (r *Runner) sweepAll(ctx context.Context) error {
	return r.driver.exclusive(ctx, func() error {
		for _, q := range r.deployment.Queues {
			group, isSweep := strings.CutSuffix(short(q.Name), op.SweepQueue(""))
			for shard := range clock.Shards {
				if !isSweep {
					break
				}
				h := op.SweepHint(group, shard, 0)
				if err := r.queues.Send(ctx, q.Name, queue.Message{ID: fmt.Sprintf("smoke-%d", shard), Body: h.Body}); err != nil {
					return err
				}
			}
		}
		_, err := r.driver.drain(ctx)
		return err
	})
}
