package lambdalocal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/pay/simulated"
)

// Limits of the local controls.
const (
	maxControl = 1 << 20 // bytes of a body
	maxAdvance = 20 * 366 * 24 * time.Hour
	maxFaults  = 10_000
)

// refusal is a control's answer that nothing was done.
type refusal struct {
	status        int
	code, message string
}

func (e refusal) Error() string { return e.code }

func bad(message string) error {
	return refusal{http.StatusUnprocessableEntity, "invalid", message}
}

// controls serves the local controls. Those about time, messages and faults are here, since
// here the functions do the work; the others are wire's, over the same table. After a
// control of the processor the webhooks that follow are delivered.
func (r *Runner) controls() http.Handler {
	rest := r.exchange.Handler()
	mux := http.NewServeMux()
	mux.Handle("/", rest)
	mux.HandleFunc("POST /_dev/payments/", func(w http.ResponseWriter, q *http.Request) {
		err := r.driver.exclusive(q.Context(), func() error {
			rest.ServeHTTP(w, q)
			_, err := r.driver.settle(q.Context())
			return err
		})
		if err != nil {
			r.log.Error("webhooks failed", "cause", err.Error())
		}
	})
	for pattern, do := range map[string]func(context.Context, []byte) (map[string]any, error){
		"POST /_dev/clock": r.moveClock, "GET /_dev/clock": r.readClock, "POST /_dev/settle": r.settle, "POST /_dev/faults": r.injectFaults,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) { r.control(w, q, do) })
	}
	return mux
}

func (r *Runner) control(w http.ResponseWriter, q *http.Request, do func(context.Context, []byte) (map[string]any, error)) {
	body := json.RawMessage("{}")
	err := json.NewDecoder(http.MaxBytesReader(w, q.Body, maxControl)).Decode(&body)
	var out map[string]any
	if err != nil && q.ContentLength != 0 {
		err = bad("Send a JSON object.")
	} else {
		out, err = do(q.Context(), body)
	}
	var no refusal
	status := http.StatusOK
	switch {
	case errors.As(err, &no):
		status, out = no.status, map[string]any{"ok": false, "error": no.code, "message": no.message}
	case err != nil:
		r.log.Error("local control failed", "path", q.URL.Path, "cause", err.Error())
		status, out = http.StatusInternalServerError, map[string]any{"ok": false, "error": "internal_error", "message": err.Error()}
	default:
		out["ok"] = true
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out)
}

func read(body []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return bad("The body does not fit: " + err.Error())
	}
	return nil
}

func (r *Runner) moveClock(ctx context.Context, body []byte) (map[string]any, error) {
	var in struct{ Advance, Set string }
	if err := read(body, &in); err != nil {
		return nil, err
	}
	if (in.Advance == "") == (in.Set == "") {
		return nil, bad(`Send {"advance":"36h"} or {"set":"2026-03-08T10:59:00Z"}.`)
	}
	fired, clocks := 0, r.exchange.Clock
	err := r.driver.exclusive(ctx, func() error {
		var target time.Time
		err := clocks.Freeze(func(now time.Time) (err error) {
			target, err = moved(now, in.Advance, in.Set)
			return err
		})
		if err != nil {
			return err
		}
		fired, err = r.driver.advance(ctx, target)
		return err
	})
	return map[string]any{"now": clock.Stamp(clocks.Now()), "fired": fired}, err
}

// moved is where a request moves the clock to.
func moved(now time.Time, advance, set string) (target time.Time, err error) {
	target, err = clock.Parse(set)
	if advance != "" {
		var d time.Duration
		d, err = time.ParseDuration(advance)
		target = now.Add(d)
	}
	switch {
	case err != nil || target.After(now.Add(maxAdvance)):
		return now, bad("That is no time this clock can be moved to.")
	case target.Before(now):
		return now, refusal{http.StatusUnprocessableEntity, "clock_moves_forward", "The clock only moves forward; it stands at " + clock.Stamp(now) + "."}
	}
	return target, nil
}

func (r *Runner) readClock(ctx context.Context, _ []byte) (map[string]any, error) {
	out := map[string]any{"now": clock.Stamp(r.exchange.Clock.Now()), "frozen": r.exchange.Clock.Frozen(), "next_due": nil}
	err := r.driver.exclusive(ctx, func() error {
		next, ok, err := r.driver.next(ctx)
		if ok {
			out["next_due"] = clock.Stamp(next)
		}
		return err
	})
	return out, err
}

func (r *Runner) settle(ctx context.Context, _ []byte) (map[string]any, error) {
	n := 0
	err := r.driver.exclusive(ctx, func() (err error) {
		n, err = r.driver.settle(ctx)
		return err
	})
	return map[string]any{"delivered": n}, err
}

func (r *Runner) injectFaults(_ context.Context, body []byte) (map[string]any, error) {
	var in struct {
		Target, Mode, Match string
		Count               int
	}
	if err := read(body, &in); err != nil {
		return nil, err
	}
	modes := []string{"fail_before", "fail_after", "conflict", "throttle", "duplicate", "drop"}
	if !slices.Contains(modes, in.Mode) || in.Count < 0 || in.Count > maxFaults {
		return nil, bad(fmt.Sprintf("mode is one of %s; count is 0 to %d.", strings.Join(modes, ", "), maxFaults))
	}
	if in.Target != "store" && in.Target != "queue" {
		return nil, bad("target is store or queue.")
	}
	r.faults.set(in.Target, in.Mode, in.Match, in.Count)
	return map[string]any{}, nil
}

// deliverWebhooks hands the simulated processor's webhooks to the API, as a real processor
// does.
func (r *Runner) deliverWebhooks(ctx context.Context) (int, error) {
	path := webhookPath()
	if path == "" {
		return 0, nil
	}
	return r.exchange.Payments.Deliver(ctx, func(ctx context.Context, w simulated.Webhook) error {
		status, err := r.post(ctx, path, string(w.Body), map[string]string{"Stripe-Signature": w.Signature})
		if err == nil && status >= http.StatusMultipleChoices {
			err = fmt.Errorf("lambdalocal: the webhook was answered %d", status)
		}
		return err
	})
}
