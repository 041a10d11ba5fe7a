package ddb

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"

	"guildhall/pkg/awshttp"
	"guildhall/pkg/table"
)

// Limits of one request.
const (
	// sdkAttempts is how often the SDK sends one request. Never 1: connections do break.
	sdkAttempts = 4
	// maxRequest ends a request's body, in bytes: DynamoDB's own limit.
	maxRequest = 16 << 20
	// attemptTimeout ends one attempt, so that a hung connection leaves time for another.
	attemptTimeout = 5 * time.Second
	// stalledBatches is how many BatchGetItem answers in a row may bring no row at all.
	stalledBatches = 6
)

// client is the SDK's client as guregu/dynamo sees it. It adds what guregu/dynamo lacks: the
// item that failed a condition is asked for, unprocessed keys are asked for again within
// limits, key conditions use the current API, and use is counted.
type client struct {
	*dynamodb.Client
	store *Store
}

func newClient(o Options, s *Store) *client {
	keys := aws.Credentials{AccessKeyID: o.AccessKey, SecretAccessKey: o.SecretKey, SessionToken: o.SessionToken}
	opts := dynamodb.Options{
		Region:     o.Region,
		Logger:     logging.Nop{},
		HTTPClient: awshttp.New(attemptTimeout, maxRequest),
		APIOptions: []func(*middleware.Stack) error{watchAttempts},
		Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(
			func(context.Context) (aws.Credentials, error) { return keys, nil })),
		Retryer: retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts = sdkAttempts
			r.Backoff = retry.BackoffDelayerFunc(func(n int, _ error) (time.Duration, error) {
				return o.Backoff(n), nil
			})
		}),
	}
	if o.Endpoint != "" {
		opts.BaseEndpoint = &o.Endpoint
	}
	return &client{Client: dynamodb.New(opts), store: s}
}

const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

func (c *client) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnValuesOnConditionCheckFailure = allOld
	u := usageOf(ctx)
	in.ReturnConsumedCapacity = u.ask()
	out, err := c.Client.PutItem(ctx, in, o...)
	if out != nil {
		u.wrote(out.ConsumedCapacity)
	}
	return out, err
}

func (c *client) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	u := usageOf(ctx)
	in.ReturnConsumedCapacity = u.ask()
	out, err := c.Client.DeleteItem(ctx, in, o...)
	if out != nil {
		u.wrote(out.ConsumedCapacity)
	}
	return out, err
}

func (c *client) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for i := range in.TransactItems {
		if p := in.TransactItems[i].Put; p != nil {
			p.ReturnValuesOnConditionCheckFailure = allOld
		}
		if u := in.TransactItems[i].Update; u != nil {
			u.ReturnValuesOnConditionCheckFailure = allOld
		}
	}
	u := usageOf(ctx)
	in.ReturnConsumedCapacity = u.ask()
	out, err := c.Client.TransactWriteItems(ctx, in, o...)
	if out != nil {
		u.wroteEach(out.ConsumedCapacity)
	}
	return out, err
}

func (c *client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	u := usageOf(ctx)
	in.ReturnConsumedCapacity = u.ask()
	out, err := c.Client.GetItem(ctx, in, o...)
	if out != nil {
		u.read(out.ConsumedCapacity)
	}
	return out, err
}

// Query replaces the legacy KeyConditions, which not every emulator knows.
func (c *client) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	u := usageOf(ctx)
	in.ReturnConsumedCapacity = u.ask()
	if err := modernConditions(in); err != nil {
		return nil, err
	}
	out, err := c.Client.Query(ctx, in, o...)
	if out != nil {
		u.read(out.ConsumedCapacity)
	}
	return out, err
}

// rangeExpressions spells the operators the adapter uses.
var rangeExpressions = map[types.ComparisonOperator]string{
	types.ComparisonOperatorLt:      " AND SK < :a",
	types.ComparisonOperatorGe:      " AND SK >= :a",
	types.ComparisonOperatorGt:      " AND SK > :a",
	types.ComparisonOperatorBetween: " AND SK BETWEEN :a AND :b",
}

func modernConditions(in *dynamodb.QueryInput) error {
	pk, hasPK := in.KeyConditions[attrPK]
	sk, hasSK := in.KeyConditions[attrSK]
	if !hasPK || len(pk.AttributeValueList) != 1 {
		return fmt.Errorf("%w: a query without a partition", table.ErrInvalid)
	}
	expr := "PK = :pk"
	values := map[string]types.AttributeValue{":pk": pk.AttributeValueList[0]}
	if hasSK {
		expr += rangeExpressions[sk.ComparisonOperator]
		for i, v := range sk.AttributeValueList {
			values[[]string{":a", ":b"}[i]] = v
		}
	}
	in.KeyConditions, in.KeyConditionExpression, in.ExpressionAttributeValues = nil, &expr, values
	return nil
}

func (c *client) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	u := usageOf(ctx)
	in.ReturnConsumedCapacity = u.ask()
	out, err := c.Client.Scan(ctx, in, o...)
	if out != nil {
		u.read(out.ConsumedCapacity)
	}
	return out, err
}

// BatchGetItem asks until every key is answered: DynamoDB leaves keys unprocessed when it
// throttles or when an answer would pass 16 MB. Answers without any row are followed by a
// pause and are limited in number; the others bring the end nearer by themselves.
func (c *client) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	whole := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	u := usageOf(ctx)
	next := &dynamodb.BatchGetItemInput{RequestItems: in.RequestItems, ReturnConsumedCapacity: u.ask()}
	left := countKeys(next.RequestItems)
	for stalled := 0; ; {
		out, err := c.Client.BatchGetItem(ctx, next, o...)
		if err != nil {
			return nil, err
		}
		u.readEach(out.ConsumedCapacity)
		for name, items := range out.Responses {
			whole.Responses[name] = append(whole.Responses[name], items...)
		}
		n := countKeys(out.UnprocessedKeys)
		if n == 0 {
			return whole, nil
		}
		if n >= left {
			if stalled++; stalled >= stalledBatches {
				return nil, fmt.Errorf("%w: %d keys stay unprocessed", table.ErrUnavailable, n)
			}
			if err := c.store.sleep(ctx, c.store.backoff(stalled-1)); err != nil {
				return nil, err
			}
		} else {
			stalled = 0
		}
		left, next.RequestItems = n, out.UnprocessedKeys
	}
}

func countKeys(m map[string]types.KeysAndAttributes) int {
	n := 0
	for _, k := range m {
		n += len(k.Keys)
	}
	return n
}
