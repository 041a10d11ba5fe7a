package wire

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
	queuefaulty "guildhall/pkg/queue/faulty"
	"guildhall/pkg/table/faulty"
)

// maxDevBody bounds the body of a local control, in bytes.
const maxDevBody = 1 << 20

// maxAdvance bounds one move of the clock.
const maxAdvance = 20 * 366 * 24 * time.Hour

// control is one local control (surface.md 2): it reads the body and answers an object.
type control func(x *Exchange, ctx context.Context, r *http.Request, body []byte) (map[string]any, error)

// devError is a refusal of a local control.
type devError struct {
	status        int
	code, message string
}

func (e devError) Error() string { return e.code }

func bad(message string) error { return devError{http.StatusUnprocessableEntity, "invalid", message} }

// controls of a program started with --dev. They are no part of any function on AWS.
var controls = map[string]control{
	"POST /_dev/clock":                 (*Exchange).moveClock,
	"GET /_dev/clock":                  (*Exchange).readClock,
	"POST /_dev/persons":               (*Exchange).makePerson,
	"POST /_dev/stewards":              (*Exchange).makeSteward,
	"GET /_dev/mail":                   (*Exchange).readMail,
	"POST /_dev/payments/payout-ready": (*Exchange).payoutReady,
	"POST /_dev/payments/checkout":     (*Exchange).completeCheckout,
	"GET /_dev/payments":               (*Exchange).readPayments,
	"POST /_dev/payments/mode":         (*Exchange).paymentMode,
	"POST /_dev/faults":                (*Exchange).injectFaults,
	"POST /_dev/settle":                (*Exchange).settle,
	"POST /_dev/commons/tasks":         (*Exchange).createCommonsTask,
	"POST /_dev/targets/{id}/odds":     (*Exchange).setOdds,
}

// Controls serves the local controls.
func (x *Exchange) Controls() http.Handler {
	mux := http.NewServeMux()
	for pattern, c := range controls {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { x.control(w, r, c) })
	}
	mux.HandleFunc("/_dev/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, map[string]any{"ok": false, "error": "not found", "message": "GET /_dev/ lists the local controls."})
	})
	mux.HandleFunc("GET /_dev/{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"ok": true, "controls": slices.Sorted(maps.Keys(controls))})
	})
	return mux
}

func (x *Exchange) control(w http.ResponseWriter, r *http.Request, c control) {
	body, err := readAll(w, r)
	var out map[string]any
	if err == nil {
		out, err = c(x, r.Context(), r, body)
	}
	var refused devError
	switch {
	case errors.As(err, &refused):
		answer(w, refused.status, map[string]any{"ok": false, "error": refused.code, "message": refused.message})
	case err != nil:
		x.Log.Error("local control failed", "operation", r.URL.Path, "cause", err.Error())
		answer(w, http.StatusInternalServerError, map[string]any{"ok": false, "error": "internal_error", "message": err.Error()})
	default:
		out["ok"] = true
		answer(w, http.StatusOK, out)
	}
}

func readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var body json.RawMessage
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDevBody)).Decode(&body)
	if err != nil && r.Method == http.MethodGet {
		return nil, nil
	}
	if err != nil && r.ContentLength == 0 {
		return []byte("{}"), nil
	}
	if err != nil {
		return nil, bad("Send a JSON object.")
	}
	return body, nil
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func read(body []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return bad("The body does not fit: " + err.Error())
	}
	return nil
}

func (x *Exchange) moveClock(ctx context.Context, _ *http.Request, body []byte) (map[string]any, error) {
	var in struct{ Advance, Set string }
	if err := read(body, &in); err != nil {
		return nil, err
	}
	fired, err := x.Runner.Advance(ctx, func(now time.Time) (time.Time, error) { return moved(now, in.Advance, in.Set) })
	if errors.Is(err, ErrBack) {
		err = devError{422, "clock_moves_forward", "The clock only moves forward; it stands at " + clock.Stamp(x.Clock.Now()) + "."}
	}
	return map[string]any{"now": clock.Stamp(x.Clock.Now()), "fired": fired}, err
}

