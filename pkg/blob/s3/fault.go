package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"guildhall/pkg/blob"
)

// Codes of S3's refusals.
const (
	codePrecondition = "PreconditionFailed"
	codeRange        = "InvalidRange"
	codeRace         = "ConditionalRequestConflict" // two conditional writes at once: try again
	codeNoBucket     = "NoSuchBucket"
)

// statuses stand for the codes where an answer has no body to say one (HEAD).
var statuses = map[string]int{codePrecondition: http.StatusPreconditionFailed, codeRange: http.StatusRequestedRangeNotSatisfiable}

// is tells whether an error is S3's refusal with a code.
func is(err error, code string) bool {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == code {
		return true
	}
	return statuses[code] != 0 && status(err) == statuses[code]
}

func status(err error) int {
	var res *smithyhttp.ResponseError
	if errors.As(err, &res) {
		return res.HTTPStatusCode()
	}
	return 0
}

// failed words an error of the SDK as the port's. What S3 refuses for a reason of ours (no
// right, no such bucket) stays an internal error.
func failed(ctx context.Context, key string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, blob.ErrTooLarge): // more arrived than was announced
		return fmt.Errorf("%w: %w", blob.ErrMismatch, err)
	case is(err, codeNoBucket):
		return fmt.Errorf("s3: %w", err)
	case status(err) == http.StatusNotFound:
		return fmt.Errorf("%w: %s", blob.ErrNotFound, key)
	case is(err, codeRange):
		return fmt.Errorf("%w: of %s", blob.ErrRange, key)
	case is(err, codeRace), is(err, codePrecondition), status(err) == 0, status(err) >= http.StatusInternalServerError, status(err) == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s: %w", blob.ErrUnavailable, key, err)
	}
	return fmt.Errorf("s3: %s: %w", key, err)
}
