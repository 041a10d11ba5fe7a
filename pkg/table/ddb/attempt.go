package ddb

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// attempts is what became of the attempts of one call. The SDK repeats a request by itself;
// the commit has to know whether an earlier attempt may have been applied.
type attempts struct {
	sent    int
	unknown bool // an attempt ended without DynamoDB's word on it
}

type attemptsKey struct{}

// withAttempts makes the SDK's middleware write into a.
func withAttempts(ctx context.Context, a *attempts) context.Context {
	return context.WithValue(ctx, attemptsKey{}, a)
}

// watchAttempts puts a step below the SDK's retry step, so that it sees every attempt.
func watchAttempts(stack *middleware.Stack) error {
	step := middleware.FinalizeMiddlewareFunc("GuildhallAttempts",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			usageOf(ctx).attempt()
			out, meta, err := next.HandleFinalize(ctx, in)
			if a, ok := ctx.Value(attemptsKey{}).(*attempts); ok {
				a.sent++
				a.unknown = a.unknown || outcomeUnknown(err)
			}
			return out, meta, err
		})
	return stack.Finalize.Insert(step, "Retry", middleware.After)
}

// outcomeUnknown tells whether a failed attempt may have been applied: anything except a
// refusal that DynamoDB itself has signed with a 4xx status.
func outcomeUnknown(err error) bool {
	if err == nil {
		return false
	}
	var answer *smithyhttp.ResponseError
	var api smithy.APIError
	if errors.As(err, &answer) && errors.As(err, &api) {
		status := answer.HTTPStatusCode()
		return status < http.StatusBadRequest || status >= http.StatusInternalServerError
	}
	return true
}

// The default pauses: 0 to 50 ms before the first repetition, then 0 to 100, 200 and 400 ms,
// never more than half a second.
const (
	backoffCap   = 500 * time.Millisecond
	backoffScale = 20 // the SDK's jitter starts at 0 to 1 s
)

// jittered is exponential backoff with full jitter, on the SDK's own source of randomness.
func jittered() func(n int) time.Duration {
	source := retry.NewExponentialJitterBackoff(backoffCap * backoffScale)
	return func(n int) time.Duration {
		d, err := source.BackoffDelay(n, nil)
		if err != nil {
			return backoffCap
		}
		return min(d/backoffScale, backoffCap)
	}
}