// moved is where a request moves the clock to.
func moved(now time.Time, advance, set string) (target time.Time, err error) {
	switch {
	case advance != "" && set == "":
		var d time.Duration
		d, err = time.ParseDuration(advance)
		target = now.Add(d)
	case set != "" && advance == "":
		target, err = clock.Parse(set)
	default:
		return now, bad(`Send {"advance":"36h"} or {"set":"2026-03-08T10:59:00Z"}.`)
	}
	if err != nil || target.After(now.Add(maxAdvance)) {
		return now, bad("That is no time this clock can be moved to.")
	}
	return target, nil
}

func (x *Exchange) readClock(ctx context.Context, _ *http.Request, _ []byte) (map[string]any, error) {
	out := map[string]any{"now": clock.Stamp(x.Clock.Now()), "frozen": x.Clock.Frozen(), "next_due": nil}
	if t, ok := x.Runner.NextDue(ctx); ok {
		out["next_due"] = clock.Stamp(t)
	}
	return out, nil
}

type personIn struct {
	Email       string         `json:"email"`
	DisplayName *string        `json:"display_name"`
	Timezone    *string        `json:"timezone"`
	House       *account.House `json:"house"`
	Role        string         `json:"role"`
}

func (x *Exchange) makePerson(ctx context.Context, _ *http.Request, body []byte) (map[string]any, error) {
	var in personIn
	if err := read(body, &in); err != nil {
		return nil, err
	}
	if in.Role != "" {
		return nil, bad("A person has no role; use /_dev/stewards.")
	}
	return x.person(ctx, in)
}

func (x *Exchange) makeSteward(ctx context.Context, _ *http.Request, body []byte) (map[string]any, error) {
	var in personIn
	if err := read(body, &in); err != nil {
		return nil, err
	}
	if in.Role != account.RoleSteward && in.Role != account.RoleAdmin {
		return nil, bad("role must be steward or platform_admin.")
	}
	return x.person(ctx, in)
}

func (x *Exchange) person(ctx context.Context, in personIn) (out map[string]any, err error) {
	if !account.ValidEmail(account.NormalEmail(in.Email)) {
		return nil, bad("email must be an address.")
	}
	if in.Timezone != nil {
		if _, err := time.LoadLocation(*in.Timezone); err != nil {
			return nil, bad("timezone must be an IANA name.")
		}
	}
	err = x.Engine.Run(ctx, x.Clock.Now(), "person", func(c *op.Call) error {
		p, err := account.EnsurePerson(c, in.Email)
		if err != nil {
			return err
		}
		if in.DisplayName != nil {
			p.DisplayName = *in.DisplayName
		}
		if in.Timezone != nil {
			p.Timezone = *in.Timezone
		}
		if in.House != nil {
			p.House = in.House
		}
		p.Save(c)
		if in.Role != "" {
			if p, err = account.Grant(c, in.Email, in.Role); err != nil {
				return err
			}
		}
		token, err := account.Session.Issue(c, p.ID, nil, c.Now.Add(100*account.SessionLife))
		out = map[string]any{"person_id": p.ID, "token": token}
		return err
	})
	return out, err
}

func (x *Exchange) readMail(_ context.Context, r *http.Request, _ []byte) (map[string]any, error) {
	return map[string]any{"messages": x.Box.Messages(r.URL.Query().Get("to"))}, nil
}

func (x *Exchange) payoutReady(ctx context.Context, _ *http.Request, body []byte) (map[string]any, error) {
	var in struct {
		MakerID string `json:"maker_id"`
		Ready   *bool  `json:"ready"`
		// Bank names the account payouts go to: one name, one instrument.
		Bank string `json:"bank"`
	}
	if err := read(body, &in); err != nil {
		return nil, err
	}
	if in.MakerID == "" || in.Ready == nil {
		return nil, bad(`Send {"maker_id":"…","ready":true}.`)
	}
	if err := x.Payments.SetReadyWith(in.MakerID, *in.Ready, in.Bank); err != nil {
		return nil, devError{404, "not found", err.Error()}
	}
	_, err := x.Runner.Settle(ctx)
	return map[string]any{}, err
}

