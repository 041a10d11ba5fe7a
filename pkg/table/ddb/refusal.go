package ddb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"guildhall/pkg/table"
)

// Codes of DynamoDB, as errors and as cancellation reasons of a transaction.
const (
	codeValidation        = "ValidationException"
	codeTokenReused       = "IdempotentParameterMismatchException"
	codeTxConflict        = "TransactionConflictException"
	codeTxInProgress      = "TransactionInProgressException"
	reasonNone            = "None"
	reasonConditionFailed = "ConditionalCheckFailed"
	reasonConflict        = "TransactionConflict"
	reasonThrottled       = "ThrottlingError"
	reasonThroughput      = "ProvisionedThroughputExceeded"
	reasonValidation      = "ValidationError"
)

// translate turns an error of the SDK into one of package table's. A refusal that names our
// own mistake (no such table, no permission) stays what it is: an internal error.
func translate(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, table.ErrUnavailable), errors.Is(err, table.ErrInvalid):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", table.ErrUnavailable, ctx.Err())
	}
	var api smithy.APIError
	if !errors.As(err, &api) || outcomeUnknown(err) {
		return fmt.Errorf("%w: %w", table.ErrUnavailable, err)
	}
	_, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]
	switch code := api.ErrorCode(); {
	case throttled, code == codeTxConflict, code == codeTxInProgress:
		return fmt.Errorf("%w: %w", table.ErrUnavailable, err)
	case code == codeValidation && aboutSize(api.ErrorMessage()):
		return fmt.Errorf("%w: %w", table.ErrTooLarge, err)
	case code == codeTokenReused:
		return fmt.Errorf("%w: one commit id for two commits: %w", table.ErrInvalid, err)
	}
	return fmt.Errorf("ddb: %w", err)
}

// aboutSize recognises DynamoDB's messages on items, keys and transactions over a limit;
// there is no code for them.
func aboutSize(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "size") && (strings.Contains(m, "exceed") || strings.Contains(m, "limit"))
}

// verdict is what a refused commit means.
type verdict int

const (
	other    verdict = iota // not about preconditions: translate says what it is
	conflict                // a precondition did not hold
	again                   // a race or a throttle inside DynamoDB: worth repeating
)

// failure is a write whose condition failed.
type failure struct {
	at   int                             // position in the commit
	item map[string]types.AttributeValue // the item it found, where DynamoDB sent it along
}

// judge reads a refused commit.
func judge(err error) (verdict, []failure) {
	var failed *types.ConditionalCheckFailedException
	var canceled *types.TransactionCanceledException
	var api smithy.APIError
	switch {
	case errors.As(err, &failed):
		return conflict, []failure{{item: failed.Item}}
	case errors.As(err, &canceled):
		return judgeReasons(canceled.CancellationReasons)
	case errors.As(err, &api):
		switch api.ErrorCode() {
		case codeTxConflict, codeTxInProgress:
			return again, nil
		}
	}
	return other, nil
}

// judgeReasons reads the reasons by position; no code means None. A failed condition
// outweighs a conflict: the rows have moved on, repeating cannot help.
func judgeReasons(reasons []types.CancellationReason) (v verdict, failures []failure) {
	for i, r := range reasons {
		switch aws.ToString(r.Code) {
		case reasonConditionFailed:
			v = conflict
			failures = append(failures, failure{i, r.Item})
		case reasonConflict, reasonThrottled, reasonThroughput:
			if v == other {
				v = again
			}
		}
	}
	return v, failures
}

// translateCanceled finds the reason that made a transaction impossible; the exception itself
// does not say it in its text.
func translateCanceled(ctx context.Context, err error) error {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return translate(ctx, err)
	}
	for i, r := range canceled.CancellationReasons {
		code, message := aws.ToString(r.Code), aws.ToString(r.Message)
		switch {
		case code == "" || code == reasonNone:
		case code == reasonValidation && aboutSize(message):
			return fmt.Errorf("%w: %w", table.ErrTooLarge, err)
		default:
			err = fmt.Errorf("%w: write %d: %s: %s", err, i, code, message)
		}
	}
	return translate(ctx, err)
}