func (x *Exchange) completeCheckout(ctx context.Context, _ *http.Request, body []byte) (map[string]any, error) {
	var in struct {
		CheckoutID string `json:"checkout_id"`
		Result     string `json:"result"`
		// Card names what pays, instead of the person's own card.
		Card string `json:"card"`
	}
	if err := read(body, &in); err != nil {
		return nil, err
	}
	if err := x.Payments.CompleteWith(in.CheckoutID, pay.CheckoutStatus(in.Result), in.Card); err != nil {
		if errors.Is(err, simulated.ErrClosed) {
			return nil, devError{409, "checkout_closed", "That checkout is not open any more."}
		}
		return nil, bad(err.Error())
	}
	_, err := x.Runner.Settle(ctx)
	return map[string]any{}, err
}

func (x *Exchange) readPayments(context.Context, *http.Request, []byte) (map[string]any, error) {
	return map[string]any{"calls": x.Payments.Calls()}, nil
}

func (x *Exchange) paymentMode(_ context.Context, _ *http.Request, body []byte) (map[string]any, error) {
	var in struct {
		Next  string `json:"next"`
		Count int    `json:"count"`
	}
	if err := read(body, &in); err != nil {
		return nil, err
	}
	if err := x.Payments.SetMode(simulated.Mode(in.Next), in.Count); err != nil {
		return nil, bad(err.Error())
	}
	return map[string]any{}, nil
}

// maxFaults bounds the number of calls one request makes go wrong.
const maxFaults = 10_000

func (x *Exchange) injectFaults(_ context.Context, _ *http.Request, body []byte) (map[string]any, error) {
	var in struct {
		Target string `json:"target"`
		Mode   string `json:"mode"`
		Count  int    `json:"count"`
		Match  string `json:"match"`
	}
	if err := read(body, &in); err != nil {
		return nil, err
	}
	modes := map[string]bool{"fail_before": true, "fail_after": true, "conflict": true, "throttle": true, "duplicate": true, "drop": true}
	if !modes[in.Mode] || in.Count < 0 || in.Count > maxFaults {
		return nil, bad("mode is one of fail_before, fail_after, conflict, throttle, duplicate, drop; count is 0 to 10000.")
	}
	switch in.Target {
	case "store":
		if in.Count == 0 {
			x.Faults.Clear()
			break
		}
		_, err := x.Faults.Inject(faulty.Fault{Mode: faulty.Mode(in.Mode), Times: in.Count, Match: func(ctx context.Context, _ faulty.Call) bool {
			return strings.Contains(op.OperationID(ctx), in.Match)
		}})
		if err != nil {
			return nil, bad(err.Error())
		}
	case "queue":
		if in.Count == 0 {
			x.Drops.Clear()
			break
		}
		err := x.Drops.Inject(queuefaulty.Fault{Mode: queuefaulty.Mode(in.Mode), Times: in.Count, Match: func(ctx context.Context) bool {
			return strings.Contains(op.OperationID(ctx), in.Match)
		}})
		if err != nil {
			return nil, bad(err.Error())
		}
	default:
		return nil, bad("target is store or queue.")
	}
	return map[string]any{}, nil
}

func (x *Exchange) settle(ctx context.Context, _ *http.Request, _ []byte) (map[string]any, error) {
	n, err := x.Runner.Settle(ctx)
	return map[string]any{"delivered": n}, err
}

func (x *Exchange) setOdds(ctx context.Context, r *http.Request, body []byte) (map[string]any, error) {
	var in struct {
		Frozen *float64 `json:"frozen_probability"`
	}
	if err := read(body, &in); err != nil {
		return nil, err
	}
	if in.Frozen != nil && (*in.Frozen < 0 || *in.Frozen > 1) {
		return nil, bad("frozen_probability is a number from 0 to 1, or null.")
	}
	err := x.Engine.Run(ctx, x.Clock.Now(), "bench", func(c *op.Call) error {
		return wants.SetFrozen(c, r.PathValue("id"), in.Frozen)
	})
	var f *fault.Fault
	if errors.As(err, &f) && f.Kind != fault.Internal {
		return nil, devError{f.Kind.Status(), f.Code, f.Message}
	}
	return map[string]any{}, err
}
